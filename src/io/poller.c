/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoll, and the delivery of what it reports.
 *
 * Relaxed: what is written while nobody else runs.
 */
#include "io/poller.h"

#include <errno.h>

#include "core/sched/poll.h"

static struct os_poller epoll = {-1, -1}; /* [const while there is a poller] */
static mt_ilock starting;
static pthread_t helper; /* [const] waits where there are no VPs */
static bool helper_runs; /* [init] */
static bool ends;        /* [atomic] */

/* ---- what the scheduler calls */

static void wait(struct mt_poll_batch *batch, uint64_t deadline) {
  int count = os_poller_wait(&epoll, batch->events, MT_POLL_EVENTS, deadline);
  batch->count = 0;
  for (int i = 0; i < count; i++)
    if (batch->events[i].data.u64 == OS_POLLER_WAKE) {
      if (deadline != 0) os_poller_reset(&epoll); /* it was meant for us */
    } else {
      batch->events[batch->count++] = batch->events[i];
    }
}

static void deliver(const struct mt_poll_batch *batch, struct mt_vp *here) {
  for (int i = 0; i < batch->count; i++)
    mt_io_changed((int)batch->events[i].data.u64, batch->events[i].events, here);
}

static void interrupt(void) { os_poller_interrupt(&epoll); }

static void stop(void) {
  if (helper_runs) {
    mt_store_relaxed(&ends, true);
    interrupt();
    os_thread_join(helper);
  }
  helper_runs = false;
  os_poller_free(&epoll);
  mt_io_forget_all(false);
}

static void forget(void) {
  helper_runs = false;
  starting = 0;
  os_poller_free(&epoll);
  mt_pool_forget();
  mt_io_forget_all(true);
}

static const struct mt_poller poller = {.wait = wait,
                                        .deliver = deliver,
                                        .interrupt = interrupt,
                                        .stop_tasks = mt_pool_stop,
                                        .stop = stop,
                                        .forget = forget};

/* ---- starting */

static void *help(void *unused) {
  os_signals_off();
  while (!mt_load_relaxed(&ends)) {
    struct mt_poll_batch batch;
    wait(&batch, MLTP_NEVER);
    deliver(&batch, NULL);
  }
  return unused;
}

static int start_helper(void) {
  struct os_affinity affinity = {0};
  mt_store_relaxed(&ends, false);
  int error = os_thread_start(&helper, &affinity, false, help, NULL);
  if (error != 0) return ENOMEM; /* EAGAIN would mean to try again */
  helper_runs = true;
  mt_add_relaxed(&mt_rt.poll.tasks, 1);
  return 0;
}

static int start(void) {
  int error = os_poller_make(&epoll);
  if (error != 0) return error;
  if (mt_vp_count() == 0) error = start_helper();
  if (error == 0)
    mt_poll_install(&poller);
  else
    os_poller_free(&epoll);
  return error;
}

int mt_io_start(void) {
  if (mt_likely(mt_poller() != NULL)) return 0;
  mt_ilock_lock(&starting);
  int error = mt_poller() != NULL ? 0 : start();
  mt_ilock_unlock(&starting);
  return error;
}

int mt_io_report(int fd) { return os_poller_add(&epoll, fd, (uint64_t)(unsigned)fd); }

void mt_io_report_no_more(int fd) { os_poller_remove(&epoll, fd); }
