/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump of all threads. It takes no lock and stops nobody: it prints copies
 * (base/peek.h), and what was found behind a copied pointer only if the thread has
 * not moved on since. So what it says may be out of date; it comes to its end
 * whatever the threads do (docs/design/009).
 *
 * Relaxed: a snapshot; nothing follows from it.
 */
#include "debug/dump.h"

#include "base/log.h"
#include "base/peek.h"
#include "core/memory/descriptor.h"
#include "core/memory/stack.h"
#include "core/vp/blocked.h"
#include "core/vp/vp.h"
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
    [MT_WHY_MESSAGE] = "message",
    [MT_WHY_SWITCH] = "message",
    [MT_WHY_IO] = "descriptor",
    [MT_WHY_AWAIT] = "word",
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

/* Prints where an unbound thread that does not run will continue. */
static void backtrace_of(struct dump *dump, const struct mltp_thread *copy,
                         const struct mltp_thread *t) {
  struct mt_backtrace b;
  const char *low;
  size_t size;
  if (dump->backtraces_left <= 0) return;
  dump->backtraces_left--;
  if (copy->stack != NULL) {
    struct mt_stack stack;
    if (!mt_peek(&stack, copy->stack, sizeof stack) || stack.class_log2 > MT_STACK_CLASS_MAX)
      return;
    low = stack.low;
    size = mt_stack_size(&stack);
  } else { /* main */
    mt_native_stack(copy, &low, &size);
  }
  mt_backtrace_take(&b, copy->context.ip, copy->context.bp, low, size);
  if (mt_descriptor_unchanged(copy, t))
    mt_backtrace_print(&b, dump->fd, dump->names);
  else
    mt_print(dump->fd, "    it has moved on since\n");
}

/* A bound or foreign thread has read the clock when it parked, an unbound one knows
 * when its VP last did: it may have parked later. */
static void print_duration(const struct dump *dump, const struct mltp_thread *t) {
  uint32_t clock = dump->now - t->parked_at;
  uint64_t ms = ((uint64_t)clock << MT_CLOCK_SHIFT) / 1000000;
  mt_print(dump->fd, ", for %s%lu.%lu s", t->vp != NULL ? "at most " : "",
           (unsigned long)(ms / 1000), (unsigned long)(ms % 1000 / 100));
}

static void print_wait(int fd, const struct mltp_thread *copy, const struct mltp_thread *t) {
  char text[MT_WAIT_TEXT_MAX];
  mt_describe_wait(text, copy, t);
  mt_print(fd, "waits for %s", text);
}

static void print_name(int fd, const struct mltp_thread *t) {
  char name[MT_NAME_MAX];
  mt_print(fd, "  thread %lu '%s' (%s): ", (unsigned long)t->id, mt_peek_name(name, mt_name(t)),
           kinds[t->kind]);
}

/* A thread that runs, as far as its VP knows. */
static void print_running(int fd, const struct mltp_thread *copy, uint32_t vp) {
  char call[64];
  uint64_t ns;
  if (!mt_blocks_in(call, sizeof call, &ns, copy)) {
    mt_print(fd, "runs on VP %u\n", vp);
    return;
  }
  mt_print(fd, "blocks VP %u in %s", vp, call);
  uint64_t ms = ns / 1000000;
  if (ms != 0)
    mt_print(fd, ", for %lu.%lu s", (unsigned long)(ms / 1000), (unsigned long)(ms % 1000 / 100));
  mt_print(fd, "\n");
}

static void dump_thread(const struct mltp_thread *t, void *arg) {
  struct dump *dump = arg;
  int fd = dump->fd;
  struct mltp_thread copy;
  if (!mt_descriptor_peek(&copy, t)) return;
  uint32_t vp = (uint32_t)copy.where >> MT_STATE_BITS;
  bool unbound = copy.kind == MT_UNBOUND;
  dump->threads++;
  print_name(fd, &copy);
  switch (mt_state(&copy)) {
    case MT_READY:
    case MT_MAILED:
      mt_print(fd, "%s on VP %u\n", copy.special & MT_FRESH ? "not started, ready" : "ready", vp);
      if (!(copy.special & MT_FRESH)) backtrace_of(dump, &copy, t);
      break;
    case MT_RUNNING:
      if (copy.why != MT_WHY_NOTHING) {
        print_wait(fd, &copy, t); /* in the kernel: a semaphore lock */
        mt_print(fd, ", VP %u and all\n", vp);
      } else if (unbound)
        print_running(fd, &copy, vp);
      else
        mt_print(fd, "runs\n");
      break;
    case MT_PARKED:
      print_wait(fd, &copy, t);
      print_duration(dump, &copy);
      if (unbound) mt_print(fd, ", last on VP %u", vp);
      mt_print(fd, "\n");
      if (unbound) backtrace_of(dump, &copy, t);
      break;
    case MT_DONE: mt_print(fd, "ended, not joined yet\n"); break;
    case MT_FREE: break;
  }
}

void mt_dump(int fd, int most, bool names) {
  struct dump dump = {.fd = fd, .backtraces_left = most, .names = names, .now = mt_clock(os_now())};
  mt_descriptors_visit(dump_thread, &dump);
  mt_print(fd, "  %d threads; %d VPs, %d awake%s\n", dump.threads,
           (int)mt_load_relaxed(&mt_rt.vp_count), mt_load_relaxed(&mt_rt.idle.awake),
           dump.backtraces_left > 0 ? "" : "; further backtraces are left out");
}

void mltp_dump(int fd) {
  mt_print(fd, "mltp: all threads:\n");
  mt_dump(fd, 1000, true);
}
