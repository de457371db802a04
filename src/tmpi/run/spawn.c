/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Comm_spawn(): more ranks of the program that runs. All that may fail is done before the first
 * of them runs, so either all ranks of a call are started or none is: their threads wait at a gate.
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
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"
#include "tmpi/run/working_directory.h"
#include "tmpi/run/wrapper.h"

static mltp_lock_t lock = MLTP_LOCK_INIT; /* one spawn at a time */
static struct stat own_file;              /* [const] what the user's name of the program leads to */

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

static bool check_program(struct tm_spawn *spawn, const struct tm_command *command) {
  char found[PATH_MAX];
  bool along = command->path != NULL && find_along(command->path, command->program, found);
  char *path = along ? strdup(found) : tm_find_program(command->program);
  bool there = path != NULL && access(path, X_OK) == 0, own = there && is_own(path);
  int error = errno;
  free(path);
  if (own) return true;
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

static bool check(struct tm_spawn *spawn) {
  int count = spawn->world->group->size, room = tm_job.most - tm_job.size;
  for (int i = 0; i < spawn->count; i++)
    if (!check_program(spawn, &spawn->commands[i]) || !check_folder(spawn, &spawn->commands[i]))
      return false;
  if (count > room)
    return refuse(spawn, "%d ranks are too many: %d can be added to %d (tmpirun --spare)", count,
                  room, tm_job.size);
  size_t left = mti_stacks_left();
  if ((size_t)count > left)
    return refuse(spawn,
                  "no address space for %d stacks, only for %zu (fewer ranks, less --stack, or a "
                  "higher ulimit -v)",
                  count, left);
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

/* argv[0] is the command. */
static bool create(int number, const struct tm_command *command, struct gate *gate) {
  int count = 0;
  while (command->argv != NULL && command->argv[count] != NULL) count++;
  char **argv = calloc((size_t)count + 2, sizeof *argv);
  struct start *start = calloc(1, sizeof *start);
  bool good = argv != NULL && start != NULL;
  if (good) {
    argv[0] = (char *)(uintptr_t)command->program; /* it is copied */
    if (count > 0) memcpy(argv + 1, command->argv, (size_t)count * sizeof *argv);
    *start = (struct start){gate, tm_process_of(number), NULL};
    if (command->folder != NULL) start->folder = realpath(command->folder, NULL);
    good = (command->folder == NULL || start->folder != NULL) &&
           tm_process_create(number, count + 1, argv, run, start);
  }
  free(argv);
  if (good) {
    gate->users++; /* the thread reads it behind the gate */
    return true;
  }
  if (start != NULL) free(start->folder);
  free(start);
  return false;
}

/* Makes the threads of all new ranks, each at the gate. @return false: of some only. */
static bool create_all(const struct tm_spawn *spawn, int first, struct gate *gate, int *part) {
  int made = 0;
  for (int c = 0; c < spawn->count; c++)
    for (int i = 0; i < spawn->commands[c].ranks; i++, made++) {
      part[made] = c;
      if (!create(first + made, &spawn->commands[c], gate)) return false;
    }
  return true;
}

static bool make_copies(struct tm_spawn *spawn, int first, int count) {
  char why[TM_REFUSAL] = "";
  if (!tm_open_add_ranks(tm_the_program, first, count, why)) return refuse(spawn, "%.300s", why);
  for (int i = first; i < first + count; i++) {
    int error = tm_output_add(i);
    if (error != 0)
      return refuse(spawn, "cannot write the output file of rank %d: %s (another --output)", i,
                    strerror(error));
  }
  return true;
}

static bool start_all(struct tm_spawn *spawn, int first, int count) {
  struct gate *gate = calloc(1, sizeof *gate);
  int *part = calloc((size_t)count, sizeof *part);
  bool good = gate != NULL && part != NULL;
  if (good) {
    mltp_latch_init(&gate->opens, 1, "the other ranks that are spawned");
    gate->users = 1;
    good = gate->go = create_all(spawn, first, gate, part);
  }
  if (good) {
    tm_ends_add(count);
    tm_world_add(spawn->world, part);
  }
  free(part);
  if (gate != NULL) {
    mltp_latch_count_down(&gate->opens, 1);
    leave(gate);
  }
  return good || refuse(spawn, "no memory for %d more ranks (fewer ranks, or less --stack)", count);
}

static bool spawn_ranks(struct tm_spawn *spawn) {
  mltp_lock(&lock);
  int first = tm_job.size, count = spawn->world->group->size;
  bool good = check(spawn) && make_copies(spawn, first, count) && start_all(spawn, first, count);
  mltp_unlock(&lock);
  return good;
}

void tm_spawn_start(const char *program) {
  char *path = tm_find_program(program);
  if (path == NULL || stat(path, &own_file) != 0) own_file.st_ino = 0;
  free(path);
  tm_job_on_spawn(spawn_ranks);
}
