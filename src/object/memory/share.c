/* SPDX-License-Identifier: MIT */
/*
 * share.c - see share.h.
 *
 * An NT handle is the read end of a pipe through which nothing is ever sent. We keep the write end:
 * the kernel reports an error on it once no process has the read end any more, and its inode tells
 * our descriptors from everybody else's.
 *
 *	bundle       what NT calls the object: the shares, and perhaps a name
 *	descriptor   what NT calls the handle: the access granted, and the pipe. Copies of the
 *	             client's descriptor are the same handle; opening a name makes another one
 *
 * In embedded use our ends live among the client's descriptors. A client that closes them all, as
 * daemons do, takes its own ends with it; before we use a number we look whether it is still ours
 * (base/own_fd.h). An epoll is known by what it watches, so it is made with the first descriptor and
 * closed with the last one.
 *
 * Locks: table->lock guards the lists. References are given back after letting go.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own_fd.h"
#include "base/refusal.h"
#include "base/utf8.h"
#include "nt/unicode.h"
#include "object/memory/share.h"
#include "trace/trace.h"

enum {
	FIRST_DESCRIPTOR = 3, /* 0 is no handle, and all three have a meaning to every program */
	SWEEP_EVENTS = 16,
};

/* Guarded by share_table.lock. */
struct share_bundle {
	struct list link; /* share_table.bundles; of a local list when it is ending */
	uint32_t descriptors;
	uint32_t count;
	struct share *shares[SHARE_SET_MAX]; /* with references */
	uint32_t withheld[SHARE_SET_MAX];    /* rights that nobody gets through it */
	char *name;                          /* folded; NULL: none */
	uint32_t user;                       /* among whose names it is */
	struct quota_ledger *ledger;         /* which has the name; with a reference, or NULL */
};

struct share_descriptor {
	struct list link; /* share_table.descriptors */
	uint64_t id;
	struct share_bundle *bundle;
	uint32_t rights;             /* to the first of the bundle */
	struct quota_ledger *ledger; /* which has it; with a reference, or NULL */
	struct own_fd write_end;     /* of the pipe */
};

/* ---- the base of a body ---- */

static struct share *share_of_global(struct object *object)
{
	return container_of(object, struct share, global);
}

static void global_destroy(struct object *object)
{
	struct share *share = share_of_global(object);

	share->destroy(share);
}

static const struct object_class global_classes[SHARE_KIND_COUNT] = {
	[SHARE_RESOURCE] = { .name = "a shared resource", .destroy = global_destroy },
	[SHARE_KEYED_MUTEX] = { .name = "a shared keyed mutex", .destroy = global_destroy },
	[SHARE_SYNC_OBJECT] = { .name = "a shared sync object", .destroy = global_destroy },
};

NTSTATUS share_init(struct share *share, struct share_table *table, uint32_t user,
		    enum share_kind kind, enum share_scheme scheme, struct dxg_adapter *adapter,
		    void (*destroy)(struct share *share))
{
	*share = (struct share){
		.table = table,
		.user = user,
		.adapter = adapter,
		.kind = kind,
		.scheme = scheme,
		.destroy = destroy,
	};
	refcount_init(&share->refs);
	atomic_init(&share->openings, 1);
	if (scheme == SHARE_GLOBAL &&
	    !NT_SUCCESS(object_init(&share->global, &global_classes[kind], &table->globals)))
		return refuse_no_memory("no memory for a global handle");
	return STATUS_SUCCESS;
}

void share_abandon(struct share *share)
{
	if (share->scheme == SHARE_GLOBAL)
		object_abandon(&share->global);
}

void share_publish(struct share *share)
{
	if (share->scheme == SHARE_GLOBAL)
		object_publish(&share->global);
}

void share_get(struct share *share)
{
	refcount_get(&share->refs);
}

void share_put(struct share *share)
{
	if (!share || !refcount_put(&share->refs))
		return;
	/* A lookup may still be looking at the global handle; the last one of them destroys then.
	 */
	if (share->scheme == SHARE_GLOBAL)
		object_put(&share->global);
	else
		share->destroy(share);
}

bool share_open(struct share *share)
{
	uint32_t openings = atomic_load_explicit(&share->openings, memory_order_relaxed);

	do {
		if (openings == 0 && share->scheme == SHARE_GLOBAL)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&share->openings, &openings, openings + 1,
							memory_order_acq_rel,
							memory_order_relaxed));
	share_get(share);
	return true;
}

void share_close_keep(struct share *share)
{
	uint32_t before = atomic_fetch_sub_explicit(&share->openings, 1, memory_order_acq_rel);

	assert(before != 0);
	if (before == 1 && share->scheme == SHARE_GLOBAL)
		(void)!object_retire(&share->global);
}

void share_close(struct share *share)
{
	share_close_keep(share);
	share_put(share);
}

NTSTATUS share_find_global(struct share_table *table, uint32_t user, uint32_t handle,
			   enum share_kind kind, const char *argument, struct share **share_out)
{
	const struct object_class *wanted = &global_classes[kind];
	const struct object_class *found = NULL;
	struct object *object = NULL;
	bool is_alive = false;

	/* Of whatever kind: of another user's not even that is told. */
	if (handle_find(&table->globals, handle, NULL, &object, &found) == HANDLE_FOUND) {
		struct share *share = share_of_global(object);
		bool is_ours = share->user == user;

		found = is_ours ? object->class : NULL;
		is_alive = found == wanted && refcount_get_unless_zero(&share->refs);
		object_put(object);
		*share_out = share;
	}
	if (is_alive)
		return STATUS_SUCCESS;
	if (found && found != wanted)
		return invalid(RULE_API_HANDLE_KIND, argument, "0x%08x is %s, not %s", handle,
			       found->name, wanted->name);
	return invalid(RULE_API_HANDLE, argument, "0x%08x is not the global handle of %s: %s",
		       handle, wanted->name,
		       handle_past_words(handle_past(&table->globals, handle)));
}

/* ---- descriptors and bundles ---- */

NTSTATUS share_table_init(struct share_table *table)
{
	*table = (struct share_table){ .watch_fd = -1 };
	if (!NT_SUCCESS(handle_table_init(&table->globals, HANDLE_TAG_GLOBAL)))
		return refuse_no_memory("no memory for the table of global handles");
	lock_init(&table->lock, LOCK_RANK_SHARE, "shared objects");
	list_init(&table->descriptors);
	list_init(&table->bundles);
	return STATUS_SUCCESS;
}

/* One of whose pipe we still have our end; NULL: there is none. */
static struct share_descriptor *find_watched_locked(struct share_table *table)
{
	lock_assert_held(&table->lock);
	list_each (struct share_descriptor, descriptor, &table->descriptors, link) {
		if (own_fd_is_ours(&descriptor->write_end))
			return descriptor;
	}
	return NULL;
}

/* True when it was in our epoll, whose number is ours therefore. */
static bool unwatch_locked(struct share_table *table, const struct share_descriptor *descriptor)
{
	lock_assert_held(&table->lock);
	return own_fd_is_ours(&descriptor->write_end) &&
	       epoll_ctl(table->watch_fd, EPOLL_CTL_DEL, descriptor->write_end.number, NULL) == 0;
}

/* A bundle that lost its last descriptor goes to `ending`, for end_bundles(). */
static void descriptor_destroy_locked(struct share_table *table,
				      struct share_descriptor *descriptor, struct list *ending)
{
	struct share_bundle *bundle = descriptor->bundle;

	lock_assert_held(&table->lock);
	/* By hand: a forked child may have a copy that keeps it watched. */
	bool was_watched = unwatch_locked(table, descriptor);
	own_fd_close(&descriptor->write_end);
	list_remove(&descriptor->link);
	if (was_watched && !find_watched_locked(table)) {
		close(table->watch_fd);
		table->watch_fd = -1;
	}
	trace_nt_handle_destroy(descriptor->id);
	quota_give(descriptor->ledger, QUOTA_NT_HANDLES, 1);
	quota_put(descriptor->ledger);
	mem_free(descriptor);
	atomic_fetch_sub_explicit(&table->descriptor_count, 1, memory_order_relaxed);
	if (--bundle->descriptors == 0) {
		list_remove(&bundle->link);
		list_push_back(ending, &bundle->link);
	}
}

/* Its shares are put, or were never its own. */
static void bundle_free(struct share_bundle *bundle)
{
	quota_give(bundle->ledger, QUOTA_NAMES, bundle->ledger ? 1 : 0);
	quota_put(bundle->ledger);
	mem_free(bundle->name);
	mem_free(bundle);
}

/* Without a lock: these may be the last references. */
static void end_bundles(struct list *ending)
{
	list_drain (struct share_bundle, bundle, ending, link) {
		while (bundle->count > 0)
			share_put(bundle->shares[--bundle->count]);
		bundle_free(bundle);
	}
}

void share_table_finish(struct share_table *table)
{
	struct list ending;

	if (!table->globals.directory)
		return;
	list_init(&ending);
	lock_acquire(&table->lock);
	while (!list_is_empty(&table->descriptors))
		descriptor_destroy_locked(
			table, container_of(table->descriptors.next, struct share_descriptor, link),
			&ending);
	lock_release(&table->lock);
	end_bundles(&ending);
	lock_finish(&table->lock);
	handle_table_finish(&table->globals);
}

static struct share_descriptor *find_id_locked(struct share_table *table, uint64_t id)
{
	lock_assert_held(&table->lock);
	list_each (struct share_descriptor, descriptor, &table->descriptors, link) {
		if (descriptor->id == id)
			return descriptor;
	}
	return NULL;
}

static bool watch(int watch_fd, int operation, const struct share_descriptor *descriptor)
{
	struct epoll_event event = { .events = EPOLLERR, .data.u64 = descriptor->id };

	return epoll_ctl(watch_fd, operation, descriptor->write_end.number, &event) == 0;
}

/* Only our epoll has our ends in it; saying again how one is watched changes nothing. */
static bool is_watch_ours_locked(struct share_table *table)
{
	struct share_descriptor *watched = find_watched_locked(table);

	lock_assert_held(&table->lock);
	if (watched && watch(table->watch_fd, EPOLL_CTL_MOD, watched))
		return true;
	if (table->watch_fd >= 0)
		log_error("the program closed descriptor %d, which was not its own: it said which "
			  "NT handles are closed",
			  table->watch_fd);
	table->watch_fd = -1;
	return false;
}

/* False with errno. */
static bool make_watch_locked(struct share_table *table)
{
	int made = epoll_create1(EPOLL_CLOEXEC);
	int fd = made < 0 ? -1 : own_fd_lift(made);

	lock_assert_held(&table->lock);
	if (fd < 0)
		return false;
	list_each (struct share_descriptor, descriptor, &table->descriptors, link) {
		if (own_fd_is_ours(&descriptor->write_end) && !watch(fd, EPOLL_CTL_ADD, descriptor))
			log_warn("NT handle %llu is not watched and ends with the program",
				 (unsigned long long)descriptor->id);
	}
	table->watch_fd = fd;
	return true;
}

/* A look that takes nothing away, in case the number is a stranger's. */
static bool has_news_locked(const struct share_table *table)
{
	struct pollfd news = { .fd = table->watch_fd, .events = POLLIN };

	lock_assert_held(&table->lock);
	return table->watch_fd >= 0 && poll(&news, 1, 0) > 0;
}

static void sweep_locked(struct share_table *table, struct list *ending)
{
	struct epoll_event events[SWEEP_EVENTS];
	bool has_ended = has_news_locked(table);

	lock_assert_held(&table->lock);
	if (has_ended && !is_watch_ours_locked(table))
		has_ended = find_watched_locked(table) && make_watch_locked(table);
	/* Events may be about nothing we know, when the client closed our end and a child of fork()
	   keeps a copy; so a full round is followed by another only when it ended something. */
	while (has_ended) {
		int count = epoll_wait(table->watch_fd, events, SWEEP_EVENTS, 0);
		has_ended = false;
		for (int i = 0; i < count; i++) {
			struct share_descriptor *descriptor =
				find_id_locked(table, events[i].data.u64);
			if (!descriptor)
				continue;
			descriptor_destroy_locked(table, descriptor, ending);
			has_ended = count == SWEEP_EVENTS && table->watch_fd >= 0;
		}
	}
}

void share_sweep_bundles(struct share_table *table)
{
	struct list ending;
	int before = cancel_hold_off();
	list_init(&ending);
	lock_acquire(&table->lock);
	sweep_locked(table, &ending);
	lock_release(&table->lock);
	end_bundles(&ending);
	cancel_give_back(before);
}

static NTSTATUS refuse_descriptors(void)
{
	return refuse(STATUS_TOO_MANY_OPENED_FILES, RULE_API_DESCRIPTORS, NULL,
		      "no file descriptor for an NT handle: %s", strerror(errno));
}

/* Replaces *fd by a number that no program takes for something else. */
static bool move_above_standard(int *fd)
{
	if (*fd >= FIRST_DESCRIPTOR)
		return true;
	int moved = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	if (moved < 0)
		return false;
	close(*fd);
	*fd = moved;
	return true;
}

/* The read end, which is the client's, and ours. False with errno. */
static bool make_pipe(int *read_out, struct own_fd *write_out)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	bool is_kept = own_fd_keep(ends[1], write_out);
	if (is_kept && move_above_standard(&ends[0])) {
		*read_out = ends[0];
		return true;
	}
	int saved_errno = errno;
	own_fd_close(write_out);
	close(ends[0]);
	errno = saved_errno;
	return false;
}

/* That it watches nothing means that it was made just now, and is ours. */
static void drop_unused_watch_locked(struct share_table *table)
{
	lock_assert_held(&table->lock);
	if (table->watch_fd < 0 || find_watched_locked(table))
		return;
	close(table->watch_fd);
	table->watch_fd = -1;
}

/* One more descriptor of `bundle`, which may be new. */
static NTSTATUS descriptor_create_locked(struct share_table *table, struct share_bundle *bundle,
					 const struct share_nt_options *options,
					 int *descriptor_out)
{
	NTSTATUS status = quota_take(options->ledger, QUOTA_NT_HANDLES, 1);
	int read_end;

	lock_assert_held(&table->lock);
	if (!NT_SUCCESS(status))
		return status;
	struct share_descriptor *descriptor = mem_zalloc(sizeof(*descriptor));
	if (!descriptor) {
		status = refuse_no_memory("no memory for an NT handle");
		goto give_back;
	}
	if (!make_pipe(&read_end, &descriptor->write_end)) {
		status = refuse_descriptors();
		goto free_descriptor;
	}
	descriptor->id = table->last_descriptor + 1;
	descriptor->bundle = bundle;
	descriptor->rights = options->rights;
	descriptor->ledger = options->ledger;
	if (options->is_maximum)
		descriptor->rights |= ~bundle->withheld[0];
	if ((!is_watch_ours_locked(table) && !make_watch_locked(table)) ||
	    !watch(table->watch_fd, EPOLL_CTL_ADD, descriptor) ||
	    (options->is_inherited && fcntl(read_end, F_SETFD, 0) != 0)) {
		status = refuse_descriptors();
		goto close_pipe;
	}
	(void)quota_get(options->ledger);
	table->last_descriptor++;
	bundle->descriptors++;
	list_push_back(&table->descriptors, &descriptor->link);
	atomic_fetch_add_explicit(&table->descriptor_count, 1, memory_order_relaxed);
	trace_nt_handle_create(descriptor->id, bundle->count, options->access);
	*descriptor_out = read_end;
	return STATUS_SUCCESS;

close_pipe:
	close(read_end);
	own_fd_close(&descriptor->write_end);
	drop_unused_watch_locked(table);
free_descriptor:
	mem_free(descriptor);
give_back:
	quota_give(options->ledger, QUOTA_NT_HANDLES, 1);
	return status;
}

/* ---- names ---- */

/* Names compare as NT's do: upper-cased character by character. */
static char *name_fold(const char *name)
{
	const char *end = name + strlen(name);
	/* Upper case can take more bytes than the original, at most four a character. */
	char *folded = mem_zalloc_array((size_t)(end - name) + 1, 4);
	char *to = folded;

	if (!folded)
		return NULL;
	while (name < end) {
		uint32_t character = utf8_next(&name, end);
		if (character <= UINT16_MAX)
			character = nt_upcase((uint16_t)character);
		to += utf8_encode(character, to);
	}
	return folded;
}

static struct share_bundle *find_name_locked(struct share_table *table, uint32_t user,
					     const char *folded)
{
	lock_assert_held(&table->lock);
	list_each (struct share_bundle, bundle, &table->bundles, link) {
		if (bundle->name && bundle->user == user && strcmp(bundle->name, folded) == 0)
			return bundle;
	}
	return NULL;
}

/* ---- NT handles ---- */

static NTSTATUS check_set(struct share *const *shares, uint32_t count)
{
	bool is_known = false;

	if (count == 1)
		is_known = shares[0]->kind != SHARE_KEYED_MUTEX;
	else if (count == SHARE_SET_MAX)
		is_known = shares[0]->kind == SHARE_RESOURCE &&
			   shares[1]->kind == SHARE_KEYED_MUTEX &&
			   shares[2]->kind == SHARE_SYNC_OBJECT;
	if (!is_known)
		return invalid(RULE_API_SHARE_SET, "ObjectHandleArray",
			       "is not a resource, a sync object, or a resource, its keyed mutex "
			       "and its sync object in that order");
	for (uint32_t i = 0; i < count; i++) {
		if (shares[i]->scheme != SHARE_NT)
			return invalid_item(RULE_API_SHARE_SCHEME, "ObjectHandleArray", i,
					    "was not created with NtSecuritySharing");
	}
	return STATUS_SUCCESS;
}

static NTSTATUS check_rights(const struct share_bundle *bundle,
			     const struct share_nt_options *options, const char *argument)
{
	uint32_t missing = options->rights & bundle->withheld[0];

	if (missing == 0)
		return STATUS_SUCCESS;
	return refuse(STATUS_ACCESS_DENIED, RULE_API_RIGHTS, argument,
		      "0x%08x has the right to %s, and what is shared was opened without it",
		      options->access,
		      missing & SHARE_RIGHT_SIGNAL ? "signal"
		      : missing & SHARE_RIGHT_WAIT ? "wait"
						   : "write");
}

/* Among the names of its user, and counted as one. */
static NTSTATUS bundle_set_name(struct share_bundle *bundle, const struct share_nt_options *options)
{
	NTSTATUS status = quota_take(options->ledger, QUOTA_NAMES, 1);

	if (!NT_SUCCESS(status))
		return status;
	bundle->ledger = quota_get(options->ledger);
	bundle->user = options->user;
	bundle->name = name_fold(options->name);
	return bundle->name ? STATUS_SUCCESS : refuse_no_memory("no memory for a name");
}

static NTSTATUS bundle_create(struct share *const *shares, const uint32_t *withheld, uint32_t count,
			      const struct share_nt_options *options,
			      struct share_bundle **bundle_out)
{
	struct share_bundle *bundle = mem_zalloc(sizeof(*bundle));
	NTSTATUS status = STATUS_SUCCESS;

	if (!bundle)
		return refuse_no_memory("no memory for a shared object");
	if (options->name)
		status = bundle_set_name(bundle, options);
	if (!NT_SUCCESS(status)) {
		bundle_free(bundle);
		return status;
	}
	for (uint32_t i = 0; i < count; i++) {
		share_get(shares[i]);
		bundle->shares[i] = shares[i];
		bundle->withheld[i] = withheld ? withheld[i] : 0;
	}
	bundle->count = count;
	list_init(&bundle->link);
	*bundle_out = bundle;
	return STATUS_SUCCESS;
}

NTSTATUS share_create_nt(struct share_table *table, struct share *const *shares,
			 const uint32_t *withheld, uint32_t count,
			 const struct share_nt_options *options, int *descriptor_out)
{
	struct share_bundle *bundle = NULL;
	NTSTATUS status = check_set(shares, count);
	struct list ending;

	/* What nobody has any more counts for no quota. */
	share_sweep(table);
	if (NT_SUCCESS(status))
		status = bundle_create(shares, withheld, count, options, &bundle);
	if (!NT_SUCCESS(status))
		return status;

	list_init(&ending);
	lock_acquire(&table->lock);
	sweep_locked(table, &ending);
	status = check_rights(bundle, options, "DesiredAccess");
	if (NT_SUCCESS(status) && bundle->name &&
	    find_name_locked(table, options->user, bundle->name))
		status = refuse(STATUS_OBJECT_NAME_COLLISION, RULE_API_NAME_TAKEN,
				"pObjectAttributes", "names \"%s\", which is shared already",
				options->name);
	if (NT_SUCCESS(status))
		status = descriptor_create_locked(table, bundle, options, descriptor_out);
	list_push_back(NT_SUCCESS(status) ? &table->bundles : &ending, &bundle->link);
	lock_release(&table->lock);
	end_bundles(&ending);
	return status;
}

static NTSTATUS open_name_locked(struct share_table *table, const char *folded,
				 enum share_kind kind, const struct share_nt_options *options,
				 int *descriptor_out)
{
	struct share_bundle *bundle = find_name_locked(table, options->user, folded);

	lock_assert_held(&table->lock);
	if (!bundle)
		return refuse(STATUS_OBJECT_NAME_NOT_FOUND, RULE_API_NAME, "pObjAttrib",
			      "names \"%s\", and nothing of that name is shared", options->name);
	if (bundle->shares[0]->kind != kind)
		return refuse(STATUS_OBJECT_TYPE_MISMATCH, RULE_API_NT_HANDLE_KIND, "pObjAttrib",
			      "names \"%s\", which is %s, not %s", options->name,
			      global_classes[bundle->shares[0]->kind].name,
			      global_classes[kind].name);
	if (options->access == 0)
		return refuse(STATUS_ACCESS_DENIED, RULE_API_ACCESS, "dwDesiredAccess",
			      "is 0, and a handle that allows nothing is not given");
	NTSTATUS status = check_rights(bundle, options, "dwDesiredAccess");
	if (!NT_SUCCESS(status))
		return status;
	return descriptor_create_locked(table, bundle, options, descriptor_out);
}

NTSTATUS share_open_name(struct share_table *table, enum share_kind kind,
			 const struct share_nt_options *options, int *descriptor_out)
{
	char *folded = name_fold(options->name);

	if (!folded)
		return refuse_no_memory("no memory for a name");
	share_sweep(table);
	lock_acquire(&table->lock);
	NTSTATUS status = open_name_locked(table, folded, kind, options, descriptor_out);
	lock_release(&table->lock);
	mem_free(folded);
	return status;
}

/* The descriptor whose read end, or a copy of it, has this number. */
static struct share_descriptor *find_descriptor_locked(struct share_table *table,
						       uintptr_t nt_handle)
{
	struct stat pipe;

	lock_assert_held(&table->lock);
	if (nt_handle > INT_MAX || fstat((int)nt_handle, &pipe) != 0)
		return NULL;
	list_each (struct share_descriptor, descriptor, &table->descriptors, link) {
		if (descriptor->write_end.inode == pipe.st_ino &&
		    descriptor->write_end.device == pipe.st_dev &&
		    descriptor->write_end.number != (int)nt_handle)
			return descriptor;
	}
	return NULL;
}

static NTSTATUS find_nt_locked(struct share_table *table, uintptr_t nt_handle, enum share_kind kind,
			       const char *argument, struct share_set *set_out)
{
	struct share_descriptor *descriptor = find_descriptor_locked(table, nt_handle);

	lock_assert_held(&table->lock);
	if (!descriptor)
		return refuse(STATUS_INVALID_HANDLE, RULE_API_NT_HANDLE, argument,
			      "0x%zx is no descriptor of a shared object", nt_handle);
	struct share_bundle *bundle = descriptor->bundle;
	enum share_kind found = bundle->shares[0]->kind;
	if (found != kind)
		return refuse(STATUS_OBJECT_TYPE_MISMATCH, RULE_API_NT_HANDLE_KIND, argument,
			      "%d is the NT handle of %s, not of %s", (int)nt_handle,
			      global_classes[found].name, global_classes[kind].name);
	*set_out = (struct share_set){ .count = bundle->count, .rights = descriptor->rights };
	for (uint32_t i = 0; i < bundle->count; i++) {
		share_get(bundle->shares[i]);
		set_out->shares[i] = bundle->shares[i];
		set_out->withheld[i] = bundle->withheld[i];
	}
	return STATUS_SUCCESS;
}

NTSTATUS share_find_nt(struct share_table *table, uintptr_t nt_handle, enum share_kind kind,
		       const char *argument, struct share_set *set_out)
{
	share_sweep(table);
	lock_acquire(&table->lock);
	NTSTATUS status = find_nt_locked(table, nt_handle, kind, argument, set_out);
	lock_release(&table->lock);
	return status;
}

void share_set_put(struct share_set *set)
{
	while (set->count > 0)
		share_put(set->shares[--set->count]);
}

void share_for_each_bundled(struct share_table *table,
			    void (*visit)(void *context, struct share *share), void *context)
{
	lock_acquire(&table->lock);
	list_each (struct share_bundle, bundle, &table->bundles, link) {
		for (uint32_t i = 0; i < bundle->count; i++)
			visit(context, bundle->shares[i]);
	}
	lock_release(&table->lock);
}

const char *share_table_validate(struct share_table *table)
{
	struct list *link;
	uint32_t published;
	uint32_t count = 0;

	lock_acquire(&table->lock);
	list_for_each (link, &table->descriptors)
		count++;
	bool is_right = count == atomic_load(&table->descriptor_count);
	lock_release(&table->lock);
	return is_right ? handle_table_validate(&table->globals, &published)
			: "descriptors of NT handles are miscounted";
}
