/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libc and its libraries have once for a process, and ranks in turn (src/tmpi/run/zone.c,
 * critical.c, units.c): the time zone, OpenMP's unnamed critical section, and Fortran's units.
 */
#include "traced_calls.h"

#include <mltp/mltp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "captured.h"
#include "internal_locks.h"
#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"

enum { RANKS = 3 };

struct tm_job tm_job = {.size = 2, .most = RANKS};
static struct tm_process process = {.number = 1}, *caller;
static char **own_environment;
static int rank;

struct tm_process *tm_process_self(void) { return caller; }
int tm_rank_number(void) { return rank; }

char **tm_process_environment(const struct tm_process *of) {
  assert_ptr_equal(of, &process);
  return own_environment;
}

/* ---- the zone: libc's is a variable of the test */

static const char *zone;

char *__wrap_getenv(const char *name);
char *__wrap_getenv(const char *name) {
  assert_string_equal(name, "TZ");
  return (char *)(uintptr_t)zone;
}

int __wrap_setenv(const char *name, const char *value, int replaces);
int __wrap_setenv(const char *name, const char *value, int replaces) {
  assert_true(strcmp(name, "TZ") == 0 && replaces != 0);
  note("set:%s", value);
  zone = value;
  return 0;
}

int __wrap_unsetenv(const char *name);
int __wrap_unsetenv(const char *name) {
  assert_string_equal(name, "TZ");
  note("unset");
  zone = NULL;
  return 0;
}

static char *libc_names[] = {(char[]){"A"}, (char[]){"B"}};

void __wrap_tzset(void);
void __wrap_tzset(void) {
  note("tzset:%d", locked);
  tzname[0] = libc_names[0];
  tzname[1] = libc_names[1];
  daylight = 1;
  timezone = -3600;
}

/* Each says whose zone it uses, and how many locks are held. */
#define SAYS(name) note(name ":%s,%d", zone != NULL ? zone : "none", locked)

time_t __wrap_mktime(struct tm *parts);
time_t __wrap_mktime(struct tm *parts) {
  SAYS("mktime");
  return parts->tm_sec;
}

static bool no_time;

struct tm *__wrap_localtime_r(const time_t *now, struct tm *to);
struct tm *__wrap_localtime_r(const time_t *now, struct tm *to) {
  SAYS("localtime");
  *to = (struct tm){.tm_sec = (int)*now};
  return no_time ? NULL : to;
}

size_t __wrap_strftime(char *text, size_t size, const char *format, const struct tm *parts);
size_t __wrap_strftime(char *text, size_t size, const char *format, const struct tm *parts) {
  SAYS("strftime");
  return text != NULL && format != NULL && parts != NULL ? size : 0;
}

#define ZONE(name) ((__typeof__(name) *)overridden(tm_override_zone, #name))

static void use_all(void) {
  char text[40];
  time_t now = 7;
  struct tm parts = {.tm_sec = 5};
  assert_int_equal(
      ((time_t (*)(struct tm *))overridden(tm_override_zone, "tm_zone_mktime"))(&parts), 5);
  assert_ptr_equal(ZONE(localtime_r)(&now, &parts), &parts);
  assert_int_equal(ZONE(strftime)(text, 9, "%c", &parts), 9);
  assert_ptr_equal(ZONE(ctime_r)(&now, text), text);
  assert_string_equal(text, "Sun Jan  0 00:00:07 1900\n");
}

static void read_all(void) {
  char *names[2] = {NULL, NULL};
  int has_summer = 0;
  long west = 0;
  ((void (*)(char **, int *, long *))overridden(tm_override_zone, "tm_zone_read"))(
      names, &has_summer, &west);
  assert_true(names[0] == libc_names[0] && names[1] == libc_names[1]);
  assert_true(has_summer == 1 && west == -3600);
}

/* Before a rank has changed its zone, all have one. */
static void test_one_zone(void **state) {
  (void)state;
  use_all();
  check_trace("mktime:UTC,0 localtime:UTC,0 strftime:UTC,0 localtime:UTC,0 ");
  read_all();
  check_trace("tzset:0 ");
}

static void test_zones_of_ranks(void **state) {
  char *first[] = {(char[]){"TZA=x"}, (char[]){"TZ=CET"}, NULL};
  char *none[] = {(char[]){"A=x"}, NULL};
  (void)state;
  overridden(tm_override_zone, "tm_zone_changed")();
  own_environment = first;
  use_all();
  check_trace(
      "set:CET tzset:1 mktime:CET,1 tzset:1 localtime:CET,1 tzset:1 strftime:CET,1 tzset:1 "
      "localtime:CET,1 ");
  read_all();
  check_trace("tzset:1 ");
  assert_int_equal(locked, 0);
  own_environment = none; /* it has none: libc's own */
  read_all();
  check_trace("unset tzset:1 ");
  use_all();
  check_trace(
      "tzset:1 mktime:none,1 tzset:1 localtime:none,1 tzset:1 strftime:none,1 tzset:1 "
      "localtime:none,1 ");
  own_environment = NULL; /* before the program has one */
  zone = "EET";
  read_all();
  check_trace("unset tzset:1 ");
  own_environment = first;
  zone = "CET";
  read_all();
  check_trace("tzset:1 ");
  caller = NULL;
  zone = "EET";
  read_all();
  check_trace("tzset:0 ");
  char text[40];
  time_t now = 7;
  no_time = true;
  assert_null(ZONE(ctime_r)(&now, text));
}

/* ---- critical sections */

static bool no_memory;

void tm_job_abort(int status) { _exit(status == 1 ? 77 : 98); /* captured.h: it has returned */ }

static pthread_mutex_t mutexes[RANKS];

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  assert_int_equal(count * size, sizeof mutexes);
  return no_memory ? NULL : mutexes;
}

static void enter_section(const void *unused) {
  (void)unused;
  no_memory = true;
  overridden(tm_override_critical, "GOMP_critical_start")();
  _exit(98);
}

/* Before any rank has made the sections. */
static void test_no_memory_for_critical_sections(void **state) {
  char said[200];
  (void)state;
  assert_true(captured_in_child(enter_section, NULL, said, sizeof said));
  assert_string_equal(said,
                      "tmpirun: no memory for the critical sections of 2 ranks (fewer ranks)\n");
}

static void test_each_rank_has_a_critical_section(void **state) {
  tm_any *enter = overridden(tm_override_critical, "GOMP_critical_start"),
         *leave = overridden(tm_override_critical, "GOMP_critical_end");
  (void)state;
  for (rank = 0; rank < RANKS; rank++) enter();
  for (int i = 0; i < RANKS; i++) assert_int_not_equal(pthread_mutex_trylock(&mutexes[i]), 0);
  rank = 1;
  leave();
  assert_int_equal(pthread_mutex_trylock(&mutexes[1]), 0);
  assert_int_equal(pthread_mutex_unlock(&mutexes[1]), 0);
  enter();
  for (rank = 0; rank < RANKS; rank++) leave();
}

/* ---- units of Fortran */

static struct tm_image images[] = {{.path = (char[]){"/srv/libgfortran/app"}},
                                   {.path = (char[]){"/lib/libgfortran.so.5"}},
                                   {.path = (char[]){"libgfortran.so.5"}},
                                   {.path = (char[]){"/lib/libgfortran.so.6"}}},
                       *image_list[] = {&images[0], &images[1], &images[2], &images[3]};
static struct tm_program program = {.images = image_list, .image_count = 4, .start_count = 3};
struct tm_program *tm_the_program = &program;
static char thread, *running;
static bool is_child, in_handler;
static void (*ends_output)(void);

mltp_t *mltp_self(void) { return (mltp_t *)running; }
bool tm_process_is_child(void) { return is_child; }
void tm_job_on_failure(void (*end_output)(void)) { ends_output = end_output; }

bool tm_signals_handles(const struct tm_process *of) {
  assert_ptr_equal(of, &process);
  return in_handler;
}

void tm_program_destruct_image(const struct tm_program *of, const struct tm_image *image,
                               int of_rank) {
  assert_ptr_equal(of, &program);
  note("destruct:%d,%d", (int)(image - images), of_rank);
}

static void test_units_of_the_rank_that_ends_the_job(void **state) {
  (void)state;
  tm_units_start();
  ends_output();
  check_trace("destruct:1,1 destruct:2,1 "); /* one that a rank has opened may be half made */
  running = NULL;                            /* a pthread of the rank */
  ends_output();
  running = &thread;
  is_child = true; /* of fork(), which has the rank's buffers */
  ends_output();
  is_child = false;
  in_handler = true; /* libgfortran may hold a lock */
  ends_output();
  in_handler = false;
  caller = NULL;
  ends_output();
  check_trace("");
}

static int start(void **state) {
  (void)state;
  caller = &process;
  process.thread = (mltp_t *)&thread;
  running = &thread;
  zone = "UTC";
  no_time = is_child = in_handler = no_memory = false;
  rank = 0;
  trace[0] = '\0';
  return 0;
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      ROW(test_one_zone),
      ROW(test_zones_of_ranks),
      ROW(test_no_memory_for_critical_sections),
      ROW(test_each_rank_has_a_critical_section),
      ROW(test_units_of_the_rank_that_ends_the_job),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
