/* SPDX-License-Identifier: MIT */
/*
 * shrink_test.c - see shrink_test.h.
 *
 * The program that is written has functions for what nearly every script does, and its main() calls them; a statement that is
 * none of these stands there as a comment, for its author to say it in calls. It compiles as it is.
 */
#include <inttypes.h>
#include <string.h>

#include "base/attributes.h"
#include "cli/verify/shrink_test.h"

static const char head[] =
	"#include <dlfcn.h>\n"
	"#include <stdint.h>\n"
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"\n"
	"#include <dxg/d3dkmthk.h>\n"
	"#include <opendxgk/exerciser.h>\n"
	"#include <opendxgk/refusal.h>\n"
	"\n"
	"struct client { D3DKMT_HANDLE device, queue, fence; };\n"
	"struct context { struct client *client; D3DKMT_HANDLE handle, fence, buffer; UINT64 "
	"address, value; void *bytes; };\n"
	"struct allocation { struct client *client; D3DKMT_HANDLE handle; UINT64 size, address; "
	"};\n"
	"\n"
	"static const struct dxgk_exerciser *exerciser;\n"
	"static D3DKMT_HANDLE adapter;\n"
	"static unsigned char data[4096];\n"
	"\n"
	"static void must(NTSTATUS status, const char *what)\n"
	"{\n"
	"\tstruct dxgk_refusal why = { .size_bytes = sizeof(why) };\n"
	"\n"
	"\tif (status >= 0)\n"
	"\t\treturn;\n"
	"\tfprintf(stderr, \"%s: 0x%08x %s\\n\", what, (unsigned)status, DxgkLastRefusal(&why) ? "
	"why.reason : \"\");\n"
	"\texit(1);\n"
	"}\n"
	"#define MUST(call) must((call), #call)\n"
	"\n"
	"static void wait_for(struct client *client, D3DKMT_HANDLE fence, UINT64 value)\n"
	"{\n"
	"\tMUST(D3DKMTWaitForSynchronizationObjectFromCpu(&(D3DKMT_"
	"WAITFORSYNCHRONIZATIONOBJECTFROMCPU){\n"
	"\t\t.hDevice = client->device, .ObjectCount = 1, .ObjectHandleArray = &fence, "
	".FenceValueArray = &value }));\n"
	"}\n"
	"\n"
	"static struct client client_create(void)\n"
	"{\n"
	"\tD3DKMT_CREATEDEVICE device = { .hAdapter = adapter };\n"
	"\tMUST(D3DKMTCreateDevice(&device));\n"
	"\tD3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = device.hDevice };\n"
	"\tMUST(D3DKMTCreatePagingQueue(&queue));\n"
	"\treturn (struct client){ device.hDevice, queue.hPagingQueue, queue.hSyncObject };\n"
	"}\n"
	"\n"
	"static struct allocation allocate(struct client *client, UINT64 size)\n"
	"{\n"
	"\tD3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = data };\n"
	"\tinfo.PrivateDriverDataSize = exerciser->allocation_data(size, 1, data, sizeof(data));\n"
	"\tD3DKMT_CREATEALLOCATION create = { .hDevice = client->device, .NumAllocations = 1, "
	".pAllocationInfo2 = &info };\n"
	"\tMUST(D3DKMTCreateAllocation2(&create));\n"
	"\treturn (struct allocation){ client, info.hAllocation, size, 0 };\n"
	"}\n"
	"\n"
	"static void map(struct allocation *one)\n"
	"{\n"
	"\tD3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = one->client->queue, .hAllocation = "
	"one->handle,\n"
	"\t\t.SizeInPages = (one->size + 4095) / 4096, .Protection = { .Write = 1 } };\n"
	"\tMUST(D3DKMTMapGpuVirtualAddress(&args));\n"
	"\twait_for(one->client, one->client->fence, args.PagingFenceValue);\n"
	"\tone->address = args.VirtualAddress;\n"
	"}\n"
	"\n"
	"static void resident(struct allocation *one)\n"
	"{\n"
	"\tD3DDDI_MAKERESIDENT args = { .hPagingQueue = one->client->queue, .NumAllocations = 1, "
	".AllocationList = &one->handle };\n"
	"\tMUST(D3DKMTMakeResident(&args));\n"
	"\twait_for(one->client, one->client->fence, args.PagingFenceValue);\n"
	"}\n"
	"\n"
	"static void evict(struct allocation *one)\n"
	"{\n"
	"\tMUST(D3DKMTEvict(&(D3DKMT_EVICT){ .hDevice = one->client->device, .NumAllocations = 1, "
	".AllocationList = &one->handle }));\n"
	"}\n"
	"\n"
	"static uint32_t *lock(struct allocation *one)\n"
	"{\n"
	"\tD3DKMT_LOCK2 args = { .hDevice = one->client->device, .hAllocation = one->handle };\n"
	"\tMUST(D3DKMTLock2(&args));\n"
	"\treturn args.pData;\n"
	"}\n"
	"\n"
	"static void unlock(struct allocation *one)\n"
	"{\n"
	"\tMUST(D3DKMTUnlock2(&(D3DKMT_UNLOCK2){ .hDevice = one->client->device, .hAllocation = "
	"one->handle }));\n"
	"}\n"
	"\n"
	"static void write_words(struct allocation *one, uint32_t value)\n"
	"{\n"
	"\tuint32_t *words = lock(one);\n"
	"\tfor (UINT64 i = 0; i < one->size / 4; i++)\n"
	"\t\twords[i] = value;\n"
	"\tunlock(one);\n"
	"}\n"
	"\n"
	"static void check_words(struct allocation *one, uint32_t value)\n"
	"{\n"
	"\tuint32_t *words = lock(one);\n"
	"\tfor (UINT64 i = 0; i < one->size / 4; i++) {\n"
	"\t\tif (words[i] != value) {\n"
	"\t\t\tfprintf(stderr, \"word %llu is 0x%x, not 0x%x\\n\", (unsigned long long)i, "
	"words[i], value);\n"
	"\t\t\texit(1);\n"
	"\t\t}\n"
	"\t}\n"
	"\tunlock(one);\n"
	"}\n"
	"\n"
	"static struct context context_create(struct client *client, UINT node)\n"
	"{\n"
	"\tD3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = client->device, .NodeOrdinal = node, "
	".EngineAffinity = 1,\n"
	"\t\t.pPrivateDriverData = data };\n"
	"\targs.PrivateDriverDataSize = exerciser->context_data ? exerciser->context_data(node, "
	"data, sizeof(data)) : 0;\n"
	"\tMUST(D3DKMTCreateContextVirtual(&args));\n"
	"\tD3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = client->device, .Info = { "
	".Type = D3DDDI_MONITORED_FENCE } };\n"
	"\tMUST(D3DKMTCreateSynchronizationObject2(&fence));\n"
	"\tstruct allocation buffer = allocate(client, 4096);\n"
	"\tmap(&buffer);\n"
	"\tresident(&buffer);\n"
	"\treturn (struct context){ client, args.hContext, fence.hSyncObject, buffer.handle, "
	"buffer.address, 0, lock(&buffer) };\n"
	"}\n"
	"\n"
	"static void wait_context(struct context *context)\n"
	"{\n"
	"\twait_for(context->client, context->fence, context->value);\n"
	"}\n"
	"\n"
	"/* The commands are in context->bytes. */\n"
	"static void submit(struct context *context, uint32_t length)\n"
	"{\n"
	"\tD3DKMT_SUBMITCOMMAND args = { .Commands = context->address, .CommandLength = length, "
	".BroadcastContextCount = 1,\n"
	"\t\t.BroadcastContext = { context->handle }, .pPrivateDriverData = data };\n"
	"\targs.PrivateDriverDataSize = exerciser->submission_data ?\n"
	"\t\texerciser->submission_data(context->address, length, data, sizeof(data)) : 0;\n"
	"\tMUST(D3DKMTSubmitCommand(&args));\n"
	"\tcontext->value++;\n"
	"\tMUST(D3DKMTSignalSynchronizationObjectFromGpu(&(D3DKMT_"
	"SIGNALSYNCHRONIZATIONOBJECTFROMGPU){\n"
	"\t\t.hContext = context->handle, .ObjectCount = 1, .ObjectHandleArray = &context->fence,\n"
	"\t\t.MonitoredFenceValueArray = &context->value }));\n"
	"\t/* The next commands go to the same place. */\n"
	"\twait_context(context);\n"
	"}\n"
	"\n"
	"static void fill(struct context *context, struct allocation *to, uint32_t value)\n"
	"{\n"
	"\tsubmit(context, exerciser->fill(to->address, to->size, value, context->bytes, 4096));\n"
	"}\n"
	"\n"
	"static void copy(struct context *context, struct allocation *from, struct allocation "
	"*to)\n"
	"{\n"
	"\tsubmit(context, exerciser->copy(to->address, from->address, to->size, context->bytes, "
	"4096));\n"
	"}\n"
	"\n"
	"static void destroy_allocation(struct allocation *one)\n"
	"{\n"
	"\tMUST(D3DKMTDestroyAllocation2(&(D3DKMT_DESTROYALLOCATION2){ .hDevice = "
	"one->client->device,\n"
	"\t\t.phAllocationList = &one->handle, .AllocationCount = 1 }));\n"
	"}\n"
	"\n"
	"static void destroy_context(struct context *context)\n"
	"{\n"
	"\tMUST(D3DKMTDestroyContext(&(D3DKMT_DESTROYCONTEXT){ .hContext = context->handle }));\n"
	"}\n"
	"\n"
	"static void destroy_client(struct client *client)\n"
	"{\n"
	"\tMUST(D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){ .hDevice = client->device }));\n"
	"}\n"
	"\n"
	"static void begin(void)\n"
	"{\n"
	"\tvoid *library = dlopen(EXERCISER, RTLD_NOW);\n"
	"\tvoid *symbol = library ? dlsym(library, \"dxgk_exerciser\") : NULL;\n"
	"\tif (!symbol) {\n"
	"\t\tfprintf(stderr, \"%s\\n\", dlerror());\n"
	"\t\texit(1);\n"
	"\t}\n"
	"\texerciser = (*(const struct dxgk_exerciser *(**)(void))&symbol)();\n"
	"\tD3DKMT_ADAPTERINFO info[16];\n"
	"\tD3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 16, .pAdapters = info };\n"
	"\tMUST(D3DKMTEnumAdapters2(&all));\n"
	"\tadapter = info[0].hAdapter;\n"
	"\t/* Those that this script does not call. */\n"
	"\t(void)evict; (void)copy; (void)fill; (void)write_words; (void)check_words; "
	"(void)context_create;\n"
	"\t(void)destroy_allocation; (void)destroy_context; (void)destroy_client; "
	"(void)client_create;\n"
	"}\n";

/* ---- statements ---- */

struct statement {
	char word[8][64];
	unsigned count;
};

static void statement_read(const char *line, struct statement *statement)
{
	statement->count = 0;
	while (*line && statement->count < ARRAY_SIZE(statement->word)) {
		size_t length = strcspn(line, " ");

		if (length > 0)
			snprintf(statement->word[statement->count++], sizeof(statement->word[0]),
				 "%.*s", (int)length, line);
		line += length;
		line += strspn(line, " ");
	}
	for (unsigned i = statement->count; i < ARRAY_SIZE(statement->word); i++)
		statement->word[i][0] = '\0';
}

static bool is(const struct statement *statement, unsigned index, const char *text)
{
	return strcmp(statement->word[index], text) == 0;
}

/* Names of a script may have a - in them, those of C not. */
static const char *name(struct statement *statement, unsigned index)
{
	for (char *at = statement->word[index]; *at; at++) {
		if (*at == '-')
			*at = '_';
	}
	return statement->word[index];
}

static bool write_maker(FILE *out, struct statement *of)
{
	if (is(of, 0, "client") && of->count == 2)
		/* What is to be filled in may be all that uses it. */
		fprintf(out, "\tstruct client %s = client_create();\n\t(void)&%s;\n", name(of, 1),
			name(of, 1));
	else if (is(of, 0, "context") && of->count == 5)
		fprintf(out, "\tstruct context %s = context_create(&%s, %s);\n", name(of, 1),
			name(of, 2), of->word[4]);
	else if (is(of, 0, "allocate") && of->count == 4)
		fprintf(out, "\tstruct allocation %s = allocate(&%s, %s);\n", name(of, 1),
			name(of, 2), is(of, 3, "4K") ? "4096" : of->word[3]);
	else
		return false;
	return true;
}

/* What a name stands for is said by where it was made. */
static const char *kind_of(const struct lines *lines, const char *wanted)
{
	for (size_t i = 0; i < lines->count; i++) {
		struct statement made;

		statement_read(lines->items[i], &made);
		if (strcmp(made.word[1], wanted) == 0 && is(&made, 0, "allocate"))
			return "allocation";
		if (strcmp(made.word[1], wanted) == 0 &&
		    (is(&made, 0, "client") || is(&made, 0, "context")))
			return is(&made, 0, "client") ? "client" : "context";
	}
	return NULL;
}

static bool write_call(FILE *out, const struct lines *lines, struct statement *of)
{
	const char *kind = kind_of(lines, of->word[1]);

	if (of->count == 2 && kind && is(of, 0, "destroy"))
		fprintf(out, "\tdestroy_%s(&%s);\n", kind, name(of, 1));
	else if (of->count == 2 && kind && strcmp(kind, "context") == 0 && is(of, 0, "wait"))
		fprintf(out, "\twait_context(&%s);\n", name(of, 1));
	else if (of->count == 2 &&
		 (is(of, 0, "map") || is(of, 0, "resident") || is(of, 0, "evict")))
		fprintf(out, "\t%s(&%s);\n", of->word[0], name(of, 1));
	else if (of->count == 3 && (is(of, 0, "write") || is(of, 0, "check")))
		fprintf(out, "\t%s_words(&%s, %s);\n", of->word[0], name(of, 1), of->word[2]);
	else if (of->count == 5 && is(of, 0, "submit") && is(of, 2, "fill"))
		fprintf(out, "\tfill(&%s, &%s, %s);\n", name(of, 1), name(of, 3), of->word[4]);
	else if (of->count == 6 && is(of, 0, "submit") && is(of, 2, "copy"))
		fprintf(out, "\tcopy(&%s, &%s, &%s);\n", name(of, 1), name(of, 3), name(of, 5));
	else
		return false;
	return true;
}

void shrink_test_write(FILE *out, const struct lines *lines, const struct failing *failing,
		       uint64_t switches)
{
	fprintf(out, "/*\n * %s: %s\n *\n * Run it with DXGK_VERIFY=all DXGK_SEED=%" PRIu64,
		failing->finding->rule, failing->finding->sentence, failing->seed);
	if (switches != UINT64_MAX)
		fprintf(out, " DXGK_SWITCHES=%" PRIu64, switches);
	if (failing->plan[0])
		fprintf(out, " DXGK_FAULT='%s'", failing->plan);
	fprintf(out,
		",\n * and DXGK_PROFILE naming a profile with the driver. It fails when the rule "
		"is reported:\n"
		" * dxgk_test_report_count(\"%s\") of <opendxgk/testing.h>, from libdxgk.so.\n "
		"*/\n",
		failing->finding->rule);
	fprintf(out, "#define EXERCISER \"%s\"\n\n", failing->exerciser ? failing->exerciser : "");
	fputs(head, out);
	fprintf(out, "\nextern unsigned long long dxgk_test_report_count(const char *rule);\n\n"
		     "int main(void)\n{\n\tbegin();\n");
	for (size_t i = 0; i < lines->count; i++) {
		struct statement statement;

		statement_read(lines->items[i], &statement);
		if (!write_maker(out, &statement) && !write_call(out, lines, &statement))
			fprintf(out, "\t/* %s */\n", lines->items[i]);
	}
	fprintf(out, "\treturn dxgk_test_report_count(\"%s\") > 0;\n}\n", failing->finding->rule);
}
