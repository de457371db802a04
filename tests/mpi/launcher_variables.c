/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank's environment begins with (src/tmpi/run/environment.c): the variables of other
 * launchers, of ranks that tmpirun starts and of spawned ones, and tmpirun's own variables without
 * those of a launcher above it. Two nodes have four ranks each; the test is node 1 or 0.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "captured.h"
#include "must.h"
#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/object/world.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "traced_calls.h"

enum {
  FIRST = 4,
  LOCAL = 4,
  STARTED = 8,
  SPAWNED = STARTED,
  SPAWNED_SIZE = 5,
  SYMBOL = 24,
  PLACE = 64
};

/* Ranks 8 to 12 were spawned, of which 8, 10 and 11 are on node 1. */
static int nodes[] = {1, 0, 1, 1, 0};
struct tm_job tm_job = {.first_size = STARTED, .local = LOCAL, .spawned_on = nodes};
static struct tm_image images[3] = {{.span = 1}, {.place = PLACE}, {.span = 3}};
static struct tm_image *list_of_images[] = {&images[0], &images[1], &images[2]};
static char slots[3][256];
static struct tm_program program = {.images = list_of_images,
                                    .start_count = 2,
                                    .image_count = 3,
                                    .arena = slots[0],
                                    .slot = sizeof slots[0]};
struct tm_program *tm_the_program = &program;
static struct tm_process process, *caller;
static int has_environ; /* the image that has the variable */
static bool has_memory, is_secure;
static char text[1000];

struct tm_process *tm_process_here(void) { return caller; }

struct tm_world *tm_world_of(int number) {
  static struct tm_group group = {.size = SPAWNED_SIZE};
  static struct tm_world world = {.first = SPAWNED, .group = &group};
  return number >= SPAWNED ? &world : NULL;
}

struct tm_wanted tm_want(const char *name, const char *version) {
  assert_string_equal(name, "environ");
  assert_null(version);
  return (struct tm_wanted){.name = name};
}

const Elf64_Sym *tm_image_find(const struct tm_image *image, const struct tm_wanted *wanted) {
  static const Elf64_Sym symbol = {.st_value = SYMBOL};
  assert_string_equal(wanted->name, "environ");
  return image == &images[has_environ] ? &symbol : NULL;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  void *block = has_memory ? __real_malloc(size) : NULL;
  return block != NULL ? memset(block, 0xa5, size) : NULL;
}

unsigned long __wrap_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type) {
  assert_int_equal(type, AT_SECURE);
  return is_secure;
}

char *__wrap_getenv(const char *name);
char *__wrap_getenv(const char *name) {
  note("libc:%s", name);
  return text;
}

static void check(void (*acts)(const void *), const void *argument) {
  if (!captured_in_child(acts, argument, text, sizeof text)) fail_msg("%s", text);
  assert_string_equal(text, "");
}

/* ---- what a rank starts with */

static char *of_tmpirun[] = {(char[]){"HOME=/"},
                             (char[]){"OMPI_COMM_WORLD_RANK=77"},
                             (char[]){"OMPI_COMM_WORLD_RANKS=78"},
                             (char[]){"PMI_RAN=79"},
                             (char[]){"PMI_SIZE=80"},
                             (char[]){"PMI_RANK"},
                             (char[]){"MPI_LOCALNRANKS="},
                             (char[]){"PATH=/bin:/usr/bin"},
                             NULL};

static void begin(int first, int image) {
  tm_job.first = first;
  has_environ = image;
  environ = of_tmpirun;
  tm_environment_start();
}

static const char *const own_names[] = {
    "OMPI_COMM_WORLD_RANK=", "OMPI_COMM_WORLD_LOCAL_RANK=", "OMPI_COMM_WORLD_NODE_RANK=",
    "PMI_RANK=", "MPI_LOCALRANKID="};

/* Fills the environment of a rank, and compares it with the values that launchers' variables have.
 */
static void must_fill(int number, int rank, int size, int local_rank, int local_size) {
  char *list[40], *texts = malloc(2000), wanted[9][60];
  struct tm_process filled = {.number = number};
  snprintf(filled.name, sizeof filled.name, "rank %d", number);
  MUST(TM_NUMBER_AT == strlen("rank "));
  bool spawned = number >= STARTED;
  size_t room = 9 * TM_LAUNCHER_TEXT; /* of a spawned rank's texts */
  if (!spawned) room = 0;
  for (int i = 0; i < 5 && !spawned; i++) room += strlen(own_names[i]) + TM_NUMBER_TEXT;
  MUST(tm_environment_texts(&filled) == room);
  MUST(tm_environment_room() == 9 + 5 + 1);
  memset(list, 0x5a, sizeof list);
  memset(texts, 0x5a, 2000);
  MUST(tm_environment_fill(&filled, list, texts) == list + 9 + 5 + 1);
  snprintf(wanted[0], sizeof wanted[0], "OMPI_COMM_WORLD_RANK=%d", rank);
  snprintf(wanted[1], sizeof wanted[0], "OMPI_COMM_WORLD_SIZE=%d", size);
  snprintf(wanted[2], sizeof wanted[0], "OMPI_COMM_WORLD_LOCAL_RANK=%d", local_rank);
  snprintf(wanted[3], sizeof wanted[0], "OMPI_COMM_WORLD_LOCAL_SIZE=%d", local_size);
  snprintf(wanted[4], sizeof wanted[0], "OMPI_COMM_WORLD_NODE_RANK=%d", local_rank);
  snprintf(wanted[5], sizeof wanted[0], "PMI_RANK=%d", rank);
  snprintf(wanted[6], sizeof wanted[0], "PMI_SIZE=%d", size);
  snprintf(wanted[7], sizeof wanted[0], "MPI_LOCALRANKID=%d", local_rank);
  snprintf(wanted[8], sizeof wanted[0], "MPI_LOCALNRANKS=%d", local_size);
  for (int i = 0; i < 9; i++) {
    must(strcmp(list[i], wanted[i]) == 0, list[i]);
    bool is_own = list[i] >= texts && list[i] + TM_LAUNCHER_TEXT <= texts + 2000;
    MUST(!is_own || list[i] + strlen(list[i]) < texts + room);
  }
  static const int kept[] = {0, 2, 3, 5, 7};
  for (int i = 0; i < 5; i++) must(strcmp(list[9 + i], of_tmpirun[kept[i]]) == 0, list[9 + i]);
  MUST(list[9 + 5] == NULL && texts[room] == 0x5a);
  free(texts);
}

static void fill_started(const void *unused) {
  (void)unused;
  begin(FIRST, 2);
  must_fill(4, 4, 8, 0, 4);
  must_fill(7, 7, 8, 3, 4);
}

static void fill_on_first_node(const void *unused) {
  (void)unused;
  begin(0, 2);
  must_fill(0, 0, 8, 0, 4);
  must_fill(3, 3, 8, 3, 4);
}

static void fill_spawned(const void *unused) {
  (void)unused;
  begin(FIRST, 2);
  must_fill(8, 0, 5, 0, 3);
  must_fill(10, 2, 5, 1, 3);
  must_fill(11, 3, 5, 2, 3);
}

static void test_ranks_that_tmpirun_starts(void **state) {
  (void)state;
  check(fill_started, NULL);
  check(fill_on_first_node, NULL);
}

/* Its numbers are those of its own world. */
static void test_spawned_ranks(void **state) {
  (void)state;
  check(fill_spawned, NULL);
}

/* tmpirun's list itself is filtered then. */
static void start_without_memory(const void *unused) {
  (void)unused;
  char *all[sizeof of_tmpirun / sizeof of_tmpirun[0]], *list[40], texts[2000];
  memcpy(all, of_tmpirun, sizeof all);
  has_memory = false;
  tm_job.first = 0;
  has_environ = 2;
  environ = all;
  tm_environment_start();
  MUST(environ == all && strcmp(all[4], "PATH=/bin:/usr/bin") == 0 && all[5] == NULL);
  MUST(tm_environment_fill(&process, list, texts) == list + 9 + 5 + 1);
}

static void keep_own(const void *unused) {
  (void)unused;
  begin(0, 2);
  for (int i = 0; i < 9; i++) /* ranks have a copy: libc changes its own */
    MUST(environ[i] == of_tmpirun[i] && environ == of_tmpirun);
  MUST(environ[8] == NULL);
}

static void test_the_environment_of_tmpirun(void **state) {
  (void)state;
  check(start_without_memory, NULL);
  check(keep_own, NULL);
}

/* ---- what a rank has */

static char *of_rank[] = {(char[]){"ABC=3"}, (char[]){"AB"},     (char[]){"AB=2"},
                          (char[]){"AB=4"},  (char[]){"EMPTY="}, NULL};

static void find_variable(const void *image) {
  static char text_of_program[] = "A=1", *changed[] = {text_of_program, NULL};
  char **own = changed;
  begin(0, *(const int *)image);
  process = (struct tm_process){.number = 2, .environment = of_rank};
  memcpy(&slots[2][PLACE + SYMBOL], &own, sizeof own);
  own = of_rank + 1;
  memcpy(&slots[2][SYMBOL], &own, sizeof own); /* image 0 is at the beginning of a slot */
  char **expected = has_environ == 0 ? of_rank + 1 : has_environ == 1 ? changed : of_rank;
  MUST(tm_process_environment(&process) == expected);
}

/* A program or its libraries have a copy of the variable, or what the rank started with counts. A
 * library that is opened later has none of its own. */
static void test_where_a_rank_s_environment_is(void **state) {
  (void)state;
  for (int image = 0; image < 3; image++) check(find_variable, &image);
}

static void test_getenv_looks_at_the_rank_s(void **state) {
  (void)state;
  typedef char *function(const char *);
  function *get = (function *)overridden(tm_override_environment, "getenv"),
           *get_if_secure = (function *)overridden(tm_override_environment, "secure_getenv");
  process = (struct tm_process){.environment = of_rank};
  caller = &process;
  assert_string_equal(get("AB"), "2");
  assert_string_equal(get("ABC"), "3");
  assert_string_equal(get("EMPTY"), "");
  assert_null(get("A"));
  assert_null(get("B"));
  assert_string_equal(get_if_secure("AB"), "2");
  is_secure = true; /* a program that runs with rights of another user */
  assert_null(get_if_secure("AB"));
  is_secure = false;
  assert_int_equal(trace[0], 0);
  caller = NULL;
  assert_ptr_equal(get("AB"), text);
  check_trace("libc:AB ");
}

static int start(void **state) {
  (void)state;
  has_memory = true;
  return 0;
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup(name, start)
  const struct CMUnitTest tests[] = {
      ROW(test_ranks_that_tmpirun_starts),  ROW(test_spawned_ranks),
      ROW(test_the_environment_of_tmpirun), ROW(test_where_a_rank_s_environment_is),
      ROW(test_getenv_looks_at_the_rank_s),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
