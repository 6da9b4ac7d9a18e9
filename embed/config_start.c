/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/log.h"
#include "base/machine.h"
#include "base/refusal.h"
#include "embed/config.h"
#include "verify/start.h"

/* Said also when nobody asked for refusals, and once: every call tries to start anew. */
static void say_why_not(void)
{
	static char said[sizeof(((struct dxgk_refusal *)0)->reason)];
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	if (log_is_on(LOG_REFUSALS) || !refusal_last(&why) || strcmp(said, why.reason) == 0)
		return;
	memcpy(said, why.reason, sizeof(said));
	log_error("%s", why.reason);
}

static void limit_strangers(struct config *config)
{
	struct quota_limits process;
	struct quota_limits user;

	quota_limits_of_strangers(&process, &user, machine_size_bytes());
	quota_limits_fill(&config->process_limits, &process);
	quota_limits_fill(&config->user_limits, &user);
}

NTSTATUS config_start(struct dxg_kernel *kernel, const char *profile, bool is_for_strangers)
{
	static bool has_checked_topics;
	struct config config;

	if (!has_checked_topics)
		log_check_topics();
	has_checked_topics = true;
	NTSTATUS status = config_read(profile && *profile ? profile : NULL, &config);
	if (!NT_SUCCESS(status)) {
		say_why_not();
		return status;
	}
	verify_start();
	status = kernel_start(kernel, config.adapters, config.adapter_count);
	if (is_for_strangers)
		limit_strangers(&config);
	kernel_limit(kernel, &config.process_limits, &config.user_limits);
	config_finish(&config);
	return status;
}
