/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main function of tmpirun (src/tmpi/run/tmpirun.c) without a job: what it does in which order,
 * how it ends where a step fails, which stacks ranks get, and what its options become. Each run is
 * a child of fork(), which prints what it did.
 */
#include <errno.h>
#include <limits.h>
#include <mltp/mltp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "captured.h"
#include "core/internal/process.h"
#include "os/map.h"
#include "os/os.h"
#include "tmpi/env/job.h"
#include "tmpi/env/launch.h"
#include "tmpi/loader/policy.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/audited.h"
#include "tmpi/run/foreign_options.h"
#include "tmpi/run/hosts.h"
#include "tmpi/run/joined.h"
#include "tmpi/run/modules.h"
#include "tmpi/run/output.h"
#include "tmpi/run/override.h"
#include "tmpi/run/parts.h"
#include "tmpi/run/prefix.h"
#include "tmpi/run/process.h"
#include "tmpi/run/python.h"
#include "tmpi/run/streams.h"
#include "tmpi/run/wrapped.h"
#include "tmpi/run/wrapper.h"
#include "traced_calls.h"

enum { STATUS = 40 /* of the ranks */, MIB = 1 << 20, GIB = 1 << 30 };

int tmpirun_main(int argc, char **argv);

static const char *fails;       /* the step that does; NULL: none */
static struct tm_joined joined; /* what a launcher has given */
static int own_node, nodes, status, cpus;
static size_t stack_limit, space_limit;
static bool abandoned, clean, far_hosts, complete, runs_code, spawns;
static struct tm_program program;
struct tm_program *tm_the_program = &program;
struct tm_job tm_job;

/* Notes a step. @return whether it succeeds. */
static bool step(const char *name) {
  note("%s", name);
  return fails == NULL || strcmp(fails, name) != 0;
}

/* ---- what main() calls */

const char *mltp_version(void) { return "1.2.3"; }
size_t os_stack_limit(void) { return stack_limit; }
size_t os_address_space_limit(void) { return space_limit; }
void os_raise_file_limit(void) { note("files"); }
void os_descriptors_fill(void) { note("fill"); }
int mti_cpus(void) { return cpus; }
int mltp_init(int vps) { return vps == 0 && step("init") ? 0 : ENOMEM; }

void os_thread_refusal(int error, char *text, size_t size) {
  snprintf(text, size, "error %d", error);
}

void tm_job_wait(enum tm_wait wait, uint64_t spin_ns) {
  note("wait:%d,%d", (int)wait, (int)spin_ns);
}

void tm_job_on_end(void (*flush)(void)) {
  if (flush == tm_flush_all) note("on_end");
}

int tm_job_start(int size, int room, int first, int local) {
  tm_job.most = room;
  note("%d,%d,%d,%d", size, room, first, local);
  return step("job") ? 0 : ENOMEM;
}

bool tm_policy_option(const char *names, bool share) {
  note("%s:%s", share ? "share" : "private", names);
  return step("policy");
}

struct tm_program *tm_program_read(const char *path, const struct tm_ranks *ranks,
                                   const void *(*override)(const char *name)) {
  note("%s,%d,%d,%d", path, ranks->first, ranks->spare, ranks->fixed);
  note("%s,%s,%s", (const char *) override("joined"), (const char *) override("checks"),
       (const char *) override("any"));
  program.ranks = spawns || ranks->fixed ? ranks->first + ranks->spare : ranks->first;
  return step("read") ? &program : NULL;
}

bool tm_program_runs_code_on_stack(const struct tm_program *p) {
  return p == &program && runs_code;
}
const void *tm_joined_override(const char *name) { return name[0] == 'j' ? "of_joined" : NULL; }
const void *tm_checks_override(const char *name) { return name[0] != 'a' ? "of_checks" : NULL; }
const void *tm_override(const char *name) { return name != NULL ? "of_libc" : NULL; }

static bool finds_program, finds_other;

char *tm_find_program(const char *name) {
  errno = ENOENT;
  if (!finds_program || (!finds_other && strcmp(name, "other") == 0)) return NULL;
  return strdup(strcmp(name, "other") == 0 ? "/bin/other" : "/bin/prog");
}

char *__wrap_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved) {
  if (resolved != NULL) _exit(97);
  return strdup(path);
}

static const char *stand_in;

char *tm_python_stand_in(const char *path) {
  return path != NULL && stand_in != NULL ? strdup(stand_in) : NULL;
}

static struct tm_part parts[2];

int tm_parts_cut(int argc, char **argv) {
  int i = 1;
  while (i < argc && strcmp(argv[i], ":") != 0) i++;
  return i;
}

bool tm_parts_add(struct tm_parts *all, int ranks, int argc, char **argv) {
  note("part:%d,%d,%s", ranks, argc, argv[0]);
  parts[all->count] = (struct tm_part){ranks, argc, argv};
  all->list = parts;
  all->count++;
  return step("add");
}

bool tm_parts_add_rest(struct tm_parts *all, int first, int argc, char **argv, int room,
                       bool (*takes_next)(const char *word)) {
  note("rest:%d,%d,%d", first, argc, room);
  note("%d%d%d%d%d", takes_next("-n"), takes_next("--vps"), takes_next("--label"),
       takes_next("--check"), takes_next("-vps"));
  if (first < argc) tm_parts_add(all, 5, 1, argv + argc - 1);
  return step("add_rest");
}

int tm_parts_ranks(const struct tm_parts *all) {
  int count = 0;
  for (int i = 0; i < all->count; i++) count += all->list[i].ranks;
  return count;
}

int tm_foreign_options(int argc, char ***argv, bool later, bool (*takes_next)(const char *word)) {
  return *argv != NULL && !later && takes_next("-n") && step("foreign") ? argc : -1;
}

bool tm_hosts_are_far(void) { return far_hosts; }

int tm_hosts_launch(int ranks, char *const *words, size_t count) {
  note("hosts:%d", ranks);
  for (size_t i = 0; i < count; i++) note("%s", words[i]);
  return 9;
}

void tm_wrapped_started(void) { note("started"); }

bool tm_wrapper_run(char ***command, int *count, const struct tm_wrapper_options *options) {
  note("wrapper:%s,%d,%s,%d,%d", (*command)[0], *count, options->count > 0 ? options->words[0] : "",
       options->count, options->ranks);
  return step("wrapper");
}

bool tm_joined_start(const struct tm_asked *asked, struct tm_joined *answer) {
  note("asked:%d,%s,%s,%d,%d", asked->ranks, asked->program,
       asked->option != NULL ? asked->option : "-", asked->check, asked->report);
  *answer = joined;
  if (answer->local == 0) answer->local = asked->ranks;
  return step("joined");
}

void tm_audited_start(void) { note("audited"); }

bool tm_output_start(int ranks, bool label, const char *files) {
  note("%d,%d,%s", ranks, label, files != NULL ? files : "-");
  return step("output");
}

bool tm_output_reserve(int ranks) {
  note("%d", ranks);
  return step("reserve");
}

bool tm_output_is_complete(void) { return complete; }
bool tm_checks_load(void) { return step("load"); }
void tm_flush_all(void) { note("flush"); }
void tm_units_start(void) { note("units"); }
void tm_crash_start(void) { note("crash"); }
bool tm_streams_start(const struct tm_program *p) { return p == &program && step("streams"); }
void tm_openmp_heed(void) { note("openmp"); }
void tm_obstacks_heed(void) { note("obstacks"); }
void tm_vps_later(void) { note("vps"); }
void mti_expect_stacks(size_t count) { note("stacks:%d", (int)count); }
void mti_make_stacks_executable(void) { note("executable"); }
void tm_locations_start(void) { note("locations"); }

int tm_watch_start(long seconds) {
  note("%ld", seconds);
  return step("watch") ? 0 : 55;
}

bool tm_checks_start(bool check, bool strict, bool report, const char *file) {
  note("%d,%d,%d,%s", check, strict, report, file != NULL ? file : "-");
  return step("checks");
}

bool tm_spawn_start(const char *name) {
  note("%s", name);
  return step("spawn");
}

bool tm_joined_begin(void) { return step("begin"); }

int tm_launch(const struct tm_parts *all) {
  note("launch:%d", all->count);
  return status;
}

int tm_joined_nodes(int *own) {
  *own = own_node;
  return nodes;
}

void *tm_checks_gather(size_t *bytes) {
  note("gather");
  *bytes = 3;
  return calloc(1, 3);
}

void tm_joined_send_counts(const void *data, size_t bytes) {
  note("send:%d,%d", data != NULL, (int)bytes);
}

void *tm_joined_take_counts(int node, size_t *bytes) {
  note("take:%d", node);
  *bytes = 4;
  return node != 2 ? calloc(1, 4) : NULL;
}

void tm_checks_add(const void *gathered, size_t bytes) {
  note("add:%d,%d", gathered != NULL, (int)bytes);
}

int tm_joined_end(int of_node) {
  note("end:%d", of_node);
  return of_node;
}

int tm_checks_finish(int of_job, bool reports) {
  note("finish:%d,%d", of_job, reports);
  return of_job;
}

void tm_joined_leave(bool together) { note("leave:%d", together); }
bool tm_ends_are_clean(void) { return clean; }
void mti_wait_for_all(void) { note("wait_for_all"); }
bool tm_ends_abandoned(void) { return abandoned; }

/* ---- runs */

static char text[4000];
struct line {
  int argc;
  char **argv;
};

/* Prints the trace on stderr, behind the messages, and ends with what main() returns. */
static void run_main(const void *line) {
  const struct line *words = line;
  int code = tmpirun_main(words->argc, words->argv);
  fprintf(stderr, "|%s", trace);
  fprintf(stderr, "|%d", code);
}

void __real__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) {
  if (code == 77) __real__exit(code); /* captured.h's */
  fprintf(stderr, "|%s|_exit %d", trace, code);
  __real__exit(77);
}

/* Calls a function with a command line, whose words are separated by blanks. What it prints is in
 * `text`. */
static void run_by(void (*function)(const void *), const char *words) {
  static char copy[300], *argv[30];
  int argc = 0;
  snprintf(copy, sizeof copy, "tmpirun %s", words);
  for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) argv[argc++] = word;
  argv[argc] = NULL;
  const struct line line = {argc, argv};
  captured_in_child(function, &line, text, sizeof text);
}

/* @return what it printed: messages, the trace, and its status. */
static const char *run(const char *words) {
  run_by(run_main, words);
  return text;
}

static int start(void **state) {
  (void)state;
  static const char *const variables[] = {"MLTP_STACK_SIZE",      "MLTP_SEED",     "MLTP_SCHEDULE",
                                          "OPENBLAS_NUM_THREADS", "MLTP_SLICE_MS", TM_JOB};
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) unsetenv(variables[i]);
  fails = NULL;
  joined = (struct tm_joined){0};
  status = own_node = 0;
  nodes = 1;
  cpus = 4;
  stack_limit = 8 * (size_t)MIB;
  space_limit = SIZE_MAX;
  abandoned = far_hosts = runs_code = spawns = false;
  clean = complete = finds_program = finds_other = true;
  stand_in = NULL;
  trace[0] = '\0';
  return 0;
}

#define READ_PARTS(ranks)                                                                          \
  "wrapper:prog,1,-n,2," #ranks " wrapper part:" #ranks                                            \
  ",1,prog add rest:4,4,1000000 "                                                                  \
  "11000 add_rest asked:" #ranks ",/bin/prog,-,0,0 joined "

/* ---- tests */

static void test_a_job_from_its_start_to_its_end(void **state) {
  (void)state;
  assert_string_equal(
      run("-n 3 prog"),
      "|fill foreign started " READ_PARTS(3) "audited 3,0,- output on_end units crash files "
      "/bin/prog,3,1024,0 of_joined,of_checks,of_libc read streams openmp obstacks vps stacks:3 "
      "init 3,3,0,3 job locations 0 watch 0,0,0,- checks begin launch:1 end:0 finish:0,1 leave:0 "
      "wait_for_all |0");
}

/* Each says why itself, but for some. */
static void test_steps_that_fail(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int status;
    const char *message;
  } steps[] = {{"foreign", 2, ""},
               {"wrapper", 1, ""},
               {"add", 2, ""},
               {"add_rest", 2, ""},
               {"joined", 1, ""},
               {"output", 1, ""},
               {"load", 1, ""},
               {"read", 1, ""},
               {"reserve", 1, ""},
               {"streams", 1, ""},
               {"init", 1, ""},
               {"checks", 1, ""},
               {"begin", 1, ""},
               {"job", 1, "tmpirun: no memory for 3 ranks (fewer ranks)\n"},
               {"watch", 1, "tmpirun: no kernel thread for reports: error 55 (raise the limit)\n"},
               {"spawn", 1, "tmpirun: no memory for ranks that ranks spawn (--spare=0)\n"}};
  spawns = true;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    char last[40];
    fails = steps[i].name;
    run("-n 3 --check prog");
    char *trace_of = strchr(text, '|');
    assert_non_null(trace_of);
    assert_int_equal(trace_of - text, strlen(steps[i].message));
    assert_memory_equal(text, steps[i].message, strlen(steps[i].message));
    snprintf(last, sizeof last, "%s |%d", steps[i].name, steps[i].status);
    assert_true(strlen(text) >= strlen(last));
    assert_string_equal(text + strlen(text) - strlen(last), last);
  }
}

static void check_end(const char *words, const char *expected) {
  run(words);
  const char *end = strstr(text, "launch:");
  assert_non_null(end);
  assert_string_equal(end, expected);
}

static void test_ends_of_jobs(void **state) {
  (void)state;
  clean = false; /* threads of ranks are left */
  check_end("-n 3 prog", "launch:1 end:0 finish:0,1 leave:0 |0");
  clean = true;
  status = STATUS;
  check_end("-n 3 prog", "launch:1 end:40 finish:40,1 leave:0 |40");
  complete = false; /* output was lost */
  check_end("-n 3 prog", "launch:1 end:40 finish:40,1 leave:0 |40");
  status = 0;
  check_end("-n 3 prog", "launch:1 end:0 finish:0,1 leave:0 wait_for_all |1");
  abandoned = true; /* threads still use libc, so exit() is not for them */
  check_end("-n 3 --check prog", "launch:1 end:0 finish:0,1 leave:1 wait_for_all flush |_exit 1");
}

static void test_reports_of_several_nodes(void **state) {
  (void)state;
  joined = (struct tm_joined){.local = 1};
  nodes = 4;
  check_end("-n 4 --report prog",
            "launch:1 end:0 take:1 add:1,4 take:2 take:3 add:1,4 finish:0,1 "
            "leave:0 wait_for_all |0");
  static const char lacks[] =
      "tmpirun: the report lacks node 2: its counts have not come (see above)\n|";
  assert_memory_equal(text, lacks, sizeof lacks - 1);
  own_node = 1;
  check_end("-n 4 --report prog",
            "launch:1 gather send:1,3 end:0 finish:0,0 leave:0 wait_for_all "
            "|0");
  check_end("-n 4 --check prog", "launch:1 end:0 finish:0,0 leave:1 wait_for_all |0");
}

/* ---- programs */

static bool has(const char *part) { return strstr(text, part) != NULL; }

static void test_programs_that_are_not_found(void **state) {
  (void)state;
  finds_program = false;
  run("-n 3 prog");
  assert_true(has("tmpirun: cannot run 'prog': No such file or directory (check the name)\n|"));
  assert_true(has("|1"));
  finds_program = true;
  stand_in = "/bin/python-shared";
  run("-n 3 prog");
  assert_true(has("asked:3,/bin/python-shared,"));
}

static void test_parts_of_one_program(void **state) {
  (void)state;
  run("-n 3 prog : prog");
  assert_true(has("part:5,1,prog add add_rest asked:8,/bin/prog,"));
  assert_false(has("wrapper")); /* a command of several parts is none */
  static const char different[] =
      "tmpirun: 'prog' and 'other' are different programs, and all "
      "ranks run one (build one program that chooses by an argument)\n";
  run("-n 3 prog : other");
  assert_memory_equal(text, different, strlen(different));
  assert_true(has("|2"));
  finds_other = false;
  run("-n 3 prog : other");
  assert_memory_equal(text, different, strlen(different));
  finds_program = false;
  run("-n 3 prog : prog");
  assert_true(has("are different programs"));
}

static void test_hosts(void **state) {
  (void)state;
  far_hosts = true;
  run("-n 3 prog a : prog");
  assert_true(has("add_rest hosts:8 tmpirun -n 3 prog a : prog |9"));
  assert_false(has("wrapper"));
}

static void test_options_become_settings(void **state) {
  (void)state;
  run("-n 2 --label --output=x --timeout=7 --report=r --spare=3 --share=a,b --private=c -- prog "
      "-n");
  assert_true(has("share:a,b policy private:c policy started wrapper:prog,2,-n,9,2 "));
  assert_true(has("asked:2,/bin/prog,--share,0,1 "));
  assert_true(has(" 2,1,x output load "));
  assert_true(has("/bin/prog,2,3,1 "));
  assert_true(has(" 7 watch 0,0,1,r checks prog spawn begin "));
  assert_true(has("5 reserve streams "));
  run("--wait=spin:2 --wait=spin --wait=park --wait=conscious --check=strict prog");
  assert_true(has("wait:1,2000 wait:1,0 wait:2,0 wait:0,0 "));
  assert_true(has(" 1,1,0,- checks "));
  run("--private=c prog"); /* which jobs of several nodes may have */
  assert_true(has("asked:1,/bin/prog,-,0,0 "));
  assert_false(has("audited"));
  run("--seed=5 prog");
  assert_true(has("asked:1,/bin/prog,--seed,0,0 "));
  fails = "policy";
  run("--share=a prog");
  assert_true(has("no memory for --share and --private"));
}

/* ---- what ranks may spawn */

static void print_universe(const void *line) {
  run_main(line);
  fprintf(stderr, " %d", tm_job.universe);
}

static int universe(const char *words) {
  run_by(print_universe, words);
  return atoi(strrchr(text, ' '));
}

static void test_ranks_that_a_program_may_spawn(void **state) {
  (void)state;
  assert_int_equal(universe("-n 2 prog"), 2); /* none */
  spawns = true;
  assert_int_equal(universe("-n 2 prog"), 4); /* one for each CPU */
  assert_int_equal(universe("-n 4 prog"), 5);
  assert_int_equal(universe("-n 6 prog"), 7);
  assert_int_equal(universe("-n 2 --spare=9 prog"), 11);
  assert_int_equal(universe("-n 2 --spare=0 prog"), 2);
  joined.cpus = 9; /* of all machines */
  assert_int_equal(universe("-n 2 prog"), 9);
  cpus = 5000;
  joined.cpus = 0;
  assert_int_equal(universe("-n 2 prog"), 1026);
}

/* ---- stacks, and what libraries read */

static void print_variables(const void *line) {
  static const char *const names[] = {"MLTP_STACK_SIZE", "OPENBLAS_NUM_THREADS", "MLTP_SLICE_MS",
                                      TM_JOB};
  run_main(line);
  for (int i = 0; i < 4; i++)
    fprintf(stderr, " %s", getenv(names[i]) != NULL ? getenv(names[i]) : "-");
}

static void check_variables(const char *words, const char *expected) {
  run_by(print_variables, words);
  assert_string_equal(strchr(strrchr(text, '|'), ' '), expected);
}

static void check_stack(const char *ranks, size_t limit, size_t space, size_t expected) {
  char words[40], variables[60];
  stack_limit = limit;
  space_limit = space;
  snprintf(words, sizeof words, "-n %s prog", ranks);
  snprintf(variables, sizeof variables, " %zu 1 500 1", expected);
  check_variables(words, variables);
}

static void test_stacks(void **state) {
  (void)state;
  const size_t mib = MIB, gib = GIB, tib = (size_t)1 << 40;
  check_stack("2", 8 * mib, SIZE_MAX, 64 * mib);
  check_stack("2", 100 * mib, SIZE_MAX, 100 * mib);
  check_stack("2", gib, SIZE_MAX, gib);
  check_stack("2", gib + 1, SIZE_MAX, gib);
  check_stack("2", SIZE_MAX, SIZE_MAX, gib);
  check_stack("256", gib, SIZE_MAX, gib); /* a quarter of the terabyte */
  check_stack("257", gib, SIZE_MAX, 64 * mib);
  check_stack("16384", 8 * mib, SIZE_MAX, 64 * mib); /* all of it */
  check_stack("16385", 8 * mib, SIZE_MAX, 8 * mib);
  check_stack("131073", 8 * mib, SIZE_MAX, 4 * mib);
  check_stack("1000000", 8 * mib, SIZE_MAX, mib);
  check_stack("4", 8 * mib, gib, 64 * mib); /* of a quarter of the limit */
  check_stack("5", 8 * mib, gib, 32 * mib);
  check_stack("1000", 8 * mib, gib, mib);
  check_stack("2", gib, 8 * tib, gib);
  check_stack("16385", 8 * mib, 4 * tib, 8 * mib);
}

static void test_variables_of_the_user_stay(void **state) {
  (void)state;
  check_variables("prog", " 67108864 - - -"); /* one rank */
  check_variables("-n 2 --stack=64 prog", " 65536 1 500 1");
  setenv("MLTP_STACK_SIZE", "5", 1);
  setenv("OPENBLAS_NUM_THREADS", "6", 1);
  setenv("MLTP_SLICE_MS", "7", 1);
  check_variables("-n 2 prog", " 5 6 7 1");
  setenv("MLTP_SCHEDULE", "x", 1);
  run("prog");
  assert_true(has("asked:1,/bin/prog,--seed,"));
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup(name, start)
  const struct CMUnitTest tests[] = {
      ROW(test_a_job_from_its_start_to_its_end),
      ROW(test_steps_that_fail),
      ROW(test_ends_of_jobs),
      ROW(test_reports_of_several_nodes),
      ROW(test_programs_that_are_not_found),
      ROW(test_parts_of_one_program),
      ROW(test_hosts),
      ROW(test_options_become_settings),
      ROW(test_ranks_that_a_program_may_spawn),
      ROW(test_stacks),
      ROW(test_variables_of_the_user_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
