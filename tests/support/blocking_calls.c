/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each call that blocks a kernel thread. */
#define _GNU_SOURCE
#include "support/blocking_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NEED(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) return __LINE__;                                                             \
  } while (0)

enum { NAPS_MAX = 100, NAP_NS = 50000000 };

static struct timespec in_an_hour(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += 3600;
  return time;
}

/* ---- a pipe */

static int make_pipe(struct blocked *on) {
  NEED(pipe(on->ends) == 0);
  return 0;
}

static int write_one(struct blocked *on) {
  NEED(write(on->ends[1], "x", 1) == 1);
  return 0;
}

static int take_one(struct blocked *on) {
  char byte;
  NEED(read(on->ends[0], &byte, 1) == 1);
  close(on->ends[0]);
  close(on->ends[1]);
  return 0;
}

static int wait_poll(struct blocked *on) {
  struct pollfd fd = {.fd = on->ends[0], .events = POLLIN};
  NEED(poll(&fd, 1, -1) == 1);
  return take_one(on);
}

static int wait_select(struct blocked *on) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(on->ends[0], &set);
  NEED(select(on->ends[0] + 1, &set, NULL, NULL, NULL) == 1);
  return take_one(on);
}

static int wait_epoll(struct blocked *on) {
  struct epoll_event event = {.events = EPOLLIN};
  int fd = epoll_create1(0);
  NEED(epoll_ctl(fd, EPOLL_CTL_ADD, on->ends[0], &event) == 0);
  NEED(epoll_wait(fd, &event, 1, -1) == 1);
  close(fd);
  return take_one(on);
}

static int fill_pipe(struct blocked *on) {
  static const char zeroes[4096];
  NEED(pipe(on->ends) == 0);
  NEED(fcntl(on->ends[1], F_SETFL, O_NONBLOCK) == 0);
  while (write(on->ends[1], zeroes, sizeof zeroes) > 0) continue;
  NEED(errno == EAGAIN && fcntl(on->ends[1], F_SETFL, 0) == 0);
  return 0;
}

static int write_more(struct blocked *on) {
  NEED(write(on->ends[1], "x", 1) == 1);
  close(on->ends[1]); /* the reader has the other end; ThreadSanitizer does not know its order */
  return 0;
}

static int empty_pipe(struct blocked *on) {
  char page[4096];
  NEED(read(on->ends[0], page, sizeof page) == sizeof page);
  return 0;
}

/* ---- sockets and FIFOs */

static int name_it(struct blocked *on) {
  const char *folder = getenv("TMPDIR");
  char *end = stpcpy(on->path, folder != NULL && strlen(folder) < 24 ? folder : "/tmp");
  strcpy(end, "/blocked-XXXXXX");
  NEED(mkdtemp(on->path) != NULL);
  strcat(on->path, "/at");
  return 0;
}

static void remove_it(struct blocked *on) {
  unlink(on->path);
  *strrchr(on->path, '/') = '\0';
  rmdir(on->path);
}

static int make_listener(struct blocked *on) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  NEED(name_it(on) == 0);
  strcpy(address.sun_path, on->path);
  on->ends[0] = socket(AF_UNIX, SOCK_STREAM, 0);
  NEED(on->ends[0] >= 0);
  NEED(bind(on->ends[0], (struct sockaddr *)&address, sizeof address) == 0);
  NEED(listen(on->ends[0], 1) == 0);
  return 0;
}

static int wait_accept(struct blocked *on) {
  int fd = accept(on->ends[0], NULL, NULL);
  NEED(fd >= 0);
  close(fd);
  close(on->ends[0]);
  remove_it(on);
  return 0;
}

static int connect_to_it(struct blocked *on) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, on->path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  NEED(fd >= 0);
  NEED(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
  close(fd);
  return 0;
}

static int make_pair(struct blocked *on) {
  NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, on->ends) == 0);
  return 0;
}

static int wait_recv(struct blocked *on) {
  char byte;
  NEED(recv(on->ends[0], &byte, 1, 0) == 1);
  close(on->ends[0]);
  close(on->ends[1]);
  return 0;
}

static int make_fifo(struct blocked *on) {
  NEED(name_it(on) == 0 && mkfifo(on->path, 0600) == 0);
  return 0;
}

static int open_reader(struct blocked *on) {
  int fd = open(on->path, O_RDONLY);
  NEED(fd >= 0);
  close(fd);
  remove_it(on);
  return 0;
}

static int open_writer(struct blocked *on) {
  int fd = open(on->path, O_WRONLY);
  NEED(fd >= 0);
  close(fd);
  return 0;
}

/* ---- locks of files: two open descriptions of one file */

static int open_twice(struct blocked *on) {
  char path[] = "/tmp/locked-XXXXXX";
  on->ends[0] = mkstemp(path);
  on->ends[1] = open(path, O_RDWR);
  unlink(path);
  NEED(on->ends[0] >= 0 && on->ends[1] >= 0);
  return 0;
}

static int flock_first(struct blocked *on) {
  NEED(open_twice(on) == 0 && flock(on->ends[0], LOCK_EX) == 0);
  return 0;
}

static int wait_flock(struct blocked *on) {
  NEED(flock(on->ends[1], LOCK_EX) == 0);
  close(on->ends[0]);
  close(on->ends[1]);
  return 0;
}

static int release_flock(struct blocked *on) {
  NEED(flock(on->ends[0], LOCK_UN) == 0);
  return 0;
}

static int lock_record(int fd, short type) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
  return fcntl(fd, F_OFD_SETLKW, &lock);
}

static int fcntl_first(struct blocked *on) {
  NEED(open_twice(on) == 0 && lock_record(on->ends[0], F_WRLCK) == 0);
  return 0;
}

static int wait_fcntl(struct blocked *on) {
  NEED(lock_record(on->ends[1], F_WRLCK) == 0);
  close(on->ends[0]);
  close(on->ends[1]);
  return 0;
}

static int release_fcntl(struct blocked *on) {
  NEED(lock_record(on->ends[0], F_UNLCK) == 0);
  return 0;
}

/* ---- children */

static int start_child(struct blocked *on) {
  on->child = fork();
  if (on->child == 0)
    for (;;) pause();
  NEED(on->child > 0);
  return 0;
}

static int kill_child(struct blocked *on) {
  NEED(kill(on->child, SIGKILL) == 0);
  return 0;
}

static int wait_waitpid(struct blocked *on) {
  NEED(waitpid(on->child, NULL, 0) == on->child);
  return 0;
}

static int wait_waitid(struct blocked *on) {
  siginfo_t info;
  NEED(waitid(P_PID, (id_t)on->child, &info, WEXITED) == 0);
  return 0;
}

/* ---- time: nobody ends such a wait, but others run meanwhile */

static int nothing(struct blocked *on) {
  (void)on;
  return 0;
}

static int set_word(struct blocked *on) {
  __atomic_store_n(&on->word, 1, __ATOMIC_RELEASE);
  return 0;
}

static int is_set(const struct blocked *on) { return __atomic_load_n(&on->word, __ATOMIC_ACQUIRE); }

static int wait_nanosleep(struct blocked *on) {
  struct timespec nap = {0, NAP_NS};
  for (int i = 0; i < NAPS_MAX && !is_set(on); i++) nanosleep(&nap, NULL);
  NEED(is_set(on));
  return 0;
}

static int wait_clock_nanosleep(struct blocked *on) {
  struct timespec nap = {0, NAP_NS};
  for (int i = 0; i < NAPS_MAX && !is_set(on); i++) clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
  NEED(is_set(on));
  return 0;
}

static int wait_usleep(struct blocked *on) {
  for (int i = 0; i < NAPS_MAX && !is_set(on); i++) usleep(NAP_NS / 1000);
  NEED(is_set(on));
  return 0;
}

/* ---- futexes */

static int wait_futex(struct blocked *on) {
  while (!is_set(on)) syscall(SYS_futex, &on->word, FUTEX_WAIT, 0, NULL, NULL, 0);
  return 0;
}

static int wake_futex(struct blocked *on) {
  set_word(on);
  syscall(SYS_futex, &on->word, FUTEX_WAKE, 1, NULL, NULL, 0);
  return 0;
}

static int make_semaphore(struct blocked *on) {
  NEED(sem_init(&on->semaphore, 0, 0) == 0);
  return 0;
}

static int wait_sem(struct blocked *on) {
  NEED(sem_wait(&on->semaphore) == 0);
  return 0;
}

static int wait_sem_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  NEED(sem_timedwait(&on->semaphore, &late) == 0);
  return 0;
}

static int post_sem(struct blocked *on) {
  NEED(sem_post(&on->semaphore) == 0);
  return 0;
}

static int make_locks(struct blocked *on) {
  NEED(pthread_mutex_init(&on->mutex, NULL) == 0 && pthread_cond_init(&on->cond, NULL) == 0);
  NEED(pthread_rwlock_init(&on->lock, NULL) == 0);
  NEED(pthread_barrier_init(&on->barrier, NULL, 2) == 0);
  NEED(mtx_init(&on->c11_mutex, mtx_plain) == thrd_success);
  NEED(cnd_init(&on->c11_cond) == thrd_success);
  return 0;
}

/* A pthread has a lock until the semaphore is posted. */
static int hold_by(struct blocked *on, void *(*holder)(void *)) {
  NEED(make_locks(on) == 0 && make_semaphore(on) == 0);
  NEED(pthread_create(&on->thread, NULL, holder, on) == 0);
  while (!is_set(on)) sched_yield();
  NEED(pthread_detach(on->thread) == 0);
  return 0;
}

static void *hold_mutex(void *of) {
  struct blocked *on = of;
  pthread_mutex_lock(&on->mutex);
  set_word(on);
  while (sem_wait(&on->semaphore) != 0) continue;
  pthread_mutex_unlock(&on->mutex);
  return NULL;
}

static int lock_mutex(struct blocked *on) { return hold_by(on, hold_mutex); }

static int wait_mutex(struct blocked *on) {
  NEED(pthread_mutex_lock(&on->mutex) == 0 && pthread_mutex_unlock(&on->mutex) == 0);
  return 0;
}

static int wait_mutex_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  NEED(pthread_mutex_timedlock(&on->mutex, &late) == 0 && pthread_mutex_unlock(&on->mutex) == 0);
  return 0;
}

static int wait_cond(struct blocked *on) {
  pthread_mutex_lock(&on->mutex);
  while (!on->word) NEED(pthread_cond_wait(&on->cond, &on->mutex) == 0);
  pthread_mutex_unlock(&on->mutex);
  return 0;
}

static int wait_cond_timed(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_REALTIME);
  pthread_mutex_lock(&on->mutex);
  while (!on->word) NEED(pthread_cond_timedwait(&on->cond, &on->mutex, &late) == 0);
  pthread_mutex_unlock(&on->mutex);
  return 0;
}

static int wait_cond_clock(struct blocked *on) {
  struct timespec late = in_an_hour(CLOCK_MONOTONIC);
  pthread_mutex_lock(&on->mutex);
  while (!on->word)
    NEED(pthread_cond_clockwait(&on->cond, &on->mutex, CLOCK_MONOTONIC, &late) == 0);
  pthread_mutex_unlock(&on->mutex);
  return 0;
}

static int signal_cond(struct blocked *on) {
  pthread_mutex_lock(&on->mutex);
  on->word = 1;
  pthread_cond_signal(&on->cond);
  pthread_mutex_unlock(&on->mutex);
  return 0;
}

static void *hold_to_write(void *of) {
  struct blocked *on = of;
  pthread_rwlock_wrlock(&on->lock);
  set_word(on);
  while (sem_wait(&on->semaphore) != 0) continue;
  pthread_rwlock_unlock(&on->lock);
  return NULL;
}

static int lock_to_write(struct blocked *on) { return hold_by(on, hold_to_write); }

static int wait_to_read(struct blocked *on) {
  NEED(pthread_rwlock_rdlock(&on->lock) == 0 && pthread_rwlock_unlock(&on->lock) == 0);
  return 0;
}

static int wait_to_write(struct blocked *on) {
  NEED(pthread_rwlock_wrlock(&on->lock) == 0 && pthread_rwlock_unlock(&on->lock) == 0);
  return 0;
}

static int meet(struct blocked *on) {
  int result = pthread_barrier_wait(&on->barrier);
  NEED(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
  return 0;
}

static void *hold_c11(void *of) {
  struct blocked *on = of;
  mtx_lock(&on->c11_mutex);
  set_word(on);
  while (sem_wait(&on->semaphore) != 0) continue;
  mtx_unlock(&on->c11_mutex);
  return NULL;
}

static int lock_c11(struct blocked *on) { return hold_by(on, hold_c11); }

static int wait_c11(struct blocked *on) {
  NEED(mtx_lock(&on->c11_mutex) == thrd_success && mtx_unlock(&on->c11_mutex) == thrd_success);
  return 0;
}

static int wait_cnd(struct blocked *on) {
  mtx_lock(&on->c11_mutex);
  while (!__atomic_load_n(&on->word, __ATOMIC_RELAXED)) /* ThreadSanitizer knows no C11 locks */
    NEED(cnd_wait(&on->c11_cond, &on->c11_mutex) == thrd_success);
  mtx_unlock(&on->c11_mutex);
  return 0;
}

static int signal_cnd(struct blocked *on) {
  mtx_lock(&on->c11_mutex);
  __atomic_store_n(&on->word, 1, __ATOMIC_RELAXED);
  cnd_signal(&on->c11_cond);
  mtx_unlock(&on->c11_mutex);
  return 0;
}

/* ---- pthreads */

static void *wait_for_post(void *of) {
  struct blocked *on = of;
  while (sem_wait(&on->semaphore) != 0) continue;
  return on;
}

static int start_pthread(struct blocked *on) {
  NEED(make_semaphore(on) == 0);
  NEED(pthread_create(&on->thread, NULL, wait_for_post, on) == 0);
  return 0;
}

static int wait_join(struct blocked *on) {
  void *result;
  NEED(pthread_join(on->thread, &result) == 0 && result == on);
  return 0;
}

const struct blocking_call blocking_calls[] = {
    {"read", make_pipe, take_one, write_one},
    {"write", fill_pipe, write_more, empty_pipe},
    {"poll", make_pipe, wait_poll, write_one},
    {"select", make_pipe, wait_select, write_one},
    {"epoll_wait", make_pipe, wait_epoll, write_one},
    {"accept", make_listener, wait_accept, connect_to_it},
    {"recv", make_pair, wait_recv, write_one},
    {"open", make_fifo, open_reader, open_writer},
    {"flock", flock_first, wait_flock, release_flock},
    {"fcntl", fcntl_first, wait_fcntl, release_fcntl},
    {"waitpid", start_child, wait_waitpid, kill_child},
    {"waitid", start_child, wait_waitid, kill_child},
    {"nanosleep", nothing, wait_nanosleep, set_word},
    {"clock_nanosleep", nothing, wait_clock_nanosleep, set_word},
    {"usleep", nothing, wait_usleep, set_word},
    {"syscall", nothing, wait_futex, wake_futex},
    {"sem_wait", make_semaphore, wait_sem, post_sem},
    {"sem_timedwait", make_semaphore, wait_sem_timed, post_sem},
    {"pthread_mutex_lock", lock_mutex, wait_mutex, post_sem},
    {"pthread_mutex_timedlock", lock_mutex, wait_mutex_timed, post_sem},
    {"pthread_cond_wait", make_locks, wait_cond, signal_cond},
    {"pthread_cond_timedwait", make_locks, wait_cond_timed, signal_cond},
    {"pthread_cond_clockwait", make_locks, wait_cond_clock, signal_cond},
    {"pthread_rwlock_rdlock", lock_to_write, wait_to_read, post_sem},
    {"pthread_rwlock_wrlock", lock_to_write, wait_to_write, post_sem},
    {"pthread_barrier_wait", make_locks, meet, meet},
    {"pthread_join", start_pthread, wait_join, post_sem},
    {"mtx_lock", lock_c11, wait_c11, post_sem},
    {"cnd_wait", make_locks, wait_cnd, signal_cnd},
    {NULL, NULL, NULL, NULL},
};
