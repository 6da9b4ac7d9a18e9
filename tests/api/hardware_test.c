/* SPDX-License-Identifier: MIT */
/*
 * hardware_test.c - an adapter whose profile gives it a device: whoever asks, by whichever way, is
 * told the same. The driver (recorder) looks at configuration space, ids and registry; clients ask
 * D3DKMT and DXCore.
 */
#include "api/recorder.h"

#include <stdint.h>
#include <wchar.h>

#include "drivers/recorder/recorder.h"
#include "thunk/dxcore.h"

static const GUID iid_factory = {
	0x78ee5945, 0xc36e, 0x4b13, { 0xa6, 0x69, 0x00, 0x5d, 0xd1, 0x1c, 0x0f, 0x06 }
};
static const GUID iid_adapter = {
	0xf0db4c7f, 0xfe5a, 0x42a2, { 0xbd, 0x62, 0xf2, 0xa6, 0xcf, 0x6f, 0xc8, 0x3e }
};

#define DEVICE                                                                                     \
	"\"name\": \"Test Device\", \"driverVersion\": \"31.0.101.2111\","                         \
	"\"pci\": {\"vendor\": \"0x1af4\", \"device\": \"0x1050\", \"subsystemVendor\": "          \
	"\"0x103c\", \"subsystem\": \"0x8a5b\", \"revision\": \"0xa1\", \"bus\": 3, \"slot\": 2, " \
	"\"function\": 1}, \"resources\": [{\"memory\": 65536}, {\"interruptLine\": 11}],"         \
	"\"registry\": {\"HardwareInformation.ChipType\": \"Chip\", "                              \
	"\"HardwareInformation.DacType\": \"Dac\", "                                               \
	"\"UserModeDriverName\": [\"u9.so\", \"u10.so\", \"u11.so\", \"u12.so\"], "                \
	"\"OpenGLDriverName\": \"gl.so\", \"OpenGLVersion\": 3, \"OpenGLFlags\": 1, "              \
	"\"Many\": [\"one\", \"three\"], \"Bytes\": [1, 2, 255]}"

/* A profile with one adapter of the recorder. */
static const char *device_profile(const char *members)
{
	static char profile[8192];

	snprintf(profile, sizeof(profile), "{\"adapters\": [{\"driver\": \"%s\", %s}]}",
		 getenv("TEST_RECORDER"), members);
	return profile_setting(profile);
}

static struct recorder_device *ask(D3DKMT_HANDLE adapter, enum recorder_command what,
				   struct recorder_device question)
{
	static struct recorder_device answer;
	D3DKMT_ESCAPE escape = { .hAdapter = adapter,
				 .Type = D3DKMT_ESCAPE_DRIVERPRIVATE,
				 .pPrivateDriverData = &answer,
				 .PrivateDriverDataSize = sizeof(answer) };

	answer = question;
	answer.escape.command = what;
	CHILD_EXPECT(D3DKMTEscape(&escape) == STATUS_SUCCESS);
	return &answer;
}

/* ---- one story ---- */

static void compare_with_driver(D3DKMT_HANDLE adapter, const D3DKMT_DEVICE_IDS *ids)
{
	char id[128];
	const unsigned char *space =
		ask(adapter, RECORDER_READ_SPACE, (struct recorder_device){ .length = 64 })->data;

	CHILD_EXPECT((unsigned)(space[0] | space[1] << 8) == ids->VendorID);
	CHILD_EXPECT((unsigned)(space[2] | space[3] << 8) == ids->DeviceID);
	CHILD_EXPECT(space[8] == ids->RevisionID);
	CHILD_EXPECT((unsigned)(space[0x2c] | space[0x2d] << 8) == ids->SubVendorID);
	CHILD_EXPECT((unsigned)(space[0x2e] | space[0x2f] << 8) == ids->SubSystemID);
	snprintf(id, sizeof(id), "PCI\\VEN_%04X&DEV_%04X&SUBSYS_%04X%04X&REV_%02X\n", ids->VendorID,
		 ids->DeviceID, ids->SubSystemID, ids->SubVendorID, ids->RevisionID);
	const char *names =
		ask(adapter, RECORDER_PROPERTY, (struct recorder_device){ .escape.type = 1 })->text;
	CHILD_EXPECT(strncmp(names, id, strlen(id)) == 0);
}

static void compare_with_dxcore(LUID luid, const D3DKMT_DEVICE_IDS *ids)
{
	struct dxcore_hardware_id_parts parts = { 0 };
	struct dxcore_hardware_id id = { 0 };
	struct dxcore_factory_table **factory = NULL;
	struct dxcore_adapter_table **adapter = NULL;
	char name[64] = { 0 };

	CHILD_EXPECT(DXCoreCreateAdapterFactory(&iid_factory, (void **)&factory) == S_OK);
	CHILD_EXPECT((*factory)->get_adapter_by_luid((struct dxcore_factory *)factory, &luid,
						     &iid_adapter, (void **)&adapter) == S_OK);
	struct dxcore_adapter *self = (struct dxcore_adapter *)adapter;
	CHILD_EXPECT((*adapter)->get_property(self, PROPERTY_HARDWARE_ID_PARTS, sizeof(parts),
					      &parts) == S_OK);
	CHILD_EXPECT((*adapter)->get_property(self, PROPERTY_HARDWARE_ID, sizeof(id), &id) == S_OK);
	CHILD_EXPECT((*adapter)->get_property(self, PROPERTY_DRIVER_DESCRIPTION, sizeof(name),
					      name) == S_OK);
	CHILD_EXPECT(parts.vendor == ids->VendorID && parts.device == ids->DeviceID);
	CHILD_EXPECT(parts.subvendor == ids->SubVendorID && parts.subsystem == ids->SubSystemID);
	CHILD_EXPECT(parts.revision == ids->RevisionID);
	CHILD_EXPECT(id.vendor == ids->VendorID && id.device == ids->DeviceID);
	CHILD_EXPECT(id.subsystem == (ids->SubSystemID << 16 | ids->SubVendorID));
	CHILD_EXPECT(strcmp(name, "Test Device") == 0);
	if ((*adapter)->is_property_supported(self, PROPERTY_DRIVER_VERSION)) {
		uint64_t version = 0;
		CHILD_EXPECT((*adapter)->get_property(self, PROPERTY_DRIVER_VERSION,
						      sizeof(version), &version) == S_OK);
		CHILD_EXPECT(version == UINT64_C(0x001f00000065083f));
	}
}

CHILD(one_story)
{
	D3DKMT_ADAPTERINFO adapter = first_adapter();
	D3DKMT_QUERY_DEVICE_IDS ids = { 0 };
	D3DKMT_ADAPTERADDRESS address = { 0 };

	CHILD_EXPECT(query_adapter(adapter.hAdapter, KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids,
				   sizeof(ids)) == STATUS_SUCCESS);
	CHILD_EXPECT(ids.DeviceIds.VendorID == 0x1af4 && ids.DeviceIds.DeviceID == 0x1050);
	CHILD_EXPECT(ids.DeviceIds.SubVendorID == 0x103c && ids.DeviceIds.SubSystemID == 0x8a5b);
	CHILD_EXPECT(ids.DeviceIds.RevisionID == 0xa1 && ids.DeviceIds.BusType == 5);
	CHILD_EXPECT(query_adapter(adapter.hAdapter, KMTQAITYPE_ADAPTERADDRESS, &address,
				   sizeof(address)) == STATUS_SUCCESS);
	CHILD_EXPECT(address.BusNumber == 3 && address.DeviceNumber == 2 &&
		     address.FunctionNumber == 1);
	compare_with_driver(adapter.hAdapter, &ids.DeviceIds);
	compare_with_dxcore(adapter.AdapterLuid, &ids.DeviceIds);
	return 0;
}

TEST(hardware, clients_the_driver_and_dxcore_are_told_the_same_numbers)
{
	EXPECT_CHILD(run_child("one_story", device_profile(DEVICE)), 0);
}

/* ---- versions and names ---- */

CHILD(versions)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_UMD_DRIVER_VERSION umd = { 0 };
	D3DKMT_KMD_DRIVER_VERSION kmd = { 0 };

	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_UMD_DRIVER_VERSION, &umd, sizeof(umd)) ==
		     STATUS_SUCCESS);
	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_KMD_DRIVER_VERSION, &kmd, sizeof(kmd)) ==
		     STATUS_SUCCESS);
	CHILD_EXPECT(umd.DriverVersion.QuadPart == kmd.DriverVersion.QuadPart);
	printf("%016llx %ls\n", (unsigned long long)kmd.DriverVersion.QuadPart,
	       registry_text(adapter, L"DriverVersion", NULL));
	return 0;
}

static void expect_said(const char *members, const char *said)
{
	const struct child_result *child = run_child("versions", device_profile(members));

	EXPECT_CHILD(child, 0);
	EXPECT_CONTAINS(child->out, said);
}

TEST(hardware, the_driver_version_is_the_profiles_or_ours)
{
	expect_said(DEVICE, "001f00000065083f 31.0.101.2111\n");
	expect_said("\"name\": \"x\"", "0000000300000000 0.3.0.0\n");
}

CHILD(names)
{
	static const wchar_t *const umds[] = { L"u9.so", L"u10.so", L"u11.so", L"u12.so" };
	static D3DKMT_ADAPTERREGISTRYINFO info;
	static D3DKMT_UMDFILENAMEINFO umd;
	static D3DKMT_OPENGLINFO opengl;
	D3DKMT_HANDLE adapter = open_first_adapter();
	size_t bytes;

	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_ADAPTERREGISTRYINFO, &info, sizeof(info)) ==
		     STATUS_SUCCESS);
	CHILD_EXPECT(wcscmp(info.AdapterString, L"Test Device") == 0);
	CHILD_EXPECT(wcscmp(info.ChipType, L"Chip") == 0);
	CHILD_EXPECT(wcscmp(info.DacType, L"Dac") == 0 && info.BiosString[0] == 0);
	for (unsigned i = 0; i < 4; i++) {
		umd.Version = (KMTUMDVERSION)i;
		CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_UMDRIVERNAME, &umd, sizeof(umd)) ==
			     STATUS_SUCCESS);
		CHILD_EXPECT(wcscmp(umd.UmdFileName, umds[i]) == 0);
	}
	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_UMOPENGLINFO, &opengl, sizeof(opengl)) ==
		     STATUS_SUCCESS);
	CHILD_EXPECT(wcscmp(opengl.UmdOpenGlIcdFileName, L"gl.so") == 0);
	CHILD_EXPECT(opengl.Version == 3 && opengl.Flags == 1);
	const wchar_t *many = registry_text(adapter, L"Many", &bytes);
	CHILD_EXPECT(many && bytes == 11 * sizeof(wchar_t));
	CHILD_EXPECT(wmemcmp(many, L"one\0three\0", 11) == 0);
	const unsigned char *three = (const void *)registry_text(adapter, L"Bytes", &bytes);
	CHILD_EXPECT(three && bytes == 3 && three[0] == 1 && three[2] == 255);
	return 0;
}

TEST(hardware, names_come_from_the_registry_where_windows_keeps_them)
{
	EXPECT_CHILD(run_child("names", device_profile(DEVICE)), 0);
}

/* ---- the level ---- */

CHILD(print_level)
{
	D3DKMT_DRIVERVERSION version = 0;

	CHILD_EXPECT(query_adapter(open_first_adapter(), KMTQAITYPE_DRIVERVERSION, &version,
				   sizeof(version)) == STATUS_SUCCESS);
	printf("WDDM %u\n", (unsigned)version);
	return 0;
}

TEST(hardware, a_driver_is_of_no_newer_wddm_than_the_profile_says)
{
	static const struct text_case cases[] = {
		{ "\"wddm\": \"2.0\"", "WDDM 2000\n" },
		{ "\"wddm\": \"2.5\"", "WDDM 2500\n" },
		{ "\"wddm\": \"3.1\"", "WDDM 2600\n" },
		{ "\"name\": \"x\"", "WDDM 2600\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct child_result *child =
			run_child("print_level", device_profile(cases[i].given));
		EXPECT_CHILD(child, 0);
		EXPECT_CONTAINS(child->out, cases[i].said);
	}
}

TEST(hardware, the_software_gpu_works_at_the_oldest_level)
{
	const struct child_result *child = run_child(
		"print_level",
		profile_setting("{\"adapters\": [{\"driver\": \"soft\", \"wddm\": \"2.0\"}]}"));

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "WDDM 2000\n");
	EXPECT_STR(child->err, "");
}

/* ---- the example ---- */

CHILD(example)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_QUERY_DEVICE_IDS ids = { 0 };
	static D3DKMT_UMDFILENAMEINFO umd = { .Version = KMTUMDVERSION_DX12 };

	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids,
				   sizeof(ids)) == STATUS_SUCCESS);
	CHILD_EXPECT(query_adapter(adapter, KMTQAITYPE_UMDRIVERNAME, &umd, sizeof(umd)) ==
		     STATUS_SUCCESS);
	printf("%04x:%04x %ls\n", ids.DeviceIds.VendorID, ids.DeviceIds.DeviceID, umd.UmdFileName);
	return 0;
}

TEST(hardware, the_example_is_a_profile)
{
	char setting[4096];

	snprintf(setting, sizeof(setting), "DXGK_PROFILE=%s/pci_device.json",
		 getenv("TEST_EXAMPLES"));
	const struct child_result *child = run_child("example", setting);
	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "1af4:1050 umd12.so\n");
	EXPECT_STR(child->err, "");
}

API_TEST_MAIN("api/hardware")
