/* SPDX-License-Identifier: Apache-2.0 */
/* What a process may do, a rank may. With an argument: something on a thread that belongs to no
 * rank, which is libc's own; that ends the process. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* ---- which objects there are */

static int found;

static int look(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type == PT_LOAD &&
        (uintptr_t)data - start < info->dlpi_phdr[i].p_memsz)
      found++;
  }
  return 0;
}

static void check_objects(void) {
  CHECK(dl_iterate_phdr(look, &found) == 0 && found == 1); /* the rank's own copy is one */
}

/* ---- signals */

static volatile sig_atomic_t got;

static void handler(int signo) { got += signo; }

static void check_handlers(void) {
  struct sigaction once = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND}, now;
  CHECK(sigaction(SIGUSR2, &once, NULL) == 0);
  raise(SIGUSR2);
  CHECK(got == SIGUSR2);
  CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
  CHECK(sigaction(SIGKILL, &once, NULL) == -1 && errno == EINVAL);
  CHECK(sigaction(0, &once, NULL) == -1 && errno == EINVAL);
  CHECK(signal(NSIG, handler) == SIG_ERR);
}

static void check_folder(int rank) {
  int here = open(".", O_RDONLY | O_DIRECTORY);
  CHECK(here >= 0);
  CHECK(fchdir(-1) == -1);
  if (rank == 1) CHECK(fchdir(here) == 0);
  close(here);
}

/* ---- a thread of libc's */

static const char *how;

static void said(void) {
  static const char text[] = "handler ran\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(1);
}

/* It belongs to no rank: a key of libc's would be taken for a rank's. */
static void end(union sigval value) {
  pthread_key_t key;
  (void)value;
  CHECK(pthread_key_create(&key, NULL) == EAGAIN && pthread_key_delete(0) == EINVAL);
  CHECK(pthread_setspecific(0, &key) == EINVAL && pthread_getspecific(0) == NULL);
  if (strcmp(how, "exit") == 0) {
    atexit(said);
    exit(5);
  }
  if (strcmp(how, "_exit") == 0) _exit(6);
  if (strcmp(how, "quick_exit") == 0) quick_exit(7);
}

static void end_on_other_thread(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = end};
  struct itimerspec soon = {.it_value = {0, 1000000}};
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
  for (;;) pause();
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  how = argc > 1 ? argv[1] : "";
  if (strstr(how, "exit") != NULL && rank == 0) end_on_other_thread();
  if (strstr(how, "exit") != NULL) MPI_Finalize(); /* waits for rank 0 */
  check_objects();
  check_handlers();
  check_folder(rank);
  MPI_Finalize();
  if (strcmp(how, "err") == 0 && rank == 1) {
    errno = ENOENT;
    err(9, "no file %d", rank);
  }
  return 0;
}
