/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/worker.h"
#include "verify/requests.h"

struct posted {
	struct work work;
	uint32_t adapter_id;
	_Atomic bool is_posted; /* and has not begun */
};

static void (*serve)(uint32_t adapter_id, enum verify_request request);
static struct posted posted[VERIFY_REQUEST_COUNT];
static struct worker worker;
static _Atomic bool is_running;
static struct lock start_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "start of the verifier's thread");

static void carry_out(struct work *work)
{
	struct posted *one = container_of(work, struct posted, work);

	atomic_store(&one->is_posted, false);
	serve(one->adapter_id, (enum verify_request)(one - posted));
}

void verify_requests_serve(void (*carry)(uint32_t adapter_id, enum verify_request request))
{
	lock_acquire(&start_lock);
	serve = carry;
	lock_release(&start_lock);
	if (atomic_load(&is_running))
		return;
	for (unsigned i = 0; i < VERIFY_REQUEST_COUNT; i++)
		work_init(&posted[i].work, carry_out);
	if (NT_SUCCESS(worker_init(&worker, "verify")))
		atomic_store(&is_running, true);
	else
		log_warn("DXGK_FAULT: no thread for what is to happen to adapters");
}

void verify_requests_stop(void)
{
	if (!atomic_exchange(&is_running, false))
		return;
	worker_finish(&worker);
}

void verify_request_post(uint32_t adapter_id, enum verify_request request)
{
	struct posted *one = &posted[request];

	if (!atomic_load(&is_running) || atomic_exchange(&one->is_posted, true))
		return;
	one->adapter_id = adapter_id;
	(void)worker_post(&worker, &one->work);
}
