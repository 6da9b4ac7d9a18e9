/* SPDX-License-Identifier: MIT */
/*
 * Trace.h - the driver's trace macros. WPP reads the comments; Trace macros exist in *.tmh only.
 */
#pragma once

#define WPP_CONTROL_GUIDS                                                                          \
	WPP_DEFINE_CONTROL_GUID(CppStyleTraceGuid, (5d1a0f5e, 5a1c, 4a7e, 9b0c, 2f6f0e7d3c11),     \
				WPP_DEFINE_BIT(CS_TRACE_DEFAULT))

// begin_wpp config
//
// FUNC CS_LOG_ERROR{LEVEL=TRACE_LEVEL_ERROR,FLAGS=CS_TRACE_DEFAULT}(MSG, ...)
// FUNC CS_LOG_INFORMATION{LEVEL=TRACE_LEVEL_INFORMATION,FLAGS=CS_TRACE_DEFAULT}(MSG, ...)
// FUNC CS_LOG_TRACE{LEVEL=TRACE_LEVEL_VERBOSE,FLAGS=CS_TRACE_DEFAULT}(MSG, ...)
// FUNC CS_TRACE(LEVEL, FLAGS, MSG, ...)
// USEPREFIX (CS_LOG_ERROR, "%!STDPREFIX! [%s @ %u] ERROR :", __FILE__, __LINE__);
//
// end_wpp
