/* SPDX-License-Identifier: MIT */
/*
 * opencl_client.c - a program that uses OpenCL, as any does: one step of it, which it is told.
 *
 * Whatever is not as the specification has it is said, and ends it with 1. What a step wants to be
 * known goes to standard output. It knows nothing of who is below.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

enum { MIB = 1 << 20, BUFFERS = 40, BUFFER_MIB = 8, MOST_BUFFERS = 1024, KERNEL_ITEMS = 64 };

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define CHECK_IS(value, expected)                                                                  \
	do {                                                                                       \
		cl_int is_ = (value);                                                              \
		if (is_ != (expected)) {                                                           \
			fprintf(stderr, "line %d: %s is %d, not %s\n", __LINE__, #value, is_,      \
				#expected);                                                        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define CHECK_OK(value) CHECK_IS(value, CL_SUCCESS)

static cl_device_id device;
static cl_context context;

static cl_command_queue make_queue(cl_command_queue_properties properties)
{
	const cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, properties, 0 };
	cl_int status;
	cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, list, &status);

	CHECK_OK(status);
	return queue;
}

static void end_queue(cl_command_queue queue)
{
	CHECK_OK(clFinish(queue));
	CHECK_OK(clReleaseCommandQueue(queue));
}

static cl_mem make_buffer(size_t size_bytes)
{
	cl_int status;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size_bytes, NULL, &status);

	CHECK_OK(status);
	return buffer;
}

static void *map(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, size_t size_bytes)
{
	cl_int status;
	void *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, 0, size_bytes, 0, NULL,
					  NULL, &status);

	CHECK_OK(status);
	CHECK(mapped);
	return mapped;
}

/* Every word says whose it is and where. */
static void fill(uint32_t *words, size_t size_bytes, uint32_t whose)
{
	for (size_t i = 0; i < size_bytes / sizeof(*words); i++)
		words[i] = whose * 0x9e3779b9u + (uint32_t)i;
}

static void check_filled(const uint32_t *words, size_t size_bytes, uint32_t whose)
{
	for (size_t i = 0; i < size_bytes / sizeof(*words); i++)
		CHECK(words[i] == whose * 0x9e3779b9u + (uint32_t)i);
}

/* ---- the steps ---- */

/* Through each way that reads or writes: written, mapped, read. */
static void step_buffers(void)
{
	const size_t size_bytes = (size_t)BUFFER_MIB * MIB;
	cl_command_queue queue = make_queue(0);
	uint32_t *copy = malloc(size_bytes);
	cl_mem buffers[BUFFERS];

	CHECK(copy);
	for (uint32_t i = 0; i < BUFFERS; i++) {
		buffers[i] = make_buffer(size_bytes);
		if (i % 2 == 0) {
			fill(copy, size_bytes, i);
			CHECK_OK(clEnqueueWriteBuffer(queue, buffers[i], CL_TRUE, 0, size_bytes,
						      copy, 0, NULL, NULL));
		} else {
			uint32_t *mapped = map(queue, buffers[i], CL_MAP_WRITE, size_bytes);

			fill(mapped, size_bytes, i);
			CHECK_OK(clEnqueueUnmapMemObject(queue, buffers[i], mapped, 0, NULL, NULL));
		}
	}
	CHECK_OK(clFinish(queue));
	for (uint32_t i = 0; i < BUFFERS; i++) {
		if (i % 3 == 0) {
			uint32_t *mapped = map(queue, buffers[i], CL_MAP_READ, size_bytes);

			check_filled(mapped, size_bytes, i);
			CHECK_OK(clEnqueueUnmapMemObject(queue, buffers[i], mapped, 0, NULL, NULL));
		} else {
			memset(copy, 0, size_bytes);
			CHECK_OK(clEnqueueReadBuffer(queue, buffers[i], CL_TRUE, 0, size_bytes,
						     copy, 0, NULL, NULL));
			check_filled(copy, size_bytes, i);
		}
	}
	for (uint32_t i = 0; i < BUFFERS; i++)
		CHECK_OK(clReleaseMemObject(buffers[i]));
	free(copy);
	end_queue(queue);
}

/* Memory that the program brought: mapped, it is where it was. */
static void step_host_memory(void)
{
	const size_t size_bytes = 4 * MIB;
	cl_command_queue queue = make_queue(0);
	uint32_t *memory = aligned_alloc(4096, size_bytes);
	cl_int status;

	CHECK(memory);
	fill(memory, size_bytes, 1);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size_bytes,
				       memory, &status);
	CHECK_OK(status);
	uint32_t *mapped = map(queue, buffer, CL_MAP_READ | CL_MAP_WRITE, size_bytes);
	CHECK(mapped == memory);
	check_filled(mapped, size_bytes, 1);
	CHECK_OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
	CHECK_OK(clReleaseMemObject(buffer));

	buffer = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size_bytes,
				memory, &status);
	CHECK_OK(status);
	mapped = map(queue, buffer, CL_MAP_READ, size_bytes);
	check_filled(mapped, size_bytes, 1);
	CHECK_OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
	CHECK_OK(clReleaseMemObject(buffer));
	end_queue(queue);
	free(memory);
}

/* The runtime gives memory back when it likes, on a thread of its own. */
static cl_mem make_buffer_soon(size_t size_bytes)
{
	enum { MOST_TRIES = 10000 };
	cl_int status = CL_OUT_OF_HOST_MEMORY;
	cl_mem buffer = NULL;

	for (unsigned i = 0; !buffer && i < MOST_TRIES; i++) {
		poll(NULL, 0, 1);
		buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size_bytes, NULL, &status);
	}
	CHECK_OK(status);
	return buffer;
}

/* Until there is no more: the answer is one of the specification's, and all is well afterwards. */
static void step_exhaust(void)
{
	const size_t size_bytes = (size_t)BUFFER_MIB * MIB;
	cl_command_queue queue = make_queue(0);
	cl_ulong largest = 0;
	cl_mem buffers[MOST_BUFFERS];
	uint32_t count = 0;
	cl_int status;

	CHECK_OK(clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(largest), &largest,
				 NULL));
	CHECK(!clCreateBuffer(context, CL_MEM_READ_WRITE, largest + 1, NULL, &status));
	CHECK_IS(status, CL_INVALID_BUFFER_SIZE);
	CHECK(!clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &status));
	CHECK_IS(status, CL_INVALID_BUFFER_SIZE);

	for (; count < MOST_BUFFERS; count++) {
		buffers[count] =
			clCreateBuffer(context, CL_MEM_READ_WRITE, size_bytes, NULL, &status);
		if (!buffers[count])
			break;
		CHECK_OK(status);
		uint32_t *mapped = map(queue, buffers[count], CL_MAP_WRITE, size_bytes);
		mapped[0] = count;
		CHECK_OK(clEnqueueUnmapMemObject(queue, buffers[count], mapped, 0, NULL, NULL));
	}
	CHECK(count > 0 && count < MOST_BUFFERS);
	CHECK(status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
	      status == CL_OUT_OF_HOST_MEMORY);
	printf("%u buffers, then %d\n", count, status);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t *mapped = map(queue, buffers[i], CL_MAP_READ, size_bytes);

		CHECK(mapped[0] == i);
		CHECK_OK(clEnqueueUnmapMemObject(queue, buffers[i], mapped, 0, NULL, NULL));
		CHECK_OK(clFinish(queue));
		CHECK_OK(clReleaseMemObject(buffers[i]));
	}
	buffers[0] = make_buffer_soon(size_bytes);
	CHECK_OK(clReleaseMemObject(buffers[0]));
	end_queue(queue);
}

static void step_svm(void)
{
	const size_t size_bytes = 8 * MIB;
	cl_command_queue queue = make_queue(0);
	uint32_t *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, size_bytes, 0);

	CHECK(memory);
	CHECK_OK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, memory, size_bytes, 0, NULL, NULL));
	fill(memory, size_bytes, 5);
	CHECK_OK(clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL));
	CHECK_OK(clFinish(queue));
	CHECK_OK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, memory, size_bytes, 0, NULL, NULL));
	check_filled(memory, size_bytes, 5);
	CHECK_OK(clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL));
	end_queue(queue);
	clSVMFree(context, memory);
}

/* Those of one event only: the runtime relates the GPU's clock to its own for each anew. */
static void check_times(cl_event event)
{
	cl_ulong start = 0;
	cl_ulong end = 0;

	CHECK_OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start,
					 NULL));
	CHECK_OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL));
	CHECK(start > 0 && end >= start);
}

/* Command streams without a kernel, in and out of order: they end, and say when. */
static void step_finish(void)
{
	for (unsigned i = 0; i < 8; i++) {
		cl_command_queue queue =
			make_queue(CL_QUEUE_PROFILING_ENABLE |
				   (i % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0));
		cl_event marker;
		cl_event barrier;

		CHECK_OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker));
		CHECK_OK(clEnqueueBarrierWithWaitList(queue, 1, &marker, &barrier));
		CHECK_OK(clFlush(queue));
		CHECK_OK(clWaitForEvents(1, &barrier));
		check_times(marker);
		check_times(barrier);
		CHECK_OK(clReleaseEvent(marker));
		CHECK_OK(clReleaseEvent(barrier));
		end_queue(queue);
	}
	cl_ulong of_device = 0;
	cl_ulong of_host = 0;
	CHECK_OK(clGetDeviceAndHostTimer(device, &of_device, &of_host));
	CHECK(of_device > 0 && of_host > 0);
}

static cl_kernel build(const char *source, cl_program *program_out)
{
	cl_int status;

	*program_out = clCreateProgramWithSource(context, 1, &source, NULL, &status);
	CHECK_OK(status);
	CHECK_OK(clBuildProgram(*program_out, 1, &device, "-cl-std=CL1.2", NULL, NULL));
	cl_kernel kernel = clCreateKernel(*program_out, "put", &status);
	CHECK_OK(status);
	return kernel;
}

static const char put_one[] = "kernel void put(global uint *to) { to[get_global_id(0)] = 7; }";

static void end_kernel(cl_kernel kernel, cl_program program)
{
	CHECK_OK(clReleaseKernel(kernel));
	CHECK_OK(clReleaseProgram(program));
}

static void step_build(void)
{
	static const char *const wrong = "kernel void put(global uint *to) { to[0] = nobody; }";
	cl_mem buffer = make_buffer(KERNEL_ITEMS * sizeof(uint32_t));
	cl_program program;
	cl_kernel kernel = build(put_one, &program);
	cl_int status;

	CHECK_OK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	CHECK_IS(clSetKernelArg(kernel, 1, sizeof(buffer), &buffer), CL_INVALID_ARG_INDEX);
	end_kernel(kernel, program);
	CHECK_OK(clReleaseMemObject(buffer));

	program = clCreateProgramWithSource(context, 1, (const char **)&wrong, NULL, &status);
	CHECK_OK(status);
	CHECK_IS(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
	CHECK_OK(clReleaseProgram(program));
}

/* As docs/clients.md has it: refused, said at the next wait; what the CPU sees is as it was. */
static void step_walker(void)
{
	const size_t items = KERNEL_ITEMS;
	const size_t size_bytes = items * sizeof(uint32_t);
	cl_command_queue queue = make_queue(0);
	cl_mem buffer = make_buffer(size_bytes);
	cl_program program;
	cl_kernel kernel = build(put_one, &program);
	cl_int status;

	uint32_t *mapped = map(queue, buffer, CL_MAP_WRITE, size_bytes);
	fill(mapped, size_bytes, 3);
	CHECK_OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
	CHECK_OK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	CHECK_OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
	CHECK_IS(clFinish(queue), CL_OUT_OF_RESOURCES);
	uint32_t back[KERNEL_ITEMS];
	CHECK_OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size_bytes, back, 0, NULL, NULL));
	check_filled(back, size_bytes, 3);
	CHECK(!clCreateBuffer(context, CL_MEM_READ_WRITE, size_bytes, NULL, &status));
	CHECK_IS(status, CL_OUT_OF_HOST_MEMORY);
	end_kernel(kernel, program);
	CHECK_OK(clReleaseMemObject(buffer));
	clReleaseCommandQueue(queue);
}

/* A kernel that takes as many buffers as there are, so that all of them have to be on the GPU. */
static cl_kernel build_for_all(cl_program *program_out)
{
	char source[BUFFERS * 64] = "kernel void put(";
	size_t length = strlen(source);

	for (unsigned i = 0; i < BUFFERS; i++)
		length += (size_t)snprintf(source + length, sizeof(source) - length,
					   "%sglobal uint *b%u", i ? ", " : "", i);
	length += (size_t)snprintf(source + length, sizeof(source) - length, ") { ");
	for (unsigned i = 0; i < BUFFERS; i++)
		length += (size_t)snprintf(source + length, sizeof(source) - length,
					   "b%u[0] = %u; ", i, i);
	snprintf(source + length, sizeof(source) - length, "}");
	return build(source, program_out);
}

/*
 * Work that uses them all brings them to the GPU, and what it cannot hold out again; the work is
 * refused then, or there was too little memory for it. Each has the contents it had.
 */
static void step_pressure(void)
{
	const size_t size_bytes = (size_t)BUFFER_MIB * MIB;
	const size_t items = 1;
	cl_command_queue queue = make_queue(0);
	cl_program program;
	cl_kernel kernel = build_for_all(&program);
	cl_mem buffers[BUFFERS];
	uint32_t *mapped[BUFFERS];

	for (uint32_t i = 0; i < BUFFERS; i++) {
		buffers[i] = make_buffer(size_bytes);
		mapped[i] = map(queue, buffers[i], CL_MAP_WRITE, size_bytes);
		fill(mapped[i], size_bytes, i);
		CHECK_OK(clEnqueueUnmapMemObject(queue, buffers[i], mapped[i], 0, NULL, NULL));
		CHECK_OK(clSetKernelArg(kernel, i, sizeof(buffers[i]), &buffers[i]));
	}
	cl_int status = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
	if (status == CL_SUCCESS)
		status = clFinish(queue);
	CHECK(status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY ||
	      status == CL_MEM_OBJECT_ALLOCATION_FAILURE);
	printf("work on all of them: %d\n", status);
	for (uint32_t i = 0; i < BUFFERS; i++) {
		check_filled(mapped[i], size_bytes, i); /* memory of this device stays mapped */
		CHECK_OK(clReleaseMemObject(buffers[i]));
	}
	end_kernel(kernel, program);
	clReleaseCommandQueue(queue);
}

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = {
	{ "buffers", step_buffers }, { "host_memory", step_host_memory },
	{ "exhaust", step_exhaust }, { "svm", step_svm },
	{ "finish", step_finish },   { "build", step_build },
	{ "walker", step_walker },   { "pressure", step_pressure },
};

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_int status;

	CHECK_OK(clGetPlatformIDs(1, &platform, NULL));
	CHECK_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	CHECK_OK(status);
	for (size_t i = 0; argc > 1 && i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (strcmp(argv[1], steps[i].name) == 0) {
			steps[i].run();
			CHECK_OK(clReleaseContext(context));
			puts("well");
			return 0;
		}
	}
	fprintf(stderr, "no such step\n");
	return 2;
}
