/* SPDX-License-Identifier: Apache-2.0 */
/* tmpirun's side of the environments of ranks (src/tmpi/private/environment.c). Each rank starts
 * with tmpirun's, in front of which are the variables by which launchers of other MPIs tell a
 * process its rank. A program that only calls getenv() has no copy of private/environment.c: that
 * call is here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "tmpi/loader/program.h"
#include "tmpi/object/world.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

static const struct tm_image *image; /* [const] that has `environ`; NULL: ranks have tmpirun's */
static size_t offset;                /* [const] of it there */

/* [const] What ranks begin with: libc changes its own for zone.c. Copied into each rank. */
static char **first;
static size_t first_count; /* without the NULL at the end */

/* @return a copy, or `environ` itself if there is no memory. */
static char **copy_environment(void) {
  size_t count = 0;
  while (environ[count] != NULL) count++;
  char **copy = malloc((count + 1) * sizeof *copy);
  if (copy == NULL) return environ;
  memcpy(copy, environ, (count + 1) * sizeof *copy);
  return copy;
}

char **tm_process_environment(const struct tm_process *process) {
  if (image == NULL) return process->environment;
  const char *slot = tm_the_program->arena + (size_t)process->number * tm_the_program->slot;
  char **own;
  memcpy(&own, slot + image->place + offset, sizeof own);
  return own;
}

/* ---- what a rank starts with */

struct launcher_variable {
  const char *name;
  bool is_rank;  /* false: the number of ranks */
  bool is_local; /* on this node */
};

static const struct launcher_variable launcher_variables[TM_LAUNCHER_VARIABLES] = {
    {"OMPI_COMM_WORLD_RANK", true, false},
    {"OMPI_COMM_WORLD_SIZE", false, false},
    {"OMPI_COMM_WORLD_LOCAL_RANK", true, true},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", false, true},
    {"OMPI_COMM_WORLD_NODE_RANK", true, true},
    {"PMI_RANK", true, false},
    {"PMI_SIZE", false, false},
    {"MPI_LOCALRANKID", true, true},
    {"MPI_LOCALNRANKS", false, true},
};

/* [const] Their texts, each without the rank, which begins at [TEXT]; 0: it has none, and all ranks
 * that tmpirun starts have the same text. */
static char templates[TM_LAUNCHER_VARIABLES][TM_LAUNCHER_TEXT];
static size_t rank_at[TM_LAUNCHER_VARIABLES];
static size_t own_texts; /* [const] bytes of those with a rank */

/* @return the value in an entry NAME=VALUE of that name, or NULL. */
static const char *value_of(const char *entry, const char *name, size_t length) {
  return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

static bool is_launcher_variable(const char *entry) {
  for (int i = 0; i < TM_LAUNCHER_VARIABLES; i++) {
    const char *name = launcher_variables[i].name;
    if (entry[0] == name[0] && value_of(entry, name, strlen(name)) != NULL) return true;
  }
  return false;
}

static void make_templates(void) {
  for (int i = 0; i < TM_LAUNCHER_VARIABLES; i++) {
    const struct launcher_variable *variable = &launcher_variables[i];
    if (variable->is_rank) {
      rank_at[i] = (size_t)snprintf(templates[i], TM_LAUNCHER_TEXT, "%s=", variable->name);
      own_texts += rank_at[i] + TM_NUMBER_TEXT;
    } else
      snprintf(templates[i], TM_LAUNCHER_TEXT, "%s=%d", variable->name,
               variable->is_local ? tm_job.local : tm_job.first_size);
  }
}

void tm_environment_start(void) {
  make_templates();
  first = copy_environment();
  for (char **from = first; *from != NULL; from++)
    if (!is_launcher_variable(*from)) first[first_count++] = *from;
  first[first_count] = NULL;
  struct tm_wanted wanted = tm_want("environ", NULL);
  const Elf64_Sym *symbol = NULL;
  for (int i = 0; symbol == NULL && i < tm_the_program->start_count; i++) {
    image = tm_the_program->images[i];
    symbol = tm_image_find(image, &wanted);
  }
  if (symbol == NULL) image = NULL;
  offset = symbol != NULL ? symbol->st_value : 0;
}

size_t tm_environment_room(void) { return TM_LAUNCHER_VARIABLES + first_count + 1; }

/* The world of a rank that is spawned may not be there yet. */
size_t tm_environment_texts(const struct tm_process *process) {
  return process->number >= tm_job.first_size ? sizeof templates : own_texts;
}

/* @return how many ranks of a world are on this node, below a number. */
static int count_here(const struct tm_world *world, int end) {
  int here = 0;
  for (int i = world->first; i < end; i++) here += tm_rank_is_here(i);
  return here;
}

/* Of a rank that was spawned: its number and the size are those of its own world. */
static void fill_spawned(const struct tm_world *world, int number, char **list, char *texts) {
  int before = count_here(world, number);
  int all = count_here(world, world->first + world->group->size);
  for (int i = 0; i < TM_LAUNCHER_VARIABLES; i++, texts += TM_LAUNCHER_TEXT) {
    const struct launcher_variable *variable = &launcher_variables[i];
    int rank = variable->is_local ? before : number - world->first;
    int ranks = variable->is_local ? all : world->group->size;
    snprintf(texts, TM_LAUNCHER_TEXT, "%s=%d", variable->name, variable->is_rank ? rank : ranks);
    list[i] = texts;
  }
}

static void fill_first(const struct tm_process *process, char **list, char *texts) {
  for (int i = 0; i < TM_LAUNCHER_VARIABLES; i++) {
    list[i] = rank_at[i] == 0 ? templates[i] : texts;
    if (rank_at[i] == 0) continue;
    memcpy(texts, templates[i], rank_at[i]);
    if (launcher_variables[i].is_local && tm_job.first > 0)
      sprintf(texts + rank_at[i], "%d", process->number - tm_job.first);
    else
      memcpy(texts + rank_at[i], process->name + TM_NUMBER_AT, TM_NUMBER_TEXT);
    texts += rank_at[i] + TM_NUMBER_TEXT;
  }
}

char **tm_environment_fill(const struct tm_process *process, char **list, char *texts) {
  const struct tm_world *world = tm_world_of(process->number);
  if (world != NULL)
    fill_spawned(world, process->number, list, texts);
  else
    fill_first(process, list, texts);
  list += TM_LAUNCHER_VARIABLES;
  memcpy(list, first, (first_count + 1) * sizeof *list);
  return list + first_count + 1;
}

static char *get(const char *name) {
  const struct tm_process *process = tm_process_here();
  if (process == NULL) return getenv(name);
  size_t length = strlen(name);
  for (char **entry = process->environment; *entry != NULL; entry++)
    if (value_of(*entry, name, length) != NULL) return *entry + length + 1;
  return NULL;
}

static char *get_if_secure(const char *name) {
  return getauxval(AT_SECURE) == 0 ? get(name) : NULL;
}

const struct tm_override tm_override_environment[] = {
    {"getenv", (tm_any *)get},
    {"secure_getenv", (tm_any *)get_if_secure},
    {NULL, NULL},
};
