/* SPDX-License-Identifier: MIT */
/*
 * lock_graph.c - see lock_graph.h.
 *
 *	hold A, want B    an edge from A to B
 *	hold B, want A    an edge back: with the first, two threads that wait for each other
 *
 * An edge knows in which way each end was held and wanted, because two who share a lock do not wait for each other, and
 * which other locks were held alone whenever it was seen (its guards): orders that are only ever taken under one common
 * lock never meet.
 *
 * Locks: graph_lock guards everything. No memory is taken after the start: this runs at any level.
 */
#include <stdint.h>

#include <ddk/wdm.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/rbtree.h"
#include "nt/lock_graph.h"
#include "nt/report.h"

enum { NODES = 4096, EDGES = 16384, GUARDS = 3, DEPTH_MAX = 8, WHERE_MAX = 200 };

/* In which way a lock is held, or wanted. */
enum manner { ALONE, SHARED, MANNERS };

struct node {
	struct rb_node tree; /* by address */
	struct list from;    /* edge.from_link: what was wanted while it was held */
	struct list to;      /* edge.to_link */
	void *lock;
	uint64_t visit;
	struct node *next_free;
};

struct edge {
	struct list from_link;
	struct list to_link;
	struct node *from;
	struct node *to;
	struct edge *next_free;
	void *guards[GUARDS];
	const void *held_site; /* of the first time */
	const void *wanted_site;
	uint8_t manners; /* bit MANNERS * held + wanted */
	uint8_t guard_count;
	bool is_told;
};

struct graph {
	struct node nodes[NODES];
	struct edge edges[EDGES];
};

bool nt_lock_graph_is_on;

/* Guarded by graph_lock. */
static struct lock graph_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "lock graph");
static struct graph *graph;
static struct rb_tree nodes;
static struct node *free_nodes;
static struct edge *free_edges;
static uint64_t visits;

NTSTATUS nt_lock_graph_start(void)
{
	if (nt_lock_graph_is_on)
		return STATUS_SUCCESS;
	struct graph *made = mem_zalloc_aside(sizeof(*made));
	if (!made)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < NODES; i++)
		made->nodes[i].next_free = i + 1 < NODES ? &made->nodes[i + 1] : NULL;
	for (size_t i = 0; i < EDGES; i++)
		made->edges[i].next_free = i + 1 < EDGES ? &made->edges[i + 1] : NULL;
	lock_acquire(&graph_lock);
	graph = made;
	nodes.root = NULL;
	free_nodes = made->nodes;
	free_edges = made->edges;
	lock_release(&graph_lock);
	nt_lock_graph_is_on = true;
	return STATUS_SUCCESS;
}

void nt_lock_graph_stop(void)
{
	nt_lock_graph_is_on = false;
	lock_acquire(&graph_lock);
	struct graph *old = graph;
	graph = NULL;
	lock_release(&graph_lock);
	mem_free_aside(old);
}

/* ---- nodes and edges ---- */

static struct node *node_of_tree(struct rb_node *tree)
{
	return container_of(tree, struct node, tree);
}

/* The first at `lock` or behind it. */
static struct node *node_from_locked(const void *lock)
{
	struct rb_node *at = nodes.root;
	struct node *found = NULL;

	lock_assert_held(&graph_lock);
	while (at) {
		struct node *node = node_of_tree(at);

		if ((uintptr_t)node->lock >= (uintptr_t)lock) {
			found = node;
			at = at->left;
		} else {
			at = at->right;
		}
	}
	return found;
}

/* NULL: there are too many. */
static struct node *node_get_locked(void *lock)
{
	struct node *next = node_from_locked(lock);

	lock_assert_held(&graph_lock);
	if (next && next->lock == lock)
		return next;
	struct node *node = free_nodes;
	if (!node)
		return NULL;
	free_nodes = node->next_free;
	*node = (struct node){ .lock = lock };
	list_init(&node->from);
	list_init(&node->to);
	rb_insert_before(&nodes, &node->tree, next ? &next->tree : NULL);
	return node;
}

static struct edge *edge_find_locked(struct node *from, const struct node *to)
{
	lock_assert_held(&graph_lock);
	list_each (struct edge, edge, &from->from, from_link) {
		if (edge->to == to)
			return edge;
	}
	return NULL;
}

static void edge_drop_locked(struct edge *edge)
{
	lock_assert_held(&graph_lock);
	list_remove(&edge->from_link);
	list_remove(&edge->to_link);
	edge->next_free = free_edges;
	free_edges = edge;
}

static void node_drop_locked(struct node *node)
{
	lock_assert_held(&graph_lock);
	while (!list_is_empty(&node->from))
		edge_drop_locked(container_of(node->from.next, struct edge, from_link));
	while (!list_is_empty(&node->to))
		edge_drop_locked(container_of(node->to.next, struct edge, to_link));
	rb_remove(&nodes, &node->tree);
	node->next_free = free_nodes;
	free_nodes = node;
}

void nt_lock_graph_forget_range(const void *begin, const void *end)
{
	lock_acquire(&graph_lock);
	struct node *node = graph ? node_from_locked(begin) : NULL;
	while (node && (uintptr_t)node->lock < (uintptr_t)end) {
		struct rb_node *next = rb_next(&node->tree);

		node_drop_locked(node);
		node = next ? node_of_tree(next) : NULL;
	}
	lock_release(&graph_lock);
}

/* ---- what a thread holds ---- */

struct held {
	void *lock;
	const void *site;
	enum manner manner;
};

static enum manner manner_of(enum nt_held_kind kind, void *lock)
{
	bool is_shared = kind == NT_HELD_SPIN_SHARED || kind == NT_HELD_PUSH_SHARED ||
			 (kind == NT_HELD_RESOURCE && !ExIsResourceAcquiredExclusiveLite(lock));

	return is_shared ? SHARED : ALONE;
}

/* Regions are no locks; what is held already is not waited for. False: so it is. */
static bool held_read(const void *wanted, struct held *held, unsigned *count_out)
{
	unsigned known = nt_level.held < NT_HELD_KNOWN ? nt_level.held : NT_HELD_KNOWN;

	*count_out = 0;
	for (unsigned i = 0; i < known; i++) {
		void *lock = nt_held_locks.locks[i];
		enum nt_held_kind kind = (enum nt_held_kind)nt_held_locks.kinds[i];

		if (lock == wanted)
			return false;
		if (lock)
			held[(*count_out)++] = (struct held){ lock, nt_held_locks.sites[i],
							      manner_of(kind, lock) };
	}
	return true;
}

/* ---- cycles ---- */

/* A way through the graph, and what guards every step of it. */
struct way {
	const struct node *target;
	enum manner target_held; /* in which way who wants the first edge holds the target */
	void *guards[GUARDS];
	unsigned guard_count;
	const struct edge *steps[DEPTH_MAX];
	unsigned depth;
};

static bool do_conflict(enum manner held, enum manner wanted)
{
	return held == ALONE || wanted == ALONE;
}

/* How many of the guards are among the others, too; those come first. */
static unsigned common_guards(void **guards, unsigned count, void *const *others,
			      unsigned other_count)
{
	unsigned common = 0;

	for (unsigned i = 0; i < count; i++) {
		for (unsigned j = 0; j < other_count; j++) {
			if (guards[i] != others[j])
				continue;
			void *kept = guards[common];
			guards[common++] = guards[i];
			guards[i] = kept;
			break;
		}
	}
	return common;
}

/* Somebody waits for `node` in this manner: can its holder be waiting, in the end, for the target? */
static bool leads_back_locked(struct way *way, struct node *node, enum manner wanted)
{
	lock_assert_held(&graph_lock);
	if (way->depth == DEPTH_MAX || node->visit == visits)
		return false;
	node->visit = visits;
	list_each (struct edge, edge, &node->from, from_link) {
		for (unsigned bit = 0; bit < MANNERS * MANNERS; bit++) {
			enum manner held = bit / MANNERS;
			enum manner next = bit % MANNERS;

			if (!(edge->manners >> bit & 1) || !do_conflict(held, wanted))
				continue;
			unsigned before = way->guard_count;
			way->guard_count =
				common_guards(way->guards, before, edge->guards, edge->guard_count);
			way->steps[way->depth++] = edge;
			if (edge->to == way->target) {
				if (do_conflict(way->target_held, next) && way->guard_count == 0)
					return true;
			} else if (leads_back_locked(way, edge->to, next)) {
				return true;
			}
			way->depth--;
			way->guard_count = before;
		}
	}
	return false;
}

/* ---- edges as they are seen ---- */

struct finding {
	bool is_there;
	const void *back_held_site; /* of the way back */
	const void *back_wanted_site;
	const void *held_site;
	void *held;
};

static unsigned guards_of(const struct held *held, unsigned count, unsigned except, void **guards)
{
	unsigned found = 0;

	for (unsigned i = 0; i < count && found < GUARDS; i++) {
		if (i != except && held[i].manner == ALONE)
			guards[found++] = held[i].lock;
	}
	return found;
}

/* NULL where there is no room for it. */
static struct edge *edge_see_locked(struct node *from, struct node *to, unsigned manners,
				    void *const *guards, unsigned guard_count, bool *is_new_out)
{
	struct edge *edge = edge_find_locked(from, to);

	lock_assert_held(&graph_lock);
	*is_new_out = !edge;
	if (!edge) {
		edge = free_edges;
		if (!edge)
			return NULL;
		free_edges = edge->next_free;
		*edge = (struct edge){ .from = from,
				       .to = to,
				       .guard_count = (uint8_t)guard_count };
		for (unsigned i = 0; i < guard_count; i++)
			edge->guards[i] = guards[i];
		list_push_back(&from->from, &edge->from_link);
		list_push_back(&to->to, &edge->to_link);
	}
	if (!(edge->manners & manners)) {
		edge->manners |= (uint8_t)manners;
		*is_new_out = true;
	}
	unsigned common = common_guards(edge->guards, edge->guard_count, guards, guard_count);
	if (common != edge->guard_count) {
		edge->guard_count = (uint8_t)common;
		*is_new_out = true;
	}
	return edge;
}

static void note_one_locked(const struct held *all, unsigned count, unsigned which, void *wanted,
			    enum manner manner, const void *site, struct finding *finding)
{
	const struct held *held = &all[which];
	struct node *from = node_get_locked(held->lock);
	struct node *to = from ? node_get_locked(wanted) : NULL;
	void *guards[GUARDS];
	bool is_new;

	lock_assert_held(&graph_lock);
	if (!to)
		return;
	unsigned guard_count = guards_of(all, count, which, guards);
	struct edge *edge = edge_see_locked(
		from, to, 1u << (MANNERS * (unsigned)held->manner + (unsigned)manner), guards,
		guard_count, &is_new);
	if (!edge || !is_new || edge->is_told)
		return;
	if (!edge->wanted_site) {
		edge->held_site = held->site;
		edge->wanted_site = site;
	}
	struct way way = { .target = from,
			   .target_held = held->manner,
			   .guard_count = edge->guard_count };
	for (unsigned i = 0; i < way.guard_count; i++)
		way.guards[i] = edge->guards[i];
	visits++;
	if (!leads_back_locked(&way, to, manner))
		return;
	edge->is_told = true;
	*finding = (struct finding){
		.is_there = true,
		.back_held_site = way.steps[way.depth - 1]->held_site,
		.back_wanted_site = way.steps[way.depth - 1]->wanted_site,
		.held_site = held->site,
		.held = held->lock,
	};
}

static void tell(const struct finding *finding, const void *wanted)
{
	char held_at[WHERE_MAX];
	char back_held_at[WHERE_MAX];
	char back_wanted_at[WHERE_MAX];

	nt_report_where_called(finding->held_site, held_at, sizeof(held_at));
	nt_report_where_called(finding->back_held_site, back_held_at, sizeof(back_held_at));
	nt_report_where_called(finding->back_wanted_site, back_wanted_at, sizeof(back_wanted_at));
	nt_report(RULE_DDI_DEADLOCK,
		  "The lock %p is wanted while %p is held, taken at %.120s; the other order was "
		  "taken at %.120s and then at %.120s: two threads can wait for each other",
		  wanted, finding->held, held_at, back_held_at, back_wanted_at);
}

void nt_lock_graph_note(void *lock, bool is_shared, const void *site)
{
	struct held held[NT_HELD_KNOWN];
	struct finding finding = { 0 };
	unsigned count;

	if (!held_read(lock, held, &count))
		return;
	lock_acquire(&graph_lock);
	for (unsigned i = 0; graph && i < count && !finding.is_there; i++)
		note_one_locked(held, count, i, lock, is_shared ? SHARED : ALONE, site, &finding);
	lock_release(&graph_lock);
	if (finding.is_there)
		tell(&finding, lock);
}
