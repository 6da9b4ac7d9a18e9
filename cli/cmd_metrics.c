/* SPDX-License-Identifier: MIT */
/*
 * cmd_metrics.c - dxgk metrics: what a running kernel counts, as monitoring systems read it.
 *
 * With --listen a process of its own answers HTTP and asks the kernel each time, so the server needs no network.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/live/metrics.h"
#include "cli/live/target.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct options {
	struct live_target target;
	struct metrics_form form;
	const char *listen; /* NULL: print once */
};

static void print_usage(FILE *out)
{
	fprintf(out, "Usage: dxgk metrics [--openmetrics] [--per-process] " LIVE_TARGET_USAGE "\n"
		     "       dxgk metrics --listen ADDRESS:PORT …\n"
		     "Prints what the kernel of a server, or of a program with a control socket, "
		     "counts: Prometheus text, or\n"
		     "OpenMetrics 1.0. With --listen it is served at http://ADDRESS:PORT/metrics, "
		     "on loopback only, until a\n"
		     "signal; the Accept header of a request chooses the form. --per-process has a "
		     "series for each process.\n");
}

/* As options_take(). */
static int parse(int argc, char **argv, struct options *options)
{
	const struct command_option known[] = {
		LIVE_TARGET_OPTIONS(&options->target),
		{ "openmetrics", .flag = &options->form.is_openmetrics },
		{ "per-process", .flag = &options->form.is_per_process },
		{ "listen", .text = &options->listen },
		{ 0 },
	};
	const struct command_options of = { "metrics", print_usage, known };

	*options = (struct options){ 0 };
	return live_options_take(argc, argv, &of, &options->target);
}

static bool print_to(const struct options *options, const struct metrics_form *form, FILE *out)
{
	struct live_snapshot snapshot;

	if (!live_snapshot_take(&options->target.client, 0, &snapshot))
		return false;
	metrics_print(&snapshot, form, out);
	live_snapshot_finish(&snapshot);
	return true;
}

/* ---- --listen ---- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
			     void *text, size_t size, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(size, text, mode);
	enum MHD_Result result;

	if (!response) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned status,
				  const char *text)
{
	return reply(connection, status, "text/plain; charset=utf-8", (void *)text, strlen(text),
		     MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	struct options *options = context;
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	struct metrics_form form = options->form;
	char *text = NULL;
	size_t size = 0;

	(void)version, (void)upload, (void)upload_size, (void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (strcmp(path, "/metrics") != 0)
		return reply_text(connection, MHD_HTTP_NOT_FOUND, "it is /metrics\n");
	form.is_openmetrics |= accept && strstr(accept, "application/openmetrics-text");

	FILE *out = open_memstream(&text, &size);
	bool is_there =
		out && control_connect(&options->target.client) && print_to(options, &form, out);

	control_disconnect(&options->target.client);
	if (out && fclose(out) != 0)
		is_there = false;
	if (!is_there) {
		free(text);
		return reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				  "the kernel does not answer\n");
	}
	return reply(connection, MHD_HTTP_OK,
		     form.is_openmetrics ? METRICS_TYPE_OPENMETRICS : METRICS_TYPE_PROMETHEUS, text,
		     size, MHD_RESPMEM_MUST_FREE);
}

/* "127.0.0.1:9400". False after a complaint: numbers it cannot read, or an address that others reach. */
static bool parse_address(const char *text, struct sockaddr_in *address)
{
	const char *colon = strrchr(text, ':');
	char host[64] = "";
	uint64_t port = 0;

	*address = (struct sockaddr_in){ .sin_family = AF_INET };
	if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (!colon || !text_is_number(colon + 1, 0, UINT16_MAX, &port) ||
	    inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
		      &address->sin_addr) != 1) {
		fprintf(stderr, "dxgk metrics: --listen: \"%s\" is not ADDRESS:PORT\n", text);
		return false;
	}
	if (ntohl(address->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) {
		fprintf(stderr,
			"dxgk metrics: --listen: %s is not a loopback address; a proxy can lead "
			"there\n",
			host);
		return false;
	}
	address->sin_port = htons((uint16_t)port);
	return true;
}

static int serve(struct options *options)
{
	struct sockaddr_in address;
	sigset_t ends;
	int signal_number;

	control_disconnect(&options->target.client);
	if (!parse_address(options->listen, &address))
		return EXIT_USAGE;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);

	/* One thread: the control socket takes one question at a time. */
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, ntohs(address.sin_port), NULL, NULL,
		answer, options, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_TIMEOUT, 10U,
		MHD_OPTION_END);

	if (!daemon) {
		fprintf(stderr, "dxgk metrics: %s: %s\n", options->listen, strerror(errno));
		return EXIT_FAILED;
	}

	const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
	char host[INET_ADDRSTRLEN] = "";

	inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host));
	printf("http://%s:%u/metrics\n", host, info ? info->port : ntohs(address.sin_port));
	fflush(stdout);
	sigwait(&ends, &signal_number);
	MHD_stop_daemon(daemon);
	return 0;
}

int cmd_metrics(int argc, char **argv)
{
	struct options options;
	int exit_status = parse(argc, argv, &options);

	if (exit_status != OPTIONS_GO_ON)
		return exit_status;
	if (options.listen)
		return serve(&options);
	return print_to(&options, &options.form, stdout) && fflush(stdout) == 0 ? 0 : EXIT_FAILED;
}
