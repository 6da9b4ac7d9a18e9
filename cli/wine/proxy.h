/* SPDX-License-Identifier: MIT */
/*
 * proxy.h - a gdi32.dll that has D3DKMT names of ours and everything else of Wine's.
 *
 * Programs import D3DKMT from gdi32, also where they name an API set. The proxy is a list of forwarders:
 * the D3DKMT names to dxgkwine.dll, the others to winegdi32.dll, which is another name of Wine's own file. It is made from the
 * export tables of both, so it fits the Wine that is installed. No name that starts with D3DKMT is left to
 * Wine's kernel (a handle of one is nothing to the other), but those that are about device contexts of GDI.
 */
#ifndef CLI_WINE_PROXY_H
#define CLI_WINE_PROXY_H

#include <stdbool.h>
#include <stddef.h>

struct proxy_file {
	unsigned char *bytes; /* malloc() */
	size_t size;
};

/* False with a sentence in `problem`. */
bool proxy_make(const char *wine_gdi32, const char *dxgkwine, struct proxy_file *proxy,
		char *problem, size_t problem_bytes);

#endif
