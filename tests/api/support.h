/* SPDX-License-Identifier: MIT */
/*
 * support.h - what tests of the public calls share.
 *
 * They link libdxcore.so as every client does; libdxgk.so only for the hooks of
 * <opendxgk/testing.h>. A test that needs a process of its own registers a CHILD() and runs it.
 */
#ifndef TESTS_API_SUPPORT_H
#define TESTS_API_SUPPORT_H

#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/refusal.h>
#include <opendxgk/softgpu.h>
#include <opendxgk/testing.h>

/* Time is simulated: it passes when everybody waits. */
static inline bool is_seeded(void)
{
	return getenv("DXGK_SEED") != NULL;
}

/* The kernel is a server's: this program is one of its clients. */
static inline bool is_served(void)
{
	return getenv("DXGK_SOCKET") && *getenv("DXGK_SOCKET");
}

/* The GPU is programmed with physical addresses; otherwise it has page tables. */
static inline bool is_physical(void)
{
	return getenv("TEST_MODEL") && strcmp(getenv("TEST_MODEL"), "physical") == 0;
}

#define SKIP_UNLESS_SEEDED()                                                                       \
	SKIP_UNLESS(is_seeded(), "takes seconds, which pass at once in simulated time only")

/* In real time, and with DXGK_SEED in the simulated one. */
static inline struct dxgk_test_thread *begin_thread(void (*run)(void *argument), void *argument)
{
	struct dxgk_test_thread *thread = dxgk_test_thread_create(run, argument);

	EXPECT(thread);
	return thread;
}

/* ---- refusals ---- */

static inline struct dxgk_refusal last_refusal(void)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	if (!DxgkLastRefusal(&refusal))
		memset(&refusal, 0, sizeof(refusal));
	return refusal;
}

/* A call that another thread makes, and what it came to. */
struct thread_call {
	NTSTATUS status;
	char rule[32]; /* "": none */
	struct dxgk_test_thread *thread;
};

static inline void thread_call_over(struct thread_call *call, NTSTATUS status)
{
	call->status = status;
	strcpy(call->rule, NT_SUCCESS(status) ? "" : last_refusal().rule);
}

#define EXPECT_THREAD_CALL(call, wanted, wanted_rule)                                              \
	do {                                                                                       \
		dxgk_test_thread_join((call).thread);                                              \
		EXPECT_EQ((call).status, wanted);                                                  \
		EXPECT_STR((call).rule, wanted_rule);                                              \
	} while (0)

/* In real time the call may come after the close, and then finds a new process. */
#define EXPECT_ENDED_WITH_PROCESS(call)                                                            \
	do {                                                                                       \
		dxgk_test_thread_join((call).thread);                                              \
		if (is_seeded() || (call).status != STATUS_INVALID_PARAMETER) {                    \
			EXPECT_EQ((call).status, STATUS_PROCESS_IS_TERMINATING);                   \
			EXPECT_STR((call).rule, "API-PROCESS-ENDING");                             \
		}                                                                                  \
	} while (0)

static inline void check_accepted(const char *file, int line, const char *what, NTSTATUS status)
{
	if (status == STATUS_SUCCESS)
		return;
	struct dxgk_refusal why = last_refusal();
	print_error("%s:%d: %s gave 0x%08x: %s: %s (%s)\n", file, line, what, (unsigned)status,
		    why.call, why.reason, why.rule);
	_fail(file, line);
}

/* The call succeeds. */
#define EXPECT_OK(call) check_accepted(__FILE__, __LINE__, #call, (call))

static inline void check_refused(const char *file, int line, const char *what,
				 unsigned long long before, NTSTATUS status, NTSTATUS wanted,
				 const char *rule, const char *argument)
{
	struct dxgk_refusal why = last_refusal();
	size_t length = strlen(argument);

	if (status == wanted && why.sequence > before && why.status == wanted &&
	    strcmp(why.rule, rule) == 0 && strcmp(why.argument, argument) == 0 &&
	    strncmp(why.reason, argument, length) == 0 && why.reason[length] != '\0')
		return;
	print_error("%s:%d: %s gave 0x%08x, expected 0x%08x with %s about \"%s\"; the last refusal "
		    "%s %s: \"%s\" (%s about \"%s\", 0x%08x)\n",
		    file, line, what, (unsigned)status, (unsigned)wanted, rule, argument,
		    why.sequence > before ? "is of" : "is old, of", why.call, why.reason, why.rule,
		    why.argument, (unsigned)why.status);
	_fail(file, line);
}

/* The call is refused with this status, and the record names the rule and the argument. */
#define EXPECT_REFUSED(call, wanted, rule, argument)                                               \
	do {                                                                                       \
		unsigned long long refused_before = last_refusal().sequence;                       \
		NTSTATUS refused_status = (call);                                                  \
		check_refused(__FILE__, __LINE__, #call, refused_before, refused_status, (wanted), \
			      (rule), (argument));                                                 \
	} while (0)

/* ---- the first steps of every client ---- */

static inline D3DKMT_ADAPTERINFO first_adapter(void)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };

	EXPECT_OK(D3DKMTEnumAdapters2(&all));
	EXPECT(all.NumAdapters > 0);
	for (ULONG i = 1; i < all.NumAdapters; i++) {
		D3DKMT_CLOSEADAPTER done = { infos[i].hAdapter };
		EXPECT_OK(D3DKMTCloseAdapter(&done));
	}
	return infos[0];
}

/*
 * With TEST_REMOTE a test is the client of a process elsewhere, from where it begins anew on: nothing is
 * mapped for it but what its calls tell it to.
 */
static inline bool is_remote(void)
{
	return getenv("TEST_REMOTE") != NULL;
}

enum { REMOTE_ARENA_SHIFT = 36 };

static inline void *remote_arena(void)
{
	void *arena = mmap(NULL, (size_t)1 << REMOTE_ARENA_SHIFT, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	EXPECT(arena != MAP_FAILED);
	return arena;
}

static inline void remote_arena_end(void *arena)
{
	munmap(arena, (size_t)1 << REMOTE_ARENA_SHIFT);
}

static inline void begin_anew(void)
{
	static struct dxgk_test_process *process;
	static void *arena;

	if (is_remote())
		dxgk_test_process_enter(NULL);
	if (process) {
		dxgk_test_process_end(process);
		remote_arena_end(arena);
		process = NULL;
	}
	D3DKMTCloseDxCoreDevice();
	if (!is_remote())
		return;
	D3DKMT_CLOSEADAPTER done = { first_adapter().hAdapter };
	EXPECT_OK(D3DKMTCloseAdapter(&done));
	arena = remote_arena();
	process = dxgk_test_process_create_remote(3000, 0, "remote", arena,
						  1ull << REMOTE_ARENA_SHIFT);
	EXPECT(process != NULL);
	dxgk_test_process_enter(process);
}
#define D3DKMTCloseDxCoreDevice() begin_anew()

static inline D3DKMT_HANDLE open_first_adapter(void)
{
	return first_adapter().hAdapter;
}

/* In a seeded run: returns when every other thread waits, for then only time is left to move. */
static inline void let_others_wait(void)
{
	LARGE_INTEGER one_second = { .QuadPart = -10000000 };
	D3DKMT_CREATEKEYEDMUTEX mutex = { 0 };

	if (!is_seeded())
		return;
	EXPECT_OK(D3DKMTCreateKeyedMutex(&mutex));
	D3DKMT_ACQUIREKEYEDMUTEX args = { mutex.hKeyedMutex, 1, &one_second, 0 };
	EXPECT_EQ(D3DKMTAcquireKeyedMutex(&args), STATUS_TIMEOUT);
	D3DKMT_DESTROYKEYEDMUTEX done = { mutex.hKeyedMutex };
	EXPECT_OK(D3DKMTDestroyKeyedMutex(&done));
}

static inline UNICODE_STRING string_of(const WCHAR *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return (UNICODE_STRING){ (USHORT)(length * sizeof(WCHAR)), (USHORT)(length * sizeof(WCHAR)),
				 (WCHAR *)text };
}

static inline NTSTATUS close_adapter(D3DKMT_HANDLE adapter)
{
	return D3DKMTCloseAdapter(&(D3DKMT_CLOSEADAPTER){ adapter });
}

static inline NTSTATUS try_create_device(D3DKMT_HANDLE adapter, D3DKMT_HANDLE *device_out)
{
	D3DKMT_CREATEDEVICE args = { .hAdapter = adapter };
	NTSTATUS status = D3DKMTCreateDevice(&args);

	*device_out = args.hDevice;
	return status;
}

/* What `call`, which has the handle for its last argument, makes. */
#define CREATED(call, ...)                                                                         \
	({                                                                                         \
		D3DKMT_HANDLE created_handle = 0;                                                  \
		EXPECT_OK(call(__VA_ARGS__, &created_handle));                                     \
		created_handle;                                                                    \
	})

static inline D3DKMT_HANDLE create_device(D3DKMT_HANDLE adapter)
{
	return CREATED(try_create_device, adapter);
}

static inline NTSTATUS set_priority(D3DKMT_HANDLE context, int priority)
{
	return D3DKMTSetContextSchedulingPriority(
		&(D3DKMT_SETCONTEXTSCHEDULINGPRIORITY){ context, priority });
}

static inline NTSTATUS destroy_device(D3DKMT_HANDLE device)
{
	return D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){ device });
}

/* Of the kind that works in both address models. */
static inline NTSTATUS try_create_context(D3DKMT_HANDLE device, D3DKMT_HANDLE *context_out)
{
	D3DKMT_CREATECONTEXT args = { .hDevice = device };
	NTSTATUS status = D3DKMTCreateContext(&args);

	*context_out = args.hContext;
	return status;
}

static inline D3DKMT_HANDLE create_context(D3DKMT_HANDLE device)
{
	return CREATED(try_create_context, device);
}

static inline NTSTATUS destroy_context(D3DKMT_HANDLE context)
{
	return D3DKMTDestroyContext(&(D3DKMT_DESTROYCONTEXT){ context });
}

static inline NTSTATUS query_adapter(D3DKMT_HANDLE adapter, unsigned type, void *data,
				     size_t size_bytes)
{
	return D3DKMTQueryAdapterInfo(&(D3DKMT_QUERYADAPTERINFO){
		adapter, (KMTQUERYADAPTERINFOTYPE)type, data, (UINT)size_bytes });
}

/* A value of the adapter's key, until the next one; NULL: there is none. */
static inline const wchar_t *registry_text(D3DKMT_HANDLE adapter, const wchar_t *name,
					   size_t *bytes_out)
{
	static union {
		D3DDDI_QUERYREGISTRY_INFO info;
		unsigned char buffer[sizeof(D3DDDI_QUERYREGISTRY_INFO) + 1024];
	} value;

	memset(&value, 0, sizeof(value));
	value.info.QueryType = D3DDDI_QUERYREGISTRY_ADAPTERKEY;
	wcscpy(value.info.ValueName, name);
	if (query_adapter(adapter, KMTQAITYPE_QUERYREGISTRY, &value, sizeof(value)) !=
		    STATUS_SUCCESS ||
	    value.info.Status != D3DDDI_QUERYREGISTRY_STATUS_SUCCESS)
		return NULL;
	if (bytes_out)
		*bytes_out = value.info.OutputValueSize;
	return (const wchar_t *)(value.buffer + offsetof(D3DDDI_QUERYREGISTRY_INFO, OutputDword));
}

/* What has become of a device. */
static inline unsigned execution_state(D3DKMT_HANDLE device)
{
	D3DKMT_GETDEVICESTATE args = { .hDevice = device,
				       .StateType = D3DKMT_DEVICESTATE_EXECUTION };

	EXPECT_OK(D3DKMTGetDeviceState(&args));
	return args.ExecutionState;
}

static inline NTSTATUS get_execution_state(D3DKMT_HANDLE device)
{
	D3DKMT_GETDEVICESTATE args = { .hDevice = device,
				       .StateType = D3DKMT_DEVICESTATE_EXECUTION };
	NTSTATUS status = D3DKMTGetDeviceState(&args);

	if (status == STATUS_SUCCESS)
		EXPECT_EQ(args.ExecutionState, D3DKMT_DEVICEEXECUTION_ACTIVE);
	return status;
}

/* What the software GPU holds. */
static inline struct softgpu_escape_info soft_info(D3DKMT_HANDLE adapter)
{
	struct softgpu_escape_info info = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_GET_INFO, sizeof(info), 0 },
	};
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .pPrivateDriverData = &info,
			       .PrivateDriverDataSize = sizeof(info) };

	EXPECT_OK(D3DKMTEscape(&args));
	return info;
}

static inline bool is_local_handle(D3DKMT_HANDLE handle)
{
	return (handle & 0xc0000000) != 0 && (handle & 0x3f) == 0;
}

/* ---- one monitored fence, and the CPU ---- */

static inline NTSTATUS try_monitored_fence(D3DKMT_HANDLE device, bool is_for_others,
					   D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *fence_out)
{
	*fence_out = (D3DKMT_CREATESYNCHRONIZATIONOBJECT2){ .hDevice = device };
	fence_out->Info.Type = D3DDDI_MONITORED_FENCE;
	fence_out->Info.Flags.Shared = is_for_others;
	fence_out->Info.Flags.NtSecuritySharing = is_for_others;
	return D3DKMTCreateSynchronizationObject2(fence_out);
}

static inline D3DKMT_CREATESYNCHRONIZATIONOBJECT2 monitored_fence(D3DKMT_HANDLE device,
								  bool is_for_others)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence;

	EXPECT_OK(try_monitored_fence(device, is_for_others, &fence));
	return fence;
}

static inline NTSTATUS signal_value(D3DKMT_HANDLE device, D3DKMT_HANDLE fence, UINT64 value)
{
	return D3DKMTSignalSynchronizationObjectFromCpu(
		&(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){ .hDevice = device,
							      .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .FenceValueArray = &value });
}

/* With an event (an eventfd), that is set, and the call returns at once. */
static inline NTSTATUS wait_event(D3DKMT_HANDLE device, D3DKMT_HANDLE fence, UINT64 value,
				  int event)
{
	return D3DKMTWaitForSynchronizationObjectFromCpu(
		&(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){
			.hDevice = device,
			.ObjectCount = 1,
			.ObjectHandleArray = &fence,
			.FenceValueArray = &value,
			.hAsyncEvent = (HANDLE)(intptr_t)event,
		});
}

static inline NTSTATUS wait_value(D3DKMT_HANDLE device, D3DKMT_HANDLE fence, UINT64 value)
{
	return wait_event(device, fence, value, 0);
}

/* ---- processes of their own ---- */

enum { CHILD_MAX = 64, CHILD_TEXT = 1 << 20 };

struct child {
	const char *name;
	int (*run)(void);
};
static struct child child_registry[CHILD_MAX];
static size_t child_count;

/* A program in the program: its value is the exit status. Run with run_child("name", …). */
#define CHILD(child_name)                                                                          \
	static int child_##child_name(void);                                                       \
	__attribute__((constructor)) static void child_register_##child_name(void)                 \
	{                                                                                          \
		if (child_count == CHILD_MAX)                                                      \
			abort();                                                                   \
		child_registry[child_count++] = (struct child){ #child_name, child_##child_name }; \
	}                                                                                          \
	static int child_##child_name(void)

struct child_result {
	int exit_status; /* or minus the signal that ended it */
	char out[CHILD_TEXT];
	char err[CHILD_TEXT];
};

static inline void read_back(int file, char *text)
{
	ssize_t length = pread(file, text, CHILD_TEXT - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	close(file);
}

/* A child that says nothing about its kernel has ours, where that is a server's. */
static inline bool has_own_kernel(const char *const *settings)
{
	for (; settings && *settings; settings++) {
		if (strncmp(*settings, "DXGK_", 5) == 0)
			return true;
	}
	return false;
}

static inline bool is_inherited(const char *variable, bool has_own)
{
	return strncmp(variable, "DXGK_", 5) != 0 ||
	       strncmp(variable, "DXGK_DRIVER_PATH=", 17) == 0 ||
	       (!has_own && strncmp(variable, "DXGK_SOCKET=", 12) == 0);
}

/* Runs a program with our environment, less DXGK_*, plus `settings` ("NAME=value", up to NULL). */
static inline void run_program(char *const *arguments, const char *const *settings,
			       struct child_result *result)
{
	enum { MAX_SETTINGS = 256 };
	static char *environment[MAX_SETTINGS];
	size_t count = 0;
	pid_t process;
	int status;

	for (char **variable = environ; *variable && count < MAX_SETTINGS / 2; variable++) {
		if (is_inherited(*variable, has_own_kernel(settings)))
			environment[count++] = *variable;
	}
	for (; settings && *settings; settings++)
		environment[count++] = (char *)*settings;
	environment[count] = NULL;

	int out = memfd_create("out", 0);
	int err = memfd_create("err", 0);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	EXPECT_EQ(posix_spawn(&process, arguments[0], &actions, NULL, arguments, environment), 0);
	posix_spawn_file_actions_destroy(&actions);
	while (waitpid(process, &status, 0) < 0)
		EXPECT(errno == EINTR);
	result->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	read_back(out, result->out);
	read_back(err, result->err);
}

/* The result lives until the next one. */
static inline const struct child_result *run_child_with(const char *name,
							const char *const *settings)
{
	static struct child_result result;
	char *arguments[] = { (char *)"/proc/self/exe", (char *)"--child", (char *)name, NULL };
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	EXPECT(length > 0);
	path[length] = '\0';
	arguments[0] = path;
	run_program(arguments, settings, &result);
	return &result;
}

#define run_child(...) run_child_of((const char *const[]){ __VA_ARGS__, NULL })

/* The name, then settings. */
static inline const struct child_result *run_child_of(const char *const *name_and_settings)
{
	return run_child_with(name_and_settings[0], name_and_settings + 1);
}

/* The child ended as it should: the result, for whoever looks at what it said. */
static inline const struct child_result *expect_child(const struct child_result *child,
						      int wanted_status, const char *file, int line)
{
	if (child->exit_status != wanted_status) {
		print_error("%s:%d: exit status %d, expected %d\n%s%s", file, line,
			    child->exit_status, wanted_status, child->out, child->err);
		_fail(file, line);
	}
	return child;
}

#define EXPECT_CHILD(result, wanted_status)                                                        \
	((void)expect_child((result), (wanted_status), __FILE__, __LINE__))

/* In a child: stops it, saying where. */
#define CHILD_EXPECT(condition)                                                                    \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			struct dxgk_refusal child_why = last_refusal();                            \
			fprintf(stderr, "%s:%d: expected: %s (last refusal: %s)\n", __FILE__,      \
				__LINE__, #condition, child_why.reason);                           \
			_exit(99);                                                                 \
		}                                                                                  \
	} while (0)

/* In a child: a thread of its own, which nobody joins. */
struct left_thread {
	void (*run)(void *argument);
	void *argument;
};

static inline void *left_thread_run(void *argument)
{
	const struct left_thread *left = argument;

	left->run(left->argument);
	return NULL;
}

static inline void child_leave_thread(void (*run)(void *argument), void *argument)
{
	static struct left_thread left;
	pthread_t thread;

	left = (struct left_thread){ run, argument };
	CHILD_EXPECT(pthread_create(&thread, NULL, left_thread_run, &left) == 0);
	pthread_detach(thread);
}

/* In a child, where nothing of cmocka may run. */
static inline D3DKMT_HANDLE child_open_adapter(void)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };

	CHILD_EXPECT(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS);
	CHILD_EXPECT(all.NumAdapters > 0);
	return infos[0].hAdapter;
}

static inline D3DKMT_HANDLE child_create_device(D3DKMT_HANDLE adapter)
{
	D3DKMT_HANDLE device = 0;

	CHILD_EXPECT(try_create_device(adapter, &device) == STATUS_SUCCESS);
	return device;
}

static inline D3DKMT_HANDLE child_create_context(D3DKMT_HANDLE device)
{
	D3DKMT_HANDLE context = 0;

	CHILD_EXPECT(try_create_context(device, &context) == STATUS_SUCCESS);
	return context;
}

static char test_file[64];

static inline void remove_test_file(void)
{
	if (test_file[0])
		unlink(test_file);
	test_file[0] = '\0';
}

/* A file with this text; it lives until the next one, or the end. */
static inline const char *write_file(const char *text)
{
	static bool is_cleaned_up;

	if (!is_cleaned_up)
		is_cleaned_up = atexit(remove_test_file) == 0;
	remove_test_file();
	strcpy(test_file, "/tmp/dxgk-test-XXXXXX");
	int file = mkstemp(test_file);
	EXPECT(file >= 0);
	EXPECT_EQ(write(file, text, strlen(text)), strlen(text));
	close(file);
	return test_file;
}

/* "DXGK_PROFILE=" and the path of a file with this text. */
static inline const char *profile_setting(const char *text)
{
	static char setting[128];

	snprintf(setting, sizeof(setting), "DXGK_PROFILE=%s", write_file(text));
	return setting;
}

static inline int api_main(const char *group, int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--child") == 0) {
		for (size_t i = 0; i < child_count; i++) {
			if (strcmp(child_registry[i].name, argv[2]) == 0)
				return child_registry[i].run();
		}
		return 98;
	}
	return test_run(group, argc, argv);
}

#define API_TEST_MAIN(group)                                                                       \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return api_main(group, argc, argv);                                                \
	}

/* Everything fits together, soon: a thread of the kernel may be about to let go of something. */
static inline void expect_valid(void)
{
	char problem[256] = "";

	for (int i = 0; i < 1000; i++) {
		if (dxgk_test_validate(problem, sizeof(problem)))
			return;
		usleep(10000);
	}
	print_error("%s\n", problem);
	EXPECT_STR(problem, "");
}

#endif
