/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node starts the ranks of a spawn, step by step (src/tmpi/run/spawn.c): what is refused and
 * why, which words each rank begins with, that either all ranks of a call run or none, and that
 * nothing is left where memory ends half-way. Files are real; threads run when their gate opens.
 */
#include "traced_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/internal/process.h"
#include "counted_blocks.h"
#include "tmpi/loader/open.h"
#include "tmpi/loader/program.h"
#include "tmpi/object/group.h"
#include "tmpi/object/world.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/joined.h"
#include "tmpi/run/output.h"
#include "tmpi/run/prefix.h"
#include "tmpi/run/process.h"
#include "tmpi/run/working_directory.h"
#include "tmpi/run/wrapper.h"

enum { FIRST = 2, MOST = 8, NONE = -1 };

/* ---- files */

static char folder[] = "/tmp/more-ranks-XXXXXX";
static const char *no_access; /* the last part of a path that access() refuses; NULL: none */

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode) {
  const char *last = strrchr(path, '/');
  if (no_access == NULL || last == NULL || strcmp(last + 1, no_access) != 0)
    return __real_access(path, mode);
  assert_int_equal(mode, X_OK);
  errno = EACCES;
  return -1;
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
  return allocation_fails() ? NULL : counted(__real_strdup(text));
}

/* The file that a path leads to is looked up when the rank is made. */
char *__wrap_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved) {
  assert_null(resolved);
  return strdup(path);
}

static void make_file(const char *name, mode_t mode) {
  int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, mode);
  assert_true(fd >= 0);
  close(fd);
}

/* In the folder, which is the working directory: the program, another one, and two scripts. */
static int make_files(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chdir(folder), 0);
  make_file("app", 0755);
  make_file("other", 0755);
  make_file("script", 0755);
  make_file("foreign", 0755);
  make_file("text", 0644);
  assert_int_equal(symlink("app", "alias"), 0);
  assert_int_equal(mkdir("below", 0755), 0);
  make_file("below/tool", 0755);
  return 0;
}

static int remove_files(void **state) {
  static const char *const names[] = {"app",  "other", "script",     "foreign",
                                      "text", "alias", "below/tool", "below"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) assert_int_equal(remove(names[i]), 0);
  assert_int_equal(chdir("/"), 0);
  return rmdir(folder);
}

/* ---- the rest of the library */

static struct tm_image app = {.path = (char *)(uintptr_t)"app"};
static struct tm_image *images[] = {&app};
static struct tm_program program = {.images = images, .image_count = 1};
struct tm_program *tm_the_program = &program;
struct tm_job tm_job;
static int nodes_of_spawned[MOST];
static struct tm_process processes[MOST];
static const struct tm_spawner *spawner;

static struct {
  int rank; /* that calls */
  size_t stacks;
  bool own_folders, no_interpreter_argument;
  int unplaced, unwritten, uncreated; /* numbers of ranks */
} how;

int tm_rank_number(void) { return how.rank; }
void tm_carry_apply(uint32_t number) { note("carry:%u", number); }
bool tm_carry_is_own(void) { return how.own_folders; }
size_t mti_stacks_left(void) { return how.stacks; }

const char *tm_joined_host(int node) {
  (void)node;
  return NULL;
}

char *tm_find_program(const char *name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s%s", strchr(name, '/') != NULL ? "" : "./", name);
  return strdup(path);
}

char *tm_script_interpreter(const char *path, char *line, char **argument) {
  const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
  if (strcmp(name, "script") != 0 && strcmp(name, "foreign") != 0) return NULL;
  strcpy(line, "-x");
  *argument = how.no_interpreter_argument ? NULL : line;
  return strdup(name[0] == 's' ? "alias" : "other");
}

bool tm_open_place_ranks(struct tm_program *p, int first, int count, int present,
                         char why[TM_REFUSAL]) {
  assert_ptr_equal(p, &program);
  note("place:%d+%d,%d", first, count, present);
  strcpy(why, "no room");
  return first != how.unplaced;
}

int tm_output_add(int rank) {
  note("output:%d", rank);
  return rank == how.unwritten ? ENOSPC : 0;
}

struct tm_process *tm_process_of(int rank) { return &processes[rank]; }

static struct {
  void *(*function)(void *argument);
  void *argument;
} threads[MOST];
static int thread_count;

bool tm_process_create(int number, int argc, char **argv, void *(*function)(void *),
                       void *argument) {
  char words[100] = "";
  for (int i = 0; i < argc; i++) {
    if (i > 0) strcat(words, ",");
    strcat(words, argv[i]);
  }
  assert_null(argv[argc]);
  note("create:%d:%s", number, words);
  if (number == how.uncreated) return false;
  threads[thread_count].function = function;
  threads[thread_count++].argument = argument;
  return true;
}

int mltp_latch_init(mltp_latch_t *latch, unsigned count, const char *name) {
  assert_non_null(latch);
  note("gate:%u,%d", count, name != NULL);
  return 0;
}

static bool is_open;
int mltp_latch_wait(mltp_latch_t *latch) {
  assert_true(latch != NULL && is_open);
  note("wait");
  return 0;
}

/* All threads run. */
static jmp_buf ended;
int mltp_latch_count_down(mltp_latch_t *latch, unsigned n) {
  assert_non_null(latch);
  note("open:%u", n);
  is_open = true;
  for (volatile int i = 0; i < thread_count; i++)
    if (setjmp(ended) == 0) assert_null(threads[i].function(threads[i].argument));
  is_open = false;
  thread_count = 0;
  return 0;
}

void tm_process_run(struct tm_process *process, char *own_folder) {
  note("run:%d:%s", (int)(process - processes), own_folder != NULL ? own_folder : "-");
  free(own_folder);
  longjmp(ended, 1);
}

void tm_process_drop(int number) { note("drop:%d", number); }
void tm_open_list_rank(const struct tm_program *p, int rank) {
  note("list:%d", rank + (p == NULL));
}
void tm_ends_add(int count) { note("ends+%d", count); }

void tm_world_add(struct tm_world *world, const int *part) {
  note("world");
  for (int i = 0; i < world->group->size; i++) note("part:%d", part[i]);
}

bool tm_job_on_spawn(const struct tm_spawner *made) {
  spawner = made;
  return true;
}

/* ---- a spawn */

static struct tm_world world;
static struct tm_spawn spawn;

static void start_as(const char *name) {
  struct stat file;
  assert_true(tm_spawn_start(name));
  assert_int_equal(stat("app", &file), 0);
  app.device = file.st_dev;
  app.inode = file.st_ino;
  trace[0] = '\0';
}

/* The job has ranks 0 and 1, and there is room for six more. */
static int begin(void **state) {
  (void)state;
  start_as("app");
  tm_job = (struct tm_job){
      .size = FIRST, .first_size = FIRST, .most = MOST, .local = FIRST, .here = FIRST};
  how.rank = 0;
  how.stacks = MOST;
  how.own_folders = true;
  how.no_interpreter_argument = false;
  how.unplaced = how.unwritten = how.uncreated = NONE;
  no_access = NULL;
  memory_is_out = false;
  allocations_left = -1;
  world.group = __real_calloc(1, sizeof *world.group + MOST * sizeof(int));
  spawn = (struct tm_spawn){.first = FIRST, .world = &world};
  blocks = 0;
  return 0;
}

static int check_blocks(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  __real_free(world.group);
  return 0;
}

static bool prepare(const struct tm_command *commands, int count) {
  int ranks = 0;
  for (int i = 0; i < count; i++) ranks += commands[i].ranks;
  world.group->size = ranks;
  spawn.commands = commands;
  spawn.count = count;
  spawn.why[0] = '\0';
  return spawner->prepare(&spawn);
}
#define PREPARE(...)                                                                               \
  prepare((const struct tm_command[]){__VA_ARGS__},                                                \
          (int)(sizeof((const struct tm_command[]){__VA_ARGS__}) / sizeof(struct tm_command)))

/* The caller finishes in any case. */
static void check_refused(const char *why) {
  assert_string_equal(spawn.why, why);
  trace[0] = '\0';
  spawner->finish(&spawn, false);
  check_trace("");
}

static char *words[] = {(char *)(uintptr_t)"a", (char *)(uintptr_t)"b", NULL};

/* ---- what runs */

static void all_ranks_run_once_the_gate_opens(void **state) {
  (void)state;
  assert_true(PREPARE({.program = "app", .argv = words, .ranks = 2, .folder = "below"},
                      {.program = "./alias", .ranks = 1}));
  check_trace(
      "place:2+3,2 output:2 output:3 output:4 gate:1,1 create:2:app,a,b create:3:app,a,b "
      "create:4:./alias ");
  spawner->finish(&spawn, true);
  check_trace(
      "list:2 list:3 list:4 ends+3 world part:0 part:0 part:1 open:1 wait "
      "run:2:below wait run:3:below wait run:4:- ");
}

static void no_rank_runs_where_another_node_refuses(void **state) {
  (void)state;
  assert_true(PREPARE({.program = "app", .ranks = 2, .folder = "below"}));
  trace[0] = '\0';
  spawner->finish(&spawn, false);
  check_trace("drop:2 drop:3 open:1 wait wait ");
}

/* What a rank leaves to others on this kernel thread is not for a spawn by another node. */
static void the_service_of_a_node_takes_the_working_directory_of_tmpirun(void **state) {
  (void)state;
  how.rank = -1;
  assert_true(PREPARE({.program = "app", .ranks = 1}));
  check_trace("carry:0 place:2+1,2 output:2 gate:1,1 create:2:app ");
  spawner->finish(&spawn, false);
}

/* ---- the program, by several names */

static void a_script_for_the_program_is_started_by_it(void **state) {
  (void)state;
  assert_true(PREPARE({.program = "script", .argv = words, .ranks = 1}));
  check_trace("place:2+1,2 output:2 gate:1,1 create:2:alias,-x,./script,a,b ");
  spawner->finish(&spawn, false);
  how.no_interpreter_argument = true;
  assert_true(PREPARE({.program = "script", .ranks = 1}));
  check_trace("drop:2 open:1 wait place:2+1,2 output:2 gate:1,1 create:2:alias,./script ");
  spawner->finish(&spawn, false);
}

/* The file that tmpirun has read may be a copy of the one that the user named. */
static void the_name_that_the_user_gave_is_the_program(void **state) {
  (void)state;
  start_as("other");
  assert_true(PREPARE({.program = "other", .ranks = 1}, {.program = "app", .ranks = 1}));
  spawner->finish(&spawn, false);
  start_as("gone");
  assert_false(PREPARE({.program = "other", .ranks = 1}));
  spawner->finish(&spawn, false);
  assert_true(PREPARE({.program = "app", .ranks = 1}));
  spawner->finish(&spawn, false);
}

static void folders_to_look_in(void **state) {
  (void)state;
  assert_int_equal(link("app", "below/app_there"), 0);
  assert_true(PREPARE({.program = "app_there", .path = "none:/nowhere;below", .ranks = 1}));
  spawner->finish(&spawn, false);
  assert_true(PREPARE({.program = "app_there", .path = "below:none", .ranks = 1}));
  spawner->finish(&spawn, false);
  assert_int_equal(unlink("below/app_there"), 0);
  /* in none of them: as tmpirun would look */
  assert_true(PREPARE({.program = "app", .path = "none;below", .ranks = 1}));
  spawner->finish(&spawn, false);
  /* the first folder that has it counts */
  assert_false(PREPARE({.program = "tool", .path = "below:.", .ranks = 1}));
  check_refused(
      "'tool' is another program, and all ranks run 'app' (build one program that "
      "chooses by an argument)");
}

/* A folder's name that is too long is no folder of it. */
static void a_folder_with_a_long_name(void **state) {
  static char path[PATH_MAX + 10];
  (void)state;
  memset(path, 'x', PATH_MAX);
  strcpy(path + PATH_MAX, ":.");
  assert_true(PREPARE({.program = "app", .path = path, .ranks = 1}));
  spawner->finish(&spawn, false);
}

/* ---- what is refused */

static void other_programs_are_refused(void **state) {
  (void)state;
  assert_false(PREPARE({.program = "app", .ranks = 1}, {.program = "foreign", .ranks = 1}));
  check_refused(
      "'foreign' is another program, and all ranks run 'app' (build one program that "
      "chooses by an argument)");
  assert_false(PREPARE({.program = "none", .ranks = 1}));
  check_refused("cannot run 'none': No such file or directory (check the name)");
  assert_false(PREPARE({.program = "text", .ranks = 1}));
  check_refused("cannot run 'text': Permission denied (check the name)");
}

static void folders_that_cannot_be_entered_are_refused(void **state) {
  (void)state;
  assert_false(PREPARE({.program = "app", .ranks = 1, .folder = "none"}));
  check_refused("wdir: cannot enter 'none': No such file or directory (check the name)");
  assert_false(PREPARE({.program = "app", .ranks = 1, .folder = "text"}));
  check_refused("wdir: cannot enter 'text': Not a directory (check the name)");
  no_access = "below";
  assert_false(PREPARE({.program = "app", .ranks = 1, .folder = "./below"}));
  check_refused("wdir: cannot enter './below': Permission denied (check the name)");
  how.own_folders = false;
  assert_false(PREPARE({.program = "app", .ranks = 1, .folder = "below"}));
  check_refused(
      "wdir: all ranks share a working directory, since unshare(2) is refused here "
      "(leave it out, or allow it)");
  assert_true(PREPARE({.program = "app", .ranks = 1}));
  spawner->finish(&spawn, false);
}

static void more_ranks_than_there_is_room_for_are_refused(void **state) {
  (void)state;
  assert_true(PREPARE({.program = "app", .ranks = MOST - FIRST}));
  spawner->finish(&spawn, false);
  assert_false(PREPARE({.program = "app", .ranks = MOST - FIRST + 1}));
  check_refused("7 ranks are too many: 6 can be added to 2 (tmpirun --spare)");
  how.stacks = 2;
  assert_true(PREPARE({.program = "app", .ranks = 2}));
  spawner->finish(&spawn, false);
  assert_false(PREPARE({.program = "app", .ranks = 3}));
  check_refused(
      "no address space for 3 stacks, only for 2 (fewer ranks, less --stack, or a "
      "higher ulimit -v)");
}

static void copies_that_cannot_be_made_are_refused(void **state) {
  (void)state;
  how.unplaced = FIRST;
  assert_false(PREPARE({.program = "app", .ranks = 1}));
  check_refused("no room");
  how.unplaced = NONE;
  how.unwritten = FIRST + 1;
  assert_false(PREPARE({.program = "app", .ranks = 3}));
  check_trace("place:2+3,2 output:2 output:3 ");
  check_refused(
      "cannot write the output file of rank 3: No space left on device (another "
      "--output)");
}

/* The threads that were made end at the gate. */
static void a_thread_that_cannot_be_made_ends_the_others(void **state) {
  (void)state;
  how.uncreated = FIRST + 1;
  assert_false(PREPARE({.program = "app", .ranks = 3, .folder = "below"}));
  assert_string_equal(spawn.why, "no memory for 3 more ranks (fewer ranks, or less --stack)");
  trace[0] = '\0';
  spawner->finish(&spawn, false);
  check_trace("drop:2 drop:3 drop:4 open:1 wait ");
}

static void nothing_is_left_where_memory_ends(void **state) {
  int refusals = 0;
  (void)state;
  for (int most = 0;; most++, refusals++) {
    allocations_left = most;
    bool prepared = PREPARE({.program = "script", .argv = words, .ranks = 2, .folder = "below"},
                            {.program = "app", .ranks = 1});
    allocations_left = -1;
    if (!prepared) assert_int_not_equal(strlen(spawn.why), 0);
    if (prepared)
      check_trace(
          "place:2+3,2 output:2 output:3 output:4 gate:1,1 create:2:alias,-x,./script,a,b "
          "create:3:alias,-x,./script,a,b create:4:app ");
    trace[0] = '\0';
    spawner->finish(&spawn, false);
    assert_int_equal(blocks, 0);
    trace[0] = '\0';
    if (prepared) break;
  }
  assert_in_range(refusals, 10, 40); /* each of them was refused once */
}

/* ---- several nodes: those ranks of a spawn that are here */

static void set_nodes(int own, const int *nodes, int count) {
  memcpy(nodes_of_spawned, nodes, (size_t)count * sizeof *nodes);
  tm_job.first = own;
  tm_job.local = 1;
  tm_job.here = 1;
  tm_job.spawned_on = nodes_of_spawned;
}
#define NODES(own, ...)                                                                            \
  set_nodes(own, (int[]){__VA_ARGS__}, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)))

static void ranks_of_other_nodes_are_not_made(void **state) {
  (void)state;
  NODES(1, 1, 0, 1, 1, 0);
  how.stacks = 3;
  assert_true(PREPARE({.program = "app", .ranks = 2}, {.program = "alias", .ranks = 3}));
  check_trace(
      "place:2+1,1 output:2 place:4+2,2 output:4 output:5 gate:1,1 create:2:app "
      "create:4:alias create:5:alias ");
  spawner->finish(&spawn, true);
  check_trace(
      "list:2 list:4 list:5 ends+3 world part:0 part:0 part:1 part:1 part:1 open:1 "
      "wait run:2:- wait run:4:- wait run:5:- ");
  assert_true(PREPARE({.program = "app", .ranks = 5}));
  trace[0] = '\0';
  spawner->finish(&spawn, false);
  check_trace("drop:2 drop:4 drop:5 open:1 wait wait wait ");
}

static void commands_of_other_nodes_are_theirs_to_check(void **state) {
  (void)state;
  NODES(0, 1, 0);
  assert_true(
      PREPARE({.program = "none", .ranks = 1, .folder = "none"}, {.program = "app", .ranks = 1}));
  check_trace("place:3+1,1 output:3 gate:1,1 create:3:app ");
  spawner->finish(&spawn, false);
  assert_false(PREPARE({.program = "app", .ranks = 1}, {.program = "none", .ranks = 1}));
  check_refused("cannot run 'none': No such file or directory (check the name)");
  how.unplaced = FIRST + 1;
  assert_false(PREPARE({.program = "app", .ranks = 1}, {.program = "app", .ranks = 1}));
  check_refused("no room");
}

#define SPAWN_TEST(test) cmocka_unit_test_setup_teardown(test, begin, check_blocks)

int main(void) {
  const struct CMUnitTest tests[] = {
      SPAWN_TEST(all_ranks_run_once_the_gate_opens),
      SPAWN_TEST(no_rank_runs_where_another_node_refuses),
      SPAWN_TEST(the_service_of_a_node_takes_the_working_directory_of_tmpirun),
      SPAWN_TEST(a_script_for_the_program_is_started_by_it),
      SPAWN_TEST(the_name_that_the_user_gave_is_the_program),
      SPAWN_TEST(folders_to_look_in),
      SPAWN_TEST(a_folder_with_a_long_name),
      SPAWN_TEST(other_programs_are_refused),
      SPAWN_TEST(folders_that_cannot_be_entered_are_refused),
      SPAWN_TEST(more_ranks_than_there_is_room_for_are_refused),
      SPAWN_TEST(copies_that_cannot_be_made_are_refused),
      SPAWN_TEST(a_thread_that_cannot_be_made_ends_the_others),
      SPAWN_TEST(nothing_is_left_where_memory_ends),
      SPAWN_TEST(ranks_of_other_nodes_are_not_made),
      SPAWN_TEST(commands_of_other_nodes_are_theirs_to_check),
  };
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
