/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers 0 to 2 are a rank's own: it closes one, and its next descriptor has that number. Odd
 * ranks do so; the others' streams stay as they are. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern char **environ;

static int rank;
static char path[64];

/* @return its length. */
static size_t read_back(char *text, size_t room) {
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  size_t length = fread(text, 1, room - 1, file);
  text[length] = '\0';
  fclose(file);
  return length;
}

static void check_file(const char *format) {
  char expected[256], found[256];
  snprintf(expected, sizeof expected, format, rank);
  read_back(found, sizeof found);
  if (strcmp(expected, found) != 0)
    fprintf(stderr, "rank %d: '%s', not '%s'\n", rank, found, expected);
  CHECK(strcmp(expected, found) == 0);
}

/* @return a copy of the descriptor of before. */
static int put_away(int fd) {
  int saved = dup(fd);
  fflush(stdout);
  CHECK(saved > STDERR_FILENO && close(fd) == 0);
  return saved;
}

static void put_back(int saved, int fd) { CHECK(dup2(saved, fd) == fd && close(saved) == 0); }

static void check_closed(void) {
  struct stat status;
  int saved = put_away(STDOUT_FILENO);
  CHECK(close(STDOUT_FILENO) == -1 && errno == EBADF);
  CHECK(write(STDOUT_FILENO, "x", 1) == -1 && errno == EBADF);
  CHECK(fstat(STDOUT_FILENO, &status) == -1 && errno == EBADF);
  CHECK(dup(STDOUT_FILENO) == -1 && errno == EBADF);
  CHECK(fcntl(STDOUT_FILENO, F_GETFD) == -1 && errno == EBADF);
  put_back(saved, STDOUT_FILENO);
  CHECK(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
}

static void check_opened(void) {
  struct stat own, file;
  char text[8] = "";
  int saved = put_away(STDOUT_FILENO);
  CHECK(open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) == STDOUT_FILENO);
  MPI_Barrier(MPI_COMM_SELF);
  printf("a%d ", rank);
  fflush(stdout);
  dprintf(STDOUT_FILENO, "b%d ", rank);
  CHECK(write(STDOUT_FILENO, "c ", 2) == 2);
  struct iovec part = {(void *)(uintptr_t)"d ", 2};
  CHECK(writev(STDOUT_FILENO, &part, 1) == 2 && fflush(stdout) == 0);
  CHECK(fstat(STDOUT_FILENO, &own) == 0 && stat(path, &file) == 0 && own.st_ino == file.st_ino);
  CHECK(pread(STDOUT_FILENO, text, 1, 0) == 1 && text[0] == 'a');
  CHECK(pwrite(STDOUT_FILENO, "A", 1, 0) == 1 && fchmod(STDOUT_FILENO, 0640) == 0);
  char *mapped = mmap(NULL, 1, PROT_READ, MAP_SHARED, STDOUT_FILENO, 0);
  CHECK(mapped != MAP_FAILED && mapped[0] == 'A' && munmap(mapped, 1) == 0);
  int again = open("/dev/stdout", O_WRONLY | O_APPEND); /* not that of all ranks */
  CHECK(again > STDERR_FILENO && write(again, "e", 1) == 1 && close(again) == 0);
  static const char *const names[] = {"/dev/fd/1", "/proc/self/fd/1"};
  for (int i = 0; i < 2; i++) {
    again = open(names[i], O_WRONLY | O_APPEND);
    CHECK(again > STDERR_FILENO && write(again, "f", 1) == 1 && close(again) == 0);
  }
  put_back(saved, STDOUT_FILENO);
  char expected[64];
  snprintf(expected, sizeof expected, "A%d b%d c d eff", rank, rank);
  check_file(expected);
  CHECK(stat(path, &file) == 0 && (file.st_mode & 0777) == 0640);
}

/* What each call that makes a descriptor does about the lowest number that is free. */
static void check_makers(void) {
  int ends[2], saved = put_away(STDIN_FILENO);
  CHECK(dup(STDOUT_FILENO) == STDIN_FILENO && close(STDIN_FILENO) == 0);
  CHECK(fcntl(STDOUT_FILENO, F_DUPFD, 0) == STDIN_FILENO && close(STDIN_FILENO) == 0);
  put_back(saved, STDIN_FILENO);
  saved = put_away(STDERR_FILENO);
  int null = open("/dev/null", O_RDWR);
  CHECK(null == STDERR_FILENO && close(null) == 0);
  CHECK(dup(STDOUT_FILENO) == STDERR_FILENO && close(STDERR_FILENO) == 0);
  CHECK(fcntl(STDOUT_FILENO, F_DUPFD, 0) == STDERR_FILENO && close(STDERR_FILENO) == 0);
  CHECK(fcntl(STDOUT_FILENO, F_DUPFD, 3) > STDERR_FILENO);
  CHECK(socket(AF_UNIX, SOCK_STREAM, 0) == STDERR_FILENO && close(STDERR_FILENO) == 0);
  CHECK(epoll_create1(0) == STDERR_FILENO && close(STDERR_FILENO) == 0);
  char made[] = "/tmp/descriptors-XXXXXX";
  CHECK(mkstemp(made) == STDERR_FILENO && close(STDERR_FILENO) == 0 && unlink(made) == 0);
  CHECK(pipe(ends) == 0 && ends[0] == STDERR_FILENO && ends[1] > STDERR_FILENO);
  CHECK(write(ends[1], "p", 1) == 1 && read(ends[0], made, 1) == 1 && made[0] == 'p');
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  put_back(saved, STDERR_FILENO);
}

/* As a daemon does: two of the numbers belong to a pair of sockets. */
static void check_sockets(void) {
  int ends[2], in = dup(STDIN_FILENO), out = put_away(STDOUT_FILENO);
  char text[4] = "";
  CHECK(close(STDIN_FILENO) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(ends[0] == STDIN_FILENO && ends[1] == STDOUT_FILENO);
  struct pollfd asked[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = -1}};
  CHECK(poll(asked, 2, 0) == 0);
  CHECK(send(STDOUT_FILENO, "ab", 2, 0) == 2);
  CHECK(poll(asked, 2, 0) == 1 && asked[0].fd == STDIN_FILENO && asked[0].revents == POLLIN);
  fd_set set;
  struct timeval now = {0, 0};
  FD_ZERO(&set);
  FD_SET(STDIN_FILENO, &set);
  FD_SET(STDOUT_FILENO, &set);
  CHECK(select(STDOUT_FILENO + 1, &set, NULL, NULL, &now) == 1);
  CHECK(FD_ISSET(STDIN_FILENO, &set) && !FD_ISSET(STDOUT_FILENO, &set));
  int epoll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = STDIN_FILENO};
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) == 0);
  CHECK(epoll_wait(epoll, &event, 1, 0) == 1 && event.data.fd == STDIN_FILENO && close(epoll) == 0);
  CHECK(recv(STDIN_FILENO, text, 1, 0) == 1 && read(STDIN_FILENO, text + 1, 1) == 1);
  CHECK(strcmp(text, "ab") == 0 && shutdown(STDOUT_FILENO, SHUT_WR) == 0);
  CHECK(read(STDIN_FILENO, text, 1) == 0);
  CHECK(close(STDIN_FILENO) == 0 && close(STDOUT_FILENO) == 0);
  put_back(in, STDIN_FILENO);
  put_back(out, STDOUT_FILENO);
}

/* What a rank starts has the rank's descriptors. */
static void check_children(void) {
  const char *words[] = {"sh", "-c", "echo spawned", NULL};
  pid_t child;
  int status, saved = put_away(STDOUT_FILENO);
  CHECK(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600) == STDOUT_FILENO);
  CHECK(system("echo by system") == 0);
  CHECK(posix_spawnp(&child, "sh", NULL, NULL, (char *const *)(uintptr_t)words, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  posix_spawn_file_actions_t actions;
  CHECK(posix_spawn_file_actions_init(&actions) == 0);
  CHECK(posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO) == 0);
  words[2] = "echo with actions >&2";
  CHECK(posix_spawnp(&child, "sh", &actions, NULL, (char *const *)(uintptr_t)words, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  posix_spawn_file_actions_destroy(&actions);
  FILE *to = popen("cat", "w");
  CHECK(to != NULL && fputs("by popen\n", to) >= 0 && pclose(to) == 0);
  child = fork();
  if (child == 0) {
    execlp("echo", "echo", "forked", (char *)NULL);
    _exit(99);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(close(STDOUT_FILENO) == 0);
  child = fork();
  if (child == 0) _exit(write(STDOUT_FILENO, "x", 1) == -1 && errno == EBADF ? 0 : 99);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  put_back(saved, STDOUT_FILENO);
  check_file("by system\nspawned\nwith actions\nby popen\nforked\n");
}

/* A stream that is opened anew does what its mode says. */
static void check_modes(void) {
  static const struct {
    const char *mode, *content;
    int reads;
  } cases[] = {{"w", "X", 0}, {"w+", "X", 1}, {"a", "abX", 0}, {"a+", "abX", 1}, {"r+", "Xb", 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char byte;
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("ab", file) >= 0 && fclose(file) == 0);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    CHECK(saved > STDERR_FILENO && freopen(path, cases[i].mode, stdout) == stdout);
    CHECK(putchar('X') == 'X' && fflush(stdout) == 0);
    CHECK((read(STDOUT_FILENO, &byte, 1) >= 0) == cases[i].reads);
    put_back(saved, STDOUT_FILENO);
    check_file(cases[i].content);
  }
  CHECK(unlink(path) == 0 && freopen(path, "r+", stdout) == NULL && errno == ENOENT);
}

/* Locks by the rank's own number are those of its file. So are errors of what is printed there. */
static void check_locks(void) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int saved = put_away(STDOUT_FILENO), made = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  int other = open(path, O_RDWR);
  CHECK(made == STDOUT_FILENO && other > STDERR_FILENO && lockf(made, F_TLOCK, 0) == 0);
  CHECK(lockf(other, F_TEST, 0) == -1 && errno == EACCES);
  CHECK(lockf(made, F_ULOCK, 0) == 0 && lockf(other, F_TEST, 0) == 0);
  CHECK(fcntl(made, F_SETLK, &lock) == 0 && fcntl(other, F_SETLK, &lock) == -1);
  errno = 0;
  CHECK(dprintf(made, "%ls", L"\x20ac") == -1 && errno == EILSEQ); /* the locale is C */
  CHECK(close(other) == 0);
  put_back(saved, STDOUT_FILENO);
  check_file("");
}

static void check_streams_of_files(void) {
  int saved = put_away(STDOUT_FILENO);
  FILE *file = fopen(path, "w"); /* has the number, so that stdout goes there */
  CHECK(file != NULL && fputs("stream ", file) >= 0 && fflush(file) == 0);
  printf("stdout of %d", rank);
  CHECK(fflush(stdout) == 0 && fclose(file) == 0);
  CHECK(write(STDOUT_FILENO, "x", 1) == -1 && errno == EBADF);
  put_back(saved, STDOUT_FILENO);
  check_file("stream stdout of %d");
  FILE *other = fdopen(STDOUT_FILENO, "w"); /* closes the rank's, and no other's */
  CHECK(other != NULL && fclose(other) == 0);
  CHECK(dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO);
}

int main(int argc, char **argv) {
  int size;
  rank = check_start(&argc, &argv, &size);
  snprintf(path, sizeof path, "/tmp/descriptors.%d.%d", (int)getpid(), rank);
  for (int round = 0; round < 3; round++) {
    if (rank % 2 == 1) {
      check_closed();
      check_opened();
      check_makers();
      check_sockets();
      check_children();
      check_modes();
      check_locks();
    }
    printf("line %d of rank %d\n", round, rank);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank % 2 == 1) check_streams_of_files();
  if (rank % 2 == 1) CHECK(unlink(path) == 0);
  MPI_Finalize();
  return 0;
}
