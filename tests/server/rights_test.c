/* SPDX-License-Identifier: MIT */
/*
 * rights_test.c - memory that is shared for reading is not written, whatever its reader does.
 *
 * The reader keeps every descriptor that ever came over the socket, finds the one whose pages it is shown, and tries
 * all that the host has for writing to it. The maker goes on writing meanwhile, and so does whoever was let
 * write before the reader came.
 */
#include "api/soft_work.h"
#include "server/house.h"

#include <sys/syscall.h>
#include <sys/uio.h>

enum { HERE = 1, GO, DONE };
enum { SHARED_BYTES = 64 * KIB, READ_CONTROL = 0x20000, CAUGHT_MOST = 64 };

/* ---- every descriptor that comes ---- */

static struct {
	int descriptors[CAUGHT_MOST];
	unsigned count;
} caught;

/* In place of the C library's, for libdxcore.so, too. */
__attribute__((visibility("default"))) ssize_t recvmsg(int socket, struct msghdr *message,
						       int flags)
{
	ssize_t got = syscall(SYS_recvmsg, socket, message, flags);

	for (struct cmsghdr *part = got > 0 ? CMSG_FIRSTHDR(message) : NULL; part;
	     part = CMSG_NXTHDR(message, part)) {
		int descriptor;

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
		    caught.count == CAUGHT_MOST)
			continue;
		memcpy(&descriptor, CMSG_DATA(part), sizeof(descriptor));
		caught.descriptors[caught.count++] = dup(descriptor);
	}
	return got;
}

/* The file that is mapped at the address, and where. */
static int file_at(const void *address, uint64_t *offset_out)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long first, end, offset, inode = 0;
	char line[512];

	while (fgets(line, sizeof(line), maps)) {
		CHILD_EXPECT(sscanf(line, "%lx-%lx %*s %lx %*s %lu", &first, &end, &offset,
				    &inode) == 4);
		if ((uintptr_t)address >= first && (uintptr_t)address < end)
			break;
	}
	fclose(maps);
	*offset_out = offset + ((uintptr_t)address - first);
	for (unsigned i = 0; i < caught.count; i++) {
		struct stat facts;

		if (fstat(caught.descriptors[i], &facts) == 0 && facts.st_ino == inode)
			return caught.descriptors[i];
	}
	return -1;
}

/* ---- what is shared ---- */

static void send_shared(D3DKMT_HANDLE resource, DWORD access)
{
	HANDLE handle;

	CHILD_EXPECT(D3DKMTShareObjects(1, &resource, NULL, access, &handle) == STATUS_SUCCESS);
	CHILD_EXPECT(talk_send(TALK_FD, (struct talk){ HERE, 0 }, (int)(intptr_t)handle));
	close((int)(intptr_t)handle);
}

static D3DKMT_HANDLE open_next(D3DKMT_HANDLE device)
{
	D3DDDI_OPENALLOCATIONINFO2 info = { 0 };
	unsigned char total[1024];
	int descriptor;
	test_hear_with(&descriptor);
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = { .hDevice = device,
						 .hNtHandle = (HANDLE)(intptr_t)descriptor,
						 .NumAllocations = 1,
						 .pOpenAllocationInfo2 = &info,
						 .TotalPrivateDriverDataBufferSize = sizeof(total),
						 .pTotalPrivateDriverDataBuffer = total };

	CHILD_EXPECT(D3DKMTOpenResourceFromNtHandle(&args) == STATUS_SUCCESS);
	close(descriptor);
	return info.hAllocation;
}

static bool is_full_of(const void *pointer, unsigned char byte)
{
	const volatile unsigned char *bytes = pointer;

	for (unsigned i = 0; i < SHARED_BYTES; i++) {
		if (bytes[i] != byte)
			return false;
	}
	return true;
}

/* Locks it at each word that the test says, fills it with the value, and unlocks; 0 ends it. */
static void fill_when_told(D3DKMT_HANDLE device, D3DKMT_HANDLE memory)
{
	void *pointer;
	uint64_t byte;

	while ((byte = test_hear().value) != 0) {
		CHILD_EXPECT(lock2(device, memory, &pointer) == STATUS_SUCCESS);
		memset(pointer, (int)byte, SHARED_BYTES);
		if (byte % 2)
			CHILD_EXPECT(unlock2(device, memory) == STATUS_SUCCESS);
		test_say(DONE, 0);
	}
}

/* Shares it twice: to read, and to write. */
CHILD(maker)
{
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());
	struct creation creation;

	creation_init_resource(&creation, device, 1, SHARED_NT);
	creation.data[0].size_bytes = SHARED_BYTES;
	CHILD_EXPECT(create(&creation) == STATUS_SUCCESS);
	send_shared(creation.args.hResource, READ_CONTROL);
	send_shared(creation.args.hResource, SHARED_ALLOCATION_WRITE);
	fill_when_told(device, creation.elements[0].hAllocation);
	return 0;
}

CHILD(writer)
{
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());
	D3DKMT_HANDLE memory = open_next(device);

	test_say(HERE, 0);
	fill_when_told(device, memory);
	return 0;
}

CHILD(late_writer)
{
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());
	D3DKMT_HANDLE memory = open_next(device);
	void *pointer;

	CHILD_EXPECT(lock2(device, memory, &pointer) == STATUS_ACCESS_DENIED);
	CHILD_EXPECT(strcmp(last_refusal().rule, "MM-LOCK-SHARED") == 0);
	CHILD_EXPECT(strcmp(last_refusal().argument, "hAllocation") == 0);
	CHILD_EXPECT(unlock2(device, memory) != STATUS_SUCCESS);
	test_say(DONE, 0);
	return 0;
}

/* ---- all that can be tried ---- */

static void try_file(int file, uint64_t offset)
{
	unsigned char byte = 0xee;
	void *view = mmap(NULL, SHARED_BYTES, PROT_READ, MAP_SHARED, file, (off_t)offset);

	CHILD_EXPECT(mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file,
			  (off_t)offset) == MAP_FAILED);
	CHILD_EXPECT(mmap(NULL, SHARED_BYTES, PROT_WRITE, MAP_SHARED, file, (off_t)offset) ==
		     MAP_FAILED);
	CHILD_EXPECT(view != MAP_FAILED);
	CHILD_EXPECT(mprotect(view, SHARED_BYTES, PROT_READ | PROT_WRITE) != 0);
	CHILD_EXPECT(pwrite(file, &byte, 1, (off_t)offset) < 0);
	CHILD_EXPECT(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
			       SHARED_BYTES) != 0);
	CHILD_EXPECT(madvise(view, SHARED_BYTES, MADV_REMOVE) != 0);
	CHILD_EXPECT(ftruncate(file, 0) != 0);
	CHILD_EXPECT(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE) != 0);
	munmap(view, SHARED_BYTES);
}

static void try_again_by_name(int file, uint64_t offset)
{
	static const int ways[] = { O_RDWR, O_WRONLY, O_RDWR | O_TRUNC };
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	(void)!fchmod(file, 0777);
	for (unsigned i = 0; i < ARRAYSIZE(ways); i++) {
		int again = open(path, ways[i] | O_CLOEXEC);

		if (again >= 0 && ways[i] == O_RDWR)
			try_file(again, offset);
		if (again >= 0)
			close(again);
	}
}

static void try_memory(void *pointer)
{
	unsigned char bytes[16] = { 0xee };
	struct iovec from = { bytes, sizeof(bytes) };
	struct iovec to = { pointer, sizeof(bytes) };
	int zeroes = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	void *again = mremap(pointer, 0, SHARED_BYTES, MREMAP_MAYMOVE);

	CHILD_EXPECT(mprotect(pointer, SHARED_BYTES, PROT_READ | PROT_WRITE) != 0);
	CHILD_EXPECT(again != MAP_FAILED &&
		     mprotect(again, SHARED_BYTES, PROT_READ | PROT_WRITE) != 0);
	CHILD_EXPECT(read(zeroes, pointer, 16) < 0);
	CHILD_EXPECT(memory < 0 || pwrite(memory, bytes, 16, (off_t)(uintptr_t)pointer) < 0);
	CHILD_EXPECT(process_vm_writev(getpid(), &from, 1, &to, 1, 0) < 0);
}

/* One operation of a context's own, of which the first of two is never wrong. */
static NTSTATUS update(const struct client *client,
		       const D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *operation)
{
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = client->device };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = client->device,
						      .Info.Type = D3DDDI_MONITORED_FENCE };
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operations[] = {
		{ .OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP,
		  .Unmap = { .BaseAddress = operation->Map.BaseAddress,
			     .SizeInBytes = PAGE,
			     .Protection.Zero = 1 } },
		*operation,
	};

	CHILD_EXPECT(D3DKMTCreateContextVirtual(&context) == STATUS_SUCCESS);
	CHILD_EXPECT(D3DKMTCreateSynchronizationObject2(&fence) == STATUS_SUCCESS);
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = client->device,
						.hContext = context.hContext,
						.hFenceObject = fence.hSyncObject,
						.NumOperations = ARRAYSIZE(operations),
						.Operations = operations,
						.FenceValue = 1 };
	return D3DKMTUpdateGpuVirtualAddress(&args);
}

/* MAP writes always, MAP_PROTECT where it says so. */
static void try_updates(const struct client *client, D3DKMT_HANDLE memory)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS reserved = { .hPagingQueue = client->queue,
						     .Size = SHARED_BYTES,
						     .ReservationType =
							     D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO };

	CHILD_EXPECT(NT_SUCCESS(D3DKMTReserveGpuVirtualAddress(&reserved)));
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = reserved.VirtualAddress,
			 .SizeInBytes = PAGE,
			 .hAllocation = memory }
	};

	for (unsigned i = 0; i < 2; i++) {
		CHILD_EXPECT(update(client, &operation) == STATUS_ACCESS_DENIED);
		CHILD_EXPECT(strcmp(last_refusal().rule, "API-RIGHTS") == 0);
		CHILD_EXPECT(strcmp(last_refusal().argument, "Operations") == 0);
		CHILD_EXPECT(last_refusal().index == 1);
		operation.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP_PROTECT;
		operation.MapProtect.Protection.Write = 1;
	}
	operation.MapProtect.Protection.Value = 0;
	CHILD_EXPECT(update(client, &operation) == STATUS_SUCCESS);
}

/* The GPU is no way to it either. */
static void try_gpu(const struct client *client, D3DKMT_HANDLE memory)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = client->queue,
					     .hAllocation = memory,
					     .SizeInPages = SHARED_BYTES / PAGE,
					     .Protection.Write = 1 };

	CHILD_EXPECT(D3DKMTMapGpuVirtualAddress(&args) == STATUS_ACCESS_DENIED);
	CHILD_EXPECT(strcmp(last_refusal().rule, "API-RIGHTS") == 0);
	CHILD_EXPECT(strcmp(last_refusal().argument, "Protection") == 0);
	args.Protection.Value = 0;
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);
	CHILD_EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	try_updates(client, memory);
}

CHILD(reader)
{
	struct client client;
	uint64_t offset;
	uint64_t byte;
	void *pointer;

	client_open(&client, child_open_adapter());
	D3DKMT_HANDLE memory = open_next(client.device);
	CHILD_EXPECT(lock2(client.device, memory, &pointer) == STATUS_SUCCESS);
	int file = file_at(pointer, &offset);
	CHILD_EXPECT(file >= 0); /* or it has nothing to try with */
	try_file(file, offset);
	try_again_by_name(file, offset);
	try_memory(pointer);
	try_gpu(&client, memory);
	test_say(DONE, 0);
	while ((byte = test_hear().value) != 0) {
		CHILD_EXPECT(is_full_of(pointer, (unsigned char)byte));
		test_say(DONE, 0);
	}
	if (test_hear().value) { /* the server is dead */
		usleep(200000);
		CHILD_EXPECT(is_full_of(pointer, 0x25));
	}
	test_say(DONE, 0);
	return 0;
}

/* ---- sections ---- */

/* Its own memory, which it may have sealed before. */
CHILD(section_maker)
{
	bool is_sealed = test_hear().value != 0;
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());
	int section = memfd_create("section", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	D3DKMT_CREATESTANDARDALLOCATION standard = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP,
		.ExistingHeapData.Size = SHARED_BYTES,
	};
	D3DDDI_ALLOCATIONINFO2 element = { .hSection = (HANDLE)(intptr_t)section };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element,
					 .pStandardAllocation = &standard };

	CHILD_EXPECT(ftruncate(section, SHARED_BYTES) == 0);
	CHILD_EXPECT(fcntl(section, F_ADD_SEALS,
			   F_SEAL_SHRINK | (is_sealed ? F_SEAL_FUTURE_WRITE : 0)) == 0);
	args.Flags.StandardAllocation = 1;
	args.Flags.ExistingSection = 1;
	args.Flags.CreateResource = 1;
	args.Flags.CreateShared = 1;
	args.Flags.NtSecuritySharing = 1;
	args.Flags.ReadOnly = is_sealed;
	CHILD_EXPECT(D3DKMTCreateAllocation2(&args) == STATUS_SUCCESS);
	send_shared(args.hResource, READ_CONTROL);
	test_hear();
	return 0;
}

CHILD(section_reader)
{
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());
	D3DKMT_HANDLE memory = open_next(device);
	bool is_sealed = test_hear().value != 0;
	void *pointer;

	if (is_sealed) {
		CHILD_EXPECT(lock2(device, memory, &pointer) == STATUS_SUCCESS);
		try_memory(pointer);
	} else {
		CHILD_EXPECT(lock2(device, memory, &pointer) == STATUS_ACCESS_DENIED);
		CHILD_EXPECT(strcmp(last_refusal().rule, "MM-LOCK-SHARED") == 0);
		CHILD_EXPECT(strcmp(last_refusal().argument, "hAllocation") == 0);
	}
	test_say(DONE, 0);
	return 0;
}

/* ---- tests ---- */

static void pass_on(int descriptor, const struct lodger *to)
{
	EXPECT(talk_send(to->talk, (struct talk){ HERE, 0 }, descriptor));
	close(descriptor);
}

/* `who` fills it, and the reader sees that. */
static void fill_and_look(const struct lodger *who, const struct lodger *reader, unsigned byte)
{
	lodger_say(who, GO, byte);
	lodger_hear(who, DONE);
	lodger_say(reader, GO, byte);
	lodger_hear(reader, DONE);
}

struct parties {
	struct house house;
	struct lodger maker, reader;
	int to_read, to_write;
};

static void parties_meet(struct parties *all)
{
	house_open(&all->house, NULL);
	all->maker = lodger_start("maker");
	EXPECT_EQ(lodger_hear_with(&all->maker, &all->to_read).word, HERE);
	EXPECT_EQ(lodger_hear_with(&all->maker, &all->to_write).word, HERE);
	all->reader = lodger_start("reader");
}

/* What the reader sees stays when the server does not, which had no time to end. */
static void parties_part(struct parties *all, bool is_killed)
{
	lodger_say(&all->maker, GO, 0);
	lodger_end(&all->maker);
	expect_valid();
	lodger_say(&all->reader, GO, 0);
	if (is_killed)
		house_kill(&all->house);
	lodger_say(&all->reader, GO, is_killed);
	lodger_hear(&all->reader, DONE);
	lodger_end(&all->reader);
	if (!is_killed)
		house_close(&all->house);
}

TEST(reader, who_comes_first_writes_nothing_and_sees_what_the_maker_writes_afterwards)
{
	struct parties all;

	parties_meet(&all);
	pass_on(all.to_read, &all.reader);
	lodger_hear(&all.reader, DONE);
	/* Locked for a while, locked for life, and once more. */
	fill_and_look(&all.maker, &all.reader, 0x21);
	fill_and_look(&all.maker, &all.reader, 0x22);
	fill_and_look(&all.maker, &all.reader, 0x25);
	close(all.to_write);
	parties_part(&all, true);
}

TEST(reader, who_comes_last_leaves_those_who_write_their_right)
{
	struct parties all;

	parties_meet(&all);
	struct lodger writer = lodger_start("writer");
	pass_on(dup(all.to_write), &writer);
	lodger_hear(&writer, HERE);
	lodger_say(&all.maker, GO, 0x31);
	lodger_hear(&all.maker, DONE);
	pass_on(all.to_read, &all.reader);
	lodger_hear(&all.reader, DONE);
	/* It was let write when it opened it, and locks it for the first time now. */
	fill_and_look(&writer, &all.reader, 0x33);
	fill_and_look(&all.maker, &all.reader, 0x34);
	fill_and_look(&writer, &all.reader, 0x36);
	/* Behind the reader nobody else is let write, and is told so. */
	struct lodger late = lodger_start("late_writer");
	pass_on(all.to_write, &late);
	lodger_hear(&late, DONE);
	lodger_end(&late);
	fill_and_look(&all.maker, &all.reader, 0x25);
	lodger_say(&writer, GO, 0);
	lodger_end(&writer);
	parties_part(&all, false);
}

HOUSE_TEST(reader, of_a_section_is_shown_it_if_its_maker_has_sealed_it)
{
	for (unsigned is_sealed = 0; is_sealed < 2; is_sealed++) {
		struct lodger maker = lodger_start("section_maker");
		struct lodger reader = lodger_start("section_reader");
		int descriptor;

		lodger_say(&maker, GO, is_sealed);
		EXPECT_EQ(lodger_hear_with(&maker, &descriptor).word, HERE);
		pass_on(descriptor, &reader);
		lodger_say(&reader, GO, is_sealed);
		lodger_hear(&reader, DONE);
		lodger_end(&reader);
		lodger_say(&maker, GO, 0);
		lodger_end(&maker);
	}
}

API_TEST_MAIN("server/rights")
