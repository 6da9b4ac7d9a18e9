/* SPDX-License-Identifier: MIT */
/*
 * tdr_settings.c - the registry values that decide about turns and recovery.
 *
 * Windows has them under Control\GraphicsDrivers, and its key Scheduler, for all adapters. Here an
 * adapter can have its own, among the values of its driver (docs/profile.md), and those come first.
 */
#include "base/log.h"
#include "miniport/internal.h"
#include "miniport/work.h"
#include "nt/registry.h"

#define GRAPHICS_DRIVERS NT_REGISTRY_CONTROL "\\GraphicsDrivers"
#define SCHEDULER        GRAPHICS_DRIVERS "\\Scheduler"

enum { DAY_S = 86400, RESETS_MOST = 1000000 /* the time of each is kept */ };

static bool read_number(const char *path, const char *name, uint32_t *number_out)
{
	uint32_t type = 0;
	size_t needed = 0;
	uint32_t number;
	NTSTATUS status = nt_registry_query(path, name, &type, &number, sizeof(number), &needed);

	if (!NT_SUCCESS(status) || type != MINIPORT_VALUE_DWORD || needed != sizeof(number))
		return false;
	*number_out = number;
	return true;
}

static uint32_t number_in(const struct miniport *miniport, const char *path, const char *name,
			  uint32_t least, uint32_t most, uint32_t otherwise)
{
	uint32_t number = otherwise;

	if (!read_number(miniport->info.registry_path, name, &number))
		read_number(path, name, &number);
	if (number >= least && number <= most)
		return number;
	log_warn("%s: %s is %u, which is not from %u to %u; it is %u", miniport->start_name, name,
		 number, least, most, otherwise);
	return otherwise;
}

static uint32_t number_of(const struct miniport *miniport, const char *name, uint32_t least,
			  uint32_t most, uint32_t otherwise)
{
	return number_in(miniport, GRAPHICS_DRIVERS, name, least, most, otherwise);
}

void miniport_tdr_settings(struct miniport *miniport, struct miniport_tdr_settings *settings_out)
{
	uint32_t level = number_of(miniport, "TdrLevel", 0, 3, 3);

	*settings_out = (struct miniport_tdr_settings){
		.level = level == 2 ? 3 : level, /* to a plain screen, which there is not */
		.delay_s = number_of(miniport, "TdrDelay", 1, DAY_S, 2),
		.ddi_delay_s = number_of(miniport, "TdrDdiDelay", 1, DAY_S, 5),
		.limit_time_s = number_of(miniport, "TdrLimitTime", 1, DAY_S, 60),
		.limit_count = number_of(miniport, "TdrLimitCount", 0, RESETS_MOST, 5),
		.enables_preemption =
			number_in(miniport, SCHEDULER, "EnablePreemption", 0, 1, 1) != 0,
		.quantum_ms = number_in(miniport, SCHEDULER, "QuantumMs", 1, DAY_S * 1000, 20),
		.preempts_always = number_in(miniport, SCHEDULER, "PreemptAlways", 0, 1, 0) != 0,
		.splits_always = number_in(miniport, SCHEDULER, "SplitAlways", 0, 1, 0) != 0,
	};
}
