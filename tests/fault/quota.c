/* SPDX-License-Identifier: Apache-2.0 */
/* CPU quotas of control groups, version 1 and 2, in a mount namespace of the test's own, in which
 * /sys/fs/cgroup and /proc/self/cgroup say what a row of the table says; and other numbers of the
 * kernel's. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "support/support.h"

enum { FILES = 4, NO_NAMESPACE = 77, MANY = 1000 /* more CPUs than there are */ };

static const struct row {
  const char *group; /* a line of /proc/self/cgroup */
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
};

static void the_kernels_numbers_are_read(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    int status;
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quotas_bound_the_cpus),
      cmocka_unit_test(the_kernels_numbers_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
