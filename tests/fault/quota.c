/* SPDX-License-Identifier: Apache-2.0 */
/* CPU quotas of control groups, version 1 and 2, in a mount namespace of the test's own, in which
 * /sys/fs/cgroup and /proc/self/cgroup say what a row of the table says; and other numbers of the
 * kernel's. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/cgroup.h"
#include "os/os.h"
#include "support/support.h"

enum {
  FILES = 4,
  NO_NAMESPACE = 77,
  NOT_HERE = 78, /* this user cannot ask */
  MANY = 1000    /* more CPUs than there are */
};

/* More lines than are read at once. */
#define LINE "7:net_cls,net_prio:/a/group/of/which/nothing/is/read/but/whose/name/is/rather/long\n"
#define LINES LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE
#define LONG LINES LINES LINES LINES LINES LINES

static const struct row {
  const char *group; /* lines of /proc/self/cgroup */
  struct {
    const char *path, *content;
  } files[FILES];
  int expected;
} rows[] = {
    {"0::/", {{NULL}}, MANY},
    {"0::/", {{"cpu.max", "max 100000"}}, MANY},
    {"0::/", {{"cpu.max", "100000 100000"}}, 1},
    {"0::/", {{"cpu.max", "1000 100000"}}, 1},   /* a part of a CPU */
    {"0::/", {{"cpu.max", "150000 100000"}}, 2}, /* rounded up */
    {"0::/", {{"cpu.max", "900000 100000"}}, 9},
    {"0::/a/b", {{"a/b/cpu.max", "max 100000"}, {"a/cpu.max", "100000 100000"}}, 1},
    {"0::/a/b", {{"a/b/cpu.max", "100000 100000"}, {"a/cpu.max", "900000 100000"}}, 1},
    {"0::/gone", {{"cpu.max", "100000 100000"}}, 1}, /* seen from inside a container */
    {"0::/", {{"cpu.max", ""}}, MANY},
    {"0::/", {{"cpu.max", "none"}}, MANY},
    {"0::/", {{"cpu.max", "-5 100000"}}, MANY},
    {"0::/", {{"cpu.max", "100000 0"}}, MANY},
    {"1:cpu,cpuacct:/job",
     {{"cpu/job/cpu.cfs_quota_us", "100000"}, {"cpu/job/cpu.cfs_period_us", "100000"}},
     1},
    {"1:cpu:/", {{"cpu/cpu.cfs_quota_us", "-1"}, {"cpu/cpu.cfs_period_us", "100000"}}, MANY},
    {"1:cpuset:/", {{"cpu/cpu.cfs_quota_us", "100000"}, {"cpu/cpu.cfs_period_us", "100000"}}, MANY},
    {"not a line", {{"cpu.max", "100000 100000"}}, MANY},
    {"0:", {{"cpu.max", "100000 100000"}}, MANY},
    {"1:cpus,mycpu:/", {{"cpu/cpu.cfs_quota_us", "1"}, {"cpu/cpu.cfs_period_us", "1"}}, MANY},
    {"1:cpus,cpu:/", {{"cpu/cpu.cfs_quota_us", "1"}, {"cpu/cpu.cfs_period_us", "1"}}, 1},
    {"1:cpu:/", {{"cpu/cpu.cfs_quota_us", "100000"}}, MANY},
    {"1:cpu:/", {{"cpu/cpu.cfs_period_us", "100000"}}, MANY},
    {"1:cpu:/\n0::/a", {{"a/cpu.max", "100000 100000"}}, 1},
    {"0::/a\n1:cpu:/", {{"a/cpu.max", "1 1"}, {"cpu/cpu.cfs_quota_us", "9"}}, 1},
    {LONG "0::/a", {{"a/cpu.max", "100000 100000"}}, 1},
};

static void write_file(const char *path, const char *content) {
  FILE *file = fopen(path, "w");
  if (file == NULL || fputs(content, file) < 0 || fclose(file) != 0) _exit(2);
}

/* Makes the folders that a path leads through. */
static void make_folders(const char *path) {
  char part[256];
  for (const char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
    snprintf(part, sizeof part, "%.*s", (int)(at - path), path);
    mkdir(part, 0700);
  }
}

/* In a child: all that is mounted ends with it. */
static void be_in(const struct row *row) {
  static const char groups[] = "/sys/fs/cgroup";
  char path[256], own[64];
  if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(NO_NAMESPACE);
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) _exit(NO_NAMESPACE);
  if (mount("none", groups, "tmpfs", 0, NULL) != 0) _exit(NO_NAMESPACE);
  for (int i = 0; i < FILES && row->files[i].path != NULL; i++) {
    snprintf(path, sizeof path, "%s/%s", groups, row->files[i].path);
    make_folders(path);
    write_file(path, row->files[i].content);
  }
  snprintf(path, sizeof path, "%s/of-this-process", groups);
  snprintf(own, sizeof own, "/proc/%d/cgroup", (int)getpid());
  write_file(path, row->group);
  if (mount(path, own, NULL, MS_BIND, NULL) != 0) _exit(NO_NAMESPACE);
}

static void quotas_bound_the_cpus(void **unused) {
  (void)unused;
  int all = mltp_cpus();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int status, expected = rows[i].expected < all ? rows[i].expected : all;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      be_in(&rows[i]);
      _exit(mltp_cpus() == expected ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE) skip();
    check_case("%s, %s", rows[i].group,
               rows[i].files[0].content != NULL ? rows[i].files[0].content : "no quota");
    CHECK_EQUAL(status, 0);
  }
  assert_checks();
}

/* ---- why a kernel thread was refused, and the folder of the group */

static struct {
  char text[256];
  bool found;
} *seen; /* shared with a child */

static void ask_why(void) {
  errno = EDOM;
  os_thread_refusal(EAGAIN, seen->text, sizeof seen->text);
  seen->found = errno == EDOM;
}

/* As another user than root, whose threads the limit of processes does not count. */
static void ask_why_as_nobody(void) {
  enum { NOBODY = 65534 };
  if (setrlimit(RLIMIT_NPROC, &(struct rlimit){3000, 3000}) != 0) _exit(NOT_HERE);
  if (geteuid() == 0 && seteuid(NOBODY) != 0) _exit(NOT_HERE);
  ask_why();
}

static void ask_why_as_root(void) {
  if (geteuid() != 0 || setrlimit(RLIMIT_NPROC, &(struct rlimit){3000, 3000}) != 0) _exit(NOT_HERE);
  ask_why();
}

static void ask_where(void) {
  seen->found = os_cgroup_unified(seen->text, sizeof seen->text);
  if (!seen->found) seen->text[0] = '\0';
}

/* There is room for all but the end of the text. */
static void ask_where_with_little_room(void) {
  seen->found = os_cgroup_unified(seen->text, strlen("/sys/fs/cgroup/a"));
  seen->text[0] = '\0';
}

#define NO_GROUP "Resource temporarily unavailable: no memory, or kernel.threads-max is reached"

static const struct question {
  void (*ask)(void);
  struct row row; /* expected: whether something was found */
  const char *text;
} questions[] = {
    {ask_why,
     {"0::/a", {{"a/pids.max", "5"}, {"a/pids.current", "5"}}, 1},
     "pids.max of its cgroup is 5"},
    {ask_why,
     {"0::/a", {{"a/pids.max", "5"}, {"a/pids.current", "6"}}, 1},
     "pids.max of its cgroup is 5"},
    {ask_why,
     {"3:pids:/a", {{"pids/a/pids.max", "7"}, {"pids/a/pids.current", "7"}}, 1},
     "pids.max of its cgroup is 7"},
    {ask_why,
     {"0::/a/b", {{"a/b/pids.max", "max"}, {"a/pids.max", "7"}, {"a/pids.current", "7"}}, 1},
     "pids.max of its cgroup is 7"},
    {ask_why_as_root, {"0::/a", {{"a/pids.max", "5"}, {"a/pids.current", "4"}}, 1}, NO_GROUP},
    {ask_why_as_root, {"0::/a", {{"a/pids.max", "max"}, {"a/pids.current", "5"}}, 1}, NO_GROUP},
    {ask_why_as_root, {"0::/a", {{"a/pids.max", "5"}}, 1}, NO_GROUP},
    {ask_why_as_root, {"0::/a", {{"a/pids.current", "5"}}, 1}, NO_GROUP},
    {ask_why_as_root,
     {"0::/a", {{"a/pids.max", "2147483647"}, {"a/pids.current", "2147483647"}}, 1},
     NO_GROUP},
    {ask_why_as_nobody, {"0::/", {{NULL}}, 1}, "ulimit -u is 3000"},
    {ask_where, {"0::/a", {{"cgroup.controllers", "cpu"}, {"a/file", ""}}, 1}, "/sys/fs/cgroup/a"},
    {ask_where,
     {"1:cpu:/a\n0::/a", {{"unified/a/file", ""}, {"cpu/a/file", ""}}, 1},
     "/sys/fs/cgroup/unified/a"},
    {ask_where, {"0::/", {{"cgroup.controllers", "cpu"}}, 1}, "/sys/fs/cgroup"},
    {ask_where, {"0::/gone", {{"cgroup.controllers", "cpu"}}, 0}, ""},
    {ask_where, {"1:cpu:/a", {{"cgroup.controllers", "cpu"}, {"cpu/a/file", ""}}, 0}, ""},
    {ask_where_with_little_room, {"0::/a", {{"cgroup.controllers", "cpu"}, {"a/file", ""}}, 0}, ""},
};

static void groups_are_found(void **unused) {
  (void)unused;
  seen = shared_memory(sizeof *seen);
  for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
    int status;
    memset(seen, 0, sizeof *seen);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      be_in(&questions[i].row);
      questions[i].ask();
      _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE) skip();
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE) continue;
    check_case("%zu: %s", i, questions[i].row.group);
    CHECK_EQUAL(status, 0);
    CHECK_TEXT(seen->text, questions[i].text);
    CHECK_EQUAL(seen->found, questions[i].row.expected);
  }
  assert_checks();
}

/* Reasons that no group knows. */
static void refusals_are_explained(void **unused) {
  (void)unused;
  char text[128];
  os_thread_refusal(ENOMEM, text, sizeof text);
  CHECK_TEXT(text, "no memory");
  os_thread_refusal(EPERM, text, sizeof text);
  CHECK_TEXT(text, "a filter of system calls refuses threads: Operation not permitted");
  os_thread_refusal(ENOMEM, text, 4);
  CHECK_TEXT(text, "no ");
  assert_checks();
}

/* ---- files of /proc with numbers of the kernel's */

/* In a child. */
static void put_in_place(const char *path, const char *content) {
  static const char made[] = "/tmp/mltp-quota";
  if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(NO_NAMESPACE);
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) _exit(NO_NAMESPACE);
  if (mount("none", "/tmp", "tmpfs", 0, NULL) != 0) _exit(NO_NAMESPACE);
  write_file(made, content);
  if (mount(made, path, NULL, MS_BIND, NULL) != 0) _exit(NO_NAMESPACE);
}

static size_t max_mappings(void) { return (size_t)os_max_mappings(); }

static size_t task_count(void) { return (size_t)os_task_count(); }

#define FIELDS "4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19" /* before the number of threads */

static const struct number {
  const char *path, *content;
  size_t (*read)(void);
  size_t expected;
} numbers[] = {
    {"/proc/sys/vm/max_map_count", "1234\n", max_mappings, 1234},
    {"/proc/sys/vm/max_map_count", "", max_mappings, 65530}, /* the kernel's own default */
    {"/proc/sys/vm/max_map_count", "none\n", max_mappings, 65530},
    {"/proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 7 kB\nx: 5 kB\n", os_memory_available, 7168},
    {"/proc/meminfo", "MemTotal: 9 kB\nMemFree: 8 kB\n", os_memory_available, 0},
    {"/proc/self/stat", "1 (a) R " FIELDS " 7 21 22\n", task_count, 7},
    {"/proc/self/stat", "1 (a) R 2 (b) R " FIELDS " 7 21 22\n", task_count, 7},
    {"/proc/self/stat", "1 (a) R " FIELDS " 0 21 22\n", task_count, 1}, /* as qemu says */
    {"/proc/self/stat", "", task_count, 1},
};

static void the_kernels_numbers_are_read(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    int status;
    /* the emulator makes the file, and a sanitizer has a thread of its own */
    if ((EMULATED || THREAD_SANITIZED) && numbers[i].read == task_count) continue;
    pid_t child = fork();
    if (child == 0) {
      put_in_place(numbers[i].path, numbers[i].content);
      _exit(numbers[i].read() == numbers[i].expected ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE) skip();
    check_case("%s: '%s'", numbers[i].path, numbers[i].content);
    CHECK_EQUAL(status, 0);
  }
  assert_checks();
}

/* ---- what a kernel thread does; not every kernel tells it of its own accord */

static const struct task {
  const char *file, *content; /* with the number of futex(2) */
  enum os_task_state state;
  long call; /* 1: that of futex(2) */
  bool forever;
} tasks[] = {
    {"stat", "5 (a) S 1\n", OS_TASK_SLEEPS, 0, false},
    {"stat", "5 (a) D 1\n", OS_TASK_SLEEPS, 0, false},
    {"stat", "5 (a) R 1\n", OS_TASK_RUNS, 0, false},
    {"stat", "5 (a) S) R 1\n", OS_TASK_RUNS, 0, false},
    {"stat", "5 (a) R) S 1\n", OS_TASK_SLEEPS, 0, false},
    {"stat", "5 a S 1\n", OS_TASK_UNKNOWN, 0, false},
    {"stat", "5 (a)S S 1\n", OS_TASK_UNKNOWN, 0, false},
    {"syscall", "running\n", OS_TASK_RUNS, -1, false},
    {"syscall", "%d 0x7f00 0x80 0x0 0x0 0x0 0x0 0x1 0x2\n", OS_TASK_RUNS, 1, true},
    {"syscall", "%d 0x7f00 0x189 0x0 0x0 0x0 0x0 0x1 0x2\n", OS_TASK_RUNS, 1, true},
    {"syscall", "%d 0x7f00 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", OS_TASK_RUNS, 1, false},
    {"syscall", "%d 0x7f00 0x81 0x0 0x0 0x0 0x0 0x1 0x2\n", OS_TASK_RUNS, 1, false},
    {"syscall", "%d 0x7f00 0x80 0x0 0x7fff 0x0 0x0 0x1 0x2\n", OS_TASK_RUNS, 1, false},
    {"syscall", "%d 0x7f00 0x80 0x0\n", OS_TASK_RUNS, 1, false},
    {"syscall", "0 0x7f00 0x80 0x0 0x0 0x0 0x0 0x1 0x2\n", OS_TASK_RUNS, 0, false},
    {"status", "Name: a\n", OS_TASK_RUNS, 0, false},
};

/* In a child, which is its own first kernel thread. */
static void look_at_task(const struct task *row) {
  char path[64], content[128];
  uint64_t switches = 7;
  struct os_task self;
  os_task_self(&self);
  /* One wait to be counted: none is where the time of a sleep ends before the CPU is given away. */
  for (struct rusage usage = {.ru_nvcsw = 0}; usage.ru_nvcsw == 0; getrusage(RUSAGE_THREAD, &usage))
    usleep(1);
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)self.tid, row->file);
  snprintf(content, sizeof content, row->content, (int)SYS_futex);
  put_in_place(path, content);
  if (strcmp(row->file, "stat") == 0 && os_task_state(&self) != row->state) _exit(3);
  if (strcmp(row->file, "syscall") == 0 &&
      os_task_call(&self) != (row->call == 1 ? SYS_futex : row->call))
    _exit(4);
  if (os_task_waits_forever(&self, &switches) != row->forever) _exit(5);
  _exit((switches == 0) == (strcmp(row->file, "status") == 0) ? 0 : 6);
}

static void tasks_are_read(void **unused) {
  (void)unused;
  if (EMULATED) skip(); /* the emulator makes some of these files */
  for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) look_at_task(&tasks[i]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE) skip();
    check_case("%s: %s", tasks[i].file, tasks[i].content);
    CHECK_EQUAL(status, 0);
  }
  assert_checks();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quotas_bound_the_cpus),  cmocka_unit_test(groups_are_found),
      cmocka_unit_test(refusals_are_explained), cmocka_unit_test(the_kernels_numbers_are_read),
      cmocka_unit_test(tasks_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
