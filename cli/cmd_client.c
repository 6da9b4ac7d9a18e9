/* SPDX-License-Identifier: MIT */
/*
 * cmd_client.c - dxgk client: run a program that was written for WSL.
 *
 * Such a program opens /usr/lib/wsl/lib/libdxcore.so, looks for an adapter by name, and loads
 * libraries from the driver store that the adapter names. Here the first is a link in a mount
 * namespace of the program's own, the second a profile, the third ours (clients/).
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dxg/d3dkmthk.h>

#include "base/attributes.h"
#include "cli/adapter_facts.h"
#include "cli/client/namespace.h"
#include "cli/commands.h"
#include "cli/options.h"

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

static const char default_profile[] = "intel";
/* As the profiles say it: "driverStore". */
static const char store_name[] = "opendxgk_intel";

/* Where the parts are, absolute. */
struct client_parts {
	char dxcore[PATH_MAX];
	char dxgk[PATH_MAX];
	char drivers[PATH_MAX];
	char store[PATH_MAX];
};

static void print_usage(FILE *out)
{
	fprintf(out,
		"Usage: dxgk client [--profile NAME] [--] PROGRAM [ARGUMENT…]\n"
		"Runs PROGRAM, written for WSL, on opendxgk: it finds libdxcore.so at "
		"/usr/lib/wsl/lib,\n"
		"which only it sees, and an adapter that it takes for one it knows. The system is "
		"not\ntouched.\n\n"
		"  --profile NAME  intel (a Gen9 device for Debian's intel-opencl-icd), "
		"intel-gen12, or\n"
		"                  the path of a profile; DXGK_PROFILE, or intel, when left "
		"out\n\n"
		"  dxgk client -- clinfo\n");
}

/* ---- where things are ---- */

static bool resolve(const char *folder, const char *name, char path_out[PATH_MAX])
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
	       realpath(path, path_out);
}

static bool folder_of(const char *path, char folder_out[PATH_MAX])
{
	char *slash;

	if (!realpath(path, folder_out))
		return false;
	slash = strrchr(folder_out, '/');
	*slash = '\0';
	return true;
}

/* As they are installed, around libdxcore.so; or as they are built, around this program. */
static bool find_parts(struct client_parts *parts)
{
	char folder[PATH_MAX];
	Dl_info info;

	if (dladdr((void *)D3DKMTEnumAdapters2, &info) && folder_of(info.dli_fname, folder) &&
	    realpath(info.dli_fname, parts->dxcore) &&
	    resolve(folder, "libdxgk.so.0", parts->dxgk) &&
	    resolve(folder, "opendxgk/drivers", parts->drivers) &&
	    resolve(folder, "opendxgk/clients/intel", parts->store))
		return true;
	return folder_of("/proc/self/exe", folder) &&
	       resolve(folder, "../src/thunk/libdxcore.so", parts->dxcore) &&
	       resolve(folder, "../embed/libdxgk.so.0", parts->dxgk) &&
	       resolve(folder, "../drivers/soft", parts->drivers) &&
	       resolve(folder, "../clients/intel", parts->store);
}

/* ---- the program's surroundings ---- */

/* With a server named the adapters are the server's. A program that was written for WSL finds none, and does not say why. */
static bool check_server(void)
{
	const char *socket = getenv("DXGK_SOCKET");
	D3DKMT_ENUMADAPTERS2 adapters = { 0 };

	if (!socket || socket[0] == '\0' || NT_SUCCESS(D3DKMTEnumAdapters2(&adapters)))
		return true;
	print_last_refusal("D3DKMTEnumAdapters2");
	return false;
}

/* What is there already goes first: somebody wanted it. */
static bool set_driver_path(const char *folder)
{
	const char *before = getenv("DXGK_DRIVER_PATH");
	char *path = NULL;
	bool is_set;

	if (!before || before[0] == '\0')
		return setenv("DXGK_DRIVER_PATH", folder, 1) == 0;
	is_set = asprintf(&path, "%s:%s", before, folder) >= 0 &&
		 setenv("DXGK_DRIVER_PATH", path, 1) == 0;
	free(path);
	return is_set;
}

/* A name, or a path. False with errno. */
static bool find_profile(const struct client_parts *parts, const char *name, char path[PATH_MAX])
{
	char file[NAME_MAX];
	struct stat facts;

	snprintf(file, sizeof(file), "%s.json", name);
	if (strchr(name, '/') ? !realpath(name, path) : !resolve(parts->store, file, path))
		return false;
	if (stat(path, &facts) != 0)
		return false;
	errno = EISDIR;
	return !S_ISDIR(facts.st_mode);
}

static bool set_profile(const struct client_parts *parts, const char *wanted)
{
	const char *before = getenv("DXGK_PROFILE");
	const char *name = wanted ? wanted : default_profile;
	char path[PATH_MAX];

	if (!wanted && before && before[0] != '\0')
		return true;
	if (!find_profile(parts, name, path)) {
		fprintf(stderr, "dxgk client: profile %s: %s\n", name, strerror(errno));
		return false;
	}
	return setenv("DXGK_PROFILE", path, 1) == 0;
}

static bool enter(const struct client_parts *parts)
{
	const struct namespace_link links[] = {
		{ "lib", "libdxcore.so", parts->dxcore },
		{ "lib", "libdxgk.so.0", parts->dxgk },
		{ "drivers", store_name, parts->store },
	};
	struct namespace_problem problem;

	if (namespace_enter(links, ARRAY_SIZE(links), &problem))
		return true;
	fprintf(stderr, "dxgk client: %s: %s\n", problem.what, strerror(problem.error));
	if (problem.error == EPERM || problem.error == EACCES)
		fprintf(stderr,
			"dxgk client: a mount namespace is not allowed here (a container without "
			"CAP_SYS_ADMIN,\nkernel.unprivileged_userns_clone, "
			"user.max_user_namespaces or AppArmor may forbid it);\nthe program was "
			"not started, and nothing was changed\n");
	return false;
}

int cmd_client(int argc, char **argv)
{
	const char *profile = NULL; /* a name, or a path */
	const struct command_option known[] = { { "profile", 'p', .text = &profile }, { 0 } };
	const struct command_options of = { "client", print_usage, known, .end_at_word = true };
	struct client_parts parts;
	int status = options_take(argc, argv, &of);

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind == argc) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!find_parts(&parts)) {
		fprintf(stderr, "dxgk client: the parts of it are not found: %s\n",
			strerror(errno));
		return EXIT_REFUSED;
	}
	if (!check_server() || !set_profile(&parts, profile) || !set_driver_path(parts.drivers) ||
	    !enter(&parts))
		return EXIT_REFUSED;
	execvp(argv[optind], &argv[optind]);
	fprintf(stderr, "dxgk client: %s: %s\n", argv[optind], strerror(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}
