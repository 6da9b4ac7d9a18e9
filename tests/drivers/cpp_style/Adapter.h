/* SPDX-License-Identifier: MIT */
/*
 * Adapter.h - the adapter and what lives on it: devices, contexts, allocations.
 */
#pragma once

#include "Engine.h"

struct CsSettings {
	ULONG VideoMemoryKiB;
};

class CsAllocation : public CsObject
{
      public:
	static const ULONG kMagic = 0x63614d65;
	explicit CsAllocation(SIZE_T Size) : CsObject(kMagic), m_Size(Size)
	{
	}
	SIZE_T Size() const
	{
		return m_Size;
	}

      private:
	SIZE_T m_Size;
};

/* An allocation as one device sees it: hDeviceSpecificAllocation. */
class CsOpenAllocation : public CsObject
{
      public:
	static const ULONG kMagic = 0x6f704d65;
	explicit CsOpenAllocation(CsAllocation *Allocation)
	    : CsObject(kMagic), m_Allocation(Allocation)
	{
	}
	const CsAllocation &Allocation() const
	{
		return *m_Allocation;
	}

      private:
	CsAllocation *m_Allocation;
};

class CsAdapter;

class CsDevice : public CsObject
{
      public:
	static const ULONG kMagic = 0x64657669;
	explicit CsDevice(CsAdapter *Adapter) : CsObject(kMagic), m_Adapter(Adapter)
	{
	}
	NTSTATUS OpenAllocations(const DXGKARG_OPENALLOCATION *Args);
	static NTSTATUS CloseAllocations(const DXGKARG_CLOSEALLOCATION *Args);

      private:
	CsAdapter *m_Adapter;
};

class CsContext : public CsObject
{
      public:
	static const ULONG kMagic = 0x636f6e74;
	CsContext() : CsObject(kMagic)
	{
	}
	NTSTATUS Render(DXGKARG_RENDER *Args);
};

class CsAdapter : public CsObject, private CsEngineListener
{
      public:
	static const ULONG kMagic = 0x61646170;

	CsAdapter(PDEVICE_OBJECT PhysicalDeviceObject, const CsSettings &Settings);
	virtual ~CsAdapter() override;

	NTSTATUS Start(const DXGK_START_INFO *StartInfo, const DXGKRNL_INTERFACE *Interface);
	void Stop();
	void Dpc();
	const DXGKRNL_INTERFACE &Dxgk() const
	{
		return m_Dxgk;
	}

	NTSTATUS QueryAdapterInfo(const DXGKARG_QUERYADAPTERINFO *Args);
	NTSTATUS CreateAllocation(DXGKARG_CREATEALLOCATION *Args);
	static NTSTATUS DestroyAllocation(const DXGKARG_DESTROYALLOCATION *Args);
	NTSTATUS BuildPagingBuffer(DXGKARG_BUILDPAGINGBUFFER *Args);
	NTSTATUS Patch(const DXGKARG_PATCH *Args);
	NTSTATUS Submit(const DXGKARG_SUBMITCOMMAND *Args);
	void Preempt(const DXGKARG_PREEMPTCOMMAND *Args);
	UINT ResetEngine();
	UINT CurrentFence() const;

      private:
	virtual void EngineCompleted(UINT Fence) override;
	virtual void EnginePreempted(UINT PreemptionFence, UINT LastCompletedFence) override;

	NTSTATUS SurviveBadPointer();
	NTSTATUS QueryDriverCaps(DXGK_DRIVERCAPS *Caps, UINT Size);
	NTSTATUS QuerySegments(DXGK_QUERYSEGMENTOUT4 *Segments, UINT Size);
	void Interrupt(const DXGKARGCB_NOTIFY_INTERRUPT_DATA &Data);
	static KSYNCHRONIZE_ROUTINE InterruptSynchronized;

	PDEVICE_OBJECT m_PhysicalDeviceObject;
	CsSettings m_Settings;
	DXGK_START_INFO m_StartInfo;
	DXGKRNL_INTERFACE m_Dxgk;
	UCHAR *m_VideoMemory;
	SIZE_T m_VideoMemorySize;
	CsEngine *m_Engine;
};
