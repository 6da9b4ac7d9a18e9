/* SPDX-License-Identifier: MIT */
/*
 * elsewhere_test.c - clients in other processes: the kernel maps nothing for them, each maps what its
 * calls tell it to, and none ever sees a byte of another that was not shared with it.
 *
 * They are in this process, and behave as the library of such a client does (embed/guest.c). The profile
 * has 64 MiB of GPU memory.
 */
#include "api/open_shared.h"
#include "api/soft_work.h"

#include <stdatomic.h>
#include <sys/resource.h>

enum { LOCAL_ONLY = SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY };

struct stranger {
	struct dxgk_test_process *process;
	void *arena;
	struct worker worker;
};

static struct client ours;

static void be(const struct stranger *stranger)
{
	dxgk_test_process_enter(stranger ? stranger->process : NULL);
}

/* The caller is it from now on. */
static void stranger_begin(struct stranger *stranger, const char *name)
{
	static unsigned pid = 5000;

	stranger->arena = remote_arena();
	stranger->process = dxgk_test_process_create_remote(++pid, 1000, name, stranger->arena,
							    1ull << REMOTE_ARENA_SHIFT);
	EXPECT(stranger->process != NULL);
	be(stranger);
}

static void stranger_open(struct stranger *stranger, const char *name)
{
	stranger_begin(stranger, name);
	worker_open(&stranger->worker, open_first_adapter());
	be(NULL);
}

static void stranger_end(struct stranger *stranger)
{
	be(NULL);
	dxgk_test_process_end(stranger->process);
	remote_arena_end(stranger->arena);
	expect_valid();
}

/* Nothing is left of those that ended. */
static void expect_as_before(const struct dxgk_test_banks *before)
{
	struct dxgk_test_banks now = dxgk_test_banks();

	EXPECT_EQ(now.files, before->files);
	EXPECT_EQ(now.displaced_pages, before->displaced_pages);
	EXPECT_EQ(now.mappings, before->mappings);
	EXPECT_EQ(now.taken_pages, before->taken_pages);
}

static bool is_in_arena(const struct stranger *stranger, const volatile void *pointer)
{
	const volatile char *byte = pointer;
	const char *arena = stranger->arena;

	return byte >= arena && byte < arena + (1ull << REMOTE_ARENA_SHIFT);
}

/* ---- locks ---- */

/* What the GPU wrote is there, and stays at its address wherever it goes. */
TEST(memory, that_was_filled_in_gpu_memory_is_locked_and_goes_back)
{
	struct stranger a;
	void *pointer;
	void *again;

	ours = begin();
	stranger_open(&a, "a");
	be(&a);
	struct client *client = &a.worker.client;
	struct row row = { 0 };
	add_fill(&row, a.worker.data, DATA_BYTES, 0x5a5a5a5a);
	worker_run(&a.worker, &row);
	worker_wait(&a.worker);
	EXPECT_OK(lock2(client->device, a.worker.memory, &pointer));
	EXPECT(is_in_arena(&a, pointer));
	volatile uint32_t *words = pointer;
	EXPECT_EQ(words[0], 0x5a5a5a5a);
	EXPECT_EQ(words[DATA_BYTES / 4 - 1], 0x5a5a5a5a);
	words[5] = 55;
	flush(client);
	row = (struct row){ 0 };
	add_write(&row, a.worker.data + 64, 66); /* it is back */
	worker_run(&a.worker, &row);
	worker_wait(&a.worker);
	EXPECT_EQ(residency_status(client, a.worker.memory), IN_GPU_MEMORY);
	EXPECT_EQ(words[5], 55);
	EXPECT_EQ(words[16], 66);
	for (unsigned i = 0; i < 4; i++) {
		EXPECT_OK(evict(client, &a.worker.memory, 1, 0));
		EXPECT_EQ(words[16], 66);
		EXPECT_OK(make_resident(client, &a.worker.memory, 1, 0));
		EXPECT_EQ(words[5], 55);
		EXPECT_OK(lock2(client->device, a.worker.memory, &again));
		EXPECT(again == pointer);
		EXPECT_OK(unlock2(client->device, a.worker.memory));
		if (i == 1) /* with its pages, locked or not */
			EXPECT_OK(unlock2(client->device, a.worker.memory));
	}
	EXPECT_EQ(words[16], 66);
	expect_valid();
	stranger_end(&a);
}

TEST(memory, locks_survive_every_allocation_failure)
{
	struct stranger a;
	bool fired = true;

	ours = begin();
	stranger_begin(&a, "a");
	struct client client;
	client_open(&client, open_first_adapter());
	for (unsigned n = 1; fired; n++) {
		D3DKMT_HANDLE memory = create_sized(&client, 3 * MIB, LOCAL_ONLY);
		void *pointer = NULL;

		if (n % 2)
			EXPECT_OK(make_resident(&client, &memory, 1, 0));
		dxgk_test_fail_nth_allocation(n / 2 + 1);
		NTSTATUS status = lock2(client.device, memory, &pointer);
		fired = dxgk_test_fail_stop() || n < 30;
		if (status == STATUS_SUCCESS)
			*(volatile char *)pointer = 1;
		else
			EXPECT_EQ(status, STATUS_NO_MEMORY);
		EXPECT_OK(destroy_now(&client, memory));
	}
	stranger_end(&a);
}

/* ---- fences ---- */

TEST(fences, are_read_where_the_client_maps_them_and_nowhere_written)
{
	struct stranger a;

	ours = begin();
	stranger_open(&a, "a");
	be(&a);
	EXPECT(is_in_arena(&a, a.worker.value));
	EXPECT(is_in_arena(&a, a.worker.client.value));
	struct row row = { 0 };
	add_write(&row, a.worker.data + 8, 7);
	worker_run(&a.worker, &row);
	worker_wait(&a.worker);
	EXPECT_EQ(*a.worker.value, a.worker.last_value);
	void *page = (void *)((uintptr_t)a.worker.value & ~(uintptr_t)(PAGE - 1));
	EXPECT(mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0);
	stranger_end(&a);
}

TEST(fences, that_are_shared_are_in_the_arena_of_each_and_outlive_their_maker)
{
	struct stranger a;
	struct stranger b;
	HANDLE handle;

	ours = begin();
	struct dxgk_test_banks before = dxgk_test_banks();
	stranger_open(&a, "a");
	stranger_open(&b, "b");
	be(&a);
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 made = monitored_fence(a.worker.client.device, true);
	EXPECT_OK(D3DKMTShareObjects(1, &made.hSyncObject, NULL, 0x10000000 /* all */, &handle));
	be(&b);
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 open = { .hNtHandle = handle,
						    .hDevice = b.worker.client.device };
	EXPECT_OK(D3DKMTOpenSyncObjectFromNtHandle2(&open));
	const volatile UINT64 *in_a = made.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	const volatile UINT64 *in_b = open.MonitoredFence.FenceValueCPUVirtualAddress;
	EXPECT(is_in_arena(&a, in_a) && is_in_arena(&b, in_b));
	UINT64 value = 5;
	EXPECT_OK(signal_value(b.worker.client.device, open.hSyncObject, value));
	EXPECT_EQ(*in_a, 5);
	EXPECT_EQ(*in_b, 5);
	stranger_end(&a);
	be(&b);
	value = 9;
	EXPECT_OK(signal_value(b.worker.client.device, open.hSyncObject, value));
	EXPECT_EQ(*in_b, 9);
	stranger_end(&b);
	EXPECT_EQ(close((int)(intptr_t)handle), 0);
	struct stranger last; /* whose end sweeps what nobody holds any more */
	stranger_open(&last, "last");
	stranger_end(&last);
	expect_as_before(&before);
}

/* ---- sharing ---- */

TEST(resources, that_are_shared_are_the_same_memory_for_each_who_opens_them)
{
	struct stranger a;
	struct stranger b;
	struct creation creation;
	HANDLE handle;
	void *in_a;
	void *in_b;

	ours = begin();
	struct dxgk_test_banks before = dxgk_test_banks();
	stranger_open(&a, "a");
	stranger_open(&b, "b");
	be(&a);
	creation_init_resource(&creation, a.worker.client.device, 1, SHARED_NT);
	EXPECT_OK(create(&creation));
	D3DKMT_HANDLE made = creation.elements[0].hAllocation;
	EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
				     &handle));
	EXPECT_OK(make_resident(&a.worker.client, &made, 1, 0));
	be(&b);
	D3DKMT_HANDLE opened = open_nt(&b.worker.client, handle).memory;
	EXPECT_OK(lock2(b.worker.client.device, opened, &in_b));
	be(&a);
	EXPECT_OK(lock2(a.worker.client.device, made, &in_a));
	EXPECT(is_in_arena(&a, in_a) && is_in_arena(&b, in_b));
	for (unsigned i = 0; i < 3; i++) {
		*(volatile uint64_t *)in_a = 41 + i;
		EXPECT_EQ(*(volatile uint64_t *)in_b, 41 + i);
		EXPECT_OK(evict(&a.worker.client, &made, 1, 0));
		EXPECT_OK(make_resident(&a.worker.client, &made, 1, 0));
	}
	expect_valid();
	stranger_end(&a);
	be(&b);
	EXPECT_EQ(*(volatile uint64_t *)in_b, 43);
	*(volatile uint64_t *)in_b = 44;
	EXPECT_OK(make_resident(&b.worker.client, &opened, 1, 0));
	flush(&b.worker.client);
	EXPECT_EQ(*(volatile uint64_t *)in_b, 44);
	stranger_end(&b);
	EXPECT_EQ(close((int)(intptr_t)handle), 0);
	struct stranger last;
	stranger_open(&last, "last");
	stranger_end(&last);
	expect_as_before(&before);
}

TEST(resources, that_may_only_be_read_are_mapped_so)
{
	struct stranger a;
	struct stranger b;
	struct creation creation;
	HANDLE handle;
	void *pointer;

	ours = begin();
	stranger_open(&a, "a");
	stranger_open(&b, "b");
	be(&a);
	creation_init_resource(&creation, a.worker.client.device, 1, SHARED_NT);
	EXPECT_OK(create(&creation));
	fill(&a.worker.client, creation.elements[0].hAllocation, SOME_BYTES, 3);
	EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, 0x20000 /* read control */,
				     &handle));
	be(&b);
	D3DKMT_HANDLE opened = open_nt(&b.worker.client, handle).memory;
	EXPECT_OK(lock2(b.worker.client.device, opened, &pointer));
	EXPECT_EQ(*(volatile uint64_t *)pointer, pattern(3, 0));
	int null = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	EXPECT(read(null, pointer, 8) < 0 && errno == EFAULT);
	close(null);
	/* Its maker was let write before, and writes on. */
	be(&a);
	fill(&a.worker.client, creation.elements[0].hAllocation, SOME_BYTES, 4);
	be(&b);
	EXPECT_EQ(*(volatile uint64_t *)pointer, pattern(4, 0));
	stranger_end(&b);
	stranger_end(&a);
	EXPECT_EQ(close((int)(intptr_t)handle), 0);
}

/* ---- memory that clients bring ---- */

TEST(heaps, of_a_client_come_along_with_the_call_or_are_refused)
{
	struct stranger a;
	D3DKMT_HANDLE heap;
	void *pointer;
	int file = memfd_create("heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	EXPECT_EQ(ftruncate(file, 3 * PAGE), 0);
	EXPECT_EQ(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, PAGE);
	EXPECT(memory != MAP_FAILED);
	ours = begin();
	stranger_open(&a, "a");
	be(&a);
	const struct client *client = &a.worker.client;
	EXPECT_REFUSED(bring_heap(client, memory, 2 * PAGE, &heap), STATUS_GRAPHICS_NO_VIDEO_MEMORY,
		       "API-VALUE", "pAllocationInfo");
	EXPECT(dxgk_test_bring(memory, PAGE, file, PAGE));
	EXPECT_REFUSED(bring_heap(client, memory, 2 * PAGE, &heap), STATUS_GRAPHICS_NO_VIDEO_MEMORY,
		       "API-VALUE", "pAllocationInfo");
	EXPECT(dxgk_test_bring(memory, 2 * PAGE, file, PAGE));
	EXPECT_OK(bring_heap(client, memory, 2 * PAGE, &heap));
	EXPECT_OK(lock2(client->device, heap, &pointer));
	EXPECT(pointer == memory);
	EXPECT_OK(unlock2(client->device, heap));
	EXPECT_OK(make_resident(client, &heap, 1, 0));
	flush(client);
	expect_valid();
	stranger_end(&a);
	munmap(memory, 2 * PAGE);
	close(file);
}

/* ---- limits ---- */

TEST(files, that_cannot_be_had_are_refused_by_name)
{
	struct stranger a;
	struct creation creation;
	struct rlimit limit;
	int last;

	ours = begin();
	stranger_open(&a, "a");
	be(&a);
	EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	last = dup(0);
	EXPECT(last >= 0);
	struct rlimit less = { (rlim_t)last, limit.rlim_max };
	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &less), 0);
	creation_init_resource(&creation, a.worker.client.device, 1, SHARED_NT);
	NTSTATUS status = create(&creation);
	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	EXPECT_EQ(status, STATUS_INSUFFICIENT_RESOURCES);
	EXPECT_STR(last_refusal().rule, "MM-NO-BANKS");
	close(last);
	EXPECT_OK(create(&creation));
	stranger_end(&a);
}

/* ---- death ---- */

TEST(death, of_who_has_memory_locked_leaves_nothing)
{
	ours = begin();
	for (unsigned turn = 0; turn < 6; turn++) {
		struct dxgk_test_banks before = dxgk_test_banks();
		struct stranger a;
		D3DKMT_HANDLE memory[4];
		void *pointer;

		stranger_open(&a, "a");
		be(&a);
		for (unsigned i = 0; i < 4; i++) {
			memory[i] = create_sized(&a.worker.client, 20 * MIB,
						 i % 2 ? SOFTGPU_CPU_VISIBLE : LOCAL_ONLY);
			EXPECT_OK(lock2(a.worker.client.device, memory[i], &pointer));
			memset(pointer, 1, MIB);
		}
		for (unsigned i = 0; i < 4; i++) {
			D3DDDI_MAKERESIDENT args = residency_of(&a.worker.client, &memory[i], 1, 0);
			(void)D3DKMTMakeResident(&args); /* some move, and nobody waits */
			if (turn % 2 && i > 0)
				(void)evict(&a.worker.client, &memory[i - 1], 1, 0);
		}
		stranger_end(&a);
		expect_as_before(&before);
	}
}

/* ---- strangers ---- */

enum { KEPT_MAX = 3000, TURNS = 250, THINGS = 12 };

static struct kept {
	const volatile uint64_t *words;
	uint64_t page_count;
	unsigned owner;
} kept[KEPT_MAX];
static unsigned kept_count;
static unsigned whose; /* calls are at the moment */

static uint64_t tag_of(unsigned owner)
{
	return UINT64_C(0x5afe000000000000) + ((uint64_t)owner << 32);
}

/* Who misbehaves maps all that he was ever told of once more, and keeps it. */
static void keep(void *address, unsigned long long page_count, int descriptor,
		 unsigned long long first_page)
{
	(void)address;
	if (whose == 0 || kept_count == KEPT_MAX)
		return;
	void *words = mmap(NULL, page_count * PAGE, PROT_READ, MAP_SHARED, descriptor,
			   (off_t)(first_page * PAGE));
	EXPECT(words != MAP_FAILED);
	kept[kept_count++] = (struct kept){ words, page_count, whose };
}

static void expect_nothing_of_others(void)
{
	for (unsigned i = 0; i < kept_count; i++) {
		for (uint64_t at = 0; at < kept[i].page_count * PAGE / 8; at += 16) {
			uint64_t word = kept[i].words[at];
			bool is_others =
				word >> 48 == 0x5afe && word >> 32 != tag_of(kept[i].owner) >> 32;

			if (is_others) {
				EXPECT_EQ(word, tag_of(kept[i].owner));
				return;
			}
		}
	}
}

struct thing {
	D3DKMT_HANDLE handle;
	uint64_t size_bytes;
	bool is_offered;
};

static void thing_write(const struct client *client, const struct thing *thing, unsigned owner)
{
	void *pointer;

	EXPECT_OK(lock2(client->device, thing->handle, &pointer));
	for (uint64_t at = 0; at < thing->size_bytes / 8; at += 16) {
		uint64_t word = ((volatile uint64_t *)pointer)[at];

		if (word != 0 && word >> 32 != tag_of(owner) >> 32) {
			EXPECT_EQ(word, tag_of(owner));
			return;
		}
		((volatile uint64_t *)pointer)[at] = tag_of(owner) + at;
	}
	EXPECT_OK(unlock2(client->device, thing->handle));
}

static unsigned chance(uint64_t *state, unsigned below)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(*state >> 33) % below;
}

static void thing_turn(const struct client *client, struct thing *thing, unsigned owner,
		       uint64_t *state)
{
	static const unsigned flags[] = { SOFTGPU_CPU_VISIBLE, LOCAL_ONLY,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY };

	if (thing->handle == 0) {
		thing->size_bytes = (1 + chance(state, 1 + 1024 * chance(state, 2))) * PAGE;
		thing->handle = create_sized(client, thing->size_bytes, flags[chance(state, 3)]);
		thing->is_offered = false;
		return;
	}
	if (thing->is_offered) {
		BOOL was_discarded;
		(void)reclaim_now(client, &thing->handle, 1, &was_discarded);
		thing->is_offered = false;
		return;
	}
	switch (chance(state, 6)) {
	case 0:
	case 1:
		thing_write(client, thing, owner);
		break;
	case 2:
	case 3: {
		D3DDDI_MAKERESIDENT args = residency_of(client, &thing->handle, 1, 0);
		(void)D3DKMTMakeResident(&args);
		break;
	}
	case 4:
		(void)evict(client, &thing->handle, 1, 0);
		break;
	default:
		if (chance(state, 2)) {
			thing->is_offered =
				offer(client, &thing->handle, 1, 1, 0) == STATUS_SUCCESS;
		} else {
			EXPECT_OK(destroy_one(client->device, thing->handle));
			thing->handle = 0;
		}
		break;
	}
}

TEST(strangers, never_see_each_other_s_memory_whatever_they_keep_mapped)
{
	uint64_t luck = is_seeded() ? (uint64_t)atoi(getenv("DXGK_SEED")) : 1;

	ours = begin();
	struct dxgk_test_banks before = dxgk_test_banks();
	dxgk_test_watch_views(keep);
	for (unsigned round = 0; round < 3; round++) {
		struct stranger strangers[2];
		struct thing things[2][THINGS] = { 0 };

		for (unsigned i = 0; i < 2; i++) {
			whose = 2 * round + i + 1;
			stranger_open(&strangers[i], i ? "b" : "a");
		}
		for (unsigned turn = 0; turn < TURNS * 4; turn++) {
			unsigned i = turn % 2;

			whose = 2 * round + i + 1;
			be(&strangers[i]);
			thing_turn(&strangers[i].worker.client, &things[i][chance(&luck, THINGS)],
				   whose, &luck);
			if (turn % 100 == 0)
				expect_nothing_of_others();
		}
		expect_nothing_of_others();
		stranger_end(&strangers[0]);
		whose = 2 * round + 2;
		be(&strangers[1]);
		for (unsigned i = 0; i < THINGS; i++) {
			if (things[1][i].handle && !things[1][i].is_offered)
				thing_write(&strangers[1].worker.client, &things[1][i], whose);
		}
		expect_nothing_of_others();
		stranger_end(&strangers[1]);
	}
	dxgk_test_watch_views(NULL);
	expect_nothing_of_others();
	for (unsigned i = 0; i < kept_count; i++)
		munmap((void *)(uintptr_t)kept[i].words, kept[i].page_count * PAGE);
	EXPECT(kept_count > 100);
	kept_count = 0;
	expect_as_before(&before);
}

int main(int argc, char **argv)
{
	return api_main("api/elsewhere", argc, argv);
}
