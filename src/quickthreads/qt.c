/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QuickThreads on our switch: include/quickthreads/qt.h, mltp-qt(7).
 *
 * A suspended thread is a struct suspended in the frame that suspended it, or at the top of a
 * fresh stack. Its resumer stores there the function to be called first on that stack.
 */
#include "quickthreads/qt.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "os/os.h"

struct suspended {
  struct arch_context context;
  qt_helper_t *helper; /* to call when it is resumed, with these: */
  struct suspended *old;
  void *a0, *a1;
};

struct single {
  struct suspended suspended;
  qt_only_t *only;
  void *pu, *pt;
  qt_userf_t *userf;
};

struct variable {
  struct suspended suspended;
  qt_startup_t *startup;
  void *pt;
  qt_vuserf_t *vuserf;
  qt_cleanup_t *cleanup;
  struct arch_vargs args;
};

/* What lies at the top of a fresh stack. */
struct fresh {
  enum { SINGLE, VARIABLE } kind;
  union {
    struct suspended suspended;
    struct single single;
    struct variable variable;
  };
};

_Static_assert(offsetof(struct fresh, single) + sizeof(struct single) + QT_STKALIGN <= QT_STKBASE,
               "QT_ARGS() takes more than QT_STKBASE");
_Static_assert(sizeof(struct fresh) + QT_STKALIGN <= QT_VSTKBASE,
               "QT_VARGS() takes more than QT_VSTKBASE");
_Static_assert(sizeof((struct arch_vargs){0}.stack) >= QT_VARGS_MAX, "QT_VARGS_MAX is too large");

/* The thread that the kernel thread switches to. A thread that starts knows only its stack. */
static __thread struct suspended *arriving;

static void __attribute__((noreturn)) fatal(const char *text) {
  os_write(2, text, strlen(text));
  abort();
}

static struct fresh *make(qt_t *sp, int kind, size_t size) {
  struct fresh *fresh = (struct fresh *)(((uintptr_t)sp - size) & ~(uintptr_t)(QT_STKALIGN - 1));
  fresh->kind = kind;
  mt_arch_context_init(&fresh->suspended.context, fresh);
  return fresh;
}

qt_t *mltp_qt_args(qt_t *sp, void *pu, void *pt, qt_userf_t *userf, qt_only_t *only) {
  struct fresh *fresh = make(sp, SINGLE, offsetof(struct fresh, single) + sizeof(struct single));
  fresh->single.only = only;
  fresh->single.pu = pu;
  fresh->single.pt = pt;
  fresh->single.userf = userf;
  return (qt_t *)&fresh->suspended;
}

qt_t *mltp_qt_vargs(qt_t *sp, int nbytes, va_list vargs, void *pt, qt_startup_t *startup,
                    qt_vuserf_t *vuserf, qt_cleanup_t *cleanup) {
  if (nbytes < 0 || nbytes > QT_VARGS_MAX)
    fatal("mltp-qt: QT_VARGS: more than 256 bytes of arguments (pass a pointer to them)\n");
  struct fresh *fresh = make(sp, VARIABLE, sizeof *fresh);
  fresh->variable.startup = startup;
  fresh->variable.pt = pt;
  fresh->variable.vuserf = vuserf;
  fresh->variable.cleanup = cleanup;
  mt_arch_capture(&fresh->variable.args, vargs, nbytes);
  return (qt_t *)&fresh->suspended;
}

/* Leaves word for the thread that is resumed. */
static inline void prepare(struct suspended *next, qt_helper_t *helper, struct suspended *old,
                           void *a0, void *a1) {
  next->helper = helper;
  next->old = old;
  next->a0 = a0;
  next->a1 = a1;
  arriving = next;
}

static inline void *help(const struct suspended *self) {
  /* its resumer has set this: NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
  return self->helper((qt_t *)self->old, self->a0, self->a1);
}

void *mltp_qt_block(qt_helper_t *helper, void *a0, void *a1, qt_t *newthread) {
  struct suspended here, *next = (struct suspended *)newthread;
  prepare(next, helper, &here, a0, a1);
  mt_arch_switch(&here.context, &next->context);
  return help(&here);
}

void mltp_qt_abort(qt_helper_t *helper, void *a0, void *a1, qt_t *newthread) {
  struct suspended here, *next = (struct suspended *)newthread;
  prepare(next, helper, &here, a0, a1);
  mt_arch_switch(&here.context, &next->context);
  fatal("mltp-qt: a thread runs again that has called QT_ABORT()\n");
}

void mt_thread_start(void) {
  struct suspended *self = arriving;
  struct fresh *fresh = (struct fresh *)((char *)self - offsetof(struct fresh, suspended));
  help(self);
  if (fresh->kind == SINGLE) {
    const struct single *single = &fresh->single;
    single->only(single->pu, single->pt, single->userf);
    fatal(
        "mltp-qt: the function given to QT_ARGS() as `only' has returned (end it with "
        "QT_ABORT())\n");
  }
  const struct variable *variable = &fresh->variable;
  variable->startup(variable->pt);
  void *result = mt_arch_vcall(variable->vuserf, &variable->args);
  variable->cleanup(variable->pt, result);
  fatal(
      "mltp-qt: the cleanup function given to QT_VARGS() has returned (end it with "
      "QT_ABORT())\n");
}
