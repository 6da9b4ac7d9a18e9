/* SPDX-License-Identifier: MIT */
/*
 * park_test.c - one call is stopped at each of its lock points, in turn, while another thread makes
 * calls about the same memory; then it goes on (sim_park() in src/base/sim.h).
 *
 *	PARK_PAIR='trim/reclaim_*'            only these pairs
 *	PARK_SCENE='system/offered_*'         only with memory like this
 *	PARK_POINT=12                         only this point
 *	PARK_EVERY=797                        of all pairs with all memory, every 797th
 *	PARK_SEED=1                           which schedule of those who are not parked
 *
 * A failure prints the first three, which repeat it alone. What is parked is a call, or a thread of
 * the kernel while calls are made.
 */
#include "api/trim.h"
#include "park/stage.h"

enum { GATE_MS = 50 };

static const struct script scripts[] = {
	{ "trim", { TRIM } },
	{ "offer", { OFFER } },
	{ "reclaim", { RECLAIM } },
	{ "reclaim_now", { RECLAIM_NOW } },
	{ "evict", { EVICT } },
	{ "resident", { RESIDENT } },
	{ "lock", { LOCK } },
	{ "destroy", { DESTROY } },
	{ "destroy_now", { DESTROY_NOW } },
	{ "defrag", { DEFRAG } },
	{ "share", { SHARE } },
	{ "submit", { SUBMIT } },
	{ "run", { RUN } },
	{ "force_out", { FORCE_OUT } },
	{ "pressure", { PRESSURE } },
	{ "offer_list", { OFFER_LIST } },
	{ "reclaim_submit_offer", { RECLAIM, SUBMIT, OFFER } },
	{ "reclaim_now_submit_offer", { RECLAIM_NOW, SUBMIT, OFFER } },
	{ "reclaim_run_offer", { RECLAIM, RUN, OFFER } },
	{ "reclaim_run_offer_at_once", { RECLAIM, RUN, OFFER_AT_ONCE } },
	{ "reclaim_lock_offer", { RECLAIM, LOCK, OFFER } },
	{ "offer_reclaim", { OFFER, RECLAIM } },
	{ "offer_reclaim_submit", { OFFER, RECLAIM, SUBMIT } },
	{ "offer_trim_reclaim_lock", { OFFER, TRIM, RECLAIM, LOCK } },
	{ "resident_submit_evict", { RESIDENT, SUBMIT, EVICT } },
	{ "resident_run_evict", { RESIDENT, RUN, EVICT } },
	{ "evict_offer_trim", { EVICT, OFFER, TRIM } },
	{ "submit_evict_resident", { SUBMIT, EVICT, RESIDENT } },
	{ "lock_force_out_lock", { LOCK, FORCE_OUT, LOCK } },
	{ "submit_pressure_lock", { SUBMIT, PRESSURE, LOCK } },
	{ "submit_defrag", { SUBMIT, DEFRAG } },
	{ "share_destroy", { SHARE, DESTROY } },
	{ "submit_destroy", { SUBMIT, DESTROY } },
	{ "evict_resident_submit", { EVICT, RESIDENT, SUBMIT } },
	{ "evict_pressure_resident", { EVICT, PRESSURE, RESIDENT } },
	{ "resident_evict_offer", { RESIDENT, EVICT, OFFER } },
	{ "offer_pressure_reclaim", { OFFER, PRESSURE, RECLAIM } },
	{ "offer_trim_reclaim_run", { OFFER, TRIM, RECLAIM, RUN } },
	{ "reclaim_defrag_lock", { RECLAIM, DEFRAG, LOCK } },
	{ "hold_second_trim", { HOLD_SECOND, TRIM } },
	{ "hold_second_force_out", { HOLD_SECOND, FORCE_OUT } },
	{ "hold_second_pressure", { HOLD_SECOND, PRESSURE } },
};
/* The first ones are made by the thread that is parked, too. */
enum { SCRIPTS = sizeof(scripts) / sizeof(scripts[0]), CALLS = 16 };

/* Threads that do what calls have begun; a name may be the beginning of one. */
static const struct script workers[] = {
	{ .name = "pager" },   { .name = "dxgk sched" }, { .name = "reaper" },
	{ .name = "vidmm" },   { .name = "nt-dpc" },     { .name = "page table root" },
	{ .name = "driver-" },
};
enum { WORKERS = sizeof(workers) / sizeof(workers[0]), PARKED = CALLS + WORKERS };

static const struct script *parked_one(unsigned i)
{
	return i < CALLS ? &scripts[i] : &workers[i - CALLS];
}

/* ---- one run ---- */

static void open_gate(void)
{
	UINT64 one = 1;

	if (atomic_exchange(&stage.is_open, true))
		return;
	NTSTATUS status = signal_value(stage.client.device, stage.gate, one);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_DEVICE_REMOVED);
}

/* Time passes when nothing else goes on: then somebody waits for what is queued. */
static void gate_run(void *argument)
{
	(void)argument;
	pause_ms(GATE_MS);
	open_gate();
}

static void parked_run(void *argument)
{
	stage_play(argument);
	stage.has_parked = dxgk_test_park_end();
}

static void play_beside_call(unsigned point)
{
	dxgk_test_park("parked", point);
	struct dxgk_test_thread *parked =
		dxgk_test_thread_create_named("parked", parked_run, &stage.sides[0]);

	EXPECT(parked);
	dxgk_test_park_await();
	stage_play(&stage.sides[1]);
	dxgk_test_thread_join(parked);
	open_gate();
}

static void play_beside_worker(const char *name, unsigned point)
{
	dxgk_test_park(name, point);
	stage_play(&stage.sides[1]);
	open_gate();
	stage_await_work();
	flush(&stage.client);
	stage.has_parked = dxgk_test_park_end();
}

/* True: there was such a point. */
static bool run_once(const struct scene *scene, unsigned point)
{
	stage_begin(scene);
	struct dxgk_test_thread *gate = dxgk_test_thread_create(gate_run, NULL);
	EXPECT(gate);
	if (scene->parked->steps[0] == END)
		play_beside_worker(scene->parked->name, point);
	else
		play_beside_call(point);
	dxgk_test_thread_join(gate);
	stage_end();
	return stage.has_parked;
}

/* ---- all of them ---- */

static bool is_wanted(const char *variable, const char *one, const char *other)
{
	const char *wanted = getenv(variable);
	char text[96];

	snprintf(text, sizeof(text), "%s/%s", one, other);
	return !wanted || fnmatch(wanted, text, 0) == 0;
}

static unsigned number(const char *variable, unsigned otherwise)
{
	const char *text = getenv(variable);

	return text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

static unsigned runs;

static void say(const char *line, int length)
{
	(void)!pwrite(STDOUT_FILENO, line, (size_t)length, 0);
	(void)!ftruncate(STDOUT_FILENO, length);
}

/* Which run it is that ends the program, if one does. */
static void announce(const struct scene *scene, unsigned point)
{
	char line[256];
	int length =
		snprintf(line, sizeof(line), "PARK_PAIR='%s/%s' PARK_SCENE=%s/%s PARK_POINT=%u\n",
			 scene->parked->name, scene->other->name, kind_names[scene->kind],
			 state_names[scene->state], point);

	say(line, length);
	runs++;
}

static void sweep_points(const struct scene *scene)
{
	unsigned only = number("PARK_POINT", 0);
	bool has_more = true;

	for (unsigned point = only ? only : 1; has_more; point++) {
		announce(scene, point);
		has_more = run_once(scene, point) && !only;
	}
}

/* Who names pairs wants all of them. */
static unsigned slice(void)
{
	return getenv("PARK_PAIR") ? 1 : number("PARK_EVERY", 1);
}

static void sweep_scenes(const struct script *parked, const struct script *other)
{
	static unsigned count;
	struct scene scene = { .parked = parked, .other = other };

	for (scene.kind = 0; scene.kind < KINDS; scene.kind++) {
		for (scene.state = 0; scene.state < STATES; scene.state++) {
			if (is_wanted("PARK_SCENE", kind_names[scene.kind],
				      state_names[scene.state]) &&
			    count++ % slice() == 0)
				sweep_points(&scene);
		}
	}
}

static unsigned sweep_pairs(unsigned (*sweep)(const struct script *, const struct script *))
{
	unsigned failed = 0;

	for (unsigned i = 0; i < PARKED; i++) {
		for (unsigned j = 0; j < SCRIPTS; j++) {
			if (is_wanted("PARK_PAIR", parked_one(i)->name, scripts[j].name))
				failed += sweep(parked_one(i), &scripts[j]);
		}
	}
	return failed;
}

static unsigned sweep_here(const struct script *parked, const struct script *other)
{
	sweep_scenes(parked, other);
	return 0;
}

CHILD(sweep)
{
	char line[32];

	(void)sweep_pairs(sweep_here);
	say(line, snprintf(line, sizeof(line), "%u", runs));
	return 0;
}

/* In a process of its own, in which it may crash. */
static unsigned sweep_elsewhere(const char *pair, const char *scene)
{
	const char *settings[8] = { NULL };
	unsigned count = 0;
	char profile[4096];
	char seed[32];

	snprintf(profile, sizeof(profile), "DXGK_PROFILE=%s", getenv("DXGK_PROFILE"));
	snprintf(seed, sizeof(seed), "DXGK_SEED=%u", number("PARK_SEED", 1));
	settings[count++] = profile;
	settings[count++] = seed;
	settings[count++] = "CMOCKA_TEST_ABORT=1";
	if (pair)
		settings[count++] = pair;
	if (scene)
		settings[count++] = scene;
	const struct child_result *child = run_child_with("sweep", settings);
	if (child->exit_status == 0) {
		runs += (unsigned)strtoul(child->out, NULL, 10);
		return 0;
	}
	print_error("exit status %d: %s%s", child->exit_status, child->out, child->err);
	return 1;
}

static unsigned sweep_pair_elsewhere(const struct script *parked, const struct script *other)
{
	char pair[96];

	snprintf(pair, sizeof(pair), "PARK_PAIR=%s/%s", parked->name, other->name);
	return sweep_elsewhere(pair, NULL);
}

TEST(park, nothing_is_harmed_by_what_others_do_between_two_steps)
{
	if (slice() > 1)
		EXPECT_EQ(sweep_elsewhere(NULL, NULL), 0);
	else
		EXPECT_EQ(sweep_pairs(sweep_pair_elsewhere), 0);
	print_message("# %u runs\n", runs);
	EXPECT(runs > 0);
}

/* ---- what was wrong once ---- */

static void expect_none(const char *pairs, const char *scenes)
{
	if (!getenv("PARK_PAIR") && !getenv("PARK_SCENE"))
		EXPECT_EQ(sweep_elsewhere(pairs, scenes), 0);
}

TEST(found, trim_leaves_what_was_reclaimed_and_used_and_offered_meanwhile)
{
	expect_none("PARK_PAIR=trim/reclaim_*", "PARK_SCENE=system/offered_*");
}

TEST(found, a_reclaim_waits_for_what_another_brings_in)
{
	expect_none("PARK_PAIR=reclaim*/reclaim_run_offer", "PARK_SCENE=gpu/offered_out");
}

TEST(found, an_offer_of_a_list_that_is_refused_costs_no_content)
{
	expect_none("PARK_PAIR=offer_list/hold_second_*", "PARK_SCENE=gpu/*");
}

TEST(found, what_is_destroyed_while_a_trim_looks_at_it_ends_when_that_is_over)
{
	expect_none("PARK_PAIR=trim/destroy*", "PARK_SCENE=system/offered_out");
}

API_TEST_MAIN("park")
