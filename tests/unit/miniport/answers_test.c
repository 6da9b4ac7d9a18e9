/* SPDX-License-Identifier: MIT */
/*
 * answers_test.c - what a driver may say about itself, field by field.
 *
 * Each test starts from an answer that is accepted and changes one thing.
 */
#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/refusal.h"
#include "miniport/answers.h"
#include "support/test.h"

#define ILLEGAL STATUS_GRAPHICS_INVALID_DRIVER_MODEL

static void expect_refusal(NTSTATUS status, const char *rule, const char *words, int line)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	if (status != ILLEGAL || !refusal_last(&refusal) || strcmp(refusal.rule, rule) != 0 ||
	    !strstr(refusal.reason, words)) {
		print_error("line %d: status 0x%x, %s: \"%s\", expected %s: \"%s\"\n", line,
			    (unsigned)status, refusal.rule, refusal.reason, rule, words);
		fail();
	}
}

#define EXPECT_ILLEGAL(call, rule, words) expect_refusal(call, rule, words, __LINE__)

/* ---- DXGK_DRIVERCAPS ---- */

static DXGK_DRIVERCAPS good_caps(void)
{
	DXGK_DRIVERCAPS caps = { 0 };

	caps.WDDMVersion = (DXGK_WDDMVERSION)0x2600;
	caps.SchedulingCaps.Value = 0x15;
	caps.MemoryManagementCaps.Value = 0x70;
	caps.GpuEngineTopology.NbAsymetricProcessingNodes = 3;
	caps.MemoryManagementCaps.PagingNode = 2;
	return caps;
}

static NTSTATUS caps_judge(const DXGK_DRIVERCAPS *caps, uint32_t version)
{
	struct miniport_info info = { .interface_version = version };

	return caps_accept(caps, &info);
}

/* What an answer must not say, and what is said of it. */
struct bad_value {
	uint32_t value;
	const char *words;
};

TEST(caps, good_ones_are_accepted)
{
	DXGK_DRIVERCAPS caps = good_caps();

	EXPECT_EQ(caps_judge(&caps, 0xB004), STATUS_SUCCESS);
}

TEST(caps, awareness_builds_on_awareness)
{
	DXGK_DRIVERCAPS caps = good_caps();
	/* MultiEngineAware 1, PreemptionAware 4, NoDmaPatching 8, CancelCommandAware 16 */
	static const struct bad_value bad[] = {
		{ 4, "PreemptionAware without MultiEngineAware" },
		{ 8, "NoDmaPatching without" },
		{ 1 | 8, "NoDmaPatching without" },
		{ 16, "CancelCommandAware without MultiEngineAware" },
	};
	static const uint32_t good[] = { 0, 1, 1 | 4, 1 | 4 | 8, 1 | 16, 1 | 4 | 8 | 16, 0x20 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		caps.SchedulingCaps.Value = bad[i].value;
		EXPECT_ILLEGAL(caps_judge(&caps, 0xB004), "DDI-CAPS-SCHEDULING", bad[i].words);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		caps.SchedulingCaps.Value = good[i];
		EXPECT_EQ(caps_judge(&caps, 0xB004), STATUS_SUCCESS);
	}
}

TEST(caps, an_adapter_translates_addresses_in_one_way)
{
	DXGK_DRIVERCAPS caps = good_caps();
	/* VirtualAddressingSupported 0x20, GpuMmuSupported 0x40, IoMmuSupported 0x80 */
	static const struct bad_value bad[] = {
		{ 0xE0, "both GpuMmuSupported and IoMmuSupported" },
		{ 0xC0, "both GpuMmuSupported and IoMmuSupported" },
		{ 0x40, "GpuMmuSupported without VirtualAddressingSupported" },
		{ 0x80, "IoMmuSupported without VirtualAddressingSupported" },
		{ 0x20, "VirtualAddressingSupported without" },
	};
	static const uint32_t good[] = { 0, 0x60, 0xA0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		caps.MemoryManagementCaps.Value = bad[i].value;
		EXPECT_ILLEGAL(caps_judge(&caps, 0xB004), "DDI-CAPS-ADDRESSING", bad[i].words);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		caps.MemoryManagementCaps.Value = good[i];
		EXPECT_EQ(caps_judge(&caps, 0xB004), STATUS_SUCCESS);
	}
}

TEST(caps, bits_of_later_versions_mean_nothing_to_earlier_ones)
{
	DXGK_DRIVERCAPS caps = good_caps();
	struct miniport_info info = { .interface_version = 0x4002 };

	caps.WDDMVersion = (DXGK_WDDMVERSION)0x1300;
	caps.MemoryManagementCaps.Value = 0xFFFFFFFF;
	caps.MiscCaps.Value = 0xFFFFFFFF;
	caps.SchedulingCaps.Value |= 0xFFFFFFE0;
	EXPECT_EQ(caps_accept(&caps, &info), STATUS_SUCCESS);
	EXPECT(!info.supports_virtual_addressing && !info.supports_gpu_mmu);
	EXPECT(!info.is_compute_only);
	EXPECT_EQ(info.packets_per_node_max, 0);
}

TEST(caps, a_driver_is_not_newer_than_it_registered)
{
	DXGK_DRIVERCAPS caps = good_caps();

	EXPECT_ILLEGAL(caps_judge(&caps, 0x5023), "DDI-CAPS-VERSION", "is 0x2600, newer than");
	caps.WDDMVersion = (DXGK_WDDMVERSION)0x4200;
	EXPECT_ILLEGAL(caps_judge(&caps, 0xB004), "DDI-CAPS-VERSION", "no version of WDDM");
	caps.WDDMVersion = (DXGK_WDDMVERSION)0x2601;
	EXPECT_ILLEGAL(caps_judge(&caps, 0xB004), "DDI-CAPS-VERSION", "no version of WDDM");
	caps.WDDMVersion = (DXGK_WDDMVERSION)7;
	EXPECT_ILLEGAL(caps_judge(&caps, 0xB004), "DDI-CAPS-VERSION", "no version of WDDM");
}

TEST(caps, the_older_of_both_versions_counts)
{
	DXGK_DRIVERCAPS caps = good_caps();
	struct miniport_info info = { .interface_version = 0xB004 };

	caps.WDDMVersion = (DXGK_WDDMVERSION)0x1200;
	EXPECT_EQ(caps_accept(&caps, &info), STATUS_SUCCESS);
	EXPECT_EQ(info.wddm_version, 1200);
	caps.WDDMVersion = (DXGK_WDDMVERSION)0;
	EXPECT_EQ(caps_accept(&caps, &info), STATUS_SUCCESS);
	EXPECT_EQ(info.wddm_version, 2600);
}

TEST(caps, there_are_nodes_and_one_of_them_pages)
{
	DXGK_DRIVERCAPS caps = good_caps();

	caps.GpuEngineTopology.NbAsymetricProcessingNodes = 0;
	EXPECT_ILLEGAL(caps_judge(&caps, 0xB004), "DDI-CAPS-NODES", "is 0, an adapter has 1");
	caps.GpuEngineTopology.NbAsymetricProcessingNodes = 65;
	EXPECT_ILLEGAL(caps_judge(&caps, 0xB004), "DDI-CAPS-NODES", "is 65");
	caps.GpuEngineTopology.NbAsymetricProcessingNodes = 2;
	EXPECT_ILLEGAL(caps_judge(&caps, 0xB004), "DDI-CAPS-NODES", "PagingNode is 2");
	/* Without MultiEngineAware nobody reads PagingNode. */
	caps.SchedulingCaps.Value = 0;
	EXPECT_EQ(caps_judge(&caps, 0xB004), STATUS_SUCCESS);
}

TEST(node, a_name_that_fills_its_field_is_kept)
{
	DXGKARG_GETNODEMETADATA metadata = { .EngineType = DXGK_ENGINE_TYPE_OTHER };
	struct miniport_info info = { .wddm_version = 2600, .node_count = 1 };

	for (size_t i = 0; i < ARRAY_SIZE(metadata.FriendlyName); i++)
		metadata.FriendlyName[i] = 0x20AC;
	EXPECT_EQ(node_accept(&metadata, 0, &info), STATUS_SUCCESS);
	EXPECT_EQ(strlen(info.nodes[0].name), 3 * ARRAY_SIZE(metadata.FriendlyName));
}

/* ---- segments ---- */

enum { MIB = 1 << 20 };

struct segments_fixture {
	struct miniport_info info;
	struct segment_answer segments[4];
	struct segments_answer answer;
};

/* Two memory segments and an aperture. */
static struct segments_fixture *good_segments(uint32_t wddm_version)
{
	static struct segments_fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	fixture.info.wddm_version = wddm_version;
	for (uint32_t i = 0; i < 3; i++) {
		fixture.segments[i].base_address = (uint64_t)i << 32;
		fixture.segments[i].size_bytes = 64 * MIB;
		fixture.segments[i].commit_limit_bytes = 64 * MIB;
		fixture.segments[i].cpu_translated_address = (uint64_t)(16 + i) << 32;
		fixture.segments[i].flags.CpuVisible = i < 2;
		fixture.segments[i].flags.Aperture = i == 2;
	}
	fixture.answer = (struct segments_answer){
		.count = 3,
		.segments = fixture.segments,
		.paging_buffer_size_bytes = 4096,
		.system_memory_bytes = 1000 * MIB,
	};
	return &fixture;
}

static NTSTATUS segments_judge(struct segments_fixture *fixture)
{
	return segments_accept(&fixture->answer, &fixture->info);
}

TEST(segments, good_ones_are_accepted)
{
	struct segments_fixture *f = good_segments(2600);

	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT_EQ(f->info.segment_count, 3);
	EXPECT_EQ(f->info.implicit_system_segment_id, 4);
	f = good_segments(1200);
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT_EQ(f->info.implicit_system_segment_id, 0);
}

TEST(segments, the_implicit_one_has_what_the_machine_has_and_half_of_it_for_graphics)
{
	struct segments_fixture *f = good_segments(2600);
	const struct miniport_segment *implicit = &f->info.segments[3];

	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT_EQ(implicit->size_bytes, 1000 * MIB);
	EXPECT_EQ(implicit->commit_limit_bytes, 500 * MIB);
	EXPECT_EQ(f->info.counted_segment_count, 3); /* the aperture is the same memory */
	f = good_segments(2600);
	f->answer.count = 2; /* without an aperture */
	f->answer.system_memory_bytes = 100 * MIB;
	implicit = &f->info.segments[2];
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT_EQ(implicit->commit_limit_bytes, 64 * MIB);
	EXPECT_EQ(f->info.counted_segment_count, 3);
	f = good_segments(2600);
	f->answer.system_memory_bytes = 16 * MIB;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT_EQ(f->info.segments[3].commit_limit_bytes, 16 * MIB);
}

/* Two memory segments and an aperture; the fourth is implicit. */
TEST(segments, belong_to_a_group_and_count_for_applications)
{
	struct segments_fixture *f = good_segments(2600);

	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT(f->info.segments[0].is_local && f->info.segments[0].is_budgeted);
	EXPECT(!f->info.segments[2].is_local && f->info.segments[2].is_budgeted);
	EXPECT(!f->info.segments[3].is_local && !f->info.segments[3].is_budgeted);

	f = good_segments(2600);
	f->segments[1].flags.ApplicationTarget = 1;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT(!f->info.segments[0].is_budgeted && f->info.segments[1].is_budgeted);
	EXPECT(!f->info.segments[2].is_local && f->info.segments[2].is_budgeted);

	/* None of its memory is for applications. */
	f = good_segments(2600);
	f->segments[2].flags.ApplicationTarget = 1;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT(!f->info.segments[0].is_budgeted && !f->info.segments[1].is_budgeted);
	EXPECT(f->info.segments[2].is_local && f->info.segments[2].is_budgeted);
	EXPECT(f->info.segments[3].is_local && f->info.segments[3].is_budgeted);
	EXPECT_EQ(f->info.counted_segment_count, 4);

	/* Before WDDM 2 these bits mean nothing. */
	f = good_segments(1300);
	f->segments[1].flags.ApplicationTarget = 1;
	f->segments[2].flags.LocalBudgetGroup = 1;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT(f->info.segments[0].is_budgeted && !f->info.segments[2].is_local);
	EXPECT_EQ(f->info.counted_segment_count, 3);
}

TEST(segments, five_bits_name_them)
{
	struct miniport_info old = { .wddm_version = 1300 };
	struct miniport_info new = { .wddm_version = 2000 };

	EXPECT_EQ(segment_count_accept(31, &old), STATUS_SUCCESS);
	EXPECT_EQ(segment_count_accept(30, &new), STATUS_SUCCESS);
	EXPECT_ILLEGAL(segment_count_accept(31, &new), "DDI-SEGMENT-COUNT", "is 31");
	EXPECT_ILLEGAL(segment_count_accept(32, &old), "DDI-SEGMENT-COUNT", "is 32");
	EXPECT_ILLEGAL(segment_count_accept(0, &new), "DDI-SEGMENT-COUNT", "is 0");
}

TEST(segments, flags_fit_together)
{
	/* Bits as in DXGK_SEGMENTFLAGS. */
	static const struct bad_value bad[] = {
		{ 0x2, "Agp" },
		{ 0x6, "Agp" },
		{ 0x1000, "ReservedSysMem" },
		{ 0x100, "without PreservedDuringStandby" },
		{ 0x200, "without PreservedDuringStandby" },
		{ 0x380, "PreservedDuringHibernate and Partially" },
		{ 0x2004, "both CpuVisible and SupportsCpuHostAperture" },
		{ 0x4000, "SupportsCachedCpuHostAperture without" },
		{ 0x2001, "SupportsCpuHostAperture on an aperture" },
		{ 0x180000, "both LocalBudgetGroup and NonLocalBudgetGroup" },
	};
	/* The last two are what a compute-only driver that runs on Windows reports. */
	static const uint32_t good[] = { 0x0, 0x80, 0x180, 0x280, 0x8004, 0x414, 0x1B5 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct segments_fixture *f = good_segments(2600);

		f->segments[1].flags.Value = bad[i].value;
		f->segments[1].cpu_host_aperture.SizeInPages = 16;
		EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-FLAGS", bad[i].words);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct segments_fixture *f = good_segments(2600);

		f->answer.count = 2;
		f->segments[1].flags.Value = good[i];
		EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	}
}

TEST(segments, a_size_is_pages)
{
	static const uint64_t bad[] = { 0, 1, 4095, 4097, 64 * MIB + 512 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct segments_fixture *f = good_segments(2600);

		f->segments[0].size_bytes = bad[i];
		EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-SIZE", "Size of segment 1 is");
	}
}

TEST(segments, a_range_ends)
{
	struct segments_fixture *f = good_segments(2600);

	f->segments[2].base_address = UINT64_MAX - 4095;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-RANGE", "BaseAddress of segment 3");
	f = good_segments(2600);
	f->segments[0].base_address = 0 - (uint64_t)(64 * MIB);
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	f = good_segments(2600);
	f->segments[0].cpu_translated_address = UINT64_MAX;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-RANGE", "CpuTranslatedAddress of segment 1");
	/* Of an aperture it means nothing, and drivers write anything there. */
	f = good_segments(2600);
	f->segments[2].flags.CpuVisible = 1;
	f->segments[2].cpu_translated_address = 0xFFFFFFFE00000000;
	f->segments[2].size_bytes = 0x200000000;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT(!f->info.segments[2].is_cpu_visible);
}

TEST(segments, the_processor_sees_each_byte_once)
{
	struct segments_fixture *f = good_segments(2600);

	f->segments[1].cpu_translated_address =
		f->segments[0].cpu_translated_address + 64 * MIB - 4096;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-RANGE", "of segments 1 and 2 overlap");
	f->segments[1].cpu_translated_address = f->segments[0].cpu_translated_address + 64 * MIB;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	f = good_segments(2600);
	f->segments[0].cpu_translated_address = f->segments[1].cpu_translated_address;
	f->segments[0].flags.CpuVisible = 0;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
}

TEST(segments, memory_is_committed_whole_and_an_aperture_in_part)
{
	struct segments_fixture *f = good_segments(2600);

	f->segments[0].commit_limit_bytes = 32 * MIB;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-COMMIT", "CommitLimit of segment 1");
	f = good_segments(2600);
	f->segments[2].commit_limit_bytes = 65 * MIB;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-COMMIT", "CommitLimit of segment 3");
	f = good_segments(2600);
	f->segments[0].commit_limit_bytes = 0;
	f->segments[2].commit_limit_bytes = 32 * MIB;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT_EQ(f->info.segments[0].commit_limit_bytes, 64 * MIB);
	EXPECT_EQ(f->info.segments[2].commit_limit_bytes, 32 * MIB);
}

TEST(segments, wddm_2_has_one_aperture)
{
	struct segments_fixture *f = good_segments(2000);

	f->segments[1].flags.Aperture = 1;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-APERTURE", "Aperture in 2 segments");
	f->info.wddm_version = 1300;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	/* None at all is what a physical compute driver has. */
	f = good_segments(2000);
	f->answer.count = 2;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
}

TEST(segments, a_host_aperture_has_pages)
{
	struct segments_fixture *f = good_segments(2600);

	f->segments[0].flags.Value = 0x2000;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-APERTURE", "SizeInPages of segment 1");
	f->segments[0].cpu_host_aperture.SizeInPages = 16;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	EXPECT(f->info.segments[0].has_cpu_host_aperture);
	EXPECT_EQ(f->info.segments[0].cpu_host_aperture_pages, 16);
}

TEST(segments, paging_buffers_live_where_the_gpu_reads_system_memory)
{
	struct segments_fixture *f = good_segments(2600);

	f->answer.paging_buffer_segment_id = 3;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	f->answer.paging_buffer_segment_id = 1;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-PAGING-BUFFER", "PagingBufferSegmentId is 1");
	f->answer.paging_buffer_segment_id = 4;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-PAGING-BUFFER", "PagingBufferSegmentId is 4");
	f->answer.paging_buffer_segment_id = UINT32_MAX;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-PAGING-BUFFER",
		       "PagingBufferSegmentId is 4294967295");
	f = good_segments(2600);
	f->answer.paging_buffer_size_bytes = 0;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-PAGING-BUFFER", "PagingBufferSize is 0");
}

TEST(segments, banks_follow_each_other)
{
	struct segments_fixture *f = good_segments(1200);
	SIZE_T ends[3] = { 16 * MIB, 32 * MIB, 64 * MIB };

	f->segments[0].flags.UseBanking = 1;
	f->segments[0].bank_count = 3;
	f->segments[0].bank_ends = ends;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
	ends[1] = 16 * MIB;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-BANKS", "pBankRangeTable[1]");
	ends[1] = 64 * MIB;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-BANKS", "pBankRangeTable[1]");
	ends[0] = 0;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-BANKS", "pBankRangeTable[0]");
	f->segments[0].bank_count = 129;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-BANKS", "NbOfBanks");
	f->segments[0].bank_count = 0;
	EXPECT_ILLEGAL(segments_judge(f), "DDI-SEGMENT-BANKS", "NbOfBanks");
	f->segments[0].flags.UseBanking = 0;
	EXPECT_EQ(segments_judge(f), STATUS_SUCCESS);
}

TEST(segments, descriptors_of_all_versions_say_the_same)
{
	DXGK_SEGMENTDESCRIPTOR v1 = { .BaseAddress.QuadPart = 0x1000,
				      .Size = 0x2000,
				      .CommitLimit = 0x3000,
				      .Flags.Value = 4,
				      .CpuTranslatedAddress.QuadPart = 0x4000 };
	DXGK_SEGMENTDESCRIPTOR3 v3 = { .BaseAddress.QuadPart = 0x1000,
				       .Size = 0x2000,
				       .CommitLimit = 0x3000,
				       .Flags.Value = 4,
				       .CpuTranslatedAddress.QuadPart = 0x4000 };
	DXGK_SEGMENTDESCRIPTOR4 v4 = { .BaseAddress.QuadPart = 0x1000,
				       .Size = 0x2000,
				       .CommitLimit = 0x3000,
				       .Flags.Value = 4,
				       .CpuTranslatedAddress.QuadPart = 0x4000 };
	struct segment_answer answers[3] = { segment_from_v1(&v1), segment_from_v3(&v3),
					     segment_from_v4(&v4) };

	for (size_t i = 0; i < 3; i++) {
		EXPECT_EQ(answers[i].base_address, 0x1000);
		EXPECT_EQ(answers[i].size_bytes, 0x2000);
		EXPECT_EQ(answers[i].commit_limit_bytes, 0x3000);
		EXPECT_EQ(answers[i].cpu_translated_address, 0x4000);
		EXPECT_EQ(answers[i].flags.Value, 4);
	}
}

/* ---- page tables ---- */

struct mmu_fixture {
	struct miniport_info info;
	DXGK_GPUMMUCAPS caps;
	DXGK_PAGE_TABLE_LEVEL_DESC levels[MINIPORT_MAX_PAGE_TABLE_LEVELS];
};

/* Three levels in system memory beside a local segment and an aperture. */
static struct mmu_fixture *good_mmu(void)
{
	static struct mmu_fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	fixture.info.wddm_version = 2600;
	fixture.info.segment_count = 2;
	fixture.info.implicit_system_segment_id = 3;
	fixture.info.segments[1].is_aperture = true;
	fixture.caps.VirtualAddressBitCount = 39;
	fixture.caps.PageTableLevelCount = 3;
	for (uint32_t i = 0; i < 3; i++) {
		fixture.levels[i].PageTableIndexBitCount = 9;
		fixture.levels[i].PageTableSegmentId = 3;
		fixture.levels[i].PagingProcessPageTableSegmentId = 3;
		fixture.levels[i].PageTableSizeInBytes = 4096;
	}
	return &fixture;
}

static NTSTATUS mmu_judge(struct mmu_fixture *fixture)
{
	NTSTATUS status = gpu_mmu_accept(&fixture->caps, &fixture->info);

	return NT_SUCCESS(status) ? page_table_levels_accept(fixture->levels, &fixture->info)
				  : status;
}

TEST(page_tables, good_ones_are_accepted)
{
	EXPECT_EQ(mmu_judge(good_mmu()), STATUS_SUCCESS);
}

TEST(page_tables, levels_are_two_to_six)
{
	static const uint32_t bad[] = { 0, 1, 7, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct mmu_fixture *f = good_mmu();

		f->caps.PageTableLevelCount = bad[i];
		EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-LEVELS", "PageTableLevelCount is");
	}
}

TEST(page_tables, bits_add_up)
{
	struct mmu_fixture *f = good_mmu();

	f->caps.VirtualAddressBitCount = 40;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-BITS", "is 40, and the page table levels make 39");
	f->levels[2].PageTableIndexBitCount = 10;
	EXPECT_EQ(mmu_judge(f), STATUS_SUCCESS);
	f->levels[1].PageTableIndexBitCount = 0;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-BITS", "of level 1 is 0");
	f->levels[1].PageTableIndexBitCount = UINT32_MAX;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-BITS", "of level 1 is 4294967295");
	f->caps.VirtualAddressBitCount = 12;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-CAPS", "VirtualAddressBitCount is 12");
	f->caps.VirtualAddressBitCount = 65;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-CAPS", "VirtualAddressBitCount is 65");
}

TEST(page_tables, a_root_that_grows_may_start_empty)
{
	struct mmu_fixture *f = good_mmu();

	f->caps.PageTableLevelCount = 2;
	f->levels[1].PageTableIndexBitCount = 0;
	f->levels[1].PageTableSizeInBytes = 0;
	EXPECT_EQ(mmu_judge(f), STATUS_SUCCESS);
	f->caps.VirtualAddressBitCount = 20;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-BITS", "is 20, and the page table levels make 21");
	f = good_mmu();
	f->levels[2].PageTableIndexBitCount = 0;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-BITS", "of level 2 is 0");
}

TEST(page_tables, tables_are_pages)
{
	struct mmu_fixture *f = good_mmu();

	f->levels[0].PageTableSizeInBytes = 2048;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-TABLE", "PageTableSizeInBytes of level 0 is 2048");
	f->levels[0].PageTableSizeInBytes = 0;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-TABLE", "PageTableSizeInBytes of level 0 is 0");
	f->levels[0].PageTableSizeInBytes = 8192;
	EXPECT_EQ(mmu_judge(f), STATUS_SUCCESS);
	f->levels[0].PageTableSegmentId = 0;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-TABLE", "in system memory a table is one page");
	f->levels[0].PageTableSizeInBytes = 4096;
	EXPECT_EQ(mmu_judge(f), STATUS_SUCCESS);
	f->levels[0].PageTableAlignmentInBytes = 4095;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-TABLE", "no power of two");
	f->levels[0].PageTableAlignmentInBytes = 65536;
	EXPECT_EQ(mmu_judge(f), STATUS_SUCCESS);
	f->caps.LeafPageTableSizeFor64KPagesInBytes = 256;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-TABLE", "LeafPageTableSizeFor64KPagesInBytes");
}

TEST(page_tables, tables_live_in_segments_that_exist)
{
	struct mmu_fixture *f = good_mmu();

	f->levels[1].PageTableSegmentId = 4;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-SEGMENT", "PageTableSegmentId of level 1 is 4");
	f = good_mmu();
	f->levels[2].PagingProcessPageTableSegmentId = 31;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-SEGMENT", "PagingProcessPageTableSegmentId");
}

TEST(page_tables, the_processor_updates_no_directory_in_local_memory)
{
	struct mmu_fixture *f = good_mmu();

	f->levels[1].PageTableSegmentId = 1;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-SEGMENT", "CPU_VIRTUAL");
	f->caps.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
	EXPECT_EQ(mmu_judge(f), STATUS_SUCCESS);
	f->caps.PageTableUpdateMode = (DXGK_PAGETABLEUPDATEMODE)3;
	EXPECT_ILLEGAL(mmu_judge(f), "DDI-MMU-CAPS", "PageTableUpdateMode is 3");
	f = good_mmu();
	f->levels[0].PageTableSegmentId = 1; /* the leaves may */
	EXPECT_EQ(mmu_judge(f), STATUS_SUCCESS);
}

/* The page tables of a compute-only driver that runs on Windows. */
TEST(page_tables, two_levels_of_sixteen_kilobytes_are_accepted)
{
	struct mmu_fixture *f = good_mmu();

	f->info.segment_count = 1;
	f->info.implicit_system_segment_id = 2;
	f->info.segments[0].is_aperture = true;
	f->caps.Value = 0x14;
	f->caps.VirtualAddressBitCount = 32;
	f->caps.PageTableLevelCount = 2;
	for (uint32_t i = 0; i < 2; i++) {
		f->levels[i].PageTableIndexBitCount = 10;
		f->levels[i].PageTableSegmentId = 2;
		f->levels[i].PagingProcessPageTableSegmentId = 2;
		f->levels[i].PageTableSizeInBytes = 16384;
	}
	EXPECT_EQ(mmu_judge(f), STATUS_SUCCESS);
}

/* ---- contexts ---- */

TEST(context, dma_buffers_live_in_apertures)
{
	struct mmu_fixture *f = good_mmu();
	DXGK_CONTEXTINFO answer = { .DmaBufferSize = 4096 };
	struct miniport_context_info info;

	f->info.node_count = 2;
	EXPECT_EQ(context_info_accept(&answer, false, &f->info, &info), STATUS_SUCCESS);
	EXPECT_EQ(info.dma_buffer_bytes, 4096);
	answer.DmaBufferSegmentSet = 2;
	EXPECT_EQ(context_info_accept(&answer, false, &f->info, &info), STATUS_SUCCESS);
	answer.DmaBufferSegmentSet = 3;
	EXPECT_ILLEGAL(context_info_accept(&answer, false, &f->info, &info), "DDI-CONTEXT-INFO",
		       "has segment 1");
	answer.DmaBufferSegmentSet = 0x80000000;
	EXPECT_ILLEGAL(context_info_accept(&answer, false, &f->info, &info), "DDI-CONTEXT-INFO",
		       "has segment 32");
}

TEST(context, a_virtual_one_needs_no_dma_buffer)
{
	struct mmu_fixture *f = good_mmu();
	DXGK_CONTEXTINFO answer = { .DmaBufferPrivateDataSize = 32 };
	struct miniport_context_info info;

	f->info.node_count = 2;
	EXPECT_EQ(context_info_accept(&answer, true, &f->info, &info), STATUS_SUCCESS);
	EXPECT_ILLEGAL(context_info_accept(&answer, false, &f->info, &info), "DDI-CONTEXT-INFO",
		       "DmaBufferSize is 0");
	answer.PagingCompanionNodeId = 2;
	EXPECT_ILLEGAL(context_info_accept(&answer, true, &f->info, &info), "DDI-CONTEXT-INFO",
		       "PagingCompanionNodeId is 2");
	answer.PagingCompanionNodeId = 0;
	answer.Caps.UseIoMmu = 1;
	EXPECT_ILLEGAL(context_info_accept(&answer, true, &f->info, &info), "DDI-CONTEXT-INFO",
		       "UseIoMmu");
}

TEST_MAIN("miniport/answers")
