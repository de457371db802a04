/* SPDX-License-Identifier: Apache-2.0 */
/* The instance of epoll: what is made, waited for and delivered (src/io/poller.c). The kernel and
 * other files only note what is asked of them. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "io/poller.c"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/noted.h"
#include "support/support.h"

/* ---- the kernel */

static struct {
  int make_error, start_error, add_error, count;
  struct epoll_event events[4]; /* the next wait finds these */
} kernel;

int __wrap_os_poller_make(struct os_poller *p);
int __wrap_os_poller_make(struct os_poller *p) {
  CHECK(p == &epoll);
  note("make");
  return kernel.make_error;
}

void __wrap_os_poller_free(struct os_poller *p);
void __wrap_os_poller_free(struct os_poller *p) {
  CHECK(p == &epoll);
  note("free");
}

int __wrap_os_poller_add(const struct os_poller *p, int fd, uint64_t data);
int __wrap_os_poller_add(const struct os_poller *p, int fd, uint64_t data) {
  CHECK(p == &epoll && data == (uint64_t)fd);
  note("add:%d", fd);
  return kernel.add_error;
}

void __wrap_os_poller_remove(const struct os_poller *p, int fd);
void __wrap_os_poller_remove(const struct os_poller *p, int fd) {
  CHECK(p == &epoll);
  note("remove:%d", fd);
}

int __wrap_os_poller_wait(const struct os_poller *p, struct epoll_event *events, int most,
                          uint64_t deadline);
int __wrap_os_poller_wait(const struct os_poller *p, struct epoll_event *events, int most,
                          uint64_t deadline) {
  CHECK(p == &epoll && most == MT_POLL_EVENTS);
  if (deadline == MLTP_NEVER)
    note("wait");
  else
    note("wait:%d", (int)deadline);
  memcpy(events, kernel.events, sizeof kernel.events);
  return kernel.count;
}

void __wrap_os_poller_reset(const struct os_poller *p);
void __wrap_os_poller_reset(const struct os_poller *p) {
  CHECK(p == &epoll);
  note("reset");
}

void __wrap_os_poller_interrupt(const struct os_poller *p);
void __wrap_os_poller_interrupt(const struct os_poller *p) {
  CHECK(p == &epoll);
  note("interrupt");
}

static void *(*started)(void *);

int __wrap_os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                           void *(*func)(void *), void *arg);
int __wrap_os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                           void *(*func)(void *), void *arg) {
  CHECK(thread == &helper && affinity != NULL && !elsewhere && arg == NULL && !ends);
  started = func;
  note("start");
  return kernel.start_error;
}

void __wrap_os_thread_join(pthread_t thread);
void __wrap_os_thread_join(pthread_t thread) {
  CHECK(thread == helper && ends);
  note("join");
}

void __wrap_os_signals_off(void);
void __wrap_os_signals_off(void) { note("signals"); }

/* ---- other files */

static const struct mt_vp *delivered_to;

void __wrap_mt_io_changed(int fd, uint32_t events, struct mt_vp *here);
void __wrap_mt_io_changed(int fd, uint32_t events, struct mt_vp *here) {
  delivered_to = here;
  note("changed:%d:%u", fd, events);
  if (fd == 8) ends = true; /* it ends the helper */
}

void __wrap_mt_io_forget_all(bool child);
void __wrap_mt_io_forget_all(bool child) { note(child ? "forget:child" : "forget"); }

void __wrap_mt_pool_forget(void);
void __wrap_mt_pool_forget(void) { note("pool"); }

void __wrap_mt_poll_install(const struct mt_poller *made);
void __wrap_mt_poll_install(const struct mt_poller *made) {
  CHECK(made == &poller);
  mt_rt.poll.poller = made;
  note("install");
}

static void begin(uint32_t vps) {
  memset(&mt_rt, 0, sizeof mt_rt);
  memset(&kernel, 0, sizeof kernel);
  mt_rt.vp_count = vps;
  helper_runs = ends = false;
  started = NULL;
  trace[0] = '\0';
}

static void find_events(void) {
  kernel.count = 3;
  kernel.events[0] = (struct epoll_event){.events = 1, .data.u64 = 7};
  kernel.events[1] = (struct epoll_event){.events = 1, .data.u64 = OS_POLLER_WAKE};
  kernel.events[2] = (struct epoll_event){.events = 4, .data.u64 = 8};
}

/* ---- starting */

static void it_starts_with_the_first_wait(void) {
  begin(1);
  CHECK_EQUAL(mt_io_start(), 0);
  TRACE("make install");
  CHECK_EQUAL(mt_io_start(), 0);
  TRACE("");
  CHECK(starting == 0 && !helper_runs);
  begin(1);
  kernel.make_error = EMFILE;
  CHECK_EQUAL(mt_io_start(), EMFILE);
  TRACE("make");
  CHECK(mt_rt.poll.poller == NULL && starting == 0);
}

static void without_vps_a_helper_waits(void) {
  begin(0);
  ends = true; /* of an earlier runtime */
  CHECK_EQUAL(mt_io_start(), 0);
  TRACE("make start install");
  CHECK(helper_runs && started == help);
  CHECK_EQUAL(mt_rt.poll.tasks, 1);
  find_events();
  CHECK(help(&kernel) == &kernel);
  TRACE("signals wait reset changed:7:1 changed:8:4");
  CHECK(delivered_to == NULL);
  begin(0);
  kernel.start_error = EAGAIN;
  CHECK_EQUAL(mt_io_start(), ENOMEM);
  TRACE("make start free");
  CHECK(!helper_runs && mt_rt.poll.poller == NULL);
  CHECK_EQUAL(mt_rt.poll.tasks, 0);
}

/* ---- what the scheduler calls */

static void events_are_delivered(void) {
  static struct mt_vp vp;
  struct mt_poll_batch batch = {.count = 9};
  begin(1);
  find_events();
  poller.wait(&batch, 5);
  TRACE("wait:5 reset");
  CHECK(batch.count == 2 && batch.events[0].data.u64 == 7 && batch.events[1].data.u64 == 8 &&
        batch.events[1].events == 4);
  poller.deliver(&batch, &vp);
  TRACE("changed:7:1 changed:8:4");
  CHECK(delivered_to == &vp);
  poller.wait(&batch, 0); /* a look: the wake-up is for another */
  TRACE("wait:0");
  CHECK_EQUAL(batch.count, 2);
  kernel.count = 0;
  poller.wait(&batch, MLTP_NEVER);
  CHECK_EQUAL(batch.count, 0);
}

static void descriptors_are_added_and_removed(void) {
  begin(1);
  kernel.add_error = EPERM;
  CHECK_EQUAL(mt_io_report(9), EPERM);
  mt_io_report_no_more(9);
  poller.interrupt();
  TRACE("add:9 remove:9 interrupt");
}

static void it_ends_with_the_runtime(void) {
  begin(1);
  poller.stop();
  TRACE("free forget");
  begin(0);
  mt_io_start();
  trace[0] = '\0';
  poller.stop();
  TRACE("interrupt join free forget");
  CHECK(!helper_runs);
  helper_runs = true;
  starting = 1;
  poller.forget(); /* in a child of fork() */
  TRACE("free pool forget:child");
  CHECK(!helper_runs && starting == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(it_starts_with_the_first_wait), TEST_BARE(without_vps_a_helper_waits),
      TEST_BARE(events_are_delivered),          TEST_BARE(descriptors_are_added_and_removed),
      TEST_BARE(it_ends_with_the_runtime),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
