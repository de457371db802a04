/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process has for itself, and what becomes of it for ranks: rank 0 changes it, rank 1 looks
 * whether that was changed for it, too. ranks_table.py makes the table of tmpirun(1) of what this
 * prints: name, finding, and the test that has the details.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { PAGE = 4096, REFUSED = -1, NO = 0, YES = 1, MICROSECONDS = 20000 };

struct row {
  const char *name;
  int (*change)(void); /* rank 0's. @return REFUSED: it cannot */
  int (*look)(void);   /* rank 1's. @return whether it sees the change */
  int is_emulated;     /* tmpirun does what the kernel does for processes */
  const char *test;
};

static int global;
static _Thread_local int local;
static volatile sig_atomic_t alarms;
static int word[2];                                        /* what rank 0 has found for rank 1 */
static void *const fixed_address = (void *)0x600000000000; /* nothing is mapped there at start */
static char path[] = "/tmp/ranks-table-XXXXXX";

static int change_global(void) { return global = local = 1; }
static int see_global(void) { return global != 0 || local != 0; }

static int change_environment(void) { return setenv("RANKS_TABLE", "1", 1); }
static int see_environment(void) { return getenv("RANKS_TABLE") != NULL; }

static int change_folder(void) { return chdir("/"); }
static int see_folder(void) {
  char now[4096];
  return getcwd(now, sizeof now) != NULL && strcmp(now, "/") == 0;
}

static int change_umask(void) { return umask(0123) == 0123; }
static int see_umask(void) {
  mode_t now = umask(022);
  umask(now);
  return now == 0123;
}

static int change_locale(void) { return setlocale(LC_ALL, "C.UTF-8") == NULL; }
static int see_locale(void) { return strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

static int change_zone(void) {
  setenv("TZ", "ABC7", 1);
  tzset();
  return 0;
}
static int see_zone(void) {
  time_t moment = 0;
  return localtime(&moment)->tm_gmtoff == -7L * 3600;
}

static void count_alarm(int signo) { alarms += signo == SIGALRM; }
static int change_timer(void) {
  struct itimerval soon = {{0, 0}, {0, MICROSECONDS}};
  signal(SIGALRM, count_alarm);
  setitimer(ITIMER_REAL, &soon, NULL);
  while (alarms == 0) usleep(1000);
  return 0;
}
static int see_timer(void) { return alarms != 0; }

static int change_handler(void) { return signal(SIGUSR2, count_alarm) == SIG_ERR; }
static int see_handler(void) { return signal(SIGUSR2, SIG_DFL) != SIG_DFL; }

static int change_mask(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  return sigprocmask(SIG_BLOCK, &set, NULL);
}
static int see_mask(void) {
  sigset_t set;
  return sigprocmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, SIGTERM);
}

static int change_random(void) {
  srand(5);
  word[0] = rand();
  return 0;
}
static int see_random(void) { return rand() == word[0]; }

static int change_rounding(void) { return fesetround(FE_UPWARD); }
static int see_rounding(void) { return fegetround() == FE_UPWARD; }

static const struct passwd *found;
static int change_result(void) { return getpwuid(1) == NULL ? REFUSED : 0; }
static int see_result(void) { return found != NULL && found->pw_uid != 0; }

static int change_children(void) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  return 0;
}
static int see_children(void) { return waitpid(-1, NULL, WNOHANG) != -1; }

static void end_child(void) { _exit(1); }
static int change_fork_handlers(void) { return pthread_atfork(NULL, NULL, end_child); }
static int see_fork_handlers(void) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) _exit(0);
  return waitpid(child, &status, 0) == child && status != 0;
}

static int change_output(void) {
  int fd = open(path, O_WRONLY);
  int saved = dup(STDOUT_FILENO), result = dup2(fd, STDOUT_FILENO);
  word[0] = saved;
  close(fd);
  return result < 0;
}
static int is_path(int number) {
  struct stat own, file;
  return fstat(number, &own) == 0 && stat(path, &file) == 0 && own.st_ino == file.st_ino;
}
static int see_output(void) { return is_path(STDOUT_FILENO); }

static int change_closed(void) {
  return close(STDIN_FILENO) != 0 || open(path, O_RDONLY) != STDIN_FILENO;
}
static int see_closed(void) { return is_path(STDIN_FILENO); }

static int change_lock(void) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(open(path, O_RDWR), F_SETLK, &lock);
}
static int see_lock(void) { /* ranks are one process for the kernel: it would grant both */
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(open(path, O_RDWR), F_SETLK, &lock) == 0;
}

static int change_exe(void) { return 0; }
static int see_exe(void) { /* tmpirun */
  char text[4096] = "";
  return readlink("/proc/self/exe", text, sizeof text - 1) < 0 ||
         strstr(text, "ranks_table") == NULL;
}

static int change_number(void) { return word[0] = (int)getpid(); }
static int see_number(void) { return word[0] == (int)getpid(); }

static int change_descriptor(void) {
  word[0] = open("/dev/null", O_RDONLY);
  return 0;
}
static int see_descriptor(void) { return fcntl(word[0], F_GETFD) >= 0; }

static int change_mapping(void) {
  void *page = mmap(fixed_address, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return page == fixed_address ? 0 : REFUSED;
}
static int see_mapping(void) { return msync(fixed_address, PAGE, MS_ASYNC) == 0; }

static int change_limit(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max = 0;
  return setrlimit(RLIMIT_CORE, &limit);
}
static int see_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0;
}

static int change_time(void) {
  clock_t end = clock() + CLOCKS_PER_SEC / 5;
  while (clock() < end) continue;
  return word[0] = (int)(clock() / (CLOCKS_PER_SEC / 1000));
}
static int see_time(void) { return (int)(clock() / (CLOCKS_PER_SEC / 1000)) >= word[0]; }

static int change_program(void) {
  char *words[] = {path, NULL};
  return execv("/bin/true", words) == -1 && errno == ENOTSUP ? REFUSED : 0;
}
static int change_daemon(void) { return daemon(1, 1) == -1 && errno == ENOTSUP ? REFUSED : 0; }
static int change_namespace(void) {
  return dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW) == NULL ? REFUSED : 0;
}
static int never(void) { return NO; }

static const struct row rows[] = {
    {"globals, thread-local variables", change_global, see_global, NO, "mpi.private"},
    {"environment", change_environment, see_environment, NO, "mpi.owned"},
    {"working directory", change_folder, see_folder, NO, "mpi.carried"},
    {"umask", change_umask, see_umask, NO, "mpi.carried"},
    {"locale", change_locale, see_locale, NO, "mpi.carried"},
    {"time zone", change_zone, see_zone, NO, "mpi.carried"},
    {"timers", change_timer, see_timer, NO, "mpi.timers"},
    {"handlers of signals", change_handler, see_handler, NO, "mpi.signals, mpi.states"},
    {"mask of signals", change_mask, see_mask, NO, "mpi.signals, mpi.states"},
    {"random numbers, getopt(), strtok()", change_random, see_random, NO, "mpi.libc"},
    {"rounding mode, traps", change_rounding, see_rounding, NO, "mpi.rounding"},
    {"results of look-ups", change_result, see_result, NO, "mpi.owned"},
    {"children, wait()", change_children, see_children, NO, "mpi.owned"},
    {"handlers of pthread_atfork()", change_fork_handlers, see_fork_handlers, NO, "mpi.owned"},
    {"redirected stdout, stderr", change_output, see_output, NO, "mpi.owned"},
    {"descriptors 0 to 2, closed", change_closed, see_closed, NO, "mpi.descriptors"},
    {"record locks", change_lock, see_lock, YES, "mpi.files"},
    {"/proc/self/exe", change_exe, see_exe, YES, "mpi.owned"},
    {"process number", change_number, see_number, NO, "mpi.numbered"},
    {"other descriptors", change_descriptor, see_descriptor, NO, "mpi.owners"},
    {"mappings at a fixed address", change_mapping, see_mapping, NO, "mpi.mappings"},
    {"limits", change_limit, see_limit, NO, ""},
    {"CPU time: clock(), getrusage()", change_time, see_time, NO, ""},
    {"exec()", change_program, never, NO, "mpi.wrapped"},
    {"daemon()", change_daemon, never, NO, "mpi.owned"},
    {"dlmopen() of a new namespace", change_namespace, never, NO, "mpi.opening"},
};

static const char *finding(const struct row *row, int refused, int seen) {
  if (refused == REFUSED) return "refused";
  if (seen) return "shared";
  return row->is_emulated ? "emulated" : "own";
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  if (rank == 0) CHECK(close(mkstemp(path)) == 0);
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  found = rank == 1 ? getpwuid(0) : NULL;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rank == 0) word[1] = rows[i].change();
    MPI_Bcast(word, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 1)
      printf("%s\t%s\t%s\n", rows[i].name, finding(&rows[i], word[1], rows[i].look()),
             rows[i].test);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) CHECK(unlink(path) == 0);
  MPI_Finalize();
  return 0;
}
