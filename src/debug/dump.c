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
#include "core/vp/kernel_thread.h"
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
    [MT_WHY_STACK] = "memory for its stack",
};

#define TEXTS(array) {(array), sizeof(array) / sizeof((array)[0])}
const struct mt_texts mt_kind_texts = TEXTS(kinds);
const struct mt_texts mt_state_texts = TEXTS(states);
const struct mt_texts mt_reason_texts = TEXTS(reasons);

struct dump {
  struct mt_printer to;
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
  if (dump->names) mt_printer_flush(&dump->to); /* dladdr() may fault in a broken process */
  if (mt_descriptor_unchanged(copy, t))
    mt_backtrace_print(&b, &dump->to, dump->names);
  else
    mt_printer_add(&dump->to, "    it has moved on since\n");
}

/* A bound or foreign thread has read the clock when it parked, an unbound one knows
 * when its VP last did: it may have parked later. */
static void print_duration(struct dump *dump, const struct mltp_thread *t) {
  uint32_t clock = dump->now - t->parked_at;
  uint64_t ms = ((uint64_t)clock << MT_CLOCK_SHIFT) / 1000000;
  mt_printer_add(&dump->to, ", for %s%lu.%lu s", t->vp != NULL ? "at most " : "",
                 (unsigned long)(ms / 1000), (unsigned long)(ms % 1000 / 100));
}

static void print_wait(struct mt_printer *to, const struct mltp_thread *copy,
                       const struct mltp_thread *t) {
  char text[MT_WAIT_TEXT_MAX];
  mt_describe_wait(text, copy, t);
  mt_printer_add(to, "waits for %s", text);
}

static void print_name(struct mt_printer *to, const struct mltp_thread *t) {
  char name[MT_NAME_MAX];
  mt_printer_add(to, "  thread %lu '%s' (%s): ", (unsigned long)t->id,
                 mt_peek_name(name, mt_name(t)), kinds[t->kind]);
}

/* A thread that runs, as far as its VP knows. */
static void print_running(struct mt_printer *to, const struct mltp_thread *copy, uint32_t vp) {
  char call[64];
  uint64_t ns;
  if (!mt_blocks_in(call, sizeof call, &ns, copy)) {
    mt_printer_add(to, "runs on VP %u\n", vp);
    return;
  }
  mt_printer_add(to, "blocks VP %u in %s", vp, call);
  uint64_t ms = ns / 1000000;
  if (ms != 0)
    mt_printer_add(to, ", for %lu.%lu s", (unsigned long)(ms / 1000),
                   (unsigned long)(ms % 1000 / 100));
  mt_printer_add(to, "\n");
}

static void dump_thread(const struct mltp_thread *t, void *arg) {
  struct dump *dump = arg;
  struct mt_printer *to = &dump->to;
  struct mltp_thread copy;
  if (!mt_descriptor_peek(&copy, t)) return;
  uint32_t vp = (uint32_t)copy.where >> MT_STATE_BITS;
  bool unbound = copy.kind == MT_UNBOUND;
  dump->threads++;
  print_name(to, &copy);
  switch (mt_state(&copy)) {
    case MT_READY:
    case MT_MAILED:
      mt_printer_add(to, "%s on VP %u\n", copy.special & MT_FRESH ? "not started, ready" : "ready",
                     vp);
      if (!(copy.special & MT_FRESH)) backtrace_of(dump, &copy, t);
      break;
    case MT_RUNNING:
      if (copy.why != MT_WHY_NOTHING) {
        print_wait(to, &copy, t); /* in the kernel: a semaphore lock */
        mt_printer_add(to, " (blocks VP %u)\n", vp);
      } else if (unbound)
        print_running(to, &copy, vp);
      else
        mt_printer_add(to, "runs\n");
      break;
    case MT_PARKED:
      print_wait(to, &copy, t);
      if (!(copy.special & MT_FRESH)) print_duration(dump, &copy); /* else no time is kept */
      if (unbound) mt_printer_add(to, ", last on VP %u", vp);
      mt_printer_add(to, "\n");
      if (unbound && !(copy.special & MT_FRESH)) backtrace_of(dump, &copy, t);
      break;
    case MT_DONE: mt_printer_add(to, "ended, not joined yet\n"); break;
    case MT_FREE: break;
  }
}

/* One dump at a time has it; a dump beside it, or in a signal handler that interrupts it, writes
 * each line by itself. Not on the stack: a signal stack may be small. */
static char room[16384];
static bool room_taken; /* [atomic] */

void mt_dump(int fd, int most, bool names) {
  struct dump dump = {
      .to.fd = fd, .backtraces_left = most, .names = names, .now = mt_clock(os_now())};
  bool has_room = !mt_swap_acquire(&room_taken, true); /* DU-1 acquire: the room; pairs DU-2 */
  if (has_room) dump.to = (struct mt_printer){fd, room, sizeof room, 0};
  mt_descriptors_visit(dump_thread, &dump);
  mt_printer_add(&dump.to, "  %d threads; %d VPs, %d awake%s\n", dump.threads,
                 (int)mt_load_relaxed(&mt_rt.vp_count), mt_load_relaxed(&mt_rt.idle.awake),
                 dump.backtraces_left > 0 ? "" : "; further backtraces are left out");
  mt_printer_flush(&dump.to);
  if (!has_room) return;
  mt_store_release(&room_taken, false); /* DU-2 release: the room is free; pairs DU-1 */
}

void mltp_dump(int fd) {
  mt_print(fd, "mltp: all threads:\n");
  mt_dump(fd, 1000, true);
}
