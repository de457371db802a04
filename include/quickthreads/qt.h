/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file qt.h
 * The interface of QuickThreads (D. Keppel, *Tools and Techniques for Building Fast Portable
 * Threads Packages*, UWCSE 93-05-06) on MLTP's switch, for programs that were written to it.
 *
 * A thread is a stack, which the program allocates, and while it does not run it is named by a
 * qt_t *. A program makes one with QT_SP() and QT_ARGS() or QT_VARGS(), and resumes one with
 * QT_BLOCK(), QT_BLOCKI() or QT_ABORT(). Queues and all else are the program's.
 *
 * The names come as QT_ and, as in SystemC, as QUICKTHREADS_. mltp-qt(7) says what each does.
 * Nothing here depends on libmltp's runtime.
 *
 * What is different from QuickThreads: which words of a stack hold what (QT_SPUT and the
 * QT_..._INDEX are not there); errors print a message before the program is aborted.
 */
#ifndef MLTP_QT_H
#define MLTP_QT_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A thread that does not run; the address is within its stack. */
typedef struct qt_t qt_t;

/** A word of a stack. */
typedef unsigned long qt_word_t;

/** What the program wants to run as a thread, with one argument. */
typedef void *(qt_userf_t)(void *pu);

/** The same, with any arguments. */
typedef void *(qt_vuserf_t)(int arg0, ...);

/** Runs first on a stack made by QT_ARGS(), calls userf, and may not return. */
typedef void(qt_only_t)(void *pu, void *pt, qt_userf_t *userf);

/** Run before and after the function of a stack made by QT_VARGS(); cleanup may not return. */
typedef void(qt_startup_t)(void *pt);
typedef void(qt_cleanup_t)(void *pt, void *vuserf_return);

/** Runs on the stack of the thread that is resumed, after the one before was suspended as old.
 * What it returns is what the resumed thread's QT_BLOCK() returns. */
typedef void *(qt_helper_t)(qt_t *old, void *a0, void *a1);

/** What a stack's first address and size must be multiples of. */
#define QT_STKALIGN 16

/** Rounds a stack's size up. */
#define QT_STKROUNDUP(bytes) (((bytes) + QT_STKALIGN - 1) & ~(QT_STKALIGN - 1))

/** Bytes that QT_ARGS() and QT_VARGS() take from a stack, beside what the functions need. */
#define QT_STKBASE 256
#define QT_VSTKBASE 640

/** Most bytes of arguments that QT_VARGS() copies. */
#define QT_VARGS_MAX 256

/** Stacks grow down. */
#define QT_GROW_DOWN 1
#define QT_GROW_DOWNWARD 1

/** The empty stack in [sto, sto + size). */
#define QT_SP(sto, size) ((qt_t *)(void *)((char *)(sto) + (size)))

/** Makes only(pu, pt, userf) run on an empty stack. Evaluates to the thread. */
#define QT_ARGS(sp, pu, pt, userf, only)                                                           \
  (mltp_qt_args((sp), (pu), (pt), (qt_userf_t *)(userf), (qt_only_t *)(only)))

/** Makes startup(pt), vuserf(arguments ...), cleanup(pt, result) run on an empty stack.
 * vargs: a va_list that was just started; nbytes: of its arguments, each rounded up to 8. They
 * are integers, pointers or doubles, at most 8 of them doubles. Evaluates to the thread. */
#define QT_VARGS(sp, nbytes, vargs, pt, startup, vuserf, cleanup)                                  \
  (mltp_qt_vargs((sp), (nbytes), (vargs), (pt), (qt_startup_t *)(startup),                         \
                 (qt_vuserf_t *)(vuserf), (qt_cleanup_t *)(cleanup)))

/** Suspends the caller, resumes newthread, and calls helper there. Evaluates to what the helper
 * returned that the resumer of the caller gave. */
#define QT_BLOCK(helper, a0, a1, newthread)                                                        \
  (mltp_qt_block((qt_helper_t *)(helper), (a0), (a1), (newthread)))

/** The same for a caller without floating-point values in registers. Here there is nothing to
 * save by that. */
#define QT_BLOCKI(helper, a0, a1, newthread) QT_BLOCK(helper, a0, a1, newthread)

/** The same, and the caller never runs again; the helper may free its stack. */
#define QT_ABORT(helper, a0, a1, newthread)                                                        \
  (mltp_qt_abort((qt_helper_t *)(helper), (a0), (a1), (newthread)))

#define QUICKTHREADS_STKALIGN QT_STKALIGN
#define QUICKTHREADS_STKROUNDUP QT_STKROUNDUP
#define QUICKTHREADS_STKBASE QT_STKBASE
#define QUICKTHREADS_VSTKBASE QT_VSTKBASE
#define QUICKTHREADS_GROW_DOWN QT_GROW_DOWN
#define QUICKTHREADS_SP QT_SP
#define QUICKTHREADS_ARGS QT_ARGS
#define QUICKTHREADS_VARGS QT_VARGS
#define QUICKTHREADS_BLOCK QT_BLOCK
#define QUICKTHREADS_BLOCKI QT_BLOCKI
#define QUICKTHREADS_ABORT QT_ABORT

/** What the macros call. Programs do not.
 * Blocks: never in the kernel. Context: any kernel thread, one at a time for each stack. */
#define MLTP_QT_API __attribute__((visibility("default")))
MLTP_QT_API qt_t *mltp_qt_args(qt_t *sp, void *pu, void *pt, qt_userf_t *userf, qt_only_t *only);
MLTP_QT_API qt_t *mltp_qt_vargs(qt_t *sp, int nbytes, va_list vargs, void *pt,
                                qt_startup_t *startup, qt_vuserf_t *vuserf, qt_cleanup_t *cleanup);
MLTP_QT_API void *mltp_qt_block(qt_helper_t *helper, void *a0, void *a1, qt_t *newthread);
MLTP_QT_API void mltp_qt_abort(qt_helper_t *helper, void *a0, void *a1, qt_t *newthread)
    __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
