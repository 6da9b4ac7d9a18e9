/* SPDX-License-Identifier: MIT */
/*
 * planted_test.c - the kernel's recount (dxgk_test_validate) looks at every part of the kernel: a number
 * that is one too high, wherever it is, is found by it and by nobody else.
 */
#include "api/planted.h"
#include "api/soft_work.h"

static void share_one(D3DKMT_HANDLE device)
{
	struct creation creation;
	HANDLE file = NULL;

	creation_init_resource(&creation, device, 2, SHARED_NT);
	EXPECT_OK(create(&creation));
	EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, GENERIC_ALL, &file));
}

TEST(planted, numbers_that_are_wrong_are_found_wherever_they_are)
{
	struct row row = { 0 };
	struct worker worker;
	char problem[256];

	D3DKMTCloseDxCoreDevice();
	worker_open(&worker, open_first_adapter());
	add_write(&row, worker.data, 1);
	worker_run(&worker, &row);
	worker_wait(&worker);
	share_one(worker.client.device);
	expect_valid();

	struct dxgk_test_inside inside = dxgk_test_inside();
	planted_begin(inside.kernel, inside.process);
	for (size_t i = 0; i < planted_count; i++) {
		planted[i].add(1);
		problem[0] = '\0';
		int is_sound = dxgk_test_validate(problem, sizeof(problem));
		planted[i].add(-1);
		if (is_sound || !strstr(problem, planted[i].says))
			print_error("%s: \"%s\" instead of \"%s\"\n", planted[i].name, problem,
				    planted[i].says);
		EXPECT(!is_sound);
		EXPECT(strstr(problem, planted[i].says));
		expect_valid();
	}
	worker_close(&worker);
}

API_TEST_MAIN("api/planted")
