/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call in which a thread lends its permit (src/gate/calls.c and word.c), with one permit and
 * without the monitor, which would take a permit from a thread that sleeps. A thread that ends a
 * wait runs only if the waiter has lent its permit or has given it up; else the program hangs.
 *   lent         does what each call is for, with or without the gate
 *   lent gated   the same, and which thread ran, with one permit and MLTP_MONITOR=off
 *   lent list    prints the names of the calls
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
  ((condition) ? (void)0 : failed(__LINE__, #condition)) /* not assert(): NDEBUG may be set */

enum { LATE_NS = 1000000, SECONDS_MOST = 500 };

/* What a call waits for, and when it comes. */
enum what { A_BYTE, A_CALLER, A_CHILD, A_WORD };
enum when {
  WANTED, /* from a thread that is ready at the call */
  LATER,  /* from a thread that becomes ready during the call */
  BEFORE  /* a thread is ready, and the call finds what it waits for */
};

struct row {
  const char *name;
  bool (*wait)(void); /* @return whether the call did what it is for */
  enum what what;
  bool gives; /* it gives its permit up in any case */
};

static const struct row *row; /* the current one */
static enum when when;
static bool gated;

static void failed(int line, const char *condition) {
  fprintf(stderr, "lent.c:%d: %s, case %d: not true: %s\n", line, row != NULL ? row->name : "",
          (int)when, condition);
  _exit(1);
}

/* The call hangs. */
static void on_alarm(int signo) {
  const char *name = row != NULL ? row->name : "the start";
  ssize_t written = write(STDERR_FILENO, name, strlen(name));
  _exit(written > 0 ? signo : 1);
}

/* ---- what comes */

static int here, there; /* two sockets that are connected; there: -1 */
static struct sockaddr_un address;
static socklen_t length;
static pid_t child;
static uint32_t word; /* [atomic] 1: it has come */

static void prepare(void) {
  int pair[2];
  there = -1;
  if (row->what == A_BYTE) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    here = pair[0];
    there = pair[1];
  } else if (row->what == A_CALLER) {
    address.sun_family = AF_UNIX; /* and no name: the kernel gives one */
    length = sizeof address;
    here = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(here >= 0 && bind(here, (struct sockaddr *)&address, sizeof address.sun_family) == 0);
    CHECK(getsockname(here, (struct sockaddr *)&address, &length) == 0 && listen(here, 1) == 0);
  } else if (row->what == A_WORD) {
    __atomic_store_n(&word, 0, __ATOMIC_RELAXED);
  } else {
    child = fork();
    CHECK(child >= 0);
    if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (child == 0) pause();
  }
}

static void come(void) {
  if (row->what == A_BYTE) {
    CHECK(write(there, "x", 1) == 1);
  } else if (row->what == A_CALLER) {
    there = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(there >= 0 && connect(there, (struct sockaddr *)&address, length) == 0);
  } else if (row->what == A_WORD) {
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1) >= 0);
  } else {
    CHECK(kill(child, SIGKILL) == 0);
  }
}

static void come_before(void) {
  siginfo_t unused;
  come();
  if (row->what == A_CHILD) CHECK(waitid(P_PID, (id_t)child, &unused, WEXITED | WNOWAIT) == 0);
}

static void clean_up(void) {
  if (row->what == A_CHILD || row->what == A_WORD) return;
  close(here);
  close(there);
}

/* ---- the calls */

/* What programs compiled with _FORTIFY_SOURCE call; the last size is the buffer's. */
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *restrict, size_t, size_t, int, struct sockaddr *restrict,
                       socklen_t *restrict);
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

static sigset_t none;

static bool by_read(void) {
  char byte = 0;
  return read(here, &byte, 1) == 1 && byte == 'x';
}

/* A call that has looked leaves the byte where it was. */
static bool is_there(const struct pollfd *fd, int count) {
  return count == 1 && fd->revents == POLLIN && by_read();
}

static bool by_poll(void) {
  struct pollfd fd = {.fd = here, .events = POLLIN};
  return is_there(&fd, poll(&fd, 1, -1));
}

static bool by_ppoll(void) {
  struct pollfd fd = {.fd = here, .events = POLLIN};
  return is_there(&fd, ppoll(&fd, 1, NULL, &none));
}

static bool by_poll_chk(void) {
  struct pollfd fd = {.fd = here, .events = POLLIN};
  return is_there(&fd, __poll_chk(&fd, 1, -1, sizeof fd));
}

static bool by_ppoll_chk(void) {
  struct pollfd fd = {.fd = here, .events = POLLIN};
  return is_there(&fd, __ppoll_chk(&fd, 1, NULL, &none, sizeof fd));
}

static bool by_epoll(bool masked) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = here};
  int fd = epoll_create1(0);
  CHECK(fd >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, here, &event) == 0);
  event.data.fd = -1;
  int count = masked ? epoll_pwait(fd, &event, 1, -1, &none) : epoll_wait(fd, &event, 1, -1);
  close(fd);
  return count == 1 && event.data.fd == here && by_read();
}

static bool by_epoll_wait(void) { return by_epoll(false); }

static bool by_epoll_pwait(void) { return by_epoll(true); }

static bool by_sets(bool masked) {
  fd_set in;
  FD_ZERO(&in);
  FD_SET(here, &in);
  int count = masked ? pselect(here + 1, &in, NULL, NULL, NULL, &none)
                     : select(here + 1, &in, NULL, NULL, NULL);
  return count == 1 && FD_ISSET(here, &in) && by_read();
}

static bool by_select(void) { return by_sets(false); }

static bool by_pselect(void) { return by_sets(true); }

static bool by_read_chk(void) {
  char byte = 0;
  return __read_chk(here, &byte, 1, sizeof byte) == 1 && byte == 'x';
}

static bool by_readv(void) {
  char byte = 0, more = 0;
  struct iovec parts[2] = {{&byte, 1}, {&more, 1}};
  return readv(here, parts, 2) == 1 && byte == 'x' && more == 0;
}

static bool by_recv(void) {
  char byte = 0;
  return recv(here, &byte, 1, MSG_PEEK) == 1 && byte == 'x' && by_read();
}

static bool by_recv_chk(void) {
  char byte = 0;
  return __recv_chk(here, &byte, 1, sizeof byte, MSG_PEEK) == 1 && byte == 'x' && by_read();
}

static bool by_recvfrom(void) {
  struct sockaddr_un from = {0};
  socklen_t size = sizeof from;
  char byte = 0;
  ssize_t count = recvfrom(here, &byte, 1, MSG_PEEK, (struct sockaddr *)&from, &size);
  return count == 1 && size < sizeof from && byte == 'x' && by_read();
}

static bool by_recvfrom_chk(void) {
  struct sockaddr_un from = {0};
  socklen_t size = sizeof from;
  char byte = 0;
  ssize_t count =
      __recvfrom_chk(here, &byte, 1, sizeof byte, MSG_PEEK, (struct sockaddr *)&from, &size);
  return count == 1 && size < sizeof from && byte == 'x' && by_read();
}

static bool by_recvmsg(void) {
  char byte = 0;
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return recvmsg(here, &message, MSG_PEEK) == 1 && byte == 'x' && by_read();
}

static bool is_accepted(int fd, int flags) {
  bool right = fd >= 0 && fcntl(fd, F_GETFD) == flags;
  close(fd);
  return right;
}

static bool by_accept(void) {
  struct sockaddr_un from = {0};
  socklen_t size = sizeof from;
  bool right = is_accepted(accept(here, (struct sockaddr *)&from, &size), 0);
  return right && size == sizeof from.sun_family && from.sun_family == AF_UNIX;
}

static bool by_accept4(void) {
  return is_accepted(accept4(here, NULL, NULL, SOCK_CLOEXEC), FD_CLOEXEC);
}

static bool was_killed(pid_t found, int status) {
  return found == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static bool by_waitpid(void) {
  int status = 0;
  pid_t found = waitpid(child, &status, 0);
  return was_killed(found, status);
}

static bool by_wait(void) {
  int status = 0;
  pid_t found = wait(&status);
  return was_killed(found, status);
}

static bool by_syscall(void) {
  int call = (when == WANTED ? FUTEX_WAIT : FUTEX_WAIT_BITSET) | FUTEX_PRIVATE_FLAG;
  while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0)
    syscall(SYS_futex, &word, call, 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
  return true;
}

static const struct row rows[] = {
    {"poll", by_poll, A_BYTE, false},
    {"ppoll", by_ppoll, A_BYTE, false},
    {"epoll_wait", by_epoll_wait, A_BYTE, false},
    {"epoll_pwait", by_epoll_pwait, A_BYTE, false},
    {"select", by_select, A_BYTE, true},
    {"pselect", by_pselect, A_BYTE, true},
    {"read", by_read, A_BYTE, false},
    {"readv", by_readv, A_BYTE, false},
    {"recv", by_recv, A_BYTE, false},
    {"recvfrom", by_recvfrom, A_BYTE, false},
    {"recvmsg", by_recvmsg, A_BYTE, false},
    {"accept", by_accept, A_CALLER, false},
    {"accept4", by_accept4, A_CALLER, false},
    {"waitpid", by_waitpid, A_CHILD, false},
    {"wait", by_wait, A_CHILD, false},
    {"syscall", by_syscall, A_WORD, true},
    {"__read_chk", by_read_chk, A_BYTE, false},
    {"__recv_chk", by_recv_chk, A_BYTE, false},
    {"__recvfrom_chk", by_recvfrom_chk, A_BYTE, false},
    {"__poll_chk", by_poll_chk, A_BYTE, false},
    {"__ppoll_chk", by_ppoll_chk, A_BYTE, false},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- the thread that ends waits */

static sem_t wanted, ended;
static int turns; /* [atomic] of it */

static void *end_waits(void *arg) {
  for (;;) {
    sem_post(&ended);
    while (sem_wait(&wanted) != 0) CHECK(errno == EINTR);
    if (row == NULL) return arg;
    if (when == LATER) nanosleep(&(struct timespec){.tv_nsec = LATE_NS}, NULL);
    __atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
    if (when != BEFORE) come();
  }
}

static void await_end(void) {
  while (sem_wait(&ended) != 0) CHECK(errno == EINTR);
}

static void wait_once(void) {
  prepare();
  if (when == BEFORE) come_before();
  int before = __atomic_load_n(&turns, __ATOMIC_RELAXED);
  sem_post(&wanted);
  if (when == LATER) sched_yield(); /* it naps */
  CHECK(row->wait());
  int more = __atomic_load_n(&turns, __ATOMIC_RELAXED) - before;
  if (when != BEFORE) CHECK(more == 1);
  if (when == BEFORE && gated && !row->gives) CHECK(more == 0);
  await_end();
  clean_up();
}

/* ---- a buffer that is too small ends a fortified program */

static void read_more(void) {
  char data[4];
  __read_chk(here, data, 2, 1);
}

static void recv_more(void) {
  char data[4];
  __recv_chk(here, data, 2, 1, 0);
}

static void recvfrom_more(void) {
  char data[4];
  __recvfrom_chk(here, data, 2, 1, 0, NULL, NULL);
}

static void poll_more(void) {
  struct pollfd fds[2] = {{.fd = -1}, {.fd = -1}};
  __poll_chk(fds, 2, 0, 2 * sizeof fds[0] - 1);
}

static void ppoll_more(void) {
  struct pollfd fds[2] = {{.fd = -1}, {.fd = -1}};
  __ppoll_chk(fds, 2, &(struct timespec){0}, NULL, 2 * sizeof fds[0] - 1);
}

static void overflow(void (*more)(void)) {
  int status = 0;
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    close(STDERR_FILENO); /* libc's message */
    more();
    _exit(0);
  }
  CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* Without the monitor the gate has no kernel thread of its own. */
static int kernel_threads(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/task");
  CHECK(folder != NULL);
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

int main(int argc, char **argv) {
  void (*const overflows[])(void) = {read_more, recv_more, recvfrom_more, poll_more, ppoll_more};
  const char *how = argc > 1 ? argv[1] : "";
  pthread_t thread;
  if (strcmp(how, "list") == 0) {
    for (int i = 0; i < ROWS; i++) puts(rows[i].name);
    return 0;
  }
  gated = strcmp(how, "gated") == 0;
  signal(SIGALRM, on_alarm);
  alarm(SECONDS_MOST);
  sigemptyset(&none);
  here = -1;
  for (size_t i = 0; i < sizeof overflows / sizeof overflows[0]; i++) overflow(overflows[i]);
  CHECK(sem_init(&wanted, 0, 0) == 0 && sem_init(&ended, 0, 0) == 0);
  CHECK(pthread_create(&thread, NULL, end_waits, NULL) == 0);
  await_end();
  for (int i = 0; i < ROWS; i++)
    for (when = WANTED; when <= BEFORE; when++) {
      row = &rows[i];
      wait_once();
    }
  row = NULL;
  if (gated) CHECK(kernel_threads() == 2);
  sem_post(&wanted);
  CHECK(pthread_join(thread, NULL) == 0);
  puts("right");
  return 0;
}
