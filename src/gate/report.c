/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/report.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "gate/layout.h"
#include "mltp/mltp.h"
#include "os/os.h"

void gt_thread_name(const struct gt_thread *t, char name[GT_NAME]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)t->tid);
  if (os_read_text(path, name, GT_NAME) != 0) snprintf(name, GT_NAME, "thread-%u", t->id);
  name[strcspn(name, "\t\n")] = '\0';
}

/* "worker+0x1f in program", or an address. */
static void describe_place(const void *at, char *text, size_t size) {
  Dl_info info;
  const char *file, *slash;
  if (at == NULL || dladdr(at, &info) == 0 || info.dli_fname == NULL) {
    snprintf(text, size, "%p", at);
    return;
  }
  file = info.dli_fname;
  slash = strrchr(file, '/');
  if (slash != NULL) file = slash + 1;
  const char *symbol = info.dli_sname != NULL ? info.dli_sname : "";
  const char *base = info.dli_sname != NULL ? info.dli_saddr : info.dli_fbase;
  snprintf(text, size, "%s+0x%tx in %s", symbol, (const char *)at - base, file);
}

static void describe_wait(const struct gt_thread *t, char *text, size_t size) {
  static const char *const kinds[] = {
      [GT_WHY_NOTHING] = "",
      [GT_WHY_MUTEX] = "waits for mutex",
      [GT_WHY_COND] = "waits for condition",
      [GT_WHY_SEM] = "waits for semaphore",
      [GT_WHY_BARRIER] = "waits at barrier",
      [GT_WHY_RDLOCK] = "waits to read, lock",
      [GT_WHY_WRLOCK] = "waits to write, lock",
      [GT_WHY_SPIN] = "waits for spin lock",
      [GT_WHY_ONCE] = "waits for once",
      [GT_WHY_WORD] = "waits for word",
      [GT_WHY_JOIN] = "waits for the end of thread",
      [GT_WHY_SLEEP] = "sleeps",
  };
  char object[100];
  if (t->state != GT_PARKED) {
    snprintf(text, size, "is in a call that blocks");
  } else if (t->why == GT_WHY_JOIN) {
    snprintf(text, size, "%s %u", kinds[t->why], ((const struct gt_thread *)t->key)->id);
  } else {
    describe_place(t->key, object, sizeof object);
    snprintf(text, size, "%s %s", kinds[t->why], object);
  }
}

/* ", which thread 2 holds" */
static void describe_holder(const struct gt_thread *t, char *text, size_t size) {
  text[0] = '\0';
  if (t->state != GT_PARKED || t->why != GT_WHY_MUTEX) return;
  pid_t owner = gt_mutex_owner(t->key);
  for (const struct gt_thread *of = gt_gate.all; of != NULL; of = of->later)
    if (of->tid == owner) snprintf(text, size, ", which thread %u holds", of->id);
}

static void list_threads(void) {
  for (unsigned id = 1; id <= gt_gate.ids; id++)
    for (const struct gt_thread *t = gt_gate.all; t != NULL; t = t->later) {
      char name[GT_NAME], wait[160], place[100], holder[40];
      if (t->id != id) continue;
      gt_thread_name(t, name);
      describe_wait(t, wait, sizeof wait);
      describe_holder(t, holder, sizeof holder);
      describe_place(t->at, place, sizeof place);
      mt_print(2, "mltp: thread %u '%s' %s%s, called from %s\n", id, name, wait, holder, place);
    }
}

void gt_report_deadlock(void) {
  for (const struct gt_thread *t = gt_gate.all; t != NULL; t = t->later)
    if (t->state != GT_PARKED) return;
  if (gt_gate.all == NULL || os_alarm_is_set()) return; /* the end; a handler may post */
  mt_message("deadlock: no thread can run: all %d wait for each other", gt_gate.threads);
  list_threads();
  mt_print_replay();
  os_flush_output();
  _exit(MLTP_EXIT_DEADLOCK);
}

void gt_report_livelock(uint64_t steps) {
  mt_message("livelock: %lu scheduling points (raise MLTP_STEPS_MAX if the program needs more)",
             (unsigned long)steps);
  mt_print_replay();
  os_flush_output();
  _exit(MLTP_EXIT_LIVELOCK);
}
