/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the functions by which a compiler's code runs the initialiser of a static variable once,
 * and pthread_once(). The C++ runtime and libc make a second caller wait in the kernel. That would
 * block its VP, perhaps the one on which the initialiser waits to continue. Here the caller parks.
 *
 * The state is in the program's word and means what libstdc++ and glibc mean by it, so code that is
 * bound to their functions may meet ours at one word. Beside it, a slot holds the thread that runs
 * the initialiser, and its waiters. The slot's lock covers the change of the word to "runs" and
 * back. So a caller that finds the word running either finds the slot, and parks, or the runner has
 * no slot: it is no thread of this library, another function's, or another word has the slot. Then
 * a kernel thread waits in the kernel, and a thread on a VP looks again from time to time.
 *
 * Rejected: to call the replaced functions. pthread_once() of glibc links a frame into its kernel
 * thread, which may be another one when the initialiser returns; a later longjmp() reads the frame.
 *
 * Relaxed: a slot's key, which its runner alone sets back; the word before a CAS.
 */
#include "core/life/initialise.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/log.h"
#include "core/vp/vp.h"
#include "core/wait/park.h"
#include "mltp/once.h"
#include "os/os.h"

/* The words of one kind of initialiser. */
struct words {
  uint32_t running; /* what the runner stores */
  uint32_t waited;  /* a bit that asks for a wake-up in the kernel; 0: there is always one */
  uint32_t done;
  uint32_t done_mask; /* the bits to compare with it */
};

static const struct words guards = {0x100, 0x10000, 1, 0xff}; /* libstdc++'s */
static const struct words flags = {1, 0, UINT32_MAX,
                                   UINT32_MAX};    /* libc++'s once_flag, half of it */
static struct words onces = {1, 0, 2, UINT32_MAX}; /* glibc's; [const after the first call] */

static bool is_done(uint32_t value, const struct words *kind) {
  return (value & kind->done_mask) == kind->done;
}

enum { SLOTS = 128, POLL_NS = 100000 };

struct slot {
  struct mt_undo undo;      /* first: mltp_exit() leaves the initialiser */
  uint32_t *key;            /* [atomic] the word; NULL: free. Changes under once.queue_.ilock_ */
  const struct words *kind; /* [owner] of the word */
  mltp_once_t once;         /* its runner and its waiters, as dumps know them */
};

static struct slot slots[SLOTS];

static struct slot *slot_of(const uint32_t *word) {
  return &slots[(uintptr_t)word / sizeof(uint64_t) * 2654435761u / (UINT32_MAX / SLOTS + 1u) %
                SLOTS];
}

/* glibc's word for "runs" counts the forks of the process. An initialiser reads it. */
static pthread_once_t probe = PTHREAD_ONCE_INIT;

/* In a child of fork(): the word for "runs" is another one, so words of the parent's are stale. */
void mt_initialise_forget(void) {
  memset(slots, 0, sizeof slots);
  probe = PTHREAD_ONCE_INIT;
}

/* ---- the end of an initialiser */

static void settle(uint32_t *word, const struct words *kind, uint32_t outcome) {
  struct slot *slot = slot_of(word);
  struct mltp_thread *waiters = NULL;
  bool mine = mt_load_relaxed(&slot->key) == word;
  if (mine) {
    mt_ilock_lock(&slot->once.queue_.ilock_);
    mt_store_relaxed(&slot->key, NULL);
    slot->once.runner_ = NULL;
    waiters = mt_waitq_take_all(&slot->once.queue_);
  }
  uint32_t old = mt_swap_acq_rel(word, outcome); /* IN-1 acq_rel: its work; pairs IN-2 IN-3 IN-4 */
  if (mine) mt_ilock_unlock(&slot->once.queue_.ilock_);
  if (kind->waited == 0 || old & kind->waited) os_futex_wake(word, INT32_MAX);
  mt_resume_chain(waiters);
}

static void undo(struct mt_undo *undo) {
  const struct slot *slot = (struct slot *)undo;
  settle(slot->key, slot->kind, 0);
}

/* The initialiser ends in its own frame. */
static void finish(uint32_t *word, const struct words *kind, uint32_t outcome) {
  struct slot *slot = slot_of(word);
  struct mltp_thread *self = mt_current();
  if (self != NULL && mt_load_relaxed(&slot->key) == word && slot->once.runner_ == self)
    mt_undo_pop(self, &slot->undo);
  settle(word, kind, outcome);
}

/* ---- its beginning */

/* What std::call_once() hands to pthread_once() lies in variables of the kernel thread, which
 * another caller may set while this one waits. */
struct handed {
  void *callable;
  void *call;
};

static void hand(struct handed *handed, bool back) {
  static const char *const names[] = {"_ZSt15__once_callable", "_ZSt11__once_call"};
  void **values[] = {&handed->callable, &handed->call};
  for (int i = 0; i < 2; i++) {
    void **variable = os_symbol(names[i]);
    if (variable == NULL) continue;
    if (back)
      *variable = *values[i];
    else
      *values[i] = *variable;
  }
}

static void refuse_recursion(const struct mltp_thread *self, const char *call, const void *word) {
  mt_misuse(EDEADLK, call, self->id, mt_name(self),
            "the initialiser of %p waits for its own end (do not use a variable while it is "
            "initialised)",
            word);
  abort(); /* there is no value to return */
}

/* The runner has no slot. */
static void wait_otherwise(const struct mltp_thread *self, uint32_t *word,
                           const struct words *kind) {
  uint32_t seen = kind->running;
  uint32_t waited = seen | kind->waited;
  if (self != NULL && self->vp != NULL) {
    mltp_sleep(POLL_NS);
    return;
  }
  /* relaxed: the caller looks again */
  if (waited != seen && !mt_cas_relaxed(word, &seen, waited) && seen != waited) return;
  os_futex_wait(word, waited, UINT64_MAX);
}

/* Under the slot's lock, if there is one. @return whether the caller runs the initialiser. */
static bool take(uint32_t *word, const struct words *kind) {
  uint32_t seen = mt_load_relaxed(word);
  /* An initialiser that ran in another process, of which this is a child: pthread_once() starts it
   * again. */
  bool stale = kind == &onces && !is_done(seen, kind) && seen != kind->running;
  if (seen != 0 && !stale) return false;
  return mt_cas_acquire(word, &seen, kind->running); /* IN-2 acquire: pairs IN-1 */
}

/* The caller has a descriptor. @return whether it runs the initialiser; false: look again. */
static bool begin_in_slot(struct mltp_thread *self, uint32_t *word, const struct words *kind,
                          const char *call) {
  struct slot *slot = slot_of(word);
  mltp_waitq_t *queue = &slot->once.queue_;
  mt_ilock_lock(&queue->ilock_);
  uint32_t *key = mt_load_relaxed(&slot->key);
  if (key == word) {
    if (slot->once.runner_ == self) {
      mt_ilock_unlock(&queue->ilock_);
      refuse_recursion(self, call, word);
    }
    mt_wait(self, queue, false, MT_WHY_ONCE, NULL);
    return false;
  }
  bool runs = take(word, kind);
  bool waits = !runs && mt_load_relaxed(word) != 0 && !is_done(mt_load_relaxed(word), kind);
  if (runs && key == NULL) {
    mt_store_relaxed(&slot->key, word);
    slot->once.runner_ = self;
    slot->kind = kind;
    slot->undo.run = undo;
    mt_undo_push(self, &slot->undo);
  }
  mt_ilock_unlock(&queue->ilock_);
  if (waits) wait_otherwise(self, word, kind);
  return runs;
}

/* @return whether the caller runs the initialiser; false: it has run. */
static bool begin(uint32_t *word, const struct words *kind, const char *call) {
  struct mltp_thread *self = mt_current();
  struct handed handed = {NULL, NULL};
  bool waited = false, runs = false;
  while (!runs && !is_done(mt_load_acquire(word), kind)) { /* IN-3 acquire: pairs IN-1 */
    if (kind == &onces && !waited) hand(&handed, false);
    waited = true;
    if (self != NULL)
      runs = begin_in_slot(self, word, kind, call);
    else if (!(runs = take(word, kind)))
      wait_otherwise(NULL, word, kind);
  }
  if (runs && kind == &onces) hand(&handed, true);
  return runs;
}

/* ---- static variables: the names and the word are of the C++ ABI for Itanium */

#define EXPORT __attribute__((visibility("default")))

int guard_acquire(uint64_t *guard) __asm__("__cxa_guard_acquire") EXPORT;
void guard_release(uint64_t *guard) __asm__("__cxa_guard_release") EXPORT;
void guard_abort(uint64_t *guard) __asm__("__cxa_guard_abort") EXPORT;

int guard_acquire(uint64_t *guard) {
  return begin((uint32_t *)guard, &guards, "__cxa_guard_acquire");
}

void guard_release(uint64_t *guard) { finish((uint32_t *)guard, &guards, guards.done); }

/* An exception leaves the initialiser: the next caller runs it again. */
void guard_abort(uint64_t *guard) { finish((uint32_t *)guard, &guards, 0); }

/* ---- pthread_once() */

static void read_probe(void) { onces.running = (uint32_t)probe; }

/* Each caller goes through libc's call: where another thread reads the word right now, it waits. */
static void learn_running(void) {
  static int (*next)(pthread_once_t *, void (*)(void)); /* [atomic] */
  int (*call)(pthread_once_t *, void (*)(void)) = mt_load_relaxed(&next);
  if (call == NULL) {
    *(void **)&call = os_next_symbol("pthread_once");
    mt_store_relaxed(&next, call); /* relaxed: every caller finds the same */
  }
  if (call != NULL) call(&probe, read_probe);
}

struct run {
  uint32_t *word;
  const struct words *kind;
  uint32_t outcome;
};

/* Also when a C++ exception passes, or the kernel thread is cancelled. */
static void leave(struct run *run) { finish(run->word, run->kind, run->outcome); }

EXPORT int pthread_once(pthread_once_t *once, void (*func)(void)) {
  uint32_t *word = (uint32_t *)once;
  if (mt_load_acquire(word) == onces.done) return 0; /* IN-4 acquire: as IN-3; pairs IN-1 */
  learn_running();
  if (!begin(word, &onces, "pthread_once")) return 0;
  struct run run __attribute__((cleanup(leave))) = {word, &onces, 0};
  func();
  run.outcome = onces.done;
  return 0;
}

/* ---- std::call_once() of libc++: std::__1::__call_once() */

void call_once(volatile unsigned long *flag, void *arg,
               void (*func)(void *)) __asm__("_ZNSt3__111__call_onceERVmPvPFvS2_E") EXPORT;

void call_once(volatile unsigned long *flag, void *arg, void (*func)(void *)) {
  uint32_t *word = (uint32_t *)flag;
  if (!begin(word, &flags, "std::call_once")) return;
  struct run run __attribute__((cleanup(leave))) = {word, &flags, 0};
  func(arg);
  /* Relaxed: before the first half. Callers compare the whole flag, and come here otherwise. */
  mt_store_relaxed(&word[1], UINT32_MAX);
  run.outcome = flags.done;
}
