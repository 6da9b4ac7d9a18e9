/* SPDX-License-Identifier: MIT */
/*
 * acpiioct.h - input and output of ACPI method evaluation (DxgkCbEvalAcpiMethod).
 */
#ifndef OPENDXGK_DDK_ACPIIOCT_H
#define OPENDXGK_DDK_ACPIIOCT_H

#include "wdm.h"

/* Four characters read as a little-endian number: AeiB is the input buffer, and so on. */
#define ACPI_EVAL_INPUT_BUFFER_SIGNATURE                   0x42696541
#define ACPI_EVAL_INPUT_BUFFER_SIMPLE_INTEGER_SIGNATURE    0x49696541
#define ACPI_EVAL_INPUT_BUFFER_SIMPLE_STRING_SIGNATURE     0x53696541
#define ACPI_EVAL_INPUT_BUFFER_COMPLEX_SIGNATURE           0x43696541
#define ACPI_EVAL_OUTPUT_BUFFER_SIGNATURE                  0x426F6541
#define ACPI_EVAL_INPUT_BUFFER_SIGNATURE_EX                0x41696541
#define ACPI_EVAL_INPUT_BUFFER_SIMPLE_INTEGER_SIGNATURE_EX 0x44696541
#define ACPI_EVAL_INPUT_BUFFER_SIMPLE_STRING_SIGNATURE_EX  0x45696541
#define ACPI_EVAL_INPUT_BUFFER_COMPLEX_SIGNATURE_EX        0x46696541

#define ACPI_METHOD_ARGUMENT_INTEGER    0x0
#define ACPI_METHOD_ARGUMENT_STRING     0x1
#define ACPI_METHOD_ARGUMENT_BUFFER     0x2
#define ACPI_METHOD_ARGUMENT_PACKAGE    0x3
#define ACPI_METHOD_ARGUMENT_PACKAGE_EX 0x4

#define OPENDXGK_ACPI_METHOD_NAME                                                                  \
	_ANONYMOUS_UNION union {                                                                   \
		UCHAR MethodName[4];                                                               \
		ULONG MethodNameAsUlong;                                                           \
	}

typedef struct _ACPI_METHOD_ARGUMENT {
	USHORT Type;
	USHORT DataLength;
	_ANONYMOUS_UNION union {
		ULONG Argument;
		UCHAR Data[ANYSIZE_ARRAY];
	};
} ACPI_METHOD_ARGUMENT, *PACPI_METHOD_ARGUMENT;

typedef struct _ACPI_EVAL_INPUT_BUFFER {
	ULONG Signature;
	OPENDXGK_ACPI_METHOD_NAME;
} ACPI_EVAL_INPUT_BUFFER, *PACPI_EVAL_INPUT_BUFFER;

typedef struct _ACPI_EVAL_INPUT_BUFFER_SIMPLE_INTEGER {
	ULONG Signature;
	OPENDXGK_ACPI_METHOD_NAME;
	ULONG IntegerArgument;
} ACPI_EVAL_INPUT_BUFFER_SIMPLE_INTEGER, *PACPI_EVAL_INPUT_BUFFER_SIMPLE_INTEGER;

typedef struct _ACPI_EVAL_INPUT_BUFFER_SIMPLE_STRING {
	ULONG Signature;
	OPENDXGK_ACPI_METHOD_NAME;
	ULONG StringLength;
	UCHAR String[ANYSIZE_ARRAY];
} ACPI_EVAL_INPUT_BUFFER_SIMPLE_STRING, *PACPI_EVAL_INPUT_BUFFER_SIMPLE_STRING;

typedef struct _ACPI_EVAL_INPUT_BUFFER_COMPLEX {
	ULONG Signature;
	OPENDXGK_ACPI_METHOD_NAME;
	ULONG Size;
	ULONG ArgumentCount;
	ACPI_METHOD_ARGUMENT Argument[ANYSIZE_ARRAY];
} ACPI_EVAL_INPUT_BUFFER_COMPLEX, *PACPI_EVAL_INPUT_BUFFER_COMPLEX;

typedef struct _ACPI_EVAL_OUTPUT_BUFFER {
	ULONG Signature;
	ULONG Length;
	ULONG Count;
	ACPI_METHOD_ARGUMENT Argument[ANYSIZE_ARRAY];
} ACPI_EVAL_OUTPUT_BUFFER, *PACPI_EVAL_OUTPUT_BUFFER;

/* An argument is at least as long as the number it could hold. */
#define ACPI_METHOD_ARGUMENT_LENGTH(data_length)                                                   \
	(FIELD_OFFSET(ACPI_METHOD_ARGUMENT, Data) +                                                \
	 ((data_length) > sizeof(ULONG) ? (data_length) : sizeof(ULONG)))
#define ACPI_METHOD_ARGUMENT_LENGTH_FROM_ARGUMENT(argument)                                        \
	(ACPI_METHOD_ARGUMENT_LENGTH((argument)->DataLength))
#define ACPI_METHOD_NEXT_ARGUMENT(argument)                                                        \
	((PACPI_METHOD_ARGUMENT)((PUCHAR)(argument) +                                              \
				 ACPI_METHOD_ARGUMENT_LENGTH_FROM_ARGUMENT(argument)))
#define ACPI_METHOD_SET_ARGUMENT_INTEGER(argument, value)                                          \
	do {                                                                                       \
		(argument)->Type = ACPI_METHOD_ARGUMENT_INTEGER;                                   \
		(argument)->DataLength = sizeof(ULONG);                                            \
		(argument)->Argument = (value);                                                    \
	} while (0)
#define ACPI_METHOD_SET_ARGUMENT_BUFFER(argument, data, length)                                    \
	do {                                                                                       \
		(argument)->Type = ACPI_METHOD_ARGUMENT_BUFFER;                                    \
		(argument)->DataLength = (USHORT)(length);                                         \
		RtlCopyMemory(&(argument)->Data[0], (data), (length));                             \
	} while (0)

#define IOCTL_ACPI_EVAL_METHOD                                                                     \
	CTL_CODE(FILE_DEVICE_ACPI, 1, METHOD_BUFFERED, FILE_READ_ACCESS | FILE_WRITE_ACCESS)

#endif
