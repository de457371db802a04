/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what was printed before the process is ended early. A rank may hold a stream for as long
 * as nobody writes what it reads, or reads what it writes; so a kernel thread flushes, and the end
 * does not wait for it for longer than WAIT.
 */
#include <stdio.h>

#include "base/atomic.h"
#include "os/os.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"

enum { STACK_SIZE = 1 << 18, WAIT_NS = 500000000 };

static uint32_t flushed; /* [atomic] futex */

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
