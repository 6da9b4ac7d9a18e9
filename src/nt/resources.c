/* SPDX-License-Identifier: MIT */
/*
 * resources.c - ranges of memory and ports in resource descriptors.
 *
 * A length of 32 bits is stored as it is; a longer one in units of 256 bytes, 64 KiB or 4 GiB, and
 * a flag says which.
 */
#include <ddk/wdm.h>

static const struct {
	USHORT flag;
	unsigned shift;
} large_units[] = {
	{ CM_RESOURCE_MEMORY_LARGE_40, 8 },
	{ CM_RESOURCE_MEMORY_LARGE_48, 16 },
	{ CM_RESOURCE_MEMORY_LARGE_64, 32 },
};

ULONGLONG RtlCmDecodeMemIoResource(PCM_PARTIAL_RESOURCE_DESCRIPTOR Descriptor, PULONGLONG Start)
{
	/* Packed: the fields are not aligned for a pointer to them. */
	if (Start)
		*Start = (ULONGLONG)Descriptor->u.Generic.Start.QuadPart;
	if (Descriptor->Type == CmResourceTypeMemory || Descriptor->Type == CmResourceTypePort)
		return Descriptor->u.Generic.Length;
	if (Descriptor->Type == CmResourceTypeMemoryLarge)
		for (size_t i = 0; i < ARRAYSIZE(large_units); i++)
			if ((Descriptor->Flags & CM_RESOURCE_MEMORY_LARGE) == large_units[i].flag)
				return (ULONGLONG)Descriptor->u.Memory40.Length40
				       << large_units[i].shift;
	if (Start)
		*Start = 0;
	return 0;
}

NTSTATUS RtlCmEncodeMemIoResource(PCM_PARTIAL_RESOURCE_DESCRIPTOR Descriptor, UCHAR Type,
				  ULONGLONG Length, ULONGLONG Start)
{
	if (Type == CmResourceTypeMemory || Type == CmResourceTypePort) {
		if (Length > MAXULONG)
			return STATUS_UNSUCCESSFUL;
		Descriptor->Type = Type;
		Descriptor->Flags &= ~CM_RESOURCE_MEMORY_LARGE;
		Descriptor->u.Generic.Start.QuadPart = (LONGLONG)Start;
		Descriptor->u.Generic.Length = (ULONG)Length;
		return STATUS_SUCCESS;
	}
	if (Type != CmResourceTypeMemoryLarge)
		return STATUS_INVALID_PARAMETER;
	if (Length <= MAXULONG)
		return STATUS_UNSUCCESSFUL;
	for (size_t i = 0; i < ARRAYSIZE(large_units); i++) {
		ULONGLONG units = Length >> large_units[i].shift;

		if (units > MAXULONG || units << large_units[i].shift != Length)
			continue;
		Descriptor->Type = Type;
		Descriptor->Flags = (USHORT)((Descriptor->Flags & ~CM_RESOURCE_MEMORY_LARGE) |
					     large_units[i].flag);
		Descriptor->u.Memory40.Start.QuadPart = (LONGLONG)Start;
		Descriptor->u.Memory40.Length40 = (ULONG)units;
		return STATUS_SUCCESS;
	}
	return STATUS_UNSUCCESSFUL;
}
