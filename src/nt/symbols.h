/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - what stands at an address of code: "function (file.c:12) in driver.so".
 *
 * Functions and lines are read by libdw, which is looked for when the first address is named and
 * never needed: without it there are the names the loader knows, or the image and an offset that
 * addr2line(1) takes.
 */
#ifndef NT_SYMBOLS_H
#define NT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* One user at a time. Zeroes are nothing opened yet. */
struct symbols {
	struct Dwfl *table;  /* NULL: there is no libdw, or it failed */
	uint64_t generation; /* of the images it knows: it grows when one comes or goes */
};

/*
 * Looks for libdw, once. It calls the loader, which has a lock of its own: before a lock is taken
 * that somebody in the loader may want.
 */
void symbols_load(void);

/* Images come and go with drivers: brings the table up to date. */
void symbols_refresh(struct symbols *symbols);
void symbols_close(struct symbols *symbols);

/* As much of it as is known. An address within the call, not the one behind it. */
void symbols_where(const struct symbols *symbols, const void *address, char *text,
		   size_t size_bytes);

/* The same in parts. What is not known is empty, NULL and 0; names belong to the table. */
struct source_line {
	char function[256];
	const char *file;
	const char *image;
	uint32_t line;
};
void symbols_source_line(const struct symbols *symbols, const void *address,
			 struct source_line *line_out);

/* Readable C++: "Adapter::Start(int)" for "_ZN7Adapter5StartEi". Other names as they are. */
void symbols_demangle(const char *name, char *text, size_t size_bytes);

#endif
