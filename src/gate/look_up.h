/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file look_up.h
 * dlsym() and dlvsym(). A program that asks a handle of libc for a function gets libc's, which
 * knows nothing of threads that wait in the lot: a thread would wait there forever after a signal
 * by libc's pthread_cond_signal(). Runtimes of languages find functions so. They get the gate's.
 *
 * Only where the gate's function calls the one that was found, and not where a library asks by
 * RTLD_NEXT for a name that it has itself: it stands before libc, too, and the gate's function
 * calls that of the library.
 */
#ifndef MT_GATE_LOOK_UP_H
#define MT_GATE_LOOK_UP_H

/** Any function. */
typedef void gt_any(void);

/** @return the function that answers dlsym() or dlvsym() with these arguments: libc's, where the
 * answer depends on its caller. at: in the code that asks. */
gt_any *gt_answer(void *handle, const char *name, const char *none, const void *at);
gt_any *gt_answer_version(void *handle, const char *name, const char *version, const void *at);

/** @return libc's function of a name, without dlsym(); NULL: it has none. */
gt_any *gt_libc_function(const char *name);

#endif
