/* SPDX-License-Identifier: MIT */
/*
 * cmd_wine.c - dxgk wine: a Windows program whose D3DKMT calls come to our kernel.
 *
 *	program.exe ─▶ gdi32.dll ─▶ dxgkwine.dll ─▶ dxgkwine.so ─▶ libdxcore.so
 *	               (proxy.h)    (wine/x86_64-windows)  (wine/x86_64-unix)
 *
 * The proxy lies in the prefix, and Wine takes it for its own gdi32 only where it is told to, as it is here. Wine then takes
 * the place of this process, so its exit status is the program's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/wine/program.h"
#include "cli/wine/proxy.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };
enum { PATH_BYTES = 4096, PROBLEM_BYTES = 2 * PATH_BYTES };

struct options {
	const char *prefix; /* NULL: WINEPREFIX, or one of our own */
};

struct wine {
	char program[PATH_BYTES];
	char dlls[PATH_BYTES];   /* Wine's own */
	char ours[PATH_BYTES];   /* the folder that has both halves of the pair */
	char prefix[PATH_BYTES]; /* where the program's drive C is */
};

static void print_usage(FILE *out)
{
	fprintf(out,
		"Usage: dxgk wine [--prefix DIR] [--] PROGRAM.exe [ARGUMENT…]\n"
		"Runs a 64-bit Windows program under Wine. What it imports from gdi32 or from\n"
		"api-ms-win-dx-d3dkmt-l1-1-0 to -5 under the name of D3DKMT goes to this kernel: "
		"the\n"
		"one in the process, or a server's (DXGK_SOCKET). The exit status is the "
		"program's.\n\n"
		"  --prefix DIR   Wine's folder for the program (WINEPREFIX, or a small one of our "
		"own);\n"
		"                 gdi32.dll, winegdi32.dll and dxgkwine.dll are put into its "
		"system32\n");
}

/* ---- finding Wine and the pair ---- */

static bool is_there(const char *path)
{
	return access(path, R_OK) == 0;
}

/* A folder called wine is none. */
static bool is_program(const char *path)
{
	struct stat facts;

	return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* False with ENAMETOOLONG. */
static bool join(char *path, const char *folder, const char *name)
{
	int length = snprintf(path, PATH_BYTES, "%s/%s", folder, name);

	if (length >= 0 && length < PATH_BYTES)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

static bool find_in_path(const char *name, char *found)
{
	const char *path = getenv("PATH");
	char *copy = strdup(path ? path : "");
	char *rest = copy;
	char *folder;
	bool is_found = false;

	while (copy && !is_found && (folder = strsep(&rest, ":")) != NULL)
		is_found = join(found, *folder ? folder : ".", name) && is_program(found);
	free(copy);
	return is_found;
}

/* WINELOADER says which; else by name, and where Debian has it. */
static bool find_program(struct wine *wine)
{
	static const char *const names[] = { "wine64", "wine64-stable", "wine", "wine-stable" };
	static const char debian[] = "/usr/lib/wine/wine64";
	const char *said = getenv("WINELOADER");

	if (said && *said) {
		snprintf(wine->program, sizeof(wine->program), "%s", said);
		return is_program(wine->program);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (find_in_path(names[i], wine->program))
			return true;
	snprintf(wine->program, sizeof(wine->program), "%s", debian);
	return is_program(wine->program);
}

/* Of the Wine that was found, wherever a link or a distribution has put it. */
static bool find_dlls(struct wine *wine)
{
	static const char *const places[] = { "../lib/x86_64-linux-gnu/wine", "../lib/wine",
					      "../lib64/wine", "../x86_64-linux-gnu/wine",
					      "../../lib/wine" };
	char here[PATH_BYTES];
	char path[PATH_BYTES];
	char file[PATH_BYTES];

	if (!realpath(wine->program, here))
		return false;
	*strrchr(here, '/') = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (join(path, here, places[i]) && join(wine->dlls, path, "x86_64-windows") &&
		    join(file, wine->dlls, "gdi32.dll") && is_there(file))
			return true;
	}
	return snprintf(wine->dlls, sizeof(wine->dlls), "%s",
			"/usr/lib/x86_64-linux-gnu/wine/x86_64-windows") > 0 &&
	       join(file, wine->dlls, "gdi32.dll") && is_there(file);
}

/* As installed, or as built. */
static bool find_pair(struct wine *wine)
{
	static const char *const places[] = { "../" DXGK_LIBDIR "/opendxgk/wine", "../wine" };
	char here[PATH_BYTES] = "";
	char path[PATH_BYTES];

	if (readlink("/proc/self/exe", here, sizeof(here) - 1) <= 0 || !strrchr(here, '/'))
		return false;
	*strrchr(here, '/') = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (join(wine->ours, here, places[i]) &&
		    join(path, wine->ours, "x86_64-windows/dxgkwine.dll") && is_there(path) &&
		    join(path, wine->ours, "x86_64-unix/dxgkwine.so") && is_there(path))
			return true;
	}
	return false;
}

/* ---- the prefix ---- */

static bool make_folders(const char *path)
{
	char part[PATH_BYTES];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			return false;
	}
	return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* Puts it there as a whole, or not at all; what is the same is left alone. */
static bool put_file(const char *path, const void *bytes, size_t size)
{
	char made[PATH_BYTES + 16];
	bool is_good = false;

	snprintf(made, sizeof(made), "%s.%d", path, (int)getpid());
	int file = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file < 0)
		return false;
	is_good = write(file, bytes, size) == (ssize_t)size;
	is_good = close(file) == 0 && is_good;
	is_good = is_good && rename(made, path) == 0;
	if (!is_good)
		unlink(made);
	return is_good;
}

static bool has_content(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "rbe");
	char *content = malloc(size + 1);
	bool is_same = file && content && fread(content, 1, size + 1, file) == size &&
		       memcmp(content, bytes, size) == 0;

	free(content);
	if (file)
		fclose(file);
	return is_same;
}

/* Another that is there already stays, unless it leads elsewhere. */
static bool put_link(const char *target, const char *path)
{
	char made[PATH_BYTES + 16];
	char there[PATH_BYTES] = "";

	if (readlink(path, there, sizeof(there) - 1) > 0 && strcmp(there, target) == 0)
		return true;
	snprintf(made, sizeof(made), "%s.%d", path, (int)getpid());
	unlink(made);
	if (symlink(target, made) == 0 && rename(made, path) == 0)
		return true;
	unlink(made);
	return false;
}

/*
 * A prefix of our own: Wine's files as links and no registry. It is there at once and small, and enough for programs that want a
 * graphics kernel; one that wants an installed Windows has its own.
 */
static bool make_small_prefix(const struct wine *wine, const char *system32)
{
	char path[PATH_BYTES];
	char target[PATH_BYTES];
	DIR *folder = make_folders(system32) ? opendir(wine->dlls) : NULL;
	bool is_good = folder != NULL;

	for (struct dirent *entry; is_good && (entry = readdir(folder)) != NULL;) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".a") == 0 || strcmp(dot, ".def") == 0 ||
		    entry->d_name[0] == '.' || strcmp(entry->d_name, "gdi32.dll") == 0)
			continue;
		is_good = join(path, system32, entry->d_name) &&
			  join(target, wine->dlls, entry->d_name) && put_link(target, path);
	}
	if (folder)
		closedir(folder);
	/* With this word Wine leaves a prefix as it is, and without it would fill it with copies. */
	return is_good && join(path, wine->prefix, ".update-timestamp") &&
	       put_file(path, "disable\n", strlen("disable\n"));
}

/* Says why not. */
static bool put_proxy(const struct wine *wine, const char *system32)
{
	char problem[PROBLEM_BYTES] = "a path is too long";
	char gdi32[PATH_BYTES];
	char dxgkwine[PATH_BYTES];
	char path[PATH_BYTES];
	struct proxy_file proxy = { 0 };

	bool is_good = join(gdi32, wine->dlls, "gdi32.dll") &&
		       join(dxgkwine, wine->ours, "x86_64-windows/dxgkwine.dll") &&
		       proxy_make(gdi32, dxgkwine, &proxy, problem, sizeof(problem));
	if (!is_good) {
		fprintf(stderr, "dxgk wine: %s\n", problem);
		return false;
	}
	is_good = join(path, system32, "winegdi32.dll") && put_link(gdi32, path) &&
		  join(path, system32, "dxgkwine.dll") && put_link(dxgkwine, path) &&
		  join(path, system32, "gdi32.dll") &&
		  (has_content(path, proxy.bytes, proxy.size) ||
		   put_file(path, proxy.bytes, proxy.size));
	if (!is_good)
		fprintf(stderr, "dxgk wine: %s: %s\n", path, strerror(errno));
	free(proxy.bytes);
	return is_good;
}

/* False with errno. */
static bool choose_prefix(const struct options *options, struct wine *wine, bool *is_ours)
{
	const char *said = options->prefix ? options->prefix : getenv("WINEPREFIX");
	const char *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char path[PATH_BYTES];

	*is_ours = !said || !*said;
	if (!*is_ours) {
		/* Wine wants it from the root. */
		if (said[0] == '/')
			return snprintf(wine->prefix, PATH_BYTES, "%s", said) < PATH_BYTES;
		return getcwd(path, sizeof(path)) && join(wine->prefix, path, said);
	}
	if (cache && *cache)
		return join(wine->prefix, cache, "opendxgk/wine");
	errno = ENOENT;
	return home && *home && join(wine->prefix, home, ".cache/opendxgk/wine");
}

/* Says why not. */
static bool prepare_prefix(const struct options *options, struct wine *wine)
{
	char system32[PATH_BYTES];
	char path[PATH_BYTES];
	bool is_ours;

	if (!choose_prefix(options, wine, &is_ours) ||
	    !join(system32, wine->prefix, "drive_c/windows/system32")) {
		fprintf(stderr, "dxgk wine: no place for a prefix: %s\n", strerror(errno));
		return false;
	}
	/* One that does not exist yet is made as ours are. */
	bool is_full = join(path, wine->prefix, "system.reg") && is_there(path) &&
		       join(path, system32, "kernel32.dll") && is_there(path);
	if (!is_full && !make_small_prefix(wine, system32)) {
		fprintf(stderr, "dxgk wine: %s: %s\n", wine->prefix, strerror(errno));
		return false;
	}
	return put_proxy(wine, system32);
}

/* ---- running ---- */

/* Says why not; an exit status, or 0. */
static int look_at_program(const struct wine *wine, const char *name)
{
	char system32[PATH_BYTES];
	char problem[PROBLEM_BYTES];
	enum program_answer answer;

	if (!join(system32, wine->prefix, "drive_c/windows/system32"))
		return EXIT_FAILED;
	answer = program_look(name, system32, problem, sizeof(problem));
	if (answer == PROGRAM_IS_GOOD)
		return 0;
	fprintf(stderr, "dxgk wine: %s\n", problem);
	return answer == PROGRAM_IS_MISSING ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

/* In front of what the user has set. */
static bool set_before(const char *name, const char *value, char separator)
{
	const char *said = getenv(name);
	char *both;

	if (!said || !*said)
		return setenv(name, value, 1) == 0;
	if (asprintf(&both, "%s%c%s", value, separator, said) < 0)
		return false;
	bool is_set = setenv(name, both, 1) == 0;
	free(both);
	return is_set;
}

static int run(const struct wine *wine, int argc, char **argv)
{
	char **arguments = calloc((size_t)argc + 2, sizeof(*arguments));

	/* Later words win: what the user says of gdi32 does not. Of a browser and .NET nothing is asked. */
	bool is_set = arguments && setenv("WINEPREFIX", wine->prefix, 1) == 0 &&
		      set_before("WINEDLLPATH", wine->ours, ':') &&
		      set_before("WINEDLLOVERRIDES", "gdi32=n,b;mscoree,mshtml=", ';') &&
		      setenv("WINEDEBUG", "-all", 0) == 0;
	if (!is_set) {
		fprintf(stderr, "dxgk wine: %s\n", strerror(errno));
		free(arguments);
		return EXIT_FAILED;
	}
	arguments[0] = (char *)wine->program;
	for (int i = 0; i < argc; i++)
		arguments[i + 1] = argv[i];
	execv(wine->program, arguments);
	fprintf(stderr, "dxgk wine: %s: %s\n", wine->program, strerror(errno));
	free(arguments);
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

/* As options_take(). */
static int parse(int argc, char **argv, struct options *options)
{
	const struct command_option known[] = { { "prefix", .text = &options->prefix }, { 0 } };
	const struct command_options of = { "wine", print_usage, known, .end_at_word = true };
	const char *seed = getenv("DXGK_SEED");

	*options = (struct options){ 0 };
	int status = options_take(argc, argv, &of);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind == argc) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (seed && *seed) {
		fprintf(stderr, "dxgk wine: DXGK_SEED is set, and no seed repeats the threads of "
				"Wine\n");
		return EXIT_USAGE;
	}
	return OPTIONS_GO_ON;
}

int cmd_wine(int argc, char **argv)
{
	struct options options;
	struct wine wine = { 0 };
	int status = parse(argc, argv, &options);

	if (status != OPTIONS_GO_ON)
		return status;
	if (!find_pair(&wine)) {
		fprintf(stderr, "dxgk wine: dxgkwine.dll and dxgkwine.so are not here: they are "
				"built where x86_64-w64-mingw32-gcc is\n");
		return EXIT_NOT_FOUND;
	}
	if (!find_program(&wine) || !find_dlls(&wine)) {
		fprintf(stderr, "dxgk wine: no 64-bit Wine is here (Debian: wine64), or "
				"WINELOADER names another\n");
		return EXIT_NOT_FOUND;
	}
	if (!prepare_prefix(&options, &wine))
		return EXIT_FAILED;
	if ((status = look_at_program(&wine, argv[optind])) != 0)
		return status;
	return run(&wine, argc - optind, argv + optind);
}
