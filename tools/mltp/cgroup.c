/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mltp run --cgroup: for programs that have nothing else to adjust. The kernel holds the program's
 * group, with all its children, to the CPU time of as many CPUs as mltpd grants; a program that is
 * granted all has no limit.
 *
 * The demand is what the group used since the last look. A group that used nearly all it may have
 * could use more, so it asks for twice that.
 *
 * The kernel gives a group's controllers to groups inside it only while no process is in the group
 * itself. So where the group is our own, this process moves into one beside the program's.
 */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coord/client.h"
#include "message.h"
#include "os/cgroup.h"
#include "os/os.h"
#include "supervise.h"

enum {
  LOOK_MS = 50,
  PERIOD_US = 10000, /* the shortest pause that is worth a switch; the kernel's least is 1,000 */
  SETTLE_LOOKS = 20  /* looks at a group that ended, until the kernel lets it go */
};

static struct {
  char folder[PATH_MAX]; /* the program's group */
  char own[PATH_MAX];    /* the group that this process was in; empty: the user named another */
  char aside[PATH_MAX];  /* the group that it moved to from there */
  bool enabled;          /* groups in our own have had the controller only since then */
  unsigned most;         /* CPUs that the program may use when it is alone */
  unsigned limit;        /* as it stands in cpu.max; most: no limit */
  uint64_t used_us, looked_at;
} group;

/* ---- files of a group */

/* @return 0, or an errno value. */
static int write_file(const char *folder, const char *name, const char *text) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  int error = write(file, text, strlen(text)) < 0 ? errno : 0;
  close(file);
  return error;
}

static int set_limit(unsigned cpus) {
  char text[48];
  if (cpus >= group.most)
    snprintf(text, sizeof text, "max %d", PERIOD_US);
  else
    snprintf(text, sizeof text, "%lld %d", (long long)cpus * PERIOD_US, PERIOD_US);
  int error = write_file(group.folder, "cpu.max", text);
  if (error == 0) group.limit = cpus < group.most ? cpus : group.most;
  return error;
}

/* The first line of cpu.stat is "usage_usec N". */
static uint64_t read_used(void) {
  char path[PATH_MAX + 32], text[1024];
  unsigned long long used = 0;
  snprintf(path, sizeof path, "%s/cpu.stat", group.folder);
  if (os_read_text(path, text, sizeof text) != 0 || sscanf(text, "usage_usec %llu", &used) != 1)
    return group.used_us;
  return used;
}

/* ---- making the group */

static bool make(const char *parent, const char *name, char *folder) {
  int length = snprintf(folder, PATH_MAX, "%s/%s-%ld", parent, name, (long)getpid());
  int error = length >= PATH_MAX ? ENAMETOOLONG : mkdir(folder, 0755) != 0 ? errno : 0;
  if (error == 0) return true;
  message(
      "cannot make a control group in %s: %s (name a group that you may write by "
      "--cgroup=FOLDER, or begin with: systemd-run --user --scope -p Delegate=yes)",
      parent, strerror(error));
  return false;
}

/* @return whether groups inside a group have the controller for CPU time. */
static bool is_enabled(const char *parent) {
  char path[PATH_MAX + 32], text[1024], *rest = text, *word;
  snprintf(path, sizeof path, "%s/cgroup.subtree_control", parent);
  if (os_read_text(path, text, sizeof text) != 0) return false;
  while ((word = strsep(&rest, " \n")) != NULL)
    if (strcmp(word, "cpu") == 0) return true;
  return false;
}

/* @return false after a message. */
static bool enable(const char *parent) {
  if (is_enabled(parent)) return true;
  group.enabled = true;
  int error = write_file(parent, "cgroup.subtree_control", "+cpu");
  if (error == 0) return true;
  message("%s cannot limit CPU time: %s (%s)", parent, strerror(error),
          error == EBUSY
              ? "other processes are in this group: begin with systemd-run --user --scope "
                "-p Delegate=yes"
          : error == ENOENT
              ? "it is no group of version 2, or the controller cpu is not delegated to it"
              : "it has to be a control group that you may write");
  return false;
}

/* @return false after a message. */
static bool move_aside(void) {
  if (!os_cgroup_unified(group.own, sizeof group.own)) {
    message("there are no control groups of version 2 here (run the program without --cgroup)");
    return false;
  }
  if (!make(group.own, "mltp-run", group.aside)) return false;
  int error = write_file(group.aside, "cgroup.procs", "0");
  if (error != 0) message("cannot move to %s: %s", group.aside, strerror(error));
  return error == 0;
}

/* The group's processes may come back when no group inside it has its controllers. */
static void move_back(void) {
  if (*group.own == '\0') return;
  if (group.enabled) write_file(group.own, "cgroup.subtree_control", "-cpu");
  write_file(group.own, "cgroup.procs", "0");
  rmdir(group.aside);
}

/* @return false after a message. */
static bool prepare(const char *parent) {
  if (parent == NULL && !move_aside()) return false;
  if (parent == NULL) parent = group.own;
  return enable(parent) && make(parent, "mltp-program", group.folder);
}

static int enter(void) {
  int error = write_file(group.folder, "cgroup.procs", "0");
  if (error != 0) message("cannot enter %s: %s", group.folder, strerror(error));
  return error;
}

/* Processes that the program left behind keep the group, and have no limit. */
static void leave(void) {
  set_limit(group.most);
  for (int looks = 0; rmdir(group.folder) != 0 && errno == EBUSY && looks < SETTLE_LOOKS; looks++)
    usleep(1000);
  move_back();
}

/* ---- the grant */

static uint32_t demand_of(double used) {
  uint32_t running = (uint32_t)used + 1;
  if (used > .9 * group.limit) running = 2 * group.limit;
  return running < group.most ? running : group.most;
}

static void look(void) {
  static bool failed;
  uint64_t now = os_now(), used_us = read_used(), passed_us = (now - group.looked_at) / 1000;
  if (passed_us == 0) return;
  double used = (double)(used_us - group.used_us) / (double)passed_us;
  group.used_us = used_us;
  group.looked_at = now;
  uint32_t demand = demand_of(used);
  if (mt_client_report(demand < group.limit ? demand : group.limit, demand)) mt_client_ring();
  mt_client_look(now);
  uint32_t grant = mt_client_follow();
  if (grant > group.most) grant = group.most;
  int error = grant != group.limit ? set_limit(grant) : 0;
  if (error != 0 && !failed)
    message("cannot change %s/cpu.max: %s (the program keeps its limit)", group.folder,
            strerror(error));
  failed = error != 0;
}

int cgroup_run(char **words, const char *where, const char *parent) {
  group.most = group.limit = (unsigned)os_cpus();
  if (!prepare(parent)) {
    move_back();
    return EXIT_FAILED;
  }
  group.looked_at = os_now();
  supervise_join(where, MT_PROTO_GROUP, group.most);
  setenv("MLTP_COORDINATOR", "off", 1); /* the group takes part, so no program in it does */
  int status = supervise(words, enter, look, LOOK_MS);
  mt_client_leave();
  leave();
  return status;
}
