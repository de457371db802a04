/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the ranks of a program and waits for their ends. */
#include <errno.h>
#include <mltp/mltp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/program.h"
#include "base/atomic.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/object/world.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/parts.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"
#include "tmpi/run/working_directory.h"

static struct tm_process *processes;

struct tm_process *tm_process_self(void) {
  int number = processes != NULL ? tm_rank_number() : -1;
  return number >= 0 ? &processes[number] : NULL;
}

/* ---- children of fork(): the runtime does not run there, but they have what the rank had */

static __thread struct tm_process *forking;
static struct tm_process *forked; /* [const] in a child; NULL: this is none */

static void before_fork(void) { forking = tm_process_self(); }

static void in_child(void) {
  forked = forking;
  if (forked == NULL) return;
  environ = tm_process_environment(forked);
  tm_streams_expose(forked->number);
  tm_owners_close_others(forked->number);
}

struct tm_process *tm_process_here(void) { return forked != NULL ? forked : tm_process_self(); }

bool tm_process_is_child(void) { return forked != NULL; }

/* LeakSanitizer asks this before it looks. A child may have been forked while another VP held the
 * lock of its allocator: to look would wait for it forever. */
TM_EXPORTED int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return tm_process_is_child(); }

struct tm_process *tm_process_of(int rank) { return &processes[rank]; }

/* ---- the start of a rank */

/* Of its environment: between its arguments' addresses and their texts. */
static char *texts_of(const struct tm_process *process) {
  return (char *)(process->argv + process->argc + 1);
}

/* What the kernel leaves on a new process's stack: argc, argv, environment, and a list of facts
 * of the kernel's, here empty. Each list ends with a NULL. */
__attribute__((noreturn)) static void enter(struct tm_process *process) {
  enum { AUXILIARY = 2, END = 1, ARGC = 1 };
  size_t words = ARGC + (size_t)process->argc + END + tm_environment_room() + AUXILIARY;
  char **block = __builtin_alloca_with_align((words + 2) * sizeof *block, 128);
  char **at = block;
  *at++ = (char *)(intptr_t)process->argc;
  memcpy(at, process->argv, ((size_t)process->argc + 1) * sizeof *at);
  at += process->argc + 1;
  process->environment = at;
  at = tm_environment_fill(process, at, texts_of(process));
  at[0] = at[1] = NULL;
  mt_arch_enter_program(tm_program_entry(tm_the_program, process->number), block);
}

void tm_process_run(struct tm_process *process, char *folder) {
  if (tm_rank_enter(process->number) != 0) {
    fprintf(stderr, "tmpirun: no memory to start rank %d (fewer ranks)\n", process->number);
    tm_job_abort(1);
  }
  /* relaxed: no handler of the rank runs yet */
  if (mltp_vp() < 0) mt_store_relaxed(&process->task, gettid());
  tm_carry_apply((uint32_t)process->number + 1);
  if (folder != NULL && tm_carry_enter(folder) != 0) {
    fprintf(stderr, "tmpirun: rank %d cannot enter '%s': %s (check the name)\n", process->number,
            folder, strerror(errno));
    tm_job_abort(1);
  }
  free(folder);
  enter(process);
}

static void *run_rank(void *argument) { tm_process_run(argument, NULL); }

/* Programs write to their arguments. As in a process, the texts follow each other. With those of
 * the environment: on its stack they would take a page more of many ranks. */
static bool copy_arguments(struct tm_process *process, int argc, char **argv) {
  size_t bytes = ((size_t)argc + 1) * sizeof *argv + tm_environment_texts(process);
  for (int i = 0; i < argc; i++) bytes += strlen(argv[i]) + 1;
  process->argc = argc;
  process->argv = malloc(bytes);
  if (process->argv == NULL) return false;
  char *text = texts_of(process) + tm_environment_texts(process);
  for (int i = 0; i < argc; i++) {
    process->argv[i] = text;
    text = stpcpy(text, argv[i]) + 1;
  }
  process->argv[argc] = NULL;
  return true;
}

/* snprintf() would be an eighth of a rank's start. */
static void write_name(struct tm_process *process) {
  char digits[TM_NUMBER_TEXT], *digit = digits + sizeof digits - 1;
  *digit = '\0';
  unsigned rest = (unsigned)process->number;
  do *--digit = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  memcpy(process->name, "rank ", TM_NUMBER_AT);
  memcpy(process->name + TM_NUMBER_AT, digit, (size_t)(digits + sizeof digits - digit));
}

bool tm_process_create(int number, int argc, char **argv, void *(*function)(void *),
                       void *argument) {
  struct tm_process *process = &processes[number];
  process->number = number;
  write_name(process);
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = process->name;
  attr.fp_control = 1; /* otherwise one rank's rounding mode would change the sums of all */
  if (!copy_arguments(process, argc, argv)) return false;
  if (mltp_create(&process->thread, &attr, function, argument) == 0) return true;
  process->thread = NULL;
  tm_process_drop(number);
  return false;
}

void tm_process_drop(int number) {
  struct tm_process *process = &processes[number];
  if (process->thread != NULL) mltp_detach(process->thread);
  free(process->argv);
  process->thread = NULL;
  process->argv = NULL;
}

static bool start_rank(int number, const struct tm_parts *parts) {
  int part = tm_parts_of(parts, number);
  tm_job.ranks[number].part = part;
  if (tm_process_create(number, parts->list[part].argc, parts->list[part].argv, run_rank,
                        &processes[number]))
    return true;
  fprintf(stderr, "tmpirun: rank %d cannot be started: no memory (fewer ranks, or less --stack)\n",
          number);
  return false;
}

/* ---- all of them */

/* Says which ranks ended badly. @return the status of the first of them, or 0. */
static int sum_up(void) {
  int status = 0, unfinished = 0, first_unfinished = 0, failed = 0, first_failed = -1;
  int here = mt_load_relaxed(&tm_job.here); /* relaxed: all have ended */
  int size = mt_load_relaxed(&tm_job.size); /* relaxed: as above */
  for (int i = tm_job.first; i < size; i = tm_rank_next_here(i, size)) {
    if (processes[i].status != 0) {
      if (status == 0) status = processes[i].status;
      if (first_failed < 0) first_failed = i;
      failed += !processes[i].aborted; /* a message told that */
    }
    if (processes[i].not_finalized && !processes[i].aborted && unfinished++ == 0)
      first_unfinished = i;
  }
  if (unfinished > 0)
    fprintf(stderr,
            "tmpirun: rank %d%s ended without MPI_Finalize() (%d of %d ranks; call it before the "
            "end)\n",
            first_unfinished, unfinished > 1 ? " and others" : "", unfinished, here);
  if (failed > 0)
    fprintf(stderr, "tmpirun: rank %d ended with status %d (%d of %d ranks failed)\n", first_failed,
            status, failed, here);
  return status == 0 && unfinished > 0 ? 1 : status;
}

/* Better at once than when the last ranks run out of it. @return false after a message. */
static bool stacks_fit(int ranks) {
  size_t left = mti_stacks_left();
  if ((size_t)ranks <= left) return true;
  fprintf(stderr,
          "tmpirun: no address space for %d stacks of %s bytes, only for %zu (fewer ranks, less "
          "--stack, or a higher ulimit -v)\n",
          ranks, getenv("MLTP_STACK_SIZE"), left);
  return false;
}

enum { PROGRESS_NS = 1000000000, PLACED_TOGETHER = 64 };

/* Once a second: a large program takes its time. */
static void print_progress(int started, uint64_t *next) {
  uint64_t now = os_now();
  if (now < *next) return;
  *next = now + PROGRESS_NS;
  fprintf(stderr, "tmpirun: %d of %d ranks started\n", started, tm_job.local);
}

int tm_launch(const struct tm_parts *parts) {
  int ranks = tm_job.local, end = tm_job.first + ranks;
  if (!stacks_fit(ranks) || !tm_program_fits(tm_the_program, ranks, 0)) return 1;
  processes = calloc((size_t)tm_job.most, sizeof *processes);
  if (processes == NULL || !tm_carry_start(tm_job.most)) {
    fprintf(stderr, "tmpirun: no memory for %d ranks (fewer ranks)\n", ranks);
    return 1;
  }
  if (pthread_atfork(before_fork, NULL, in_child) != 0) {
    fprintf(stderr, "tmpirun: no memory for fork() (free some)\n");
    return 1;
  }
  char *name = parts->list[0].argv[0], *slash = strrchr(name, '/');
  program_invocation_name = name; /* in messages of err() and getopt() */
  program_invocation_short_name = slash != NULL ? slash + 1 : name;
  tm_environment_start();
  tm_ends_start();
  tm_ends_add(ranks);
  /* a debugger sets its breakpoints in all copies before the first one runs */
  bool watched = tm_program_is_watched();
  if (watched && !tm_program_place(tm_the_program, tm_job.first, ranks, false)) tm_job_abort(1);
  tm_program_publish(tm_the_program, watched);
  tm_owners_begin();
  uint64_t next = os_now() + PROGRESS_NS;
  for (int i = tm_job.first; i < end; i++) {
    int started = i - tm_job.first, count = end - i < PLACED_TOGETHER ? end - i : PLACED_TOGETHER;
    bool place = !watched && started % PLACED_TOGETHER == 0;
    if ((place && !tm_program_place(tm_the_program, i, count, i + count < end)) ||
        !start_rank(i, parts))
      tm_job_abort(1);
    if (i % 16 == 0) print_progress(started, &next);
  }
  tm_vps_placed();
  do tm_ends_wait();
  while (!tm_spawn_service_end()); /* ranks for a rank of another node may have come */
  tm_carry_apply(0);
  return sum_up();
}
