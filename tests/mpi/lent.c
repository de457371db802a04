/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel thread has for the rank that runs on it, and for no other: a locale that the rank
 * may free, and a working directory. VPs that idle have no rank's locale; signals from outside,
 * whose handlers run on any VP for all ranks, leave both as they are. */
#define _GNU_SOURCE
#include <dirent.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { SENT = 4000, THREADS_MAX = 256, KERNELS_SET = 8 };

static int rank, size;

/* ---- which locale each kernel thread has: a handler that tmpirun does not know asks libc on those
 * that run no rank */

struct kernels_action { /* as rt_sigaction(2) has it */
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

static locale_t seen[THREADS_MAX];
static int begun, answers;

static void answer(int signo) {
  (void)signo;
  int at = __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
  if (at < THREADS_MAX) seen[at] = uselocale((locale_t)0);
  __atomic_fetch_add(&answers, 1, __ATOMIC_RELEASE);
}

static void do_nothing(int signo) { (void)signo; }

static int question(void) {
  struct kernels_action action;
  int signo = SIGRTMIN + 7;
  CHECK(signal(SIGUSR2, do_nothing) == SIG_DFL);
  CHECK(syscall(SYS_rt_sigaction, SIGUSR2, NULL, &action, KERNELS_SET) == 0);
  action.handler = answer;
  action.mask = 0;
  action.flags |= SA_NODEFER; /* while one returns it blocks nothing: is_blocked() */
  CHECK(syscall(SYS_rt_sigaction, signo, &action, NULL, KERNELS_SET) == 0);
  return signo;
}

static int is_blocked(const char *thread, int signo) {
  char path[NAME_MAX + 32], line[128];
  unsigned long blocked = ULONG_MAX;
  snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "SigBlk:", 7) == 0) blocked = strtoul(line + 7, NULL, 16);
  if (file != NULL) fclose(file);
  return (blocked >> (signo - 1) & 1) != 0;
}

/* @return whether a kernel thread has the locale, or runs a rank that has it. */
static int is_anywhere(locale_t locale, int signo) {
  int asked = 0, found = 0;
  DIR *threads = opendir("/proc/self/task");
  CHECK(threads != NULL);
  begun = answers = 0;
  for (struct dirent *entry; (entry = readdir(threads)) != NULL;)
    if (entry->d_name[0] != '.' && !is_blocked(entry->d_name, signo))
      asked += syscall(SYS_tgkill, syscall(SYS_getpid), atoi(entry->d_name), signo) == 0;
  CHECK(closedir(threads) == 0 && asked <= THREADS_MAX);
  while (__atomic_load_n(&answers, __ATOMIC_ACQUIRE) < asked) continue;
  for (int i = 0; i < asked; i++) found |= seen[i] == locale;
  return found;
}

/* Rank 1 waits, and so frees its VP. Rank 0 never gives way before, and there is no other rank
 * whose turn would change what the VP has. */
static void check_idle(void) {
  static locale_t locale; /* rank 0's, for both */
  static int here;
  struct {
    locale_t *locale;
    int *here;
  } shared = {&locale, &here};
  MPI_Bcast(&shared, sizeof shared, MPI_BYTE, 0, MPI_COMM_WORLD);
  __atomic_add_fetch(shared.here, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(shared.here, __ATOMIC_RELAXED) < 2) continue; /* each has a VP */
  if (rank == 1) {
    locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    CHECK(uselocale(own) == LC_GLOBAL_LOCALE);
    __atomic_store_n(shared.locale, own, __ATOMIC_RELAXED);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(uselocale(LC_GLOBAL_LOCALE) == own);
    freelocale(own);
  } else {
    int signo = question();
    while (__atomic_load_n(&locale, __ATOMIC_RELAXED) == (locale_t)0) continue;
    while (is_anywhere(locale, signo)) continue; /* until rank 1 waits */
    MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  }
}

/* ---- beside signals from outside */

static volatile sig_atomic_t handled;

static void count(int signo) { handled += signo == SIGUSR1; }

static void use_and_free(const char *folder, int utf8) {
  char now[PATH_MAX];
  locale_t locale = newlocale(LC_ALL_MASK, utf8 ? "C.UTF-8" : "C", (locale_t)0);
  CHECK(locale != (locale_t)0 && uselocale(locale) == LC_GLOBAL_LOCALE);
  sched_yield();
  CHECK((strcmp(nl_langinfo(CODESET), "UTF-8") == 0) == utf8);
  CHECK(getcwd(now, sizeof now) != NULL && strcmp(now, folder) == 0);
  CHECK(uselocale(LC_GLOBAL_LOCALE) == locale);
  freelocale(locale);
}

static pid_t start_sender(void) {
  pid_t job = (pid_t)syscall(SYS_getpid), child = fork();
  CHECK(child >= 0);
  if (child != 0) return child;
  for (int i = 0; i < SENT; i++) {
    kill(job, SIGUSR1);
    usleep(50);
  }
  _exit(0);
}

static void check_handlers(void) {
  int over = 0, rounds = 0;
  pid_t sender = 0;
  const char *folder = rank % 2 == 0 ? "/proc" : "/sys";
  MPI_Request end;
  CHECK(chdir(folder) == 0 && signal(SIGUSR1, count) == SIG_DFL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    sender = start_sender();
  else
    MPI_Irecv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &end);
  for (; !over; rounds++) {
    use_and_free(folder, rank % 2);
    CHECK(chdir(rounds % 2 == 0 ? "/" : folder) == 0);
    CHECK(chdir(folder) == 0);
    if (rank == 0)
      over = waitpid(sender, NULL, WNOHANG) == sender;
    else
      MPI_Test(&end, &over, MPI_STATUS_IGNORE);
  }
  for (int i = 1; rank == 0 && i < size; i++) MPI_Send(NULL, 0, MPI_BYTE, i, 1, MPI_COMM_WORLD);
  CHECK(handled > 0);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  if (size == 2)
    check_idle();
  else
    check_handlers();
  MPI_Finalize();
  return 0;
}
