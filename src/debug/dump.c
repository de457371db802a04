/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump of all threads. It reads descriptors without locks: what runs
 * meanwhile may look inconsistent, and nothing it follows is ever unmapped.
 *
 * Relaxed: a snapshot; nothing follows from it.
 */
#include "debug/dump.h"

#include "base/log.h"
#include "core/descriptor.h"
#include "core/stack.h"
#include "core/thread.h"
#include "debug/backtrace.h"
#include "mltp/debug.h"
#include "sync/describe.h"

static const char *const kinds[] = {"unbound", "bound", "foreign", "idle"};

static const char *const states[] = {
    [MT_FREE] = "free",       [MT_READY] = "ready",   [MT_MAILED] = "ready",
    [MT_RUNNING] = "running", [MT_PARKED] = "parked", [MT_DONE] = "ended",
};

static const char *const reasons[] = {
    [MT_WHY_NOTHING] = "nothing",
    [MT_WHY_LOCK] = "lock",
    [MT_WHY_COND] = "condition",
    [MT_WHY_BARRIER] = "barrier",
    [MT_WHY_SEM] = "semaphore",
    [MT_WHY_CHANNEL] = "channel",
    [MT_WHY_LATCH] = "latch",
    [MT_WHY_WAITGROUP] = "wait group",
    [MT_WHY_ONCE] = "once",
    [MT_WHY_RDLOCK] = "lock to read",
    [MT_WHY_WRLOCK] = "lock to write",
    [MT_WHY_SELECT] = "select",
    [MT_WHY_JOIN] = "join of thread",
    [MT_WHY_JOIN_TIMED] = "join",
    [MT_WHY_SLEEP] = "sleep",
    [MT_WHY_FINALIZE] = "end of all other threads",
};

#define TEXTS(array) {(array), sizeof(array) / sizeof((array)[0])}
const struct mt_texts mt_kind_texts = TEXTS(kinds);
const struct mt_texts mt_state_texts = TEXTS(states);
const struct mt_texts mt_reason_texts = TEXTS(reasons);

struct dump {
  int fd;
  int backtraces_left;
  bool names;   /* of functions */
  uint32_t now; /* mt_clock() */
  int threads;
};

MT_NO_TSAN static void backtrace_of(struct dump *dump, const struct mltp_thread *t) {
  if (dump->backtraces_left <= 0) return;
  dump->backtraces_left--;
  const struct mt_stack *stack = t->stack;
  const char *low = stack != NULL ? stack->low : t->stack_low;
  size_t size = stack != NULL ? (size_t)1 << stack->class_log2 : t->stack_size;
  mt_backtrace(dump->fd, t->context.ip, t->context.bp, low, size, dump->names);
}

/* A bound or foreign thread has read the clock when it parked, an unbound one knows
 * when its VP last did: it may have parked later. */
MT_NO_TSAN static void tell_how_long(const struct dump *dump, const struct mltp_thread *t) {
  uint32_t clock = dump->now - mt_load_relaxed(&t->parked_at);
  uint64_t ms = ((uint64_t)clock << MT_CLOCK_SHIFT) / 1000000;
  mt_print(dump->fd, ", for %s%lu.%lu s", t->vp != NULL ? "at most " : "",
           (unsigned long)(ms / 1000), (unsigned long)(ms % 1000 / 100));
}

MT_NO_TSAN static void dump_thread(struct mltp_thread *t, void *arg) {
  struct dump *dump = arg;
  int fd = dump->fd;
  uint32_t where = mt_load_relaxed(&t->where);
  uint32_t vp = where >> MT_STATE_BITS;
  dump->threads++;
  mt_print(fd, "  thread %lu '%s' (%s): ", (unsigned long)t->id, mt_name(t), kinds[t->kind]);
  bool unbound = t->kind == MT_UNBOUND;
  switch (mt_state(t)) {
    case MT_READY:
    case MT_MAILED:
      mt_print(fd, "%s on VP %u\n", t->special & MT_FRESH ? "not started, ready" : "ready", vp);
      if (!(t->special & MT_FRESH)) backtrace_of(dump, t);
      break;
    case MT_RUNNING:
      if (mt_load_relaxed(&t->why) != MT_WHY_NOTHING) {
        mt_print(fd, "waits for ");
        mt_describe_wait(fd, t); /* in the kernel: a semaphore lock */
        mt_print(fd, ", VP %u and all\n", vp);
      } else if (unbound)
        mt_print(fd, "runs on VP %u\n", vp);
      else
        mt_print(fd, "runs\n");
      break;
    case MT_PARKED:
      mt_print(fd, "waits for ");
      mt_describe_wait(fd, t);
      tell_how_long(dump, t);
      if (unbound) mt_print(fd, ", last on VP %u", vp);
      mt_print(fd, "\n");
      if (unbound) backtrace_of(dump, t);
      break;
    case MT_DONE: mt_print(fd, "ended, not joined yet\n"); break;
    case MT_FREE: break;
  }
}

void mt_dump(int fd, int most, bool names) {
  struct dump dump = {.fd = fd, .backtraces_left = most, .names = names, .now = mt_clock(os_now())};
  mt_descriptors_visit(dump_thread, &dump);
  mt_print(fd, "  %d threads; %d VPs, %d awake%s\n", dump.threads,
           (int)mt_load_relaxed(&mt_rt.vp_count), mt_load_relaxed(&mt_rt.awake),
           dump.backtraces_left > 0 ? "" : "; further backtraces are left out");
}

void mltp_dump(int fd) {
  mt_print(fd, "mltp: all threads:\n");
  mt_dump(fd, 1000, true);
}
