/* SPDX-License-Identifier: MIT */
/*
 * namespace.c - see namespace.h.
 *
 *	1. a mount namespace, and where that is not allowed one of users around it
 *	2. /usr/lib/wsl is there: an empty filesystem covers it
 *	   it is not: one covers /usr/lib, and all that was there is bound into it
 *	3. the links
 *
 * Between covering /usr/lib and binding what was there nothing may be loaded; so only system calls
 * are made in between.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/client/namespace.h"

enum { MOST_PATH = 4096, FOLDER_MODE = 0755, FILE_MODE = 0644 };

static const char library_folder[] = "/usr/lib";
static const char wsl_folder[] = "/usr/lib/wsl";

static bool complain(struct namespace_problem *problem, const char *what)
{
	*problem = (struct namespace_problem){ what, errno };
	return false;
}

/* ---- whose namespace ---- */

static bool write_text(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool is_written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
	int error = errno;

	if (file >= 0)
		close(file);
	errno = error;
	return is_written;
}

/* Everybody stays who he is. */
static bool map_user(unsigned user, unsigned group, struct namespace_problem *problem)
{
	char line[64];

	if (!write_text("/proc/self/setgroups", "deny") && errno != ENOENT)
		return complain(problem, "/proc/self/setgroups");
	snprintf(line, sizeof(line), "%u %u 1", user, user);
	if (!write_text("/proc/self/uid_map", line))
		return complain(problem, "/proc/self/uid_map");
	snprintf(line, sizeof(line), "%u %u 1", group, group);
	return write_text("/proc/self/gid_map", line) || complain(problem, "/proc/self/gid_map");
}

static bool unshare_mounts(struct namespace_problem *problem)
{
	unsigned user = geteuid();
	unsigned group = getegid();

	if (syscall(SYS_unshare, CLONE_NEWNS) != 0) {
		if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) != 0)
			return complain(problem, "a namespace of users and mounts");
		if (!map_user(user, group, problem))
			return false;
	}
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ||
	       complain(problem, "mounts that nobody else sees");
}

/* ---- /usr/lib/wsl ---- */

static bool cover(const char *folder, struct namespace_problem *problem)
{
	return mount("dxgk", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") == 0 ||
	       complain(problem, folder);
}

static bool make_file(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, FILE_MODE);

	if (file >= 0)
		close(file);
	return file >= 0;
}

/* What was at `name` is at the same name again. */
static bool bind_entry(int old, const char *name)
{
	char source[MOST_PATH];
	char target[MOST_PATH];
	struct stat status;
	ssize_t length;

	snprintf(source, sizeof(source), "/proc/self/fd/%d/%s", old, name);
	snprintf(target, sizeof(target), "%s/%s", library_folder, name);
	if (fstatat(old, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	if (S_ISLNK(status.st_mode)) {
		length = readlinkat(old, name, source, sizeof(source) - 1);
		if (length < 0)
			return false;
		source[length] = '\0';
		return symlink(source, target) == 0;
	}
	if (S_ISDIR(status.st_mode) ? mkdir(target, FOLDER_MODE) != 0 : !make_file(target))
		return false;
	return mount(source, target, NULL, MS_BIND | MS_REC, NULL) == 0;
}

static bool bind_entries(DIR *old)
{
	const struct dirent *entry;

	while (errno = 0, (entry = readdir(old)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (!bind_entry(dirfd(old), entry->d_name))
			return false;
	}
	return errno == 0;
}

static bool make_wsl_folder(struct namespace_problem *problem)
{
	DIR *old = opendir(library_folder);
	bool is_made;

	if (!old)
		return complain(problem, library_folder);
	is_made = cover(library_folder, problem) &&
		  (bind_entries(old) || complain(problem, "what is in /usr/lib")) &&
		  (mkdir(wsl_folder, FOLDER_MODE) == 0 || complain(problem, wsl_folder));
	closedir(old);
	return is_made;
}

static bool has_wsl_folder(void)
{
	struct stat status;

	return stat(wsl_folder, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool make_link(const struct namespace_link *link)
{
	char path[MOST_PATH];

	snprintf(path, sizeof(path), "%s/%s", wsl_folder, link->folder);
	if (mkdir(path, FOLDER_MODE) != 0 && errno != EEXIST)
		return false;
	snprintf(path, sizeof(path), "%s/%s/%s", wsl_folder, link->folder, link->name);
	return symlink(link->target, path) == 0;
}

bool namespace_enter(const struct namespace_link *links, size_t count,
		     struct namespace_problem *problem_out)
{
	if (!unshare_mounts(problem_out))
		return false;
	if (!(has_wsl_folder() ? cover(wsl_folder, problem_out) : make_wsl_folder(problem_out)))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!make_link(&links[i]))
			return complain(problem_out, links[i].name);
	}
	return true;
}
