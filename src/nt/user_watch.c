/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/attributes.h"
#include "nt/user_watch.h"

#if defined(__x86_64__)

enum { TRAP_FLAG = 0x100 };

static _Thread_local struct nt_user_watch *watched;

static void set_reach(const struct nt_user_watch *watch, int protection)
{
	(void)mprotect(watch->begin, watch->size_bytes, protection);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *registers = context;
	struct nt_user_watch *watch = watched;

	(void)number;
	(void)info;
	registers->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	if (!watch || !watch->address)
		return;
	watch->touched(watch, watch->address);
	watch->address = NULL;
	set_reach(watch, PROT_NONE);
}

bool nt_user_watch_fault(void *address, void *context)
{
	ucontext_t *registers = context;
	struct nt_user_watch *watch = watched;

	if (!watch || (uintptr_t)address - (uintptr_t)watch->begin >= watch->size_bytes)
		return false;
	watch->address = address;
	set_reach(watch, PROT_READ | PROT_WRITE);
	registers->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	return true;
}

void nt_user_watch_begin(struct nt_user_watch *watch)
{
	static _Atomic bool is_installed;
	struct sigaction action = { .sa_sigaction = on_trap,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };

	if (!atomic_exchange(&is_installed, true))
		(void)sigaction(SIGTRAP, &action, NULL);
	watch->address = NULL;
	watched = watch;
	set_reach(watch, PROT_NONE);
}

void nt_user_watch_end(void)
{
	if (watched)
		set_reach(watched, PROT_READ | PROT_WRITE);
	watched = NULL;
}

#else

void nt_user_watch_begin(struct nt_user_watch *watch)
{
	watch->address = NULL;
}

void nt_user_watch_end(void)
{
}

bool nt_user_watch_fault(void *address, void *context)
{
	return false;
}

#endif
