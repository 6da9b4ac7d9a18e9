/* SPDX-License-Identifier: MIT */
/*
 * allocation_test.c - what a client can rely on when it locks memory, and what goes when it ends.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/random.h"
#include "support/failing.h"
#include "support/bank.h"
#include "support/rule.h"
#include "vidmm/work_set.h"
#include "world.h"

TEST(allocation, one_is_small)
{
	EXPECT(sizeof(struct vidmm_allocation) <= 160);
}

WORLD_TEST(allocation, untouched_it_costs_nothing_but_itself)
{
	world_new(world, 64 * KIB);
	world_new(world, UINT64_C(1) << 50);
	EXPECT_EQ(machine_usage().total_pages, 0);
	EXPECT_EQ(cpu_map_usage().total_pages, 0);
	EXPECT_EQ(mem_usage().blocks, world->usage.blocks);
}

WORLD_TEST(lock, first_bytes_are_zero_and_stay_what_was_written)
{
	struct vidmm_allocation *allocation = world_new(world, MIB);
	char *bytes = world_lock(world, allocation);
	EXPECT(is_all(bytes, MIB, 0));
	memset(bytes, 'x', MIB);
	EXPECT(world_unlock(allocation));
	EXPECT(world_lock(world, allocation) == bytes);
	EXPECT(is_all(bytes, MIB, 'x'));
}

/* Where a client may be shown it, and nobody else's is. */
SMALL_WORLD_TEST(lock, shows_pages_of_the_bank_of_its_process)
{
	world->process.bank = machine_bank_create();
	EXPECT(world->process.bank);
	struct vidmm_allocation *allocation = world_new(world, 3 * PAGE);
	struct driver_memory driver = { 0 };
	struct vidmm_wishes wishes = world_wishes(world, PAGE);
	wishes.driver = &driver;
	struct vidmm_allocation *own = world_add(world, &wishes);
	uint64_t offset;

	memset(world_lock(world, allocation), 'b', 3 * PAGE);
	(void)world_lock(world, own);
	uint64_t address = (uint64_t)allocation->backing.one.first_pfn << MACHINE_PAGE_SHIFT;
	EXPECT(bank_of(address, &offset) == world->process.bank);
	EXPECT_EQ(offset, address - MACHINE_FIRST);
	EXPECT(is_all(machine_to_pointer(address), 3 * PAGE, 'b'));
	address = (uint64_t)own->backing.one.first_pfn << MACHINE_PAGE_SHIFT;
	EXPECT(bank_of(address, &offset) == NULL);
	world_drop(world, own);
	world_drop(world, allocation);
	machine_bank_destroy(world->process.bank);
}

SMALL_WORLD_TEST(lock, memory_of_another_is_zero_before_it_is_seen)
{
	/* Every page of the machine was somebody's: short runs are kept dirty by the machine. */
	for (int round = 0; round < 3; round++) {
		struct vidmm_allocation *all[512];

		for (int i = 0; i < 512; i++) {
			struct vidmm_wishes wishes = world_wishes(world, 8 * PAGE);

			all[i] = malloc(sizeof(*all[i]));
			vidmm_allocation_init(all[i], &wishes);
			void *pointer;
			EXPECT_EQ(vidmm_lock(all[i], false, &pointer), STATUS_SUCCESS);
			EXPECT(is_all(pointer, 8 * PAGE, 0));
			memset(pointer, 'a' + round, 8 * PAGE);
		}
		for (int i = 0; i < 512; i++) {
			vidmm_allocation_finish(all[i]);
			free(all[i]);
		}
	}
}

WORLD_TEST(lock, nests_and_each_needs_its_unlock)
{
	struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
	EXPECT(!world_unlock(allocation));
	char *first = world_lock(world, allocation);
	EXPECT(world_lock(world, allocation) == first);
	EXPECT(world_lock(world, allocation) == first);
	EXPECT_EQ(vidmm_lock_count(allocation), 3);
	for (int left = 2; left >= 0; left--) {
		EXPECT(world_unlock(allocation));
		EXPECT_EQ(vidmm_lock_count(allocation), left);
	}
	EXPECT(!world_unlock(allocation));
	world_check(world);
}

WORLD_TEST(lock, counts_up_to_its_limit_and_no_further)
{
	void *pointer;

	struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
	world_lock(world, allocation);
	allocation->lock_count = UINT32_MAX;
	EXPECT_EQ(vidmm_lock(allocation, false, &pointer), STATUS_GRAPHICS_TOO_MANY_REFERENCES);
	EXPECT_RULE("MM-LOCK-COUNT");
	EXPECT_EQ(vidmm_lock_count(allocation), UINT32_MAX);
}

WORLD_TEST(lock, unlocked_memory_keeps_its_view)
{
	struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
	char *bytes = world_lock(world, allocation);
	EXPECT(world_unlock(allocation));
	EXPECT(probe_is_writable(bytes, 64 * KIB));
}

WORLD_TEST(lock, pages_are_charged_once_and_given_back)
{
	struct vidmm_allocation *allocation = world_new(world, 3 * MIB);
	EXPECT_EQ(world->process.committed_bytes, 0);
	world_lock(world, allocation);
	world_lock(world, allocation);
	EXPECT_EQ(world->process.committed_bytes, 3 * MIB);
	EXPECT_EQ(world->adapter.committed_bytes, 3 * MIB);
	EXPECT_EQ(world->process.viewed_bytes, 3 * MIB);
	EXPECT_EQ(machine_usage().taken_pages, 3 * MIB / PAGE);
	world_drop(world, allocation);
	EXPECT_EQ(world->process.committed_bytes, 0);
	EXPECT_EQ(machine_usage().taken_pages, 0);
}

WORLD_TEST(lock, the_older_call_needs_a_cpu_visible_allocation)
{
	void *pointer = NULL;

	struct vidmm_wishes wishes = world_wishes(world, 64 * KIB);
	wishes.traits.is_cpu_visible = false;
	struct vidmm_allocation *allocation = world_add(world, &wishes);
	EXPECT_EQ(vidmm_lock(allocation, true, &pointer), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-LOCK-VISIBLE");
	EXPECT(!pointer);
	EXPECT_EQ(vidmm_lock_count(allocation), 0);
	world_lock(world, allocation); /* the newer one does not, in system memory */
	allocation = world_new(world, 64 * KIB);
	EXPECT_EQ(vidmm_lock(allocation, true, &pointer), STATUS_SUCCESS);
}

WORLD_TEST(lock, large_views_stand_on_64_kib)
{
	for (uint64_t pages = 1; pages < 60; pages++) {
		char *bytes = world_lock(world, world_new(world, pages * PAGE));

		EXPECT_EQ((uintptr_t)bytes % (pages >= 16 ? 64 * KIB : PAGE), 0);
		memset(bytes, (int)pages, pages * PAGE);
	}
	for (size_t i = 0; i < world->count; i++) {
		uint64_t pages = world->allocations[i]->size_bytes / PAGE;

		EXPECT(is_all(world_lock(world, world->allocations[i]), pages * PAGE, (char)pages));
	}
}

SMALL_WORLD_TEST(lock, what_the_machine_does_not_have_is_refused_and_nothing_changed)
{
	static const uint64_t sizes[] = { 17 * MIB, UINT64_C(1) << 36, UINT64_C(1) << 39,
					  UINT64_C(1) << 50, UINT64_C(1) << 62 };
	void *pointer = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct vidmm_allocation *allocation = world_new(world, sizes[i]);
		NTSTATUS status = vidmm_lock(allocation, false, &pointer);

		/* No pages for what would have addresses; no addresses beyond 1 TiB. */
		EXPECT_EQ(status, sizes[i] < UINT64_C(1) << 40 ? STATUS_NO_MEMORY
							       : STATUS_GRAPHICS_NO_VIDEO_MEMORY);
		EXPECT(!pointer);
		EXPECT_EQ(allocation->content, VIDMM_CONTENT_NONE);
		EXPECT_EQ(vidmm_lock_count(allocation), 0);
		EXPECT_EQ(machine_usage().taken_pages, 0);
		world_check(world);
	}
	struct vidmm_allocation *all = world_new(world, 16 * MIB);
	memset(world_lock(world, all), 1, 16 * MIB);
	struct vidmm_allocation *one_more = world_new(world, PAGE);
	EXPECT_EQ(vidmm_lock(one_more, false, &pointer), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-NO-PAGES");
	world_drop(world, all);
	world_lock(world, one_more);
}

TEST(lock, survives_every_allocation_failure)
{
	EACH_FAILURE (failing, 3) {
		struct world world;
		void *pointer = NULL;
		uint64_t apart;

		world_init(&world, 16);
		struct vidmm_allocation *first = world_new(&world, MIB);
		struct vidmm_allocation *second = world_new(&world, 5 * PAGE);
		failing_start(&failing);
		NTSTATUS status = vidmm_lock(first, false, &pointer);
		/* A taken page in the way makes two runs of the second. */
		uint64_t got = machine_bank_stretch(NULL, 2, UINT64_MAX, &apart);
		if (NT_SUCCESS(status))
			status = vidmm_lock(second, false, &pointer);
		bool fired = failing_stop(&failing);
		EXPECT_EQ(NT_SUCCESS(status), !fired);
		EXPECT(!fired || status == STATUS_NO_MEMORY);
		if (got > 0)
			EXPECT(machine_free_contiguous(apart));
		world_check(&world);
		/* And once more, in peace. */
		EXPECT_EQ(vidmm_lock(first, false, &pointer), STATUS_SUCCESS);
		EXPECT_EQ(vidmm_lock(second, false, &pointer), STATUS_SUCCESS);
		world_finish(&world);
	}
}

SMALL_WORLD_TEST(lock, scattered_pages_are_seen_in_a_row)
{
	struct vidmm_allocation *singles[512];
	void *pointer;

	for (int i = 0; i < 512; i++)
		world_lock(world, singles[i] = world_new(world, 7 * PAGE));
	for (int i = 0; i < 512; i += 2)
		world_drop(world, singles[i]);
	/* 256 holes of 7 pages, and the rest of the machine. */
	uint64_t free_pages = machine_usage().total_pages - machine_usage().taken_pages;
	struct vidmm_allocation *rest = world_new(world, free_pages * PAGE);
	char *bytes = world_lock(world, rest);
	EXPECT(rest->backing.run_count > 200);
	EXPECT(is_all(bytes, free_pages * PAGE, 0));
	for (uint64_t i = 0; i < free_pages; i++)
		memcpy(bytes + i * PAGE, &i, sizeof(i));
	/* The pages are where the machine says they are. */
	uint64_t page = 0;
	for (uint32_t run = 0; run < rest->backing.run_count; run++) {
		for (uint32_t i = 0; i < rest->backing.many[run].count; i++, page++) {
			uint64_t pfn = rest->backing.many[run].first_pfn + i;
			uint64_t stamp;

			memcpy(&stamp, machine_to_pointer(pfn << MACHINE_PAGE_SHIFT),
			       sizeof(stamp));
			EXPECT_EQ(stamp, page);
		}
	}
	EXPECT_EQ(page, free_pages);
	EXPECT_EQ(vidmm_lock(world_new(world, PAGE), false, &pointer), STATUS_NO_MEMORY);
}

/* The end. */

static sigjmp_buf fault_jump;

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(fault_jump, 1);
}

TEST(finish, a_pointer_that_outlived_its_allocation_faults)
{
	struct sigaction action = { .sa_handler = on_fault };
	struct sigaction before;
	struct world world;
	bool has_faulted = false;

	world_init(&world, 64);
	struct vidmm_allocation *allocation = world_new(&world, 64 * KIB);
	volatile char *bytes = world_lock(&world, allocation);
	bytes[5] = 1;
	world_drop(&world, allocation); /* while it is locked */
	EXPECT_EQ(sigaction(SIGSEGV, &action, &before), 0);
	if (sigsetjmp(fault_jump, 1) == 0)
		bytes[5] = 2;
	else
		has_faulted = true;
	sigaction(SIGSEGV, &before, NULL);
	EXPECT(has_faulted);
	world_finish(&world);
}

WORLD_TEST(finish, addresses_are_used_again)
{
	char *first = NULL;

	for (int i = 0; i < 1000; i++) {
		struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
		char *bytes = world_lock(world, allocation);

		if (!first)
			first = bytes;
		EXPECT(bytes == first);
		EXPECT(is_all(bytes, 64 * KIB, 0));
		memset(bytes, i + 1, 64 * KIB);
		world_drop(world, allocation);
		EXPECT(!probe_is_readable(bytes, 1));
	}
}

WORLD_TEST(retire, the_view_goes_at_once_and_the_memory_stays)
{
	void *pointer = NULL;

	struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
	char *bytes = world_lock(world, allocation);
	bytes[100] = 'm';
	world_lock(world, allocation);
	vidmm_allocation_retire(allocation);
	world_check(world);
	EXPECT(!probe_is_readable(bytes, 1));
	EXPECT_EQ(vidmm_lock_count(allocation), 0);
	EXPECT_EQ(world->process.viewed_bytes, 0);
	EXPECT_EQ(world->process.committed_bytes, 64 * KIB);
	uint64_t address = (uint64_t)allocation->backing.one.first_pfn << MACHINE_PAGE_SHIFT;
	EXPECT_EQ(((char *)machine_to_pointer(address))[100], 'm');
	EXPECT_EQ(vidmm_lock(allocation, false, &pointer), STATUS_INVALID_PARAMETER);
	EXPECT(!world_unlock(allocation));
}

WORLD_TEST(retire, untouched_means_no_pages_and_no_view)
{
	struct vidmm_allocation *fresh = world_new(world, 64 * KIB);
	struct vidmm_allocation *locked = world_new(world, 64 * KIB);
	world_lock(world, locked);
	EXPECT(!vidmm_allocation_retire_untouched(locked));
	EXPECT_EQ(locked->life, VIDMM_LIVE);
	EXPECT(world_unlock(locked)); /* it has its pages still */
	EXPECT(!vidmm_allocation_retire_untouched(locked));
	EXPECT(vidmm_allocation_retire_untouched(fresh));
	EXPECT_EQ(fresh->life, VIDMM_DYING);
	world_check(world);
}

TEST(finish, nothing_is_nothing)
{
	struct vidmm_allocation zeroed = { 0 };

	vidmm_allocation_finish(&zeroed);
	EXPECT_EQ(zeroed.life, VIDMM_LIVE);
}

/* Memory that the client has. */

WORLD_TEST(existing, a_client_sees_its_own_memory_where_it_is)
{
	void *pointer;

	char *own =
		mmap(NULL, 64 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(own, 'o', 64 * KIB);
	struct vidmm_wishes wishes = world_wishes(world, 64 * KIB);
	wishes.existing_memory = own;
	struct vidmm_allocation *allocation = world_add(world, &wishes);
	EXPECT_EQ(vidmm_lock(allocation, false, &pointer), STATUS_SUCCESS);
	EXPECT(pointer == own);
	EXPECT_EQ(vidmm_lock_count(allocation), 1);
	EXPECT_EQ(world->process.committed_bytes, 0);
	EXPECT_EQ(machine_usage().total_pages, 0);
	world_check(world);
	world_drop(world, allocation);
	EXPECT(is_all(own, 64 * KIB, 'o'));
	munmap(own, 64 * KIB);
}

WORLD_TEST(existing, what_a_lock_shows_cannot_be_brought)
{
	char local = 0;

	EXPECT(!vidmm_is_view(&local, 1));
	char *bytes = world_lock(world, world_new(world, 64 * KIB));
	EXPECT(vidmm_is_view(bytes, 1));
	EXPECT(vidmm_is_view(bytes + 64 * KIB - 1, 1));
	EXPECT(vidmm_is_view(bytes - PAGE, 2 * PAGE));
	EXPECT(vidmm_is_view(NULL, UINT64_MAX));
	EXPECT(!vidmm_is_view(&local, 1));
	EXPECT(!vidmm_is_view(NULL, PAGE));
}

/* Properties. */

WORLD_TEST(priority, any_number_is_kept)
{
	static const uint32_t values[] = { 0, 1, 0x28000000, 0x78000001, 0xC8000000, UINT32_MAX };

	struct vidmm_allocation *allocation = world_new(world, PAGE);
	EXPECT_EQ(vidmm_priority(allocation), VIDMM_PRIORITY_NORMAL);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		vidmm_set_priority(allocation, values[i]);
		EXPECT_EQ(vidmm_priority(allocation), values[i]);
	}
}

WORLD_TEST(update, only_what_is_set_changes)
{
	struct vidmm_wishes wishes = world_wishes(world, PAGE);
	wishes.supported_segments = 5;
	wishes.preferred_segments = 3;
	wishes.traits.is_accessed_physically = true;
	struct vidmm_allocation *allocation = world_add(world, &wishes);
	world_update(allocation, &(struct vidmm_update){ .supported_segments = 9,
							 .preferred_segments = 9,
							 .is_unmoveable = true });
	EXPECT_EQ(allocation->supported_segments, 5);
	EXPECT_EQ(allocation->preferred_segments, 3);
	EXPECT(allocation->traits.is_accessed_physically);
	EXPECT(!allocation->traits.is_unmoveable);
	world_update(allocation, &(struct vidmm_update){ .sets_supported_segments = true,
							 .supported_segments = 1,
							 .sets_unmoveable = true,
							 .is_unmoveable = true });
	EXPECT_EQ(allocation->supported_segments, 1);
	EXPECT(allocation->traits.is_unmoveable);
	EXPECT_EQ(allocation->preferred_segments, 3);
	world_update(allocation, &(struct vidmm_update){ .sets_preferred_segments = true,
							 .preferred_segments = 2,
							 .sets_accessed_physically = true });
	EXPECT_EQ(allocation->preferred_segments, 2);
	EXPECT(!allocation->traits.is_accessed_physically);
	EXPECT(allocation->traits.is_cpu_visible);
}

WORLD_TEST(invalidate_cache, takes_any_range_inside)
{
	struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
	EXPECT_EQ(vidmm_invalidate_cache(allocation, 0, 64 * KIB), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_invalidate_cache(allocation, 0, 0), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_invalidate_cache(allocation, 64 * KIB, 0), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_invalidate_cache(allocation, 5, 64 * KIB - 5), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_invalidate_cache(allocation, 5, 64 * KIB - 4), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(vidmm_invalidate_cache(allocation, 64 * KIB + 1, 0), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(vidmm_invalidate_cache(allocation, 1, UINT64_MAX), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(vidmm_invalidate_cache(allocation, UINT64_MAX, 1), STATUS_INVALID_PARAMETER);
}

/* Offers. */

WORLD_TEST(offer, offered_memory_cannot_be_locked_until_it_is_reclaimed)
{
	void *pointer = NULL;

	struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
	char *bytes = world_lock(world, allocation);
	bytes[7] = 'k';
	EXPECT_EQ(world_offer(allocation, VIDMM_OFFER_LOW, false), STATUS_INVALID_PARAMETER);
	EXPECT(world_unlock(allocation));
	EXPECT_EQ(world_offer(allocation, VIDMM_OFFER_LOW, false), STATUS_SUCCESS);
	EXPECT_EQ(vidmm_lock(allocation, false, &pointer), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-LOCK-OFFERED");
	EXPECT_EQ(world_reclaim(allocation), VIDMM_RECLAIM_OK);
	EXPECT(world_lock(world, allocation) == bytes);
	EXPECT_EQ(bytes[7], 'k');
}

WORLD_TEST(offer, what_was_not_offered_is_reclaimed_without_a_change)
{
	struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
	EXPECT_EQ(world_reclaim(allocation), VIDMM_RECLAIM_OK);
	world_lock(world, allocation);
	EXPECT_EQ(world_reclaim(allocation), VIDMM_RECLAIM_OK);
}

WORLD_TEST(offer, a_second_offer_changes_the_priority_and_auto_follows_the_eviction_priority)
{
	static const struct {
		uint32_t eviction;
		enum vidmm_offer_priority offered;
	} cases[] = {
		{ 0x28000000, VIDMM_OFFER_LOW },  { 0x50000000, VIDMM_OFFER_LOW },
		{ 0x77ffffff, VIDMM_OFFER_LOW },  { 0x78000000, VIDMM_OFFER_NORMAL },
		{ 0x78000001, VIDMM_OFFER_HIGH }, { 0xA0000000, VIDMM_OFFER_HIGH },
		{ 0xC8000000, VIDMM_OFFER_HIGH },
	};

	struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		vidmm_set_priority(allocation, cases[i].eviction);
		EXPECT_EQ(world_offer(allocation, VIDMM_OFFER_AUTO, false), STATUS_SUCCESS);
		EXPECT_EQ(allocation->offer_priority, cases[i].offered);
	}
	EXPECT_EQ(world_offer(allocation, VIDMM_OFFER_LOW, false), STATUS_SUCCESS);
	EXPECT_EQ(allocation->offer_priority, VIDMM_OFFER_LOW);
}

WORLD_TEST(offer, pinned_and_dying_memory_is_not_offered)
{
	struct vidmm_wishes wishes = world_wishes(world, 64 * KIB);
	wishes.traits.is_pinned = true;
	EXPECT_EQ(world_offer(world_add(world, &wishes), VIDMM_OFFER_LOW, false),
		  STATUS_INVALID_PARAMETER);
	struct vidmm_allocation *dying = world_new(world, PAGE);
	vidmm_allocation_retire(dying);
	EXPECT_EQ(world_offer(dying, VIDMM_OFFER_LOW, false), STATUS_INVALID_PARAMETER);
}

WORLD_TEST(decommit, only_what_was_offered_for_it_loses_its_memory)
{
	struct vidmm_allocation *allocation = world_new(world, 64 * KIB);
	char *bytes = world_lock(world, allocation);
	memset(bytes, 'd', 64 * KIB);
	EXPECT(!world_decommit(allocation));
	EXPECT(world_unlock(allocation));
	EXPECT(!world_decommit(allocation));
	EXPECT_EQ(world_offer(allocation, VIDMM_OFFER_LOW, false), STATUS_SUCCESS);
	EXPECT(!world_decommit(allocation));
	EXPECT_EQ(world_offer(allocation, VIDMM_OFFER_LOW, true), STATUS_SUCCESS);
	EXPECT(world_decommit(allocation));
	world_check(world);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT_EQ(world->process.committed_bytes, 0);
	EXPECT(!probe_is_readable(bytes, 1));
	EXPECT(!world_decommit(allocation));
	EXPECT_EQ(world_offer(allocation, VIDMM_OFFER_HIGH, false), STATUS_SUCCESS);
	EXPECT_EQ(allocation->offer, VIDMM_DECOMMITTED);

	EXPECT_EQ(world_reclaim(allocation), VIDMM_RECLAIM_DISCARDED);
	world_check(world);
	EXPECT_EQ(world->process.committed_bytes, 64 * KIB);
	EXPECT(world_lock(world, allocation) == bytes); /* other pages, the same place */
	EXPECT(is_all(bytes, 64 * KIB, 0));
}

SMALL_WORLD_TEST(decommit, what_cannot_be_committed_again_stays_offered)
{
	void *pointer;

	struct vidmm_allocation *allocation = world_new(world, 12 * MIB);
	world_lock(world, allocation);
	EXPECT(world_unlock(allocation));
	EXPECT_EQ(world_offer(allocation, VIDMM_OFFER_LOW, true), STATUS_SUCCESS);
	EXPECT(world_decommit(allocation));
	struct vidmm_allocation *other = world_new(world, 12 * MIB);
	world_lock(world, other);
	EXPECT_EQ(world_reclaim(allocation), VIDMM_RECLAIM_NOT_COMMITTED);
	EXPECT_EQ(vidmm_lock(allocation, false, &pointer), STATUS_INVALID_PARAMETER);
	world_check(world);
	world_drop(world, other);
	EXPECT_EQ(world_reclaim(allocation), VIDMM_RECLAIM_DISCARDED);
	world_lock(world, allocation);
}

/* Everything at once, against a plain model. */

struct model {
	uint32_t locks;
	char value; /* of every byte; 0 until written */
	bool is_offered;
	char *pointer;
};

static void model_step(struct world *world, struct model *models, struct random *random)
{
	size_t at = (size_t)random_below(random, world->count);
	struct vidmm_allocation *allocation = world->allocations[at];
	struct model *model = &models[allocation->id];
	uint64_t size_bytes = allocation->size_bytes;
	void *pointer;
	NTSTATUS status;

	switch (random_below(random, 6)) {
	case 0:
	case 1:
		status = vidmm_lock(allocation, false, &pointer);
		if (model->is_offered) {
			EXPECT_EQ(status, STATUS_INVALID_PARAMETER);
			break;
		}
		if (status == STATUS_NO_MEMORY) {
			EXPECT(!model->pointer);
			break;
		}
		EXPECT_EQ(status, STATUS_SUCCESS);
		EXPECT(!model->pointer || model->pointer == pointer);
		model->pointer = pointer;
		model->locks++;
		EXPECT(is_all(pointer, size_bytes, model->value));
		break;
	case 2:
		EXPECT_EQ(world_unlock(allocation), model->locks > 0);
		model->locks -= model->locks > 0;
		break;
	case 3:
		if (model->locks > 0) {
			model->value = (char)random_below(random, 256);
			memset(model->pointer, model->value, size_bytes);
		}
		break;
	case 4:
		status = world_offer(allocation, VIDMM_OFFER_NORMAL, random_below(random, 2) == 0);
		EXPECT_EQ(NT_SUCCESS(status), model->locks == 0);
		model->is_offered |= model->locks == 0;
		if (world_decommit(allocation)) {
			EXPECT(model->is_offered);
			model->value = 0;
		}
		break;
	case 5:
		model->is_offered &= world_reclaim(allocation) == VIDMM_RECLAIM_NOT_COMMITTED;
		break;
	}
	EXPECT_EQ(vidmm_lock_count(allocation), model->locks);
}

TEST(allocation, random_use_agrees_with_a_plain_model)
{
	enum { LIVE = 24, STEPS = 4000 };
	static struct model models[STEPS + LIVE + 1];

	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct world world;
		struct random random;
		uint64_t id = 0;

		memset(models, 0, sizeof(models));
		random_init(&random, seed);
		world_init(&world, 16);
		for (int step = 0; step < STEPS; step++) {
			if (world.count < LIVE || random_below(&random, 8) == 0) {
				if (world.count == LIVE)
					world_drop(&world, world.allocations[random_below(
								   &random, world.count)]);
				struct vidmm_wishes wishes = world_wishes(
					&world, (1 + random_below(&random, 250)) * PAGE);
				wishes.id = ++id;
				world_add(&world, &wishes);
			}
			model_step(&world, models, &random);
			world_check(&world);
		}
		world_finish(&world);
	}
}

TEST_MAIN("vidmm/allocation")
