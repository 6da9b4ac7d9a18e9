/* SPDX-License-Identifier: MIT */
/*
 * memory_traits.h - what a driver wants for memory: said at the driver line, kept by the memory
 * manager, and a word to everybody between them.
 */
#ifndef BASE_MEMORY_TRAITS_H
#define BASE_MEMORY_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

struct memory_traits {
	union {
		struct {
			bool is_cpu_visible : 1;
			bool is_cached : 1;
			bool is_kept_in_system : 1;      /* while the content is local     */
			bool is_accessed_physically : 1; /* contiguous where it is local   */
			bool wants_residency_news : 1;
			bool goes_to_the_end : 1; /* of its segment                 */
			bool is_pinned : 1;
			bool is_unmoveable : 1; /* pinned, in a memory segment    */
		};
		uint16_t bits; /* all of them: copied as one word, not bit by bit */
	};
};

#endif
