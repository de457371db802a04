/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on sockets and pipes: each way in which one ends has its own value, and errno stays. */
#define _GNU_SOURCE /* the headers of src/os want it */
#include <fcntl.h>
#include <mltp/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fifo.h"
#include "os/os.h"
#include "os/unix.h"
#include "support/support.h"

static struct os_socket socket_of(int fd) {
  struct stat status;
  CHECK_EQUAL(fstat(fd, &status), 0);
  return (struct os_socket){fd, status.st_dev, status.st_ino};
}

static void a_receive_ends_in_each_way(void) {
  int ends[2], fds[OS_DESCRIPTORS], got = 0, sent = 7;
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  struct os_socket ours = socket_of(ends[0]), theirs = socket_of(ends[1]);
  errno = EINTR; /* another call's */
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 0, fds), EAGAIN);
  CHECK_EQUAL(os_unix_send(&theirs, &sent, sizeof sent), 0);
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 1000, fds), 0);
  CHECK_EQUAL(got, 7);
  for (int i = 0; i < OS_DESCRIPTORS; i++) CHECK_EQUAL(fds[i], -1);
  CHECK_EQUAL(os_unix_send(&theirs, &sent, 1), 0);
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 0, fds), EPROTO);
  os_unix_close(&theirs);
  CHECK_EQUAL(theirs.fd, -1);
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 0, fds), ECONNRESET);
  CHECK_EQUAL(os_unix_send(&ours, &sent, sizeof sent), EPIPE);
  CHECK_EQUAL(dup2(STDERR_FILENO, ours.fd), ours.fd); /* as a program that closes all descriptors */
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 0, fds), EBADF);
  CHECK_EQUAL(os_unix_send(&ours, &sent, sizeof sent), EBADF);
  CHECK_EQUAL(errno, EINTR);
  close(ours.fd);
}

static void a_message_brings_descriptors(void) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control = {.bytes = ""};
  int ends[2], fds[OS_DESCRIPTORS], got = 0;
  char byte = 'x';
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  struct os_socket ours = socket_of(ends[0]);
  struct iovec part = {&byte, 1};
  struct msghdr header = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.align = (struct cmsghdr){
      .cmsg_len = CMSG_LEN(sizeof got), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.align), &ends[1], sizeof ends[1]);
  CHECK_EQUAL(sendmsg(ends[1], &header, 0), 1);
  byte = 0;
  CHECK_EQUAL(os_unix_receive(&ours, &byte, 1, 1000, fds), 0);
  CHECK_EQUAL(byte, 'x');
  CHECK(fds[0] >= 0 && (fcntl(fds[0], F_GETFD) & FD_CLOEXEC) != 0);
  for (int i = 1; i < OS_DESCRIPTORS; i++) CHECK_EQUAL(fds[i], -1);
  for (int i = 0; i < 2; i++) close(ends[i]);
  close(fds[0]);
}

/* A message may bring more of them than there is room for. */
static void further_descriptors_are_left_out(void) {
  enum { SENT = OS_DESCRIPTORS + 1 };
  union {
    char bytes[CMSG_SPACE(SENT * sizeof(int))];
    struct cmsghdr align;
  } control;
  int ends[2], fds[OS_DESCRIPTORS], lowest = dup(STDERR_FILENO);
  char byte = 'x';
  close(lowest);
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  struct os_socket ours = socket_of(ends[0]);
  struct iovec part = {&byte, 1};
  for (int sent = 1; sent <= (EMULATED ? OS_DESCRIPTORS : SENT); sent++) {
    size_t bytes = (size_t)sent * sizeof(int);
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};
    header.msg_controllen = CMSG_SPACE(bytes);
    memset(&control, 0, sizeof control);
    control.align = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    for (int i = 0; i < sent; i++)
      memcpy(CMSG_DATA(&control.align) + (size_t)i * sizeof(int), &ends[1], sizeof(int));
    check_case("%d", sent);
    CHECK_EQUAL(sendmsg(ends[1], &header, 0), 1);
    CHECK_EQUAL(os_unix_receive(&ours, &byte, 1, 1000, fds), 0);
    for (int i = 0; i < OS_DESCRIPTORS; i++) {
      CHECK_EQUAL(fds[i] >= 0, i < sent);
      if (fds[i] >= 0) CHECK(socket_of(fds[i]).inode == socket_of(ends[1]).inode);
      if (fds[i] >= 0) close(fds[i]);
    }
  }
  for (int i = 0; i < 2; i++) close(ends[i]);
  CHECK_EQUAL(dup(STDERR_FILENO), lowest); /* none is left open */
  close(lowest);
}

/* The kernel says of each sender which process it is, if that was asked for. */
static void other_additions_bring_no_descriptors(void) {
  int ends[2], fds[OS_DESCRIPTORS], got = 0, sent = 7, on = 1;
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  struct os_socket ours = socket_of(ends[0]), theirs = socket_of(ends[1]);
  CHECK_EQUAL(setsockopt(ours.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
  CHECK_EQUAL(os_unix_send(&theirs, &sent, sizeof sent), 0);
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 0, fds), 0);
  CHECK_EQUAL(got, 7);
  for (int i = 0; i < OS_DESCRIPTORS; i++) CHECK_EQUAL(fds[i], -1);
  os_unix_close(&ours);
  os_unix_close(&theirs);
}

/* @return the state of a process, as the kernel shows it: 'S' where it sleeps. */
static char state_of(pid_t process) {
  char path[64], state = '?';
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *stat = fopen(path, "re");
  if (stat == NULL) return '?';
  if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = '?';
  fclose(stat);
  return state;
}

static void a_receive_waits_for_a_message(void) {
  int ends[2], fds[OS_DESCRIPTORS], got = 0, sent = 7, status = 0;
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  struct os_socket ours = socket_of(ends[0]), theirs = socket_of(ends[1]);
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    while (state_of(parent) == 'R') continue; /* until it waits */
    _exit(os_unix_send(&theirs, &sent, sizeof sent));
  }
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 600 * 1000, fds), 0);
  CHECK_EQUAL(got, 7);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  os_unix_close(&ours);
  os_unix_close(&theirs);
}

/* ---- daemons */

static char folder[] = "/tmp/mltp-descriptors-XXXXXX";
static char place[sizeof folder + 8];

/* @return a socket that listens at a path, or may. */
static int daemon_at(const char *path, bool listens) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0);
  if (fd < 0) return fd;
  strncpy(name.sun_path, path, sizeof name.sun_path - 1);
  CHECK_EQUAL(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
  if (listens) CHECK_EQUAL(listen(fd, 1), 0);
  return fd;
}

static void connect_and_look(void) {
  struct os_socket to = {.fd = -7};
  int daemon = daemon_at(place, true);
  errno = EDOM;
  CHECK_EQUAL(os_unix_connect(place, &to), 0);
  CHECK_EQUAL(errno, EDOM);
  CHECK(to.fd > STDERR_FILENO && (fcntl(to.fd, F_GETFL) & O_NONBLOCK) != 0);
  CHECK((fcntl(to.fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(socket_of(to.fd).inode == to.inode && socket_of(to.fd).device == to.device);
  CHECK(os_socket_is_ours(&to));
  struct os_socket other = to;
  other.inode++;
  CHECK(!os_socket_is_ours(&other));
  other = to;
  other.device++;
  CHECK(!os_socket_is_ours(&other));
  other.fd = -1;
  CHECK(!os_socket_is_ours(&other));
  CHECK_EQUAL(errno, EDOM);
  other.fd = to.fd;
  int kept = to.fd;
  os_unix_close(&other); /* which it does not have */
  CHECK(other.fd == -1 && fcntl(kept, F_GETFD) >= 0);
  os_unix_close(&to);
  CHECK(to.fd == -1 && fcntl(kept, F_GETFD) == -1);
  os_unix_close(&to);
  CHECK_EQUAL(errno, EBADF); /* of fcntl() */
  close(daemon);
}

/* In a child: the daemon of another user than root. @return 0, or what is wrong. */
static int serve_another_user(void) {
  enum { NOBODY = 65534 };
  struct os_socket to;
  if (chmod(folder, 0777) != 0 || seteuid(NOBODY) != 0) return 77;
  int daemon = daemon_at(place, true);
  struct os_socket own = {.fd = -1};
  int by_itself = os_unix_connect(place, &own);
  if (seteuid(0) != 0) return 1;
  if (by_itself != 0 || os_unix_connect(place, &to) != EACCES) return 2;
  close(daemon);
  unlink(place);
  daemon = daemon_at(place, true); /* root's */
  chmod(place, 0777);
  if (seteuid(NOBODY) != 0 || os_unix_connect(place, &to) != 0) return 3;
  close(daemon);
  return 0;
}

/* In a child: no descriptor is left, or standard input is closed. @return 0, or what is wrong. */
static int connect_at_the_limit(void) {
  struct os_socket to = {.fd = -7};
  int lowest = dup(STDERR_FILENO);
  struct rlimit before, limit;
  close(lowest);
  close(STDIN_FILENO);
  if (os_unix_connect(place, &to) != 0 || to.fd <= STDERR_FILENO) return 1;
  os_unix_close(&to);
  if (open("/dev/null", O_RDONLY) != STDIN_FILENO || getrlimit(RLIMIT_NOFILE, &before) != 0)
    return 2;
  limit = (struct rlimit){(rlim_t)lowest, before.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;
  errno = EDOM;
  bool refused = os_unix_connect(place, &to) == EMFILE && to.fd == -1 && errno == EDOM;
  setrlimit(RLIMIT_NOFILE, &before);
  return refused ? 0 : 4;
}

/* @return the lowest number that the library would use. */
static int lowest_of_ours(void) {
  int fd = os_descriptor_raise(dup(STDERR_FILENO));
  close(fd);
  return fd;
}

static int ended_with(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void a_daemon_is_found_at_its_path(void) {
  struct os_socket to = {.fd = -7};
  char longest[sizeof((struct sockaddr_un *)0)->sun_path + 1];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(place, sizeof place, "%s/socket", folder);
  memset(longest, 'x', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  errno = EDOM;
  CHECK_EQUAL(os_unix_connect(longest, &to), ENAMETOOLONG);
  longest[sizeof longest - 2] = '\0';
  CHECK_EQUAL(os_unix_connect(longest, &to), ENOENT);
  CHECK_EQUAL(os_unix_connect(place, &to), ENOENT);
  CHECK_EQUAL(os_unix_connect(folder, &to), ECONNREFUSED);
  int daemon = daemon_at(place, false);
  errno = EDOM;
  int lowest = lowest_of_ours();
  CHECK_EQUAL(os_unix_connect(place, &to), ECONNREFUSED);
  CHECK_EQUAL(errno, EDOM);
  CHECK_EQUAL(to.fd, -7);
  CHECK_EQUAL(lowest_of_ours(), lowest); /* none is left open */
  close(daemon);
  unlink(place);
  connect_and_look();
  unlink(place);
  daemon = daemon_at(place, true);
  pid_t child = fork();
  if (child == 0) _exit(connect_at_the_limit());
  CHECK_EQUAL(ended_with(child), 0);
  close(daemon);
  unlink(place);
  child = fork();
  if (child == 0) _exit(geteuid() == 0 ? serve_another_user() : 77);
  int end = ended_with(child);
  CHECK(end == 0 || end == 77);
  unlink(place);
  rmdir(folder);
}

/* A page that its owner could take away is none. */
static void pages_are_sealed(void) {
  enum { SIZE = 4096, SHRINK = F_SEAL_SHRINK, GROW = F_SEAL_GROW };
  static const struct {
    int seals, error;
    size_t size;
    bool writable;
  } rows[] = {
      {0, EPERM, SIZE, false},   {GROW, EPERM, SIZE, false}, {SHRINK, EPERM, SIZE + 1, false},
      {SHRINK, 0, SIZE, false},  {SHRINK, 0, SIZE, true},    {SHRINK | GROW, 0, SIZE - 1, true},
      {SHRINK, EINVAL, 0, true},
  };
  int ends[2];
  void *page = NULL;
  if (EMULATED) skip(); /* the emulator knows no seals */
  CHECK_EQUAL(pipe(ends), 0);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING), other = dup(fd);
    void *before = page;
    check_case("row %zu", i);
    CHECK_EQUAL(ftruncate(fd, SIZE), 0);
    CHECK_EQUAL(fcntl(fd, F_ADD_SEALS, rows[i].seals), 0);
    errno = EDOM;
    CHECK_EQUAL(os_page_attach(fd, rows[i].size, rows[i].writable, &page), rows[i].error);
    CHECK_EQUAL(errno, EDOM);
    CHECK_EQUAL(fcntl(fd, F_GETFD), -1); /* it is closed */
    CHECK(page == before || (before == NULL && rows[i].error == 0));
    if (rows[i].error == 0) {
      CHECK(page != NULL); /* where root may have a page */
      CHECK_EQUAL(pwrite(other, "a", 1, 0), 1);
      CHECK_EQUAL(*(volatile char *)page, 'a'); /* what the others write */
      CHECK_EQUAL(write(ends[1], "b", 1), 1);
      errno = 0;
      CHECK_EQUAL(read(ends[0], page, 1), rows[i].writable ? 1 : -1);
      CHECK_EQUAL(errno, rows[i].writable ? 0 : EFAULT);
      char byte = 0;
      CHECK_EQUAL(pread(other, &byte, 1, 0), 1);
      CHECK_EQUAL(byte, rows[i].writable ? 'b' : 'a');
      if (!rows[i].writable) CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    }
    close(other);
  }
  int none = dup(ends[0]); /* no file */
  CHECK_EQUAL(os_page_attach(none, SIZE, false, &page), EPERM);
  for (int i = 0; i < 2; i++) close(ends[i]);
  munmap(page, SIZE);
}

static void the_programs_name_is_cut(void) {
  char name[64], expected[64];
  for (size_t size = 1; size <= sizeof name; size += size < 8 ? 1 : 8) {
    memset(name, 'x', sizeof name);
    os_program_name(name, size);
    snprintf(expected, size, "%s", program_invocation_short_name);
    check_case("%zu", size);
    CHECK_TEXT(name, expected);
    for (size_t i = strlen(name); i < size; i++) CHECK_EQUAL(name[i], 0);
    for (size_t i = size; i < sizeof name; i++) CHECK_EQUAL(name[i], 'x');
  }
}

/* ---- jobservers */

static void a_fifo_is_opened_by_its_name(void) {
  char path[] = "/tmp/mltp-fifo-XXXXXX", byte = 0;
  struct os_socket fifo = {.fd = -7};
  int made = mkstemp(path);
  errno = EDOM;
  CHECK_EQUAL(os_fifo_open("/no/such/fifo", &fifo), ENOENT);
  CHECK_EQUAL(os_fifo_open(path, &fifo), EINVAL);
  CHECK_EQUAL(errno, EDOM);
  CHECK_EQUAL(fifo.fd, -7);
  unlink(path);
  close(made);
  CHECK_EQUAL(mkfifo(path, 0600), 0);
  errno = EDOM;
  CHECK_EQUAL(os_fifo_open(path, &fifo), 0);
  CHECK_EQUAL(os_fifo_take(&fifo, &byte), EAGAIN);
  CHECK_EQUAL(os_fifo_give(&fifo, 'x'), 0);
  CHECK_EQUAL(os_fifo_take(&fifo, &byte), 0);
  CHECK_EQUAL(byte, 'x');
  CHECK_EQUAL(errno, EDOM);
  CHECK((fcntl(fifo.fd, F_GETFD) & FD_CLOEXEC) != 0);
  fcntl(fifo.fd, F_SETPIPE_SZ, 4096);
  while (os_fifo_give(&fifo, 'x') == 0) continue; /* until it is full */
  CHECK_EQUAL(os_fifo_give(&fifo, 'x'), EAGAIN);
  os_unix_close(&fifo);
  CHECK_EQUAL(os_fifo_give(&fifo, 'x'), EBADF);
  unlink(path);
}

/* A jobserver's tokens are never taken from a program's input, nor from its messages. */
static void a_jobserver_is_no_standard_stream(void) {
  struct os_socket fifo;
  int ends[2], kept = dup(STDERR_FILENO), other[2], result[2];
  char byte = 0;
  CHECK(kept > STDERR_FILENO);
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(pipe(other), 0);
  CHECK_EQUAL(os_fifo_reopen(ends[0], ends[1], &fifo), 0);
  CHECK_EQUAL(os_fifo_take(&fifo, &byte), EAGAIN);
  CHECK_EQUAL(os_fifo_give(&fifo, 'x'), 0);
  CHECK_EQUAL(os_fifo_take(&fifo, &byte), 0);
  CHECK_EQUAL(byte, 'x');
  os_unix_close(&fifo);
  CHECK_EQUAL(os_fifo_take(&fifo, &byte), EBADF);
  CHECK_EQUAL(os_fifo_reopen(ends[0], ends[0], &fifo), EBADF);
  CHECK_EQUAL(os_fifo_reopen(ends[0], other[1], &fifo), EBADF);
  dup2(ends[1], STDERR_FILENO);
  result[0] = os_fifo_reopen(ends[0], STDERR_FILENO, &fifo);
  dup2(ends[0], STDERR_FILENO);
  result[1] = os_fifo_reopen(STDERR_FILENO, ends[1], &fifo);
  if (kept >= 0) dup2(kept, STDERR_FILENO);
  for (int i = 0; i < 2; i++) CHECK_EQUAL(result[i], EBADF);
  for (int i = 0; i < 2; i++) {
    close(ends[i]);
    close(other[i]);
  }
  close(kept);
}

/* A socket that is not writable yet is not connected yet. */
static void a_connection_is_there_once_it_is_writable(void) {
  static char zeroes[1 << 16];
  int ends[2];
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  CHECK_EQUAL(os_connected(ends[0]), 0);
  while (send(ends[0], zeroes, sizeof zeroes, MSG_NOSIGNAL) > 0) continue;
  errno = EINTR;
  CHECK_EQUAL(os_connected(ends[0]), EAGAIN);
  while (recv(ends[1], zeroes, sizeof zeroes, 0) > 0) continue;
  errno = EINTR;
  CHECK_EQUAL(os_connected(ends[0]), 0);
  for (int i = 0; i < 2; i++) close(ends[i]);
  CHECK_EQUAL(os_connected(ends[0]), EBADF);
  CHECK_EQUAL(errno, EINTR);
}

/* ---- numbers of the standard streams that are closed */

enum { NUMBERS = 3, LOOKS = 1000, NAP_US = 1000 };

static void close_some(int which) {
  for (int fd = 0; fd < NUMBERS; fd++)
    if (which >> fd & 1) close(fd);
}

/* @return 0, or what is wrong. */
static int look_at_filled(int which) {
  char byte = 0;
  for (int fd = 0; fd < NUMBERS; fd++) {
    bool was_closed = (which >> fd & 1) != 0;
    int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || (was_closed && (flags & FD_CLOEXEC) == 0)) return 1;
    errno = 0;
    ssize_t moved = fd == STDIN_FILENO ? read(fd, &byte, 1) : write(fd, &byte, 0);
    if (was_closed && (moved != -1 || errno != EBADF)) return 2;
    if (!was_closed && moved != 0) return 3;
  }
  return open("/dev/null", O_RDONLY) >= NUMBERS ? 0 : 4;
}

static void closed_standard_descriptors_are_filled(void) {
  int null = open("/dev/null", O_RDWR);
  for (int which = 0; which < 1 << NUMBERS; which++) {
    pid_t child = fork();
    if (child == 0) {
      for (int fd = 0; null >= 0 && fd < NUMBERS; fd++) dup2(null, fd);
      close_some(which);
      os_descriptors_fill();
      _exit(look_at_filled(which));
    }
    check_case("closed: %d", which);
    CHECK_EQUAL(ended_with(child), 0);
  }
  close(null);
}

/* A VP that begins reads a file: its number is taken for a moment. */
static bool stays(int fd) {
  for (int look = 0; look < LOOKS; look++) {
    if (fcntl(fd, F_GETFD) == -1) return false;
    usleep(NAP_US);
  }
  return true;
}

/* Nothing of the runtime's gets such a number: the program would write to it. */
static int start_without_streams(void) {
  int ends[2];
  char byte;
  size_t count;
  if (pipe(ends) != 0) return 1;
  setenv("MLTP_SCHEDULE_LOG", "/dev/null", 1);
  close_some((1 << NUMBERS) - 1);
  if (mltp_init(2) != 0) return 2;
  /* it waits, for which the runtime has descriptors */
  if (mltp_io_read_timed(ends[0], &byte, 1, &count, mltp_after(1000000)) != ETIMEDOUT) return 3;
  for (int fd = 0; fd < NUMBERS; fd++)
    if (stays(fd)) return 10 + fd;
  return mltp_finalize() == 0 ? 0 : 5;
}

static void the_runtime_keeps_off_their_numbers(void) {
  for (int few = 0; few < 2; few++) {
    pid_t child = fork();
    if (child == 0) {
      struct rlimit limit = {64, 64}; /* there is no high number */
      if (few && setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(9);
      _exit(start_without_streams());
    }
    check_case("few: %d", few);
    CHECK_EQUAL(ended_with(child), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_receive_ends_in_each_way),
      TEST_BARE(a_message_brings_descriptors),
      TEST_BARE(further_descriptors_are_left_out),
      TEST_BARE(other_additions_bring_no_descriptors),
      TEST_BARE(a_receive_waits_for_a_message),
      TEST_BARE(a_daemon_is_found_at_its_path),
      TEST_BARE(pages_are_sealed),
      TEST_BARE(the_programs_name_is_cut),
      TEST_BARE(a_fifo_is_opened_by_its_name),
      TEST_BARE(a_jobserver_is_no_standard_stream),
      TEST_BARE(a_connection_is_there_once_it_is_writable),
      TEST_BARE(closed_standard_descriptors_are_filled),
      TEST_BARE(the_runtime_keeps_off_their_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
