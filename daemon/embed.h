/*
 * embed.h - what the other files of libdxgk.so ask of the embedded kernel.
 */
#ifndef DAEMON_EMBED_H
#define DAEMON_EMBED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

/* kernel_validate() while no call is under way. True as well when no kernel is running. */
MUST_CHECK bool embed_validate(char *wrong, size_t wrong_size);

#endif
