/* SPDX-License-Identifier: MIT */
/*
 * main.c - dxgkd: the kernel for many processes.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "server/serve.h"

enum { EXIT_USAGE = 2 };

static void print_usage(FILE *out)
{
	fputs("Usage: dxgkd [--socket PATH] [--profile FILE] [--group NAME] [--idle-exit SECONDS]\n"
	      "The DirectX graphics kernel as a server: programs that have DXGK_SOCKET=PATH share "
	      "its\n"
	      "adapters.\n\n"
	      "  --socket PATH        listen there; without it the socket that systemd hands over\n"
	      "  --profile FILE       which adapters there are (docs/profile.md)\n"
	      "  --group NAME         members may connect, and control the kernel\n"
	      "  --idle-exit SECONDS  end when nobody was connected for so long\n"
	      "  --version, --help\n",
	      out);
}

/* Digits, perhaps with a point and more of them. */
static int read_seconds(const char *text, int64_t *ns_out)
{
	static const char digits[] = "0123456789";
	const char *behind = text + strspn(text, digits);
	bool is_number = behind > text;

	if (is_number && *behind == '.') {
		size_t fraction = strspn(behind + 1, digits);

		is_number = fraction > 0;
		behind += 1 + fraction;
	}
	double seconds = is_number && *behind == '\0' ? strtod(text, NULL) : -1;
	if (!(seconds >= 0 && seconds <= 1e9))
		return -1;
	*ns_out = (int64_t)(seconds * 1e9);
	return 0;
}

/*
 * Clients of the server's own user are strangers to each other, too: nothing of theirs is found in our
 * /proc/PID/fd. A server for tests is looked at from outside (DXGK_TESTING).
 */
static void shut_in(void)
{
	const char *testing = getenv("DXGK_TESTING");

	if ((!testing || strcmp(testing, "1") != 0) && prctl(PR_SET_DUMPABLE, 0) != 0)
		fprintf(stderr, "dxgkd: programs of its user can look into it: %s\n",
			strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "profile", required_argument, NULL, 'p' },
		{ "group", required_argument, NULL, 'g' },
		{ "idle-exit", required_argument, NULL, 'i' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct dxgk_serve_options options = { .version = DXGK_SERVE_VERSION, .idle_exit_ns = -1 };
	int found;

	while ((found = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		switch (found) {
		case 's':
			options.socket_path = optarg;
			break;
		case 'p':
			options.profile = optarg;
			break;
		case 'g':
			options.group = optarg;
			break;
		case 'i':
			if (read_seconds(optarg, &options.idle_exit_ns) == 0)
				break;
			fprintf(stderr, "dxgkd: --idle-exit %s: is no number of seconds\n", optarg);
			return EXIT_USAGE;
		case 'v':
			puts("dxgkd " DXGK_VERSION);
			return 0;
		case 'h':
			print_usage(stdout);
			return 0;
		default:
			print_usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "dxgkd: %s: takes no argument\n", argv[optind]);
		print_usage(stderr);
		return EXIT_USAGE;
	}
	shut_in();
	return dxgk_serve(&options);
}
