/* SPDX-License-Identifier: MIT */
/*
 * crank.h - for tests of queues, on a GPU that is turned by hand: the recorder driver, which does
 * nothing that it was given until the test says so.
 *
 * What the driver says it gets is kept as lines; a test adds its own with mark(), and then looks at
 * the order (drivers/recorder/recorder.h has the legend). What the GPU has a test knows again by its length in bytes, its tag.
 */
#ifndef TESTS_API_CRANK_H
#define TESTS_API_CRANK_H

#include "api/sync.h"
#include "drivers/recorder/recorder.h"
#include "support/notes.h"

#include <pthread.h>
#include <sched.h>

/* What becomes of a device. */
enum {
	ACTIVE = D3DKMT_DEVICEEXECUTION_ACTIVE,
	RESET = D3DKMT_DEVICEEXECUTION_RESET,
	HUNG = D3DKMT_DEVICEEXECUTION_HUNG,
	DMA_FAULT = D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT,
	PAGE_FAULT = D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT,
};

/* ---- what the driver said ---- */

__attribute__((visibility("default"))) void recorder_note(const char *line);

void recorder_note(const char *line)
{
	notes_add(line);
}

static inline void mark(const char *line)
{
	recorder_note(line);
}

/* How many lines begin like this. */
static inline unsigned notes_count(const char *beginning)
{
	unsigned count = 0;

	pthread_mutex_lock(&notes_lock);
	for (const char *line = notes; *line; line = strchr(line, '\n') + 1)
		count += strncmp(line, beginning, strlen(beginning)) == 0;
	pthread_mutex_unlock(&notes_lock);
	return count;
}

/* Both are there, and the first of the first before the first of the second. */
static inline bool notes_in_order(const char *first, const char *second)
{
	pthread_mutex_lock(&notes_lock);
	const char *one = strstr(notes, first);
	const char *other = strstr(notes, second);
	bool is_right = one && other && one < other;
	if (!is_right)
		print_error("\"%s\" should be before \"%s\" in:\n%s", first, second, notes);
	pthread_mutex_unlock(&notes_lock);
	return is_right;
}

/* ---- the adapters of the profile ---- */

enum {
	BY_HAND,         /* and preemption is answered at once */
	BY_HAND_HOLDING, /* preemption waits for the test */
	AT_ONCE,         /* completes by itself */
	ADAPTERS
};

/* The last one pages, by itself or, where a test says so, by hand, too. */
#ifndef CRANK_PAGING_AT_ONCE
#define CRANK_PAGING_AT_ONCE "1"
#endif
/* Nobody's turn ends by itself: a test that is slow would see another order. */
#define ENDLESS_TURNS "\"QuantumMs\": 86400000, "
#define FOUR_NODES                                                                                 \
	ENDLESS_TURNS                                                                              \
	"\"NbAsymetricProcessingNodes\": 4, \"PagingNode\": 3, "                                   \
	"\"PagingAtOnce\": " CRANK_PAGING_AT_ONCE ", "

static unsigned crank_adapter_count;

/* Before the first call: there are these adapters. `more` is registry for all of them. */
static inline void crank_profile_of(const char *const registries[], unsigned count,
				    const char *more)
{
	static char profile[8192];
	int used = snprintf(profile, sizeof(profile), "{\"adapters\": [");

	for (unsigned i = 0; i < count; i++)
		used += snprintf(profile + used, sizeof(profile) - (size_t)used,
				 "%s{\"driver\": \"%s\", \"name\": \"recorder%u\", \"registry\": {"
				 "%s" FOUR_NODES "%s}}",
				 i ? ", " : "", getenv("TEST_RECORDER"), i, more, registries[i]);
	snprintf(profile + used, sizeof(profile) - (size_t)used, "]}");
	setenv("DXGK_PROFILE", write_file(profile), 1);
	crank_adapter_count = count;
}

static inline void crank_profile(const char *more)
{
	static const char *const registries[ADAPTERS] = {
		[BY_HAND] = "\"HandCranked\": 1",
		[BY_HAND_HOLDING] = "\"HandCranked\": 1, \"HoldPreemption\": 1",
		[AT_ONCE] = "\"HandCranked\": 0",
	};

	crank_profile_of(registries, ADAPTERS, more);
}

static inline unsigned crank(struct recorder_escape *escape)
{
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .pPrivateDriverData = escape,
			       .PrivateDriverDataSize = sizeof(*escape) };

	EXPECT_OK(D3DKMTEscape(&args));
	return escape->result;
}

/* A DPC takes along what it finds when it is late: those that were queued are over. */
static inline void flush_dpcs(void)
{
	struct recorder_escape escape = { .command = RECORDER_FLUSH_DPCS };

	(void)crank(&escape);
}

/* A new process with a device on this adapter. */
static inline void begin_on(unsigned which)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };

	D3DKMTCloseDxCoreDevice();
	EXPECT_OK(D3DKMTEnumAdapters2(&all));
	EXPECT_EQ(all.NumAdapters, crank_adapter_count);
	adapter = infos[which].hAdapter;
	device = create_device(adapter);
	flush_dpcs();
	notes_forget();
}

static inline void begin_by_hand(void)
{
	begin_on(BY_HAND);
}

/* ---- the crank ---- */

static inline unsigned pending(unsigned node)
{
	return crank(&(struct recorder_escape){ .command = RECORDER_PENDING, .node = node });
}

/* The tags that the driver answers with. */
static inline const char *crank_tags(struct recorder_escape *escape)
{
	static char text[128];
	unsigned count = crank(escape);
	int used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < count && i < 8; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%llu ",
				 escape->values[i]);
	return text;
}

/* What the GPU has under way on this node, by tag: "1 2 3 ". */
static inline const char *pending_tags(unsigned node)
{
	return crank_tags(&(struct recorder_escape){ .command = RECORDER_PENDING, .node = node });
}

/* The GPU ends the oldest; its tag, 0 when there is nothing. */
static inline unsigned complete(unsigned node)
{
	struct recorder_escape escape = { .command = RECORDER_COMPLETE, .node = node };

	mark("completing");
	return crank(&escape) ? (unsigned)escape.values[0] : 0;
}

/* The driver says this of a node, whatever it has. */
static inline void interrupt(unsigned type, unsigned node)
{
	struct recorder_escape escape = { .command = RECORDER_INTERRUPT,
					  .type = type,
					  .node = node };

	(void)crank(&escape);
}

/* 64 KiB, as the driver makes them when nothing else is said. */
static inline D3DKMT_HANDLE create_plain(void)
{
	D3DDDI_ALLOCATIONINFO2 info = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	return info.hAllocation;
}

static inline bool is_resident(D3DKMT_HANDLE allocation)
{
	D3DKMT_ALLOCATIONRESIDENCYSTATUS status = 0;
	D3DKMT_QUERYALLOCATIONRESIDENCY args = { .hDevice = device,
						 .phAllocationList = &allocation,
						 .AllocationCount = 1,
						 .pResidencyStatus = &status };

	EXPECT_OK(D3DKMTQueryAllocationResidency(&args));
	return status != D3DKMT_ALLOCATIONRESIDENCYSTATUS_NOTRESIDENT;
}

/* The last call of an entry point, and its list. */
static inline struct recorder_fetch fetched(unsigned entry)
{
	struct recorder_fetch fetch = { .escape = { .command = RECORDER_FETCH, .type = entry } };
	D3DKMT_ESCAPE escape = { .hAdapter = adapter,
				 .pPrivateDriverData = &fetch,
				 .PrivateDriverDataSize = sizeof(fetch) };

	EXPECT_OK(D3DKMTEscape(&escape));
	return fetch;
}

static inline void fetch_arguments(unsigned entry, void *arguments, size_t bytes, void *list,
				   size_t list_bytes)
{
	struct recorder_fetch fetch = fetched(entry);

	EXPECT_EQ(fetch.argument_bytes, bytes);
	memcpy(arguments, fetch.argument, bytes);
	if (!list)
		return;
	EXPECT_EQ(fetch.list_bytes, list_bytes);
	memcpy(list, fetch.list, list_bytes);
}

/* On the device's list from now on, by a paging queue of its own. It may not be there yet. */
static inline void make_resident(D3DKMT_HANDLE allocation)
{
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = device };
	D3DDDI_MAKERESIDENT args = { .NumAllocations = 1, .AllocationList = &allocation };

	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	args.hPagingQueue = queue.hPagingQueue;
	NTSTATUS status = D3DKMTMakeResident(&args);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
}

/* Other threads get along; in a seeded run every call is a turn. */
static inline void let_others(void)
{
	(void)pending(0);
	sched_yield();
}

/* Nobody does anything any more. */
static inline void settle(void)
{
	for (unsigned i = 0; i < 50; i++)
		let_others();
}

/* Simulated time; it passes when everybody waits. */
static inline void let_time_pass(unsigned seconds)
{
	D3DKMT_CREATEKEYEDMUTEX mutex = { 0 };
	LARGE_INTEGER timeout = { .QuadPart = -10000000ll * seconds };
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { .Key = 1, .pTimeout = &timeout };

	EXPECT_OK(D3DKMTCreateKeyedMutex(&mutex));
	acquire.hKeyedMutex = mutex.hKeyedMutex;
	EXPECT_EQ(D3DKMTAcquireKeyedMutex(&acquire), STATUS_TIMEOUT);
}

enum { PATIENCE = 200000 };

/* Something that another thread will do; nothing is timed, the patience only ends a failure. */
#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		unsigned await_turns = 0;                                                          \
		while (!(condition)) {                                                             \
			if (++await_turns > PATIENCE) {                                            \
				print_error("%s:%d: never came: %s\n%s", __FILE__, __LINE__,       \
					    #condition, notes);                                    \
				_fail(__FILE__, __LINE__);                                         \
			}                                                                          \
			let_others();                                                              \
		}                                                                                  \
	} while (0)

/* Completes what there is, in whatever order, until this many were. */
static inline void complete_all(unsigned node, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		AWAIT(pending(node) > 0);
		EXPECT(complete(node) != 0);
	}
}

/* ---- devices and memory ---- */

static inline NTSTATUS mark_as_error(D3DKMT_HANDLE of)
{
	return D3DKMTMarkDeviceAsError(
		&(D3DKMT_MARKDEVICEASERROR){ of, D3DKMT_DEVICE_ERROR_REASON_GENERIC });
}

/* With no private data, which this driver needs none of. */
static inline NTSTATUS try_allocation(D3DKMT_HANDLE on, D3DKMT_HANDLE *allocation_out)
{
	D3DDDI_ALLOCATIONINFO2 element = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = on,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element };
	NTSTATUS status = D3DKMTCreateAllocation2(&args);

	*allocation_out = element.hAllocation;
	return status;
}

static inline D3DKMT_HANDLE make_allocation(D3DKMT_HANDLE on)
{
	return CREATED(try_allocation, on);
}

static inline void destroy_allocation(D3DKMT_HANDLE allocation)
{
	EXPECT_OK(D3DKMTDestroyAllocation2(&(D3DKMT_DESTROYALLOCATION2){
		.hDevice = device, .phAllocationList = &allocation, .AllocationCount = 1 }));
}

/* ---- contexts and work ---- */

static inline NTSTATUS try_create_virtual(D3DKMT_HANDLE on, unsigned node,
					  D3DKMT_HANDLE *context_out)
{
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = on, .NodeOrdinal = node };
	NTSTATUS status = D3DKMTCreateContextVirtual(&args);

	*context_out = args.hContext;
	return status;
}

static inline D3DKMT_HANDLE create_virtual_on(D3DKMT_HANDLE on, unsigned node)
{
	return CREATED(try_create_virtual, on, node);
}

static inline D3DKMT_HANDLE create_virtual(unsigned node)
{
	return create_virtual_on(device, node);
}

static inline D3DKMT_SUBMITCOMMAND submission(D3DKMT_HANDLE context, unsigned tag)
{
	D3DKMT_SUBMITCOMMAND args = { .Commands = 0x10000,
				      .CommandLength = tag,
				      .BroadcastContextCount = 1 };

	args.BroadcastContext[0] = context;
	return args;
}

static inline NTSTATUS submit(D3DKMT_HANDLE context, unsigned tag)
{
	D3DKMT_SUBMITCOMMAND args = submission(context, tag);

	return D3DKMTSubmitCommand(&args);
}

/* How often the driver was given work; paging has its own node. */
static inline unsigned submissions(void)
{
	return notes_count("SubmitCommandVirtual irql=2 node=0") +
	       notes_count("SubmitCommandVirtual irql=2 node=1") +
	       notes_count("SubmitCommandVirtual irql=2 node=2");
}

/* ---- waits and signals in a queue, of monitored fences ---- */

static inline NTSTATUS queue_signal(D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value)
{
	return D3DKMTSignalSynchronizationObjectFromGpu(
		&(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){ .hContext = context,
							      .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .MonitoredFenceValueArray = &value });
}

static inline NTSTATUS queue_wait(D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value)
{
	return D3DKMTWaitForSynchronizationObjectFromGpu(&(
		D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){ .hContext = context,
							     .ObjectCount = 1,
							     .ObjectHandleArray = &fence,
							     .MonitoredFenceValueArray = &value });
}

/* The kernel's books agree; soon, for another thread may be about to let go of something. */
static inline void expect_sound(const char *when)
{
	enum { SOON = 2000 };
	char problem[256] = "";

	for (unsigned i = 0; i < SOON; i++) {
		if (dxgk_test_validate(problem, sizeof(problem)))
			return;
		let_others();
	}
	print_error("%s: %s\n", when, problem);
	EXPECT_STR(problem, "");
}

/* Nothing the driver saw was wrong. */
static inline void expect_nothing_wrong(void)
{
	if (notes_count("WRONG") != 0)
		print_error("%s", notes);
	EXPECT_EQ(notes_count("WRONG"), 0);
}

/* Runs the tests on these adapters. `more` ends with a comma, or is empty. */
static inline int crank_main(const char *group, const char *more, int argc, char **argv)
{
	crank_profile(more);
	return api_main(group, argc, argv);
}

#define CRANK_TEST_MAIN(group, more)                                                               \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return crank_main(group, more, argc, argv);                                        \
	}

/* Of tests in which the GPU is turned by hand, and that leave everything in order. */
#define HAND_TEST(suite, claim) TEST_BETWEEN(begin_by_hand(), expect_nothing_wrong(), suite, claim)

#endif
