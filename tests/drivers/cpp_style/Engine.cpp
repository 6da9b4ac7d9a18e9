/* SPDX-License-Identifier: MIT */
/*
 * Engine.cpp - the software engine: one system thread that takes submissions in order.
 *
 * Guarded by m_Lock: the queue, the fences, the pending preemption. m_Work wakes the thread for
 * either, m_Quit ends it, m_Idle is signalled whenever it has nothing in hand.
 */
#include "CppStyle.h"
#include "Engine.h"
#include "Engine.tmh"

namespace
{

class CsSoftwareEngine : public CsEngine
{
      public:
	CsSoftwareEngine(CsEngineListener *Listener, UCHAR *VideoMemory, SIZE_T Size);
	virtual ~CsSoftwareEngine() override;

	virtual NTSTATUS Start() override;
	virtual void Stop() override;
	virtual NTSTATUS Submit(const CsSubmission &Submission) override;
	virtual void Preempt(UINT PreemptionFence) override;
	virtual UINT Reset() override;
	virtual UINT LastCompletedFence() const override
	{
		return static_cast<UINT>(m_LastCompleted);
	}

      private:
	static const ULONG kMaxQueued = 32;

	static KSTART_ROUTINE ThreadStart;
	void Run();
	bool TakeNext(CsSubmission *Submission);
	void ReportPreemption();
	void Execute(const CsSubmission &Submission);
	void ExecutePacket(const CsPacket &Packet);
	bool IsInVideoMemory(UINT64 Offset, UINT64 Size) const;

	CsEngineListener *m_Listener;
	UCHAR *m_VideoMemory;
	SIZE_T m_VideoMemorySize;

	KSPIN_LOCK m_Lock;
	CsSubmission m_Queue[kMaxQueued];
	ULONG m_First;
	ULONG m_Count;
	UINT m_LastSubmitted;
	UINT m_PreemptionFence;
	bool m_PreemptionPending;

	volatile LONG m_LastCompleted; /* written by the thread, read by anyone */

	KEVENT m_Work;
	KEVENT m_Quit;
	KEVENT m_Idle;
	PKTHREAD m_Thread;
};

CS_PAGED_SEGMENT_BEGIN

_Use_decl_annotations_ CsSoftwareEngine::CsSoftwareEngine(CsEngineListener *Listener,
							  UCHAR *VideoMemory, SIZE_T Size)
    : m_Listener(Listener), m_VideoMemory(VideoMemory), m_VideoMemorySize(Size), m_Queue{},
      m_First(0), m_Count(0), m_LastSubmitted(0), m_PreemptionFence(0), m_PreemptionPending(false),
      m_LastCompleted(0), m_Thread(NULL)
{
	PAGED_CODE();

	KeInitializeSpinLock(&m_Lock);
	KeInitializeEvent(&m_Work, SynchronizationEvent, FALSE);
	KeInitializeEvent(&m_Quit, NotificationEvent, FALSE);
	KeInitializeEvent(&m_Idle, NotificationEvent, TRUE);
}

_Use_decl_annotations_ CsSoftwareEngine::~CsSoftwareEngine()
{
	PAGED_CODE();
	NT_ASSERT(m_Thread == NULL);
}

_Use_decl_annotations_ NTSTATUS CsSoftwareEngine::Start()
{
	PAGED_CODE();

	OBJECT_ATTRIBUTES attributes;
	InitializeObjectAttributes(&attributes, NULL, OBJ_KERNEL_HANDLE, NULL, NULL);

	HANDLE handle;
	NTSTATUS status = PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, &attributes, NULL, NULL,
					       ThreadStart, this);
	if (!NT_SUCCESS(status)) {
		CS_LOG_ERROR("PsCreateSystemThread failed. (status=%!STATUS!)", status);
		return status;
	}

	PVOID thread = NULL;
	status = ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode,
					   &thread, NULL);
	NT_ASSERT(NT_SUCCESS(status));
	ZwClose(handle);
	m_Thread = static_cast<PKTHREAD>(thread);
	return status;
}

_Use_decl_annotations_ void CsSoftwareEngine::Stop()
{
	PAGED_CODE();

	if (m_Thread == NULL)
		return;
	KeSetEvent(&m_Quit, IO_NO_INCREMENT, FALSE);
	KeWaitForSingleObject(m_Thread, Executive, KernelMode, FALSE, NULL);
	ObDereferenceObject(m_Thread);
	m_Thread = NULL;
}

_Use_decl_annotations_ UINT CsSoftwareEngine::Reset()
{
	PAGED_CODE();

	KIRQL oldIrql;
	KeAcquireSpinLock(&m_Lock, &oldIrql);
	m_Count = 0;
	m_PreemptionPending = false;
	UINT lastSubmitted = m_LastSubmitted;
	KeReleaseSpinLock(&m_Lock, oldIrql);

	KeWaitForSingleObject(&m_Idle, Executive, KernelMode, FALSE, NULL);
	return lastSubmitted;
}

_Use_decl_annotations_ void CsSoftwareEngine::ThreadStart(PVOID Context)
{
	PAGED_CODE();

	static_cast<CsSoftwareEngine *>(Context)->Run();
	PsTerminateSystemThread(STATUS_SUCCESS);
}

_Use_decl_annotations_ void CsSoftwareEngine::Run()
{
	PAGED_CODE();

	PVOID objects[] = { &m_Quit, &m_Work };
	for (;;) {
		NTSTATUS status =
			KeWaitForMultipleObjects(ARRAYSIZE(objects), objects, WaitAny, Executive,
						 KernelMode, FALSE, NULL, NULL);
		if (status == STATUS_WAIT_0)
			return;
		NT_ASSERT(status == STATUS_WAIT_1);

		CsSubmission submission;
		while (TakeNext(&submission)) {
			Execute(submission);
			InterlockedExchange(&m_LastCompleted, static_cast<LONG>(submission.Fence));
			m_Listener->EngineCompleted(submission.Fence);
		}
		ReportPreemption();
	}
}

/* Reads the DMA buffer where the host said it is, by physical address, as hardware would. */
_Use_decl_annotations_ void CsSoftwareEngine::Execute(const CsSubmission &Submission)
{
	PAGED_CODE();

	if (Submission.Length == 0)
		return;
	NT_ASSERT(Submission.Length % sizeof(CsPacket) == 0);

	const CsPacket *packets = static_cast<const CsPacket *>(
		MmMapIoSpace(Submission.Address, Submission.Length, MmCached));
	if (packets == NULL) {
		CS_LOG_ERROR("cannot see the DMA buffer at %I64x", Submission.Address.QuadPart);
		return;
	}
	for (ULONG i = 0; i < Submission.Length / sizeof(CsPacket); i++)
		ExecutePacket(packets[i]);
	MmUnmapIoSpace(const_cast<CsPacket *>(packets), Submission.Length);
}

_Use_decl_annotations_ bool CsSoftwareEngine::IsInVideoMemory(UINT64 Offset, UINT64 Size) const
{
	return Offset <= m_VideoMemorySize && Size <= m_VideoMemorySize - Offset;
}

_Use_decl_annotations_ void CsSoftwareEngine::ExecutePacket(const CsPacket &Packet)
{
	PAGED_CODE();

	UCHAR *destination = m_VideoMemory + Packet.Destination;
	const UCHAR *source = m_VideoMemory + Packet.Source;

	switch (Packet.Op) {
	case CsPacket::Nop:
		return;
	case CsPacket::CopyFromSystem:
		source = reinterpret_cast<const UCHAR *>(Packet.Source);
		break;
	case CsPacket::CopyToSystem:
		destination = reinterpret_cast<UCHAR *>(Packet.Destination);
		break;
	}
	if ((Packet.Op != CsPacket::CopyToSystem &&
	     !IsInVideoMemory(Packet.Destination, Packet.Size)) ||
	    ((Packet.Op == CsPacket::CopyToSystem || Packet.Op == CsPacket::CopyLocal) &&
	     !IsInVideoMemory(Packet.Source, Packet.Size))) {
		CS_LOG_ERROR("packet %u leaves video memory. (size=%I64x)", Packet.Op, Packet.Size);
		NT_ASSERT(FALSE);
		return;
	}

	if (Packet.Op == CsPacket::Fill) {
		for (UINT64 i = 0; i + sizeof(UINT) <= Packet.Size; i += sizeof(UINT))
			RtlCopyMemory(destination + i, &Packet.Value, sizeof(UINT));
	} else {
		RtlMoveMemory(destination, source, Packet.Size);
	}
}

CS_PAGED_SEGMENT_END

CS_NONPAGED_SEGMENT_BEGIN

_Use_decl_annotations_ NTSTATUS CsSoftwareEngine::Submit(const CsSubmission &Submission)
{
	NTSTATUS status = STATUS_SUCCESS;
	KIRQL oldIrql;

	KeAcquireSpinLock(&m_Lock, &oldIrql);
	if (m_Count == kMaxQueued) {
		status = STATUS_INSUFFICIENT_RESOURCES;
	} else {
		m_Queue[(m_First + m_Count++) % kMaxQueued] = Submission;
		m_LastSubmitted = Submission.Fence;
		KeClearEvent(&m_Idle);
	}
	KeReleaseSpinLock(&m_Lock, oldIrql);

	if (NT_SUCCESS(status))
		KeSetEvent(&m_Work, IO_NO_INCREMENT, FALSE);
	return status;
}

_Use_decl_annotations_ void CsSoftwareEngine::Preempt(UINT PreemptionFence)
{
	KIRQL oldIrql;

	KeAcquireSpinLock(&m_Lock, &oldIrql);
	m_Count = 0; /* the host submits them again */
	m_PreemptionFence = PreemptionFence;
	m_PreemptionPending = true;
	KeClearEvent(&m_Idle);
	KeReleaseSpinLock(&m_Lock, oldIrql);
	KeSetEvent(&m_Work, IO_NO_INCREMENT, FALSE);
}

_Use_decl_annotations_ bool CsSoftwareEngine::TakeNext(CsSubmission *Submission)
{
	KIRQL oldIrql;

	KeAcquireSpinLock(&m_Lock, &oldIrql);
	bool found = m_Count != 0;
	if (found) {
		*Submission = m_Queue[m_First];
		m_First = (m_First + 1) % kMaxQueued;
		m_Count--;
	} else if (!m_PreemptionPending) {
		KeSetEvent(&m_Idle, IO_NO_INCREMENT, FALSE);
	}
	KeReleaseSpinLock(&m_Lock, oldIrql);
	return found;
}

_Use_decl_annotations_ void CsSoftwareEngine::ReportPreemption()
{
	KIRQL oldIrql;

	KeAcquireSpinLock(&m_Lock, &oldIrql);
	bool pending = m_PreemptionPending;
	UINT fence = m_PreemptionFence;
	UINT completed = LastCompletedFence();
	m_PreemptionPending = false;
	if (pending && m_Count == 0)
		KeSetEvent(&m_Idle, IO_NO_INCREMENT, FALSE);
	KeReleaseSpinLock(&m_Lock, oldIrql);

	if (pending)
		m_Listener->EnginePreempted(fence, completed);
}

CS_NONPAGED_SEGMENT_END

} // namespace

CS_PAGED_SEGMENT_BEGIN

_Use_decl_annotations_ CsEngine *CsCreateSoftwareEngine(CsEngineListener *Listener,
							UCHAR *VideoMemory, SIZE_T Size)
{
	PAGED_CODE();
	return new (NonPagedPoolNx, CS_TAG_ENGINE) CsSoftwareEngine(Listener, VideoMemory, Size);
}

CS_PAGED_SEGMENT_END
