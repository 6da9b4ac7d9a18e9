/* SPDX-License-Identifier: MIT */
/*
 * runner_main.c - the program in which kernels of one client run (runner.h).
 *
 *	addresses  |windows of 1 GiB, reserved when first needed                      |
 *	              | page 7 |        | page 3 | page 12 |                mapped for the next kernel
 *
 * A kernel with a bad pointer, or one that does not end, is the end of this process at most.
 */
#include "channel.h"
#include "gpu.h"
#include "runner.h"

extern void *calloc(size_t count, size_t size_bytes);
extern void *realloc(void *memory, size_t size_bytes);
extern void free(void *memory);
extern int vdprintf(int descriptor, const char *format, __builtin_va_list arguments);
extern void _exit(int status) __attribute__((noreturn));

static const ULONGLONG PAGE_BYTES = SOFTGPU_LARGE_PAGE_BYTES;
static const ULONGLONG WINDOW_BYTES = 1ULL << 30;
enum { MOST_WINDOWS = 4096, MOST_PAGES = 1 << 20 };

static struct {
	struct cuda_api api;
	cuda_device_number device;
	cuda_context context;
	cuda_stream stream;
	cuda_module modules[RUNNER_MOST_THINGS];
	ULONG module_count;
	cuda_function kernels[RUNNER_MOST_THINGS]; /* NULL: its module is gone */
	ULONG kernel_modules[RUNNER_MOST_THINGS];
	ULONG kernel_count;
	cuda_memory *memory; /* by number of the large page; 0: not given to us */
	ULONG memory_count;
	struct cuda_page *pages; /* as they are mapped, by address */
	ULONG page_count;
	ULONGLONG windows[MOST_WINDOWS];
	ULONG window_count;
} runner;

/* What api.c says goes where the driver's own lines go. */
ULONG DbgPrint(PCSTR format, ...)
{
	__builtin_va_list arguments;

	__builtin_va_start(arguments, format);
	vdprintf(2, format, arguments);
	__builtin_va_end(arguments);
	return 0;
}

/* ---- beginning ---- */

static cuda_status begin(ULONG number)
{
	if (!NT_SUCCESS(cuda_api_open(&runner.api)))
		return CUDA_INVALID_VALUE;
	cuda_status status = runner.api.device_get(&runner.device, (int)number);
	if (status == CUDA_OK)
		status = runner.api.context_create(&runner.context, CUDA_CONTEXT_MAP_HOST,
						   runner.device);
	if (status == CUDA_OK)
		status = runner.api.stream_create(&runner.stream, CUDA_STREAM_NON_BLOCKING);
	return status;
}

/* ---- modules ---- */

static cuda_status load(const char *image, ULONGLONG size_bytes, ULONG *number_out)
{
	if (runner.module_count == RUNNER_MOST_THINGS)
		return CUDA_OUT_OF_MEMORY;
	if (size_bytes == 0 || image[size_bytes - 1] != 0)
		return CUDA_INVALID_VALUE;
	cuda_status status = runner.api.module_load(&runner.modules[runner.module_count], image);
	if (status == CUDA_OK)
		*number_out = runner.module_count++;
	return status;
}

static cuda_status unload(ULONG number)
{
	if (number >= runner.module_count || !runner.modules[number])
		return CUDA_INVALID_VALUE;
	cuda_status status = runner.api.module_unload(runner.modules[number]);
	runner.modules[number] = NULL;
	for (ULONG i = 0; i < runner.kernel_count; i++) {
		if (runner.kernel_modules[i] == number)
			runner.kernels[i] = NULL;
	}
	return status;
}

static cuda_status find(ULONG module, const char *name, ULONGLONG size_bytes, ULONG *number_out)
{
	if (module >= runner.module_count || !runner.modules[module] || size_bytes == 0 ||
	    name[size_bytes - 1] != 0 || runner.kernel_count == RUNNER_MOST_THINGS)
		return CUDA_INVALID_VALUE;
	cuda_status status = runner.api.module_function(&runner.kernels[runner.kernel_count],
							runner.modules[module], name);
	if (status != CUDA_OK)
		return status;
	runner.kernel_modules[runner.kernel_count] = module;
	*number_out = runner.kernel_count++;
	return status;
}

/* ---- memory ---- */

static BOOLEAN grow(ULONG number)
{
	if (number < runner.memory_count)
		return TRUE;
	if (number >= MOST_PAGES)
		return FALSE;
	ULONG count = number + 4096;
	cuda_memory *more = realloc(runner.memory, count * sizeof(*more));
	if (!more)
		return FALSE;
	for (ULONG i = runner.memory_count; i < count; i++)
		more[i] = 0;
	runner.memory = more;
	runner.memory_count = count;
	return TRUE;
}

static cuda_status take(const ULONG *numbers, ULONGLONG size_bytes, const int *descriptors,
			unsigned count)
{
	cuda_status status = CUDA_OK;

	if (size_bytes != count * sizeof(*numbers))
		return CUDA_INVALID_VALUE;
	for (unsigned i = 0; status == CUDA_OK && i < count; i++) {
		if (!grow(numbers[i]) || runner.memory[numbers[i]])
			return CUDA_INVALID_VALUE;
		status = runner.api.memory_import(&runner.memory[numbers[i]],
						  (void *)(ULONG_PTR)descriptors[i],
						  CUDA_HANDLE_DESCRIPTOR);
	}
	return status;
}

/* Reserved, with what is around it. */
static cuda_status open_window(ULONGLONG address)
{
	ULONGLONG window = address & ~(WINDOW_BYTES - 1);
	cuda_pointer found = 0;

	for (ULONG i = 0; i < runner.window_count; i++) {
		if (runner.windows[i] == window)
			return CUDA_OK;
	}
	if (runner.window_count == MOST_WINDOWS)
		return CUDA_OUT_OF_MEMORY;
	cuda_status status =
		runner.api.address_reserve(&found, WINDOW_BYTES, PAGE_BYTES, window, 0);
	if (status != CUDA_OK)
		return status;
	if (found != window) {
		(void)runner.api.address_free(found, WINDOW_BYTES);
		return CUDA_INVALID_VALUE; /* somebody else has it */
	}
	runner.windows[runner.window_count++] = window;
	return CUDA_OK;
}

static BOOLEAN is_same(const struct cuda_page *a, const struct cuda_page *b)
{
	return a->address == b->address && a->number == b->number && a->access == b->access;
}

/* FALSE: the page at `at` of the second list is not in the first one. */
static BOOLEAN is_among(const struct cuda_page *pages, ULONG count, ULONG *from,
			const struct cuda_page *page)
{
	while (*from < count && pages[*from].address < page->address)
		(*from)++;
	return *from < count && is_same(&pages[*from], page);
}

static cuda_status unmap_others(const struct cuda_page *wanted, ULONG count)
{
	ULONG from = 0;

	for (ULONG i = 0; i < runner.page_count; i++) {
		if (is_among(wanted, count, &from, &runner.pages[i]))
			continue;
		cuda_status status = runner.api.memory_unmap(runner.pages[i].address, PAGE_BYTES);
		if (status != CUDA_OK)
			return status;
	}
	return CUDA_OK;
}

/* Access is given to pages in a row at once: that is what takes time. */
static cuda_status set_access(const struct cuda_page *first, ULONG count)
{
	const struct cuda_access access = { { CUDA_LOCATION_DEVICE, runner.device },
					    (int)first->access };

	return count == 0
		       ? CUDA_OK
		       : runner.api.memory_access(first->address, count * PAGE_BYTES, &access, 1);
}

static BOOLEAN goes_on(const struct cuda_page *before, const struct cuda_page *page)
{
	return page->address == before->address + PAGE_BYTES && page->access == before->access &&
	       page->address % WINDOW_BYTES != 0;
}

static cuda_status map_new(const struct cuda_page *wanted, ULONG count)
{
	ULONG from = 0;
	ULONG row = 0; /* how many in front of this one are mapped and have no access yet */

	for (ULONG i = 0; i < count; i++) {
		BOOLEAN is_there = is_among(runner.pages, runner.page_count, &from, &wanted[i]);

		if (row > 0 && (is_there || !goes_on(&wanted[i - 1], &wanted[i]))) {
			cuda_status status = set_access(&wanted[i - row], row);
			if (status != CUDA_OK)
				return status;
			row = 0;
		}
		if (is_there)
			continue;
		cuda_status status = runner.api.memory_map(wanted[i].address, PAGE_BYTES, 0,
							   runner.memory[wanted[i].number], 0);
		if (status != CUDA_OK)
			return status;
		row++;
	}
	return row > 0 ? set_access(&wanted[count - row], row) : CUDA_OK;
}

/* With FALSE in *is_kept_out nobody knows what is mapped. */
static cuda_status map(struct cuda_page *wanted, ULONGLONG size_bytes, BOOLEAN *is_kept_out)
{
	ULONG count = (ULONG)(size_bytes / sizeof(*wanted));
	cuda_status status = CUDA_OK;

	*is_kept_out = TRUE;
	for (ULONG i = 0; status == CUDA_OK && i < count; i++) {
		if (wanted[i].number >= runner.memory_count || !runner.memory[wanted[i].number] ||
		    wanted[i].address % PAGE_BYTES != 0 ||
		    (i > 0 && wanted[i].address <= wanted[i - 1].address))
			return CUDA_INVALID_VALUE;
		if (i == 0 ||
		    wanted[i].address / WINDOW_BYTES != wanted[i - 1].address / WINDOW_BYTES)
			status = open_window(wanted[i].address);
	}
	struct cuda_page *copy = calloc(count + 1, sizeof(*copy));
	if (status != CUDA_OK || !copy) {
		free(copy);
		return status != CUDA_OK ? status : CUDA_OUT_OF_MEMORY;
	}
	RtlCopyMemory(copy, wanted, count * sizeof(*copy));
	*is_kept_out = FALSE;
	status = unmap_others(copy, count);
	if (status == CUDA_OK)
		status = map_new(copy, count);
	free(runner.pages);
	runner.pages = copy;
	runner.page_count = count;
	*is_kept_out = status == CUDA_OK;
	return status;
}

/* ---- kernels ---- */

static cuda_status launch(ULONG number, struct cuda_grid *grid, ULONGLONG size_bytes)
{
	size_t parameter_bytes = size_bytes - sizeof(*grid);
	void *extra[] = { (void *)CUDA_LAUNCH_PARAMETERS, grid + 1,
			  (void *)CUDA_LAUNCH_PARAMETER_BYTES, &parameter_bytes,
			  (void *)CUDA_LAUNCH_END };

	if (number >= runner.kernel_count || !runner.kernels[number] || size_bytes < sizeof(*grid))
		return CUDA_INVALID_VALUE;
	cuda_status status = runner.api.launch(
		runner.kernels[number], grid->groups[0], grid->groups[1], grid->groups[2],
		grid->threads[0], grid->threads[1], grid->threads[2], grid->shared_bytes,
		runner.stream, NULL, parameter_bytes > 0 ? extra : NULL);
	return status == CUDA_OK ? runner.api.stream_wait(runner.stream) : status;
}

static void answer_to(const struct cuda_question *question, void *behind, const int *descriptors,
		      unsigned count, struct cuda_answer *answer)
{
	ULONGLONG size_bytes = question->size_bytes;
	BOOLEAN is_whole = TRUE;

	switch (question->kind) {
	case CUDA_ASK_BEGIN:
		answer->status = begin(question->number);
		is_whole = answer->status == CUDA_OK;
		break;
	case CUDA_ASK_LOAD:
		answer->status = load(behind, size_bytes, &answer->number);
		break;
	case CUDA_ASK_UNLOAD:
		answer->status = unload(question->number);
		break;
	case CUDA_ASK_FIND:
		answer->status = find(question->number, behind, size_bytes, &answer->number);
		break;
	case CUDA_ASK_TAKE:
		answer->status = take(behind, size_bytes, descriptors, count);
		is_whole = answer->status == CUDA_OK;
		break;
	case CUDA_ASK_MAP:
		answer->status = map(behind, size_bytes, &is_whole);
		break;
	case CUDA_ASK_LAUNCH:
		answer->status = launch(question->number, behind, size_bytes);
		break;
	default:
		answer->status = CUDA_INVALID_VALUE;
	}
	/* An error of a kernel's stays, and everybody is told of it. */
	if (answer->status != CUDA_OK && is_whole && runner.stream)
		is_whole = runner.api.stream_query(runner.stream) == CUDA_OK;
	answer->is_lost = !is_whole;
}

int main(void)
{
	for (;;) {
		struct cuda_question question;
		struct cuda_answer answer = { .status = CUDA_OUT_OF_MEMORY };
		int descriptors[CHANNEL_MOST_DESCRIPTORS];
		unsigned count = 0;

		/* What we have goes with us. */
		if (!channel_receive(CHANNEL_THERE, &question, sizeof(question), descriptors,
				     CHANNEL_MOST_DESCRIPTORS, &count) ||
		    question.size_bytes > RUNNER_MOST_BYTES)
			_exit(0);
		void *behind = calloc(1, question.size_bytes + 1);
		if (!behind ||
		    !channel_receive(CHANNEL_THERE, behind, question.size_bytes, NULL, 0, NULL))
			_exit(0);
		answer_to(&question, behind, descriptors, count, &answer);
		for (unsigned i = 0; i < count; i++)
			channel_close(descriptors[i]);
		free(behind);
		if (!channel_send(CHANNEL_THERE, &answer, sizeof(answer), NULL, 0))
			_exit(0);
	}
}
