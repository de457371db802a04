/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each call of the kernel that blocks. blocking_locks.c has those of libc. */
#define _GNU_SOURCE
#include "support/blocking_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The naps are as many as a hang would be: on a busy machine others run late. */
enum { NAPS_MAX = 4000, NAP_NS = 50000000, SECONDS_MAX = 200, COMMAND_MAX = 128 };

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

/* A listener with as many callers as it may have. */
static int fill_listener(struct blocked *on) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  NEED(make_listener(on) == 0 && listen(on->ends[0], 0) == 0);
  strcpy(address.sun_path, on->path);
  on->ends[1] = socket(AF_UNIX, SOCK_STREAM, 0);
  NEED(on->ends[1] >= 0);
  NEED(connect(on->ends[1], (struct sockaddr *)&address, sizeof address) == 0);
  return 0;
}

static int wait_connect(struct blocked *on) {
  NEED(connect_to_it(on) == 0);
  close(on->ends[0]);
  close(on->ends[1]);
  remove_it(on);
  return 0;
}

static int accept_one(struct blocked *on) {
  int fd = accept(on->ends[0], NULL, NULL);
  NEED(fd >= 0);
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

/* A lock of lockf() belongs to its process. */
static int lock_in_child(struct blocked *on) {
  int report[2];
  NEED(name_it(on) == 0 && pipe(report) == 0);
  on->ends[0] = open(on->path, O_RDWR | O_CREAT, 0600);
  NEED(on->ends[0] >= 0);
  on->child = fork();
  if (on->child == 0) {
    int fd = open(on->path, O_RDWR);
    bool locked = fd >= 0 && lockf(fd, F_LOCK, 0) == 0;
    if (!locked || write(report[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte;
  NEED(on->child > 0 && close(report[1]) == 0 && read(report[0], &byte, 1) == 1);
  close(report[0]);
  return 0;
}

static int wait_lockf(struct blocked *on) {
  NEED(lockf(on->ends[0], F_LOCK, 0) == 0);
  NEED(waitpid(on->child, NULL, 0) == on->child);
  close(on->ends[0]);
  remove_it(on);
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

static int wait_any(struct blocked *on) {
  NEED(wait(NULL) == on->child);
  return 0;
}

static int wait_any_used(struct blocked *on) {
  NEED(wait3(NULL, 0, NULL) == on->child);
  return 0;
}

static int wait_one_used(struct blocked *on) {
  NEED(wait4(on->child, NULL, 0, NULL) == on->child);
  return 0;
}

static int wait_waitid(struct blocked *on) {
  siginfo_t info;
  NEED(waitid(P_PID, (id_t)on->child, &info, WEXITED) == 0);
  return 0;
}

/* ---- commands of the shell, which read from a FIFO */

static int make_command(const struct blocked *on, char command[COMMAND_MAX]) {
  return snprintf(command, COMMAND_MAX, "read line <%s", on->path) < COMMAND_MAX ? 0 : __LINE__;
}

static int wait_system(struct blocked *on) {
  char command[COMMAND_MAX];
  NEED(make_command(on, command) == 0 && system(command) == 0);
  remove_it(on);
  return 0;
}

static int wait_pclose(struct blocked *on) {
  char command[COMMAND_MAX];
  NEED(make_command(on, command) == 0);
  FILE *stream = popen(command, "r");
  NEED(stream != NULL && pclose(stream) == 0);
  remove_it(on);
  return 0;
}

static int write_line(struct blocked *on) {
  int fd = open(on->path, O_WRONLY);
  NEED(fd >= 0 && write(fd, "x\n", 2) == 2);
  close(fd);
  return 0;
}

/* ---- time: nobody ends such a wait, but others run meanwhile */

static int wait_nanosleep(struct blocked *on) {
  struct timespec nap = {0, NAP_NS};
  for (int i = 0; i < NAPS_MAX && !blocked_is_set(on); i++) nanosleep(&nap, NULL);
  NEED(blocked_is_set(on));
  return 0;
}

static int wait_clock_nanosleep(struct blocked *on) {
  struct timespec nap = {0, NAP_NS};
  for (int i = 0; i < NAPS_MAX && !blocked_is_set(on); i++)
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
  NEED(blocked_is_set(on));
  return 0;
}

static int wait_usleep(struct blocked *on) {
  for (int i = 0; i < NAPS_MAX && !blocked_is_set(on); i++) usleep(NAP_NS / 1000);
  NEED(blocked_is_set(on));
  return 0;
}

static int wait_sleep(struct blocked *on) {
  for (int i = 0; i < SECONDS_MAX && !blocked_is_set(on); i++) sleep(1);
  NEED(blocked_is_set(on));
  return 0;
}

static int wait_thrd_sleep(struct blocked *on) {
  struct timespec nap = {0, NAP_NS};
  for (int i = 0; i < NAPS_MAX && !blocked_is_set(on); i++) thrd_sleep(&nap, NULL);
  NEED(blocked_is_set(on));
  return 0;
}

static const struct blocking_call calls[] = {
    {"read", make_pipe, take_one, write_one},
    {"write", fill_pipe, write_more, empty_pipe},
    {"poll", make_pipe, wait_poll, write_one},
    {"select", make_pipe, wait_select, write_one},
    {"epoll_wait", make_pipe, wait_epoll, write_one},
    {"accept", make_listener, wait_accept, connect_to_it},
    {"connect", fill_listener, wait_connect, accept_one},
    {"recv", make_pair, wait_recv, write_one},
    {"open", make_fifo, open_reader, open_writer},
    {"flock", flock_first, wait_flock, release_flock},
    {"fcntl", fcntl_first, wait_fcntl, release_fcntl},
    {"lockf", lock_in_child, wait_lockf, kill_child},
    {"wait", start_child, wait_any, kill_child},
    {"wait3", start_child, wait_any_used, kill_child},
    {"wait4", start_child, wait_one_used, kill_child},
    {"waitpid", start_child, wait_waitpid, kill_child},
    {"waitid", start_child, wait_waitid, kill_child},
    {"system", make_fifo, wait_system, write_line},
    {"pclose", make_fifo, wait_pclose, write_line},
    {"sleep", blocked_nothing, wait_sleep, blocked_set},
    {"nanosleep", blocked_nothing, wait_nanosleep, blocked_set},
    {"clock_nanosleep", blocked_nothing, wait_clock_nanosleep, blocked_set},
    {"usleep", blocked_nothing, wait_usleep, blocked_set},
    {"thrd_sleep", blocked_nothing, wait_thrd_sleep, blocked_set},
};

const struct blocking_call *blocking_call(int number) {
  const int own = sizeof calls / sizeof *calls;
  return number < own ? &calls[number] : blocking_lock(number - own);
}
