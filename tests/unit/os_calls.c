/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on descriptors and memory (src/os/io.c, memory.c, map.c, poller.c, alarm.c, read.c,
 * peek.c): each says why it failed, stores no result then, and leaves errno alone, as it does when
 * it succeeds. */
#define _GNU_SOURCE /* the headers of src/os want it */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/map.h"
#include "os/os.h"
#include "support/support.h"

enum { PAGES = 4, NONE = 77 /* no call stores it */ };

/* A call that keeps errno. */
#define ENDS_WITH(expected, call)                                                                  \
  do {                                                                                             \
    errno = EDOM;                                                                                  \
    CHECK_EQUAL(call, expected);                                                                   \
    CHECK_EQUAL(errno, EDOM);                                                                      \
  } while (0)

#define KEEPS_ERRNO(call)                                                                          \
  do {                                                                                             \
    errno = EDOM;                                                                                  \
    call;                                                                                          \
    CHECK_EQUAL(errno, EDOM);                                                                      \
  } while (0)

/* @return a socket that listens on the loopback device. */
static int listening(struct sockaddr_in *name) {
  socklen_t length = sizeof *name;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  *name = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  CHECK(fd >= 0);
  if (fd < 0) return fd;
  CHECK_EQUAL(bind(fd, (struct sockaddr *)name, sizeof *name), 0);
  CHECK_EQUAL(listen(fd, 5), 0);
  CHECK_EQUAL(getsockname(fd, (struct sockaddr *)name, &length), 0);
  return fd;
}

static void descriptors_have_kinds(void) {
  struct sockaddr_in name;
  enum os_fd_kind kind = OS_FD_FILE;
  int ends[2], pair[2], tcp = listening(&name), file = memfd_create("kinds", MFD_CLOEXEC);
  int path = open("/dev/null", O_PATH | O_CLOEXEC);
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  ENDS_WITH(EBADF, os_fd_prepare(-1, &kind));
  ENDS_WITH(EBADF, os_fd_prepare(path, &kind)); /* it cannot be read */
  ENDS_WITH(0, os_fd_prepare(ends[0], &kind));
  CHECK_EQUAL(kind, OS_FD_STREAM);
  CHECK((fcntl(ends[0], F_GETFL) & O_NONBLOCK) != 0);
  ENDS_WITH(0, os_fd_prepare(pair[0], &kind));
  CHECK_EQUAL(kind, OS_FD_SOCKET);
  ENDS_WITH(0, os_fd_prepare(tcp, &kind));
  CHECK_EQUAL(kind, OS_FD_TCP);
  ENDS_WITH(0, os_fd_prepare(file, &kind));
  CHECK_EQUAL(kind, OS_FD_FILE);
  CHECK((fcntl(file, F_GETFL) & O_NONBLOCK) == 0);
  ENDS_WITH(0, os_fd_close(file));
  ENDS_WITH(EBADF, os_fd_close(file));
  for (int i = 0; i < 2; i++) close(ends[i]), close(pair[i]);
  close(tcp);
  close(path);
}

static void transfers_say_why_not(void) {
  char text[8] = "abcdefg";
  struct iovec parts[2] = {{text, 2}, {text + 2, 2}};
  struct msghdr one = {.msg_iov = parts, .msg_iovlen = 1},
                two = {.msg_iov = parts, .msg_iovlen = 2};
  int ends[2], pair[2], ready = NONE, fd = NONE;
  size_t count = NONE;
  CHECK_EQUAL(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  for (int number = 1; number <= 2; number++) {
    struct msghdr *message = number == 1 ? &one : &two;
    ENDS_WITH(0, os_writev(ends[1], parts, number, &count));
    CHECK_EQUAL(count, 2 * number);
    ENDS_WITH(0, os_readv(ends[0], parts, number, &count));
    CHECK_EQUAL(count, 2 * number);
    ENDS_WITH(EAGAIN, os_readv(ends[0], parts, number, &count));
    CHECK_EQUAL(count, 0);
    ENDS_WITH(EBADF, os_writev(ends[0], parts, number, &count));
    CHECK_EQUAL(count, 0);
    ENDS_WITH(0, os_sendmsg(pair[1], message, 0, &count));
    CHECK_EQUAL(count, 2 * number);
    ENDS_WITH(0, os_recvmsg(pair[0], message, 0, &count));
    CHECK_EQUAL(count, 2 * number);
    ENDS_WITH(EAGAIN, os_recvmsg(pair[0], message, 0, &count));
    CHECK_EQUAL(count, 0);
    ENDS_WITH(ENOTSOCK, os_sendmsg(ends[1], message, 0, &count));
  }
  ENDS_WITH(ESPIPE, os_preadv(ends[0], parts, 0, &count));
  CHECK_EQUAL(count, 0);
  ENDS_WITH(ESPIPE, os_pwritev(ends[1], parts, 0, &count));
  ENDS_WITH(EMULATED ? EOPNOTSUPP : ESPIPE, os_pread_cached(ends[0], parts, 0, &count));
  ENDS_WITH(EBADF, os_sendfile(pair[0], -1, NULL, 1, &count));
  CHECK_EQUAL(count, 0);
  close(pair[1]);
  ENDS_WITH(EPIPE, os_sendmsg(pair[0], &one, 0, &count)); /* without SIGPIPE */
  ENDS_WITH(EPIPE, os_sendmsg(pair[0], &two, 0, &count));
  struct pollfd asked = {.fd = pair[0], .events = POLLIN};
  ENDS_WITH(0, os_poll_now(&asked, 1, &ready));
  CHECK_EQUAL(ready, 1);
  if (!SANITIZED) { /* which look at all of them first */
    ENDS_WITH(EINVAL, os_poll_now(&asked, SIZE_MAX / 2, &ready));
    CHECK_EQUAL(ready, 0);
  }
  ENDS_WITH(ENOENT, os_open("/no/such/file", O_RDONLY, 0, &fd));
  CHECK_EQUAL(fd, NONE);
  ENDS_WITH(0, os_open("/dev/null", O_RDONLY, 0, &fd));
  CHECK(fcntl(fd, F_GETFD) >= 0);
  CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  ENDS_WITH(EINVAL, os_fsync(ends[0]));
  close(fd);
  close(pair[0]);
  for (int i = 0; i < 2; i++) close(ends[i]);
}

/* Calls that return 0 have not failed, whatever errno says. */
static void an_end_is_no_error(void) {
  char text[2];
  struct iovec part = {text, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  int ends[2], pair[2], ready = NONE, file = memfd_create("end", MFD_CLOEXEC);
  size_t count = NONE;
  CHECK_EQUAL(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  struct pollfd asked = {.fd = pair[0], .events = POLLIN};
  ENDS_WITH(0, os_poll_now(&asked, 1, &ready));
  CHECK_EQUAL(ready, 0);
  ENDS_WITH(0, os_preadv(file, &part, 0, &count));
  CHECK_EQUAL(count, 0);
  ENDS_WITH(0, os_fsync(file));
  close(ends[1]);
  close(pair[1]);
  count = NONE;
  ENDS_WITH(0, os_readv(ends[0], &part, 1, &count));
  CHECK_EQUAL(count, 0);
  count = NONE;
  ENDS_WITH(0, os_recvmsg(pair[0], &message, 0, &count));
  CHECK_EQUAL(count, 0);
  close(ends[0]);
  close(pair[0]);
  close(file);
}

/* In a child: a program that has closed its input gets 0 from the next call. */
static int use_number_0(void) {
  struct sockaddr_in name;
  int listener = listening(&name), fd = NONE, connection = NONE;
  int caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(caller, (struct sockaddr *)&name, sizeof name) != 0) return 1;
  close(STDIN_FILENO);
  errno = EDOM;
  if (os_open("/dev/null", O_RDONLY, 0, &fd) != 0 || fd != 0) return 2;
  close(fd);
  errno = EINTR; /* of a call before */
  if (os_accept(listener, NULL, NULL, &connection) != 0 || connection != 0) return 3;
  return errno == EINTR ? 0 : 4;
}

static void number_0_is_a_descriptor(void) {
  int status;
  pid_t child = fork();
  if (child == 0) _exit(use_number_0());
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK_EQUAL(status, 0);
}

/* Not only the bytes: what else a message has needs recvmsg(2) and sendmsg(2) themselves. */
static void messages_have_addresses(void) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
                     from;
  socklen_t length = sizeof name;
  char text[2] = "x";
  size_t count = NONE;
  struct iovec part = {text, 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_name = &name, .msg_namelen = sizeof name};
  int ends[2];
  for (int i = 0; i < 2; i++) ends[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  CHECK(ends[0] >= 0 && ends[1] >= 0);
  if (ends[0] < 0 || ends[1] < 0) return;
  CHECK_EQUAL(bind(ends[0], (struct sockaddr *)&name, sizeof name), 0);
  CHECK_EQUAL(getsockname(ends[0], (struct sockaddr *)&name, &length), 0);
  ENDS_WITH(0, os_sendmsg(ends[1], &message, 0, &count));
  CHECK_EQUAL(getsockname(ends[1], (struct sockaddr *)&name, &length), 0);
  message.msg_name = &from;
  text[0] = 0;
  ENDS_WITH(0, os_recvmsg(ends[0], &message, 0, &count));
  CHECK(count == 1 && text[0] == 'x' && from.sin_port == name.sin_port);
  for (int i = 0; i < 2; i++) close(ends[i]);
}

static void connections_say_why_not(void) {
  struct sockaddr_in name, peer;
  socklen_t length = sizeof peer;
  int listener = listening(&name), connection = NONE;
  ENDS_WITH(EAGAIN, os_accept(listener, NULL, NULL, &connection));
  CHECK_EQUAL(connection, NONE);
  int caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ENDS_WITH(0, os_connect(caller, (struct sockaddr *)&name, sizeof name));
  ENDS_WITH(0, os_accept(listener, (struct sockaddr *)&peer, &length, &connection));
  CHECK_EQUAL(length, sizeof peer);
  CHECK(fcntl(connection, F_GETFD) >= 0);
  CHECK((fcntl(connection, F_GETFL) & O_NONBLOCK) != 0);
  CHECK((fcntl(connection, F_GETFD) & FD_CLOEXEC) != 0);
  close(connection);
  close(caller);
  close(listener); /* nobody has this port now */
  caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ENDS_WITH(ECONNREFUSED, os_connect(caller, (struct sockaddr *)&name, sizeof name));
  close(caller);
  caller = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  ENDS_WITH(EINPROGRESS, os_connect(caller, (struct sockaddr *)&name, sizeof name));
  int error;
  while ((error = os_connected(caller)) == EAGAIN) continue;
  CHECK_EQUAL(error, ECONNREFUSED);
  close(caller);
}

static int local_listener, interruptions;

/* The first one finds the queue full; the next ones make room. */
static void interrupt(int signo) {
  (void)signo;
  int connection = interruptions++ > 0 ? accept(local_listener, NULL, NULL) : -1;
  if (connection >= 0) close(connection);
}

/* In a process of its own, for the handler and the timer. @return 0, or which step failed. */
static int connect_beside_signals(void) {
  const struct itimerval often = {{0, 5000}, {0, 5000}};
  const struct sigaction action = {.sa_handler = interrupt}; /* without SA_RESTART */
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  socklen_t length = sizeof(sa_family_t); /* the kernel chooses a name */
  local_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (bind(local_listener, (struct sockaddr *)&name, length) != 0) return 1;
  length = sizeof name;
  if (getsockname(local_listener, (struct sockaddr *)&name, &length) != 0) return 2;
  if (listen(local_listener, 0) != 0) return 3;
  int first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int second = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (os_connect(first, (struct sockaddr *)&name, length) != 0) return 4;
  if (sigaction(SIGALRM, &action, NULL) != 0) return 5;
  if (setitimer(ITIMER_REAL, &often, NULL) != 0) return 6;
  if (os_connect(second, (struct sockaddr *)&name, length) != 0) return 7;
  return interruptions > 1 ? 0 : 8;
}

static void a_signal_does_not_end_the_wait_for_a_local_queue(void) {
  int status;
  pid_t child = fork();
  if (child == 0) _exit(connect_beside_signals());
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK_EQUAL(WEXITSTATUS(status), 0);
}

/* ---- memory */

static size_t page;

static bool is_readable(const char *address) {
  char byte;
  return os_peek(&byte, address, 1) == 1;
}

/* @return whether the kernel shows a flag of the mapping at an address: "dd": it is not in cores,
 * "nh": it gets no huge pages. */
static bool has_flag(const char *address, const char *flag) {
  char line[512];
  bool found = false, here = false;
  FILE *maps = fopen("/proc/self/smaps", "re");
  CHECK(maps != NULL);
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    char *low, *high;
    if (sscanf(line, "%p-%p ", (void **)&low, (void **)&high) == 2)
      here = address >= low && address < high;
    else if (here && strncmp(line, "VmFlags:", 8) == 0)
      found = strstr(line, flag) != NULL;
  }
  if (maps != NULL) fclose(maps);
  return found;
}

/* A core has no terabyte of stacks that nobody uses, and a stack has no page of 2 MiB. */
static void what_is_reserved_is_not_dumped(void) {
  enum { SPACE = 16 << 20 };
  if (EMULATED) skip(); /* the emulator shows its own mappings */
  bool has_huge = access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) == 0;
  page = os_page_size();
  char *space = os_reserve(SPACE);
  CHECK(space != NULL);
  CHECK(has_flag(space, " dd") && has_flag(space + SPACE - 1, " dd"));
  CHECK_EQUAL(has_flag(space, " nh"), has_huge);
  CHECK_EQUAL(os_commit(space, page), 0);
  CHECK(!has_flag(space, " dd") && has_flag(space + page, " dd"));
  CHECK_EQUAL(os_enable(space + page, page, false), 0);
  CHECK(has_flag(space + page, " dd"));
  os_show_in_cores(space + page, page);
  CHECK(!has_flag(space + page, " dd"));
  os_release(space, SPACE);
  space = os_map_memory(SPACE);
  CHECK_EQUAL(has_flag(space, " nh"), has_huge);
  os_unmap(space, SPACE);
  CHECK(!is_readable(space));
}

static void memory_is_there_before_its_first_access(void) {
  enum { POPULATE_WRITE = 23 }; /* advice of Linux 5.14 */
  unsigned char there[PAGES];
  if (EMULATED) skip(); /* the emulator takes no advice */
  page = os_page_size();
  char *space = os_reserve(PAGES * page);
  CHECK(space != NULL && os_enable(space, PAGES * page, false) == 0);
  bool known = madvise(space + 3 * page, page, POPULATE_WRITE) == 0;
  os_touch(space + 1, page); /* of two pages */
  CHECK_EQUAL(mincore(space, PAGES * page, there), 0);
  for (int i = 0; i < 3; i++) CHECK_EQUAL(there[i] & 1, known && i < 2);
  os_release(space, PAGES * page);
}

static void address_space_becomes_memory(void) {
  page = os_page_size();
  char *bad = (char *)page + 1; /* no page begins here */
  CHECK(os_reserve(0) == NULL);
  KEEPS_ERRNO(CHECK(os_reserve((size_t)1 << 62) == NULL));
  char *space = NULL;
  KEEPS_ERRNO(space = os_reserve(PAGES * page));
  CHECK(space != NULL && !is_readable(space));
  ENDS_WITH(0, os_commit(space, 2 * page));
  CHECK(is_readable(space) && !is_readable(space + 2 * page));
  ENDS_WITH(0, os_enable(space + 2 * page, page, true));
  CHECK(is_readable(space + 2 * page) && !is_readable(space + 3 * page));
  ENDS_WITH(ENOMEM, os_enable(bad, page, false));
  KEEPS_ERRNO(os_show_in_cores(bad, page));
  KEEPS_ERRNO(os_touch(space + 1, page));
  KEEPS_ERRNO(os_touch(bad, page));
  memset(space, 'x', 2 * page);
  KEEPS_ERRNO(os_trim(space, page));
  KEEPS_ERRNO(os_trim(bad, page));
  CHECK(space[0] == 0 && space[page] == 'x');
  ENDS_WITH(EINVAL, os_guard_light(bad, page));
  ENDS_WITH(ENOMEM, os_guard_mprotect(bad, page));
  ENDS_WITH(0, os_guard_mprotect(space, page));
  CHECK(!is_readable(space) && is_readable(space + page));
  KEEPS_ERRNO(CHECK(EMULATED || os_advice_is_checked(space, page)));
  char copy[2];
  ENDS_WITH(1, os_peek(copy, space + 3 * page - 1, 2)); /* the second byte is not there */
  ENDS_WITH(0, os_peek(copy, NULL, 2));
  ENDS_WITH(2, os_peek(copy, space + 2 * page - 1, 2)); /* in two pages */
  CHECK(copy[0] == 'x' && copy[1] == 0);
  KEEPS_ERRNO(os_release(space, PAGES * page));
  CHECK(!is_readable(space + page));
  KEEPS_ERRNO(os_release(bad, page));
}

static int limits_are_known(void) {
  struct rlimit limit = {1 << 20, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_STACK, &none);
  limit.rlim_max = none.rlim_max;
  if (setrlimit(RLIMIT_STACK, &limit) != 0 || os_stack_limit() != 1 << 20) return 1;
  getrlimit(RLIMIT_AS, &limit);
  if (limit.rlim_cur == RLIM_INFINITY && os_address_space_limit() != SIZE_MAX) return 2;
  limit.rlim_cur = (rlim_t)1 << 45;
  if (setrlimit(RLIMIT_AS, &limit) == 0 && os_address_space_limit() != (size_t)1 << 45) return 3;
  return 0;
}

static void a_mark_is_none_in_a_child(void) {
  if (EMULATED) skip(); /* qemu wipes nothing */
  int status;
  errno = EDOM;
  uint32_t *mark = os_process_mark();
  CHECK(mark != NULL && *mark == 1 && errno == EDOM);
  pid_t child = fork();
  if (child == 0) _exit(*mark == 0 ? 0 : 1);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  CHECK_EQUAL(*mark, 1);
  os_release(mark, os_page_size());
}

static void limits_of_the_process_are_known(void) {
  int status;
  if (EMULATED) skip(); /* the emulator sets none */
  pid_t child = fork();
  if (child == 0) _exit(limits_are_known());
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK_EQUAL(status, 0);
}

/* ---- files */

static void files_say_why_not(void) {
  char path[] = "/tmp/mltp-calls-XXXXXX", text[16];
  int made = mkstemp(path), fd = NONE;
  size_t size = NONE;
  uint64_t device = NONE, inode = NONE;
  struct stat status;
  CHECK_EQUAL(os_file_open("/no/such/file", &fd, &size), ENOENT);
  CHECK_EQUAL(os_file_open("/tmp", &fd, &size), EISDIR);
  CHECK(size == NONE && fcntl(fd, F_GETFD) == -1); /* it is closed again */
  uint64_t empty = os_file_stamp(made);
  CHECK_EQUAL(write(made, "12345", 5), 5);
  CHECK(os_file_stamp(made) != empty);
  CHECK_EQUAL(os_file_open(path, &fd, &size), 0);
  CHECK_EQUAL(size, 5);
  CHECK_EQUAL(os_file_read(fd, text, 4, 1), 0);
  CHECK(memcmp(text, "2345", 4) == 0);
  CHECK_EQUAL(os_file_read(fd, text, 5, 1), EIO); /* it ends before */
  CHECK_EQUAL(os_file_read(-1, text, 1, 0), EBADF);
  CHECK_EQUAL(os_file_stamp(-1), 0);
  CHECK_EQUAL(os_file_identity(-1, &device, &inode), EBADF);
  CHECK(device == NONE && inode == NONE);
  CHECK_EQUAL(os_file_identity(fd, &device, &inode), 0);
  CHECK(fstat(fd, &status) == 0 && device == status.st_dev && inode == status.st_ino);
  CHECK(!os_file_is_noexec(-1));
  const char *const mounted[] = {"/proc/self/stat", path};
  for (int i = 0; i < 2; i++) {
    struct statvfs system;
    int file = open(mounted[i], O_RDONLY | O_CLOEXEC);
    CHECK_EQUAL(fstatvfs(file, &system), 0);
    CHECK_EQUAL(os_file_is_noexec(file), (system.f_flag & ST_NOEXEC) != 0);
    close(file);
  }
  ENDS_WITH(0, os_read_text(path, text, 6));
  CHECK_TEXT(text, "12345");
  ENDS_WITH(EFBIG, os_read_text(path, text, 5)); /* no room for the end */
  CHECK_TEXT(text, "1234");
  ENDS_WITH(ENOENT, os_read_text("/no/such/file", text, sizeof text));
  ENDS_WITH(EISDIR, os_read_text("/tmp", text, sizeof text));
  os_file_close(fd);
  CHECK_EQUAL(fcntl(fd, F_GETFD), -1);
  CHECK_EQUAL(os_file_make("/no/such/folder/file", &fd), ENOENT);
  CHECK_EQUAL(os_file_make(path, &fd), 0);
  CHECK_EQUAL(os_file_identity(fd, &device, &inode), 0);
  CHECK(fstat(fd, &status) == 0 && status.st_size == 0);
  os_file_close(fd);
  void *space = os_map_memory(page);
  CHECK(space != NULL && os_map_memory((size_t)1 << 62) == NULL);
  CHECK_EQUAL(os_map_file(space, page, -1, 0, false), EBADF);
  os_unmap(space, page);
  close(made);
  unlink(path);
}

/* ---- events */

static void a_poller_reports_and_is_interrupted(void) {
  struct os_poller poller;
  struct epoll_event events[4];
  int ends[2], file = memfd_create("events", MFD_CLOEXEC);
  CHECK_EQUAL(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  ENDS_WITH(0, os_poller_make(&poller));
  ENDS_WITH(EPERM, os_poller_add(&poller, file, 1)); /* it is always ready */
  ENDS_WITH(EBADF, os_poller_add(&poller, -1, 1));
  ENDS_WITH(0, os_poller_add(&poller, ends[0], 1));
  ENDS_WITH(0, os_poller_wait(&poller, events, 4, 0));
  uint64_t soon = os_now() + 2000000;
  ENDS_WITH(0, os_poller_wait(&poller, events, 4, soon));
  CHECK(os_now() >= soon);
  ENDS_WITH(0, os_poller_add(&poller, ends[0], 2)); /* again: the later data count */
  CHECK_EQUAL(write(ends[1], "x", 1), 1);
  ENDS_WITH(1, os_poller_wait(&poller, events, 4, UINT64_MAX));
  CHECK_EQUAL(events[0].data.u64, 2);
  ENDS_WITH(0, os_poller_wait(&poller, events, 4, 0)); /* each change is reported once */
  KEEPS_ERRNO(os_poller_remove(&poller, ends[0]));
  KEEPS_ERRNO(os_poller_remove(&poller, ends[0]));
  CHECK_EQUAL(write(ends[1], "x", 1), 1);
  ENDS_WITH(0, os_poller_wait(&poller, events, 4, 0));
  KEEPS_ERRNO(os_poller_interrupt(&poller));
  for (int i = 0; i < 2; i++) { /* until it is reset */
    ENDS_WITH(1, os_poller_wait(&poller, events, 4, UINT64_MAX));
    CHECK_EQUAL(events[0].data.u64, OS_POLLER_WAKE);
  }
  KEEPS_ERRNO(os_poller_reset(&poller));
  KEEPS_ERRNO(os_poller_reset(&poller));
  ENDS_WITH(0, os_poller_wait(&poller, events, 4, 0));
  int before[2] = {poller.epoll, poller.wake};
  KEEPS_ERRNO(os_poller_free(&poller));
  CHECK(poller.epoll == -1 && poller.wake == -1);
  for (int i = 0; i < 2; i++) CHECK_EQUAL(fcntl(before[i], F_GETFD), -1);
  KEEPS_ERRNO(os_poller_free(&poller));
  for (int i = 0; i < 2; i++) close(ends[i]);
  close(file);
}

/* In a child: only `more` descriptors are left. @return 0, or what is wrong. */
static int make_poller_with(int more) {
  struct os_poller poller = {NONE, NONE};
  struct rlimit before, limit;
  int lowest = dup(STDERR_FILENO);
  close(lowest);
  if (getrlimit(RLIMIT_NOFILE, &before) != 0) return 1;
  limit = (struct rlimit){(rlim_t)(lowest + more), before.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
  errno = EDOM;
  int error = os_poller_make(&poller);
  bool kept = errno == EDOM;
  setrlimit(RLIMIT_NOFILE, &before);
  if (error != EMFILE || !kept) return 3;
  if (poller.epoll != -1 || poller.wake != -1) return 4;
  return fcntl(lowest, F_GETFD) == -1 ? 0 : 5; /* what was made is closed again */
}

static void a_poller_needs_two_descriptors(void) {
  for (int more = 0; more < 2; more++) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(make_poller_with(more));
    check_case("%d", more);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
  }
}

static void an_alarm_wakes_its_owner(void) {
  struct os_alarm alarm, none = {-1}, other = {STDERR_FILENO};
  KEEPS_ERRNO(os_alarm_make(&alarm));
  CHECK(alarm.fd > STDERR_FILENO);
  uint64_t begin = os_now(), ns = 2000000;
  ENDS_WITH(true, os_alarm_set(&alarm, ns));
  ENDS_WITH(true, os_alarm_wait(&alarm)); /* it hangs if none comes */
  CHECK(os_now() - begin >= ns);
  ENDS_WITH(true, os_alarm_wait(&alarm)); /* it stays due until it is set */
  ENDS_WITH(true, os_alarm_set(&alarm, 0));
  CHECK_EQUAL(poll(&(struct pollfd){.fd = alarm.fd, .events = POLLIN}, 1, 0), 0);
  ENDS_WITH(false, os_alarm_set(&none, ns));
  ENDS_WITH(false, os_alarm_set(&other, ns)); /* what a program has opened there */
  KEEPS_ERRNO(os_alarm_free(&alarm));
  CHECK_EQUAL(alarm.fd, -1);
  KEEPS_ERRNO(os_alarm_free(&alarm));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(descriptors_have_kinds),
      TEST_BARE(transfers_say_why_not),
      TEST_BARE(an_end_is_no_error),
      TEST_BARE(number_0_is_a_descriptor),
      TEST_BARE(messages_have_addresses),
      TEST_BARE(connections_say_why_not),
      TEST_BARE(a_signal_does_not_end_the_wait_for_a_local_queue),
      TEST_BARE(address_space_becomes_memory),
      TEST_BARE(what_is_reserved_is_not_dumped),
      TEST_BARE(memory_is_there_before_its_first_access),
      TEST_BARE(a_mark_is_none_in_a_child),
      TEST_BARE(limits_of_the_process_are_known),
      TEST_BARE(files_say_why_not),
      TEST_BARE(a_poller_reports_and_is_interrupted),
      TEST_BARE(a_poller_needs_two_descriptors),
      TEST_BARE(an_alarm_wakes_its_owner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
