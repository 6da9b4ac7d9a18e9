/* SPDX-License-Identifier: MIT */
/*
 * image_test.c - files that are drivers, and files that are not.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"
#include "miniport/image.h"

static char folder[] = "/tmp/opendxgk-image-XXXXXX";

static const char *write_file(const char *name, const void *data, size_t size_bytes)
{
	static char path[256];
	int file;

	if (strstr(folder, "XXXXXX"))
		EXPECT(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0700);
	EXPECT(file >= 0);
	EXPECT_EQ(write(file, data, size_bytes), size_bytes);
	close(file);
	return path;
}

static void remove_file(const char *path)
{
	unlink(path);
	rmdir(folder);
	strcpy(folder, "/tmp/opendxgk-image-XXXXXX");
}

static size_t read_recorder(char **data_out)
{
	struct stat info;
	int file = open(RECORDER_PATH, O_RDONLY);

	EXPECT(file >= 0 && fstat(file, &info) == 0);
	*data_out = malloc((size_t)info.st_size);
	EXPECT_EQ(read(file, *data_out, (size_t)info.st_size), info.st_size);
	close(file);
	return (size_t)info.st_size;
}

#define EXPECT_NO_DRIVER(host, path, expected_status, expected_rule, words)                        \
	do {                                                                                       \
		EXPECT_EQ(host_start_file(host, path), expected_status);                           \
		EXPECT_STR((host)->refusal.rule, expected_rule);                                   \
		EXPECT_CONTAINS((host)->refusal.reason, words);                                    \
		EXPECT_STR((host)->notes, "");                                                     \
	} while (0)

HOST_TEST(image, what_is_not_there_is_not_found)
{
	EXPECT_NO_DRIVER(host, "/nowhere/driver.so", STATUS_OBJECT_NAME_NOT_FOUND, "DDI-IMAGE-FIND",
			 "No such file");
	EXPECT_NO_DRIVER(host, "surely-no-such-driver", STATUS_OBJECT_NAME_NOT_FOUND,
			 "DDI-IMAGE-FIND", "surely-no-such-driver.so");
	EXPECT_NO_DRIVER(host, "drivers/recorder.so", STATUS_OBJECT_NAME_INVALID, "DDI-IMAGE-FIND",
			 "neither a name nor an absolute path");
	EXPECT_NO_DRIVER(host, "", STATUS_INVALID_PARAMETER, "DDI-IMAGE-FIND", "is empty");
}

HOST_TEST(image, what_is_no_library_is_no_driver)
{
	const char *path;

	EXPECT_NO_DRIVER(host, "/tmp", STATUS_INVALID_IMAGE_FORMAT, "DDI-IMAGE", "a directory");
	EXPECT_NO_DRIVER(host, "/dev/null", STATUS_INVALID_IMAGE_FORMAT, "DDI-IMAGE",
			 "not a regular file");
	path = write_file("empty.so", "", 0);
	EXPECT_NO_DRIVER(host, path, STATUS_INVALID_IMAGE_FORMAT, "DDI-IMAGE", "empty file");
	remove_file(path);
	path = write_file("text.so", "This is a text.\n", 16);
	EXPECT_NO_DRIVER(host, path, STATUS_INVALID_IMAGE_FORMAT, "DDI-IMAGE", "not an ELF file");
	remove_file(path);
	path = write_file("magic.so", "\177ELF", 4);
	EXPECT_NO_DRIVER(host, path, STATUS_INVALID_IMAGE_FORMAT, "DDI-IMAGE", "not an ELF file");
	remove_file(path);
}

/* Where the loader found it. */
static const char *library_path(const char *name)
{
	struct link_map *map = NULL;
	void *library = dlopen(name, RTLD_NOW);

	EXPECT(library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	return map->l_name;
}

HOST_TEST(image, libraries_that_are_no_drivers_are_not_even_loaded)
{
	EXPECT_NO_DRIVER(host, library_path("libm.so.6"), STATUS_DRIVER_ENTRYPOINT_NOT_FOUND,
			 "DDI-IMAGE", "exports no DriverEntry");
	EXPECT_NO_DRIVER(host, library_path("libc.so.6"), STATUS_DRIVER_ENTRYPOINT_NOT_FOUND,
			 "DDI-IMAGE", "exports no DriverEntry");
}

HOST_TEST(image, a_driver_that_needs_more_than_windows_gives_is_not_loaded)
{
	EXPECT_NO_DRIVER(host, NEEDY_PATH, STATUS_DRIVER_UNABLE_TO_LOAD, "DDI-IMAGE",
			 "a_routine_that_windows_does_not_have");
}

/* A file cut off anywhere is refused or, where nothing that matters is cut, loaded by dlopen's own
 * judgement; the process lives. */
TEST(image, a_driver_cut_off_anywhere_is_refused)
{
	struct host host;
	char *data;
	size_t size = read_recorder(&data);

	for (size_t part = 1; part < 40; part++) {
		const char *path = write_file("cut.so", data, size * part / 40);

		host_init(&host);
		EXPECT(host_start_file(&host, path) < 0);
		EXPECT_STR(host.refusal.rule, "DDI-IMAGE");
		remove_file(path);
		host_finish(&host);
	}
	free(data);
}

TEST(image, damaged_headers_are_survived)
{
	struct host host;
	char *data;
	size_t size = read_recorder(&data);

	/* Everything in the ELF header that points somewhere: e_shoff, e_shentsize, e_shnum. */
	static const size_t places[] = { 0x28, 0x2C, 0x2F, 0x3A, 0x3C };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char before = data[places[i]];
		const char *path;

		data[places[i]] = (char)(before ^ 0x7F);
		path = write_file("damaged.so", data, size);
		host_init(&host);
		EXPECT(host_start_file(&host, path) < 0);
		remove_file(path);
		host_finish(&host);
		data[places[i]] = before;
	}
	free(data);
}

TEST(image, a_name_is_looked_up_in_the_driver_path)
{
	struct host host;
	char *data;
	size_t size = read_recorder(&data);
	const char *path = write_file("found.so", data, size);
	char search_path[300];

	host_init(&host);
	snprintf(search_path, sizeof(search_path), "/nowhere::%s:/tmp", folder);
	setenv("DXGK_DRIVER_PATH", search_path, 1);
	EXPECT_EQ(host_start_file(&host, "found"), STATUS_SUCCESS);
	EXPECT_STR(miniport_info(host.miniport)->driver_path, path);
	EXPECT_STR(miniport_info(host.miniport)->description, "found");
	unsetenv("DXGK_DRIVER_PATH");
	host_finish(&host);
	remove_file(path);
	free(data);
}

TEST(image, any_path_that_opens_will_do)
{
	struct host host;
	char *data;
	size_t size = read_recorder(&data);
	int memory = memfd_create("recorder", MFD_CLOEXEC);
	char path[64];

	EXPECT_EQ(write(memory, data, size), size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	host_init(&host);
	EXPECT_EQ(host_start_file(&host, path), STATUS_SUCCESS);
	EXPECT_STR(miniport_info(host.miniport)->driver_path, path);
	host_finish(&host);
	close(memory);
	free(data);
}

TEST(image, two_adapters_of_one_driver_share_nothing)
{
	struct host first;
	struct miniport *second = NULL;
	struct miniport *third = NULL;
	struct miniport_config config = { .driver = RECORDER_PATH, .adapter_id = 2 };

	host_init(&first);
	EXPECT_EQ(host_start_settings(&first, NULL, 0), STATUS_SUCCESS);
	EXPECT_CONTAINS(first.notes, "AddDevice irql=0 adapters=1\n");
	host_forget_notes(&first);
	EXPECT_EQ(miniport_start(&config, &(struct miniport_events){ 0 }, NULL, &second),
		  STATUS_SUCCESS);
	EXPECT_CONTAINS(first.notes, "AddDevice irql=0 adapters=1\n");
	host_forget_notes(&first);
	config.adapter_id = 3;
	EXPECT_EQ(miniport_start(&config, &(struct miniport_events){ 0 }, NULL, &third),
		  STATUS_SUCCESS);
	EXPECT_CONTAINS(first.notes, "AddDevice irql=0 adapters=1\n");
	EXPECT(strcmp(miniport_info(second)->registry_path, miniport_info(third)->registry_path) !=
	       0);
	miniport_stop(second);
	miniport_stop(third);
	host_finish(&first);
}

HOST_TEST(image, a_second_start_sees_fresh_statics)
{
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
		EXPECT_CONTAINS(host->notes, "AddDevice irql=0 adapters=1\n");
		host_stop(host);
		host_forget_notes(host);
	}
}

TEST_MAIN("miniport/image")
