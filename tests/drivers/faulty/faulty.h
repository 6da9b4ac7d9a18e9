/* SPDX-License-Identifier: MIT */
/*
 * faulty.h - what a test and the faulty driver say to each other.
 *
 * The driver is the software GPU. Before each of its entry points does anything, it asks the
 * program that loaded it, which exports this, what to answer: 0 (STATUS_SUCCESS) has the entry
 * point do its work; anything else is the answer instead. An entry point that ends something does
 * so in any case, so that nothing is left behind which nobody will ask for again.
 *
 * `request` is what it is asked for, as far as that tells one request from another: for
 * BuildPagingBuffer the operation without the buffer. Any thread, several at once.
 */
#ifndef TESTS_DRIVERS_FAULTY_H
#define TESTS_DRIVERS_FAULTY_H

int faulty_answer(const char *entry, const void *request, unsigned request_bytes);

#endif
