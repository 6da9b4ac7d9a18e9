/*
 * seed_test.c - DXGK_SEED: one seed, one run.
 *
 * The children make threads through <opendxgk/testing.h>, which take part in the seeded run; the
 * trace of a run is what is compared.
 */
#include "api/support.h"

enum { THREADS = 4, ROUNDS = 6 };

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE shared_device;
static unsigned winners;

static void come_and_go(void *context)
{
	(void)context;
	for (unsigned i = 0; i < ROUNDS; i++) {
		D3DKMT_HANDLE device = child_create_device(adapter);
		child_create_context(device);
		D3DKMT_HANDLE second = child_create_context(device);
		CHILD_EXPECT(destroy_context(second) == STATUS_SUCCESS);
		CHILD_EXPECT(destroy_device(device) == STATUS_SUCCESS);
	}
}

static void run_threads(void (*run)(void *context))
{
	struct dxgk_test_thread *threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		threads[i] = dxgk_test_thread_create(run, NULL);
		CHILD_EXPECT(threads[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		dxgk_test_thread_join(threads[i]);
}

CHILD(seeded_run)
{
	adapter = child_open_adapter();
	run_threads(come_and_go);
	CHILD_EXPECT(close_adapter(adapter) == STATUS_SUCCESS);
	return 0;
}

static void race(void *context)
{
	D3DKMT_HANDLE made;

	(void)context;
	for (unsigned i = 0; i < 3; i++)
		(void)try_create_context(shared_device, &made);
	if (destroy_device(shared_device) == STATUS_SUCCESS)
		winners++; /* one thread at a time runs */
}

CHILD(seeded_race)
{
	adapter = child_open_adapter();
	for (unsigned i = 0; i < ROUNDS; i++) {
		shared_device = child_create_device(adapter);
		winners = 0;
		run_threads(race);
		CHILD_EXPECT(winners == 1);
	}
	return 0;
}

/* The trace of `name` under this seed; ours to free. */
static char *trace_of(const char *name, unsigned seed, size_t *length_out)
{
	char path[] = "/tmp/dxgk-trace-XXXXXX";
	char trace_setting[64];
	char seed_setting[64];
	int file = mkstemp(path);

	EXPECT(file >= 0);
	snprintf(trace_setting, sizeof(trace_setting), "DXGK_TRACE=%s", path);
	snprintf(seed_setting, sizeof(seed_setting), "DXGK_SEED=%u", seed);
	const struct child_result *child = run_child(name, seed_setting, trace_setting);
	if (child->exit_status != 0)
		print_error("seed %u:\n", seed);
	EXPECT_CHILD(child, 0);
	off_t length = lseek(file, 0, SEEK_END);
	char *text = malloc((size_t)length + 1);
	EXPECT(text && length > 0);
	EXPECT_EQ(pread(file, text, (size_t)length, 0), length);
	text[length] = '\0';
	close(file);
	unlink(path);
	*length_out = (size_t)length;
	return text;
}

static bool same_trace(const char *name, unsigned one_seed, unsigned other_seed)
{
	size_t one_length;
	size_t other_length;
	char *one = trace_of(name, one_seed, &one_length);
	char *other = trace_of(name, other_seed, &other_length);
	bool is_same = one_length == other_length && memcmp(one, other, one_length) == 0;

	EXPECT_CONTAINS(one, "D3DKMTCreateContext");
	free(one);
	free(other);
	return is_same;
}

TEST(seed, the_same_seed_gives_the_same_trace_byte_for_byte)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		EXPECT(same_trace("seeded_run", seed, seed));
		EXPECT(same_trace("seeded_race", seed, seed));
	}
}

TEST(seed, other_seeds_take_other_turns)
{
	unsigned same = 0;

	for (unsigned seed = 1; seed <= 5; seed++)
		same += same_trace("seeded_run", seed, seed + 100);
	EXPECT_EQ(same, 0);
}

TEST(seed, fifty_races_end_with_one_winner_each)
{
	for (unsigned seed = 1; seed <= 50; seed++) {
		char setting[32];
		snprintf(setting, sizeof(setting), "DXGK_SEED=%u", seed);
		const struct child_result *child = run_child("seeded_race", setting);
		if (child->exit_status != 0)
			print_error("seed %u:\n", seed);
		EXPECT_CHILD(child, 0);
		EXPECT_STR(child->err, "");
	}
}

API_TEST_MAIN("api/seed")
