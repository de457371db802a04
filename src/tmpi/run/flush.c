/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what was printed. A rank may hold a stream for as long as nobody writes what it reads, or
 * reads what it writes. fflush(NULL) waits for such a stream, and holds the list of all streams
 * meanwhile, so that no rank can open or close one.
 *
 * A rank flushes what no other thread holds: streams that another holds are that one's, or are
 * flushed when the job ends. When the process is ended early, a kernel thread flushes all, and the
 * end does not wait for it for longer than WAIT.
 */
#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>

#include "base/atomic.h"
#include "os/os.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"

enum { STACK_SIZE = 1 << 18, WAIT_NS = 500000000 };

static uint32_t flushed; /* [atomic] futex */

/* Of glibc: the list of all streams, linked by _chain, and its lock, which its owner may take
 * again. */
extern FILE *_IO_list_all;
void _IO_list_lock(void);
void _IO_list_unlock(void);

/* @return the first errno value; 0. */
static int flush_free(void) {
  int error = 0;
  _IO_list_lock();
  for (FILE *stream = _IO_list_all; stream != NULL; stream = stream->_chain) {
    if (ftrylockfile(stream) != 0) continue;
    if (__fpending(stream) != 0 && fflush_unlocked(stream) != 0 && error == 0) error = errno;
    funlockfile(stream);
  }
  _IO_list_unlock();
  return error;
}

int tm_flush_free(void) {
  int out = fflush(stdout) != 0 ? errno : 0; /* another rank holds them for moments */
  int err = fflush(stderr) != 0 ? errno : 0, others = flush_free();
  errno = out != 0 ? out : err != 0 ? err : others;
  return errno == 0 ? 0 : EOF;
}

static void *flush(void *unused) {
  os_signals_off();
  fflush(stdout); /* first: the others may wait */
  fflush(NULL);
  mt_store_release(&flushed, 1); /* FL-1 release: all is written; pairs FL-2 */
  os_futex_wake(&flushed, 1);
  return unused;
}

void tm_flush_all(void) {
  uint64_t deadline = os_now() + WAIT_NS;
  if (os_thread_start_detached(STACK_SIZE, flush, NULL) == 0)
    while (mt_load_acquire(&flushed) == 0 && /* FL-2 acquire: the same; pairs FL-1 */
           os_futex_wait(&flushed, 0, deadline) == 0)
      continue;
  else if (ftrylockfile(stdout) == 0)
    fflush_unlocked(stdout);
  tm_output_end_all();
}
