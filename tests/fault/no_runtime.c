/* SPDX-License-Identifier: Apache-2.0 */
/* Each call that needs the runtime says so before mltp_init() and after mltp_finalize(): it names
 * itself, returns the error, and touches nothing. */
#define _GNU_SOURCE
#include <mltp/io.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/support.h"

/* What the calls get. All of it is as good as in a program that has a runtime. */
static mltp_t *thread;
static mltp_lock_t lock = MLTP_LOCK_INIT;
static mltp_cond_t cond = MLTP_COND_INIT;
static mltp_rwlock_t rwlock = MLTP_RWLOCK_INIT;
static mltp_sem_t sem = MLTP_SEM_INIT(5);
static mltp_barrier_t barrier = MLTP_BARRIER_INIT(1);
static mltp_latch_t latch = MLTP_LATCH_INIT(3), open_latch = MLTP_LATCH_INIT(0);
static mltp_waitgroup_t group = MLTP_WAITGROUP_INIT;
static mltp_once_t once = MLTP_ONCE_INIT;
static mltp_channel_t *channel;
static mltp_tss_t key;
static mltp_case_t a_case;
static uint32_t word;
static size_t count, chosen;
static int ends[2], element, ready, calls;
static char byte;

static void *never(void *p0) {
  calls++;
  return p0;
}

static void never_once(void *unused) {
  (void)unused;
  calls++;
}

static int create_with_attributes(size_t size) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.size = size;
  return mltp_create(&thread, &attr, never, NULL);
}

static int receive_message(uint64_t deadline) {
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return mltp_io_recvmsg_timed(ends[0], &message, 0, &count, deadline);
}

static int send_message(void) {
  struct iovec part = {&byte, 1};
  const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return mltp_io_sendmsg(ends[1], &message, 0, &count);
}

static int read_parts(void) {
  struct iovec part = {&byte, 1};
  return mltp_io_readv(ends[0], &part, 1, &count);
}

static int write_parts(void) {
  struct iovec part = {&byte, 1};
  return mltp_io_writev(ends[1], &part, 1, &count);
}

static int poll_one(uint64_t deadline) {
  struct pollfd fd = {.fd = ends[0], .events = POLLIN};
  return mltp_io_poll_timed(&fd, 1, &ready, deadline);
}

static int connect_nowhere(void) {
  struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
  return mltp_io_connect(ends[0], &nowhere, sizeof nowhere);
}

/* CALL(the name in the message, an expression that is EPERM). A lock class without a fast path
 * shows what the slow one says. */
#define CALLS(CALL)                                                                                \
  CALL("mltp_create", mltp_create(&thread, NULL, never, NULL))                                     \
  CALL("mltp_create", create_with_attributes(sizeof(mltp_attr_t)))                                 \
  CALL("mltp_create", create_with_attributes(sizeof(mltp_attr_t) - 1))                             \
  CALL("mltp_join", mltp_join(thread, NULL))                                                       \
  CALL("mltp_join_try", mltp_join_try(thread, NULL))                                               \
  CALL("mltp_join_timed", mltp_join_timed(thread, NULL, 0))                                        \
  CALL("mltp_detach", mltp_detach(thread))                                                         \
  CALL("mltp_cancel", mltp_cancel(thread))                                                         \
  CALL("mltp_set_vps", mltp_set_vps(1))                                                            \
  CALL("mltp_self", mltp_self() == NULL ? EPERM : 0)                                               \
  CALL("mltp_set_deadline", mltp_set_deadline(1) == MLTP_NEVER ? EPERM : 0)                        \
  CALL("mltp_trim", (mltp_trim(), EPERM))                                                          \
  CALL("mltp_sleep", mltp_sleep(1))                                                                \
  CALL("mltp_sleep", mltp_sleep_until(1))                                                          \
  CALL("mltp_tss_set", mltp_tss_set(key, &key))                                                    \
  CALL("mltp_lock", mltp_lock(&lock))                                                              \
  CALL("mltp_lock_try", mltp_lock_try(&lock))                                                      \
  CALL("mltp_lock_timed", mltp_lock_timed(&lock, MLTP_NEVER))                                      \
  CALL("mltp_unlock", mltp_unlock(&lock))                                                          \
  CALL("mltp_cond_wait", mltp_cond_wait(&cond, &lock))                                             \
  CALL("mltp_cond_wait", mltp_cond_wait(&cond, NULL))                                              \
  CALL("mltp_cond_wait_timed", mltp_cond_wait_timed(&cond, &lock, 0))                              \
  CALL("mltp_cond_wait_timed", mltp_cond_wait_timed(&cond, NULL, 0))                               \
  CALL("mltp_cond_wait_unlocked", mltp_cond_wait_unlocked(&cond))                                  \
  CALL("mltp_cond_wait_unlocked_timed", mltp_cond_wait_unlocked_timed(&cond, 0))                   \
  CALL("mltp_cond_signal", mltp_cond_signal(&cond))                                                \
  CALL("mltp_cond_broadcast", mltp_cond_broadcast(&cond))                                          \
  CALL("mltp_rwlock_rdlock", mltp_rwlock_rdlock(&rwlock))                                          \
  CALL("mltp_rwlock_rdlock_try", mltp_rwlock_rdlock_try(&rwlock))                                  \
  CALL("mltp_rwlock_rdlock_timed", mltp_rwlock_rdlock_timed(&rwlock, 0))                           \
  CALL("mltp_rwlock_wrlock", mltp_rwlock_wrlock(&rwlock))                                          \
  CALL("mltp_rwlock_wrlock_try", mltp_rwlock_wrlock_try(&rwlock))                                  \
  CALL("mltp_rwlock_wrlock_timed", mltp_rwlock_wrlock_timed(&rwlock, 0))                           \
  CALL("mltp_rwlock_unlock", mltp_rwlock_unlock(&rwlock))                                          \
  CALL("mltp_sem_wait", mltp_sem_wait(&sem))                                                       \
  CALL("mltp_sem_wait_try", mltp_sem_wait_try(&sem))                                               \
  CALL("mltp_sem_wait_timed", mltp_sem_wait_timed(&sem, 0))                                        \
  CALL("mltp_sem_post", mltp_sem_post(&sem))                                                       \
  CALL("mltp_barrier_wait", mltp_barrier_wait(&barrier))                                           \
  CALL("mltp_latch_count_down", mltp_latch_count_down(&latch, 1))                                  \
  CALL("mltp_latch_arrive_and_wait", mltp_latch_arrive_and_wait(&latch))                           \
  CALL("mltp_latch_wait", mltp_latch_wait(&open_latch))                                            \
  CALL("mltp_latch_wait_try", mltp_latch_wait_try(&open_latch))                                    \
  CALL("mltp_latch_wait_timed", mltp_latch_wait_timed(&open_latch, 0))                             \
  CALL("mltp_waitgroup_add", mltp_waitgroup_add(&group, 1))                                        \
  CALL("mltp_waitgroup_add", mltp_waitgroup_add(&group, -1))                                       \
  CALL("mltp_waitgroup_done", mltp_waitgroup_done(&group))                                         \
  CALL("mltp_waitgroup_wait", mltp_waitgroup_wait(&group))                                         \
  CALL("mltp_waitgroup_wait_try", mltp_waitgroup_wait_try(&group))                                 \
  CALL("mltp_waitgroup_wait_timed", mltp_waitgroup_wait_timed(&group, 0))                          \
  CALL("mltp_once", mltp_once(&once, never_once, NULL))                                            \
  CALL("mltp_channel_send", mltp_channel_send(channel, &element))                                  \
  CALL("mltp_channel_send_try", mltp_channel_send_try(channel, &element))                          \
  CALL("mltp_channel_send_timed", mltp_channel_send_timed(channel, &element, 0))                   \
  CALL("mltp_channel_recv", mltp_channel_recv(channel, &element))                                  \
  CALL("mltp_channel_recv_try", mltp_channel_recv_try(channel, &element))                          \
  CALL("mltp_channel_recv_timed", mltp_channel_recv_timed(channel, &element, 0))                   \
  CALL("mltp_channel_close", mltp_channel_close(channel))                                          \
  CALL("mltp_channel_destroy", mltp_channel_destroy(channel))                                      \
  CALL("mltp_select", mltp_select(&a_case, 1, &chosen))                                            \
  CALL("mltp_select_try", mltp_select_try(&a_case, 1, &chosen))                                    \
  CALL("mltp_select_timed", mltp_select_timed(&a_case, 1, &chosen, 0))                             \
  CALL("mltp_await", mltp_await(&word, 0, NULL))                                                   \
  CALL("mltp_await_timed", mltp_await_timed(&word, 0, NULL, 0))                                    \
  CALL("mltp_await_not", mltp_await_not(&word, 1, NULL))                                           \
  CALL("mltp_await_not_timed", mltp_await_not_timed(&word, 1, NULL, 0))                            \
  CALL("mltp_io_read", mltp_io_read(ends[0], &byte, 1, &count))                                    \
  CALL("mltp_io_readv", read_parts())                                                              \
  CALL("mltp_io_recv", mltp_io_recv(ends[0], &byte, 1, 0, &count))                                 \
  CALL("mltp_io_recvmsg", receive_message(0))                                                      \
  CALL("mltp_io_write", mltp_io_write(ends[1], &byte, 1, &count))                                  \
  CALL("mltp_io_writev", write_parts())                                                            \
  CALL("mltp_io_send", mltp_io_send(ends[1], &byte, 1, 0, &count))                                 \
  CALL("mltp_io_sendmsg", send_message())                                                          \
  CALL("mltp_io_accept", mltp_io_accept(ends[0], NULL, NULL, &ready))                              \
  CALL("mltp_io_connect", connect_nowhere())                                                       \
  CALL("mltp_io_poll", poll_one(0))                                                                \
  CALL("mltp_io_poll", poll_one(MLTP_NEVER))                                                       \
  CALL("mltp_io_open", mltp_io_open("/dev/null", 0, 0, &ready))                                    \
  CALL("mltp_io_pread", mltp_io_pread(ends[0], &byte, 1, 0, &count))                               \
  CALL("mltp_io_pwrite", mltp_io_pwrite(ends[1], &byte, 1, 0, &count))                             \
  CALL("mltp_io_fsync", mltp_io_fsync(ends[0]))                                                    \
  CALL("mltp_io_sendfile", mltp_io_sendfile(ends[1], ends[0], NULL, 1, &count))                    \
  CALL("mltp_io_close", mltp_io_close(ends[0]))

#define NAME(name, call) name,
static const char *const names[] = {CALLS(NAME)};

enum { NAMES = sizeof names / sizeof names[0] };

/* Calls each; ends the child at the first that returns something else, or did something. */
static void call_all(void) {
  int number = 0;
#define MAKE(name, call)                                                                           \
  number++;                                                                                        \
  ready = -1;                                                                                      \
  count = 0;                                                                                       \
  chosen = 7;                                                                                      \
  if ((call) != EPERM || ready != -1 || count != 0 || chosen != 7) {                               \
    fprintf(stderr, "%s, call %d: refused otherwise, or not at all\n", name, number);              \
    _exit(1);                                                                                      \
  }
  CALLS(MAKE)
  if (thread != NULL || calls != 0) _exit(2);
}

/* What is no error without a runtime. */
static void call_others(void) {
  mltp_barrier_t other;
  if (mltp_lock_destroy(&lock) != 0 || mltp_cond_destroy(&cond) != 0) _exit(3);
  if (mltp_rwlock_destroy(&rwlock) != 0 || mltp_sem_destroy(&sem) != 0) _exit(4);
  if (mltp_latch_destroy(&latch) != 0 || mltp_waitgroup_destroy(&group) != 0) _exit(5);
  if (mltp_barrier_init(&other, 2, NULL) != 0 || mltp_barrier_destroy(&other) != 0) _exit(6);
  if (mltp_vp() != -1 || mltp_cancelled() != 0 || mltp_tss_get(key) != NULL) _exit(7);
  mltp_yield();
  mltp_yield_to_first();
  if (mltp_yield_to(thread) != EAGAIN) _exit(8);
  mltp_uncancel();
  mltp_explore_point();
  mltp_blocking_begin();
  mltp_blocking_end();
  if (mltp_finalize() != EINVAL) _exit(9);
}

/* The objects are as they were: all of it can be used as soon as there is a runtime. */
static void use_all(void) {
  if (mltp_sem_value(&sem) != 5 || latch.left_ != 3 || mltp_waitgroup_wait_try(&group) != 0)
    _exit(10);
  if (mltp_channel_length(channel) != 0 || mltp_channel_send_try(channel, &element) != 0) _exit(11);
  if (mltp_lock(&lock) != 0 || mltp_unlock(&lock) != 0) _exit(12);
  if (mltp_rwlock_wrlock_try(&rwlock) != 0 || mltp_rwlock_unlock(&rwlock) != 0) _exit(13);
  if (mltp_barrier_wait(&barrier) != MLTP_BARRIER_SERIAL) _exit(14);
  if (mltp_once(&once, never_once, NULL) != 0 || calls != 1) _exit(15);
  if (mltp_io_write(ends[1], "x", 1, &count) != 0 || count != 1) _exit(16);
  if (mltp_io_read(ends[0], &byte, 1, &count) != 0 || byte != 'x') _exit(17);
  if (mltp_set_deadline(MLTP_NEVER) != MLTP_NEVER || mltp_cancelled() != 0) _exit(18);
  if (mltp_channel_recv_try(channel, &element) != 0) _exit(19);
  calls = 0;
}

static void call_without_a_runtime(void) {
  if (mltp_channel_create(&channel, 1, sizeof element, "idle") != 0) _exit(20);
  if (mltp_tss_create(&key, NULL) != 0) _exit(21);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) _exit(22);
  a_case = (mltp_case_t)MLTP_CASE_SEND(channel, &element);
  call_all();
  call_others();
  if (mltp_init(0) != 0) _exit(23);
  use_all();
  once = (mltp_once_t)MLTP_ONCE_INIT;
  if (mltp_finalize() != 0) _exit(24);
  call_all();
  call_others();
}

static void each_call_asks_for_the_runtime(void) {
  static const char *const settings[] = {"MLTP_MISUSE=error", NULL};
  static struct outcome outcome;
  static char expected[sizeof outcome.said];
  size_t used = 0;
  for (int i = 0; i < 2 * NAMES; i++)
    used += (size_t)snprintf(expected + used, sizeof expected - used,
                             "mltp: %s: the runtime is not running (call mltp_init() first)\n",
                             names[i % NAMES]);
  CHECK(used < sizeof expected);
  run_child(&outcome, call_without_a_runtime, settings);
  CHECK_TEXT(outcome.said, expected);
  CHECK_EQUAL(outcome.status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(each_call_asks_for_the_runtime)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
