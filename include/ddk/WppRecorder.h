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

#include "wdm.h"

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

/* Prints "Function: message". The message may name the function itself with %!FUNC!. */
OPENDXGK_INLINE VOID OpendxgkWppTrace(PCSTR Function, int Level, PCSTR Format, ...)
{
	ULONG filter_level = Level <= TRACE_LEVEL_ERROR     ? DPFLTR_ERROR_LEVEL
			     : Level == TRACE_LEVEL_WARNING ? DPFLTR_WARNING_LEVEL
							    : DPFLTR_INFO_LEVEL;
	char format[512];
	size_t length = 0;
	va_list arguments;

	if (Level >= TRACE_LEVEL_VERBOSE && !OpendxgkWppFilter)
		return;

	for (PCSTR name = Function; *name && length < sizeof(format) / 2;)
		format[length++] = *name++;
	format[length++] = ':';
	format[length++] = ' ';
	for (PCSTR from = Format; *from && length < sizeof(format) - 2;) {
		if (strncmp(from, "%!FUNC!", 7) == 0) {
			for (PCSTR name = Function; *name && length < sizeof(format) - 2;)
				format[length++] = *name++;
			from += 7;
		} else if (strncmp(from, "%!STDPREFIX!", 12) == 0) {
			from += 12;
		} else {
			format[length++] = *from++;
		}
	}
	if (format[length - 1] != '\n')
		format[length++] = '\n';
	format[length] = '\0';

	va_start(arguments, Format);
	vDbgPrintEx(DPFLTR_IHVVIDEO_ID, filter_level, format, arguments);
	va_end(arguments);
}

OPENDXGK_EXTERN_C_END

#endif
