/* SPDX-License-Identifier: MIT */
/*
 * processor.h - where threads run.
 */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

/*
 * The processor that the caller is on is the only one for it from now on, and for threads that it starts. Where a seed lets one
 * run at a time, a turn costs half as much there.
 */
void processor_stay(void);

#endif
