/* SPDX-License-Identifier: MIT */
/*
 * traces.h - are two traces the same, byte for byte?
 */
#ifndef CLI_VERIFY_TRACES_H
#define CLI_VERIFY_TRACES_H

/* NULL: they are, or one of them is not there. Else a sentence with the first events that differ; to be freed. */
char *traces_compare(const char *path, const char *other_path);

#endif
