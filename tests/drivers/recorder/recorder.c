/*
 * recorder.c - a display miniport that does as its registry says and writes down what happens.
 *
 * Which answers it gives:
 *
 *   Model                "physical" or "gpummu" (the default)
 *   Version              DRIVER_INITIALIZATION_DATA.Version
 *   the name of a field  its value: WDDMVersion, NbSegment, PagingBufferSize, Segment1.Flags,
 *                        Level0.PageTableIndexBitCount, …; see the calls of setting()
 *
 * How it fails:
 *
 *   Fail                 the step that fails: "DriverEntry", "AddDevice", "CreateContext", …, or a
 *                        query: "DRIVERCAPS", "QUERYSEGMENT4", …
 *   FailAt               at its how-manieth call, 1 when not given
 *   FailStatus           with this status, STATUS_UNSUCCESSFUL when not given
 *   Missing              the entry point that is left NULL: "AddDevice"
 *   Initialize           "never", "twice", "ignored" (its failure), "displayonly", "other object"
 *
 * It is written as C in the style of a driver, and uses nothing a driver has not.
 */
#include <ntddk.h>
#include <dispmprt.h>

#include "recorder.h"

#define RECORDER_TAG 0x52637264

/* One adapter per image: the statics of a driver are its own. */
static ULONG adapter_count;
static WCHAR registry_path_buffer[256];
static UNICODE_STRING registry_path;

struct adapter {
	ULONG magic;
	PDEVICE_OBJECT device_object;
	DXGKRNL_INTERFACE interface;
	LONG processes;
	LONG devices;
	LONG contexts;
	volatile LONG inside; /* threads in RECORDER_SLOW */
	volatile LONG most_inside;
};

struct object {
	ULONG magic;
	struct adapter *adapter;
	HANDLE kernel_handle;
};

enum {
	MAGIC_ADAPTER = 0x41414141,
	MAGIC_PROCESS = 0x50505050,
	MAGIC_DEVICE = 0x44444444,
	MAGIC_CONTEXT = 0x43434343,
	MAGIC_GONE = 0x47474747,
};

/* ---- notes ---- */

static void append(char *line, ULONG capacity, ULONG *used, const char *text)
{
	while (*text && *used + 1 < capacity)
		line[(*used)++] = *text++;
	line[*used] = '\0';
}

static void append_number(char *line, ULONG capacity, ULONG *used, ULONG number)
{
	char digits[11];
	ULONG at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number != 0);
	append(line, capacity, used, digits + at);
}

/* "CreateContext irql=0 node=2 flags=1": names and values in turns, the last name NULL. */
static void note(const char *entry, const char *name1, ULONG value1, const char *name2,
		 ULONG value2)
{
	char line[128];
	ULONG used = 0;

	append(line, sizeof(line), &used, entry);
	append(line, sizeof(line), &used, " irql=");
	append_number(line, sizeof(line), &used, KeGetCurrentIrql());
	if (name1) {
		append(line, sizeof(line), &used, " ");
		append(line, sizeof(line), &used, name1);
		append(line, sizeof(line), &used, "=");
		append_number(line, sizeof(line), &used, value1);
	}
	if (name2) {
		append(line, sizeof(line), &used, " ");
		append(line, sizeof(line), &used, name2);
		append(line, sizeof(line), &used, "=");
		append_number(line, sizeof(line), &used, value2);
	}
	recorder_note(line);
}

static void complain(const char *what)
{
	char line[128];
	ULONG used = 0;

	append(line, sizeof(line), &used, "WRONG: ");
	append(line, sizeof(line), &used, what);
	recorder_note(line);
}

/* ---- settings ---- */

static BOOLEAN read_value(const char *name, ULONG type, PVOID data, ULONG capacity, ULONG *size_out)
{
	struct {
		KEY_VALUE_PARTIAL_INFORMATION information;
		UCHAR data[256];
	} value;
	WCHAR name16[64];
	UNICODE_STRING value_name;
	OBJECT_ATTRIBUTES attributes;
	HANDLE key;
	ULONG length = 0;
	ULONG needed = 0;
	NTSTATUS status;

	while (name[length] && length + 1 < 64) {
		name16[length] = (WCHAR)name[length];
		length++;
	}
	name16[length] = 0;
	RtlInitUnicodeString(&value_name, name16);
	InitializeObjectAttributes(&attributes, &registry_path, OBJ_CASE_INSENSITIVE, NULL, NULL);
	if (!NT_SUCCESS(ZwOpenKey(&key, KEY_READ, &attributes)))
		return FALSE;
	status = ZwQueryValueKey(key, &value_name, KeyValuePartialInformation, &value,
				 sizeof(value), &needed);
	ZwClose(key);
	if (!NT_SUCCESS(status) || value.information.Type != type ||
	    value.information.DataLength > capacity)
		return FALSE;
	RtlCopyMemory(data, value.information.Data, value.information.DataLength);
	*size_out = value.information.DataLength;
	return TRUE;
}

static ULONG setting(const char *name, ULONG otherwise)
{
	ULONG value;
	ULONG size;

	return read_value(name, REG_DWORD, &value, sizeof(value), &size) ? value : otherwise;
}

/* "Segment1" and "Size": the setting "Segment1.Size". */
static ULONG indexed(const char *what, ULONG index, const char *field, ULONG otherwise)
{
	char name[64];
	ULONG used = 0;

	append(name, sizeof(name), &used, what);
	append_number(name, sizeof(name), &used, index);
	append(name, sizeof(name), &used, ".");
	append(name, sizeof(name), &used, field);
	return setting(name, otherwise);
}

static BOOLEAN setting_is(const char *name, const char *text)
{
	WCHAR value[64];
	ULONG size;
	ULONG i;

	if (!read_value(name, REG_SZ, value, sizeof(value), &size))
		return FALSE;
	for (i = 0; text[i]; i++) {
		if (i >= size / sizeof(WCHAR) || value[i] != (WCHAR)text[i])
			return FALSE;
	}
	return i >= size / sizeof(WCHAR) || value[i] == 0;
}

static BOOLEAN is_gpu_mmu(void)
{
	return !setting_is("Model", "physical");
}

static ULONG version(void)
{
	return setting("Version", DXGKDDI_INTERFACE_VERSION_WDDM2_6);
}

/* What the step has to return: success, or what the registry asks for. */
static NTSTATUS step(const char *name)
{
	static ULONG calls;

	if (!setting_is("Fail", name) || ++calls != setting("FailAt", 1))
		return STATUS_SUCCESS;
	return (NTSTATUS)setting("FailStatus", (ULONG)STATUS_UNSUCCESSFUL);
}

/* ---- objects ---- */

static struct object *object_create(struct adapter *adapter, ULONG magic, HANDLE kernel_handle)
{
	struct object *object =
		ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*object), RECORDER_TAG);

	if (object) {
		object->magic = magic;
		object->adapter = adapter;
		object->kernel_handle = kernel_handle;
	}
	return object;
}

static struct adapter *object_destroy(HANDLE handle, ULONG magic)
{
	struct object *object = handle;
	struct adapter *adapter;

	if (!object || object->magic != magic) {
		complain("a handle that is not the driver's");
		return NULL;
	}
	adapter = object->adapter;
	object->magic = MAGIC_GONE;
	ExFreePoolWithTag(object, RECORDER_TAG);
	return adapter;
}

static struct adapter *adapter_of(PVOID context)
{
	struct adapter *adapter = context;

	if (!adapter || adapter->magic != MAGIC_ADAPTER)
		complain("an adapter that is not the driver's");
	return adapter;
}

/* ---- plug and play ---- */

static NTSTATUS APIENTRY add_device(const PDEVICE_OBJECT device_object, PVOID *context)
{
	NTSTATUS status = step("AddDevice");
	struct adapter *adapter;

	note("AddDevice", "adapters", ++adapter_count, NULL, 0);
	if (!NT_SUCCESS(status))
		return status;
	if (setting("NullContext", 0)) {
		*context = NULL;
		return STATUS_SUCCESS;
	}
	adapter = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*adapter), RECORDER_TAG);
	if (!adapter)
		return STATUS_NO_MEMORY;
	RtlZeroMemory(adapter, sizeof(*adapter));
	adapter->magic = MAGIC_ADAPTER;
	adapter->device_object = device_object;
	*context = adapter;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY start_device(const PVOID context, PDXGK_START_INFO start_info,
				      PDXGKRNL_INTERFACE interface, PULONG sources, PULONG children)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status = step("StartDevice");

	note("StartDevice", "queue", start_info->RequiredDmaQueueEntry, "luid",
	     start_info->AdapterLuid.LowPart);
	if (interface->Size < sizeof(*interface))
		complain("an interface that is too small");
	if (!NT_SUCCESS(status))
		return status;
	adapter->interface = *interface;
	*sources = 0;
	*children = 0;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY stop_device(const PVOID context)
{
	struct adapter *adapter = adapter_of(context);

	note("StopDevice", "left",
	     (ULONG)(adapter->processes + adapter->devices + adapter->contexts), NULL, 0);
	return step("StopDevice");
}

static NTSTATUS APIENTRY remove_device(const PVOID context)
{
	struct adapter *adapter = adapter_of(context);

	note("RemoveDevice", NULL, 0, NULL, 0);
	adapter->magic = MAGIC_GONE;
	ExFreePoolWithTag(adapter, RECORDER_TAG);
	return step("RemoveDevice");
}

static VOID APIENTRY unload(void)
{
	note("Unload", NULL, 0, NULL, 0);
	if (setting("LeakPool", 0))
		(void)ExAllocatePoolWithTag(NonPagedPoolNx, 100, RECORDER_TAG);
}

static BOOLEAN APIENTRY interrupt_routine(const PVOID context, ULONG message)
{
	note("InterruptRoutine", "message", message, NULL, 0);
	return FALSE;
}

static VOID APIENTRY dpc_routine(const PVOID context)
{
	struct adapter *adapter = adapter_of(context);

	note("DpcRoutine", NULL, 0, NULL, 0);
	adapter->interface.DxgkCbNotifyDpc(adapter->interface.DeviceHandle);
}

/* ---- queries ---- */

static const char *query_name(DXGK_QUERYADAPTERINFOTYPE type)
{
	switch ((int)type) {
	case DXGKQAITYPE_UMDRIVERPRIVATE:
		return "UMDRIVERPRIVATE";
	case DXGKQAITYPE_DRIVERCAPS:
		return "DRIVERCAPS";
	case DXGKQAITYPE_QUERYSEGMENT:
		return "QUERYSEGMENT";
	case DXGKQAITYPE_QUERYSEGMENT3:
		return "QUERYSEGMENT3";
	case DXGKQAITYPE_QUERYSEGMENT4:
		return "QUERYSEGMENT4";
	case DXGKQAITYPE_GPUMMUCAPS:
		return "GPUMMUCAPS";
	case DXGKQAITYPE_PAGETABLELEVELDESC:
		return "PAGETABLELEVELDESC";
	case DXGKQAITYPE_PHYSICALADAPTERCAPS:
		return "PHYSICALADAPTERCAPS";
	case DXGKQAITYPE_NUMPOWERCOMPONENTS:
		return "NUMPOWERCOMPONENTS";
	case DXGKQAITYPE_POWERCOMPONENTINFO:
		return "POWERCOMPONENTINFO";
	case DXGKQAITYPE_HISTORYBUFFERPRECISION:
		return "HISTORYBUFFERPRECISION";
	case DXGKQAITYPE_PHYSICAL_MEMORY_CAPS:
		return "PHYSICAL_MEMORY_CAPS";
	case DXGKQAITYPE_IOMMU_CAPS:
		return "IOMMU_CAPS";
	default:
		return "unknown";
	}
}

/* WDDM version as a driver of that interface would report it. */
static ULONG default_wddm_version(void)
{
	ULONG registered = version();

	if (registered < DXGKDDI_INTERFACE_VERSION_WIN8)
		return 0x1100;
	if (registered < DXGKDDI_INTERFACE_VERSION_WDDM1_3)
		return 0x1200;
	if (registered < DXGKDDI_INTERFACE_VERSION_WDDM2_0)
		return 0x1300;
	return registered < DXGKDDI_INTERFACE_VERSION_WDDM2_6 ? 0x2000 : 0x2600;
}

static NTSTATUS query_caps(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_DRIVERCAPS *caps = query->pOutputData;
	BOOLEAN is_virtual = is_gpu_mmu() && version() >= DXGKDDI_INTERFACE_VERSION_WDDM2_0;

	if (query->OutputDataSize < sizeof(*caps))
		return STATUS_BUFFER_TOO_SMALL;
	caps->HighestAcceptableAddress.QuadPart = -1;
	caps->WDDMVersion = (DXGK_WDDMVERSION)setting("WDDMVersion", default_wddm_version());
	caps->SchedulingCaps.Value = setting("SchedulingCaps", 0x15);
	caps->MemoryManagementCaps.Value =
		setting("MemoryManagementCaps", is_virtual ? 0x70 : 0x10);
	caps->MemoryManagementCaps.PagingNode = setting("PagingNode", 1);
	caps->GpuEngineTopology.NbAsymetricProcessingNodes =
		setting("NbAsymetricProcessingNodes", 2);
	caps->SupportNonVGA = TRUE;
	caps->SupportPerEngineTDR = TRUE;
	caps->MiscCaps.ComputeOnly = 1;
	caps->PreemptionCaps.GraphicsPreemptionGranularity =
		D3DKMDT_GRAPHICS_PREEMPTION_PRIMITIVE_BOUNDARY;
	caps->PreemptionCaps.ComputePreemptionGranularity =
		D3DKMDT_COMPUTE_PREEMPTION_DISPATCH_BOUNDARY;
	return STATUS_SUCCESS;
}

/* Segment 1 is local memory, segment 2 the aperture; more are local memory. */
struct segment {
	ULONG flags;
	ULONGLONG base;
	ULONGLONG size;
	ULONGLONG commit_limit;
	ULONGLONG cpu_address;
	ULONG banks;
};

static struct segment segment_of(ULONG id)
{
	struct segment segment;

	segment.flags = indexed("Segment", id, "Flags", id == 2 ? 0x1 : 0x8004);
	segment.base = ((ULONGLONG)indexed("Segment", id, "BaseHigh", id) << 32) +
		       indexed("Segment", id, "Base", 0);
	segment.size = indexed("Segment", id, "Size", 64 << 20);
	segment.commit_limit = indexed("Segment", id, "CommitLimit", 64 << 20);
	segment.cpu_address =
		((ULONGLONG)indexed("Segment", id, "CpuTranslatedAddressHigh", 16 + id) << 32) +
		indexed("Segment", id, "CpuTranslatedAddress", 0);
	segment.banks = indexed("Segment", id, "NbOfBanks", 0);
	return segment;
}

static SIZE_T bank_table[2];

static NTSTATUS query_segments_4(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;
	ULONG count = setting("NbSegment", 2);

	if (query->OutputDataSize < sizeof(*out))
		return STATUS_BUFFER_TOO_SMALL;
	if (!out->pSegmentDescriptor) {
		if (out->NbSegment != 0)
			complain("a first pass that has segments already");
		out->NbSegment = count;
		return STATUS_SUCCESS;
	}
	if (out->NbSegment != count)
		complain("a second pass with another count");
	for (ULONG i = 0; i < count; i++) {
		DXGK_SEGMENTDESCRIPTOR4 *descriptor =
			(DXGK_SEGMENTDESCRIPTOR4 *)(out->pSegmentDescriptor +
						    i * out->SegmentDescriptorStride);
		struct segment segment = segment_of(i + 1);

		descriptor->Flags.Value = segment.flags;
		descriptor->BaseAddress.QuadPart = (LONGLONG)segment.base;
		descriptor->Size = segment.size;
		descriptor->CommitLimit = segment.commit_limit;
		if (descriptor->Flags.SupportsCpuHostAperture) {
			descriptor->CpuHostAperture.PhysicalAddress = segment.cpu_address;
			descriptor->CpuHostAperture.SizeInPages =
				indexed("Segment", i + 1, "SizeInPages", 256);
		} else {
			descriptor->CpuTranslatedAddress.QuadPart = (LONGLONG)segment.cpu_address;
		}
		descriptor->NumInvalidMemoryRanges =
			indexed("Segment", i + 1, "NumInvalidMemoryRanges", 0);
	}
	out->NbSegment = setting("NbSegmentAgain", count);
	out->PagingBufferSegmentId = setting("PagingBufferSegmentId", 0);
	out->PagingBufferSize = setting("PagingBufferSize", 4096);
	out->PagingBufferPrivateDataSize = setting("PagingBufferPrivateDataSize", 64);
	if (setting("SegmentDescriptorStride", 0))
		out->SegmentDescriptorStride = setting("SegmentDescriptorStride", 0);
	return STATUS_SUCCESS;
}

static NTSTATUS query_segments_3(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;
	ULONG count = setting("NbSegment", 2);

	if (!out->pSegmentDescriptor) {
		out->NbSegment = count;
		return STATUS_SUCCESS;
	}
	for (ULONG i = 0; i < count; i++) {
		DXGK_SEGMENTDESCRIPTOR3 *descriptor = &out->pSegmentDescriptor[i];
		struct segment segment = segment_of(i + 1);

		bank_table[0] = setting("Bank0", 16 << 20);
		bank_table[1] = setting("Bank1", 32 << 20);
		descriptor->Flags.Value = segment.flags;
		descriptor->BaseAddress.QuadPart = (LONGLONG)segment.base;
		descriptor->CpuTranslatedAddress.QuadPart = (LONGLONG)segment.cpu_address;
		descriptor->Size = segment.size;
		descriptor->CommitLimit = segment.commit_limit;
		descriptor->NbOfBanks = segment.banks;
		descriptor->pBankRangeTable = setting("NoBankTable", 0) ? NULL : bank_table;
	}
	out->PagingBufferSegmentId = setting("PagingBufferSegmentId", 0);
	out->PagingBufferSize = setting("PagingBufferSize", 4096);
	out->PagingBufferPrivateDataSize = setting("PagingBufferPrivateDataSize", 64);
	return STATUS_SUCCESS;
}

static NTSTATUS query_segments_1(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_QUERYSEGMENTOUT *out = query->pOutputData;
	ULONG count = setting("NbSegment", 2);

	if (!out->pSegmentDescriptor) {
		out->NbSegment = count;
		return STATUS_SUCCESS;
	}
	for (ULONG i = 0; i < count; i++) {
		DXGK_SEGMENTDESCRIPTOR *descriptor = &out->pSegmentDescriptor[i];
		struct segment segment = segment_of(i + 1);

		descriptor->Flags.Value = segment.flags;
		descriptor->BaseAddress.QuadPart = (LONGLONG)segment.base;
		descriptor->CpuTranslatedAddress.QuadPart = (LONGLONG)segment.cpu_address;
		descriptor->Size = segment.size;
		descriptor->CommitLimit = segment.commit_limit;
	}
	out->PagingBufferSize = setting("PagingBufferSize", 4096);
	return STATUS_SUCCESS;
}

static NTSTATUS query_gpu_mmu_caps(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_GPUMMUCAPS *caps = query->pOutputData;

	caps->Value = setting("GpuMmuCaps", 0x14);
	caps->PageTableUpdateMode = (DXGK_PAGETABLEUPDATEMODE)setting(
		"PageTableUpdateMode", DXGK_PAGETABLEUPDATE_CPU_VIRTUAL);
	caps->VirtualAddressBitCount = setting("VirtualAddressBitCount", 40);
	caps->LeafPageTableSizeFor64KPagesInBytes =
		setting("LeafPageTableSizeFor64KPagesInBytes", 0);
	caps->PageTableLevelCount = setting("PageTableLevelCount", 3);
	return STATUS_SUCCESS;
}

/* Three levels: 9 + 9 + 10 index bits and the offset are 40. */
static NTSTATUS query_page_table_level(const DXGKARG_QUERYADAPTERINFO *query)
{
	const DXGK_QUERYPAGETABLELEVELDESCIN *in = query->pInputData;
	DXGK_PAGE_TABLE_LEVEL_DESC *level = query->pOutputData;
	ULONG index = in->LevelIndex;

	level->PageTableIndexBitCount =
		indexed("Level", index, "PageTableIndexBitCount", index == 2 ? 10 : 9);
	level->PageTableSegmentId = indexed("Level", index, "PageTableSegmentId", 3);
	level->PagingProcessPageTableSegmentId =
		indexed("Level", index, "PagingProcessPageTableSegmentId", 3);
	level->PageTableSizeInBytes = indexed("Level", index, "PageTableSizeInBytes", 16384);
	level->PageTableAlignmentInBytes = indexed("Level", index, "PageTableAlignmentInBytes", 0);
	return STATUS_SUCCESS;
}

static NTSTATUS query_physical_caps(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_PHYSICALADAPTERCAPS *caps = query->pOutputData;

	if (!setting("HasPhysicalAdapterCaps", 0))
		return STATUS_NOT_SUPPORTED;
	caps->NumExecutionNodes = (WORD)setting("NumExecutionNodes", 2);
	caps->PagingNodeIndex = (WORD)setting("PagingNodeIndex", 0);
	return STATUS_SUCCESS;
}

static NTSTATUS query_power_count(const DXGKARG_QUERYADAPTERINFO *query)
{
	if (query->OutputDataSize != sizeof(UINT))
		complain("NUMPOWERCOMPONENTS with another size than 4");
	*(UINT *)query->pOutputData = setting("PowerComponents", 1);
	return STATUS_SUCCESS;
}

static NTSTATUS query_power_component(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_POWER_RUNTIME_COMPONENT *component = query->pOutputData;

	component->StateCount = setting("StateCount", 1);
	return STATUS_SUCCESS;
}

static NTSTATUS query_history(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGKARG_HISTORYBUFFERPRECISION *precision = query->pOutputData;

	for (ULONG i = 0; i < query->OutputDataSize / sizeof(*precision); i++)
		precision[i].PrecisionBits = setting("PrecisionBits", 64);
	return STATUS_SUCCESS;
}

static NTSTATUS query_umd_private(const DXGKARG_QUERYADAPTERINFO *query)
{
	UCHAR *bytes = query->pOutputData;

	for (ULONG i = 0; i < query->OutputDataSize; i++)
		bytes[i] = (UCHAR)(bytes[i] + 1);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_adapter_info(const HANDLE context,
					    const DXGKARG_QUERYADAPTERINFO *query)
{
	const char *name = query_name(query->Type);
	NTSTATUS status = step(name);
	char line[64];
	ULONG used = 0;

	adapter_of(context);
	append(line, sizeof(line), &used, "Query:");
	append(line, sizeof(line), &used, name);
	note(line, NULL, 0, NULL, 0);
	if (status != STATUS_SUCCESS)
		return status;
	switch ((int)query->Type) {
	case DXGKQAITYPE_UMDRIVERPRIVATE:
		return query_umd_private(query);
	case DXGKQAITYPE_DRIVERCAPS:
		return query_caps(query);
	case DXGKQAITYPE_QUERYSEGMENT:
		return query_segments_1(query);
	case DXGKQAITYPE_QUERYSEGMENT3:
		return query_segments_3(query);
	case DXGKQAITYPE_QUERYSEGMENT4:
		return query_segments_4(query);
	case DXGKQAITYPE_GPUMMUCAPS:
		return query_gpu_mmu_caps(query);
	case DXGKQAITYPE_PAGETABLELEVELDESC:
		return query_page_table_level(query);
	case DXGKQAITYPE_PHYSICALADAPTERCAPS:
		return query_physical_caps(query);
	case DXGKQAITYPE_NUMPOWERCOMPONENTS:
		return query_power_count(query);
	case DXGKQAITYPE_POWERCOMPONENTINFO:
		return query_power_component(query);
	case DXGKQAITYPE_HISTORYBUFFERPRECISION:
		return query_history(query);
	default:
		return STATUS_NOT_SUPPORTED;
	}
}

static NTSTATUS APIENTRY get_node_metadata(const HANDLE context, UINT node,
					   DXGKARG_GETNODEMETADATA *metadata)
{
	/* Two bytes, three bytes, and a pair of surrogates. */
	static const WCHAR copy_name[] = {
		'C', 'o', 'p', 'y', ' ', 0xE9, 0x20AC, 0xD83D, 0xDE00, 0
	};
	NTSTATUS status = step("GetNodeMetadata");

	adapter_of(context);
	note("GetNodeMetadata", "node", node, NULL, 0);
	if (!NT_SUCCESS(status))
		return status;
	metadata->EngineType =
		(DXGK_ENGINE_TYPE)indexed("Node", node, "EngineType",
					  node == 0 ? DXGK_ENGINE_TYPE_3D : DXGK_ENGINE_TYPE_COPY);
	metadata->GpuMmuSupported = is_gpu_mmu();
	if (node == 1)
		RtlCopyMemory(metadata->FriendlyName, copy_name, sizeof(copy_name));
	return STATUS_SUCCESS;
}

/* ---- processes, devices, contexts ---- */

static NTSTATUS APIENTRY create_process(const PVOID context, DXGKARG_CREATEPROCESS *args)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status = step("CreateProcess");
	struct object *process;

	note("CreateProcess", "flags", args->Flags.Value, "name", args->ProcessNameLength);
	if (!args->hDxgkProcess)
		complain("a process without a kernel handle");
	if (status != STATUS_SUCCESS)
		return status;
	process = object_create(adapter, MAGIC_PROCESS, args->hDxgkProcess);
	if (!process)
		return STATUS_NO_MEMORY;
	InterlockedIncrement(&adapter->processes);
	args->hKmdProcess = process;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_process(const HANDLE context, const HANDLE process)
{
	struct adapter *adapter = object_destroy(process, MAGIC_PROCESS);

	note("DestroyProcess", NULL, 0, NULL, 0);
	if (adapter)
		InterlockedDecrement(&adapter->processes);
	return step("DestroyProcess");
}

static NTSTATUS APIENTRY create_device(const HANDLE context, DXGKARG_CREATEDEVICE *args)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status = step("CreateDevice");
	struct object *device;

	note("CreateDevice", "flags", args->Flags.Value, "process", args->hKmdProcess != NULL);
	if (!args->hDevice)
		complain("a device without a kernel handle");
	if (status != STATUS_SUCCESS)
		return status;
	device = object_create(adapter, MAGIC_DEVICE, args->hDevice);
	if (!device)
		return STATUS_NO_MEMORY;
	InterlockedIncrement(&adapter->devices);
	args->hDevice = device;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_device(const HANDLE device)
{
	struct adapter *adapter = object_destroy(device, MAGIC_DEVICE);

	note("DestroyDevice", NULL, 0, NULL, 0);
	if (adapter)
		InterlockedDecrement(&adapter->devices);
	return step("DestroyDevice");
}

static NTSTATUS APIENTRY create_context(const HANDLE device_handle, DXGKARG_CREATECONTEXT *args)
{
	struct object *device = device_handle;
	NTSTATUS status = step("CreateContext");
	struct object *context;

	note("CreateContext", "node", args->NodeOrdinal, "flags", args->Flags.Value);
	if (!device || device->magic != MAGIC_DEVICE)
		complain("a device that is not the driver's");
	if (!args->hContext)
		complain("a context without a kernel handle");
	if (status != STATUS_SUCCESS)
		return status;
	context = object_create(device->adapter, MAGIC_CONTEXT, args->hContext);
	if (!context)
		return STATUS_NO_MEMORY;
	InterlockedIncrement(&device->adapter->contexts);
	args->hContext = context;
	args->ContextInfo.DmaBufferSize = setting("DmaBufferSize", 8192);
	args->ContextInfo.DmaBufferSegmentSet = setting("DmaBufferSegmentSet", 0);
	args->ContextInfo.DmaBufferPrivateDataSize = setting("DmaBufferPrivateDataSize", 32);
	args->ContextInfo.AllocationListSize = setting("AllocationListSize", 64);
	args->ContextInfo.PatchLocationListSize = setting("PatchLocationListSize", 128);
	args->ContextInfo.Caps.Value = setting("ContextCaps", 0);
	args->ContextInfo.PagingCompanionNodeId = setting("PagingCompanionNodeId", 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_context(const HANDLE context)
{
	struct adapter *adapter = object_destroy(context, MAGIC_CONTEXT);

	note("DestroyContext", NULL, 0, NULL, 0);
	if (adapter)
		InterlockedDecrement(&adapter->contexts);
	return step("DestroyContext");
}

/* ---- what a test asks for ---- */

struct interrupt {
	struct adapter *adapter;
	const struct recorder_escape *escape;
	NTSTATUS inner_status;
	DXGKCB_SYNCHRONIZE_EXECUTION synchronize;
};

static BOOLEAN NTAPI report_interrupt(PVOID context)
{
	struct interrupt *interrupt = context;
	const struct recorder_escape *escape = interrupt->escape;
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

	RtlZeroMemory(&data, sizeof(data));
	data.InterruptType = (DXGK_INTERRUPT_TYPE)escape->type;
	switch (escape->type) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		data.DmaCompleted.NodeOrdinal = escape->node;
		data.DmaCompleted.SubmissionFenceId = escape->fence;
		break;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		data.DmaPreempted.NodeOrdinal = escape->node;
		data.DmaPreempted.PreemptionFenceId = escape->fence;
		data.DmaPreempted.LastCompletedFenceId = escape->last;
		break;
	case DXGK_INTERRUPT_DMA_FAULTED:
		data.DmaFaulted.NodeOrdinal = escape->node;
		data.DmaFaulted.FaultedFenceId = escape->fence;
		break;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
		data.DmaPageFaulted.NodeOrdinal = escape->node;
		data.DmaPageFaulted.FaultedFenceId = escape->fence;
		break;
	default:
		break;
	}
	note("interrupt", "fence", escape->fence, NULL, 0);
	interrupt->adapter->interface.DxgkCbNotifyInterrupt(
		interrupt->adapter->interface.DeviceHandle, &data);
	if (escape->command == RECORDER_INTERRUPT)
		interrupt->adapter->interface.DxgkCbQueueDpc(
			interrupt->adapter->interface.DeviceHandle);
	return TRUE;
}

static BOOLEAN NTAPI synchronize_again(PVOID context)
{
	struct interrupt *interrupt = context;
	BOOLEAN result = FALSE;

	interrupt->inner_status = interrupt->adapter->interface.DxgkCbSynchronizeExecution(
		interrupt->adapter->interface.DeviceHandle, report_interrupt, interrupt, 0,
		&result);
	return FALSE;
}

static NTSTATUS do_memory(struct adapter *adapter, struct recorder_escape *escape)
{
	DXGKRNL_INTERFACE *os = &adapter->interface;
	DXGKARGCB_ALLOCATECONTIGUOUSMEMORY contiguous;
	DXGKARGCB_ALLOCATEPAGESFORMDL pages;
	PVOID pointer = NULL;
	NTSTATUS status;

	RtlZeroMemory(&contiguous, sizeof(contiguous));
	contiguous.NumberOfBytes = 8192;
	contiguous.HighestAcceptableAddress.QuadPart = -1;
	contiguous.CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED;
	status = os->DxgkCbAllocateContiguousMemory(os->DeviceHandle, &contiguous);
	if (!NT_SUCCESS(status))
		return status;
	if (escape->command != RECORDER_CONTIGUOUS) {
		status = os->DxgkCbMapMemory(os->DeviceHandle,
					     MmGetPhysicalAddress(contiguous.pMemory), 8192, FALSE,
					     FALSE, MmCached, &pointer);
		if (NT_SUCCESS(status)) {
			*(ULONG *)contiguous.pMemory = 0x12345678;
			escape->result = *(ULONG *)pointer;
		}
		if (NT_SUCCESS(status) && escape->command == RECORDER_MAP_AND_UNMAP)
			status = os->DxgkCbUnmapMemory(os->DeviceHandle, pointer);
	} else {
		RtlZeroMemory(&pages, sizeof(pages));
		pages.HighAddress.QuadPart = -1;
		pages.TotalBytes = 3 * 4096;
		pages.CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED;
		status = os->DxgkCbAllocatePagesForMdl(os->DeviceHandle, &pages);
		if (NT_SUCCESS(status)) {
			DXGKARGCB_FREEPAGESFROMMDL free_pages = { pages.hMemoryHandle };

			escape->result = MmGetMdlByteCount(pages.pMdl);
			os->DxgkCbFreePagesFromMdl(os->DeviceHandle, &free_pages);
		}
	}
	DXGKARGCB_FREECONTIGUOUSMEMORY free_contiguous = { contiguous.hMemoryHandle };

	os->DxgkCbFreeContiguousMemory(os->DeviceHandle, &free_contiguous);
	return status;
}

static NTSTATUS do_information(struct adapter *adapter, struct recorder_escape *escape)
{
	DXGK_DEVICE_INFO info;
	NTSTATUS status = adapter->interface.DxgkCbGetDeviceInformation(
		adapter->interface.DeviceHandle, &info);

	escape->result = NT_SUCCESS(status) && info.MiniportDeviceContext == adapter &&
			 info.PhysicalDeviceObject == adapter->device_object &&
			 RtlEqualUnicodeString(&info.DeviceRegistryPath, &registry_path, TRUE) &&
			 info.TranslatedResourceList && info.TranslatedResourceList->Count == 0 &&
			 info.SystemMemorySize.QuadPart > 0;
	return status;
}

/* A little while inside, noticing who else is. */
static void be_slow(struct adapter *adapter, struct recorder_escape *escape)
{
	LONG inside = InterlockedIncrement(&adapter->inside);
	LARGE_INTEGER interval;

	for (;;) {
		LONG most = adapter->most_inside;

		if (inside <= most ||
		    InterlockedCompareExchange(&adapter->most_inside, inside, most) == most)
			break;
	}
	interval.QuadPart = -10000; /* a millisecond */
	KeDelayExecutionThread(KernelMode, FALSE, &interval);
	escape->result = (unsigned)adapter->most_inside;
	InterlockedDecrement(&adapter->inside);
}

static NTSTATUS APIENTRY escape_routine(const HANDLE context, const DXGKARG_ESCAPE *args)
{
	struct adapter *adapter = adapter_of(context);
	DXGKRNL_INTERFACE *os = &adapter->interface;
	struct recorder_escape *escape = args->pPrivateDriverData;
	struct interrupt interrupt = { adapter, escape, STATUS_SUCCESS, NULL };
	DXGK_DEVICE_INFO info;
	BOOLEAN result = FALSE;
	KIRQL irql;
	NTSTATUS status = step("Escape");

	if (status != STATUS_SUCCESS)
		return status;
	if (args->PrivateDriverDataSize < sizeof(*escape))
		return STATUS_BUFFER_TOO_SMALL;
	switch (escape->command) {
	case RECORDER_NOTHING:
		note("Escape", "device", args->hDevice != NULL, "context", args->hContext != NULL);
		return STATUS_SUCCESS;
	case RECORDER_INTERRUPT:
	case RECORDER_INTERRUPT_NO_DPC:
		status = os->DxgkCbSynchronizeExecution(os->DeviceHandle, report_interrupt,
							&interrupt, 0, &result);
		escape->result = result;
		return status;
	case RECORDER_NOTIFY_AT_PASSIVE:
		report_interrupt(&interrupt);
		return STATUS_SUCCESS;
	case RECORDER_NULL_HANDLE:
		return os->DxgkCbGetDeviceInformation(NULL, &info);
	case RECORDER_WRONG_HANDLE:
		return os->DxgkCbGetDeviceInformation(&info, &info);
	case RECORDER_CONTEXT_AS_HANDLE:
		return os->DxgkCbGetDeviceInformation(adapter, &info);
	case RECORDER_UNBUILT:
		return os->DxgkCbQueryServices(os->DeviceHandle, DxgkServicesAgp, NULL);
	case RECORDER_RETURN_RAISED:
		KeRaiseIrql(DISPATCH_LEVEL, &irql);
		return STATUS_SUCCESS;
	case RECORDER_MAP_AND_FORGET:
	case RECORDER_MAP_AND_UNMAP:
	case RECORDER_CONTIGUOUS:
		return do_memory(adapter, escape);
	case RECORDER_ACPI: {
		ACPI_EVAL_INPUT_BUFFER_COMPLEX input = { 0 };
		ACPI_EVAL_OUTPUT_BUFFER output = { 0 };

		status = os->DxgkCbEvalAcpiMethod(os->DeviceHandle, DISPLAY_ADAPTER_HW_ID, &input,
						  sizeof(input), &output, sizeof(output));
		escape->result = output.Length;
		return status;
	}
	case RECORDER_RETURN_PENDING:
		return STATUS_PENDING;
	case RECORDER_INFORMATION:
		return do_information(adapter, escape);
	case RECORDER_SYNCHRONIZE_TWICE:
		status = os->DxgkCbSynchronizeExecution(os->DeviceHandle, synchronize_again,
							&interrupt, 0, &result);
		escape->result = (unsigned)interrupt.inner_status;
		return status;
	case RECORDER_SLOW:
		be_slow(adapter, escape);
		return STATUS_SUCCESS;
	default:
		return STATUS_INVALID_PARAMETER;
	}
}

/* ---- entry points that no call reaches yet: recorded, and refused ---- */

static NTSTATUS APIENTRY create_allocation(const HANDLE context, DXGKARG_CREATEALLOCATION *args)
{
	note("CreateAllocation", NULL, 0, NULL, 0);
	return STATUS_NOT_SUPPORTED;
}

static NTSTATUS APIENTRY destroy_allocation(const HANDLE context,
					    const DXGKARG_DESTROYALLOCATION *args)
{
	note("DestroyAllocation", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY open_allocation(const HANDLE device, const DXGKARG_OPENALLOCATION *args)
{
	note("OpenAllocation", NULL, 0, NULL, 0);
	return STATUS_NOT_SUPPORTED;
}

static NTSTATUS APIENTRY close_allocation(const HANDLE device, const DXGKARG_CLOSEALLOCATION *args)
{
	note("CloseAllocation", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY build_paging_buffer(const HANDLE context, DXGKARG_BUILDPAGINGBUFFER *args)
{
	note("BuildPagingBuffer", NULL, 0, NULL, 0);
	return STATUS_NOT_SUPPORTED;
}

static NTSTATUS APIENTRY patch(const HANDLE context, const DXGKARG_PATCH *args)
{
	note("Patch", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY submit_command(const HANDLE context, const DXGKARG_SUBMITCOMMAND *args)
{
	note("SubmitCommand", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY submit_command_virtual(const HANDLE context,
						const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
	note("SubmitCommandVirtual", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY preempt_command(const HANDLE context, const DXGKARG_PREEMPTCOMMAND *args)
{
	note("PreemptCommand", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY cancel_command(const HANDLE context, const DXGKARG_CANCELCOMMAND *args)
{
	note("CancelCommand", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY render(const HANDLE context, DXGKARG_RENDER *args)
{
	note("Render", NULL, 0, NULL, 0);
	return STATUS_NOT_SUPPORTED;
}

static NTSTATUS APIENTRY query_dependent_engine_group(const HANDLE context,
						      DXGKARG_QUERYDEPENDENTENGINEGROUP *args)
{
	note("QueryDependentEngineGroup", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_engine_status(const HANDLE context, DXGKARG_QUERYENGINESTATUS *args)
{
	note("QueryEngineStatus", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY reset_engine(const HANDLE context, DXGKARG_RESETENGINE *args)
{
	note("ResetEngine", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY reset_from_timeout(const HANDLE context)
{
	note("ResetFromTimeout", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY restart_from_timeout(const HANDLE context)
{
	note("RestartFromTimeout", NULL, 0, NULL, 0);
	return STATUS_SUCCESS;
}

static VOID APIENTRY set_root_page_table(const HANDLE context, const DXGKARG_SETROOTPAGETABLE *args)
{
	note("SetRootPageTable", NULL, 0, NULL, 0);
}

static SIZE_T APIENTRY get_root_page_table_size(const HANDLE context,
						DXGKARG_GETROOTPAGETABLESIZE *args)
{
	note("GetRootPageTableSize", NULL, 0, NULL, 0);
	return 16384;
}

/* ---- load ---- */

static void leave_out(DRIVER_INITIALIZATION_DATA *data)
{
#define LEAVE_OUT(name)                                                                            \
	if (setting_is("Missing", #name))                                                          \
	data->DxgkDdi##name = NULL
	LEAVE_OUT(AddDevice);
	LEAVE_OUT(StartDevice);
	LEAVE_OUT(StopDevice);
	LEAVE_OUT(RemoveDevice);
	LEAVE_OUT(DpcRoutine);
	LEAVE_OUT(Unload);
	LEAVE_OUT(QueryAdapterInfo);
	LEAVE_OUT(CreateDevice);
	LEAVE_OUT(DestroyDevice);
	LEAVE_OUT(CreateContext);
	LEAVE_OUT(DestroyContext);
	LEAVE_OUT(CreateAllocation);
	LEAVE_OUT(DestroyAllocation);
	LEAVE_OUT(OpenAllocation);
	LEAVE_OUT(CloseAllocation);
	LEAVE_OUT(BuildPagingBuffer);
	LEAVE_OUT(Patch);
	LEAVE_OUT(Render);
	LEAVE_OUT(SubmitCommand);
	LEAVE_OUT(SubmitCommandVirtual);
	LEAVE_OUT(SetRootPageTable);
	LEAVE_OUT(GetRootPageTableSize);
	LEAVE_OUT(PreemptCommand);
	LEAVE_OUT(CancelCommand);
	LEAVE_OUT(ResetEngine);
	LEAVE_OUT(QueryEngineStatus);
	LEAVE_OUT(QueryDependentEngineGroup);
	LEAVE_OUT(CreateProcess);
	LEAVE_OUT(DestroyProcess);
	LEAVE_OUT(GetNodeMetadata);
	LEAVE_OUT(Escape);
#undef LEAVE_OUT
}

static void fill_in(DRIVER_INITIALIZATION_DATA *data)
{
	RtlZeroMemory(data, sizeof(*data));
	data->Version = version();
	data->DxgkDdiAddDevice = add_device;
	data->DxgkDdiStartDevice = start_device;
	data->DxgkDdiStopDevice = stop_device;
	data->DxgkDdiRemoveDevice = remove_device;
	data->DxgkDdiInterruptRoutine = interrupt_routine;
	data->DxgkDdiDpcRoutine = dpc_routine;
	data->DxgkDdiUnload = unload;
	data->DxgkDdiQueryAdapterInfo = query_adapter_info;
	data->DxgkDdiCreateDevice = create_device;
	data->DxgkDdiDestroyDevice = destroy_device;
	data->DxgkDdiCreateContext = create_context;
	data->DxgkDdiDestroyContext = destroy_context;
	data->DxgkDdiEscape = escape_routine;
	data->DxgkDdiCreateAllocation = create_allocation;
	data->DxgkDdiDestroyAllocation = destroy_allocation;
	data->DxgkDdiOpenAllocation = open_allocation;
	data->DxgkDdiCloseAllocation = close_allocation;
	data->DxgkDdiBuildPagingBuffer = build_paging_buffer;
	data->DxgkDdiPatch = patch;
	data->DxgkDdiRender = render;
	data->DxgkDdiSubmitCommand = submit_command;
	data->DxgkDdiPreemptCommand = preempt_command;
	data->DxgkDdiCancelCommand = cancel_command;
	data->DxgkDdiQueryDependentEngineGroup = query_dependent_engine_group;
	data->DxgkDdiQueryEngineStatus = query_engine_status;
	data->DxgkDdiResetEngine = reset_engine;
	data->DxgkDdiResetFromTimeout = reset_from_timeout;
	data->DxgkDdiRestartFromTimeout = restart_from_timeout;
	/* Also where the version does not reach: the host must not look there. */
	data->DxgkDdiGetNodeMetadata = get_node_metadata;
	data->DxgkDdiCreateProcess = create_process;
	data->DxgkDdiDestroyProcess = destroy_process;
	if (is_gpu_mmu()) {
		data->DxgkDdiSubmitCommandVirtual = submit_command_virtual;
		data->DxgkDdiSetRootPageTable = set_root_page_table;
		data->DxgkDdiGetRootPageTableSize = get_root_page_table_size;
	}
	leave_out(data);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT driver_object, PUNICODE_STRING path);

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT driver_object, PUNICODE_STRING path)
{
	DRIVER_INITIALIZATION_DATA data;
	KMDDOD_INITIALIZATION_DATA display_only;
	DRIVER_OBJECT other;
	NTSTATUS status;

	registry_path.Buffer = registry_path_buffer;
	registry_path.MaximumLength = sizeof(registry_path_buffer);
	RtlCopyUnicodeString(&registry_path, path);
	note("DriverEntry", NULL, 0, NULL, 0);

	status = step("DriverEntry");
	if (!NT_SUCCESS(status))
		return status;
	if (setting_is("Initialize", "never"))
		return STATUS_SUCCESS;
	if (setting_is("Initialize", "displayonly")) {
		RtlZeroMemory(&display_only, sizeof(display_only));
		return DxgkInitializeDisplayOnlyDriver(driver_object, path, &display_only);
	}
	fill_in(&data);
	if (setting_is("Initialize", "other object"))
		return DxgkInitialize(&other, path, &data);
	if (setting_is("Initialize", "null"))
		return DxgkInitialize(driver_object, path, NULL);
	status = DxgkInitialize(driver_object, path, &data);
	if (setting_is("Initialize", "twice"))
		status = DxgkInitialize(driver_object, path, &data);
	if (setting_is("Initialize", "undone") && NT_SUCCESS(status)) {
		DxgkUnInitialize(driver_object);
		return STATUS_NO_MEMORY;
	}
	if (setting_is("Initialize", "ignored"))
		return STATUS_SUCCESS;
	return status;
}
