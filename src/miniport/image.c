/* SPDX-License-Identifier: MIT */
/*
 * image.c - a driver as a file: finding it, looking at it, loading it.
 *
 *   in:   a name or a path
 *   out:  a loaded library that exports DriverEntry, private to one adapter
 *
 * The loader gives out one copy of a library however often it is asked, so a second adapter with
 * the same driver would share its statics with the first. It gets a copy of the file instead. The
 * same happens when a library did not really go away at its last unload (C++ can cause that): a
 * fresh start never sees old statics.
 *
 * Loading runs constructors, so a file is only handed to the loader after its symbol table said
 * that it exports DriverEntry. Somebody's libc is never loaded a second time.
 *
 * Locks: loading_lock, from the question whether a library is loaded to its being loaded.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/refusal.h"
#include "miniport/image.h"

static struct lock loading_lock = LOCK_INITIALIZER(LOCK_RANK_DDI_PROCESS, "driver loading");

/* ---- finding ---- */

static bool file_is_there(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool path_join(char *path, size_t size_bytes, const char *folder, size_t folder_length,
		      const char *middle, const char *name)
{
	int length = snprintf(path, size_bytes, "%.*s%s/%s.so", (int)folder_length, folder, middle,
			      name);

	return length > 0 && (size_t)length < size_bytes && file_is_there(path);
}

static bool find_in_search_path(const char *folders, const char *name, char *path,
				size_t size_bytes)
{
	while (folders && *folders) {
		size_t length = strcspn(folders, ":");

		if (length > 0 && path_join(path, size_bytes, folders, length, "", name))
			return true;
		folders += length + (folders[length] == ':');
	}
	return false;
}

/* Next to the library this code is in, wherever that was moved to: installed, or in a build tree.
 */
static bool find_beside_us(const char *name, char *path, size_t size_bytes)
{
	Dl_info us;
	char library[PATH_MAX];
	char in_build_tree[300];

	if (!dladdr(__extension__(void *) find_beside_us, &us) || !us.dli_fname ||
	    !realpath(us.dli_fname, library))
		return false;
	*strrchr(library, '/') = '\0';
	if (path_join(path, size_bytes, library, strlen(library), "/opendxgk/drivers", name))
		return true;

	/* <build>/embed/libdxgk.so and <build>/drivers/<name>/<name>.so */
	char *folder = strrchr(library, '/');

	if (!folder)
		return false;
	snprintf(in_build_tree, sizeof(in_build_tree), "/drivers/%s", name);
	return path_join(path, size_bytes, library, (size_t)(folder - library), in_build_tree,
			 name);
}

static bool find_where_built(const char *name, char *path, size_t size_bytes)
{
	char middle[300];

	snprintf(middle, sizeof(middle), "/%s", name);
	return path_join(path, size_bytes, DXGK_DRIVER_BUILD_DIR, strlen(DXGK_DRIVER_BUILD_DIR),
			 middle, name);
}

NTSTATUS image_find(const char *driver, char *path, size_t size_bytes)
{
	const char *search_path = getenv("DXGK_DRIVER_PATH");

	if (!driver || !*driver)
		return invalid(RULE_DDI_IMAGE_FIND, "driver",
			       "is empty: a name or an absolute path is needed");
	if (driver[0] == '/') {
		int length = snprintf(path, size_bytes, "%s", driver);

		if (length < 0 || (size_t)length >= size_bytes)
			return refuse(STATUS_OBJECT_NAME_INVALID, RULE_DDI_IMAGE_FIND, "driver",
				      "is a path of %zu bytes, the longest is %zu", strlen(driver),
				      size_bytes - 1);
		return STATUS_SUCCESS;
	}
	if (strchr(driver, '/') || strlen(driver) > 200)
		return refuse(STATUS_OBJECT_NAME_INVALID, RULE_DDI_IMAGE_FIND, "driver",
			      "\"%.100s\" is neither a name nor an absolute path", driver);

	if (find_in_search_path(search_path, driver, path, size_bytes) ||
	    find_beside_us(driver, path, size_bytes) ||
	    path_join(path, size_bytes, DXGK_DRIVER_DIR, strlen(DXGK_DRIVER_DIR), "", driver) ||
	    find_where_built(driver, path, size_bytes))
		return STATUS_SUCCESS;
	return refuse(STATUS_OBJECT_NAME_NOT_FOUND, RULE_DDI_IMAGE_FIND, "driver",
		      "\"%.60s\": no %.60s.so in DXGK_DRIVER_PATH (%.40s) nor in %.60s", driver,
		      driver, search_path ? search_path : "not set", DXGK_DRIVER_DIR);
}

/* ---- looking ---- */

/* [offset, offset + size) of the file, or NULL where it is not all there. */
static const void *elf_part(const uint8_t *file, size_t file_size, uint64_t offset, uint64_t size)
{
	if (offset > file_size || size > file_size - offset)
		return NULL;
	return file + offset;
}

static bool elf_defines(const uint8_t *file, size_t file_size, const Elf64_Shdr *symbols,
			const Elf64_Shdr *names, const char *wanted)
{
	const char *text = elf_part(file, file_size, names->sh_offset, names->sh_size);
	uint64_t count = symbols->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *symbol =
		elf_part(file, file_size, symbols->sh_offset, count * sizeof(Elf64_Sym));

	if (!text || !symbol || symbols->sh_offset % _Alignof(Elf64_Sym) != 0)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t left =
			symbol[i].st_name < names->sh_size ? names->sh_size - symbol[i].st_name : 0;

		if (symbol[i].st_shndx != SHN_UNDEF && left > strlen(wanted) &&
		    memcmp(text + symbol[i].st_name, wanted, strlen(wanted) + 1) == 0)
			return true;
	}
	return false;
}

/* Empty when the file looks like a driver, else what is wrong with it. */
static const char *elf_complaint(const uint8_t *file, size_t file_size)
{
	const Elf64_Ehdr *header = elf_part(file, file_size, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return "is not an ELF file";
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN)
		return "is not a 64-bit shared object";
	const Elf64_Shdr *sections = elf_part(file, file_size, header->e_shoff,
					      (uint64_t)header->e_shnum * sizeof(*sections));
	if (!sections || header->e_shentsize != sizeof(*sections) ||
	    header->e_shoff % _Alignof(Elf64_Shdr) != 0)
		return "is a damaged ELF file: its section table is not all there";
	for (uint32_t i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < header->e_shnum &&
		    elf_defines(file, file_size, &sections[i], &sections[sections[i].sh_link],
				"DriverEntry"))
			return "";
	}
	return "exports no DriverEntry";
}

static NTSTATUS image_inspect(int file, const char *path)
{
	struct stat info;

	if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
		return refuse(STATUS_INVALID_IMAGE_FORMAT, RULE_DDI_IMAGE, "driver", "%.180s is %s",
			      path, S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
	if (info.st_size == 0)
		return refuse(STATUS_INVALID_IMAGE_FORMAT, RULE_DDI_IMAGE, "driver",
			      "%.180s is an empty file", path);

	const uint8_t *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (bytes == MAP_FAILED)
		return refuse(STATUS_NO_MEMORY, RULE_DDI_IMAGE, "driver", "%.150s: %s", path,
			      strerror(errno));
	const char *complaint = elf_complaint(bytes, (size_t)info.st_size);
	munmap((void *)bytes, (size_t)info.st_size);

	if (*complaint == '\0')
		return STATUS_SUCCESS;
	return refuse(strstr(complaint, "DriverEntry") ? STATUS_DRIVER_ENTRYPOINT_NOT_FOUND
						       : STATUS_INVALID_IMAGE_FORMAT,
		      RULE_DDI_IMAGE, "driver", "%.150s %s", path, complaint);
}

/* ---- loading ---- */

/* A copy of the file that exists only in memory; negative on failure. */
static int file_copy(int file, const char *path)
{
	const char *slash = strrchr(path, '/');
	int copy = memfd_create(slash ? slash + 1 : path, MFD_CLOEXEC);
	char buffer[16384];
	ssize_t got;
	off_t offset = 0;

	if (copy < 0)
		return -1;
	while ((got = pread(file, buffer, sizeof(buffer), offset)) > 0) {
		if (write(copy, buffer, (size_t)got) != got)
			break;
		offset += got;
	}
	if (got != 0) {
		close(copy);
		return -1;
	}
	return copy;
}

/* The name under which the loader shall know the file: its own where it has one, for debuggers. */
static void loader_name(int file, char *name, size_t size_bytes)
{
	char link[64];
	struct stat by_name;
	struct stat by_file;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	ssize_t length = readlink(link, name, size_bytes - 1);

	if (length > 0) {
		name[length] = '\0';
		if (stat(name, &by_name) == 0 && fstat(file, &by_file) == 0 &&
		    by_name.st_dev == by_file.st_dev && by_name.st_ino == by_file.st_ino)
			return;
	}
	snprintf(name, size_bytes, "%s", link);
}

static bool is_loaded_already(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);

	if (library)
		dlclose(library);
	return library != NULL;
}

/*
 * A driver need not be linked to the library it imports from: the loader of Windows finds the
 * kernel's routines by themselves. libdxcore.so loads us for itself only; this makes our exports
 * visible to drivers that name no library. Does nothing when we are part of the program.
 */
static void offer_kernel_exports(void)
{
	static const char ours;
	Dl_info here;

	if (dladdr(&ours, &here) != 0 && here.dli_fname)
		(void)!dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

static NTSTATUS image_open(struct image *image)
{
	struct own_fd copy;
	char name[4096];

	loader_name(image->file.number, name, sizeof(name));
	if (is_loaded_already(name)) {
		if (!own_fd_keep(file_copy(image->file.number, image->path), &copy))
			return refuse(STATUS_NO_MEMORY, RULE_DDI_IMAGE, "driver",
				      "%.150s cannot be copied for a second adapter: %s",
				      image->path, strerror(errno));
		own_fd_close(&image->file);
		image->file = copy;
		loader_name(image->file.number, name, sizeof(name));
	}

	offer_kernel_exports();
	image->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!image->library)
		return refuse(STATUS_DRIVER_UNABLE_TO_LOAD, RULE_DDI_IMAGE, "driver", "%.200s",
			      dlerror());
	return STATUS_SUCCESS;
}

NTSTATUS image_load(struct image *image, const char *path)
{
	*image = (struct image){ 0 };
	if (!own_fd_keep(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), &image->file)) {
		int reason = errno;

		*image = (struct image){ 0 };
		return refuse(reason == ENOENT ? STATUS_OBJECT_NAME_NOT_FOUND
					       : STATUS_DRIVER_UNABLE_TO_LOAD,
			      RULE_DDI_IMAGE_FIND, "driver", "%.180s: %s", path, strerror(reason));
	}
	snprintf(image->path, sizeof(image->path), "%s", path);

	NTSTATUS status = image_inspect(image->file.number, path);
	if (NT_SUCCESS(status)) {
		lock_acquire(&loading_lock);
		status = image_open(image);
		lock_release(&loading_lock);
	}
	if (!NT_SUCCESS(status)) {
		own_fd_close(&image->file);
		*image = (struct image){ 0 };
	}
	return status;
}

void image_unload(struct image *image)
{
	if (!image->library)
		return;
	lock_acquire(&loading_lock);
	if (dlclose(image->library) != 0)
		log_warn("%s: %s", image->path, dlerror());
	lock_release(&loading_lock);
	own_fd_close(&image->file);
	*image = (struct image){ 0 };
}

struct range {
	uintptr_t base; /* where the loader put it: what tells one library from another */
	uintptr_t begin;
	uintptr_t end;
};

static int add_segments(struct dl_phdr_info *info, size_t size_bytes, void *argument)
{
	struct range *range = argument;

	if (info->dlpi_addr != range->base)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		if (range->begin == 0 || begin < range->begin)
			range->begin = begin;
		if (end > range->end)
			range->end = end;
	}
	return 1;
}

void image_range(const struct image *image, const void **begin_out, const void **end_out)
{
	struct link_map *map = NULL;
	struct range range = { 0 };

	if (dlinfo(image->library, RTLD_DI_LINKMAP, &map) == 0 && map) {
		range.base = map->l_addr;
		dl_iterate_phdr(add_segments, &range);
	}
	*begin_out = (const void *)range.begin;
	*end_out = (const void *)range.end;
}

void *image_symbol(const struct image *image, const char *name)
{
	return dlsym(image->library, name);
}
