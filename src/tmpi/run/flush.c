/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what was printed. A rank may hold a stream for as long as nobody writes what it reads, or
 * reads what it writes. fflush(NULL) waits for such a stream, and holds the list of all streams
 * meanwhile, so that no rank can open or close one.
 *
 * A rank flushes its own streams that no other thread holds; the others are flushed when the job
 * ends. Another rank may be writing to a stream of its own without a lock. When the process is
 * ended early, a kernel thread flushes all, and the end does not wait for it for longer than WAIT.
 *
 * A handler that ends the job may have interrupted libc where it holds a lock that
 * pthread_create() takes, and that code continues no more. So that kernel thread is made before the
 * first handler is installed, and sleeps.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdio_ext.h>

#include "base/atomic.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/run/output.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/process.h"

enum { STACK_SIZE = 1 << 18, WAIT_NS = 500000000 };

enum flusher { ABSENT, SLEEPS, WORKS };

static uint32_t flusher; /* [atomic] futex: enum flusher */
static uint32_t flushed; /* [atomic] futex: how often all was written */

/* Of glibc: the lock of the list of all streams, which its owner may take again. */
void _IO_list_lock(void);
void _IO_list_unlock(void);

/* @return the list, linked by _chain. A program that names this variable of glibc's gets a copy of
 * it from the linker, and the copy stays as it was at the start. */
static FILE *const *all_streams(void) {
  static FILE *const *list;                    /* [atomic] */
  FILE *const *found = mt_load_relaxed(&list); /* relaxed: the address alone */
  if (found == NULL) found = dlsym(RTLD_DEFAULT, "_IO_list_all");
  mt_store_relaxed(&list, found); /* relaxed: each caller finds the same */
  return found;
}

/* @return whether the calling rank prints on it, as far as that is known. */
static bool is_to_flush(FILE *stream) {
  return __fpending(stream) != 0 && !tm_owner_is_others_stream(stream);
}

/* @return the next stream to be flushed, locked; NULL: there is none. after: the last one; NULL:
 * all are still to be looked at. */
static FILE *take_next(const FILE *after) {
  FILE *const *list = all_streams();
  _IO_list_lock();
  FILE *first = list != NULL ? *list : NULL, *stream = first;
  while (after != NULL && stream != NULL && stream != after) stream = stream->_chain;
  stream = after != NULL && stream != NULL ? stream->_chain : first; /* first: `after` is closed */
  for (; stream != NULL; stream = stream->_chain) {
    if (ftrylockfile(stream) != 0) continue;
    if (is_to_flush(stream)) break;
    funlockfile(stream);
  }
  _IO_list_unlock();
  return stream;
}

/* A write to a full pipe waits for its reader, another rank maybe: that one may open and close
 * streams meanwhile. @return the first errno value; 0. */
static int flush_free(void) {
  int error = 0;
  for (FILE *stream = NULL; (stream = take_next(stream)) != NULL;) {
    if (fflush_unlocked(stream) != 0 && error == 0) error = errno;
    funlockfile(stream);
  }
  return error;
}

int tm_flush_free(void) {
  int out = fflush(stdout) != 0 ? errno : 0; /* another rank holds them for moments */
  int err = fflush(stderr) != 0 ? errno : 0, others = flush_free();
  if (out != 0) tm_output_flush_failed(out);
  errno = out != 0 ? out : err != 0 ? err : others;
  return errno == 0 ? 0 : EOF;
}

static void *flush_once(void *unused) {
  fflush(stdout); /* first: the others may wait */
  fflush(NULL);
  mt_add_acq_rel(&flushed, 1); /* FL-1 acq_rel: all is written; pairs FL-2 */
  os_futex_wake(&flushed, INT_MAX);
  return unused;
}

__attribute__((noreturn)) static void *flush_each_time(void *unused) {
  for (;;) {
    /* FL-4 acquire: what was printed; pairs FL-3 */
    while (mt_load_acquire(&flusher) == SLEEPS) os_futex_wait(&flusher, SLEEPS, UINT64_MAX);
    flush_once(unused);
    mt_store_relaxed(&flusher, SLEEPS); /* relaxed: FL-1 orders */
  }
}

/* Refused: tm_flush_all() tries again. */
void tm_flush_prepare(void) {
  static uint32_t begun;                     /* [atomic] */
  if (mt_or_relaxed(&begun, 1) != 0) return; /* relaxed: the first one prepares */
  mt_store_relaxed(&flusher, SLEEPS);        /* relaxed: the kernel orders it for the thread */
  if (os_thread_start_quiet(STACK_SIZE, flush_each_time, NULL) == 0)
    mti_add_bystanders(1);
  else
    mt_store_relaxed(&flusher, ABSENT); /* relaxed: a hint */
}

/* @return false: there is none, or it waits for a stream since the program has called abort(), say,
 * and continued. */
static bool wake_flusher(void) {
  uint32_t sleeps = SLEEPS;
  if (tm_process_is_child()) return false;
  /* FL-3 release: what was printed; pairs FL-4 */
  if (!mt_cas_release(&flusher, &sleeps, WORKS)) return false;
  os_futex_wake(&flusher, 1);
  return true;
}

void tm_flush_all(void) {
  uint64_t deadline = os_now() + WAIT_NS;
  uint32_t before = mt_load_relaxed(&flushed); /* relaxed: a count */
  if (wake_flusher() || os_thread_start_quiet(STACK_SIZE, flush_once, NULL) == 0)
    while (mt_load_acquire(&flushed) == before && /* FL-2 acquire: the same; pairs FL-1 */
           os_futex_wait(&flushed, before, deadline) == 0)
      continue;
  else if (ftrylockfile(stdout) == 0) {
    fflush_unlocked(stdout);
    funlockfile(stdout); /* the program may continue after abort() */
  }
  tm_output_end_all();
}
