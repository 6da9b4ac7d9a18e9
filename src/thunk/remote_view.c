/* SPDX-License-Identifier: MIT */
/*
 * remote_view.c - what the server shows, at addresses of this process.
 *
 *	arena   |  view A  |···· nothing ····|  view B  |·················   reserved here, given out there
 *	            │ │                           └──────────┐
 *	files   ····▼·▼·······················▼··············▼···········   this process's own, and shared ones
 *
 * A reply that has an address in it has its view, too, with a stamp: who finds the same stamp has it
 * mapped already. A view keeps its addresses for as long as what it shows lives, so a program's pointer
 * stays good.
 *
 * A descriptor is a number that the program may close; a mapping is not. So a file is mapped as a
 * whole, and its pages are shown a second time from there (mremap of nothing). Where the host cannot do
 * that (valgrind) the descriptor is kept.
 *
 * Locks: views.lock, held while the host changes mappings: who finds a stamp finds the pages.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/client_call.h"
#include "base/rbtree.h"
#include "base/refusal.h"
#include "thunk/remote.h"

#define PAGE_BYTES UINT64_C(4096)

/* As much as the host gives us; sanitizers and limits leave less. */
#define ARENA_MOST_BYTES  (UINT64_C(1) << 40)
#define ARENA_LEAST_BYTES (UINT64_C(1) << 30)

enum { BUCKETS = 1024, GONE_KEPT = 256 };

struct file {
	struct file *next;
	uint32_t number;
	uint64_t size_bytes;
	char *source; /* all of it */
	bool is_writable;
	struct own_fd kept; /* where a mapping cannot be shown twice */
};

struct view {
	struct rb_node node; /* views.tree, by address; they do not overlap */
	uint64_t address;
	uint64_t size_bytes;
	uint64_t stamp;
	enum client_view_kind kind;
};

static struct {
	struct lock lock; /* LOCK_RANK_SESSION */
	char *arena;
	uint64_t arena_bytes;
	struct file *files[BUCKETS];
	uint32_t gone[GONE_KEPT]; /* the last files that ended: nobody waits for one of them */
	uint32_t gone_count;
	struct rb_tree tree;
} views = { .lock = LOCK_INITIALIZER(LOCK_RANK_SESSION, "views of the server's memory") };

bool remote_arena_reserve(uint64_t *address_out, uint64_t *size_bytes_out)
{
	uint64_t size_bytes = ARENA_MOST_BYTES;

	while (!views.arena && size_bytes >= ARENA_LEAST_BYTES) {
		void *reserved = mmap(NULL, size_bytes, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (reserved != MAP_FAILED) {
			views.arena = reserved;
			views.arena_bytes = size_bytes;
		}
		size_bytes /= 2;
	}
	*address_out = (uintptr_t)views.arena;
	*size_bytes_out = views.arena_bytes;
	return views.arena != NULL;
}

/* ---- files ---- */

static bool shows_itself(const struct file *file)
{
	void *view = mremap(file->source, 0, PAGE_BYTES, MREMAP_MAYMOVE);

	return view != MAP_FAILED && munmap(view, PAGE_BYTES) == 0;
}

/* What the server has sealed is for reading, whoever asks: fences, and what this process may only read. */
static bool map_whole(struct file *file, int descriptor)
{
	void *source = mmap(NULL, file->size_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE, descriptor, 0);

	file->is_writable = source != MAP_FAILED;
	if (source == MAP_FAILED)
		source = mmap(NULL, file->size_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE,
			      descriptor, 0);
	file->source = source == MAP_FAILED ? NULL : source;
	return file->source != NULL;
}

static struct file *find_file_locked(uint32_t number)
{
	struct file *file = views.files[number % BUCKETS];

	lock_assert_held(&views.lock);
	while (file && file->number != number)
		file = file->next;
	return file;
}

static void file_free(struct file *file)
{
	if (file->source)
		munmap(file->source, file->size_bytes);
	own_fd_close(&file->kept);
	free(file);
}

static void note_gone(uint32_t number)
{
	lock_acquire(&views.lock);
	views.gone[views.gone_count++ % GONE_KEPT] = number;
	lock_release(&views.lock);
}

/* NULL: the host does not map it, or there is no memory. The descriptor is closed, or kept. */
static struct file *file_open(uint32_t number, int descriptor, uint64_t size_bytes)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file) {
		close(descriptor);
		return NULL;
	}
	file->number = number;
	file->size_bytes = size_bytes;
	file->kept = (struct own_fd)OWN_FD_NONE;
	bool is_mapped = map_whole(file, descriptor);
	if (!is_mapped || shows_itself(file))
		close(descriptor);
	else
		is_mapped = own_fd_keep(descriptor, &file->kept);
	if (is_mapped)
		return file;
	file_free(file);
	return NULL;
}

void remote_file_came(uint32_t number, int descriptor, uint64_t size_bytes)
{
	struct file *file = descriptor >= 0 ? file_open(number, descriptor, size_bytes) : NULL;

	lock_acquire(&views.lock);
	bool is_new = file && !find_file_locked(number);
	if (is_new) {
		file->next = views.files[number % BUCKETS];
		views.files[number % BUCKETS] = file;
	}
	lock_release(&views.lock);
	if (!file)
		note_gone(number); /* or whoever is shown it would wait for it */
	else if (!is_new)
		file_free(file);
	notice_give(&remote.changed);
}

void remote_file_gone(uint32_t number)
{
	struct file *found = NULL;

	lock_acquire(&views.lock);
	for (struct file **link = &views.files[number % BUCKETS]; *link; link = &(*link)->next) {
		if ((*link)->number == number) {
			found = *link;
			*link = found->next;
			break;
		}
	}
	lock_release(&views.lock);
	note_gone(number);
	if (found)
		file_free(found);
	notice_give(&remote.changed);
}

static bool is_gone_locked(uint32_t number)
{
	lock_assert_held(&views.lock);
	for (uint32_t i = 0; i < GONE_KEPT; i++) {
		if (views.gone[i] == number)
			return true;
	}
	return false;
}

/*
 * The message with it was sent before the reply. Another thread may have destroyed what is shown
 * meanwhile, and the file with it.
 */
static void await_file(uint32_t number)
{
	for (;;) {
		uint32_t seen = notice_read(&remote.changed);

		lock_acquire(&views.lock);
		bool is_there = find_file_locked(number) != NULL || is_gone_locked(number);
		lock_release(&views.lock);
		if (is_there || atomic_load(&remote.is_over))
			return;
		notice_wait(&remote.changed, seen, CLOCK_FOREVER);
	}
}

/* ---- views ---- */

static void *show_kept(struct file *file, char *at, uint64_t offset, uint64_t size_bytes)
{
	int descriptor = own_fd_use(&file->kept, "memory of dxgkd cannot be shown any more");

	if (descriptor < 0)
		return MAP_FAILED;
	return mmap(at, size_bytes, PROT_READ | (file->is_writable ? PROT_WRITE : 0),
		    MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor, (off_t)offset);
}

static bool run_show_locked(const struct wire_run *run, char *at, bool is_writable)
{
	struct file *file = find_file_locked(run->file);
	uint64_t offset = run->first_page * PAGE_BYTES;
	uint64_t size_bytes = run->page_count * PAGE_BYTES;
	void *shown;

	lock_assert_held(&views.lock);
	if (!file || offset > file->size_bytes || size_bytes > file->size_bytes - offset)
		return false;
	if (file->kept.number >= 0)
		shown = show_kept(file, at, offset, size_bytes);
	else
		shown = mremap(file->source + offset, 0, size_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			       at);
	return shown != MAP_FAILED &&
	       (is_writable || !file->is_writable || mprotect(at, size_bytes, PROT_READ) == 0);
}

static struct view *view_of(struct rb_node *node)
{
	return node ? container_of(node, struct view, node) : NULL;
}

/* The first one that ends behind `address`. */
static struct view *find_view_locked(uint64_t address)
{
	struct rb_node *node = views.tree.root;
	struct view *found = NULL;

	lock_assert_held(&views.lock);
	while (node) {
		struct view *view = view_of(node);

		if (view->address + view->size_bytes > address) {
			found = view;
			node = node->left;
		} else {
			node = node->right;
		}
	}
	return found;
}

/* What was shown at addresses that are another view's now is not there any more. */
static void forget_overlapped_locked(uint64_t address, uint64_t size_bytes)
{
	struct view *view;

	lock_assert_held(&views.lock);
	while ((view = find_view_locked(address)) != NULL && view->address < address + size_bytes) {
		rb_remove(&views.tree, &view->node);
		free(view);
	}
}

static struct view *make_view_locked(const struct wire_view *wanted)
{
	struct view *view = calloc(1, sizeof(*view));

	lock_assert_held(&views.lock);
	if (!view)
		return NULL;
	view->address = wanted->address;
	view->size_bytes = wanted->page_count * PAGE_BYTES;
	forget_overlapped_locked(view->address, view->size_bytes);
	struct view *next = find_view_locked(view->address);
	rb_insert_before(&views.tree, &view->node, next ? &next->node : NULL);
	return view;
}

/* False: this process could have been let write to the file before it was sealed, and was not in time. */
static bool may_show_locked(const struct wire_view *wanted, const struct wire_run *runs)
{
	lock_assert_held(&views.lock);
	for (uint32_t i = 0; wanted->kind == CLIENT_VIEW_WRITTEN && i < wanted->run_count; i++) {
		const struct file *file = find_file_locked(runs[i].file);

		if (file && !file->is_writable)
			return false;
	}
	return true;
}

static bool view_show_locked(const struct wire_view *wanted, const struct wire_run *runs)
{
	struct view *view = find_view_locked(wanted->address);
	char *at = (char *)(uintptr_t)wanted->address;

	lock_assert_held(&views.lock);
	if (view && view->address == wanted->address && view->stamp == wanted->stamp)
		return true;
	view = make_view_locked(wanted);
	if (!view)
		return false;
	for (uint32_t i = 0; i < wanted->run_count; i++) {
		if (!run_show_locked(&runs[i], at, wanted->kind == CLIENT_VIEW_WRITTEN))
			return false;
		at += runs[i].page_count * PAGE_BYTES;
	}
	view->stamp = wanted->stamp;
	view->kind = (enum client_view_kind)wanted->kind;
	return true;
}

NTSTATUS remote_views_show(const struct wire_view *wanted, uint32_t count,
			   const struct wire_run *runs)
{
	bool is_shown = true;
	bool may_show = true;

	for (uint32_t i = 0; i < count && is_shown && may_show; i++) {
		for (uint32_t j = 0; j < wanted[i].run_count; j++)
			await_file(runs[j].file);
		lock_acquire(&views.lock);
		/* Without pages: it was for the file, which is here or does not come. */
		if (wanted[i].page_count > 0) {
			may_show = may_show_locked(&wanted[i], runs);
			is_shown = !may_show || view_show_locked(&wanted[i], runs);
		}
		lock_release(&views.lock);
		runs += wanted[i].run_count;
	}
	if (!may_show)
		return refuse(STATUS_ACCESS_DENIED, RULE_MM_LOCK_SHARED, NULL,
			      "a process that may only read the memory was shown it first: nobody "
			      "else can be let write to it any more");
	if (!is_shown && atomic_load(&remote.is_over))
		return STATUS_DEVICE_REMOVED;
	return is_shown ? STATUS_SUCCESS
			: refuse(STATUS_NO_MEMORY, RULE_MM_NO_MAPPINGS, NULL,
				 "the host does not map what the server shows: too many mappings");
}

/* ---- the end ---- */

/* Whoever looks at the value of a fence sees that nothing is waited for. Memory stays as it is. */
static void end_fences_locked(const struct view *view)
{
	char *at = (char *)(uintptr_t)view->address;

	lock_assert_held(&views.lock);
	if (view->kind != CLIENT_VIEW_VALUES)
		return;
	/* Elsewhere first: nobody is to see a zero in between. */
	void *ones = mmap(NULL, view->size_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ones == MAP_FAILED)
		return;
	memset(ones, 0xff, view->size_bytes);
	mprotect(ones, view->size_bytes, PROT_READ);
	if (mremap(ones, view->size_bytes, view->size_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) ==
	    MAP_FAILED)
		munmap(ones, view->size_bytes);
}

void remote_views_end(void)
{
	lock_acquire(&views.lock);
	for (struct rb_node *node = rb_first(&views.tree); node; node = rb_next(node))
		end_fences_locked(view_of(node));
	lock_release(&views.lock);
}

void remote_views_forget(void)
{
	lock_acquire(&views.lock);
	while (views.tree.root) {
		struct view *view = view_of(views.tree.root);

		rb_remove(&views.tree, &view->node);
		free(view);
	}
	for (uint32_t i = 0; i < BUCKETS; i++) {
		while (views.files[i]) {
			struct file *file = views.files[i];
			views.files[i] = file->next;
			file_free(file);
		}
	}
	memset(views.gone, 0, sizeof(views.gone));
	lock_release(&views.lock);
}
