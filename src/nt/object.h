/* SPDX-License-Identifier: MIT */
/*
 * object.h - what an NT handle names, and the handles.
 *
 * A driver sees the body of an object (PKTHREAD, PKEVENT, PDEVICE_OBJECT, …); the header that
 * counts its references stands directly in front of it, as on NT. So a type of objects is laid out
 *
 *	struct nt_thread {
 *		struct nt_object object;
 *		DISPATCHER_HEADER header;	<- the body: what the driver is given
 *		…
 *	};
 *	_Static_assert(offsetof(struct nt_thread, header) == sizeof(struct nt_object), "");
 *
 * and both directions are arithmetic. The magic tells a pointer to something else, or to an object
 * that is gone, from an object; a driver that passes one is reported and nothing is touched.
 */
#ifndef NT_OBJECT_H
#define NT_OBJECT_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/refcount.h"
#include "base/status.h"

/* Only identity and name: compared by address, and what PsThreadType and its kin point at. */
struct nt_object_type {
	const char *name;
};

extern const struct nt_object_type nt_type_thread;
extern const struct nt_object_type nt_type_process;
extern const struct nt_object_type nt_type_event;
extern const struct nt_object_type nt_type_semaphore;
extern const struct nt_object_type nt_type_file;
extern const struct nt_object_type nt_type_section;
extern const struct nt_object_type nt_type_key;
extern const struct nt_object_type nt_type_device;
extern const struct nt_object_type nt_type_driver;

struct nt_object {
	const struct nt_object_type *type;
	/* Called without locks once the last reference is gone; frees what surrounds the header. */
	void (*destroy)(struct nt_object *object);
	struct refcount refs;
	uint32_t magic;
	uint64_t reserved; /* keeps the body 16-byte aligned */
} __attribute__((aligned(16)));

/* One reference, the caller's. */
void nt_object_init(struct nt_object *object, const struct nt_object_type *type,
		    void (*destroy)(struct nt_object *object));

static inline void *nt_object_body(struct nt_object *object)
{
	return object + 1;
}

/* NULL when `body` does not follow a live header. `body` is readable memory or NULL. */
struct nt_object *nt_object_from_body(const void *body);

void nt_object_get(struct nt_object *object);

/* Accepts NULL. */
void nt_object_put(struct nt_object *object);

/* A new handle; it holds a reference of its own. Never zero, a multiple of four. */
MUST_CHECK NTSTATUS nt_handle_open(struct nt_object *object, void **handle_out);

/*
 * Takes a reference. STATUS_INVALID_HANDLE when it names nothing, STATUS_OBJECT_TYPE_MISMATCH when
 * it names something else (`type` NULL accepts all). Not a refusal by itself: the caller knows
 * which routine was asked.
 */
MUST_CHECK NTSTATUS nt_handle_get(void *handle, const struct nt_object_type *type,
				  struct nt_object **object_out);

/* STATUS_INVALID_HANDLE when it names nothing. */
NTSTATUS nt_handle_close(void *handle);

/* Closes what is still open and gives the table back. For the end, and for tests. */
void nt_handle_finish(void);

#endif
