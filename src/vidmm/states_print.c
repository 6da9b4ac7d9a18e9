/* SPDX-License-Identifier: MIT */
/*
 * states_print.c - the tables of states for people, with how many are in each.
 */
#include "base/text.h"
#include "vidmm/control.h"
#include "vidmm/place.h"

/* How many are in each state; of what is not counted here, none. */
struct census {
	uint32_t counts[STATE_TABLES][STATES_MOST];
};

static void count_places(const struct vidmm *manager, struct census *census)
{
	list_each (const struct vidmm_place, place, &manager->places, all_link) {
		census->counts[STATES_PLACE][place->state]++;
		census->counts[STATES_PLACE_OFFER][place->offer]++;
		census->counts[STATES_PLACE_COPY][place->copy]++;
		census->counts[STATES_PLACE_LOCK][place->lock]++;
		census->counts[STATES_PLACE_STAY][place->stay]++;
		census->counts[STATES_PLACE_END][place->end]++;
		census->counts[STATES_CPU_WINDOW][place->window.state]++;
		if (place->state != PLACE_OUT && place->state != PLACE_IN)
			census->counts[STATES_MOVE_CHECK][place->move.check]++;
		census->counts[STATES_CONTENT][atomic_load_explicit(&place->allocation->content,
								    memory_order_relaxed)]++;
	}
}

static void count_bindings(const struct list *bindings, struct census *census)
{
	list_each (const struct vidmm_binding, binding, bindings, device_link) {
		census->counts[STATES_BINDING_WAIT][binding->waiting]++;
		census->counts[STATES_BINDING_NEED][binding->need]++;
		census->counts[STATES_BINDING_KEEP][binding->keep]++;
		census->counts[STATES_BINDING_END][binding->end]++;
	}
}

static void count_devices(const struct vidmm_process *process, struct census *census)
{
	list_each (const struct vidmm_device, device, &process->devices, link) {
		census->counts[STATES_DEVICE_STAGE][device->stage]++;
		census->counts[STATES_DEVICE_SUPPLY][device->supply]++;
		census->counts[STATES_DEVICE_LISTS][device->lists]++;
		count_bindings(&device->resident, census);
		count_bindings(&device->absent, census);
		count_bindings(&device->moving, census);
	}
}

static void census_take(struct vidmm *manager, struct census *census)
{
	*census = (struct census){ 0 };
	lock_acquire(&manager->lock);
	count_places(manager, census);
	list_each (const struct vidmm_process, process, &manager->processes, link) {
		census->counts[STATES_PAGE_TABLES][tables_state(&process->tables)]++;
		count_devices(process, census);
	}
	lock_release(&manager->lock);
}

static void print_state(struct text *text, const struct state_table *table, unsigned from,
			uint32_t count)
{
	const char *between = " -> ";

	text_add(text, "  %6u %s", count, table->states[from]);
	for (unsigned to = 0; to < table->count; to++) {
		if (to == from || !(table->next[from] & 1U << to))
			continue;
		text_add(text, "%s%s", between, table->states[to]);
		between = ", ";
	}
	text_add(text, "\n");
}

void vidmm_print_states(struct vidmm *manager, char *at, size_t size)
{
	struct text text = text_begin(at, size);
	struct census census;

	census_take(manager, &census);
	for (int id = 0; id < STATE_TABLES; id++) {
		const struct state_table *table = &state_tables[id];

		text_add(&text, "%s\n", table->name);
		for (unsigned state = 0; state < table->count; state++)
			print_state(&text, table, state, census.counts[id][state]);
	}
}
