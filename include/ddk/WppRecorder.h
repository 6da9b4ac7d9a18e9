/* SPDX-License-Identifier: MIT */
/*
 * WppRecorder.h - what drivers that trace with WPP need, without the Windows trace service.
 *
 * On Windows a preprocessor turns trace comments into *.tmh files and messages go to a recorder in
 * memory. Here tools/wpp_tmh.py writes the *.tmh files and messages go to DbgPrintEx, with the
 * function they came from. Messages of level verbose are left out until a driver turns the
 * recorder's filter on: WPP_RECORDER_LEVEL_FILTER(flag) = TRUE;
 */
#ifndef OPENDXGK_DDK_WPPRECORDER_H
#define OPENDXGK_DDK_WPPRECORDER_H

/* A trace header comes last, behind sources that may have taken the compiler's words away. */
#pragma push_macro("__attribute__")
#undef __attribute__

#include "wdm.h"
#include "ntstrsafe.h"

OPENDXGK_EXTERN_C_BEGIN

#ifndef TRACE_LEVEL_NONE
#define TRACE_LEVEL_NONE        0
#define TRACE_LEVEL_CRITICAL    1
#define TRACE_LEVEL_FATAL       1
#define TRACE_LEVEL_ERROR       2
#define TRACE_LEVEL_WARNING     3
#define TRACE_LEVEL_INFORMATION 4
#define TRACE_LEVEL_VERBOSE     5
#endif

typedef HANDLE RECORDER_LOG, *PRECORDER_LOG;

typedef struct _RECORDER_CONFIGURE_PARAMS {
	ULONG Size;
	BOOLEAN CreateDefaultLog;
} RECORDER_CONFIGURE_PARAMS, *PRECORDER_CONFIGURE_PARAMS;

/* One for all files of a driver image, and never another image's. */
__attribute__((weak, visibility("hidden"))) BOOLEAN OpendxgkWppFilter = FALSE;

#define WPP_RECORDER_LEVEL_FILTER(flag)              OpendxgkWppFilter
#define WPP_RECORDER_LEVEL_ARGS(level)               (level)
#define WPP_RECORDER_LEVEL_FLAGS_FILTER(level, flag) OpendxgkWppFilter
#define WPP_RECORDER_LEVEL_FLAGS_ARGS(level, flag)   (level)
#define WPP_LEVEL_FLAGS_ENABLED(level, flag)         ((level) < TRACE_LEVEL_VERBOSE || OpendxgkWppFilter)
#define WPP_INIT_TRACING(driver_object, registry_path)                                             \
	((void)(driver_object), (void)(registry_path))
#define WPP_CLEANUP(driver_object) ((void)(driver_object))
#define RECORDER_CONFIGURE_PARAMS_INIT(parameters)                                                 \
	do {                                                                                       \
		(parameters)->Size = sizeof(RECORDER_CONFIGURE_PARAMS);                            \
		(parameters)->CreateDefaultLog = TRUE;                                             \
	} while (0)

OPENDXGK_INLINE VOID WppRecorderConfigure(PRECORDER_CONFIGURE_PARAMS Parameters)
{
	if (Parameters->Size != sizeof(*Parameters))
		DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_WARNING_LEVEL,
			   "WppRecorderConfigure: RECORDER_CONFIGURE_PARAMS_INIT was not called\n");
}
/* All messages share the host's log, so every log handle is the default one. */
OPENDXGK_INLINE RECORDER_LOG WppRecorderLogGetDefault(VOID)
{
	return (RECORDER_LOG)&OpendxgkWppFilter;
}

/* The flags of the driver, as numbers: WPP_BIT_NAME for each WPP_DEFINE_BIT(NAME). */
#define WPP_DEFINE_CONTROL_GUID(name, guid, bits) bits
#define WPP_DEFINE_BIT(name)			  WPP_BIT_##name,

/* The arguments of a message that stands in parentheses of its own. */
#define OPENDXGK_WPP_MESSAGE(...) __VA_ARGS__

typedef struct _OPENDXGK_WPP_FORMAT {
	char Text[512];
	size_t Length;
} OPENDXGK_WPP_FORMAT;

OPENDXGK_INLINE VOID OpendxgkWppAppend(OPENDXGK_WPP_FORMAT *Format, PCSTR Text)
{
	while (*Text && Format->Length < sizeof(Format->Text) - 2)
		Format->Text[Format->Length++] = *Text++;
}

/*
 * "Function: message", one character of the message at a time. The message may name the function
 * itself with %!FUNC!.
 */
OPENDXGK_INLINE VOID OpendxgkWppComplete(OPENDXGK_WPP_FORMAT *Format, PCSTR Function,
					 PCSTR Narrow, PCWSTR Wide)
{
	static const char stdprefix[] = "%!STDPREFIX!", func[] = "%!FUNC!";
	char message[sizeof(Format->Text)];
	size_t length = 0;

	/* A format is ASCII; what is not becomes visible. */
	for (; length < sizeof(message) - 1 && (Narrow ? Narrow[length] : Wide[length]); length++)
		message[length] = Narrow	      ? Narrow[length]
				  : Wide[length] < 0x80 ? (char)Wide[length]
							: '?';
	message[length] = '\0';

	OpendxgkWppAppend(Format, Function);
	OpendxgkWppAppend(Format, ": ");
	for (PCSTR from = message; *from;) {
		char one[2] = { *from, '\0' };

		if (strncmp(from, func, sizeof(func) - 1) == 0) {
			OpendxgkWppAppend(Format, Function);
			from += sizeof(func) - 1;
		} else if (strncmp(from, stdprefix, sizeof(stdprefix) - 1) == 0) {
			from += sizeof(stdprefix) - 1;
		} else {
			OpendxgkWppAppend(Format, one);
			from++;
		}
	}
	if (Format->Text[Format->Length - 1] != '\n')
		Format->Text[Format->Length++] = '\n';
	Format->Text[Format->Length] = '\0';
}

OPENDXGK_INLINE VOID OpendxgkWppPrint(PCSTR Function, int Level, PCSTR Narrow, PCWSTR Wide,
				      va_list Arguments)
{
	ULONG filter_level = Level <= TRACE_LEVEL_ERROR     ? DPFLTR_ERROR_LEVEL
			     : Level == TRACE_LEVEL_WARNING ? DPFLTR_WARNING_LEVEL
							    : DPFLTR_INFO_LEVEL;
	OPENDXGK_WPP_FORMAT format;

	if (Level >= TRACE_LEVEL_VERBOSE && !OpendxgkWppFilter)
		return;
	format.Length = 0;
	OpendxgkWppComplete(&format, Function, Narrow, Wide);
	vDbgPrintEx(DPFLTR_IHVVIDEO_ID, filter_level, format.Text, Arguments);
}

/*
 * Formats come in both widths; the letters mean the same in both, as in WPP. They have to be
 * functions: in Microsoft's mode a comma that a macro brought does not separate arguments.
 */
#ifdef __cplusplus
extern "C++" {
#define OPENDXGK_WPP_BOTH_WIDTHS
#elif defined(__clang__)
#define OPENDXGK_WPP_BOTH_WIDTHS __attribute__((overloadable))
#endif

#ifndef OPENDXGK_WPP_BOTH_WIDTHS
#define OPENDXGK_WPP_BOTH_WIDTHS
#else
OPENDXGK_INLINE OPENDXGK_WPP_BOTH_WIDTHS VOID OpendxgkWppTrace(PCSTR Function, int Level,
							       PCWSTR Format, ...)
{
	va_list arguments;

	va_start(arguments, Format);
	OpendxgkWppPrint(Function, Level, NULL, Format, arguments);
	va_end(arguments);
}
#endif

OPENDXGK_INLINE OPENDXGK_WPP_BOTH_WIDTHS VOID OpendxgkWppTrace(PCSTR Function, int Level,
							       PCSTR Format, ...)
{
	va_list arguments;

	va_start(arguments, Format);
	OpendxgkWppPrint(Function, Level, Format, NULL, arguments);
	va_end(arguments);
}

#ifdef __cplusplus
}
#endif

OPENDXGK_EXTERN_C_END

#pragma pop_macro("__attribute__")

#endif
