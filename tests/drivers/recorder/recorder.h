/*
 * recorder.h - what a test and the recorder driver say to each other.
 *
 * The driver says every call it gets, one line each, to recorder_note(), which the program that
 * loads it exports:
 *
 *	CreateContext irql=0 node=2 flags=1
 *
 * What it answers comes from its registry; see recorder.c. What it does besides answering it is
 *told by DxgkDdiEscape with one of these.
 */
#ifndef TESTS_DRIVERS_RECORDER_H
#define TESTS_DRIVERS_RECORDER_H

void recorder_note(const char *line);

enum recorder_command {
	RECORDER_NOTHING,
	RECORDER_INTERRUPT, /* report `type`, node, fence and last at device level, queue a DPC */
	RECORDER_INTERRUPT_NO_DPC,  /* the same without the DPC  */
	RECORDER_NOTIFY_AT_PASSIVE, /* DxgkCbNotifyInterrupt where it may not be called */
	RECORDER_NULL_HANDLE, /* DxgkCbGetDeviceInformation(NULL, …)                              */
	RECORDER_WRONG_HANDLE,      /* … with an address that is no handle      */
	RECORDER_CONTEXT_AS_HANDLE, /* … with the MiniportDeviceContext */
	RECORDER_UNBUILT, /* DxgkCbQueryServices                                              */
	RECORDER_RETURN_RAISED,  /* come back at DISPATCH_LEVEL  */
	RECORDER_MAP_AND_FORGET, /* DxgkCbMapMemory, and no unmap */
	RECORDER_MAP_AND_UNMAP,
	RECORDER_CONTIGUOUS, /* allocate and free contiguous memory and pages                    */
	RECORDER_ACPI,       /* DxgkCbEvalAcpiMethod; result: its Length                         */
	RECORDER_RETURN_PENDING, /* an entry point that answers STATUS_PENDING */
	RECORDER_INFORMATION, /* DxgkCbGetDeviceInformation; result: 1 when all of it is right    */
	RECORDER_SYNCHRONIZE_TWICE, /* DxgkCbSynchronizeExecution inside itself; result: inner
				       status   */
	RECORDER_SLOW, /* be in the driver until another thread was let in, or not:        */
		       /* result: the most threads that were seen at once                  */
};

struct recorder_escape {
	unsigned command; /* enum recorder_command */
	unsigned type;    /* DXGK_INTERRUPT_TYPE */
	unsigned node;
	unsigned fence;
	unsigned last;
	unsigned result;
};

#endif
