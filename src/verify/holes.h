/* SPDX-License-Identifier: MIT */
/*
 * holes.h - bytes of a struct that belong to no member. Without a compiler that clears them a hole cannot be told from an
 * answer, and structs that have some are not compared.
 */
#ifndef VERIFY_HOLES_H
#define VERIFY_HOLES_H

#include <stdbool.h>

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define CLEAR_HOLES(pointer) __builtin_clear_padding(pointer)
#define CAN_CLEAR_HOLES      true
#endif
#endif
#ifndef CAN_CLEAR_HOLES
#define CLEAR_HOLES(pointer) ((void)(pointer))
#define CAN_CLEAR_HOLES      false
#endif

#endif
