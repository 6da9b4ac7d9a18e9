/* SPDX-License-Identifier: MIT */
/*
 * guest.c - see guest.h.
 *
 * A call passes two gates: the one of all guests, which a recount closes, and its guest's own, which
 * the guest's end closes. So the end of one waits for its calls alone.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/client_call.h"
#include "base/gate.h"
#include "base/list.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refcount.h"
#include "base/refusal.h"
#include "embed/guest.h"

struct guest {
	struct refcount refs;        /* its creator, and threads that are in it */
	struct gate gate;            /* LOCK_RANK_CLIENT */
	struct dxg_process *process; /* NULL: it has ended; changed with the gate closed */
	struct list link;            /* guests.all */
	uint64_t handles_drawn;      /* when it has ended */
	char name[PROCESS_NAME_BYTES + 16];

	bool is_shown_here;       /* views of its calls are mapped in this process */
	struct lock views_lock;   /* LOCK_RANK_CLIENT_ARENA */
	struct shown_view *views; /* what is mapped in its arena; guarded by it */
	uint32_t view_count;
	uint32_t view_capacity;
	struct whole_file *files; /* that it was let write to, mapped before they may be sealed */
};

struct whole_file {
	struct whole_file *next;
	uint32_t number;
	uint64_t size_bytes;
	char *source;
};

struct shown_view {
	uint64_t address;
	uint64_t page_count;
	uint64_t stamp;
};

static struct {
	struct gate gate; /* LOCK_RANK_CLIENTS */
	struct lock lock; /* LOCK_RANK_LEAF */
	struct list all;  /* guest.link: those that live */
} guests = {
	.gate = GATE_INITIALIZER(LOCK_RANK_CLIENTS, "guests"),
	.lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "guests"),
	.all = { &guests.all, &guests.all },
};

static _Thread_local struct guest *current;
static _Thread_local struct client_call current_call; /* of one with an arena */
static void (*_Atomic watcher)(void *address, unsigned long long page_count, int descriptor,
			       unsigned long long first_page);

void guest_get(struct guest *guest)
{
	refcount_get(&guest->refs);
}

void guest_put(struct guest *guest)
{
	if (!guest || !refcount_put(&guest->refs))
		return;
	gate_finish(&guest->gate);
	lock_finish(&guest->views_lock);
	free(guest->views); /* not the kernel's */
	while (guest->files) {
		struct whole_file *file = guest->files;

		guest->files = file->next;
		munmap(file->source, file->size_bytes);
		free(file);
	}
	mem_free(guest);
}

/* ---- what the library of a client in another process would do ---- */

void guest_show_here(struct guest *guest)
{
	guest->is_shown_here = true;
}

void guest_watch_views(void (*watch)(void *address, unsigned long long page_count, int descriptor,
				     unsigned long long first_page))
{
	atomic_store(&watcher, watch);
}

NTSTATUS guest_bring(uint64_t address, uint64_t size_bytes, int descriptor, uint64_t offset)
{
	return client_call_bring(&current_call, address, size_bytes, descriptor, offset);
}

static bool overlaps(const struct shown_view *shown, const struct client_view *view)
{
	return shown->address < view->address + view->page_count * MACHINE_PAGE_BYTES &&
	       view->address < shown->address + shown->page_count * MACHINE_PAGE_BYTES;
}

/* False: it is mapped already. Otherwise it is the only one that is known there. */
static bool view_note_locked(struct guest *guest, const struct client_view *view)
{
	uint32_t kept = 0;

	lock_assert_held(&guest->views_lock);
	for (uint32_t i = 0; i < guest->view_count; i++) {
		if (guest->views[i].address == view->address &&
		    guest->views[i].stamp == view->stamp)
			return false;
	}
	for (uint32_t i = 0; i < guest->view_count; i++) {
		if (!overlaps(&guest->views[i], view))
			guest->views[kept++] = guest->views[i];
	}
	guest->view_count = kept;
	if (kept == guest->view_capacity) {
		uint32_t capacity = kept * 2 + 16;
		struct shown_view *views = realloc(guest->views, capacity * sizeof(*views));

		if (!views)
			abort();
		guest->views = views;
		guest->view_capacity = capacity;
	}
	guest->views[guest->view_count++] =
		(struct shown_view){ view->address, view->page_count, view->stamp };
	return true;
}

static struct whole_file *find_file_locked(const struct guest *guest, uint32_t number)
{
	struct whole_file *file = guest->files;

	lock_assert_held(&guest->views_lock);
	while (file && file->number != number)
		file = file->next;
	return file;
}

static void map_whole_locked(struct guest *guest, uint32_t number)
{
	struct whole_file *file = calloc(1, sizeof(*file));
	int descriptor = client_file_descriptor(number);
	struct stat facts;

	lock_assert_held(&guest->views_lock);
	if (!file || fstat(descriptor, &facts) != 0)
		abort();
	file->number = number;
	file->size_bytes = (uint64_t)facts.st_size;
	file->source = mmap(NULL, file->size_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE, descriptor, 0);
	/* Sealed meanwhile, or there is no slot for it: then its pages are mapped one by one. */
	if (file->source == MAP_FAILED) {
		free(file);
		return;
	}
	file->next = guest->files;
	guest->files = file;
}

static void *show(const struct whole_file *whole, void *at, const struct client_view_run *run,
		  int protection)
{
	uint64_t size_bytes = run->page_count * MACHINE_PAGE_BYTES;
	uint64_t offset = run->first_page * MACHINE_PAGE_BYTES;
	void *shown = MAP_FAILED;

	if (whole && (protection & PROT_WRITE))
		shown = mremap(whole->source + offset, 0, size_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			       at);
	if (shown != MAP_FAILED)
		return shown;
	return mmap(at, size_bytes, protection, MAP_SHARED | MAP_FIXED,
		    client_file_descriptor(run->file), (off_t)offset);
}

static void run_map_locked(const struct guest *guest, uint64_t address,
			   const struct client_view_run *run, bool is_writable)
{
	int descriptor = client_file_descriptor(run->file);
	void (*watch)(void *, unsigned long long, int, unsigned long long) = atomic_load(&watcher);
	void *at = (void *)(uintptr_t)address;

	lock_assert_held(&guest->views_lock);
	if (show(find_file_locked(guest, run->file), at, run,
		 is_writable ? PROT_READ | PROT_WRITE : PROT_READ) == MAP_FAILED)
		abort();
	if (watch)
		watch(at, run->page_count, descriptor, run->first_page);
}

static void view_map_locked(struct guest *guest, const struct client_call *call,
			    const struct client_view *view)
{
	uint64_t address = view->address;

	lock_assert_held(&guest->views_lock);
	if (view->page_count == 0 && !find_file_locked(guest, call->runs[view->first_run].file))
		map_whole_locked(guest, call->runs[view->first_run].file);
	if (view->page_count == 0)
		return;

	for (uint32_t i = 0; i < view->run_count; i++) {
		const struct client_view_run *run = &call->runs[view->first_run + i];

		run_map_locked(guest, address, run, view->kind == CLIENT_VIEW_WRITTEN);
		address += run->page_count * MACHINE_PAGE_BYTES;
	}
}

static void views_apply(struct guest *guest, struct client_call *call)
{
	lock_acquire(&guest->views_lock);
	for (uint32_t i = 0; i < call->view_count; i++) {
		if (call->views[i].page_count == 0 || view_note_locked(guest, &call->views[i]))
			view_map_locked(guest, call, &call->views[i]);
	}
	lock_release(&guest->views_lock);
}

NTSTATUS guest_create(struct dxg_kernel *kernel, const struct process_identity *identity,
		      const struct process_arena *arena, struct guest **guest_out)
{
	struct guest *guest = mem_zalloc(sizeof(*guest));

	if (!guest)
		return refuse_no_memory("no memory for a client");
	refcount_init(&guest->refs);
	gate_init(&guest->gate, LOCK_RANK_CLIENT, "guest");
	lock_init(&guest->views_lock, LOCK_RANK_CLIENT_ARENA, "views of a guest");
	snprintf(guest->name, sizeof(guest->name), "%s[%u]", identity->name, identity->pid);
	struct process_identity who = *identity;
	who.calls[0] = &guests.gate;
	who.calls[1] = &guest->gate;
	gate_enter(&guests.gate);
	NTSTATUS status = process_create(kernel, &who, arena, &guest->process);
	if (NT_SUCCESS(status)) {
		lock_acquire(&guests.lock);
		list_push_back(&guests.all, &guest->link);
		lock_release(&guests.lock);
	}
	gate_leave(&guests.gate);
	if (NT_SUCCESS(status))
		*guest_out = guest;
	else
		guest_put(guest);
	return status;
}

uint64_t guest_handles_drawn(const struct guest *guest)
{
	return guest->handles_drawn;
}

void guest_continue(struct guest *guest, uint64_t handles_drawn)
{
	handle_table_continue(&guest->process->handles, handles_drawn);
}

struct guest *guest_enter(struct guest *guest)
{
	struct guest *before = current;

	if (guest)
		refcount_get(&guest->refs);
	current = guest;
	guest_put(before);
	return before;
}

struct guest *guest_current(void)
{
	return current;
}

const char *guest_name(const struct guest *guest)
{
	return guest->name;
}

struct dxg_process *guest_go_in(struct guest *guest)
{
	gate_enter(&guests.gate);
	gate_enter(&guest->gate);
	if (guest->is_shown_here)
		client_call_begin(&current_call);
	return guest->process;
}

void guest_come_out(struct guest *guest)
{
	if (guest->is_shown_here)
		client_call_end();
	gate_leave(&guest->gate);
	gate_leave(&guests.gate);
	if (guest->is_shown_here) {
		views_apply(guest, &current_call);
		client_call_finish(&current_call);
	}
}

struct machine_bank_usage guest_bank_usage(struct guest *guest)
{
	struct machine_bank_usage usage = { 0 };

	gate_enter(&guests.gate);
	gate_enter(&guest->gate);
	if (guest->process)
		usage = machine_bank_usage(guest->process->bank);
	gate_leave(&guest->gate);
	gate_leave(&guests.gate);
	return usage;
}

/* False: another thread ends it. */
static bool guest_unlist(struct guest *guest)
{
	lock_acquire(&guests.lock);
	bool is_listed = list_is_linked(&guest->link);
	list_remove(&guest->link);
	lock_release(&guests.lock);
	return is_listed;
}

/* Like a call it stands at the gate of all: whoever recounts finds it begun or over. */
static void process_end(struct guest *guest)
{
	gate_enter(&guests.gate);
	gate_shut(&guest->gate);
	process_cancel_waits(guest->process);
	gate_drain(&guest->gate);
	guest->handles_drawn = handle_table_drawn(&guest->process->handles);
	process_destroy(guest->process);
	guest->process = NULL;
	gate_open(&guest->gate);
	gate_leave(&guests.gate);
}

void guest_close(struct guest *guest)
{
	if (guest_unlist(guest))
		process_end(guest);
}

void guest_end(struct guest *guest)
{
	guest_close(guest);
	guest_put(guest);
}

static struct guest *first_left(void)
{
	lock_acquire(&guests.lock);
	struct guest *guest = list_is_empty(&guests.all)
				      ? NULL
				      : container_of(guests.all.next, struct guest, link);
	if (guest)
		refcount_get(&guest->refs);
	lock_release(&guests.lock);
	return guest;
}

void guests_end(void)
{
	struct guest *guest;

	while ((guest = first_left()) != NULL) {
		guest_close(guest);
		guest_put(guest);
	}
}

void guests_close(void)
{
	gate_close_to_look(&guests.gate);
}

bool guests_close_until(uint64_t deadline_ns)
{
	return gate_close_to_look_until(&guests.gate, deadline_ns);
}

void guests_open(void)
{
	gate_open(&guests.gate);
}

void guests_go_in(void)
{
	gate_enter(&guests.gate);
}

void guests_come_out(void)
{
	gate_leave(&guests.gate);
}

void guests_name_busy(char *names, size_t size_bytes)
{
	size_t used = 0;

	lock_acquire(&guests.lock);
	list_each (struct guest, guest, &guests.all, link) {
		if (used < size_bytes && gate_is_busy(&guest->gate))
			used += (size_t)snprintf(names + used, size_bytes - used, "%s%s",
						 used > 0 ? ", " : "", guest->name);
	}
	lock_release(&guests.lock);
}
