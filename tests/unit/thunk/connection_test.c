/* SPDX-License-Identifier: MIT */
/*
 * connection_test.c - the way to the kernel's library when it is not there, is another one, or is
 * there; and the way of calls that become bytes in between (DXGK_WIRE=loopback). Each case is a process of
 * its own: what was found is kept.
 */
#include "support/test.h"

#include "base/mem.h"
#include "base/refusal.h"
#include "thunk/connection.h"
#include "unit/base/child.h"
#include "wire/call.h"

#undef malloc
void *malloc(size_t size_bytes);

/* ---- memory ---- */

static unsigned fail_at;        /* the n-th from now on; 0: none */
static void (*meanwhile)(void); /* what another thread does before it is taken */

void *thunk_malloc(size_t size_bytes);
void *thunk_malloc(size_t size_bytes)
{
	if (meanwhile)
		meanwhile();
	return fail_at > 0 && --fail_at == 0 ? NULL : malloc(size_bytes);
}

/* ---- the loader ---- */

void *thunk_dlopen(const char *file, int flags);
void *thunk_dlsym(void *library, const char *name);
char *thunk_dlerror(void);

static struct {
	bool has_library;
	bool has_entry;
	const struct dxgk_embed *table;
	unsigned closed;
	unsigned listened;
	unsigned unlistened;
} kernel;

void *thunk_dlopen(const char *file, int flags)
{
	(void)flags;
	CHILD_EXPECT(strcmp(file, "libdxgk.so.0") == 0);
	return kernel.has_library ? &kernel : NULL;
}

char *thunk_dlerror(void)
{
	static char text[] = "libdxgk.so.0: cannot open";

	return text;
}

static const struct dxgk_embed *enter(void)
{
	return kernel.table;
}

void *thunk_dlsym(void *library, const char *name)
{
	CHILD_EXPECT(library == &kernel && strcmp(name, "dxgk_embed") == 0);
	return kernel.has_entry ? (void *)(uintptr_t)enter : NULL;
}

/* ---- the kernel ---- */

static NTSTATUS serve(uint32_t id, void *arguments)
{
	return id == 3 && arguments == &kernel ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

static bool serve_last_refusal(struct dxgk_refusal *refusal)
{
	refusal->sequence = 77;
	return true;
}

static void serve_close(void)
{
	kernel.closed++;
}

static NTSTATUS serve_listen(struct dxgk_embed_listener *listener, const uint64_t *luids,
			     uint32_t count)
{
	(void)listener;
	(void)luids;
	kernel.listened += count;
	return STATUS_SUCCESS;
}

static void serve_unlisten(struct dxgk_embed_listener *listener)
{
	(void)listener;
	kernel.unlistened++;
}

static const struct dxgk_embed right = { .version = DXGK_EMBED_VERSION,
					 .call_count = CALL_COUNT,
					 .call = serve,
					 .last_refusal = serve_last_refusal,
					 .close_process = serve_close,
					 .listen = serve_listen,
					 .unlisten = serve_unlisten };

/* ---- what is said ---- */

/* The first call is refused, and so is the next: nothing is remembered of a failure. */
static void expect_refused(NTSTATUS status, const char *rule, const char *words)
{
	for (unsigned i = 0; i < 2; i++) {
		struct dxgk_refusal why = { .size_bytes = sizeof(why) };

		CHILD_EXPECT(connection_call(3, &kernel) == status);
		CHILD_EXPECT(connection_last_refusal(&why));
		CHILD_EXPECT(why.status == status && strcmp(why.rule, rule) == 0);
		CHILD_EXPECT(strstr(why.reason, words));
		CHILD_EXPECT(strcmp(why.call, call_describe(3)->name) == 0);
	}
	/* And nobody can listen, or is listened to. */
	CHILD_EXPECT(connection_listen(NULL, NULL, 1) == STATUS_DEVICE_REMOVED);
	connection_unlisten(NULL);
	connection_close();
}

static void without_library(void *argument)
{
	(void)argument;
	expect_refused(STATUS_UNSUCCESSFUL, "SYS-LIBRARY", "cannot be loaded: libdxgk.so.0");
}

static void without_entry(void *argument)
{
	(void)argument;
	kernel.has_library = true;
	expect_refused(STATUS_UNSUCCESSFUL, "SYS-LIBRARY", "not of the same build");
}

static void with_another(void *argument)
{
	kernel.has_library = kernel.has_entry = true;
	kernel.table = argument;
	expect_refused(STATUS_UNSUCCESSFUL, "SYS-LIBRARY", "not of the same build");
}

static void with_a_server(void *argument)
{
	(void)argument;
	kernel.has_library = kernel.has_entry = true;
	kernel.table = &right;
	setenv("DXGK_SOCKET", "/run/x", 1);
	expect_refused(STATUS_PORT_CONNECTION_REFUSED, "SYS-SERVER", "no server");
	setenv("DXGK_SOCKET", "", 1);
	CHILD_EXPECT(connection_call(3, &kernel) == STATUS_SUCCESS);
}

static void with_the_right_one(void *argument)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
	struct dxgk_embed_listener listener = { 0 };
	uint64_t luids[2] = { 1, 2 };

	(void)argument;
	kernel.has_library = kernel.has_entry = true;
	kernel.table = &right;
	CHILD_EXPECT(connection_call(3, &kernel) == STATUS_SUCCESS);
	kernel.has_library = false; /* it is looked for once */
	CHILD_EXPECT(connection_call(3, &kernel) == STATUS_SUCCESS);
	CHILD_EXPECT(connection_call(3, NULL) == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(connection_last_refusal(&why) && why.sequence == 77);
	CHILD_EXPECT(connection_listen(&listener, luids, 2) == STATUS_SUCCESS);
	connection_unlisten(&listener);
	connection_close();
	CHILD_EXPECT(kernel.listened == 2 && kernel.unlistened == 1 && kernel.closed == 1);
}

TEST(connection, to_no_library_is_refused_with_the_loaders_words)
{
	EXPECT_CHILD_OK(without_library, NULL);
}

TEST(connection, to_a_library_of_another_build_is_refused)
{
	struct dxgk_embed other_version = right;
	struct dxgk_embed other_calls = right;

	other_version.version++;
	other_calls.call_count--;
	EXPECT_CHILD_OK(without_entry, NULL);
	EXPECT_CHILD_OK(with_another, NULL);
	EXPECT_CHILD_OK(with_another, &other_version);
	EXPECT_CHILD_OK(with_another, &other_calls);
}

TEST(connection, to_a_server_is_refused_while_there_is_none)
{
	EXPECT_CHILD_OK(with_a_server, NULL);
}

TEST(connection, is_made_once)
{
	EXPECT_CHILD_OK(with_the_right_one, NULL);
}

/* ---- calls as bytes ---- */

enum { LONG_BYTES = 4096, PIECES = 80 };

static D3DKMT_ESCAPE long_call;
static unsigned char long_bytes[LONG_BYTES];

static NTSTATUS serve_bytes(uint32_t id, void *arguments)
{
	if (id == CALL_escape) {
		const D3DKMT_ESCAPE *args = arguments;

		CHILD_EXPECT(args != &long_call && args->pPrivateDriverData != long_bytes);
		memset(args->pPrivateDriverData, 7, args->PrivateDriverDataSize);
	} else if (id == CALL_share_objects) {
		/* Nothing that could be sent. */
		*((D3DKMT_SHAREOBJECTS *)arguments)->pSharedNtHandle = (HANDLE)(intptr_t)-1;
	}
	return id == CALL_close_adapter ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
}

static const struct dxgk_embed of_bytes = { .version = DXGK_EMBED_VERSION,
					    .call_count = CALL_COUNT,
					    .call = serve_bytes,
					    .last_refusal = serve_last_refusal,
					    .close_process = serve_close };

static NTSTATUS call_long(void)
{
	long_call = (D3DKMT_ESCAPE){ .hAdapter = 1,
				     .pPrivateDriverData = long_bytes,
				     .PrivateDriverDataSize = LONG_BYTES };
	memset(long_bytes, 1, LONG_BYTES);
	return connection_call(CALL_escape, &long_call);
}

static void shorten(void)
{
	long_call.PrivateDriverDataSize /= 2;
}

static void expect_own_refusal(NTSTATUS status, NTSTATUS wanted, const char *rule,
			       const char *words)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	CHILD_EXPECT(status == wanted && connection_last_refusal(&why));
	CHILD_EXPECT(why.status == wanted && strcmp(why.rule, rule) == 0);
	CHILD_EXPECT(strstr(why.reason, words));
}

static void begin_as_bytes(const char *wire)
{
	kernel.has_library = kernel.has_entry = true;
	kernel.table = &of_bytes;
	setenv("DXGK_WIRE", wire, 1);
}

static void as_bytes(void *argument)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
	D3DKMT_CLOSEADAPTER small = { .hAdapter = 1 };

	(void)argument;
	begin_as_bytes("loopback");
	CHILD_EXPECT(call_long() == STATUS_SUCCESS && long_bytes[LONG_BYTES - 1] == 7);
	/* No memory for the request, and for the reply. */
	fail_at = 1;
	expect_own_refusal(call_long(), STATUS_NO_MEMORY, "API-NO-MEMORY", "for the request");
	fail_at = 2;
	expect_own_refusal(call_long(), STATUS_NO_MEMORY, "API-NO-MEMORY", "for the reply");
	/* The kernel's refusals are the kernel's. */
	CHILD_EXPECT(connection_call(CALL_close_adapter, &small) == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(connection_last_refusal(&why) && why.sequence == 77);
	meanwhile = shorten;
	expect_own_refusal(call_long(), STATUS_INVALID_PARAMETER, "API-VALUE", "changed while");
	meanwhile = NULL;
	CHILD_EXPECT(call_long() == STATUS_SUCCESS);
}

static void as_too_many_bytes(void *argument)
{
	static D3DDDI_ALLOCATIONINFO2 all[PIECES];
	D3DKMT_CREATEALLOCATION args = { .NumAllocations = PIECES, .pAllocationInfo2 = all };
	void *bytes = calloc(1, CALL_MAX_PRIVATE_BYTES);

	(void)argument;
	begin_as_bytes("loopback");
	for (unsigned i = 0; i < PIECES; i++) {
		all[i].pPrivateDriverData = bytes;
		all[i].PrivateDriverDataSize = CALL_MAX_PRIVATE_BYTES;
	}
	expect_own_refusal(connection_call(CALL_create_allocation2, &args),
			   STATUS_INVALID_PARAMETER, "API-COUNT", "more than can travel");
	free(bytes);
}

/* What a call only writes does not travel there: who serves it makes room. */
static void without_room_for_results(void *argument)
{
	D3DDDI_OPENALLOCATIONINFO element = { 0 };
	D3DKMT_OPENRESOURCE args = { .NumAllocations = 1,
				     .pOpenAllocationInfo = &element,
				     .pTotalPrivateDriverDataBuffer = long_bytes,
				     .TotalPrivateDriverDataBufferSize = LONG_BYTES };

	(void)argument;
	begin_as_bytes("loopback");
	mem_fail_nth(1);
	expect_own_refusal(connection_call(CALL_open_resource, &args), STATUS_NO_MEMORY,
			   "API-NO-MEMORY", "no memory for results");
	CHILD_EXPECT(mem_fail_stop());
	CHILD_EXPECT(connection_call(CALL_open_resource, &args) == STATUS_SUCCESS);
}

static void without_the_descriptor(void *argument)
{
	const D3DKMT_HANDLE object = 1;
	HANDLE handle = NULL;
	D3DKMT_SHAREOBJECTS args = { .ObjectCount = 1,
				     .ObjectHandleArray = &object,
				     .pSharedNtHandle = &handle };

	(void)argument;
	begin_as_bytes("loopback");
	expect_own_refusal(connection_call(CALL_share_objects, &args), STATUS_UNSUCCESSFUL,
			   "SYS-SERVER", "does not fit the call");
}

static void not_as_bytes(void *argument)
{
	D3DKMT_CLOSEADAPTER args = { .hAdapter = 1 };

	(void)argument;
	begin_as_bytes("telegraph");
	CHILD_EXPECT(connection_call(CALL_close_adapter, &args) == STATUS_INVALID_PARAMETER);
	fail_at = 1;
	CHILD_EXPECT(connection_call(CALL_share_objects,
				     &(D3DKMT_SHAREOBJECTS){ .pSharedNtHandle = &(HANDLE){
								     NULL } }) == STATUS_SUCCESS);
	CHILD_EXPECT(fail_at == 1); /* the kernel has had the client's own struct */
}

TEST(loopback, refuses_by_itself_what_does_not_become_bytes)
{
	EXPECT_CHILD_OK(as_bytes, NULL);
	EXPECT_CHILD_OK(as_too_many_bytes, NULL);
	EXPECT_CHILD_OK(without_room_for_results, NULL);
	EXPECT_CHILD_OK(without_the_descriptor, NULL);
}

TEST(loopback, is_there_when_it_is_asked_for_by_name)
{
	EXPECT_CHILD_OK(not_as_bytes, NULL);
}

TEST_MAIN("thunk/connection")
