/* SPDX-License-Identifier: MIT */
/*
 * Engine.h - what executes DMA buffers.
 */
#pragma once

/* One step of a DMA buffer, as the engine reads it. */
struct CsPacket {
	enum Opcode : UINT { Nop, Fill, CopyFromSystem, CopyToSystem, CopyLocal };

	UINT Op;
	UINT Value;
	UINT64 Destination; /* offset in video memory, or address for CopyToSystem */
	UINT64 Source;      /* offset in video memory, or address for CopyFromSystem */
	UINT64 Size;
};
C_ASSERT(sizeof(CsPacket) == 32);

struct CsSubmission {
	PHYSICAL_ADDRESS Address;
	ULONG Length;
	UINT Fence;
};

/* How an engine tells that something ended. Called in the engine's own thread. */
class CsEngineListener
{
      public:
	virtual void EngineCompleted(UINT Fence) = NULL;
	virtual void EnginePreempted(UINT PreemptionFence, UINT LastCompletedFence) = NULL;

      protected:
	~CsEngineListener() = default;
};

class CsEngine
{
      public:
	virtual ~CsEngine() = default;

	virtual NTSTATUS Start() = NULL;
	virtual void Stop() = NULL;
	virtual NTSTATUS Submit(const CsSubmission &Submission) = NULL; /* DISPATCH_LEVEL */
	virtual void Preempt(UINT PreemptionFence) = NULL;              /* DISPATCH_LEVEL */
	virtual UINT Reset() = NULL; /* returns the last fence that was submitted */
	virtual UINT LastCompletedFence() const = NULL;
};

/* Creates the engine of this driver: a thread over a block of memory. */
CsEngine *CsCreateSoftwareEngine(CsEngineListener *Listener, UCHAR *VideoMemory, SIZE_T Size);
