/* SPDX-License-Identifier: MIT */
/*
 * lookaside.c - lookaside lists. Nothing is kept back: every entry is a pool block, so that each is
 * checked.
 *
 *   in:   lists of a driver's, as large as on NT
 *   out:  pool blocks of the list's size and tag, or what the driver's own routines make
 */
#include <stddef.h>
#include <string.h>

#include <ddk/wdm.h>

#include "base/attributes.h"
#include "nt/pool.h"

static void lookaside_init(GENERAL_LOOKASIDE_POOL *list, POOL_TYPE type, size_t size_bytes,
			   uint32_t tag)
{
	memset(list, 0, sizeof(*list));
	InitializeSListHead(&list->ListHead);
	InitializeListHead(&list->ListEntry);
	list->Type = type;
	list->Size = (ULONG)size_bytes;
	list->Tag = tag;
}

_Static_assert(offsetof(GENERAL_LOOKASIDE, Future) == offsetof(GENERAL_LOOKASIDE_POOL, Future),
	       "both kinds of list have the same fields");

static GENERAL_LOOKASIDE_POOL *lookaside_of(GENERAL_LOOKASIDE *list)
{
	return (GENERAL_LOOKASIDE_POOL *)list;
}

static void *lookaside_allocate(GENERAL_LOOKASIDE_POOL *list, const void *site, const char *routine)
{
	__atomic_fetch_add(&list->TotalAllocates, 1, __ATOMIC_RELAXED);
	if (list->Allocate)
		return list->Allocate(list->Type, list->Size, list->Tag);
	return nt_pool_allocate(list->Type, list->Size, list->Tag, site, routine);
}

static void lookaside_free(GENERAL_LOOKASIDE_POOL *list, void *entry, const void *site,
			   const char *routine)
{
	__atomic_fetch_add(&list->TotalFrees, 1, __ATOMIC_RELAXED);
	if (list->Free)
		list->Free(entry);
	else
		nt_pool_free(entry, list->Tag, site, routine);
}

VOID ExInitializeNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PALLOCATE_FUNCTION Allocate,
				     PFREE_FUNCTION Free, ULONG Flags, SIZE_T Size, ULONG Tag,
				     USHORT Depth)
{
	lookaside_init(lookaside_of(&Lookaside->L),
		       (POOL_TYPE)(Flags & (NonPagedPoolNx | POOL_RAISE_IF_ALLOCATION_FAILURE)),
		       Size, Tag);
	Lookaside->L.Allocate = Allocate;
	Lookaside->L.Free = Free;
}

/* Entries that were not freed stay what they are: blocks that the leak report finds. */
VOID ExDeleteNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside)
{
	memset(Lookaside, 0, sizeof(*Lookaside));
}

PVOID ExAllocateFromNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside)
{
	return lookaside_allocate(lookaside_of(&Lookaside->L), CALLER, __func__);
}

VOID ExFreeToNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry)
{
	lookaside_free(lookaside_of(&Lookaside->L), Entry, CALLER, __func__);
}

VOID ExInitializePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PALLOCATE_FUNCTION Allocate,
				    PFREE_FUNCTION Free, ULONG Flags, SIZE_T Size, ULONG Tag,
				    USHORT Depth)
{
	lookaside_init(lookaside_of(&Lookaside->L),
		       (POOL_TYPE)(PagedPool | (Flags & POOL_RAISE_IF_ALLOCATION_FAILURE)), Size,
		       Tag);
	Lookaside->L.Allocate = Allocate;
	Lookaside->L.Free = Free;
}

VOID ExDeletePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside)
{
	memset(Lookaside, 0, sizeof(*Lookaside));
}

PVOID ExAllocateFromPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside)
{
	return lookaside_allocate(lookaside_of(&Lookaside->L), CALLER, __func__);
}

VOID ExFreeToPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry)
{
	lookaside_free(lookaside_of(&Lookaside->L), Entry, CALLER, __func__);
}

NTSTATUS ExInitializeLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PALLOCATE_FUNCTION_EX Allocate,
				     PFREE_FUNCTION_EX Free, POOL_TYPE PoolType, ULONG Flags,
				     SIZE_T Size, ULONG Tag, USHORT Depth)
{
	if (Depth != 0 || Size > MAXULONG)
		return STATUS_INVALID_PARAMETER;
	lookaside_init(&Lookaside->L, PoolType, Size, Tag);
	Lookaside->L.AllocateEx = Allocate;
	Lookaside->L.FreeEx = Free;
	return STATUS_SUCCESS;
}

VOID ExDeleteLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
	memset(Lookaside, 0, sizeof(*Lookaside));
}

VOID ExFlushLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
	UNREFERENCED_PARAMETER(Lookaside); /* nothing is kept back */
}

PVOID ExAllocateFromLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
	GENERAL_LOOKASIDE_POOL *list = &Lookaside->L;

	if (!list->AllocateEx)
		return lookaside_allocate(list, CALLER, __func__);
	__atomic_fetch_add(&list->TotalAllocates, 1, __ATOMIC_RELAXED);
	return list->AllocateEx(list->Type, list->Size, list->Tag, Lookaside);
}

VOID ExFreeToLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PVOID Entry)
{
	GENERAL_LOOKASIDE_POOL *list = &Lookaside->L;

	if (!list->FreeEx) {
		lookaside_free(list, Entry, CALLER, __func__);
		return;
	}
	__atomic_fetch_add(&list->TotalFrees, 1, __ATOMIC_RELAXED);
	list->FreeEx(Entry, Lookaside);
}
