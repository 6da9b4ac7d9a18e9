/* SPDX-License-Identifier: MIT */
/*
 * Adapter.cpp - capabilities, memory and submission of the one adapter.
 */
#include "CppStyle.h"
#include "Adapter.h"
#include "Adapter.tmh"

static const UINT kSegmentId = 1;
static const UINT kPagingBufferSize = PAGE_SIZE;

CS_PAGED_SEGMENT_BEGIN

_Use_decl_annotations_ CsAdapter::CsAdapter(PDEVICE_OBJECT PhysicalDeviceObject,
					    const CsSettings &Settings)
    : CsObject(kMagic), m_PhysicalDeviceObject(PhysicalDeviceObject),
      m_Settings(Settings), m_StartInfo{}, m_Dxgk{}, m_VideoMemory(NULL), m_VideoMemorySize(0),
      m_Engine(NULL)
{
	PAGED_CODE();
}

_Use_decl_annotations_ CsAdapter::~CsAdapter()
{
	PAGED_CODE();
	Stop();
}

/* A driver that reads what a client points to has to live through a pointer to nowhere. */
_Use_decl_annotations_ NTSTATUS CsAdapter::SurviveBadPointer()
{
	PAGED_CODE();

	volatile NTSTATUS status = STATUS_SUCCESS;
	__try {
		volatile ULONG *nowhere = reinterpret_cast<volatile ULONG *>(0x40);

		CS_LOG_ERROR("read %x from nowhere", *nowhere);
	} __except (GetExceptionCode() == STATUS_ACCESS_VIOLATION ? EXCEPTION_EXECUTE_HANDLER
								  : EXCEPTION_CONTINUE_SEARCH) {
		status = GetExceptionCode();
	}
	return status == STATUS_ACCESS_VIOLATION ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}

_Use_decl_annotations_ NTSTATUS CsAdapter::Start(const DXGK_START_INFO *StartInfo,
						 const DXGKRNL_INTERFACE *Interface)
{
	PAGED_CODE();

	m_StartInfo = *StartInfo;
	m_Dxgk = *Interface;

	NTSTATUS status = SurviveBadPointer();
	if (!NT_SUCCESS(status))
		return status;

	DXGK_DEVICE_INFO deviceInfo = {};
	status = m_Dxgk.DxgkCbGetDeviceInformation(m_Dxgk.DeviceHandle, &deviceInfo);
	if (!NT_SUCCESS(status)) {
		CS_LOG_ERROR("DxgkCbGetDeviceInformation failed. (status=%!STATUS!)", status);
		return status;
	}
	WCHAR hardwareId[64] = {};
	ULONG length = 0;
	status = IoGetDeviceProperty(m_PhysicalDeviceObject, DevicePropertyHardwareID,
				     sizeof(hardwareId) - sizeof(WCHAR), hardwareId, &length);
	if (!NT_SUCCESS(status)) {
		CS_LOG_ERROR("no hardware ID. (status=%!STATUS!)", status);
		return status;
	}
	CS_LOG_INFORMATION("%ws started under %wZ", hardwareId, &deviceInfo.DeviceRegistryPath);

	status = RtlSIZETMult(m_Settings.VideoMemoryKiB, 1024, &m_VideoMemorySize);
	if (!NT_SUCCESS(status))
		return status;

	PHYSICAL_ADDRESS lowest, highest, boundary;
	lowest.QuadPart = 0;
	highest.QuadPart = -1;
	boundary.QuadPart = 0;
	m_VideoMemory = static_cast<UCHAR *>(MmAllocateContiguousMemorySpecifyCache(
		m_VideoMemorySize, lowest, highest, boundary, MmCached));
	if (m_VideoMemory == NULL)
		return STATUS_INSUFFICIENT_RESOURCES;

	m_Engine = CsCreateSoftwareEngine(this, m_VideoMemory, m_VideoMemorySize);
	status = m_Engine == NULL ? STATUS_NO_MEMORY : m_Engine->Start();
	if (!NT_SUCCESS(status))
		Stop();
	return status;
}

_Use_decl_annotations_ void CsAdapter::Stop()
{
	PAGED_CODE();

	if (m_Engine != NULL) {
		m_Engine->Stop();
		delete m_Engine;
		m_Engine = NULL;
	}
	if (m_VideoMemory != NULL) {
		MmFreeContiguousMemory(m_VideoMemory);
		m_VideoMemory = NULL;
	}
}

_Use_decl_annotations_ NTSTATUS CsAdapter::QueryAdapterInfo(const DXGKARG_QUERYADAPTERINFO *Args)
{
	PAGED_CODE();

	switch (Args->Type) {
	case DXGKQAITYPE_DRIVERCAPS:
		return QueryDriverCaps(static_cast<DXGK_DRIVERCAPS *>(Args->pOutputData),
				       Args->OutputDataSize);
	case DXGKQAITYPE_QUERYSEGMENT4:
		return QuerySegments(static_cast<DXGK_QUERYSEGMENTOUT4 *>(Args->pOutputData),
				     Args->OutputDataSize);
	default:
		CS_LOG_TRACE("no answer to type %u", Args->Type);
		return STATUS_NOT_SUPPORTED;
	}
}

_Use_decl_annotations_ NTSTATUS CsAdapter::QueryDriverCaps(DXGK_DRIVERCAPS *Caps, UINT Size)
{
	PAGED_CODE();

	if (Size < RTL_SIZEOF_THROUGH_FIELD(DXGK_DRIVERCAPS, MiscCaps))
		return STATUS_BUFFER_TOO_SMALL;

	RtlZeroMemory(Caps, Size);
	Caps->HighestAcceptableAddress.QuadPart = -1;
	Caps->SchedulingCaps.MultiEngineAware = 1;
	Caps->SchedulingCaps.PreemptionAware = 1;
	Caps->GpuEngineTopology.NbAsymetricProcessingNodes = 1;
	Caps->WDDMVersion = DXGKDDI_WDDMv2_6;
	Caps->PreemptionCaps.GraphicsPreemptionGranularity =
		D3DKMDT_GRAPHICS_PREEMPTION_DMA_BUFFER_BOUNDARY;
	Caps->PreemptionCaps.ComputePreemptionGranularity =
		D3DKMDT_COMPUTE_PREEMPTION_DMA_BUFFER_BOUNDARY;
	Caps->SupportNonVGA = TRUE;
	Caps->SupportPerEngineTDR = TRUE;
	Caps->MiscCaps.ComputeOnly = 1;
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ NTSTATUS CsAdapter::QuerySegments(DXGK_QUERYSEGMENTOUT4 *Segments, UINT Size)
{
	PAGED_CODE();

	if (Size < sizeof(*Segments))
		return STATUS_BUFFER_TOO_SMALL;
	if (Segments->pSegmentDescriptor == NULL) {
		Segments->NbSegment = 1;
		return STATUS_SUCCESS;
	}

	DXGK_SEGMENTDESCRIPTOR4 *descriptor =
		reinterpret_cast<DXGK_SEGMENTDESCRIPTOR4 *>(Segments->pSegmentDescriptor);
	RtlZeroMemory(descriptor, sizeof(*descriptor));
	descriptor->Flags.CpuVisible = 1;
	descriptor->Flags.CacheCoherent = 1;
	descriptor->Size = m_VideoMemorySize;
	descriptor->CommitLimit = m_VideoMemorySize;
	descriptor->CpuTranslatedAddress = MmGetPhysicalAddress(m_VideoMemory);

	Segments->NbSegment = 1;
	Segments->PagingBufferSegmentId = 0;
	Segments->PagingBufferSize = kPagingBufferSize;
	Segments->PagingBufferPrivateDataSize = 0;
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ NTSTATUS CsAdapter::CreateAllocation(DXGKARG_CREATEALLOCATION *Args)
{
	PAGED_CODE();

	NTSTATUS status = STATUS_SUCCESS;
	UINT created = 0;
	for (; created < Args->NumAllocations; created++) {
		DXGK_ALLOCATIONINFO *info = &Args->pAllocationInfo[created];
		const cpp_style_allocation *request =
			static_cast<const cpp_style_allocation *>(info->pPrivateDriverData);

		if (info->PrivateDriverDataSize < sizeof(*request) ||
		    request->magic != CPP_STYLE_ALLOCATION_MAGIC || request->size_bytes == 0 ||
		    request->size_bytes > m_VideoMemorySize) {
			CS_LOG_ERROR("allocation %u has no private data of ours", created);
			status = STATUS_INVALID_PARAMETER;
			break;
		}
		SIZE_T size = ROUND_TO_PAGES(request->size_bytes);
		CsAllocation *allocation =
			new (NonPagedPoolNx, CS_TAG_ALLOCATION) CsAllocation(size);
		if (allocation == NULL) {
			status = STATUS_NO_MEMORY;
			break;
		}
		info->hAllocation = allocation->Handle();
		info->Alignment = PAGE_SIZE;
		info->Size = size;
		info->PitchAlignedSize = 0;
		info->HintedBank.Value = 0;
		info->PreferredSegment.Value = 0;
		info->PreferredSegment.SegmentId0 = kSegmentId;
		info->SupportedReadSegmentSet = 1 << (kSegmentId - 1);
		info->SupportedWriteSegmentSet = 1 << (kSegmentId - 1);
		info->EvictionSegmentSet = 0;
		info->PhysicalAdapterIndex = 0;
		info->FlagsWddm2.Value = 0;
		info->FlagsWddm2.CpuVisible = 1;
		info->pAllocationUsageHint = NULL;
		info->AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
	}
	/* All or none. */
	while (!NT_SUCCESS(status) && created > 0) {
		DXGK_ALLOCATIONINFO *info = &Args->pAllocationInfo[--created];

		delete CsObject::Cast<CsAllocation>(info->hAllocation);
		info->hAllocation = NULL;
	}
	return status;
}

_Use_decl_annotations_ NTSTATUS CsAdapter::DestroyAllocation(const DXGKARG_DESTROYALLOCATION *Args)
{
	PAGED_CODE();

	for (UINT i = 0; i < Args->NumAllocations; i++)
		delete CsObject::Cast<CsAllocation>(Args->pAllocationList[i]);
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ NTSTATUS CsDevice::OpenAllocations(const DXGKARG_OPENALLOCATION *Args)
{
	PAGED_CODE();

	const DXGKRNL_INTERFACE &dxgk = m_Adapter->Dxgk();
	UINT opened = 0;
	NTSTATUS status = STATUS_SUCCESS;
	for (; opened < Args->NumAllocations; opened++) {
		DXGK_OPENALLOCATIONINFO *info = &Args->pOpenAllocation[opened];
		DXGKARGCB_GETHANDLEDATA query = {};
		DXGKARGCB_RELEASEHANDLEDATA release = {};

		query.hObject = info->hAllocation;
		query.Type = DXGK_HANDLE_ALLOCATION;
		release.Type = DXGK_HANDLE_ALLOCATION;
		HANDLE data = dxgk.DxgkCbAcquireHandleData(&query, &release.ReleaseHandle);
		if (data == NULL) {
			CS_LOG_ERROR("no data behind allocation %x", info->hAllocation);
			status = STATUS_INVALID_HANDLE;
			break;
		}
		CsOpenAllocation *open = new (NonPagedPoolNx, CS_TAG_ALLOCATION)
			CsOpenAllocation(CsObject::Cast<CsAllocation>(data));
		dxgk.DxgkCbReleaseHandleData(release);
		if (open == NULL) {
			status = STATUS_NO_MEMORY;
			break;
		}
		info->hDeviceSpecificAllocation = open->Handle();
	}
	while (!NT_SUCCESS(status) && opened > 0) {
		DXGK_OPENALLOCATIONINFO *info = &Args->pOpenAllocation[--opened];

		delete CsObject::Cast<CsOpenAllocation>(info->hDeviceSpecificAllocation);
		info->hDeviceSpecificAllocation = NULL;
	}
	return status;
}

_Use_decl_annotations_ NTSTATUS CsDevice::CloseAllocations(const DXGKARG_CLOSEALLOCATION *Args)
{
	PAGED_CODE();

	for (UINT i = 0; i < Args->NumAllocations; i++)
		delete CsObject::Cast<CsOpenAllocation>(Args->pOpenHandleList[i]);
	return STATUS_SUCCESS;
}

/* Commands are the client's memory: copied once, under __try, then believed. */
_Use_decl_annotations_ NTSTATUS CsContext::Render(DXGKARG_RENDER *Args)
{
	PAGED_CODE();

	CsPacket *packet = static_cast<CsPacket *>(Args->pDmaBuffer);
	D3DDDI_PATCHLOCATIONLIST *patch = Args->pPatchLocationListOut;
	UINT count = Args->CommandLength / sizeof(cpp_style_command);

	if (Args->CommandLength % sizeof(cpp_style_command) != 0)
		return STATUS_ILLEGAL_INSTRUCTION;
	if (count > Args->DmaSize / sizeof(CsPacket) || count > Args->PatchLocationListOutSize)
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;

	for (UINT i = 0; i < count; i++) {
		cpp_style_command command;
		volatile NTSTATUS status = STATUS_SUCCESS;

		__try {
			RtlCopyMemory(&command,
				      static_cast<const cpp_style_command *>(Args->pCommand) + i,
				      sizeof(command));
		} __except (EXCEPTION_EXECUTE_HANDLER) {
			status = GetExceptionCode();
		}
		if (!NT_SUCCESS(status)) {
			CS_LOG_ERROR("command %u cannot be read. (status=%!STATUS!)", i, status);
			return STATUS_INVALID_USER_BUFFER;
		}

		RtlZeroMemory(packet, sizeof(*packet));
		if (command.opcode == CPP_STYLE_FILL) {
			if (command.allocation_index >= Args->AllocationListSize)
				return STATUS_ILLEGAL_INSTRUCTION;
			HANDLE handle = Args->pAllocationList[command.allocation_index]
						.hDeviceSpecificAllocation;
			if (handle == NULL)
				return STATUS_ILLEGAL_INSTRUCTION;
			SIZE_T size = CsObject::Cast<CsOpenAllocation>(handle)->Allocation().Size();
			if (command.offset_bytes > size ||
			    command.size_bytes > size - command.offset_bytes ||
			    command.offset_bytes > MAXUINT ||
			    (command.offset_bytes | command.size_bytes) % sizeof(UINT) != 0)
				return STATUS_ILLEGAL_INSTRUCTION;

			packet->Op = CsPacket::Fill;
			packet->Value = command.value;
			packet->Size = command.size_bytes;

			RtlZeroMemory(patch, sizeof(*patch));
			patch->AllocationIndex = command.allocation_index;
			patch->AllocationOffset = static_cast<UINT>(command.offset_bytes);
			patch->PatchOffset =
				static_cast<UINT>(reinterpret_cast<UCHAR *>(&packet->Destination) -
						  static_cast<UCHAR *>(Args->pDmaBuffer));
			patch++;
		} else if (command.opcode != CPP_STYLE_NOP) {
			return STATUS_ILLEGAL_INSTRUCTION;
		}
		packet++;
	}
	Args->pDmaBuffer = packet;
	Args->pPatchLocationListOut = patch;
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ NTSTATUS CsAdapter::Patch(const DXGKARG_PATCH *Args)
{
	PAGED_CODE();

	for (UINT i = 0; i < Args->PatchLocationListSubmissionLength; i++) {
		const D3DDDI_PATCHLOCATIONLIST *patch =
			&Args->pPatchLocationList[Args->PatchLocationListSubmissionStart + i];
		const DXGK_ALLOCATIONLIST *allocation =
			&Args->pAllocationList[patch->AllocationIndex];

		NT_ASSERT(patch->AllocationIndex < Args->AllocationListSize);
		NT_ASSERT(patch->PatchOffset + sizeof(UINT64) <= Args->DmaBufferSize);
		NT_ASSERT(allocation->SegmentId == kSegmentId);
		UINT64 address = static_cast<UINT64>(allocation->PhysicalAddress.QuadPart) +
				 patch->AllocationOffset;
		RtlCopyMemory(static_cast<UCHAR *>(Args->pDmaBuffer) + patch->PatchOffset, &address,
			      sizeof(address));
	}
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ NTSTATUS CsAdapter::BuildPagingBuffer(DXGKARG_BUILDPAGINGBUFFER *Args)
{
	PAGED_CODE();

	CsPacket packet = {};
	switch (Args->Operation) {
	case DXGK_OPERATION_TRANSFER: {
		const auto &transfer = Args->Transfer;
		SIZE_T mdlBytes = static_cast<SIZE_T>(transfer.MdlOffset) * PAGE_SIZE;

		packet.Size = transfer.TransferSize;
		packet.Op = CsPacket::CopyLocal;
		if (transfer.Source.SegmentId == 0) {
			UCHAR *system = static_cast<UCHAR *>(MmGetSystemAddressForMdlSafe(
				transfer.Source.pMdl, NormalPagePriority));
			if (system == NULL)
				return STATUS_NO_MEMORY;
			packet.Op = CsPacket::CopyFromSystem;
			packet.Source = reinterpret_cast<UINT64>(system + mdlBytes);
		} else {
			packet.Source =
				static_cast<UINT64>(transfer.Source.SegmentAddress.QuadPart) +
				transfer.TransferOffset;
		}
		if (transfer.Destination.SegmentId == 0) {
			UCHAR *system = static_cast<UCHAR *>(MmGetSystemAddressForMdlSafe(
				transfer.Destination.pMdl, NormalPagePriority));
			if (system == NULL)
				return STATUS_NO_MEMORY;
			NT_ASSERT(packet.Op == CsPacket::CopyLocal);
			packet.Op = CsPacket::CopyToSystem;
			packet.Destination = reinterpret_cast<UINT64>(system + mdlBytes);
		} else {
			packet.Destination =
				static_cast<UINT64>(transfer.Destination.SegmentAddress.QuadPart) +
				transfer.TransferOffset;
		}
		break;
	}
	case DXGK_OPERATION_FILL:
		packet.Op = CsPacket::Fill;
		packet.Value = Args->Fill.FillPattern;
		packet.Size = Args->Fill.FillSize;
		packet.Destination =
			static_cast<UINT64>(Args->Fill.Destination.SegmentAddress.QuadPart);
		break;
	case DXGK_OPERATION_DISCARD_CONTENT:
		return STATUS_SUCCESS;
	default:
		CS_LOG_ERROR("paging operation %u is none of ours", Args->Operation);
		return STATUS_NOT_SUPPORTED;
	}

	if (Args->DmaSize < sizeof(packet))
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	RtlCopyMemory(Args->pDmaBuffer, &packet, sizeof(packet));
	Args->pDmaBuffer = static_cast<UCHAR *>(Args->pDmaBuffer) + sizeof(packet);
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ UINT CsAdapter::ResetEngine()
{
	PAGED_CODE();
	return m_Engine->Reset();
}

CS_PAGED_SEGMENT_END

CS_NONPAGED_SEGMENT_BEGIN

_Use_decl_annotations_ NTSTATUS CsAdapter::Submit(const DXGKARG_SUBMITCOMMAND *Args)
{
	CsSubmission submission;

	NT_ASSERT(KeGetCurrentIrql() == DISPATCH_LEVEL);
	submission.Address.QuadPart =
		Args->DmaBufferPhysicalAddress.QuadPart + Args->DmaBufferSubmissionStartOffset;
	submission.Length =
		Args->DmaBufferSubmissionEndOffset - Args->DmaBufferSubmissionStartOffset;
	submission.Fence = Args->SubmissionFenceId;
	return m_Engine->Submit(submission);
}

_Use_decl_annotations_ void CsAdapter::Preempt(const DXGKARG_PREEMPTCOMMAND *Args)
{
	m_Engine->Preempt(Args->PreemptionFenceId);
}

_Use_decl_annotations_ UINT CsAdapter::CurrentFence() const
{
	return m_Engine->LastCompletedFence();
}

_Use_decl_annotations_ void CsAdapter::EngineCompleted(UINT Fence)
{
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {};

	data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
	data.DmaCompleted.SubmissionFenceId = Fence;
	Interrupt(data);
}

_Use_decl_annotations_ void CsAdapter::EnginePreempted(UINT PreemptionFence,
						       UINT LastCompletedFence)
{
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {};

	data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
	data.DmaPreempted.PreemptionFenceId = PreemptionFence;
	data.DmaPreempted.LastCompletedFenceId = LastCompletedFence;
	Interrupt(data);
}

struct CsInterrupt {
	CsAdapter *Adapter;
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA *Data;
};

/* No hardware interrupts, so the engine's thread borrows the interrupt level. */
_Use_decl_annotations_ void CsAdapter::Interrupt(const DXGKARGCB_NOTIFY_INTERRUPT_DATA &Data)
{
	CsInterrupt interrupt = { this, &Data };
	BOOLEAN queued = FALSE;

	NTSTATUS status = m_Dxgk.DxgkCbSynchronizeExecution(
		m_Dxgk.DeviceHandle, InterruptSynchronized, &interrupt, 0, &queued);
	NT_ASSERT(NT_SUCCESS(status) && queued);
	if (!NT_SUCCESS(status))
		CS_LOG_ERROR("DxgkCbSynchronizeExecution failed. (status=%!STATUS!)", status);
}

_Use_decl_annotations_ BOOLEAN CsAdapter::InterruptSynchronized(PVOID Context)
{
	CsInterrupt *interrupt = static_cast<CsInterrupt *>(Context);
	const DXGKRNL_INTERFACE &dxgk = interrupt->Adapter->m_Dxgk;

	NT_ASSERT(KeGetCurrentIrql() > DISPATCH_LEVEL);
	dxgk.DxgkCbNotifyInterrupt(dxgk.DeviceHandle, interrupt->Data);
	dxgk.DxgkCbQueueDpc(dxgk.DeviceHandle); /* FALSE: one is queued already, and will do */
	return TRUE;
}

_Use_decl_annotations_ void CsAdapter::Dpc()
{
	m_Dxgk.DxgkCbNotifyDpc(m_Dxgk.DeviceHandle);
}

CS_NONPAGED_SEGMENT_END
