/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has for itself, and so has each rank: its environment, its children, where its
 * output goes, results that functions of libc leave in variables. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <math.h>
#include <netdb.h>
#include <pthread.h>
#include <pty.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int rank, size;
static char own[16]; /* what only this rank has */

static int is_own(const char *value) { return value != NULL && strcmp(value, own) == 0; }

/* ---- environment */

static int count_variables(void) {
  int count = 0;
  while (environ[count] != NULL) count++;
  return count;
}

static void check_environment(char **of_main) {
  static char entry[32];
  int before = count_variables();
  CHECK(before > 0 && of_main != NULL && getenv("PATH") != NULL);
  CHECK(setenv("OWN", own, 1) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(is_own(getenv("OWN")) && is_own(secure_getenv("OWN")));
  CHECK(setenv("OWN", "no", 0) == 0 && is_own(getenv("OWN")));
  snprintf(entry, sizeof entry, "PUT=%s", own);
  CHECK(putenv(entry) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(is_own(getenv("PUT")) && getenv("PUT") == entry + 4); /* the program may write to it */
  CHECK(count_variables() == before + 2);
  CHECK(getenv("PMI_RANK") != NULL && atoi(getenv("PMI_RANK")) == rank);
  int had = getenv("HOME") != NULL; /* tmpirun's */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(unsetenv("HOME") == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK((getenv("HOME") != NULL) == (had && rank != 0));
  CHECK(setenv("PATH", own, 1) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(is_own(getenv("PATH")) && setenv("PATH", "/usr/bin:/bin", 1) == 0);
  if (rank == 0) CHECK(unsetenv("OWN") == 0 && putenv((char[]){"PUT"}) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank == 0 ? getenv("OWN") == NULL && getenv("PUT") == NULL : is_own(getenv("OWN")));
  CHECK(setenv("A=B", "x", 1) == -1 && errno == EINVAL && setenv("", "x", 1) == -1);
  CHECK(unsetenv("A=B") == -1 && unsetenv("NONE_OF_THAT_NAME") == 0);
  for (int i = 0; i < 100; i++) {
    char name[16];
    snprintf(name, sizeof name, "MANY%d", i);
    CHECK(setenv(name, own, 1) == 0);
  }
  CHECK(is_own(getenv("MANY0")) && is_own(getenv("MANY99")));
  CHECK(setenv("OWN", own, 1) == 0);
}

/* ---- children */

static int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

static pid_t start_child(int status) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) _exit(is_own(getenv("OWN")) ? status : 99);
  return child;
}

static void check_wait(void) {
  int status, sum = 0;
  pid_t first = start_child(10 + rank), second = start_child(20 + rank);
  MPI_Barrier(MPI_COMM_WORLD); /* all are there */
  for (int i = 0; i < 2; i++) {
    pid_t got = i == 0 ? wait(&status) : waitpid(-1, &status, 0);
    CHECK(got == first || got == second);
    CHECK(status_of(status) == (got == first ? 10 : 20) + rank);
    sum += got == first ? 1 : 2;
  }
  CHECK(sum == 3);
  CHECK(wait(&status) == -1 && errno == ECHILD);
  CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
  first = start_child(30);
  CHECK(waitpid(first, NULL, 0) == first && wait(NULL) == -1);
}

/* Calls that name no child get the rank's own; calls that look leave it. */
static void check_wait_by_kind(void) {
  int status;
  siginfo_t info;
  pid_t child = start_child(40 + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(waitid(P_ALL, 0, &info, 0) == -1 && errno == EINVAL);
  CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == child);
  CHECK(waitid(P_PGID, 0, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == child);
  CHECK(info.si_code == CLD_EXITED && info.si_status == 40 + rank);
  CHECK(waitid(P_PID, (id_t)child, NULL, WEXITED) == 0);
  CHECK(waitid(P_ALL, 0, &info, WEXITED) == -1 && errno == ECHILD);
  CHECK(waitid(P_ALL, 0, &info, 0) == -1 && errno == EINVAL); /* before it looks for a child */
  CHECK(waitpid(-1, NULL, WEXITED) == -1 && errno == EINVAL); /* of waitid() */
  child = start_child(50 + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(waitpid(0, &status, 0) == child && status_of(status) == 50 + rank);
  child = start_child(60 + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(waitpid(-getpgrp(), &status, 0) == child && status_of(status) == 60 + rank);
  CHECK(waitpid(0, &status, 0) == -1 && errno == ECHILD);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A rank that ignores SIGCHLD has no zombies: a wait ends with the last child, and has none. */
static void check_ignored_children(void) {
  const struct sigaction ways[] = {{.sa_handler = SIG_IGN},
                                   {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT}};
  siginfo_t info;
  for (int way = 0; way < 2; way++) {
    CHECK(sigaction(SIGCHLD, &ways[way], NULL) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(waitpid(start_child(1), NULL, 0) == -1 && errno == ECHILD);
    CHECK(waitid(P_PID, (id_t)start_child(2), &info, WEXITED) == -1 && errno == ECHILD);
    pid_t first = start_child(3), second = start_child(4);
    CHECK(wait(NULL) == -1 && errno == ECHILD);
    CHECK(kill(first, 0) == -1 && errno == ESRCH && kill(second, 0) == -1 && errno == ESRCH);
    first = start_child(5);
    while (kill(first, 0) == 0) start_child(6); /* no wait */
    CHECK(wait(NULL) == -1 && errno == ECHILD);
    CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
  }
  pid_t child = start_child(7);
  CHECK(wait(NULL) == child);
}

/* A child that the program has waited for by the kernel's own call is none of wait()'s any more. */
static void check_waited_otherwise(void) {
  int status;
  pid_t first = start_child(90), second = start_child(91);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(syscall(SYS_wait4, second, &status, 0, NULL) == second && status_of(status) == 91);
  CHECK(wait(&status) == first && status_of(status) == 90);
  first = start_child(92);
  CHECK(syscall(SYS_wait4, first, &status, 0, NULL) == first && status_of(status) == 92);
  CHECK(wait(&status) == -1 && errno == ECHILD);
}

/* Each way to make a child. */
static void check_makers(void) {
  int status, terminal;
  pid_t child = _Fork();
  if (child == 0) _exit(70 + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(wait(&status) == child && status_of(status) == 70 + rank);
  child = forkpty(&terminal, NULL, NULL, NULL);
  if (child == 0) _exit(80 + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (child > 0) CHECK(wait(&status) == child && status_of(status) == 80 + rank);
  if (child > 0) CHECK(close(terminal) == 0);
  CHECK(daemon(1, 1) == -1 && errno == ENOTSUP);
}

/* Calls that also tell what a child has used, or want nothing of it. */
static void check_usage(void) {
  struct rusage usage[2] = {{.ru_maxrss = -1}, {.ru_maxrss = -1}};
  char *words[] = {"sh", "-c", "exit 6", NULL};
  int status = -1;
  pid_t child = start_child(5);
  CHECK(wait3(&status, 0, &usage[0]) == child && status_of(status) == 5 && usage[0].ru_maxrss > 0);
  CHECK(wait3(&status, WNOHANG, NULL) == -1 && errno == ECHILD);
  child = start_child(7);
  CHECK(wait4(child, &status, 0, &usage[1]) == child && status_of(status) == 7);
  CHECK(usage[1].ru_maxrss > 0);
  CHECK(waitpid(child, &status, 0) == -1 && errno == ECHILD);
  CHECK(posix_spawn(NULL, "/bin/sh", NULL, NULL, words, environ) == 0);
  CHECK(wait(&status) > 0 && status_of(status) == 6);
}

/* ---- actions of posix_spawn() */

static void read_back(const char *path, char *text, size_t room) {
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  text[fread(text, 1, room - 1, file)] = '\0';
  CHECK(fclose(file) == 0);
}

/* All kinds, in the order in which they were asked for: the shell has 16, no longer 15, and nothing
 * from 17 on. */
static void check_order_of_actions(int enters_by_name) {
  static char look[] =
      "pwd -P; for fd in 15 16 17 18; do test -e /proc/$$/fd/$fd && echo $fd; done";
  char *words[] = {"sh", "-c", look, NULL}, path[] = "/tmp/owned-XXXXXX", text[64];
  posix_spawn_file_actions_t actions;
  int status, made = mkstemp(path), folder = open("/proc", O_RDONLY | O_DIRECTORY);
  pid_t child;
  CHECK(made >= 0 && folder >= 0 && write(made, "of before", 9) == 9 && close(made) == 0);
  CHECK(posix_spawn_file_actions_init(&actions) == 0);
  CHECK(posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_TRUNC, 0) == 0);
  CHECK(posix_spawn_file_actions_addopen(&actions, 18, "/dev/null", O_RDONLY, 0) == 0);
  for (int fd = 15; fd < 18; fd++) CHECK(posix_spawn_file_actions_adddup2(&actions, 18, fd) == 0);
  CHECK(posix_spawn_file_actions_addclosefrom_np(&actions, 17) == 0);
  CHECK(posix_spawn_file_actions_addclose(&actions, 15) == 0);
  CHECK(posix_spawn_file_actions_addclose(&actions, -1) == EBADF); /* it is none */
  CHECK((enters_by_name ? posix_spawn_file_actions_addchdir_np(&actions, "/")
                        : posix_spawn_file_actions_addfchdir_np(&actions, folder)) == 0);
  CHECK(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(posix_spawn_file_actions_destroy(&actions) == 0);
  read_back(path, text, sizeof text);
  CHECK(strcmp(text, enters_by_name ? "/\n16\n" : "/proc\n16\n") == 0);
  CHECK(unlink(path) == 0 && close(folder) == 0);
}

/* What is no descriptor is refused at once, what fails later by posix_spawn(). */
static void check_wrong_actions(void) {
  char *words[] = {"true", NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  int null = open("/dev/null", O_RDONLY);
  CHECK(posix_spawn_file_actions_init(&actions) == 0);
  CHECK(posix_spawn_file_actions_addopen(&actions, -1, "/", O_RDONLY, 0) == EBADF);
  CHECK(posix_spawn_file_actions_addclosefrom_np(&actions, -1) == EBADF);
  CHECK(posix_spawn_file_actions_adddup2(&actions, 0, -1) == EBADF);
  CHECK(posix_spawn_file_actions_addtcsetpgrp_np(&actions, -1) == EBADF);
  CHECK(posix_spawnp(&child, "true", &actions, NULL, words, environ) == 0);
  CHECK(waitpid(child, NULL, 0) == child);
  CHECK(posix_spawn_file_actions_addtcsetpgrp_np(&actions, null) == 0); /* it is no terminal */
  CHECK(posix_spawnp(&child, "true", &actions, NULL, words, environ) == ENOTTY);
  CHECK(posix_spawn_file_actions_destroy(&actions) == 0 && close(null) == 0);
  CHECK(posix_spawn_file_actions_init(&actions) == 0);
  CHECK(posix_spawn_file_actions_addopen(&actions, 0, "/no/such/file", O_RDONLY, 0) == 0);
  CHECK(posix_spawnp(&child, "true", &actions, NULL, words, environ) == ENOENT);
  CHECK(posix_spawn_file_actions_destroy(&actions) == 0);
  CHECK(wait(NULL) == -1 && errno == ECHILD);
}

/* A sanitizer's allocator does not count for mallinfo2(). */
static void check_memory_of_actions(void) {
  enum { TIMES = 2000 };
  posix_spawn_file_actions_t actions;
  MPI_Barrier(MPI_COMM_WORLD);
  size_t before = rank == 0 ? mallinfo2().uordblks : 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < TIMES && rank == 0; i++) {
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, 0, "/", O_RDONLY, 0) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, -1, "/", O_RDONLY, 0) == EBADF);
    CHECK(posix_spawn_file_actions_destroy(&actions) == 0);
  }
  CHECK(rank != 0 || mallinfo2().uordblks < before + 8 * TIMES);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* What a child leaves is given back when it has been waited for. */
static void check_memory_of_children(void) {
  enum { TIMES = 50 };
  char *words[] = {"true", NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  size_t before = 0;
  int files = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = -2; i < TIMES && rank == 0; i++) {
    FILE *stream = popen("exit 3", i % 2 == 0 ? "r" : "w");
    CHECK(stream != NULL && status_of(pclose(stream)) == 3);
    CHECK(waitpid(start_child(0), NULL, 0) > 0);
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, 20) == 0);
    CHECK(posix_spawnp(&child, "true", &actions, NULL, words, environ) == 0);
    CHECK(waitpid(child, NULL, 0) == child && posix_spawn_file_actions_destroy(&actions) == 0);
    if (i >= 0) continue;
    before = mallinfo2().uordblks; /* libc keeps some memory of the first ones */
    files = check_count_descriptors();
  }
  if (rank == 0) CHECK(mallinfo2().uordblks < before + 24 * TIMES);
  if (rank == 0) CHECK(check_count_descriptors() == files);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Letters of the handlers that were called: prepare A B, in the parent a b, in the child 1 2. */
static char order[64];

static void append(char letter) { order[strlen(order)] = letter; }
static void prepare_first(void) { append('A'); }
static void prepare_last(void) { append('B'); }
static void parent_first(void) { append('a'); }
static void parent_last(void) { append('b'); }
static void child_first(void) { append('1'); }
static void child_last(void) { append('2'); }

/* Only rank 0 forks. */
static void check_fork_handlers(void) {
  int status = 0;
  CHECK(pthread_atfork(prepare_first, parent_first, child_first) == 0);
  CHECK(pthread_atfork(NULL, NULL, NULL) == 0);
  CHECK(pthread_atfork(prepare_last, parent_last, child_last) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    pid_t child = fork();
    if (child == 0) _exit(strcmp(order, "BA12") != 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    child = _Fork();
    if (child == 0) _exit(strcmp(order, "BAab") != 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(strcmp(order, rank == 0 ? "BAab" : "") == 0);
}

/* ---- what closes all streams, or all descriptors, of a process */

static int is_null(int fd) {
  struct stat null, found;
  return stat("/dev/null", &null) == 0 && fstat(fd, &found) == 0 && found.st_rdev == null.st_rdev;
}

/* A number that has been closed may have come to another descriptor at once. */
static void check_closed_by_another(void) {
  char line[32];
  int fd = open("/dev/null", O_RDONLY), closes = rank == 1 || rank == 2;
  FILE *from = closes ? NULL : popen("seq 3", "r");
  CHECK(closes || (fgets(line, sizeof line, from) != NULL && line[0] == '1'));
  CHECK(is_null(fd));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(fcloseall() == 0);
  if (rank == 1) closefrom(3);
  if (rank == 2) CHECK(close_range(3, ~0U, 0) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(is_null(fd) == !closes);
  if (closes) return;
  CHECK(fgets(line, sizeof line, from) != NULL && line[0] == '2');
  CHECK(pclose(from) == 0 && close(fd) == 0);
}

/* No command keeps another's input open, of this rank or of another. */
static void check_inputs(void) {
  FILE *first = popen("cat", "w"), *second = popen("cat", "w");
  CHECK(first != NULL && second != NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(pclose(first) == 0 && pclose(second) == 0);
}

/* Odd ranks start children, each with a descriptor of the rank's own that it holds until its input
 * ends. Even ranks find that none holds their pipes: a reader finds the end. */
enum { CHILDREN = 5 };

static char holding[] = "echo > /proc/self/fd/$HELD; read end";

static void hold(int held, int input) {
  char byte = 'x';
  while (write(held, &byte, 1) != 1) continue;
  _exit((int)read(input, &byte, 1));
}

static pid_t start_holder(int how, int held, int input, FILE **stream) {
  char *words[] = {"sh", "-c", holding, NULL};
  posix_spawn_file_actions_t actions;
  pid_t child = -1;
  switch (how) {
    case 0: *stream = popen(holding, "w"); break;
    case 1:
    case 2:
      child = how == 1 ? fork() : _Fork();
      if (child == 0 && how == 1) hold(held, input);
      if (child == 0) dup2(input, STDIN_FILENO);
      if (child == 0) execvp(words[0], words);
      break;
    default:
      CHECK(posix_spawn_file_actions_init(&actions) == 0);
      CHECK(posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) == 0);
      CHECK(posix_spawn_file_actions_adddup2(&actions, -1, 0) == EBADF);
      if (how == 4) CHECK(posix_spawn_file_actions_addchdir_np(&actions, "/") == 0);
      CHECK(posix_spawnp(&child, "sh", &actions, NULL, words, environ) == 0);
      CHECK(posix_spawn_file_actions_destroy(&actions) == 0);
  }
  return child;
}

static void hold_own(void) {
  int held[2], inputs[CHILDREN][2], status;
  pid_t children[CHILDREN];
  FILE *stream = NULL;
  char text[32], byte;
  CHECK(pipe(held) == 0);
  snprintf(text, sizeof text, "%d", held[1]);
  CHECK(setenv("HELD", text, 1) == 0);
  for (int i = 0; i < CHILDREN; i++) {
    CHECK(pipe2(inputs[i], O_CLOEXEC) == 0);
    children[i] = start_holder(i, held[1], inputs[i][0], &stream);
    CHECK(read(held[0], &byte, 1) == 1); /* it has begun */
  }
  MPI_Barrier(MPI_COMM_WORLD); /* others look */
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i < CHILDREN; i++) CHECK(write(inputs[i][1], "\n", 1) == 1);
  for (int i = 1; i < CHILDREN; i++) CHECK(waitpid(children[i], &status, 0) == children[i]);
  CHECK(stream != NULL && pclose(stream) >= 0); /* last: that of fork() had its pipe, too */
  for (int i = 0; i < 2 * CHILDREN; i++) close(inputs[i / 2][i % 2]);
  close(held[0]);
  close(held[1]);
}

static void check_descriptors_of_others(void) {
  int ends[2];
  char byte;
  CHECK(pipe2(ends, O_NONBLOCK) == 0);
  int copy = dup(ends[1]);
  CHECK(copy > STDERR_FILENO);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2 != 0) {
    hold_own();
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(close(ends[1]) == 0 && close(copy) == 0);
    CHECK(read(ends[0], &byte, 1) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  close(ends[0]);
  if (rank % 2 != 0) CHECK(close(ends[1]) == 0 && close(copy) == 0);
}

static void check_commands(void) {
  char line[32] = "";
  char *words[] = {"sh", "-c", "exit $OWN", NULL};
  pid_t child;
  int status;
  CHECK(status_of(system("exit $OWN")) == rank);
  CHECK(system(NULL) != 0);
  FILE *from = popen("echo $OWN", "r");
  CHECK(from != NULL && fgets(line, sizeof line, from) != NULL);
  line[strcspn(line, "\n")] = '\0';
  CHECK(is_own(line) && status_of(pclose(from)) == 0);
  FILE *to = popen("read word && exit $((word + OWN))", "w");
  CHECK(to != NULL && fputs("1\n", to) >= 0 && status_of(pclose(to)) == rank + 1);
  CHECK(popen("true", "x") == NULL && errno == EINVAL);
  CHECK(posix_spawnp(&child, "sh", NULL, NULL, words, environ) == 0);
  CHECK(wait(&status) == child && status_of(status) == rank);
  child = fork();
  if (child == 0) {
    execlp("sh", "sh", "-c", "exit $OWN", (char *)NULL);
    _exit(99);
  }
  CHECK(waitpid(child, &status, 0) == child && status_of(status) == rank);
}

/* ---- where output goes */

static void check_text(int fd, const char *format) {
  char expected[64], found[64] = "";
  snprintf(expected, sizeof expected, format, rank);
  ssize_t length = pread(fd, found, sizeof found - 1, 0);
  CHECK(length == (ssize_t)strlen(expected) && strcmp(found, expected) == 0);
}

static void check_streams(void) {
  FILE *file = tmpfile();
  CHECK(file != NULL);
  int fd = fileno(file), saved = dup(STDOUT_FILENO);
  CHECK(saved > 2 && dup2(fd, fileno(stdout)) == STDOUT_FILENO);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("a%d ", rank);
  dprintf(STDOUT_FILENO, "b%d ", rank);
  CHECK(write(STDOUT_FILENO, "c ", 2) == 2);
  struct iovec parts[] = {{(void *)(uintptr_t)"d", 1}, {(void *)(uintptr_t)" e", 2}};
  CHECK(writev(STDOUT_FILENO, parts, 2) == 3);
  CHECK(fflush(stdout) == 0 && fsync(STDOUT_FILENO) == 0 && !isatty(STDOUT_FILENO));
  char expected[64];
  snprintf(expected, sizeof expected, "a%d b%d c d e", rank, rank);
  check_text(fd, expected);
  CHECK(lseek(STDOUT_FILENO, 0, SEEK_CUR) == (off_t)strlen(expected));
  pid_t child = fork(); /* a child has the rank's */
  if (child == 0) {
    execlp("echo", "echo", "-n", "f", (char *)NULL);
    _exit(99);
  }
  CHECK(waitpid(child, NULL, 0) == child);
  CHECK(ftruncate(STDOUT_FILENO, 2) == 0);
  check_text(fd, "a%d");
  CHECK(close(STDOUT_FILENO) == 0); /* calls fail; what is printed is lost without a word */
  CHECK(write(STDOUT_FILENO, "c", 1) == -1 && errno == EBADF);
  CHECK(writev(STDOUT_FILENO, parts, 2) == -1 && dprintf(STDOUT_FILENO, "b") == -1);
  CHECK(close(STDOUT_FILENO) == -1 && errno == EBADF && puts("a") >= 0 && fflush(stdout) == 0);
  check_text(fd, "a%d");
  CHECK(dup2(saved, STDOUT_FILENO) == STDOUT_FILENO);
  CHECK(lseek(fd, 0, SEEK_CUR) == (off_t)strlen(expected) + 1);
  fclose(file);
  close(saved);
}

static void check_reopened(void) {
  char path[] = "/tmp/owned-XXXXXX", text[64] = "";
  int fd = mkstemp(path);
  CHECK(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
  CHECK(freopen(path, "a", stderr) == stderr);
  CHECK(freopen("/no/such/folder/file", "w", stderr) == NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  fprintf(stderr, "error of %d", rank);
  CHECK(dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO);
  printf(" and output");
  fflush(stdout);
  unlink(path);
  CHECK(pread(fd, text, sizeof text - 1, 0) > 0);
  char expected[64];
  snprintf(expected, sizeof expected, "error of %d and output", rank);
  CHECK(strcmp(text, expected) == 0);
  close(fd);
}

/* ---- results in variables of libc's: another rank's call between, on the same kernel thread */

static void check_lookups(void) {
  char name[64];
  struct in_addr address = {htonl(0x0a000000u + (unsigned)rank)}, back;
  const struct passwd *user = getpwuid(rank % 2 == 0 ? 0 : 1);
  const struct group *group = getgrgid(rank % 2 == 0 ? 0 : 1);
  const struct servent *service = getservbyname(rank % 2 == 0 ? "ssh" : "domain", "tcp");
  const char *text = inet_ntoa(address);
  double gamma = lgamma(rank % 2 == 0 ? 0.5 : -0.5);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(user == NULL || user->pw_uid == (uid_t)(rank % 2));
  snprintf(name, sizeof name, "%s", user != NULL ? user->pw_name : "");
  CHECK(user == NULL || getpwnam(name)->pw_uid == (uid_t)(rank % 2));
  CHECK(group == NULL || group->gr_gid == (gid_t)(rank % 2));
  snprintf(name, sizeof name, "%s", group != NULL ? group->gr_name : "");
  CHECK(group == NULL || getgrnam(name)->gr_gid == (gid_t)(rank % 2));
  CHECK(service == NULL || service->s_port == htons(rank % 2 == 0 ? 22 : 53));
  CHECK(inet_aton(text, &back) != 0 && back.s_addr == address.s_addr);
  CHECK(signgam == (rank % 2 == 0 ? 1 : -1) && isfinite(gamma));
  CHECK(getpwnam("no such user") == NULL && ttyname(-1) == NULL && errno == EBADF);
}

static void check_name(const char *name) {
  char file[4096], own_file[4096];
  ssize_t length = readlink("/proc/self/exe", file, sizeof file - 1);
  CHECK(length > 0 && realpath(name, own_file) != NULL);
  file[length] = '\0';
  CHECK(strcmp(file, own_file) == 0 && realpath("/proc/self/exe", file) != NULL);
  CHECK(strcmp(file, own_file) == 0 && strcmp(program_invocation_name, name) == 0);
  CHECK(strcmp(program_invocation_short_name, "owned") == 0);
}

int main(int argc, char **argv, char **environment) {
  rank = check_start(&argc, &argv, &size);
  snprintf(own, sizeof own, "%d", rank);
  check_environment(environment);
  check_wait();
  check_wait_by_kind();
  check_ignored_children();
  check_waited_otherwise();
  check_makers();
  check_usage();
  check_order_of_actions(1);
  check_order_of_actions(0);
  check_wrong_actions();
  check_memory_of_actions();
  check_memory_of_children();
  check_fork_handlers();
  check_closed_by_another();
  check_commands();
  check_inputs();
  check_descriptors_of_others();
  check_lookups();
  check_name(argv[0]);
  check_streams();
  check_reopened(); /* last: stderr is gone */
  MPI_Finalize();
  return 0;
}
