/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - see symbols.h.
 *
 *   in:   an address
 *   out:  text
 *
 * The libraries are opened at run time and called through the declarations below, which are their
 * documented interface: neither has to be there to build or to start.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "nt/symbols.h"

/* ---- libdw ---- */

struct Dwfl_Module;
struct Dwfl_Line;
struct Dwarf_Die;
struct Dwarf_Line;

struct dwfl_callbacks {
	void *find_elf;
	void *find_debuginfo;
	void *section_address; /* of relocatable files; we have none */
	char **debuginfo_path;
};

/* clang-format off */
#define LIBDW_CALLS(CALL)                                                                          \
	CALL(struct Dwfl *, dwfl_begin, (const struct dwfl_callbacks *))                           \
	CALL(void, dwfl_end, (struct Dwfl *))                                                      \
	CALL(void, dwfl_report_begin, (struct Dwfl *))                                             \
	CALL(int, dwfl_report_end, (struct Dwfl *, void *removed, void *argument))                 \
	CALL(int, dwfl_linux_proc_report, (struct Dwfl *, pid_t))                                  \
	CALL(struct Dwfl_Module *, dwfl_addrmodule, (struct Dwfl *, uint64_t))                     \
	CALL(const char *, dwfl_module_addrname, (struct Dwfl_Module *, uint64_t))                 \
	CALL(const char *, dwfl_module_info,                                                       \
	     (struct Dwfl_Module *, void ***, uint64_t *, uint64_t *, uint64_t *, uint64_t *,      \
	      const char **, const char **))                                                       \
	CALL(struct Dwfl_Line *, dwfl_module_getsrc, (struct Dwfl_Module *, uint64_t))             \
	CALL(const char *, dwfl_lineinfo,                                                          \
	     (struct Dwfl_Line *, uint64_t *, int *, int *, uint64_t *, uint64_t *))               \
	CALL(struct Dwarf_Die *, dwfl_module_nextcu,                                               \
	     (struct Dwfl_Module *, struct Dwarf_Die *, uint64_t *))                               \
	CALL(int, dwarf_haspc, (struct Dwarf_Die *, uint64_t))                                     \
	CALL(struct Dwarf_Line *, dwarf_getsrc_die, (struct Dwarf_Die *, uint64_t))                \
	CALL(int, dwarf_lineno, (struct Dwarf_Line *, int *))                                      \
	CALL(const char *, dwarf_linesrc, (struct Dwarf_Line *, uint64_t *, uint64_t *))
/* clang-format on */

/* Written once, before libdw_state says so. */
static struct {
#define CALL(type, name, parameters) type(*name) parameters;
	LIBDW_CALLS(CALL)
#undef CALL
	struct dwfl_callbacks callbacks;
} libdw;

enum { LIBDW_UNKNOWN, LIBDW_ABSENT, LIBDW_THERE };
static _Atomic int libdw_state;

static void *symbol(void *library, const char *name, bool *is_whole)
{
	void *address = dlsym(library, name);

	if (!address)
		*is_whole = false;
	return address;
}

/* Two threads may do it at once and write the same. */
void symbols_load(void)
{
	if (LIKELY(atomic_load_explicit(&libdw_state, memory_order_acquire) != LIBDW_UNKNOWN))
		return;
	/* Its own dependencies stay its own: a client may have other versions of them. */
	void *library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
	bool is_whole = library != NULL;

	if (library) {
#define CALL(type, name, parameters) *(void **)&libdw.name = symbol(library, #name, &is_whole);
		LIBDW_CALLS(CALL)
#undef CALL
		libdw.callbacks.find_elf = symbol(library, "dwfl_linux_proc_find_elf", &is_whole);
		/* This one never asks a server. */
		libdw.callbacks.find_debuginfo =
			symbol(library, "dwfl_build_id_find_debuginfo", &is_whole);
	}
	atomic_store_explicit(&libdw_state, is_whole ? LIBDW_THERE : LIBDW_ABSENT,
			      memory_order_release);
}

static int read_generation(struct dl_phdr_info *info, size_t size_bytes, void *generation)
{
	*(uint64_t *)generation = info->dlpi_adds + info->dlpi_subs;
	return 1; /* the first is enough */
}

/* A table that was asked already does not always find what is added to it: a new one does. */
void symbols_refresh(struct symbols *symbols)
{
	uint64_t generation = 0;

	symbols_load();
	if (atomic_load_explicit(&libdw_state, memory_order_acquire) != LIBDW_THERE)
		return;
	dl_iterate_phdr(read_generation, &generation);
	if (symbols->table && symbols->generation == generation)
		return;
	symbols_close(symbols);
	symbols->generation = generation;
	symbols->table = libdw.dwfl_begin(&libdw.callbacks);
	if (!symbols->table)
		return;
	libdw.dwfl_report_begin(symbols->table);
	bool has_failed = libdw.dwfl_linux_proc_report(symbols->table, getpid()) != 0;
	if (libdw.dwfl_report_end(symbols->table, NULL, NULL) != 0 || has_failed)
		symbols_close(symbols);
}

void symbols_close(struct symbols *symbols)
{
	if (symbols->table)
		libdw.dwfl_end(symbols->table);
	symbols->table = NULL;
}

/* NULL when it is not known. */
static const char *source_of(struct Dwfl_Module *module, uint64_t address, int *line_out)
{
	struct Dwfl_Line *known = libdw.dwfl_module_getsrc(module, address);
	struct Dwarf_Die *unit = NULL;
	uint64_t bias;

	if (known)
		return libdw.dwfl_lineinfo(known, NULL, line_out, NULL, NULL, NULL);

	/* clang writes no index of addresses: ask every unit. */
	while ((unit = libdw.dwfl_module_nextcu(module, unit, &bias)) != NULL) {
		if (libdw.dwarf_haspc(unit, address - bias) <= 0)
			continue;
		struct Dwarf_Line *line = libdw.dwarf_getsrc_die(unit, address - bias);
		if (line && libdw.dwarf_lineno(line, line_out) == 0)
			return libdw.dwarf_linesrc(line, NULL, NULL);
	}
	return NULL;
}

/* ---- places ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the loader knows: exported names only, and no lines. */
static void where_by_loader(const void *address, char *text, size_t size_bytes)
{
	char function[256];
	Dl_info info;

	if (!dladdr(address, &info) || !info.dli_fname) {
		snprintf(text, size_bytes, "%p", address);
		return;
	}
	size_t offset = (size_t)((const char *)address - (const char *)info.dli_fbase);
	if (info.dli_sname) {
		symbols_demangle(info.dli_sname, function, sizeof(function));
		snprintf(text, size_bytes, "%s in %s+0x%zx", function, base_name(info.dli_fname),
			 offset);
	} else {
		snprintf(text, size_bytes, "%s+0x%zx", base_name(info.dli_fname), offset);
	}
}

/* False when the table does not know the address. */
static bool source_line_by_table(const struct symbols *symbols, const void *address,
				 struct source_line *line_out)
{
	uint64_t wanted = (uint64_t)(uintptr_t)address;
	struct Dwfl_Module *module =
		symbols->table ? libdw.dwfl_addrmodule(symbols->table, wanted) : NULL;
	const char *name = module ? libdw.dwfl_module_addrname(module, wanted) : NULL;
	int line = 0;

	if (!name)
		return false;
	symbols_demangle(name, line_out->function, sizeof(line_out->function));
	line_out->image =
		base_name(libdw.dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	line_out->file = source_of(module, wanted, &line);
	line_out->line = line_out->file ? (uint32_t)line : 0;
	return true;
}

void symbols_source_line(const struct symbols *symbols, const void *address,
			 struct source_line *line_out)
{
	Dl_info info;

	*line_out = (struct source_line){ .function = "" };
	if (source_line_by_table(symbols, address, line_out) || !dladdr(address, &info))
		return;
	if (info.dli_fname)
		line_out->image = base_name(info.dli_fname);
	if (info.dli_sname)
		symbols_demangle(info.dli_sname, line_out->function, sizeof(line_out->function));
}

void symbols_where(const struct symbols *symbols, const void *address, char *text,
		   size_t size_bytes)
{
	struct source_line known = { .function = "" };

	if (!source_line_by_table(symbols, address, &known))
		where_by_loader(address, text, size_bytes);
	else if (known.file)
		snprintf(text, size_bytes, "%s (%s:%u) in %s", known.function, known.file,
			 known.line, known.image);
	else
		snprintf(text, size_bytes, "%s in %s", known.function, known.image);
}

/* ---- C++ ---- */

typedef char *demangle_function(const char *name, char *buffer, size_t *length, int *status);

/* The one of the program, or of a C++ run-time library that is installed; or NULL. */
static demangle_function *demangler(void)
{
	static _Atomic(void *) found;
	static _Atomic bool has_looked;

	if (!atomic_load_explicit(&has_looked, memory_order_acquire)) {
		static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1" };
		void *function = dlsym(RTLD_DEFAULT, "__cxa_demangle");

		for (size_t i = 0; i < ARRAY_SIZE(libraries) && !function; i++) {
			void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);

			if (library)
				function = dlsym(library, "__cxa_demangle");
		}
		atomic_store_explicit(&found, function, memory_order_relaxed);
		atomic_store_explicit(&has_looked, true, memory_order_release);
	}
	void *function = atomic_load_explicit(&found, memory_order_relaxed);

	return *(demangle_function **)&function;
}

/* Without any: the plain names of "_ZN7Adapter5StartE…", as far as there are no others in it. */
static bool demangle_plain(const char *name, char *text, size_t size_bytes)
{
	bool is_nested = strncmp(name, "_ZN", 3) == 0;
	const char *at = name + (is_nested ? 3 : 2);
	const char *part = NULL;
	size_t part_length = 0;
	size_t used = 0;

	at += is_nested ? strspn(at, "rVK") : 0;
	do {
		bool is_maker = part && at[0] == 'C' && at[1] >= '1' && at[1] <= '3';
		bool is_ender = part && at[0] == 'D' && at[1] >= '0' && at[1] <= '2';

		if (is_maker || is_ender) {
			at += 2;
		} else {
			char *digits_end;

			part_length = strtoul(at, &digits_end, 10);
			part = digits_end;
			if (digits_end == at || part_length == 0 || strlen(part) < part_length)
				return false;
			at = part + part_length;
		}
		int length = snprintf(text + used, size_bytes - used, "%s%s%.*s",
				      used == 0 ? "" : "::", is_ender ? "~" : "", (int)part_length,
				      part);
		if (length < 0 || (size_t)length >= size_bytes - used)
			return false;
		used += (size_t)length;
	} while (is_nested && *at != 'E');
	return true;
}

void symbols_demangle(const char *name, char *text, size_t size_bytes)
{
	bool is_mangled = strncmp(name, "_Z", 2) == 0;
	demangle_function *demangle = is_mangled ? demangler() : NULL;
	int status = 0;
	char *readable = demangle ? demangle(name, NULL, NULL, &status) : NULL;

	if (readable)
		snprintf(text, size_bytes, "%s", readable);
	else if (!is_mangled || !demangle_plain(name, text, size_bytes))
		snprintf(text, size_bytes, "%s", name);
	free(readable);
}
