/* SPDX-License-Identifier: MIT */
/*
 * handle_data.h - what a driver is told about a client's handles (miniport/handle_services.h).
 */
#ifndef OBJECT_OWNER_HANDLE_DATA_H
#define OBJECT_OWNER_HANDLE_DATA_H

#include "miniport/handle_services.h"

/* `owner` of a query is a dxg_process. */
extern const struct miniport_handle_services handle_data_services;

#endif
