/* SPDX-License-Identifier: MIT */
/*
 * CppStyle.h - a miniport in the C++ style of Microsoft's samples: what every file includes.
 *
 * A compute-only WDDM 2.6 software driver of the physical (patch list) model. It exists to be
 * loaded: classes with virtual functions, operator new with pool tags, structured exceptions, paged
 * code sections and WPP tracing all have to work on the host. One memory segment, one node, one
 * worker thread that reads DMA buffers by their physical address, as hardware would.
 */
#pragma once

#include <initguid.h>
#include <ntddk.h>
#include <ntintsafe.h>
#include <ntstrsafe.h>
#include <windef.h>
#include <dispmprt.h>
#include <WppRecorder.h>

#include "Trace.h"
#include "cpp_style_commands.h"

#define CS_PAGED_SEGMENT_BEGIN                                                                     \
	__pragma(code_seg(push)) __pragma(code_seg("PAGE")) __pragma(warning(disable : 4127))
#define CS_PAGED_SEGMENT_END      __pragma(code_seg(pop))
#define CS_NONPAGED_SEGMENT_BEGIN __pragma(code_seg(push)) __pragma(code_seg(".text"))
#define CS_NONPAGED_SEGMENT_END   __pragma(code_seg(pop))

/* Pool tags, as a debugger shows them: read backwards. */
enum CS_TAG : ULONG {
	CS_TAG_ADAPTER = 0x41505043,    /* CPPA */
	CS_TAG_DEVICE = 0x44505043,     /* CPPD */
	CS_TAG_CONTEXT = 0x43505043,    /* CPPC */
	CS_TAG_ALLOCATION = 0x4d505043, /* CPPM */
	CS_TAG_ENGINE = 0x45505043,     /* CPPE */
	CS_TAG_TEMPORARY = 0x54505043   /* CPPT */
};

void *operator new(size_t Size, POOL_TYPE PoolType, ULONG Tag) noexcept;
void operator delete(void *Object) noexcept;
void operator delete(void *Object, size_t Size) noexcept;

/* Everything the host holds a handle of begins with a magic number and is cast through it. */
class CsObject
{
      public:
	explicit CsObject(ULONG Magic) : m_Magic(Magic)
	{
	}
	virtual ~CsObject()
	{
		m_Magic = 0;
	}
	CsObject(const CsObject &) = delete;
	CsObject &operator=(const CsObject &) = delete;

	template <typename T> static T *Cast(HANDLE Handle)
	{
		CsObject *object = static_cast<CsObject *>(Handle);

		NT_ASSERT(object != NULL && object->m_Magic == T::kMagic);
		return static_cast<T *>(object);
	}
	template <typename T> static T *Cast(const VOID *Context)
	{
		return Cast<T>(const_cast<HANDLE>(Context));
	}
	HANDLE Handle()
	{
		return static_cast<CsObject *>(this);
	}

      private:
	ULONG m_Magic;
};
