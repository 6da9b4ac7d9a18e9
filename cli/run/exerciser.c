/* SPDX-License-Identifier: MIT */
/*
 * exerciser.c - see exerciser.h.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/exerciser.h"

/* ---- the library ---- */

static bool refuse_library(struct exerciser *exerciser, const char *path, const char *what,
			   char *why, size_t why_bytes)
{
	snprintf(why, why_bytes, "%s: %s", path, what);
	exerciser_unload(exerciser);
	return false;
}

/* What every exerciser has; what came later may be missing at the end. */
static const size_t least_bytes = offsetof(struct dxgk_exerciser, allocation_data_for);

static bool adopt(struct exerciser *exerciser, const struct dxgk_exerciser *told, char *what,
		  size_t what_bytes)
{
	const char *problem = NULL;

	if (!told)
		problem = "dxgk_exerciser() returned NULL";
	else if (told->version != DXGK_EXERCISER_VERSION)
		problem = "its version is another one";
	else if (told->size_bytes < least_bytes)
		problem = "its table is too short";
	if (problem && told)
		snprintf(what, what_bytes,
			 "%s: version %u and %u bytes, expected version %d and at least %zu bytes",
			 problem, told->version, told->size_bytes, DXGK_EXERCISER_VERSION,
			 least_bytes);
	else if (problem)
		snprintf(what, what_bytes, "%s", problem);
	if (problem)
		return false;
	exerciser->language = (struct dxgk_exerciser){ 0 };
	memcpy(&exerciser->language, told,
	       told->size_bytes < sizeof(*told) ? told->size_bytes : sizeof(*told));
	exerciser->is_there = true;
	return true;
}

/* A pipe would keep dlopen() waiting. */
static bool is_other_than_file(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && !S_ISREG(file.st_mode);
}

/* A path, so that it is not looked for among the libraries of the system. */
bool exerciser_load(struct exerciser *exerciser, const char *path, char *why, size_t why_bytes)
{
	const struct dxgk_exerciser *(*enter)(void);
	char what[256];

	*exerciser = (struct exerciser){ 0 };
	if (is_other_than_file(path))
		return refuse_library(exerciser, path, "it is no regular file", why, why_bytes);
	char *whole = realpath(path, NULL);
	exerciser->library = dlopen(whole ? whole : path, RTLD_NOW | RTLD_LOCAL);
	free(whole);
	if (!exerciser->library) {
		snprintf(why, why_bytes, "the exerciser cannot be loaded: %s", dlerror());
		return false;
	}
	*(void **)&enter = dlsym(exerciser->library, "dxgk_exerciser");
	if (!enter)
		return refuse_library(exerciser, path,
				      "it is no exerciser, because it exports no dxgk_exerciser",
				      why, why_bytes);
	return adopt(exerciser, enter(), what, sizeof(what)) ||
	       refuse_library(exerciser, path, what, why, why_bytes);
}

void exerciser_use_soft(struct exerciser *exerciser)
{
	*exerciser = (struct exerciser){ .is_there = true, .language = *dxgk_exerciser() };
}

void exerciser_unload(struct exerciser *exerciser)
{
	if (exerciser->library)
		dlclose(exerciser->library);
	*exerciser = (struct exerciser){ 0 };
}

/* ---- private data ---- */

/* One that says it wrote more than there was room has written over something: no driver is to blame for what follows. */
static uint32_t checked(uint32_t written, uint32_t room)
{
	enum { UNUSABLE = 2 };

	if (written <= room)
		return written;
	fprintf(stderr,
		"dxgk: the exerciser says that it wrote %u bytes where there was room for %u\n",
		written, room);
	_exit(UNUSABLE);
}

uint32_t exerciser_allocation(const struct exerciser *exerciser, uint64_t size_bytes,
			      uint32_t wishes, void *data)
{
	const struct dxgk_exerciser *language = &exerciser->language;
	uint32_t written = 0;

	if (language->allocation_data_for)
		written =
			language->allocation_data_for(size_bytes, wishes, data, EXERCISER_DATA_MAX);
	else if (language->allocation_data)
		written = language->allocation_data(size_bytes,
						    (wishes & DXGK_EXERCISER_CPU_VISIBLE) != 0,
						    data, EXERCISER_DATA_MAX);
	return checked(written, EXERCISER_DATA_MAX);
}

bool exerciser_can_allocate(const struct exerciser *exerciser, uint64_t size_bytes, uint32_t wishes)
{
	unsigned char data[EXERCISER_DATA_MAX];

	if (!exerciser->language.allocation_data_for && !exerciser->language.allocation_data)
		return exerciser->is_there;
	return exerciser_allocation(exerciser, size_bytes, wishes, data) > 0;
}

uint32_t exerciser_context(const struct exerciser *exerciser, uint32_t node, uint32_t wishes,
			   void *data)
{
	const struct dxgk_exerciser *language = &exerciser->language;
	uint32_t written = 0;

	if (language->context_data_for)
		written = language->context_data_for(node, wishes, data, EXERCISER_DATA_MAX);
	else if (language->context_data)
		written = language->context_data(node, data, EXERCISER_DATA_MAX);
	return checked(written, EXERCISER_DATA_MAX);
}

static uint32_t of_node(uint32_t (*member)(uint32_t node, void *data, uint32_t room), uint32_t node,
			void *data)
{
	return member ? checked(member(node, data, EXERCISER_DATA_MAX), EXERCISER_DATA_MAX) : 0;
}

uint32_t exerciser_hw_context(const struct exerciser *exerciser, uint32_t node, void *data)
{
	return of_node(exerciser->language.hw_context_data, node, data);
}

uint32_t exerciser_hw_queue(const struct exerciser *exerciser, uint32_t node, void *data)
{
	return of_node(exerciser->language.hw_queue_data, node, data);
}

uint32_t exerciser_submission(const struct exerciser *exerciser, bool is_hw, uint64_t address,
			      uint32_t length, void *data)
{
	const struct dxgk_exerciser *language = &exerciser->language;
	uint32_t (*member)(uint64_t commands, uint32_t length, void *data, uint32_t room) =
		is_hw ? language->hw_submission_data : language->submission_data;

	return member ? checked(member(address, length, data, EXERCISER_DATA_MAX),
				EXERCISER_DATA_MAX)
		      : 0;
}

uint32_t exerciser_escape(const struct exerciser *exerciser, void *data)
{
	return exerciser->language.escape_data
		       ? checked(exerciser->language.escape_data(data, EXERCISER_DATA_MAX),
				 EXERCISER_DATA_MAX)
		       : 0;
}

/* ---- commands ---- */

bool exercise_is_idle(enum script_opcode opcode)
{
	return opcode == OPCODE_NOP || opcode == OPCODE_BUSY;
}

static uint32_t by_list(const struct dxgk_exerciser *language, const struct exercise *exercise,
			void *commands, uint32_t room, uint32_t at_offset,
			struct dxgk_exerciser_patches *patches)
{
	const struct dxgk_exerciser_reference to = { exercise->to_index, 1, exercise->to };
	const struct dxgk_exerciser_reference from = { exercise->from_index, 0, exercise->from };

	if (exercise->opcode == OPCODE_FILL && language->fill_list)
		return language->fill_list(&to, exercise->size_bytes, (uint32_t)exercise->value,
					   commands, room, at_offset, patches);
	if (exercise->opcode == OPCODE_COPY && language->copy_list)
		return language->copy_list(&to, &from, exercise->size_bytes, commands, room,
					   at_offset, patches);
	return 0;
}

/* Or in two halves. */
static uint32_t store(const struct dxgk_exerciser *language, const struct exercise *exercise,
		      unsigned char *commands, uint32_t room)
{
	uint32_t low;
	uint32_t high;

	if (language->store)
		return language->store(exercise->to, exercise->value, commands, room);
	if (!language->fill)
		return 0;
	low = language->fill(exercise->to, 4, (uint32_t)exercise->value, commands, room);
	if (low == 0 || low >= room)
		return 0;
	high = language->fill(exercise->to + 4, 4, (uint32_t)(exercise->value >> 32),
			      commands + low, room - low);
	return high == 0 ? 0 : low + high;
}

static uint32_t by_address(const struct dxgk_exerciser *language, const struct exercise *exercise,
			   void *commands, uint32_t room)
{
	if (exercise->opcode == OPCODE_FILL && language->fill)
		return language->fill(exercise->to, exercise->size_bytes, (uint32_t)exercise->value,
				      commands, room);
	if (exercise->opcode == OPCODE_COPY && language->copy)
		return language->copy(exercise->to, exercise->from, exercise->size_bytes, commands,
				      room);
	if (exercise->opcode == OPCODE_WRITE64)
		return store(language, exercise, commands, room);
	if (exercise->opcode == OPCODE_FAULT && language->fault)
		return language->fault(exercise->to, exercise->is_write, commands, room);
	return 0;
}

/* Without an operand: the same for every kind of context. */
static uint32_t plain(const struct dxgk_exerciser *language, const struct exercise *exercise,
		      void *commands, uint32_t room)
{
	if (exercise->opcode == OPCODE_NOP && language->nop)
		return language->nop(commands, room);
	if (exercise->opcode == OPCODE_BUSY && language->busy)
		return language->busy(exercise->value, commands, room);
	if (exercise->opcode == OPCODE_HANG && language->hang)
		return language->hang(commands, room);
	return 0;
}

uint32_t exerciser_command(const struct exerciser *exerciser, const struct exercise *exercise,
			   void *commands, uint32_t room, uint32_t at_offset,
			   struct dxgk_exerciser_patches *patches)
{
	const struct dxgk_exerciser *language = &exerciser->language;
	uint32_t written = plain(language, exercise, commands, room);

	if (written == 0)
		written = patches ? by_list(language, exercise, commands, room, at_offset, patches)
				  : by_address(language, exercise, commands, room);
	return checked(written, room);
}

uint32_t exerciser_most_bytes(const struct exerciser *exerciser)
{
	enum { USUAL = 16384, MOST = 65536 };
	uint32_t said = exerciser->language.max_command_bytes;

	return said == 0 ? USUAL : said > MOST ? MOST : said;
}
