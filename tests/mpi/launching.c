/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the ranks of a node are started and what is said of their ends (src/tmpi/run/launch.c): in
 * which order copies are placed, what a rank begins with, what happens where there is no room, and
 * what a child of fork() has. No rank runs.
 */
#include "traced_calls.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "captured.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/object/world.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/parts.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"
#include "tmpi/run/working_directory.h"

enum { FIRST = 130, RANKS = 130, END = FIRST + RANKS, MOST = END + 4, ABORTED = 40, TEXT = 4000 };
enum { TEXTS = 24 /* bytes of the environment's */ };

static struct tm_program program;
struct tm_program *tm_the_program = &program;
static struct tm_rank ranks[MOST];
struct tm_job tm_job = {.size = END,
                        .first_size = END,
                        .most = MOST,
                        .first = FIRST,
                        .local = RANKS,
                        .here = RANKS,
                        .ranks = ranks};
static jmp_buf aborted;
static int number;                            /* of the calling rank; -1: none calls */
static void (*prepare)(void), (*child)(void); /* handlers of fork() */
static void (*at_end)(void);                  /* what ranks do, when tmpirun waits for them */

/* ---- what may fail */

static size_t stacks;
static bool fits, has_carry, is_watched, enters, has_folder;
static int fork_error, failing_place, failing_create, failing_malloc, creates;

size_t mti_stacks_left(void) { return stacks; }

bool tm_program_fits(const struct tm_program *p, int wanted, int present) {
  assert_true(p == &program && wanted == RANKS && present == 0);
  return fits;
}

bool tm_carry_start(int most) {
  assert_int_equal(most, MOST);
  return has_carry;
}

int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*after)(void));
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*after)(void)) {
  assert_null(parent);
  prepare = before;
  child = after;
  return fork_error;
}

bool tm_program_place(struct tm_program *p, int first, int count, bool more) {
  assert_ptr_equal(p, &program);
  note("place:%d,%d,%d", first, count, more);
  return first != failing_place;
}

static mltp_userf_t *function;
static struct tm_process *created[MOST]; /* arguments of threads */

int mltp_create(mltp_t **thread, const mltp_attr_t *attr, mltp_userf_t *func, void *arg) {
  struct tm_process *process = arg;
  *thread = (mltp_t *)process;
  if (process->number == failing_create) return ENOMEM;
  assert_int_equal(attr->fp_control, 1);
  assert_ptr_equal(attr->name, process->name);
  function = func;
  created[process->number] = process;
  creates++;
  return 0;
}

int mltp_detach(mltp_t *thread) {
  note("detach:%d", ((struct tm_process *)thread)->number);
  return 0;
}

static int blocks;       /* texts of arguments */
static size_t last_size; /* of them */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  if (failing_malloc > 0 && --failing_malloc == 0) return NULL;
  blocks++;
  last_size = size;
  void *block = __real_malloc(size);
  assert_non_null(block);
  return memset(block, 0xa5, size); /* zeroes would be there by chance */
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block) {
  blocks -= block != NULL;
  __real_free(block);
}

static bool has_processes;
static void *processes; /* that a launch has made */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  assert_true(count == MOST && size == sizeof(struct tm_process));
  processes = has_processes ? __real_calloc(count, size) : NULL;
  return processes;
}

/* ---- the rest of the library */

static uint64_t now, step; /* of the clock, at each look */

uint64_t os_now(void) {
  now += step;
  return now;
}

int mltp_vp(void) { return -1; }
int tm_rank_number(void) { return number; }
void tm_environment_start(void) { note("environment"); }
size_t tm_environment_texts(const struct tm_process *process) {
  return process != NULL ? TEXTS : 0;
}
size_t tm_environment_room(void) { return 1; }
void tm_ends_start(void) { note("start"); }
void tm_ends_add(int count) { note("ends+%d", count); }
bool tm_program_is_watched(void) { return is_watched; }
void tm_program_publish(const struct tm_program *p, bool at_once) {
  note("publish:%d", at_once && p == &program);
}
void tm_owners_begin(void) { note("owners"); }
void tm_vps_placed(void) { note("placed"); }
int tm_parts_of(const struct tm_parts *parts, int rank) {
  return parts->count > 1 && rank % 2 == 1;
}
void tm_streams_expose(int rank) { note("expose:%d", rank); }
void tm_owners_close_others(int rank) { note("close:%d", rank); }
void tm_carry_apply(uint32_t of) { note("carry:%u", of); }

const void *tm_program_entry(const struct tm_program *p, int rank) {
  (void)p, (void)rank;
  abort(); /* no rank runs */
}

char **tm_environment_fill(const struct tm_process *process, char **list, char *texts) {
  (void)process, (void)texts;
  return list;
}

void tm_ends_wait(void) {
  note("wait");
  if (at_end != NULL) at_end();
}

static int services;
bool tm_spawn_service_end(void) { return services-- <= 0; }

static char *own_environment[] = {NULL};
char **tm_process_environment(const struct tm_process *process) {
  note("of:%d", process->number);
  return own_environment;
}

int tm_rank_enter(int rank) {
  note("enter:%d", rank);
  return enters ? 0 : ENOMEM;
}

int tm_carry_enter(const char *path) {
  assert_string_equal(path, "folder");
  errno = ENOENT;
  return has_folder ? 0 : -1;
}

void tm_job_abort(int status) {
  assert_int_equal(status, 1);
  longjmp(aborted, 1);
}

/* ---- a launch */

static char path[] = "/bin/first", word[] = "word", empty[] = "", second[] = "second";
static char *words[] = {path, word, empty}, *other_words[] = {second};
static struct tm_part list[] = {{0, 3, words}, {0, 1, other_words}};
static struct tm_parts parts = {.list = list, .count = 2};
static char said[TEXT];

static int set_up(void **state) {
  (void)state;
  stacks = RANKS;
  fits = has_carry = has_processes = true;
  is_watched = enters = has_folder = false;
  fork_error = failing_place = failing_malloc = creates = services = 0;
  failing_create = -1;
  at_end = NULL;
  now = step = 0;
  number = -1;
  blocks = 0;
  words[0] = path;
  trace[0] = '\0';
  return 0;
}

/* What is said is in `said`. @return the status. */
static int launch(void) {
  struct captured captured = captured_begin();
  int status = setjmp(aborted) == 0 ? tm_launch(&parts) : ABORTED;
  captured_end(&captured, said, sizeof said);
  return status;
}

static void check_launch(int status, const char *expected) {
  assert_int_equal(launch(), status);
  assert_string_equal(said, expected);
}

#define BEGIN "environment start ends+130 "
#define PLACES "place:130,64,1 place:194,64,1 place:258,2,0 "

static void there_are_no_ranks_before(void **state) {
  (void)state;
  number = 0;
  assert_null(tm_process_self());
}

static void ranks_are_placed_and_started_in_turn(void **state) {
  (void)state;
  services = 1; /* ranks come while it waits */
  check_launch(0, "");
  check_trace(BEGIN "publish:0 owners " PLACES "placed wait wait carry:0 ");
  assert_int_equal(creates, RANKS);
  for (int rank = FIRST; rank < END; rank++) {
    assert_ptr_equal(created[rank], tm_process_of(rank));
    assert_int_equal(ranks[rank].part, rank % 2);
  }
  assert_string_equal(tm_process_of(FIRST)->name, "rank 130");
  assert_string_equal(tm_process_of(END - 1)->name, "rank 259");
  assert_string_equal(program_invocation_name, "/bin/first");
  assert_string_equal(program_invocation_short_name, "first");
  words[0] = second;
  check_launch(0, "");
  assert_string_equal(program_invocation_short_name, "second");
}

static void a_debugger_sees_all_copies_at_once(void **state) {
  (void)state;
  is_watched = true;
  check_launch(0, "");
  check_trace(BEGIN "place:130,130,0 publish:1 owners placed wait carry:0 ");
  failing_place = FIRST;
  check_launch(ABORTED, "");
}

/* Its texts follow each other behind those of its environment. */
static void what_a_rank_begins_with(void **state) {
  (void)state;
  assert_int_equal(launch(), 0);
  struct tm_process *process = tm_process_of(FIRST);
  assert_int_equal(process->argc, 3);
  for (int i = 0; i < 3; i++) assert_string_equal(process->argv[i], words[i]);
  assert_ptr_equal(process->argv[0], (char *)(process->argv + 4) + TEXTS);
  assert_ptr_equal(process->argv[1], process->argv[0] + sizeof path);
  assert_ptr_equal(process->argv[2], process->argv[1] + sizeof word);
  assert_null(process->argv[3]);
  assert_int_equal(tm_process_of(FIRST + 1)->argc, 1);
  assert_int_equal(blocks, RANKS);
  trace[0] = '\0';
  for (int i = 0; i < 2; i++) tm_process_drop(FIRST);
  check_trace("detach:130 ");
  assert_int_equal(blocks, RANKS - 1);
  assert_true(tm_process_create(0, 3, words, function, tm_process_of(0)));
  process = tm_process_of(0);
  assert_ptr_equal((char *)process->argv + last_size, process->argv[2] + sizeof empty);
  number = 0;
  assert_ptr_equal(tm_process_self(), process);
  for (int rank = 0; rank < MOST; rank += 7) { /* names of one digit to three */
    assert_true(tm_process_create(rank, 1, words, function, tm_process_of(rank)));
    char name[24];
    snprintf(name, sizeof name, "rank %d", rank);
    assert_string_equal(tm_process_of(rank)->name, name);
  }
}

static void progress_is_said_once_a_second(void **state) {
  (void)state;
  step = 500000000;
  check_launch(0,
               "tmpirun: 30 of 130 ranks started\ntmpirun: 62 of 130 ranks started\n"
               "tmpirun: 94 of 130 ranks started\ntmpirun: 126 of 130 ranks started\n");
}

/* ---- where there is no room */

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  setenv("MLTP_STACK_SIZE", "65536", 1);
  stacks = RANKS - 1;
  check_launch(
      1,
      "tmpirun: no address space for 130 stacks of 65536 bytes, only for 129 (fewer ranks, less "
      "--stack, or a higher ulimit -v)\n");
  stacks = RANKS;
  fits = false;
  check_launch(1, "");
  fits = true;
  has_processes = false;
  check_launch(1, "tmpirun: no memory for 130 ranks (fewer ranks)\n");
  has_processes = true;
  has_carry = false;
  check_launch(1, "tmpirun: no memory for 130 ranks (fewer ranks)\n");
  has_carry = true;
  fork_error = ENOMEM;
  check_launch(1, "tmpirun: no memory for fork() (free some)\n");
  check_trace("");
}

static void ranks_that_cannot_be_started_end_the_job(void **state) {
  static const char says[] =
      "tmpirun: rank 131 cannot be started: no memory (fewer ranks, or less --stack)\n";
  (void)state;
  failing_place = 194;
  check_launch(ABORTED, "");
  check_trace(BEGIN "publish:0 owners place:130,64,1 place:194,64,1 ");
  assert_int_equal(creates, 64);
  set_up(NULL);
  failing_create = FIRST + 1;
  check_launch(ABORTED, says);
  check_trace(BEGIN "publish:0 owners place:130,64,1 "); /* there is no thread to detach */
  assert_true(tm_process_of(FIRST + 1)->thread == NULL && tm_process_of(FIRST + 1)->argv == NULL);
  assert_int_equal(blocks, 1);
  failing_create = -1;
  failing_malloc = 2;
  check_launch(ABORTED, says);
}

/* @return what is said of a start that fails. */
static const char *failed_start(char *folder) {
  struct captured captured = captured_begin();
  if (setjmp(aborted) == 0) tm_process_run(tm_process_of(FIRST), folder);
  captured_end(&captured, said, sizeof said);
  return said;
}

static void a_rank_that_cannot_begin_ends_the_job(void **state) {
  static char folder[] = "folder";
  (void)state;
  assert_int_equal(launch(), 0);
  trace[0] = '\0';
  assert_string_equal(failed_start(NULL), "tmpirun: no memory to start rank 130 (fewer ranks)\n");
  check_trace("enter:130 ");
  enters = true;
  assert_int_equal(tm_process_of(FIRST)->task, 0);
  assert_string_equal(
      failed_start(folder),
      "tmpirun: rank 130 cannot enter 'folder': No such file or directory (check the name)\n");
  check_trace("enter:130 carry:131 ");
  assert_int_equal(tm_process_of(FIRST)->task, gettid()); /* it has no VP */
}

/* ---- how ranks ended */

static struct {
  int rank, status;
  bool not_finalized, is_aborted;
} ended[3];

static void ranks_end(void) {
  tm_process_of(END)->status = 99; /* it was never started */
  for (int i = 0; i < 3; i++) {
    struct tm_process *process = tm_process_of(ended[i].rank > 0 ? ended[i].rank : FIRST);
    if (ended[i].rank == 0) continue;
    process->status = ended[i].status;
    process->not_finalized = ended[i].not_finalized;
    process->aborted = ended[i].is_aborted;
  }
}

static void check_ends(int status, const char *expected) {
  at_end = ranks_end;
  check_launch(status, expected);
  memset(ended, 0, sizeof ended);
}

static void what_is_said_of_ends(void **state) {
  (void)state;
  ended[0].rank = END - 1;
  ended[0].status = 7;
  check_ends(7, "tmpirun: rank 259 ended with status 7 (1 of 130 ranks failed)\n");
  ended[0].rank = FIRST;
  ended[0].status = 5;
  ended[1].rank = FIRST + 1;
  ended[1].status = 6;
  check_ends(5, "tmpirun: rank 130 ended with status 5 (2 of 130 ranks failed)\n");
  ended[0].rank = FIRST + 2;
  ended[0].not_finalized = true;
  check_ends(
      1,
      "tmpirun: rank 132 ended without MPI_Finalize() (1 of 130 ranks; call it before the end)\n");
  ended[0].rank = FIRST + 1;
  ended[1].rank = FIRST + 2;
  ended[0].not_finalized = ended[1].not_finalized = true;
  ended[1].status = 4;
  check_ends(4,
             "tmpirun: rank 131 and others ended without MPI_Finalize() (2 of 130 ranks; call it "
             "before the "
             "end)\ntmpirun: rank 132 ended with status 4 (1 of 130 ranks failed)\n");
  ended[0].rank = FIRST + 1;
  ended[0].status = 3;
  ended[0].not_finalized = ended[0].is_aborted = true; /* a message told that */
  check_ends(3, "");
}

/* ---- children of fork(); the last test, as it stays one */

static void what_a_child_has(void **state) {
  char **before = environ;
  (void)state;
  assert_int_equal(launch(), 0);
  trace[0] = '\0';
  prepare(); /* of a thread that is no rank's */
  child();
  assert_false(tm_process_is_child());
  assert_null(tm_process_here());
  check_trace("");
  number = FIRST;
  struct tm_process *process = tm_process_of(FIRST);
  assert_ptr_equal(tm_process_self(), process);
  assert_ptr_equal(tm_process_here(), process);
  prepare();
  child();
  number = -1;
  check_trace("of:130 expose:130 close:130 ");
  assert_ptr_equal(environ, own_environment);
  environ = before;
  assert_true(tm_process_is_child());
  assert_ptr_equal(tm_process_here(), process);
  assert_null(tm_process_self());
}

#define LAUNCH(test) cmocka_unit_test_setup(test, set_up)

int main(void) {
  const struct CMUnitTest tests[] = {
      LAUNCH(there_are_no_ranks_before),
      LAUNCH(ranks_are_placed_and_started_in_turn),
      LAUNCH(a_debugger_sees_all_copies_at_once),
      LAUNCH(what_a_rank_begins_with),
      LAUNCH(progress_is_said_once_a_second),
      LAUNCH(what_does_not_fit_is_refused),
      LAUNCH(ranks_that_cannot_be_started_end_the_job),
      LAUNCH(a_rank_that_cannot_begin_ends_the_job),
      LAUNCH(what_is_said_of_ends),
      LAUNCH(what_a_child_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
