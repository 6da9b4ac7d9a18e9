/* SPDX-License-Identifier: MIT */
/*
 * ddi_arguments_test.c - what a driver was called with, in words.
 */
#include "miniport/ddi_arguments.h"
#include "miniport/internal.h"
#include "support/test.h"

static char text[DDI_ARGUMENTS_TEXT];

static const char *described(enum ddi ddi, const void *handle, const void *arguments)
{
	struct ddi_crossing crossing = { .ddi = ddi };

	ddi_note(&crossing, handle, arguments);
	ddi_describe_arguments(&crossing, text, sizeof(text));
	return text;
}

TEST(arguments, are_a_handle_and_the_fields_of_the_struct)
{
	DXGKARG_CREATECONTEXT args = { .hContext = (HANDLE)0x20,
				       .NodeOrdinal = 3,
				       .EngineAffinity = 1 };

	args.Flags.Value = 5;
	EXPECT_STR(described(DDI_CREATE_CONTEXT, (void *)0x1000, &args),
		   "hDevice 0x1000, hContext 0x20, NodeOrdinal 3, EngineAffinity 0x1, Flags 0x5, "
		   "PrivateDriverDataSize 0");
	EXPECT_STR(described(DDI_DESTROY_CONTEXT, (void *)0x30, NULL), "hContext 0x30");
}

TEST(arguments, that_were_not_noted_or_say_nothing_are_none)
{
	EXPECT_STR(described(DDI_CREATE_CONTEXT, NULL, NULL), "");
	EXPECT_STR(described(DDI_UNLOAD, (void *)0x30, NULL), "");
}

TEST(arguments, of_a_paging_operation_are_those_of_its_kind)
{
	DXGKARG_BUILDPAGINGBUFFER args = { .DmaSize = 4096, .Operation = DXGK_OPERATION_FILL };

	args.Fill.hAllocation = (HANDLE)0x77;
	args.Fill.FillSize = 65536;
	args.Fill.Destination.SegmentId = 2;
	args.Fill.Destination.SegmentAddress.QuadPart = 0x100000;
	EXPECT_STR(described(DDI_BUILD_PAGING_BUFFER, (void *)0x1, &args),
		   "hAdapter 0x1, Operation DXGK_OPERATION_FILL, hAllocation 0x77, FillSize 65536, "
		   "FillPattern 0x0, Destination.SegmentId 2, Destination.SegmentAddress 0x100000, "
		   "DmaSize 4096, MultipassOffset 0");
	args.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)99;
	EXPECT_STR(described(DDI_BUILD_PAGING_BUFFER, (void *)0x1, &args),
		   "hAdapter 0x1, Operation 99, DmaSize 4096, MultipassOffset 0");
}

TEST(arguments, that_do_not_fit_are_cut)
{
	DXGKARG_QUERYADAPTERINFO args = { .Type = DXGKQAITYPE_DRIVERCAPS };
	struct ddi_crossing crossing = { .ddi = DDI_QUERY_ADAPTER_INFO };
	char little[20];

	ddi_note(&crossing, (void *)0xabc, &args);
	ddi_describe_arguments(&crossing, little, sizeof(little));
	EXPECT_STR(little, "hAdapter 0xabc, Typ");
	ddi_describe_arguments(&crossing, little, 1);
	EXPECT_STR(little, "");
}

TEST(interrupt, is_its_type_and_what_belongs_to_that)
{
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = { .InterruptType = DXGK_INTERRUPT_DMA_COMPLETED };

	data.DmaCompleted.NodeOrdinal = 2;
	data.DmaCompleted.SubmissionFenceId = 17;
	ddi_describe_interrupt(&data, text, sizeof(text));
	EXPECT_STR(
		text,
		"InterruptType DXGK_INTERRUPT_DMA_COMPLETED, NodeOrdinal 2, SubmissionFenceId 17");
}

TEST_MAIN("miniport/ddi_arguments")
