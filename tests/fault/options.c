/* SPDX-License-Identifier: Apache-2.0 */
/* A bad MLTP_* value is refused with the variable, the value and what is allowed. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

static struct outcome outcome;

static void exit_with_init_error(void) { _exit(mltp_init(0)); }

static int lines(const char *text) {
  int count = 0;
  for (; *text != '\0'; text++) count += *text == '\n';
  return count;
}

static const struct {
  const char *variable, *value;
  const char *allowed[4]; /* words of the message */
} bad[] = {
    {"MLTP_VPS", "0", {"1024"}},
    {"MLTP_VPS", "1025", {"1024"}},
    {"MLTP_VPS", "-3", {"1024"}},
    {"MLTP_VPS", "many", {"1024"}},
    {"MLTP_VPS", "2x", {"1024"}},
    {"MLTP_VPS", " 2", {"1024"}},
    {"MLTP_VPS", "+2", {"1024"}},
    {"MLTP_VPS", "2 ", {"1024"}},
    {"MLTP_VPS", "99999999999999999999", {"1024"}},
    {"MLTP_BACKEND", "ucontextual", {"native", "ucontext", "kernel"}},
    {"MLTP_MAIN", "here", {"unbound", "bound"}},
    {"MLTP_STACK_SIZE", "12", {"1073741824"}},
    {"MLTP_STACK_SIZE", "2147483648", {"1073741824"}},
    {"MLTP_STACK_SIZE", "large", {"1073741824"}},
    {"MLTP_STACK_SPACE", "67108863", {"67108864", "1099511627776", "auto"}},
    {"MLTP_SCHED", "fifo", {"default", "single", "multi", "local"}},
    {"MLTP_PROBE", "early", {"eager", "late"}},
    {"MLTP_OVERSUBSCRIBE", "2", {"0", "1", "eager"}},
    {"MLTP_OVERSUBSCRIBE", "yes", {"0", "1", "eager"}},
    {"MLTP_SPIN_US", "-1", {"0"}},
    {"MLTP_LOCK", "ticket", {"reactive", "spin", "yield-end", "yield-front"}},
    {"MLTP_LOCK_SPIN_NS", "-1", {"0"}},
    {"MLTP_SPIN_US", "often", {"1000000", "measured"}},
    {"MLTP_TUNING", "/no/such/file", {"KEY=VALUE"}},
    {"MLTP_TUNING", "/proc/version", {"line 1", "KEY=VALUE"}},
    {"MLTP_SPIN", "ticket", {"exchange", "backoff", "array", "clh"}},
    {"MLTP_SPIN", "1", {"read"}},
    {"MLTP_AWAIT_SPIN_NS", "-1", {"measured"}},
    {"MLTP_LOCK_SPIN_NS", "1e3", {"0"}},
    {"MLTP_DEADLOCK", "ignore", {"abort", "report", "off"}},
    {"MLTP_MISUSE", "ignore", {"abort", "error"}},
    {"MLTP_GUARD", "none", {"auto", "madvise", "mprotect", "canary"}},
    {"MLTP_MEMBARRIER", "on", {"auto", "off"}},
    {"MLTP_MONITOR", "on", {"auto", "off"}},
    {"MLTP_DUMP_SIGNAL", "65", {"64"}},
    {"MLTP_DUMP_SIGNAL", "SIGQUIT", {"64"}},
    {"MLTP_STATS", "maybe", {"0", "1"}},
    {"MLTP_SEED", "-1", {"9223372036854775807"}},
    {"MLTP_PACK_MS", "-1", {"0", "86400000", "off"}},
    {"MLTP_PACK_MS", "soon", {"off"}},
    {"MLTP_SEED", "0x10", {"9223372036854775807"}},
    {"MLTP_STEPS_MAX", "many", {"0"}},
    {"MLTP_SCHEDULE", "lifo", {"random", "fifo", "pct", "STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "pct:3", {"pct:DEPTH:STEPS"}},
    {"MLTP_SCHEDULE", "pct:33:100", {"32"}},
    {"MLTP_SCHEDULE", "5:1,4:1", {"order"}},
    {"MLTP_SCHEDULE", "5:0", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "5:1 6:1", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "5:1, 6:1", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", " 5:1", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "5: 1", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "5:+1", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "5:-1", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "5:1,", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "5:4294967296", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "18446744073709551616:1", {"STEP:CHOICE"}},
    {"MLTP_SCHEDULE", "pct: 3:100", {"pct:DEPTH:STEPS"}},
    {"MLTP_SCHEDULE", "pct:3:+100", {"pct:DEPTH:STEPS"}},
    {"MLTP_SCHEDULE", "pct:3:-1", {"pct:DEPTH:STEPS"}},
    {"MLTP_SCHEDULE", "pct:4294967297:100", {"32"}},
    {"MLTP_SCHEDULE", "random ", {"random"}},
    {"MLTP_SCHEDULE_LOG", "/no/such/folder/log", {"folder"}},
};

static void bad_values_are_refused(void) {
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char setting[64], quoted[64];
    snprintf(setting, sizeof setting, "%s=%s", bad[i].variable, bad[i].value);
    snprintf(quoted, sizeof quoted, "'%s'", bad[i].value);
    const char *const settings[] = {setting, NULL};
    run_child(&outcome, exit_with_init_error, settings);
    check_case("%s", setting);
    CHECK(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == EINVAL);
    CHECK_EQUAL(lines(outcome.said), 1);
    CHECK(strstr(outcome.said, bad[i].variable) != NULL);
    CHECK(strstr(outcome.said, quoted) != NULL);
    for (int n = 0; n < 4 && bad[i].allowed[n] != NULL; n++) {
      CHECK(strstr(outcome.said, bad[i].allowed[n]) != NULL);
    }
  }
}

/* A message has room for some hundred bytes, and ends its line in any case. */
static void long_values_are_cut(void) {
  enum { LONG = 2000, ROOM = 999 };
  static char setting[LONG];
  int length = snprintf(setting, sizeof setting, "MLTP_SCHEDULE=");
  memset(setting + length, '7', (size_t)(LONG - 1 - length));
  const char *const settings[] = {setting, NULL};
  run_child(&outcome, exit_with_init_error, settings);
  CHECK(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == EINVAL);
  CHECK(strstr(outcome.said, "mltp: MLTP_SCHEDULE: bad value '777") == outcome.said);
  CHECK_EQUAL(lines(outcome.said), 1);
  CHECK_EQUAL(strlen(outcome.said), ROOM);
  CHECK_EQUAL(outcome.said[ROOM - 1], '\n');
}

/* A refused start leaves nothing behind: with the value put right, it works. */
static void init_twice(void) {
  if (mltp_init(0) != EINVAL) _exit(1);
  unsetenv("MLTP_LOCK");
  if (mltp_init(0) != 0) _exit(2);
  if (mltp_finalize() != 0) _exit(3);
}

static void init_after_a_refusal(void) {
  static const char *const settings[] = {"MLTP_LOCK=none", NULL};
  run_child(&outcome, init_twice, settings);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), 0);
}

static void *same(void *p0) { return p0; }

static void run_a_little(void) {
  mltp_lock_t lock = MLTP_LOCK_INIT;
  if (mltp_init(0) != 0) _exit(1);
  void *result = NULL;
  mltp_t *thread = spawn(same, &lock);
  mltp_lock(&lock);
  if (mltp_join(thread, &result) != 0 || result != &lock) _exit(2);
  mltp_unlock(&lock);
  if (mltp_finalize() != 0) _exit(3);
}

static void good_values_are_accepted(void) {
  static const char *const good[] = {
      "MLTP_VPS=1",
      "MLTP_VPS=1024",
      "MLTP_STACK_SIZE=65536",
      "MLTP_STACK_SPACE=67108864",
      "MLTP_STACK_SPACE=auto",
      "MLTP_SCHED=default",
      "MLTP_PROBE=eager",
      "MLTP_OVERSUBSCRIBE=0",
      "MLTP_PACK_MS=off",
      "MLTP_SPIN_US=0",
      "MLTP_SPIN_US=measured",
      "MLTP_LOCK_SPIN_NS=measured",
      "MLTP_TUNING=none",
      "MLTP_TUNING=/dev/null",
      "MLTP_LOCK=spin",
      "MLTP_LOCK=yield-end",
      "MLTP_LOCK=yield-front",
      "MLTP_LOCK=semaphore",
      "MLTP_LOCK=reactive",
      "MLTP_LOCK=queue",
      "MLTP_LOCK=exchange",
      "MLTP_LOCK=read",
      "MLTP_LOCK=backoff",
      "MLTP_LOCK=persistent",
      "MLTP_LOCK=array",
      "MLTP_LOCK=mcs",
      "MLTP_LOCK=clh",
      "MLTP_SPIN=exchange",
      "MLTP_SPIN=read",
      "MLTP_SPIN=backoff",
      "MLTP_SPIN=persistent",
      "MLTP_SPIN=array",
      "MLTP_SPIN=mcs",
      "MLTP_SPIN=clh",
      "MLTP_AWAIT_SPIN_NS=0",
      "MLTP_AWAIT_SPIN_NS=measured",
      "MLTP_LOCK_SPIN_NS=0",
      "MLTP_DEADLOCK=report",
      "MLTP_MISUSE=error",
      "MLTP_GUARD=mprotect",
      "MLTP_GUARD=canary",
      "MLTP_MEMBARRIER=off",
      "MLTP_MONITOR=auto",
      "MLTP_MONITOR=off",
      "MLTP_DUMP_SIGNAL=10",
      "MLTP_VPS=",
      "MLTP_SEED=9223372036854775807",
      "MLTP_SCHEDULE=fifo",
      "MLTP_SCHEDULE=pct:3:100",
      "MLTP_SCHEDULE=3:1,4:2",
      "MLTP_SCHEDULE_LOG=/dev/null",
      "MLTP_STEPS_MAX=1000000",
  };
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    const char *const settings[] = {good[i], NULL};
    if (SANITIZED && strcmp(good[i], "MLTP_VPS=1024") == 0) continue; /* too many for one */
    run_child(&outcome, run_a_little, settings);
    check_case("%s", good[i]);
    CHECK_EQUAL(outcome.status, 0);
    CHECK_TEXT(outcome.said, "");
  }
}

/* Kernel threads have no ready queue, and deterministic mode chooses the order itself. */
static void alternatives_without_a_ready_queue_are_refused(void) {
  static const char *const settings[][4] = {
      {"MLTP_SCHED=single", "MLTP_BACKEND=kernel", "MLTP_SEED", NULL},
      {"MLTP_SCHED=local", "MLTP_BACKEND=native", "MLTP_SEED=1", NULL},
      {"MLTP_PROBE=late", "MLTP_BACKEND=kernel", "MLTP_SEED", NULL},
      {"MLTP_PROBE=late", "MLTP_BACKEND=native", "MLTP_SEED=1", NULL}};
  for (int i = 0; i < 4; i++) {
    run_child(&outcome, exit_with_init_error, settings[i]);
    check_case("%s", settings[i][0]);
    CHECK(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == EINVAL);
    CHECK_EQUAL(lines(outcome.said), 1);
    CHECK(strstr(outcome.said, i < 2 ? "unset MLTP_SCHED or " : "unset MLTP_PROBE or ") != NULL);
  }
}

static void mltp_stats_shows_counters(void) {
  static const char *const settings[] = {"MLTP_STATS=1", "MLTP_BACKEND=native", "MLTP_VPS=1", NULL};
  run_child(&outcome, run_a_little, settings);
  CHECK_EQUAL(outcome.status, 0);
  CHECK(strstr(outcome.said, "VP 0: scheduling points") != NULL);
  CHECK(strstr(outcome.said, "monitor: hand-overs ") != NULL);
  /* On a busy machine a VP may come in place of one that stands still, with a line of its own. */
  int alone = strstr(outcome.said, "monitor: hand-overs 0, wake-ups ") != NULL;
  CHECK(alone ? lines(outcome.said) == 2 : lines(outcome.said) >= 2);
}

/* More readers block than there are VPs, and the writer waits until all of them have begun. */
enum { READERS = 4 };

static int ends[2];
static atomic_int begun;

static void *read_one(void *p0) {
  char byte;
  atomic_fetch_add(&begun, 1);
  if (read(ends[0], &byte, 1) != 1) _exit(2);
  return p0;
}

static void *write_all(void *p0) {
  while (atomic_load(&begun) < READERS) mltp_yield();
  if (write(ends[1], "1234", READERS) != READERS) _exit(3);
  return p0;
}

static void block_all_vps(void) {
  mltp_t *threads[READERS + 1];
  if (pipe(ends) != 0 || mltp_init(0) != 0) _exit(1);
  for (int i = 0; i < READERS; i++) threads[i] = spawn(read_one, NULL);
  threads[READERS] = spawn(write_all, NULL);
  for (int i = 0; i <= READERS; i++) mltp_join(threads[i], NULL);
  mltp_finalize();
}

static void mltp_stats_shows_when_vps_were_handed_over(void) {
  static const char *const settings[] = {"MLTP_STATS=1", "MLTP_BACKEND=native", "MLTP_VPS=2", NULL};
  unsigned long all = 0, part, sum = 0, ms;
  run_child(&outcome, block_all_vps, settings);
  CHECK_EQUAL(outcome.status, 0);
  const char *line = strstr(outcome.said, "monitor: hand-overs ");
  CHECK(line != NULL && sscanf(line, "monitor: hand-overs %lu", &all) == 1 && all > 0);
  for (line = outcome.said; line != NULL && (line = strstr(line, "silent for ")) != NULL; line++)
    if (sscanf(line, "silent for %*[a-z ]%lu ms: %lu", &ms, &part) == 2) sum += part;
  CHECK(sum >= all); /* printed later */
}

static void without_a_monitor_it_has_no_counters(void) {
  static const char *const settings[] = {"MLTP_STATS=1", "MLTP_MONITOR=off", "MLTP_BACKEND=native",
                                         "MLTP_VPS=1", NULL};
  run_child(&outcome, run_a_little, settings);
  CHECK_EQUAL(outcome.status, 0);
  CHECK(strstr(outcome.said, "VP 0: scheduling points") != NULL);
  CHECK_EQUAL(lines(outcome.said), 1);
}

static void init_with_too_many(void) {
  if (mltp_init(-1) != EINVAL || mltp_init(1025) != EINVAL) _exit(1);
  if (mltp_init(1) != 0 || mltp_finalize() != 0) _exit(2);
}

static void mltp_init_refuses_numbers(void) {
  static const char *const no_settings[] = {NULL};
  run_child(&outcome, init_with_too_many, no_settings);
  CHECK_EQUAL(outcome.status, 0);
  CHECK(strstr(outcome.said, "bad number of VPs -1") != NULL);
  CHECK(strstr(outcome.said, "bad number of VPs 1025") != NULL);
}

static void exit_with_vps(void) {
  mltp_init(0);
  _exit(mltp_vps());
}

static void run_twice(void) {
  run_a_little();
  run_a_little();
}

/* The program runs, and learns which option is nearest. */
static void misspelt_names_give_a_warning(void) {
  static const struct {
    const char *setting, *name, *nearest;
  } wrong[] = {
      {"MLTP_VP=1", "MLTP_VP ", "MLTP_VPS "},
      {"MLTP_STACKSIZE=65536", "MLTP_STACKSIZE ", "MLTP_STACK_SIZE "},
      {"MLTP_BAKEND=kernel", "MLTP_BAKEND ", "MLTP_BACKEND "},
      {"MLTP_SEEDS=1", "MLTP_SEEDS ", "MLTP_SEED "},
      {"MLTP_=1", "MLTP_ ", " is meant"},
      {"MLTP_ROOTS=1", "MLTP_ROOTS ", " is meant"},
      {"MLTP_LONGER_NAME_THAN_ANY_OPTION_OF_OURS_WILL_B=1",
       "MLTP_LONGER_NAME_THAN_ANY_OPTION_OF_OURS_WILL_B ", " is meant"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const char *const settings[] = {wrong[i].setting, NULL};
    run_child(&outcome, run_twice, settings);
    check_case("%s", wrong[i].setting);
    CHECK_EQUAL(outcome.status, 0);
    CHECK_EQUAL(lines(outcome.said), 1);
    CHECK(strstr(outcome.said, wrong[i].name) != NULL);
    CHECK(strstr(outcome.said, wrong[i].nearest) != NULL);
  }
  static const char *const right[] = {
      "MLTP_ROOT=/usr", "MLTP_STRESS_SEED=1",
      "MLTP_RUN_=1",    "MLTP_LONGER_NAME_THAN_ANY_OPTION_OF_OURS_WILL_BE=1",
      "MLTP_NONE=",     "MLTP=1"};
  for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
    const char *const settings[] = {right[i], NULL};
    run_child(&outcome, run_twice, settings);
    check_case("%s", right[i]);
    CHECK_TEXT(outcome.said, "");
  }
}

static void mltp_vps_sets_the_number(void) {
  for (int vps = 1; vps <= 5; vps += 2) {
    char setting[32];
    snprintf(setting, sizeof setting, "MLTP_VPS=%d", vps);
    const char *const settings[] = {setting, NULL};
    run_child(&outcome, exit_with_vps, settings);
    assert_true(WIFEXITED(outcome.status));
    assert_int_equal(WEXITSTATUS(outcome.status), vps);
  }
}

static void print_options(void) { mltp_options(STDERR_FILENO); }

static void print_measured(void) {
  if (mltp_init(0) != 0) _exit(1);
  mltp_options_measured(STDERR_FILENO);
  if (mltp_finalize() != 0) _exit(2);
}

/* @return the value of a row that the child printed; -1: there is none. */
static long measured(const char *key) {
  const char *line = strstr(outcome.said, key);
  return line != NULL ? strtol(line + strlen(key), NULL, 10) : -1;
}

/* A machine description moves what follows from its costs; an option of its own counts more. */
static void mltp_tuning_describes_a_machine(void) {
  char path[] = "/tmp/mltp-tuning-XXXXXX", setting[64];
  static const char text[] = "# slow lines\nline_ns=400\nwake_ns=200000\nmove_ns=77\n";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
  close(fd);
  snprintf(setting, sizeof setting, "MLTP_TUNING=%s", path);
  const char *const settings[] = {setting, "MLTP_LOCK_SPIN_NS=4711", NULL};
  run_child(&outcome, print_measured, settings);
  unlink(path);
  CHECK_EQUAL(outcome.status, 0);
  CHECK_EQUAL(measured("\nline_ns "), 400);
  CHECK_EQUAL(measured("\nlone_ns "), 20000);
  CHECK_EQUAL(measured("\nidle_spin_ns "), 200000);
  CHECK_EQUAL(measured("\nmove_ns "), 77);
  CHECK_EQUAL(measured("\nlock_spin_ns "), 4711);
  CHECK(measured("\npause_ps ") > 0);
}

static void mltp_options_shows_every_knob(void) {
  static const char *const settings[] = {"MLTP_SPIN_US=4711", NULL};
  run_child(&outcome, print_options, settings);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    check_case("%s", bad[i].variable);
    CHECK(strstr(outcome.said, bad[i].variable) != NULL);
  }
  CHECK(strstr(outcome.said, "4711") != NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(bad_values_are_refused),
      TEST_BARE(long_values_are_cut),
      TEST_BARE(init_after_a_refusal),
      TEST_BARE(good_values_are_accepted),
      TEST_BARE(misspelt_names_give_a_warning),
      TEST_BARE(mltp_vps_sets_the_number),
      TEST_BARE(mltp_tuning_describes_a_machine),
      TEST_BARE(mltp_options_shows_every_knob),
      TEST_BARE(mltp_stats_shows_counters),
      TEST_BARE(mltp_stats_shows_when_vps_were_handed_over),
      TEST_BARE(without_a_monitor_it_has_no_counters),
      TEST_BARE(mltp_init_refuses_numbers),
      TEST_BARE(alternatives_without_a_ready_queue_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
