/* SPDX-License-Identifier: MIT */
/*
 * state_tables_test.c - the tables of states are whole, and say what docs/states.md draws.
 */
#include <stdio.h>
#include <string.h>

#include "support/test.h"
#include "vidmm/state_tables.h"

#ifndef STATES_PAGE
#error "where docs/states.md is"
#endif

TEST(state_tables, every_state_has_a_name_and_can_be_reached)
{
	for (int id = 0; id < STATE_TABLES; id++) {
		const struct state_table *table = &state_tables[id];
		unsigned reached = 1; /* the first is the beginning */

		EXPECT(table->name && table->count >= 2 && table->count <= STATES_MOST);
		for (unsigned at = 0; at < table->count; at++) {
			EXPECT(table->states[at] && table->states[at][0] != '\0');
			EXPECT_EQ(table->next[at] >> table->count, 0);
		}
		for (unsigned round = 0; round < table->count; round++) {
			for (unsigned at = 0; at < table->count; at++) {
				if (reached & 1U << at)
					reached |= table->next[at];
			}
		}
		EXPECT_EQ(reached, (1U << table->count) - 1);
	}
}

/* A line of the page: "name: from -> to, to". */
static void line_of(const struct state_table *table, unsigned from, char *line, size_t size)
{
	size_t used = (size_t)snprintf(line, size, "%s: %s ->", table->name, table->states[from]);
	const char *between = " ";

	for (unsigned to = 0; to < table->count; to++) {
		if (!(table->next[from] & 1U << to) || to == from)
			continue;
		used += (size_t)snprintf(line + used, size - used, "%s%s", between,
					 table->states[to]);
		between = ", ";
	}
	snprintf(line + used, size - used, "\n");
}

TEST(state_tables, are_as_the_page_draws_them)
{
	static char page[32768];
	FILE *file = fopen(STATES_PAGE, "r");
	char line[256];

	EXPECT(file);
	page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
	fclose(file);
	for (int id = 0; id < STATE_TABLES; id++) {
		for (unsigned from = 0; from < state_tables[id].count; from++) {
			unsigned others = state_tables[id].next[from] & ~(1U << from);

			line_of(&state_tables[id], from, line, sizeof(line));
			EXPECT_EQ(strstr(page, line) != NULL, others != 0);
		}
	}
}

TEST_MAIN("vidmm/state_tables")
