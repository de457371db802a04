/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Comm_spawn(): more ranks of the program that runs, which may be named by a script for it. All
 * that may fail is done before the first of them runs, so either all ranks of a call are started or
 * none is: their threads wait at a gate. Of several nodes, each does so for its own part, and looks
 * at the commands that have ranks there (comm/spawn.h).
 *
 * A program that may spawn has slots for spare ranks from the start (loader/program.h), in address
 * space alone. Numbers are not used again, so the spare ranks bound all that are ever spawned.
 *
 * Rejected: another program than the one that runs. The slots have the layout of one program, and
 * tmpirun refuses different programs on its command line, too.
 */
#include <errno.h>
#include <limits.h>
#include <mltp/mltp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/process.h"
#include "tmpi/loader/open.h"
#include "tmpi/object/world.h"
#include "tmpi/run/joined.h"
#include "tmpi/run/output.h"
#include "tmpi/run/prefix.h"
#include "tmpi/run/process.h"
#include "tmpi/run/working_directory.h"
#include "tmpi/run/wrapper.h"

static struct stat own_file; /* [const] what the user's name of the program leads to */

/* Where the threads of a spawn wait. */
struct gate {
  mltp_latch_t opens;
  uint32_t users; /* [atomic] threads and the spawner; the last one frees it */
  bool go;        /* [const] once it is open; false: no rank is started */
};

/* What a thread is made with. */
struct start {
  struct gate *gate;
  struct tm_process *process;
  char *folder; /* NULL: tmpirun's */
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct tm_spawn *spawn, const char *format,
                                                         ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(spawn->why, sizeof spawn->why, format, arguments);
  va_end(arguments);
  return false;
}

/* ---- what is to be started */

static bool is_own(const char *path) {
  const struct tm_image *image = tm_the_program->images[0];
  struct stat file;
  if (stat(path, &file) != 0) return false;
  return (file.st_dev == own_file.st_dev && file.st_ino == own_file.st_ino) ||
         (file.st_dev == image->device && file.st_ino == image->inode);
}

/* Looks in the folders of a list. @return false: the program is in none of them. */
static bool find_along(const char *list, const char *name, char found[PATH_MAX]) {
  while (*list != '\0') {
    int length = (int)strcspn(list, ":;");
    int used = snprintf(found, PATH_MAX, "%.*s/%s", length, list, name);
    if (used < PATH_MAX && access(found, X_OK) == 0) return true;
    list += length + (list[length] != '\0');
  }
  return false;
}

/* What a command starts: the program that runs, or a script of which it is the interpreter. */
struct started {
  char *path, *interpreter;  /* on the heap; interpreter NULL: no script, or another's */
  char *argument;            /* of the interpreter; NULL, or in the line */
  char line[TM_SCRIPT_LINE]; /* the script's first */
  bool is_own;
};

static void find_interpreter(struct started *started, const char *path) {
  char *interpreter = tm_script_interpreter(path, started->line, &started->argument);
  started->is_own = interpreter != NULL && is_own(interpreter);
  if (started->is_own)
    started->interpreter = interpreter;
  else
    free(interpreter);
}

static void find_started(struct started *started, const struct tm_command *command) {
  char found[PATH_MAX];
  bool along = command->path != NULL && find_along(command->path, command->program, found);
  char *path = along ? strdup(found) : tm_find_program(command->program);
  started->interpreter = started->argument = NULL;
  started->is_own = path != NULL && is_own(path);
  if (path != NULL && !started->is_own) find_interpreter(started, path);
  /* last: static analysis takes a struct for changed when a call gets a part of it */
  started->path = path;
}

static void drop_started(struct started *started) {
  free(started->interpreter);
  free(started->path);
}

static bool check_program(struct tm_spawn *spawn, const struct tm_command *command) {
  struct started started;
  find_started(&started, command);
  bool there = started.path != NULL && access(started.path, X_OK) == 0;
  int error = errno;
  drop_started(&started);
  if (there && started.is_own) return true;
  if (!there)
    return refuse(spawn, "cannot run '%.100s': %s (check the name)", command->program,
                  strerror(error));
  return refuse(spawn,
                "'%.100s' is another program, and all ranks run '%.100s' (build one program that "
                "chooses by an argument)",
                command->program, tm_the_program->images[0]->path);
}

static bool check_folder(struct tm_spawn *spawn, const struct tm_command *command) {
  struct stat folder;
  if (command->folder == NULL) return true;
  if (!tm_carry_is_own())
    return refuse(spawn,
                  "wdir: all ranks share a working directory, since unshare(2) is refused "
                  "here (leave it out, or allow it)");
  int error = stat(command->folder, &folder) != 0  ? errno
              : !S_ISDIR(folder.st_mode)           ? ENOTDIR
              : access(command->folder, X_OK) != 0 ? errno
                                                   : 0;
  if (error == 0) return true;
  return refuse(spawn, "wdir: cannot enter '%.150s': %s (check the name)", command->folder,
                strerror(error));
}

static int count_here(int first, int count) {
  int here = 0;
  for (int i = first; i < first + count; i++) here += tm_rank_is_here(i);
  return here;
}

static bool check(struct tm_spawn *spawn) {
  int count = spawn->world->group->size, room = tm_job.most - tm_job.size, first = spawn->first;
  for (int i = 0; i < spawn->count; first += spawn->commands[i++].ranks)
    if (count_here(first, spawn->commands[i].ranks) > 0 &&
        (!check_program(spawn, &spawn->commands[i]) || !check_folder(spawn, &spawn->commands[i])))
      return false;
  if (count > room)
    return refuse(spawn, "%d ranks are too many: %d can be added to %d (tmpirun --spare)", count,
                  room, tm_job.size);
  size_t left = mti_stacks_left();
  if ((size_t)count_here(spawn->first, count) > left)
    return refuse(spawn,
                  "no address space for %d stacks, only for %zu (fewer ranks, less --stack, or a "
                  "higher ulimit -v)",
                  count_here(spawn->first, count), left);
  return true;
}

/* ---- the new ranks */

static void leave(struct gate *gate) {
  /* SW-1 acq_rel: all uses are over; pairs SW-1 */
  if (mt_add_acq_rel(&gate->users, (uint32_t)-1) == 1) free(gate);
}

static void *run(void *argument) {
  struct start start = *(struct start *)argument;
  free(argument);
  mltp_latch_wait(&start.gate->opens);
  bool go = start.gate->go;
  leave(start.gate);
  if (go) tm_process_run(start.process, start.folder);
  free(start.folder);
  return NULL;
}

/* @return the words that a rank is started with, copied nowhere else; to be freed. NULL: no memory.
 */
static char **words_of(const struct tm_command *command, struct started *started, int *count) {
  int given = 0, n = 0;
  while (command->argv != NULL && command->argv[given] != NULL) given++;
  char **words = calloc((size_t)given + 4, sizeof *words);
  if (words == NULL) return NULL;
  if (started->interpreter != NULL) words[n++] = started->interpreter;
  if (started->argument != NULL) words[n++] = started->argument;
  words[n++] = started->interpreter != NULL ? started->path : (char *)(uintptr_t)command->program;
  for (int i = 0; i < given; i++) words[n++] = command->argv[i];
  *count = n;
  return words;
}

static bool create(int number, const char *folder, char **argv, int count, struct gate *gate) {
  struct start *start = calloc(1, sizeof *start);
  if (start == NULL) return false;
  *start = (struct start){gate, tm_process_of(number), NULL};
  if (folder != NULL) start->folder = realpath(folder, NULL);
  if ((folder == NULL || start->folder != NULL) &&
      tm_process_create(number, count, argv, run, start)) {
    gate->users++; /* the thread reads it behind the gate */
    return true;
  }
  free(start->folder);
  free(start);
  return false;
}

/* Makes the threads of one command that are here, each at the gate. @return false: of some only. */
static bool create_ranks(const struct tm_command *command, int first, struct gate *gate) {
  struct started started;
  int count = 0, made = 0;
  find_started(&started, command);
  char **words = started.is_own ? words_of(command, &started, &count) : NULL; /* no memory */
  if (words != NULL)
    while (made < command->ranks && (!tm_rank_is_here(first + made) ||
                                     create(first + made, command->folder, words, count, gate)))
      made++;
  free(words);
  drop_started(&started);
  return made == command->ranks;
}

/* The same of all commands. */
static bool create_all(const struct tm_spawn *spawn, struct gate *gate, int *part) {
  int made = 0;
  for (int c = 0; c < spawn->count; c++) {
    int ranks = spawn->commands[c].ranks, first = spawn->first + made;
    if (count_here(first, ranks) > 0 && !create_ranks(&spawn->commands[c], first, gate))
      return false;
    for (int i = 0; i < ranks; i++) part[made++] = c;
  }
  return true;
}

/* Of ranks that follow one another. present: how many have their copies. */
static bool make_copies_of(struct tm_spawn *spawn, int first, int count, int present) {
  char why[TM_REFUSAL] = "";
  if (!tm_open_place_ranks(tm_the_program, first, count, present, why))
    return refuse(spawn, "%.300s", why);
  for (int i = first; i < first + count; i++) {
    int error = tm_output_add(i);
    if (error != 0)
      return refuse(spawn, "cannot write the output file of rank %d: %s (another --output)", i,
                    strerror(error));
  }
  return true;
}

static bool make_copies(struct tm_spawn *spawn) {
  int end = spawn->first + spawn->world->group->size, present = tm_job.here;
  for (int at = spawn->first, count; at < end; at += count > 0 ? count : 1) {
    for (count = 0; at + count < end && tm_rank_is_here(at + count);) count++;
    if (count > 0 && !make_copies_of(spawn, at, count, present)) return false;
    present += count;
  }
  return true;
}

static struct {
  struct gate *gate;
  int *part; /* number of each new rank's command */
} current;   /* of the spawn that takes place; NULL: not made */

static bool create_at_gate(struct tm_spawn *spawn) {
  int count = spawn->world->group->size;
  struct gate *gate = current.gate = calloc(1, sizeof *gate);
  current.part = calloc((size_t)count, sizeof *current.part);
  if (gate != NULL) {
    mltp_latch_init(&gate->opens, 1, "the other ranks that are spawned");
    gate->users = 1;
  }
  if (gate != NULL && current.part != NULL && create_all(spawn, gate, current.part)) return true;
  return refuse(spawn, "no memory for %d more ranks (fewer ranks, or less --stack)",
                count_here(spawn->first, count));
}

static bool prepare(struct tm_spawn *spawn) {
  /* what a rank leaves to others on this kernel thread is not for a spawn by another node */
  if (tm_rank_number() < 0) tm_carry_apply(0);
  return check(spawn) && make_copies(spawn) && create_at_gate(spawn);
}

static void add(struct tm_spawn *spawn) {
  int count = spawn->world->group->size, end = spawn->first + count;
  for (int i = spawn->first; i < end; i++)
    if (tm_rank_is_here(i)) tm_open_list_rank(tm_the_program, i);
  tm_ends_add(count_here(spawn->first, count));
  tm_world_add(spawn->world, current.part);
}

/* Before the gate opens: the next spawn may prepare the same numbers while its threads end. */
static void give_up(const struct tm_spawn *spawn) {
  int end = spawn->first + spawn->world->group->size;
  for (int i = spawn->first; i < end; i++)
    if (tm_rank_is_here(i)) tm_process_drop(i);
}

static void finish(struct tm_spawn *spawn, bool go) {
  if (go)
    add(spawn);
  else if (current.gate != NULL)
    give_up(spawn);
  if (current.gate != NULL) {
    current.gate->go = go;
    mltp_latch_count_down(&current.gate->opens, 1);
    leave(current.gate);
  }
  free(current.part);
  current.gate = NULL;
  current.part = NULL;
}

bool tm_spawn_start(const char *program) {
  static const struct tm_spawner spawner = {prepare, finish, tm_joined_host};
  char *path = tm_find_program(program);
  if (path == NULL || stat(path, &own_file) != 0) own_file.st_ino = 0;
  free(path);
  return tm_job_on_spawn(&spawner);
}
