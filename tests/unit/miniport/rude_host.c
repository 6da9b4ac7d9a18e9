/* SPDX-License-Identifier: MIT */
/*
 * rude_host.c - a kernel around the rude driver, in a process of its own that may crash:
 *
 *	rude_host <rude.so> [option]… [setting=text] <deed>…
 *
 * Each deed is done in an escape of its own, in order. What it does not survive is looked at by
 * rude_test.py. Options: `early` and `late` install a handler for SIGSEGV, as a client would, before
 * and after the driver is loaded; `client` faults in the client itself, which recovers.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/recorder/recorder.h"
#include "drivers/rude/rude.h"
#include "miniport/miniport.h"
#include "nt/nt.h"
#include "support/counted.h"

COUNTS_WRITTEN_BY_EXIT /* of the copy that tells of a crash */

	static const char *const deed_names[] = {
#define DEED(name) #name,
		RUDE_DEEDS(DEED)
#undef DEED
	};

static sigjmp_buf recovery;
static bool recovers;
static struct sigaction handler_before;

__attribute__((visibility("default"))) void recorder_note(const char *line)
{
	(void)line;
}

static void say(const char *text)
{
	ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

	(void)ignored;
}

static void client_handler(int number, siginfo_t *info, void *context)
{
	say("client: handler\n");
	if (recovers)
		siglongjmp(recovery, 1);
	/* As well-behaved ones do, one that came later passes it on. */
	if (handler_before.sa_flags & SA_SIGINFO)
		handler_before.sa_sigaction(number, info, context);
	else
		_exit(7);
}

static void install_handler(void)
{
	struct sigaction action = { .sa_sigaction = client_handler, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, &handler_before);
}

static int *volatile wild = (int *)8;

static void fault_in_client(void)
{
	recovers = true;
	for (int i = 0; i < 2; i++) {
		if (sigsetjmp(recovery, 1) == 0)
			*wild = 1;
	}
	recovers = false;
}

static void do_deed(struct miniport *miniport, struct miniport_client *client, const char *name)
{
	struct rude_escape escape = { .magic = RUDE_MAGIC };

	while (strcmp(deed_names[escape.deed], name) != 0) {
		if (++escape.deed == sizeof(deed_names) / sizeof(deed_names[0])) {
			fprintf(stderr, "no deed %s\n", name);
			exit(2);
		}
	}
	NTSTATUS status = miniport_escape(miniport, client,
					  &(struct miniport_escape_desc){
						  .private_data = &escape,
						  .private_bytes = sizeof(escape),
					  });
	if (status != STATUS_SUCCESS)
		fprintf(stderr, "host: %s: 0x%08x\n", name, (unsigned)status);
}

int main(int count, char **arguments)
{
	struct miniport *miniport = NULL;
	struct miniport_client *client = NULL;
	struct miniport_config config = { .driver = arguments[1], .adapter_id = 1 };
	struct miniport_events events = { 0 };
	struct miniport_setting setting = { 0 };
	char *equals = count > 2 ? strchr(arguments[2], '=') : NULL;

	counts_write_at_faults();
	if (equals) {
		*equals = '\0';
		setting.name = arguments[2];
		setting.text = equals + 1;
		config.settings = &setting;
		config.setting_count = 1;
	}
	if (count > 2 && strcmp(arguments[2], "early") == 0)
		install_handler();
	if (miniport_host_start() != STATUS_SUCCESS ||
	    miniport_start(&config, &events, NULL, &miniport) != STATUS_SUCCESS ||
	    miniport_client_create(nt_process_begin((uint32_t)getpid()), &client) !=
		    STATUS_SUCCESS) {
		fprintf(stderr, "host: the driver did not start\n");
		return 2;
	}
	for (int i = equals ? 3 : 2; i < count; i++) {
		if (strcmp(arguments[i], "late") == 0)
			install_handler();
		else if (strcmp(arguments[i], "client") == 0)
			fault_in_client();
		else if (strcmp(arguments[i], "early") != 0)
			do_deed(miniport, client, arguments[i]);
	}
	miniport_client_destroy(client);
	miniport_stop(miniport);
	miniport_host_stop();
	say("host: done\n");
	return 0;
}
