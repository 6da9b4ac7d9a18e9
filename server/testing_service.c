/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/machine.h"
#include "base/machine_exchange.h"
#include "base/mem.h"
#include "base/client_file.h"
#include "dispatch/control_request.h"
#include "embed/guest.h"
#include "nt/report.h"
#include "object/check/validate.h"
#include "object/submit/adapter_work.h"
#include "server/testing_service.h"

static void validate(struct server *server, struct control_test *test)
{
	guests_close();
	test->number = kernel_validate(&server->kernel, test->text, sizeof(test->text));
	guests_open();
}

/* What is left of calls that were answered before they were over. */
static void await_calls(void)
{
	if (guests_close_until(clock_deadline(NS_PER_S)))
		guests_open();
}

static void count_banks(struct control_test *test)
{
	struct machine_exchange_usage exchanged = machine_exchange_usage();

	test->numbers[0] = client_file_count();
	test->numbers[1] = machine_usage().taken_pages;
	test->numbers[2] = exchanged.displaced_pages;
	test->numbers[3] = exchanged.mappings;
}

static void remove_adapter(struct server *server, struct control_test *test, uint64_t luid)
{
	struct dxg_adapter *adapter = kernel_find_adapter(&server->kernel, luid);

	if (adapter)
		adapter_remove(adapter, test->number != 0);
	test->number = adapter != NULL;
}

bool testing_service_run(struct server *server, const struct control_request *request, void *body,
			 struct control_reply *reply)
{
	const char *allowed = getenv("DXGK_TESTING");
	struct control_test test;

	if (request->kind < CONTROL_TEST_VALIDATE || request->kind > CONTROL_TEST_LOCKS)
		return false;
	if (!allowed || strcmp(allowed, "1") != 0 || request->size_bytes != sizeof(test)) {
		control_reply_refuse(reply, STATUS_ACCESS_DENIED,
				     "The server was not started for tests (DXGK_TESTING=1)");
		return true;
	}
	memcpy(&test, body, sizeof(test));
	test.text[sizeof(test.text) - 1] = '\0';
	/* What clients had that are gone is not to be found. */
	if (request->kind == CONTROL_TEST_VALIDATE || request->kind == CONTROL_TEST_MEMORY ||
	    request->kind == CONTROL_TEST_BANKS) {
		serve_settle();
		await_calls();
	}
	switch (request->kind) {
	case CONTROL_TEST_VALIDATE:
		validate(server, &test);
		break;
	case CONTROL_TEST_MEMORY:
		test.number = mem_usage().blocks;
		test.bytes = mem_usage().bytes;
		break;
	case CONTROL_TEST_FAIL_NTH:
		mem_fail_nth(test.number);
		break;
	case CONTROL_TEST_FAIL_STOP:
		test.number = mem_fail_stop();
		break;
	case CONTROL_TEST_REPORTS:
		test.number = nt_report_count_of(test.text);
		break;
	case CONTROL_TEST_BANKS:
		count_banks(&test);
		break;
	case CONTROL_TEST_LOCKS:
		test.number = lock_waits();
		break;
	default:
		remove_adapter(server, &test, request->luid);
	}
	memcpy(body, &test, sizeof(test));
	control_reply_accept(reply, request->size_bytes);
	return true;
}
