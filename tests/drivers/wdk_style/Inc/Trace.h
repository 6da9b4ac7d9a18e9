/* SPDX-License-Identifier: MIT */
#ifndef WDK_STYLE_TRACE_H
#define WDK_STYLE_TRACE_H

/* Code that came from elsewhere brings such things along. */
#define __attribute__(x)

#define WPP_CONTROL_GUIDS                                                                          \
	WPP_DEFINE_CONTROL_GUID(WdkStyle, (11111111, 2222, 3333, 4444, 555555555555),              \
				WPP_DEFINE_BIT(TRACE_DRIVER) WPP_DEFINE_BIT(TRACE_DEBUG))

/* begin_wpp config and end_wpp around comments: what the trace preprocessor reads. */
// begin_wpp config
// FUNC LOG_INFORMATION{LEVEL=TRACE_LEVEL_INFORMATION, FLAGS=TRACE_DRIVER}(MSG, ...);
// FUNC DbgPrint{FLAG=TRACE_DRIVER}(LEVEL, (MSG, ...));
// FUNC WDK_ASSERT{LEVEL=TRACE_LEVEL_ERROR, FLAGS=TRACE_DEBUG}(WDK_EXP);
// FUNC WDK_EVALUATE{LEVEL=TRACE_LEVEL_INFORMATION}(WDK_ANY);
// end_wpp

#define WPP_RECORDER_LEVEL_FLAGS_WDK_EXP_FILTER(LEVEL, FLAGS, WDK_EXP) (!(WDK_EXP))
#define WPP_LEVEL_FLAGS_WDK_EXP_POST(LEVEL, FLAGS, WDK_EXP)                                        \
	, ((WPP_BIT_##FLAGS) == WPP_BIT_TRACE_DEBUG && !(WDK_EXP) ? ++TraceAsserted : 0)

#endif
