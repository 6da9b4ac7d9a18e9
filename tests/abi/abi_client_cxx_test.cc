/* SPDX-License-Identifier: MIT */
/* The same numbers as abi_client_test.c, seen by a C++ compiler. */
#include "abi_client_test.c"
