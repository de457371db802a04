/* SPDX-License-Identifier: Apache-2.0 */
/* A wait leaves nothing behind, however it ends: neither in the descriptor of the thread, nor in
 * the object, nor in the heaps of timers, nor in the runtime's counts. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <mltp/io.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "core/life/end.h"
#include "core/thread/thread.h"
#include "core/timer/timer.h"
#include "core/vp/vp.h"
#include "support/support.h"
#include "sync/barrier.h"
#include "sync/channel.h"
#include "sync/rwlock.h"

#define SOON 1000000ull
#define LATE (3600ull * 1000 * 1000 * 1000)

/* What ends a wait. */
enum way { GIVEN, TIMED_OUT, CANCELLED, WAYS };
static const char *const ways[] = {"given", "timed out", "cancelled"};

static mltp_lock_t lock;
static mltp_cond_t cond;
static mltp_sem_t sem;
static mltp_latch_t latch;
static mltp_waitgroup_t group;
static mltp_barrier_t barrier;
static mltp_rwlock_t rwlock;
static mltp_channel_t *channels[2];
static mltp_once_t once;
static mltp_sem_t hold;
static mltp_t *other;
static uint32_t word;
static int ends[2];

/* ---- what there is to see */

static void check_queue(const mltp_waitq_t *queue) {
  CHECK(queue->head_ == NULL);
  CHECK(queue->tail_ == NULL);
  CHECK_EQUAL(queue->count_, 0);
  CHECK_EQUAL(queue->ilock_, 0);
}

/* Of the calling thread. Its joiner may have come. */
static void check_self(enum way way) {
  const struct mltp_thread *self = mt_current();
  CHECK_EQUAL(mt_state(self), MT_RUNNING);
  CHECK_EQUAL(mt_load_relaxed(&self->why), MT_WHY_NOTHING);
  CHECK(mt_load_relaxed(&self->waitq) == NULL);
  CHECK(mt_load_relaxed(&self->timer) == NULL);
  CHECK(self->undo == NULL);
  CHECK_EQUAL(self->special, 0);
  if (self->vp == NULL) CHECK_EQUAL(mt_load_relaxed(&self->token), 0);
  CHECK_EQUAL(mt_load_relaxed(&self->cancel), way == CANCELLED ? MT_CANCELLED : 0);
  mltp_uncancel();
  CHECK_EQUAL(mt_load_relaxed(&self->cancel), 0);
}

/* No thread waits with a deadline. */
static void check_timers(void) {
  for (uint32_t i = 0, count = mt_vp_count(); i < count; i++) {
    struct mt_vp_timers *timers = &mt_rt.vps[i]->timers;
    mt_ilock_lock(&timers->ilock);
    CHECK_EQUAL(timers->heap.count, 0);
    CHECK(timers->heap.root == NULL);
    CHECK_EQUAL(mt_load_relaxed(&timers->earliest), MLTP_NEVER);
    CHECK_EQUAL(mt_load_relaxed(&timers->batch) % 2, 0);
    mt_ilock_unlock(&timers->ilock);
  }
  CHECK_EQUAL(mt_timers_earliest(), MLTP_NEVER);
  CHECK_EQUAL(mt_rt.poll.waiters, 0);
}

/* ---- the waits: what makes one, ends it, and looks at what is left */

static int unlocked(int error) {
  if (error == 0) CHECK_EQUAL(mltp_unlock(&lock), 0);
  return error;
}

static void hold_lock(mltp_lock_class_t class) {
  CHECK_EQUAL(mltp_lock_init(&lock, class, "held"), 0);
  CHECK_EQUAL(mltp_lock(&lock), 0);
}
static void hold_standard(void) { hold_lock(MLTP_LOCK_STANDARD); }
static void hold_queue(void) { hold_lock(MLTP_LOCK_QUEUE); }
static void hold_recursive(void) { hold_lock(MLTP_LOCK_RECURSIVE); }
static int lock_timed(uint64_t deadline) { return unlocked(mltp_lock_timed(&lock, deadline)); }
static int lock_it(uint64_t deadline) {
  (void)deadline;
  return unlocked(mltp_lock(&lock));
}
static void unlock(void) { CHECK_EQUAL(mltp_unlock(&lock), 0); }
static void clean_lock(void) {
  check_queue(&lock.queue_);
  CHECK_EQUAL(lock.word_, 0);
  CHECK_EQUAL(lock.depth_, 0);
  CHECK_EQUAL(mltp_lock_destroy(&lock), 0);
}

static void init_cond(void) {
  CHECK_EQUAL(mltp_cond_init(&cond, "cond"), 0);
  CHECK_EQUAL(mltp_lock_init(&lock, MLTP_LOCK_STANDARD, "of the condition"), 0);
}
static int cond_timed(uint64_t deadline) {
  CHECK_EQUAL(mltp_lock(&lock), 0);
  int error = mltp_cond_wait_timed(&cond, &lock, deadline);
  CHECK_EQUAL(mltp_unlock(&lock), 0);
  return error;
}
static int cond_wait(uint64_t deadline) {
  (void)deadline;
  CHECK_EQUAL(mltp_lock(&lock), 0);
  int error = mltp_cond_wait(&cond, &lock);
  CHECK_EQUAL(mltp_unlock(&lock), 0);
  return error;
}
static int cond_unlocked_timed(uint64_t deadline) {
  return mltp_cond_wait_unlocked_timed(&cond, deadline);
}
static int cond_unlocked(uint64_t deadline) {
  (void)deadline;
  return mltp_cond_wait_unlocked(&cond);
}
static void signal_cond(void) { CHECK_EQUAL(mltp_cond_signal(&cond), 0); }
static void broadcast_cond(void) { CHECK_EQUAL(mltp_cond_broadcast(&cond), 0); }
static void clean_cond(void) {
  clean_lock();
  check_queue(&cond.queue_);
  CHECK_EQUAL(mltp_cond_destroy(&cond), 0);
}

static void init_sem(void) { CHECK_EQUAL(mltp_sem_init(&sem, 0, "sem"), 0); }
static int sem_timed(uint64_t deadline) { return mltp_sem_wait_timed(&sem, deadline); }
static int sem_wait_on(uint64_t deadline) {
  (void)deadline;
  return mltp_sem_wait(&sem);
}
static void post_sem(void) { CHECK_EQUAL(mltp_sem_post(&sem), 0); }
static void clean_sem(void) {
  check_queue(&sem.queue_);
  CHECK_EQUAL(mltp_sem_destroy(&sem), 0);
}

static void init_latch(void) { CHECK_EQUAL(mltp_latch_init(&latch, 2, "latch"), 0); }
static int latch_timed(uint64_t deadline) { return mltp_latch_wait_timed(&latch, deadline); }
static int latch_wait(uint64_t deadline) {
  (void)deadline;
  return mltp_latch_wait(&latch);
}
static int latch_arrive(uint64_t deadline) {
  (void)deadline;
  return mltp_latch_arrive_and_wait(&latch);
}
static void count_down(void) { CHECK_EQUAL(mltp_latch_count_down(&latch, 2), 0); }
static void count_down_one(void) { CHECK_EQUAL(mltp_latch_count_down(&latch, 1), 0); }
static void clean_latch(void) {
  check_queue(&latch.queue_);
  CHECK_EQUAL(latch.left_, 0);
  CHECK_EQUAL(mltp_latch_destroy(&latch), 0);
}

static void init_group(void) {
  CHECK_EQUAL(mltp_waitgroup_init(&group, "group"), 0);
  CHECK_EQUAL(mltp_waitgroup_add(&group, 2), 0);
}
static int group_timed(uint64_t deadline) { return mltp_waitgroup_wait_timed(&group, deadline); }
static int group_wait(uint64_t deadline) {
  (void)deadline;
  return mltp_waitgroup_wait(&group);
}
static void end_group(void) {
  CHECK_EQUAL(mltp_waitgroup_done(&group), 0);
  CHECK_EQUAL(mltp_waitgroup_add(&group, -1), 0);
}
static void clean_group(void) {
  check_queue(&group.latch_.queue_);
  CHECK_EQUAL(group.latch_.left_, 0);
  CHECK_EQUAL(mltp_waitgroup_destroy(&group), 0);
}

static void init_barrier(void) { CHECK_EQUAL(mltp_barrier_init(&barrier, 2, "barrier"), 0); }
static int arrive(uint64_t deadline) {
  (void)deadline;
  return mltp_barrier_wait(&barrier);
}
static void arrive_last(void) { CHECK_EQUAL(mltp_barrier_wait(&barrier), MLTP_BARRIER_SERIAL); }
static void clean_barrier(void) {
  const struct mt_barrier_parts *parts = mt_barrier_parts(&barrier);
  uint32_t owed = 0, quota = 0, open = 0;
  check_queue(&barrier.queue_);
  for (int i = 0; i < MT_BARRIER_PARTS; i++) {
    check_queue(&parts->part[i].queue);
    owed += parts->part[i].owed;
    quota += parts->part[i].quota;
    open += parts->part[i].owed != 0;
  }
  CHECK_EQUAL(mt_barrier_waiters(&barrier), 0);
  CHECK_EQUAL(owed, 2); /* the next episode's */
  CHECK_EQUAL(quota, 2);
  CHECK_EQUAL(parts->given, 2);
  CHECK_EQUAL(parts->open, open);
  CHECK_EQUAL(mltp_barrier_destroy(&barrier), 0);
}

static void hold_to_write(void) {
  CHECK_EQUAL(mltp_rwlock_init(&rwlock, "rwlock"), 0);
  CHECK_EQUAL(mltp_rwlock_wrlock(&rwlock), 0);
}
static void hold_to_read(void) {
  CHECK_EQUAL(mltp_rwlock_init(&rwlock, "rwlock"), 0);
  CHECK_EQUAL(mltp_rwlock_rdlock(&rwlock), 0);
}
static int released(int error) {
  if (error == 0) CHECK_EQUAL(mltp_rwlock_unlock(&rwlock), 0);
  return error;
}
static int read_timed(uint64_t deadline) {
  return released(mltp_rwlock_rdlock_timed(&rwlock, deadline));
}
static int write_timed(uint64_t deadline) {
  return released(mltp_rwlock_wrlock_timed(&rwlock, deadline));
}
static int read_it(uint64_t deadline) {
  (void)deadline;
  return released(mltp_rwlock_rdlock(&rwlock));
}
static int write_it(uint64_t deadline) {
  (void)deadline;
  return released(mltp_rwlock_wrlock(&rwlock));
}
static void release(void) { CHECK_EQUAL(mltp_rwlock_unlock(&rwlock), 0); }
/* A waiter that gave up takes its mark with it: the holder has nobody to wake. */
static void check_no_mark(void) {
  check_queue(&rwlock.queue_);
  CHECK_EQUAL(rwlock.word_ & MT_RW_WAITERS, 0);
}
static void clean_rwlock(void) {
  check_queue(&rwlock.queue_);
  CHECK_EQUAL(rwlock.word_, 0);
  CHECK_EQUAL(mltp_rwlock_destroy(&rwlock), 0);
}

static void make_channels(void) {
  for (int i = 0; i < 2; i++) channels[i] = new_channel(0, sizeof(int), "channel");
}
static int receive_timed(uint64_t deadline) {
  int number = 0;
  int error = mltp_channel_recv_timed(channels[0], &number, deadline);
  CHECK_EQUAL(number, error == 0 ? 7 : 0);
  return error;
}
static int send_timed(uint64_t deadline) {
  int number = 7;
  return mltp_channel_send_timed(channels[0], &number, deadline);
}
static int select_timed(uint64_t deadline) {
  int in = 0, out = 7;
  size_t chosen = 0;
  mltp_case_t cases[] = {MLTP_CASE_RECV(channels[1], &in), MLTP_CASE_SEND(channels[1], &out),
                         MLTP_CASE_RECV(channels[0], &in)};
  int error = mltp_select_timed(cases, 3, &chosen, deadline);
  CHECK_EQUAL(chosen, error == 0 ? 2 : 0);
  CHECK_EQUAL(in, error == 0 ? 7 : 0);
  return error;
}
static void send_it(void) {
  int number = 7;
  CHECK_EQUAL(mltp_channel_send_try(channels[0], &number), 0);
}
static void receive_it(void) {
  int number = 0;
  CHECK_EQUAL(mltp_channel_recv_try(channels[0], &number), 0);
  CHECK_EQUAL(number, 7);
}
static void clean_channels(void) {
  for (int i = 0; i < 2; i++) {
    CHECK(channels[i]->senders.head == NULL && channels[i]->senders.tail == NULL);
    CHECK(channels[i]->receivers.head == NULL && channels[i]->receivers.tail == NULL);
    CHECK_EQUAL(channels[i]->ilock, 0);
    CHECK_EQUAL(mltp_channel_length(channels[i]), 0);
    CHECK_EQUAL(mltp_channel_destroy(channels[i]), 0);
  }
}

static void clear_word(void) { word = 0; }
static int await_five(uint64_t deadline) { return mltp_await_timed(&word, 5, NULL, deadline); }
static int await_change(uint64_t deadline) {
  return mltp_await_not_timed(&word, 0, NULL, deadline);
}
static void store_five(void) { mltp_await_store(&word, 5); }

static void *wait_for_hold(void *p0) {
  CHECK_EQUAL(mltp_sem_wait(&hold), 0);
  return p0;
}
static void start_other(void) {
  CHECK_EQUAL(mltp_sem_init(&hold, 0, "hold"), 0);
  other = spawn(wait_for_hold, &hold);
}
static void end_other(void) { CHECK_EQUAL(mltp_sem_post(&hold), 0); }
static int join_timed(uint64_t deadline) {
  void *result = NULL;
  int error = mltp_join_timed(other, &result, deadline);
  CHECK(result == (error == 0 ? &hold : NULL));
  if (error == 0) other = NULL;
  return error;
}
static int join_it(uint64_t deadline) {
  void *result = NULL;
  (void)deadline;
  int error = mltp_join(other, &result);
  CHECK(result == &hold);
  other = NULL;
  return error;
}
static void clean_other(void) {
  if (other != NULL) {
    CHECK(other->joiner == NULL);
    end_other();
    CHECK_EQUAL(mltp_join(other, NULL), 0);
  }
  check_queue(&hold.queue_);
  CHECK_EQUAL(mltp_sem_destroy(&hold), 0);
}

static atomic_bool inside;
static void be_inside(void *p0) {
  inside = true;
  CHECK_EQUAL(mltp_sem_wait(p0), 0);
}
static void *run_once(void *p0) {
  CHECK_EQUAL(mltp_once(&once, be_inside, p0), 0);
  CHECK(mt_current()->undo == NULL);
  return p0;
}
static void start_runner(void) {
  inside = false;
  once = (mltp_once_t)MLTP_ONCE_INIT;
  CHECK_EQUAL(mltp_sem_init(&hold, 0, "hold"), 0);
  other = spawn(run_once, &hold);
  while (!inside) mltp_yield();
}
static int come_second(uint64_t deadline) {
  (void)deadline;
  return mltp_once(&once, be_inside, NULL);
}
static void clean_runner(void) {
  CHECK_EQUAL(mltp_join(other, NULL), 0);
  check_queue(&once.queue_);
  CHECK(once.runner_ == NULL);
  CHECK_EQUAL(mltp_sem_destroy(&hold), 0);
}

static int sleep_until(uint64_t deadline) {
  int error = mltp_sleep_until(deadline);
  return error == 0 ? ETIMEDOUT : error;
}

static void make_pipe(void) { CHECK_EQUAL(pipe(ends), 0); }
static int read_byte(uint64_t deadline) {
  char byte;
  size_t count = 7;
  int error = mltp_io_read_timed(ends[0], &byte, 1, &count, deadline);
  CHECK_EQUAL(count, error == 0 ? 1 : 0);
  return error;
}
static int poll_pipe(uint64_t deadline) {
  struct pollfd fd = {.fd = ends[0], .events = POLLIN};
  int ready = 7;
  int error = mltp_io_poll_timed(&fd, 1, &ready, deadline);
  CHECK_EQUAL(ready, error == 0 ? 1 : 0);
  CHECK_EQUAL(fd.revents, error == 0 ? POLLIN : 0);
  return error;
}
static void write_byte(void) { CHECK_EQUAL(write(ends[1], "x", 1), 1); }
static void close_pipe(void) {
  CHECK_EQUAL(mltp_io_close(ends[0]), 0);
  CHECK_EQUAL(mltp_io_close(ends[1]), 0);
}

static void do_nothing(void) {}

static const struct row {
  const char *name;
  void (*begin)(void);
  int (*wait)(uint64_t deadline);
  void (*end)(void); /* by the main thread; NULL: nothing ends it */
  void (*clean)(void);
  bool timed;
} rows[] = {
    {"standard lock", hold_standard, lock_it, unlock, clean_lock, false},
    {"standard lock, timed", hold_standard, lock_timed, unlock, clean_lock, true},
    {"queue lock", hold_queue, lock_it, unlock, clean_lock, false},
    {"queue lock, timed", hold_queue, lock_timed, unlock, clean_lock, true},
    {"recursive lock", hold_recursive, lock_it, unlock, clean_lock, false},
    {"recursive lock, timed", hold_recursive, lock_timed, unlock, clean_lock, true},
    {"condition", init_cond, cond_wait, signal_cond, clean_cond, false},
    {"condition, timed", init_cond, cond_timed, broadcast_cond, clean_cond, true},
    {"condition alone", init_cond, cond_unlocked, broadcast_cond, clean_cond, false},
    {"condition alone, timed", init_cond, cond_unlocked_timed, signal_cond, clean_cond, true},
    {"semaphore", init_sem, sem_wait_on, post_sem, clean_sem, false},
    {"semaphore, timed", init_sem, sem_timed, post_sem, clean_sem, true},
    {"latch", init_latch, latch_wait, count_down, clean_latch, false},
    {"latch, timed", init_latch, latch_timed, count_down, clean_latch, true},
    {"latch, counted down", init_latch, latch_arrive, count_down_one, clean_latch, false},
    {"wait group", init_group, group_wait, end_group, clean_group, false},
    {"wait group, timed", init_group, group_timed, end_group, clean_group, true},
    {"barrier", init_barrier, arrive, arrive_last, clean_barrier, false},
    {"reader", hold_to_write, read_it, release, clean_rwlock, false},
    {"reader, timed", hold_to_write, read_timed, release, clean_rwlock, true},
    {"writer", hold_to_read, write_it, release, clean_rwlock, false},
    {"writer, timed", hold_to_read, write_timed, release, clean_rwlock, true},
    {"receiver, timed", make_channels, receive_timed, send_it, clean_channels, true},
    {"sender, timed", make_channels, send_timed, receive_it, clean_channels, true},
    {"select, timed", make_channels, select_timed, send_it, clean_channels, true},
    {"word, timed", clear_word, await_five, store_five, do_nothing, true},
    {"change of a word, timed", clear_word, await_change, store_five, do_nothing, true},
    {"join", start_other, join_it, end_other, clean_other, false},
    {"join, timed", start_other, join_timed, end_other, clean_other, true},
    {"once", start_runner, come_second, end_other, clean_runner, false},
    {"sleep", do_nothing, sleep_until, NULL, do_nothing, true},
    {"read, timed", make_pipe, read_byte, write_byte, close_pipe, true},
    {"poll, timed", make_pipe, poll_pipe, write_byte, close_pipe, true},
};

/* ---- each of them, by each kind of thread, ended in each way */

static const struct row *row;
static enum way way;
static _Atomic(mltp_t *) waiter;

static void *wait_once(void *p0) {
  static const int errors[] = {0, ETIMEDOUT, ECANCELED};
  (void)p0;
  atomic_store(&waiter, mltp_self());
  CHECK_EQUAL(row->wait(mltp_after(way == TIMED_OUT ? SOON : LATE)), errors[way]);
  check_self(way);
  return NULL;
}

/* @return whether it is in the wait of its row. */
static bool is_parked(const struct mltp_thread *t) {
  return mt_state(t) == MT_PARKED && mt_load_relaxed(&t->why) != MT_WHY_NOTHING;
}

static void end_wait(void) {
  while (atomic_load(&waiter) == NULL || !is_parked(atomic_load(&waiter))) mltp_yield();
  if (way == GIVEN)
    row->end();
  else
    CHECK_EQUAL(mltp_cancel(atomic_load(&waiter)), 0);
}

static void wait_as(enum kind kind) {
  struct worker worker;
  atomic_store(&waiter, NULL);
  row->begin();
  worker_start(&worker, kind, wait_once, NULL);
  if (way != TIMED_OUT) end_wait();
  worker_join(&worker);
  if (way != GIVEN && row->end == release) check_no_mark();
  /* what is held by the main thread is released, and a count goes down to 0 */
  if (way != GIVEN && (row->end == unlock || row->end == release || row->end == count_down ||
                       row->end == end_group))
    row->end();
  row->clean();
  check_timers();
}

static void waits_leave_nothing_behind(void) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int kind = 0; kind < MIXED; kind++)
      for (int w = GIVEN; w < (rows[i].timed ? WAYS : TIMED_OUT); w++) {
        if (w == GIVEN && rows[i].end == NULL) continue;
        check_case("%s, %s, %s", rows[i].name, kind_names[kind], ways[w]);
        row = &rows[i];
        way = (enum way)w;
        wait_as((enum kind)kind);
      }
}

/* Bound threads have left the runtime when it has ended, and foreign ones were joined. */
static void the_runtime_ends_with_nobody(void) {
  CHECK_EQUAL(mltp_init(0), 0);
  waits_leave_nothing_behind();
  CHECK_EQUAL(mt_live(), 1);
  CHECK_EQUAL(mltp_finalize(), 0);
  check_case("the end");
  CHECK(mt_current() == NULL);
  CHECK(mt_rt.main == NULL && mt_rt.finalizer == NULL);
  CHECK_EQUAL(mt_rt.vp_count, 0);
  CHECK_EQUAL(mt_rt.outside.bound_live, 0);
  CHECK_EQUAL(mt_rt.outside.foreign_live, 0);
  CHECK_EQUAL(mt_rt.outside.parked, 0);
  CHECK_EQUAL(mt_rt.outside.in_locks, 0);
  CHECK_EQUAL(mt_rt.outside.timeouts, 0);
  CHECK_EQUAL(mt_rt.sleep.blocked, 0);
  CHECK_EQUAL(mt_rt.sleep.blocked_in_locks, 0);
  CHECK_EQUAL(mt_rt.timers_firing, 0);
  CHECK_EQUAL(mt_rt.idle.searching, 0);
  CHECK_EQUAL(mt_rt.idle.company, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(the_runtime_ends_with_nobody)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
