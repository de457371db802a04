/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the calls that wait for something from outside ask of libc, and when they give their permit
 * up (src/gate/calls.c, traced.h). Each look and each call has its time behind its name: poll:0
 * looks only.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "gate/lend.h"
#include "traced.h"

enum { FD = 9, SIZE = 10 };

static char data[1000]; /* what a call gets; nothing is written there */
static struct pollfd fds[2] = {{.fd = 70}, {.fd = 71}};
static int pipe_ends[2];

static int with_time(const char *name, long time) {
  char word[64];
  snprintf(word, sizeof word, "%s:%ld", name, time);
  note(word);
  return answer();
}

static long ms_of(const struct timespec *time) {
  return time == NULL ? -1 : time->tv_sec * 1000 + time->tv_nsec / 1000000;
}

static int libc_poll(struct pollfd *which, nfds_t number, int ms) {
  if (which == fds) EQUAL(number, 2);
  if (which != fds) CHECK(number == 1 && which->fd == pipe_ends[0] && which->events == POLLIN);
  return with_time("poll", ms);
}

static int libc_ppoll(struct pollfd *which, nfds_t number, const struct timespec *time,
                      const sigset_t *mask) {
  CHECK(which == fds && number == 2 && mask == (const sigset_t *)data);
  return with_time("ppoll", ms_of(time));
}

static int libc_epoll_wait(int fd, struct epoll_event *events, int most, int ms) {
  CHECK(fd == FD && events == (struct epoll_event *)data && most == 4);
  return with_time("epoll_wait", ms);
}

static int libc_epoll_pwait(int fd, struct epoll_event *events, int most, int ms,
                            const sigset_t *mask) {
  CHECK(fd == FD && events == (struct epoll_event *)data && most == 4 &&
        mask == (const sigset_t *)data);
  return with_time("epoll_pwait", ms);
}

static int libc_select(int number, fd_set *in, fd_set *out, fd_set *except, struct timeval *time) {
  CHECK(number == 3 && in == (fd_set *)data && out == NULL && except == NULL);
  return with_time("select", time == NULL ? -1 : time->tv_sec * 1000 + time->tv_usec / 1000);
}

static int libc_pselect(int number, fd_set *in, fd_set *out, fd_set *except,
                        const struct timespec *time, const sigset_t *mask) {
  CHECK(number == 3 && in == (fd_set *)data && out == NULL && except == NULL && mask == NULL);
  return with_time("pselect", ms_of(time));
}

static pid_t libc_waitpid(pid_t pid, int *status, int options) {
  CHECK(status == (int *)data);
  return with_time(pid == 8 ? "waitpid" : "waitpid of any", options);
}

#define READ(name, parameters, condition)                                                          \
  static ssize_t libc_##name parameters {                                                          \
    CHECK(condition);                                                                              \
    note(#name);                                                                                   \
    return answer();                                                                               \
  }

READ(read, (int fd, void *to, size_t size), fd == pipe_ends[0] && to == data && size == SIZE)
READ(readv, (int fd, const struct iovec *parts, int number),
     fd == pipe_ends[0] && parts == (const struct iovec *)data && number == 2)
READ(recv, (int fd, void *to, size_t size, int flags),
     fd == pipe_ends[0] && to == data && size == SIZE && (flags & MSG_PEEK) != 0)
READ(recvfrom,
     (int fd, void *to, size_t size, int flags, struct sockaddr *address, socklen_t *length),
     fd == pipe_ends[0] && to == data && size == SIZE && (flags & MSG_PEEK) != 0 &&
         address == NULL && length == NULL)
READ(recvmsg, (int fd, struct msghdr *message, int flags),
     fd == pipe_ends[0] && message == (struct msghdr *)data && (flags & MSG_PEEK) != 0)

static int libc_accept(int fd, struct sockaddr *address, socklen_t *length) {
  CHECK(fd == pipe_ends[0] && address == NULL && length == NULL);
  note("accept");
  return answer();
}

static int libc_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
  CHECK(fd == pipe_ends[0] && address == NULL && length == NULL && flags == 3);
  note("accept4");
  return answer();
}

void gt_grant(void) { note("grant"); }

int __poll_chk(struct pollfd *which, nfds_t number, int ms, size_t room);
int __ppoll_chk(struct pollfd *which, nfds_t number, const struct timespec *time,
                const sigset_t *mask, size_t room);
ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t size, size_t room, int flags,
                       struct sockaddr *address, socklen_t *length);

/* ---- the calls, each with a time in ms; -1: forever */

static struct timespec *time_of(long ms) {
  static struct timespec time;
  time = (struct timespec){ms / 1000, ms % 1000 * 1000000};
  return ms < 0 ? NULL : &time;
}

static int call_poll(int ms) { return poll(fds, 2, ms); }
static int call_ppoll(int ms) { return ppoll(fds, 2, time_of(ms), (const sigset_t *)data); }
static int call_epoll_wait(int ms) { return epoll_wait(FD, (struct epoll_event *)data, 4, ms); }
static int call_epoll_pwait(int ms) {
  return epoll_pwait(FD, (struct epoll_event *)data, 4, ms, (const sigset_t *)data);
}
static int call_poll_chk(int ms) { return __poll_chk(fds, 2, ms, 2 * sizeof *fds); }
static int call_ppoll_chk(int ms) {
  return __ppoll_chk(fds, 2, time_of(ms), (const sigset_t *)data, 2 * sizeof *fds);
}

static int call_select(int ms) {
  struct timeval time = {ms / 1000, ms % 1000 * 1000};
  return select(3, (fd_set *)data, NULL, NULL, ms < 0 ? NULL : &time);
}

static int call_pselect(int ms) {
  return pselect(3, (fd_set *)data, NULL, NULL, time_of(ms), NULL);
}

static int call_waitpid(int ms) { return waitpid(8, (int *)data, ms == 0 ? WNOHANG : 0); }

static void check_call(int (*call)(int), const char *name, bool looks) {
  static const int times[] = {-1, 1, 1000, 0};
  bool waits_for_child = call == call_waitpid;
  for (int i = 0; i < 4; i++) {
    char expected[200];
    int ms = times[i], look = waits_for_child ? WNOHANG : 0,
        full = !waits_for_child ? ms
               : ms == 0        ? WNOHANG
                                : 0;
    begin();
    ANSWER(5);
    EQUAL(call(ms), 5);
    snprintf(expected, sizeof expected, "%s%s:%d", ms == 0 ? "" : "@call ", name, full);
    TRACE(expected);
    gt_gate.eager = 1; /* a thread waits for the permit */
    ANSWER(5);
    EQUAL(call(ms), 5);
    if (ms == 0)
      snprintf(expected, sizeof expected, "%s:%d", name, full);
    else if (looks)
      snprintf(expected, sizeof expected, "@call %s:%d", name, look);
    else
      snprintf(expected, sizeof expected, "@call ( grant ) %s:%d", name, full);
    TRACE(expected);
    if (ms == 0 || !looks) continue;
    ANSWER(0, 6); /* nothing is there yet */
    EQUAL(call(ms), 6);
    snprintf(expected, sizeof expected, "@call %s:%d ( grant ) %s:%d", name, look, name, full);
    TRACE(expected);
    EQUAL(gt_me.lent, 0);
  }
}

static void waits_for_one_of_several(void) {
  check_call(call_poll, "poll", true);
  check_call(call_ppoll, "ppoll", true);
  check_call(call_epoll_wait, "epoll_wait", true);
  check_call(call_epoll_pwait, "epoll_pwait", true);
  check_call(call_poll_chk, "poll", true);
  check_call(call_ppoll_chk, "ppoll", true);
  check_call(call_select, "select", false);
  check_call(call_pselect, "pselect", false);
  check_call(call_waitpid, "waitpid", true);
  begin();
  ANSWER(5);
  EQUAL(wait((int *)data), 5);
  TRACE("@call waitpid of any:0");
}

/* ---- reads */

static ssize_t call_read(int flags) {
  return flags != MSG_PEEK ? -2 : read(pipe_ends[0], data, SIZE);
}
static ssize_t call_readv(int flags) {
  return flags != MSG_PEEK ? -2 : readv(pipe_ends[0], (const struct iovec *)data, 2);
}
static ssize_t call_recv(int flags) { return recv(pipe_ends[0], data, SIZE, flags); }
static ssize_t call_recvfrom(int flags) {
  return recvfrom(pipe_ends[0], data, SIZE, flags, NULL, NULL);
}
static ssize_t call_recvmsg(int flags) {
  return recvmsg(pipe_ends[0], (struct msghdr *)data, flags);
}
static ssize_t call_accept(int flags) {
  return flags != MSG_PEEK ? -2 : accept(pipe_ends[0], NULL, NULL);
}
static ssize_t call_accept4(int flags) {
  return flags != MSG_PEEK ? -2 : accept4(pipe_ends[0], NULL, NULL, 3);
}
static ssize_t call_read_chk(int flags) {
  return flags != MSG_PEEK ? -2 : __read_chk(pipe_ends[0], data, SIZE, SIZE);
}
static ssize_t call_recv_chk(int flags) {
  return __recv_chk(pipe_ends[0], data, SIZE, SIZE, flags);
}
static ssize_t call_recvfrom_chk(int flags) {
  return __recvfrom_chk(pipe_ends[0], data, SIZE, SIZE, flags, NULL, NULL);
}

static void set_flags(int flags) { CHECK(fcntl(pipe_ends[0], F_SETFL, flags) == 0); }

static void check_read(ssize_t (*call)(int), const char *name) {
  char expected[200];
  begin();
  set_flags(0);
  ANSWER(5);
  EQUAL(call(MSG_PEEK), 5);
  snprintf(expected, sizeof expected, "@call %s", name);
  TRACE(expected);
  gt_gate.eager = 1;
  ANSWER(1, 5); /* something is there */
  EQUAL(call(MSG_PEEK), 5);
  snprintf(expected, sizeof expected, "@call poll:0 %s", name);
  TRACE(expected);
  ANSWER(0, 5);
  EQUAL(call(MSG_PEEK), 5);
  snprintf(expected, sizeof expected, "@call poll:0 ( grant ) %s", name);
  TRACE(expected);
  set_flags(O_NONBLOCK); /* it does not wait */
  ANSWER(5);
  EQUAL(call(MSG_PEEK), 5);
  snprintf(expected, sizeof expected, "@call %s", name);
  TRACE(expected);
  set_flags(0);
  ANSWER(5);
  if (call(MSG_PEEK | MSG_DONTWAIT) == 5) TRACE(name);
  trace[0] = '\0';
  answer_count = answers_given = 0;
}

static void reads(void) {
  static const struct {
    ssize_t (*call)(int);
    const char *name;
  } calls[] = {{call_read, "read"},       {call_readv, "readv"},
               {call_recv, "recv"},       {call_recvfrom, "recvfrom"},
               {call_recvmsg, "recvmsg"}, {call_accept, "accept"},
               {call_accept4, "accept4"}, {call_read_chk, "read"},
               {call_recv_chk, "recv"},   {call_recvfrom_chk, "recvfrom"}};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    check_read(calls[i].call, calls[i].name);
  begin();
  gt_gate.eager = 1;
  int kept = pipe_ends[0];
  pipe_ends[0] = 1000; /* not open: libc reports it */
  ANSWER(-1);
  EQUAL(read(1000, data, SIZE), -1);
  TRACE("@call read");
  pipe_ends[0] = kept;
  CHECK(write(pipe_ends[1], "x", 1) == 1);
  gt_next.read = NULL; /* while libc's functions are looked for */
  gt_gate.eager = 0;
  EQUAL(read(pipe_ends[0], data, SIZE), 1);
  EQUAL(data[0], 'x');
  TRACE("@call");
  gt_next.read = libc_read;
}

/* ---- buffers that are too small */

static void too_small(int which) {
  signal(SIGABRT, SIG_DFL);
  CHECK(freopen("/dev/null", "w", stderr) != NULL);
  if (which == 0) __read_chk(pipe_ends[0], data, SIZE + 1, SIZE);
  if (which == 1) __recv_chk(pipe_ends[0], data, SIZE + 1, SIZE, 0);
  if (which == 2) __recvfrom_chk(pipe_ends[0], data, SIZE + 1, SIZE, 0, NULL, NULL);
  if (which == 3) __poll_chk(fds, 3, 0, 3 * sizeof *fds - 1);
  if (which == 4) __ppoll_chk(fds, 3, NULL, NULL, 3 * sizeof *fds - 1);
  _exit(0);
}

static void calls_beyond_a_buffer_end_the_program(void) {
  for (int which = 0; which < 5; which++) {
    siginfo_t ended;
    pid_t child = fork();
    if (child == 0) too_small(which);
    CHECK(waitid(P_PID, (id_t)child, &ended, WEXITED) == 0);
    CHECK((ended.si_code == CLD_KILLED || ended.si_code == CLD_DUMPED) &&
          ended.si_status == SIGABRT);
  }
}

int main(void) {
  CHECK(pipe(pipe_ends) == 0);
  gt_next = (struct gt_next){.poll = libc_poll,
                             .ppoll = libc_ppoll,
                             .epoll_wait = libc_epoll_wait,
                             .epoll_pwait = libc_epoll_pwait,
                             .select = libc_select,
                             .pselect = libc_pselect,
                             .read = libc_read,
                             .readv = libc_readv,
                             .recv = libc_recv,
                             .recvfrom = libc_recvfrom,
                             .recvmsg = libc_recvmsg,
                             .accept = libc_accept,
                             .accept4 = libc_accept4,
                             .waitpid = libc_waitpid};
  waits_for_one_of_several();
  reads();
  if (!EMULATED) calls_beyond_a_buffer_end_the_program(); /* they do not end under qemu */
}
