/* SPDX-License-Identifier: MIT */
/*
 * object_test.c - references, handles, and the routines that use them.
 */
#include "nt_harness.h"

struct thing {
	struct nt_object object;
	uint64_t body[2];
};

static unsigned destroyed;

static void thing_destroy(struct nt_object *object)
{
	destroyed++;
	mem_free(container_of(object, struct thing, object));
}

static struct thing *thing_create(const struct nt_object_type *type)
{
	struct thing *thing = mem_zalloc(sizeof(*thing));

	nt_object_init(&thing->object, type, thing_destroy);
	return thing;
}

static void keep(struct nt_object *object)
{
	(void)object;
}

TEST(object, the_body_finds_its_header_and_nothing_else_does)
{
	uint64_t other[16] = { 0 };
	struct thing *thing = thing_create(&nt_type_file);

	EXPECT(nt_object_body(&thing->object) == thing->body);
	EXPECT(nt_object_from_body(thing->body) == &thing->object);
	EXPECT(!nt_object_from_body(NULL));
	EXPECT(!nt_object_from_body(&other[8]));
	EXPECT(!nt_object_from_body((char *)thing->body + 4));
	EXPECT_EQ((uintptr_t)thing->body % 16, 0);
	thing->object.destroy = keep;
	nt_object_put(&thing->object);
	EXPECT(!nt_object_from_body(thing->body)); /* it is no object any more */
	mem_free(thing);
}

TEST(object, a_handle_holds_a_reference_of_its_own)
{
	struct thing *thing = thing_create(&nt_type_file);
	void *handle;
	struct nt_object *found;

	destroyed = 0;
	EXPECT_EQ(nt_handle_open(&thing->object, &handle), STATUS_SUCCESS);
	nt_object_put(&thing->object);
	EXPECT_EQ(destroyed, 0);
	EXPECT(handle && ((uintptr_t)handle & 3) == 0);
	EXPECT_EQ(nt_handle_get(handle, &nt_type_file, &found), STATUS_SUCCESS);
	EXPECT(found == &thing->object);
	EXPECT_EQ(nt_handle_get(handle, &nt_type_event, &found), STATUS_OBJECT_TYPE_MISMATCH);
	EXPECT_EQ(nt_handle_close(handle), STATUS_SUCCESS);
	EXPECT_EQ(destroyed, 0);
	EXPECT_EQ(nt_handle_get(handle, NULL, &found), STATUS_INVALID_HANDLE);
	EXPECT_EQ(nt_handle_close(handle), STATUS_INVALID_HANDLE);
	nt_object_put(&thing->object);
	EXPECT_EQ(destroyed, 1);
	nt_handle_finish();
}

TEST(object, nonsense_handles_name_nothing)
{
	struct thing *thing = thing_create(&nt_type_file);
	void *handle;
	struct nt_object *found;

	EXPECT_EQ(nt_handle_open(&thing->object, &handle), STATUS_SUCCESS);
	const uintptr_t wrong[] = { 0,
				    1,
				    4,
				    UINTPTR_MAX,
				    UINTPTR_MAX - 3,
				    (uintptr_t)handle + 1,
				    (uintptr_t)handle + 4,
				    (uintptr_t)handle - 4,
				    (uint32_t)(uintptr_t)handle };
	for (size_t i = 0; i < ARRAYSIZE(wrong); i++)
		EXPECT_EQ(nt_handle_get((void *)wrong[i], NULL, &found), STATUS_INVALID_HANDLE);
	nt_object_put(&thing->object);
	destroyed = 0;
	nt_handle_finish(); /* closes what is left */
	EXPECT_EQ(destroyed, 1);
	EXPECT_EQ(nt_handle_get(handle, NULL, &found), STATUS_INVALID_HANDLE);
}

TEST(object, a_closed_handle_is_not_used_again_soon)
{
	struct thing *thing = thing_create(&nt_type_file);
	void *first;
	void *handle;

	EXPECT_EQ(nt_handle_open(&thing->object, &first), STATUS_SUCCESS);
	EXPECT_EQ(nt_handle_close(first), STATUS_SUCCESS);
	for (int i = 0; i < 60; i++) {
		EXPECT_EQ(nt_handle_open(&thing->object, &handle), STATUS_SUCCESS);
		EXPECT(handle != first);
		EXPECT_EQ(nt_handle_close(handle), STATUS_SUCCESS);
	}
	nt_object_put(&thing->object);
	nt_handle_finish();
}

TEST(object, a_thousand_handles_are_all_different_and_survive_growth)
{
	enum { COUNT = 1000 };
	struct thing *thing = thing_create(&nt_type_file);
	static void *handles[COUNT];

	destroyed = 0;
	for (int i = 0; i < COUNT; i++)
		EXPECT_EQ(nt_handle_open(&thing->object, &handles[i]), STATUS_SUCCESS);
	nt_object_put(&thing->object);
	for (int i = 0; i < COUNT; i++) {
		EXPECT(i == 0 || handles[i] != handles[i - 1]);
		EXPECT_EQ(nt_handle_close(handles[i]), STATUS_SUCCESS);
	}
	EXPECT_EQ(destroyed, 1);
	nt_handle_finish();
}

TEST(object, no_memory_for_a_handle_is_a_status)
{
	struct thing *thing = thing_create(&nt_type_file);
	void *handle;

	mem_fail_nth(1);
	EXPECT_EQ(nt_handle_open(&thing->object, &handle), STATUS_INSUFFICIENT_RESOURCES);
	EXPECT(mem_fail_stop());
	destroyed = 0;
	nt_object_put(&thing->object);
	EXPECT_EQ(destroyed, 1);
}

NT_TEST(object, drivers_reference_events_by_handle_and_wait_for_them)
{
	HANDLE handle;
	PVOID body;
	LONG previous;
	LARGE_INTEGER now = { .QuadPart = 0 };
	OBJECT_HANDLE_INFORMATION information;

	EXPECT_EQ(ZwCreateEvent(&handle, EVENT_ALL_ACCESS, NULL, SynchronizationEvent, FALSE),
		  STATUS_SUCCESS);
	EXPECT_EQ(ObReferenceObjectByHandle(handle, EVENT_MODIFY_STATE, *ExEventObjectType,
					    KernelMode, &body, &information),
		  STATUS_SUCCESS);
	EXPECT_EQ(information.GrantedAccess, EVENT_MODIFY_STATE);
	EXPECT_EQ(nt_test_poll(body), STATUS_TIMEOUT);
	EXPECT_EQ(ZwSetEvent(handle, &previous), STATUS_SUCCESS);
	EXPECT_EQ(previous, 0);
	EXPECT_EQ(ZwWaitForSingleObject(handle, FALSE, &now), STATUS_SUCCESS);
	EXPECT_EQ(ZwWaitForSingleObject(handle, FALSE, &now), STATUS_TIMEOUT);
	EXPECT_EQ(ZwClose(handle), STATUS_SUCCESS);
	KeSetEvent(body, 0, FALSE); /* the reference keeps it */
	EXPECT_EQ(nt_test_poll(body), STATUS_SUCCESS);
	EXPECT_EQ(ObReferenceObject(body), 2);
	EXPECT_EQ(ObDereferenceObject(body), 1);
	EXPECT_EQ(ObOpenObjectByPointer(body, 0, NULL, 0, *ExEventObjectType, KernelMode, &handle),
		  STATUS_SUCCESS);
	EXPECT_EQ(ObDereferenceObject(body), 1);
	EXPECT_EQ(ZwClose(handle), STATUS_SUCCESS);

	PKEVENT event = IoCreateNotificationEvent(NULL, &handle);
	EXPECT_EQ(KeReadStateEvent(event), 1); /* documented: created signaled */
	EXPECT_EQ(ZwClose(handle), STATUS_SUCCESS);
	EXPECT_NO_REPORT();
}

NT_TEST(object, wrong_handles_and_pointers_are_reported)
{
	HANDLE handle;
	PVOID body;
	uint64_t other[16] = { 0 };

	EXPECT_EQ(ZwCreateEvent(&handle, EVENT_ALL_ACCESS, NULL, NotificationEvent, FALSE),
		  STATUS_SUCCESS);
	EXPECT_EQ(ObReferenceObjectByHandle(handle, 0, *PsThreadType, KernelMode, &body, NULL),
		  STATUS_OBJECT_TYPE_MISMATCH);
	EXPECT(!body);
	EXPECT_EQ(ZwClose(handle), STATUS_SUCCESS);
	EXPECT_EQ(ZwClose(handle), STATUS_INVALID_HANDLE);
	EXPECT_EQ(ZwSetEvent(NULL, NULL), STATUS_INVALID_HANDLE);
	EXPECT_EQ(ZwWaitForSingleObject(handle, FALSE, NULL), STATUS_INVALID_HANDLE);
	EXPECT_REPORTS(RULE_NT_HANDLE, 4);
	EXPECT_CONTAINS(nt_test_log, "ObReferenceObjectByHandle was given handle");
	nt_report_reset();
	EXPECT_EQ(ObReferenceObject(&other[8]), 0);
	EXPECT_EQ(ObDereferenceObject(NULL), 0);
	EXPECT_EQ(ObReferenceObjectByPointer(&other[8], 0, NULL, KernelMode),
		  STATUS_INVALID_PARAMETER);
	EXPECT_REPORTS(RULE_NT_OBJECT, 3);
	EXPECT_EQ(ZwCreateEvent(&handle, 0, NULL, (EVENT_TYPE)5, FALSE), STATUS_INVALID_PARAMETER);
}

static VOID NTAPI reference_current_thread(PVOID context)
{
	PVOID body;

	EXPECT_EQ(ObReferenceObjectByHandle(NtCurrentThread(), 0, *PsThreadType, KernelMode, &body,
					    NULL),
		  STATUS_SUCCESS);
	EXPECT(body == KeGetCurrentThread());
	ObDereferenceObject(body);
	*(bool *)context = true;
}

NT_TEST(object, the_current_thread_has_a_pseudo_handle)
{
	bool has_run = false;

	nt_test_join(nt_test_start(reference_current_thread, &has_run));
	EXPECT(has_run);
}

struct churn {
	struct thing *shared;
	unsigned rounds;
};

static VOID NTAPI churn_handles(PVOID context)
{
	struct churn *churn = context;

	for (unsigned i = 0; i < churn->rounds; i++) {
		void *handle;
		struct nt_object *object;

		EXPECT_EQ(nt_handle_open(&churn->shared->object, &handle), STATUS_SUCCESS);
		EXPECT_EQ(nt_handle_get(handle, &nt_type_file, &object), STATUS_SUCCESS);
		EXPECT_EQ(nt_handle_close(handle), STATUS_SUCCESS);
		nt_object_put(object);
	}
}

NT_TEST(object, threads_open_and_close_at_once)
{
	struct churn churn = { .rounds = 500 };
	PKTHREAD threads[4];

	churn.shared = thing_create(&nt_type_file);
	for (int i = 0; i < 4; i++)
		threads[i] = nt_test_start(churn_handles, &churn);
	for (int i = 0; i < 4; i++)
		nt_test_join(threads[i]);
	destroyed = 0;
	nt_object_put(&churn.shared->object); /* no handle holds it */
	EXPECT_EQ(destroyed, 1);
}

NT_TEST(object, references_with_a_tag_are_references)
{
	HANDLE handle;
	PVOID body;

	PKEVENT event = IoCreateSynchronizationEvent(NULL, &handle);
	EXPECT(event && KeReadStateEvent(event) != 0);
	EXPECT_EQ(ObReferenceObjectByHandleWithTag(handle, 0, *ExEventObjectType, KernelMode,
						   0x74736574, &body, NULL),
		  STATUS_SUCCESS);
	EXPECT(body == event);
	EXPECT_EQ(ObReferenceObjectWithTag(event, 0x74736574), 3);
	EXPECT_EQ(ObDereferenceObjectWithTag(event, 0x74736574), 2);
	ObDereferenceObjectDeferDelete(event);
	EXPECT_EQ(ObReferenceObjectByPointer(event, 0, *PsThreadType, KernelMode),
		  STATUS_OBJECT_TYPE_MISMATCH);
	EXPECT_EQ(ObReferenceObjectByPointer(event, 0, *ExEventObjectType, KernelMode),
		  STATUS_SUCCESS);
	ObDereferenceObject(event);
	/* It resets itself: the second wait finds it so. */
	EXPECT_EQ(nt_test_poll(event), STATUS_SUCCESS);
	EXPECT_EQ(nt_test_poll(event), STATUS_TIMEOUT);
	EXPECT_EQ(ZwClose(handle), STATUS_SUCCESS);
	EXPECT_NO_REPORT();
}

TEST(object, what_is_no_live_object_is_refused_a_handle)
{
	uint64_t nothing[16] = { 0 };
	HANDLE handle = (HANDLE)1;
	HANDLE event_handle;

	nt_test_begin();
	PKEVENT event = IoCreateNotificationEvent(NULL, &event_handle);
	EXPECT_EQ(ObOpenObjectByPointer(&nothing[8], 0, NULL, 0, NULL, KernelMode, &handle),
		  STATUS_INVALID_PARAMETER);
	EXPECT(!handle);
	EXPECT_REPORTS(RULE_NT_OBJECT, 1);
	EXPECT_EQ(ObOpenObjectByPointer(event, 0, NULL, 0, *PsThreadType, KernelMode, &handle),
		  STATUS_OBJECT_TYPE_MISMATCH);
	EXPECT(!handle);
	EXPECT_EQ(ZwClose(event_handle), STATUS_SUCCESS);
	nt_test_finish();
}

TEST(object, an_event_has_one_of_two_types_and_no_name)
{
	UNICODE_STRING name = { 0 };
	OBJECT_ATTRIBUTES attributes = { .ObjectName = &name };
	HANDLE handle = (HANDLE)1;

	nt_test_begin();
	EXPECT_EQ(ZwCreateEvent(&handle, 0, NULL, (EVENT_TYPE)2, FALSE), STATUS_INVALID_PARAMETER);
	EXPECT(!handle);
	EXPECT_EQ(ZwCreateEvent(&handle, 0, &attributes, NotificationEvent, FALSE),
		  STATUS_NOT_SUPPORTED);
	EXPECT(!handle);
	EXPECT_REPORTS(RULE_NT_NOT_HOSTED, 1);
	mem_fail_nth(1);
	EXPECT_EQ(ZwCreateEvent(&handle, 0, NULL, NotificationEvent, FALSE),
		  STATUS_INSUFFICIENT_RESOURCES);
	EXPECT(mem_fail_stop());
	mem_fail_nth(1);
	EXPECT(!IoCreateNotificationEvent(NULL, &handle));
	EXPECT(mem_fail_stop());
	nt_test_finish();
}

NT_TEST(object, what_cannot_be_waited_for_is_a_mismatch)
{
	void *handle;

	struct thing *thing = thing_create(&nt_type_file);
	EXPECT_EQ(nt_handle_open(&thing->object, &handle), STATUS_SUCCESS);
	EXPECT_EQ(ZwWaitForSingleObject(handle, FALSE, NULL), STATUS_OBJECT_TYPE_MISMATCH);
	EXPECT_EQ(ZwClose(NtCurrentProcess()), STATUS_SUCCESS);
	EXPECT_EQ(ZwClose(handle), STATUS_SUCCESS);
	nt_object_put(&thing->object);
	EXPECT_NO_REPORT();
}

TEST_MAIN("nt/object")
