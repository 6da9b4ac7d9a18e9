/* SPDX-License-Identifier: MIT */
/*
 * escape.h - text of anybody's in files that programs read: JSON, XML, YAML of TAP, addresses of files.
 *
 * What is no valid UTF-8 becomes U+FFFD, so that whatever a driver printed can be written.
 */
#ifndef CLI_VERIFY_ESCAPE_H
#define CLI_VERIFY_ESCAPE_H

#include <stdio.h>

/* "text", quotes included; NULL is null. */
void json_put(FILE *out, const char *text);

/* Fit for content and for attributes in double quotes. Controls that XML 1.0 has not become U+FFFD. */
void xml_put(FILE *out, const char *text);

/* A path as a relative reference of RFC 3986; slashes stay. */
void uri_put(FILE *out, const char *path);

#endif
