/* SPDX-License-Identifier: Apache-2.0 */
/* Each call that makes a descriptor, or does something to one, with a number that is the rank's
 * own: the kernel has another number for it. Odd ranks do so. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <termios.h>
#include <unistd.h>

#include "check.h"

enum { OWN = STDOUT_FILENO, SECOND = STDIN_FILENO };

static int rank;
static char path[64];
static volatile size_t one = 1, two = 2; /* so that the compiler calls the forms that check */

/* @return a copy of the descriptor of before, whose number is free now. */
static int put_away(int fd) {
  int saved = fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
  CHECK(saved > STDERR_FILENO && close(fd) == 0);
  return saved;
}

static void put_back(int saved, int fd) { CHECK(dup2(saved, fd) == fd && close(saved) == 0); }

/* The descriptor has the rank's number, and is closed again. */
#define MADE(call) CHECK((call) == OWN && close(OWN) == 0)

static void check_makers(void) {
  int saved = put_away(OWN), folder = open("/tmp", O_RDONLY | O_DIRECTORY);
  char made[] = "/tmp/numbers-XXXXXX", suffixed[] = "/tmp/numbers-XXXXXX.c", name[64];
  sigset_t set;
  CHECK(folder == OWN);
  folder = fcntl(OWN, F_DUPFD, STDERR_FILENO + 1);
  CHECK(folder > STDERR_FILENO && close(OWN) == 0);
  MADE(creat(path, 0600));
  MADE(openat(folder, path + strlen("/tmp/"), O_RDWR));
  MADE(openat(folder, path + strlen("/tmp/"), (int)(O_RDWR + one - 1)));
  MADE(open(path, (int)(O_RDWR + one - 1)));
  MADE(eventfd(0, 0));
  MADE(timerfd_create(CLOCK_MONOTONIC, 0));
  MADE(inotify_init());
  MADE(inotify_init1(IN_CLOEXEC));
  MADE(epoll_create(1));
  MADE(memfd_create("numbers", 0));
  snprintf(name, sizeof name, "/numbers.%d.%d", (int)getpid(), rank);
  MADE(shm_open(name, O_RDWR | O_CREAT, 0600));
  CHECK(shm_unlink(name) == 0);
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  CHECK(terminal == OWN || terminal == -1); /* there may be no /dev/ptmx */
  if (terminal == OWN) CHECK(close(OWN) == 0);
  MADE(mkostemp(made, O_CLOEXEC));
  CHECK(unlink(made) == 0);
  MADE(mkstemps(suffixed, 2));
  CHECK(unlink(suffixed) == 0);
  memset(strchr(suffixed, '-') + 1, 'X', 6);
  MADE(mkostemps(suffixed, 2, O_CLOEXEC));
  CHECK(unlink(suffixed) == 0);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  CHECK(signalfd(-1, &set, 0) == OWN && signalfd(OWN, &set, 0) == OWN && close(OWN) == 0);
  int null = open("/dev/null", O_RDWR);
  CHECK(null == OWN && dup3(null, SECOND, O_CLOEXEC) == SECOND && close(SECOND) == 0);
  CHECK(open("/dev/null", O_RDONLY) == SECOND);
  CHECK(close(OWN) == 0 && close(folder) == 0);
  put_back(saved, OWN);
}

/* The file has 8 bytes, and its number is the rank's own. */
static void check_file(void) {
  struct stat status;
  struct statfs system;
  struct statvfs volume;
  char text[8] = "", name[64];
  struct iovec parts[2] = {{text, 2}, {text + 4, 2}};
  const struct timespec times[2] = {{100, 0}, {200, 0}};
  const struct timeval micro[2] = {{300, 0}, {400, 0}};
  int saved = put_away(OWN);
  CHECK(open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) == OWN);
  CHECK(write(OWN, "abcdefgh", 8) == 8 && lseek(OWN, 1, SEEK_SET) == 1);
  CHECK(readv(OWN, parts, 2) == 4 && memcmp(text, "bc\0\0de", 6) == 0);
  CHECK(preadv(OWN, parts, 2, 4) == 4 && memcmp(text, "ef\0\0gh", 6) == 0);
  CHECK(pwritev(OWN, parts, 2, 0) == 4 && pread(OWN, text, two, 2) == 2 && text[0] == 'g');
  CHECK(lseek(OWN, 4, SEEK_SET) == 4 && writev(OWN, parts, 2) == 4 && lseek(OWN, 0, SEEK_CUR) == 8);
  CHECK(pread(OWN, text, two, 4) == 2 && memcmp(text, "gh", 2) == 0);
  CHECK(lseek(OWN, 7, SEEK_SET) == 7 && read(OWN, text, two) == 1 && text[0] == 'h');
  CHECK(fsync(OWN) == 0 && fdatasync(OWN) == 0 && posix_fadvise(OWN, 0, 0, POSIX_FADV_NORMAL) == 0);
  CHECK(posix_fallocate(OWN, 0, 100) == 0 && fstat(OWN, &status) == 0 && status.st_size == 100);
  CHECK(fallocate(OWN, 0, 0, 200) == 0 || errno == EOPNOTSUPP);
  CHECK(ftruncate(OWN, 50) == 0 && fstat(OWN, &status) == 0 && status.st_size == 50);
  CHECK(fstatfs(OWN, &system) == 0 && system.f_bsize > 0);
  CHECK(fstatvfs(OWN, &volume) == 0 && volume.f_bsize > 0 && fpathconf(OWN, _PC_NAME_MAX) > 0);
  CHECK(fchmod(OWN, 0400) == 0 && fchown(OWN, getuid(), getgid()) == 0);
  CHECK(futimens(OWN, times) == 0 && stat(path, &status) == 0 && status.st_mtime == 200);
  CHECK(futimes(OWN, micro) == 0 && stat(path, &status) == 0 && status.st_mtime == 400);
  CHECK((status.st_mode & 0777) == 0400 && isatty(OWN) == 0 && errno == ENOTTY);
  CHECK(ttyname_r(OWN, name, sizeof name) == ENOTTY);
  CHECK(close(OWN) == 0);
  put_back(saved, OWN);
}

/* From one number of the rank's to another one. */
static void check_copies(void) {
  int ends[2], in = put_away(SECOND), out = put_away(OWN);
  off_t from = 0, to = 2;
  char text[16] = "";
  CHECK(open(path, O_RDWR | O_CREAT | O_TRUNC | O_EXCL, 0600) == -1 && errno == EEXIST);
  CHECK(unlink(path) == 0 && open(path, O_RDWR | O_CREAT | O_EXCL, 0600) == SECOND);
  CHECK(write(SECOND, "0123456789", 10) == 10 && memfd_create("copy", 0) == OWN);
  CHECK(sendfile(OWN, SECOND, &from, 4) == 4 && from == 4);
  ssize_t copied = copy_file_range(SECOND, &from, SECOND, &to, 2, 0);
  CHECK(copied == 2 || (copied == -1 && (errno == EOPNOTSUPP || errno == EINVAL)));
  CHECK(pread(OWN, text, sizeof text, 0) == 4 && memcmp(text, "0123", 4) == 0 && close(OWN) == 0);
  CHECK(pipe2(ends, O_CLOEXEC) == 0 && ends[0] == OWN && ends[1] > STDERR_FILENO);
  from = 7;
  CHECK(splice(SECOND, &from, ends[1], NULL, 3, 0) == 3);
  CHECK(read(OWN, text, sizeof text) == 3 && memcmp(text, "789", 3) == 0);
  CHECK(close(OWN) == 0 && close(SECOND) == 0 && close(ends[1]) == 0);
  put_back(in, SECOND);
  put_back(out, OWN);
}

/* The rank listens by one number, and has the connection by another one. */
static void check_sockets(void) {
  int in = put_away(SECOND), out = put_away(OWN), on = 1, got = 0;
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}}, peer;
  socklen_t size = sizeof name, size_of_int = sizeof got;
  char text[4] = "";
  struct iovec part = {text, 2};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  CHECK(socket(AF_INET, SOCK_STREAM, 0) == SECOND);
  CHECK(setsockopt(SECOND, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
  CHECK(getsockopt(SECOND, SOL_SOCKET, SO_REUSEADDR, &got, &size_of_int) == 0 && got != 0);
  CHECK(bind(SECOND, (struct sockaddr *)&name, sizeof name) == 0 && listen(SECOND, 1) == 0);
  CHECK(getsockname(SECOND, (struct sockaddr *)&name, &size) == 0 && name.sin_port != 0);
  int other = fcntl(SECOND, F_DUPFD, STDERR_FILENO + 1), listener = other;
  CHECK(socket(AF_INET, SOCK_STREAM, 0) == OWN);
  other = fcntl(OWN, F_DUPFD, STDERR_FILENO + 1);
  CHECK(connect(OWN, (struct sockaddr *)&name, sizeof name) == 0 && close(OWN) == 0);
  CHECK(accept4(SECOND, NULL, NULL, SOCK_CLOEXEC) == OWN && close(SECOND) == 0);
  CHECK(getpeername(OWN, (struct sockaddr *)&peer, &size) == 0);
  CHECK(peer.sin_addr.s_addr == name.sin_addr.s_addr && ioctl(OWN, FIONREAD, &got) == 0);
  CHECK(sendto(other, "ab", 2, 0, NULL, 0) == 2 && recvfrom(OWN, text, 2, 0, NULL, NULL) == 2);
  CHECK(sendto(OWN, text, 2, 0, NULL, 0) == 2 && recv(other, text + 2, two, 0) == 2);
  CHECK(memcmp(text, "abab", 4) == 0 && sendmsg(OWN, &message, 0) == 2 &&
        recv(other, text, 1, 0) == 1);
  CHECK(send(other, "cd", 2, 0) == 2 && recvmsg(OWN, &message, 0) == 2 && text[1] == 'd');
  CHECK(send(other, "e", 1, 0) == 1 && recv(OWN, text, one, 0) == 1 && text[0] == 'e');
  CHECK(close(OWN) == 0 && close(other) == 0 && close(listener) == 0);
  put_back(in, SECOND);
  put_back(out, OWN);
}

static void check_waits(void) {
  int end, saved = put_away(OWN), ends[2];
  const struct timespec now = {0, 0};
  fd_set reads, writes;
  CHECK(pipe(ends) == 0 && ends[0] == OWN);
  end = ends[1];
  struct pollfd asked[2] = {{.fd = OWN, .events = POLLIN}, {.fd = end, .events = POLLOUT}};
  CHECK(ppoll(asked, 2, &now, NULL) == 1 && asked[1].revents == POLLOUT && asked[0].fd == OWN);
  CHECK(write(end, "x", 1) == 1 && poll(asked, (nfds_t)two, 0) == 2 && asked[0].fd == OWN);
  FD_ZERO(&reads);
  FD_ZERO(&writes);
  FD_SET(OWN, &reads);
  FD_SET(end, &writes);
  CHECK(pselect(end + 1, &reads, &writes, NULL, &now, NULL) == 2);
  CHECK(FD_ISSET(OWN, &reads) && FD_ISSET(end, &writes));
  CHECK(read(OWN, &(char){0}, 1) == 1);
  FD_SET(OWN, &reads);
  CHECK(pselect(OWN + 1, &reads, NULL, NULL, &now, NULL) == 0 && !FD_ISSET(OWN, &reads));
  CHECK(close(OWN) == 0);
  FD_SET(OWN, &reads);
  CHECK(pselect(OWN + 1, &reads, NULL, NULL, &now, NULL) == -1 && errno == EBADF);
  CHECK(close(end) == 0);
  put_back(saved, OWN);
}

static void check_terminal(void) {
  struct termios state;
  struct winsize window = {.ws_row = 7, .ws_col = 9};
  char name[64];
  int saved = put_away(OWN), master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master == OWN) master = fcntl(OWN, F_DUPFD, STDERR_FILENO + 1);
  close(OWN);
  if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 &&
      ptsname_r(master, name, sizeof name) == 0 && open(name, O_RDWR | O_NOCTTY) == OWN) {
    char found[64];
    CHECK(isatty(OWN) == 1 && ttyname_r(OWN, found, sizeof found) == 0 && strcmp(name, found) == 0);
    CHECK(ioctl(OWN, TIOCSWINSZ, &window) == 0 && tcgetattr(OWN, &state) == 0);
    state.c_lflag &= ~(tcflag_t)ECHO;
    CHECK(tcsetattr(OWN, TCSANOW, &state) == 0 && tcgetattr(OWN, &state) == 0);
    CHECK((state.c_lflag & ECHO) == 0 && tcgetpgrp(OWN) == -1 && errno == ENOTTY);
    CHECK(close(OWN) == 0);
  }
  if (master >= 0) close(master);
  put_back(saved, OWN);
}

static void print_listed(int fd, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  CHECK(vdprintf(fd, format, arguments) == 2);
  va_end(arguments);
}

static void check_text(void) {
  char text[8] = "";
  int saved = put_away(OWN);
  CHECK(open(path, O_RDWR | O_TRUNC) == OWN && dprintf(OWN, "%d%d", rank, rank) == 2);
  print_listed(OWN, "%c%c", 'a', 'b');
  CHECK(pread(OWN, text, two * 2, 0) == 4 && text[0] == '0' + rank && text[3] == 'b');
  CHECK(close(OWN) == 0);
  put_back(saved, OWN);
}

/* A rank's program is its own, and not tmpirun. */
static void check_program(const char *own) {
  char whole[4096], text[4096], found[4096];
  CHECK(realpath(own, whole) != NULL);
  ssize_t length = readlink("/proc/self/exe", text, sizeof text - two);
  CHECK(length == (ssize_t)strlen(whole) && memcmp(text, whole, (size_t)length) == 0);
  length = readlinkat(AT_FDCWD, "/proc/self/exe", found, sizeof found - two);
  CHECK(length == (ssize_t)strlen(whole) && memcmp(found, whole, (size_t)length) == 0);
  CHECK(realpath("/proc/self/exe", found) != NULL && strcmp(found, whole) == 0);
  const char *volatile no_path = NULL;
  CHECK(realpath(no_path, found) == NULL && errno == EINVAL);
  CHECK(readlinkat(AT_FDCWD, "/proc/self/fd/none", found, two) == -1 && errno == ENOENT);
}

int main(int argc, char **argv) {
  int size;
  rank = check_start(&argc, &argv, &size);
  snprintf(path, sizeof path, "/tmp/numbers.%d.%d", (int)getpid(), rank);
  for (int round = 0; round < 2 && rank % 2 == 1; round++) {
    check_makers();
    check_file();
    check_copies();
    check_sockets();
    check_waits();
    check_terminal();
    check_text();
    CHECK(unlink(path) == 0);
  }
  check_program(argv[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
