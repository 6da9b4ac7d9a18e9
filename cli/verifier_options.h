/* SPDX-License-Identifier: MIT */
/*
 * verifier_options.h - the verifier's switches that concern memory, by the names that dxgk gives them (docs/control.md).
 */
#ifndef CLI_VERIFIER_OPTIONS_H
#define CLI_VERIFIER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dxg/d3dkmthk.h>

/* One of the two is not 0. */
struct verifier_option {
	const char *name;
	D3DKMT_ADAPTER_VERIFIER_VIDMM_FLAGS adapter;
	D3DKMT_PROCESS_VERIFIER_VIDMM_FLAGS process;
};

enum { VERIFIER_OPTIONS = 10 };
extern const struct verifier_option verifier_options[VERIFIER_OPTIONS];

/* False: there is none of that name. */
bool verifier_option_find(const char *name, size_t length, uint32_t *index_out);

#endif
