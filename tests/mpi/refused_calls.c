/* SPDX-License-Identifier: Apache-2.0 */
/* Null pointers and other arguments that libc or the kernel refuses: a rank has functions of
 * tmpirun in the place of libc's, and these fail as in a process. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static void *volatile null; /* the compiler is not to know */
static int fd;              /* of a file of the rank's */

/* The call returns -1 with that error. */
#define FAILS(error, call) (errno = 0, CHECK((call) == -1 && errno == (error)))

/* It returns the error. */
#define RETURNS(error, call) CHECK((call) == (error))

static void check_times(void) {
  FAILS(EFAULT, nanosleep(null, null));
  RETURNS(EFAULT, clock_nanosleep(CLOCK_MONOTONIC, 0, null, null));
  RETURNS(-2, thrd_sleep(null, null));
  FAILS(EFAULT, getitimer(ITIMER_REAL, null));
  CHECK(setitimer(ITIMER_REAL, null, null) == 0);
}

static void check_signals(void) {
  const struct timespec soon = {0, 1};
  FAILS(EFAULT, sigpending(null));
  FAILS(EFAULT, sigsuspend(null));
  RETURNS(EFAULT, sigwait(null, null));
  FAILS(EFAULT, sigwaitinfo(null, null));
  FAILS(EFAULT, sigtimedwait(null, null, &soon));
  CHECK(sigaction(SIGUSR1, null, null) == 0);
  CHECK(sigprocmask(SIG_BLOCK, null, null) == 0);
  CHECK(sigaltstack(null, null) == 0);
}

static void check_files(void) {
  FAILS(EFAULT, fcntl(fd, F_SETLK, null));
  FAILS(EFAULT, fcntl(fd, F_SETLKW, null));
  FAILS(EFAULT, fcntl(fd, F_GETLK, null));
  FAILS(EFAULT, fcntl(fd, F_OFD_SETLKW, null));
  FAILS(EBADF, fcntl(9999, F_SETLK, null));
  FAILS(EFAULT, pipe(null));
  FAILS(EFAULT, socketpair(AF_UNIX, SOCK_STREAM, 0, null));
}

static void check_names(void) {
  FAILS(EFAULT, open(null, O_RDONLY));
  FAILS(EFAULT, openat(AT_FDCWD, null, O_RDONLY));
  FAILS(EFAULT, creat(null, 0));
  FAILS(EFAULT, chdir(null));
  FAILS(EFAULT, unlink(null));
  FAILS(EFAULT, unlinkat(AT_FDCWD, null, 0));
  FAILS(EFAULT, remove(null));
  FAILS(EFAULT, readlink(null, null, 1));
  FAILS(EFAULT, readlinkat(AT_FDCWD, null, null, 1));
  CHECK(fopen(null, "r") == NULL && errno == EFAULT);
  CHECK(realpath(null, null) == NULL && errno == EINVAL);
}

/* Each rank has a stdout of its own, which is a stream of tmpirun's. */
static void check_streams(void) {
  static volatile const int counts[] = {-1, 1025 /* one more than there may be */};
  int ends[2], kept = dup(STDOUT_FILENO);
  struct iovec nothing = {null, 4}, parts[] = {{(char *)"ab", 2}, {null, 4}};
  char text[2];
  CHECK(kept >= 0 && pipe(ends) == 0 && dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
  FAILS(EFAULT, write(STDOUT_FILENO, null, 3));
  FAILS(EFAULT, writev(STDOUT_FILENO, null, 1));
  FAILS(EFAULT, writev(STDOUT_FILENO, &nothing, 1));
  for (int i = 0; i < 2; i++) FAILS(EINVAL, writev(STDOUT_FILENO, &nothing, counts[i]));
  FAILS(EFAULT, poll(null, 1, 0));
  FAILS(EFAULT, ppoll(null, 1, null, null));
  CHECK(poll(null, 0, 0) == 0 && write(STDOUT_FILENO, null, 0) == 0);
  CHECK(writev(STDOUT_FILENO, null, 0) == 0);
  CHECK(writev(STDOUT_FILENO, parts, 2) == 2 && read(ends[0], text, 2) == 2 && text[1] == 'b');
  CHECK(dup2(kept, STDOUT_FILENO) == STDOUT_FILENO);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0 && close(kept) == 0);
}

/* ---- wrong arguments */

static void check_wrong_signals(void) {
  const struct sigaction ignored = {.sa_handler = SIG_IGN};
  struct sigaction found;
  FAILS(EINVAL, sigaction(SIGKILL, &ignored, NULL));
  CHECK(sigaction(SIGKILL, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
  FAILS(EINVAL, sigaction(0, NULL, &found));
}

static void check_wrong_clocks(void) {
  static const clockid_t clocks[] = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE,
                                     CLOCK_REALTIME_COARSE};
  const struct timespec soon = {0, 1}, wrong = {0, -1};
  for (int i = 0; i < 3; i++) RETURNS(EOPNOTSUPP, clock_nanosleep(clocks[i], 0, &wrong, NULL));
  RETURNS(EINVAL, clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL));
  RETURNS(0, clock_nanosleep(CLOCK_MONOTONIC, 0, &soon, NULL));
}

static void check_wrong_files(void) {
  struct flock none = {.l_type = F_UNLCK};
  char text[4];
  FAILS(EINVAL, fcntl(fd, F_GETLK, &none));
  FAILS(EINVAL, readlink("/proc/self/exe", text, 0));
  FAILS(EFAULT, readlink("/proc/self/exe", null, sizeof text));
}

static void check_wrong_children(void) {
  static const char *const modes[] = {"rw", "", "e", "rx"};
  siginfo_t info;
  for (int i = 0; i < 4; i++) CHECK(popen("true", modes[i]) == NULL && errno == EINVAL);
  FILE *stream = popen("true", "re");
  CHECK(stream != NULL && pclose(stream) == 0);
  FAILS(EINVAL, waitid(P_PGID, (id_t)-5, &info, WEXITED));
}

static void check_wrong_waits(void) {
  const struct timespec past = {1, 0}, wrong = {1, -1};
  pthread_key_t key;
  sem_t one;
  CHECK(sem_init(&one, 0, 1) == 0);
  FAILS(EINVAL, sem_timedwait(&one, &wrong));
  FAILS(EINVAL, sem_clockwait(&one, 99, &past));
  CHECK(sem_timedwait(&one, &past) == 0);
  FAILS(ETIMEDOUT, sem_timedwait(&one, &past));
  CHECK(sem_destroy(&one) == 0);
  CHECK(pthread_key_create(&key, NULL) == 0 && pthread_key_delete(key) == 0);
  RETURNS(EINVAL, pthread_key_delete(key));
}

static void check_wrong_cpus(void) {
  const cpu_set_t none = {{0}};
  FAILS(EINVAL, sched_setaffinity(0, sizeof none, &none));
  RETURNS(EINVAL, pthread_setaffinity_np(pthread_self(), sizeof none, &none));
  CHECK(putenv((char[]){""}) == 0);
}

static void check_others(void) {
  FAILS(EINVAL, unsetenv(null));
  FAILS(EINVAL, setenv(null, "", 1));
  FAILS(EFAULT, sched_setaffinity(0, sizeof(cpu_set_t), null));
  RETURNS(EFAULT, pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), null));
  FAILS(EINVAL, shmdt(null));
  FAILS(EINVAL, munmap(null, 0));
  CHECK(setstate(null) == NULL && errno == EINVAL);
  CHECK(asctime(null) == NULL);
}

int main(int argc, char **argv) {
  int size;
  char path[] = "/tmp/refused_calls-XXXXXX";
  check_start(&argc, &argv, &size);
  fd = mkstemp(path);
  CHECK(fd >= 0 && unlink(path) == 0);
  check_times();
  check_signals();
  check_files();
  check_names();
  check_streams();
  check_others();
  check_wrong_signals();
  check_wrong_clocks();
  check_wrong_files();
  check_wrong_children();
  check_wrong_waits();
  check_wrong_cpus();
  CHECK(close(fd) == 0);
  MPI_Finalize();
  return 0;
}
