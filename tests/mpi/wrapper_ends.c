/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmpirun beside a wrapper, call by call (src/tmpi/run/wrapped.c): the file by which it sees
 * whether ranks were started, the process of the wrapper, signals, and the end of both. No process
 * is made: fork() returns as the test wants it, and what ends a process is left by longjmp().
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "captured.h"
#include "tmpi/env/launch.h"
#include "tmpi/run/wrapped.h"
#include "traced_calls.h"

enum { PARENT = 100, CHILD = 200, RANKS = 3 };

static char *words[] = {(char[]){"script"}, (char[]){"a"}, NULL};
static jmp_buf ended;
static char text[1000];

/* ---- what the kernel and libc say */

static const char *temporary, *unstarted; /* TMPDIR; the file of a tmpirun above */
static const char *room;                  /* the folder in which files can be made; NULL: none */
static bool has_started, has_memory;      /* ranks were started: their tmpirun removed the file */
static pid_t forked, parent;
static int interruptions, status;
static bool is_ignored; /* SIGQUIT, by tmpirun's parent */
static struct sigaction handler;
static bool is_blocked; /* signals */

char *__wrap_getenv(const char *name);
char *__wrap_getenv(const char *name) {
  if (strcmp(name, "TMPDIR") == 0) return (char *)(uintptr_t)temporary;
  assert_string_equal(name, TM_UNSTARTED);
  return (char *)(uintptr_t)unstarted;
}

int __wrap_setenv(const char *name, const char *value, int replaces);
int __wrap_setenv(const char *name, const char *value, int replaces) {
  assert_string_equal(name, TM_UNSTARTED);
  assert_int_not_equal(replaces, 0);
  note("set:%s", value);
  errno = ENOMEM;
  return has_memory ? 0 : -1;
}

int __wrap_unsetenv(const char *name);
int __wrap_unsetenv(const char *name) {
  assert_string_equal(name, TM_UNSTARTED);
  note("unset");
  return 0;
}

int __wrap_mkstemp(char *path);
int __wrap_mkstemp(char *path) {
  size_t length = strlen(path);
  assert_string_equal(path + length - 6, "XXXXXX");
  strcpy(path + length - 6, "abcdef"); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy) */
  note("make:%s", path);
  return room != NULL && strncmp(path, room, strlen(room)) == 0 ? 0 : -1; /* 0 was free */
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
  if (fd != 0) return __real_close(fd); /* the test's own */
  note("close:%d", fd);
  return 0;
}

int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path) {
  note("unlink:%s", path);
  errno = ENOENT;
  return has_started ? -1 : 0;
}

int __wrap_sigprocmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_sigprocmask(int how, const sigset_t *set, sigset_t *before) {
  assert_int_equal(how, SIG_SETMASK);
  is_blocked = before != NULL;
  note(is_blocked ? "block" : "unblock");
  assert_int_equal(sigismember(set, SIGTERM), is_blocked);
  assert_true(sigismember(set, SIGWINCH)); /* which was blocked before */
  if (before == NULL) return 0;
  sigemptyset(before);
  sigaddset(before, SIGWINCH);
  return 0;
}

int __wrap_sigaction(int number, const struct sigaction *new, struct sigaction *before);
int __wrap_sigaction(int number, const struct sigaction *new, struct sigaction *before) {
  assert_true(is_blocked); /* until there is a process to hand them on to */
  if (before != NULL)
    *before = (struct sigaction){.sa_handler = is_ignored && number == SIGQUIT ? SIG_IGN : SIG_DFL};
  if (new == NULL) return number == SIGUSR2 ? -1 : 0; /* as if it could not be asked for */
  assert_int_equal(new->sa_flags, SA_SIGINFO | SA_RESTART);
  assert_true(sigismember(&new->sa_mask, SIGHUP) && sigismember(&new->sa_mask, SIGCHLD));
  handler = *new;
  note("handle:%d", number);
  return 0;
}

pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void) { return PARENT; }

pid_t __wrap_getppid(void);
pid_t __wrap_getppid(void) { return parent; }

pid_t __wrap_fork(void);
pid_t __wrap_fork(void) {
  assert_true(is_blocked);
  note("fork");
  errno = EAGAIN;
  return forked;
}

int __wrap_prctl(int option, int number);
int __wrap_prctl(int option, int number) {
  assert_int_equal(option, PR_SET_PDEATHSIG);
  note("with_parent:%d", number);
  return 0;
}

int __wrap_kill(pid_t process, int number);
int __wrap_kill(pid_t process, int number) {
  note("kill:%d,%d", process, number);
  return 0;
}

int __wrap_raise(int number);
int __wrap_raise(int number) {
  note("raise:%d", number);
  return 0;
}

int __wrap_setrlimit(int resource, const struct rlimit *limit);
int __wrap_setrlimit(int resource, const struct rlimit *limit) {
  assert_int_equal(resource, RLIMIT_CORE);
  assert_true(limit->rlim_cur == 0 && limit->rlim_max == 0);
  note("no_core");
  return 0;
}

sighandler_t __wrap_signal(int number, sighandler_t function);
sighandler_t __wrap_signal(int number, sighandler_t function) {
  assert_ptr_equal(function, SIG_DFL);
  note("default:%d", number);
  return SIG_DFL;
}

int __wrap_execv(const char *path, char *const *command);
int __wrap_execv(const char *path, char *const *command) {
  assert_string_equal(path, "/bin/sh");
  assert_ptr_equal(command, words);
  note("exec");
  errno = ENOEXEC;
  return -1;
}

pid_t __wrap_waitpid(pid_t process, int *result, int options);
pid_t __wrap_waitpid(pid_t process, int *result, int options) {
  assert_true(process == CHILD && options == 0 && !is_blocked);
  note("wait");
  errno = EINTR;
  if (interruptions-- > 0) return -1;
  *result = status;
  return CHILD;
}

void __wrap_exit(int code) __attribute__((noreturn));
void __wrap_exit(int code) {
  note("exit:%d", code);
  longjmp(ended, 1);
}

void __wrap__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) {
  note("_exit:%d", code);
  longjmp(ended, 1);
}

/* ---- runs of a wrapper */

static int start(void **state) {
  (void)state;
  temporary = unstarted = NULL;
  room = "/tmp/";
  has_started = false;
  has_memory = true;
  forked = CHILD;
  parent = PARENT;
  interruptions = status = 0;
  is_ignored = is_blocked = false;
  trace[0] = '\0';
  return 0;
}

/* @return what was printed. */
static const char *run(void) {
  struct captured captured = captured_begin();
  if (setjmp(ended) == 0) tm_wrapped_run("/bin/sh", words, RANKS);
  captured_end(&captured, text, sizeof text);
  return text;
}

#define FILE_IN(folder) folder "/tmpirun-unstarted-abcdef"
#define MADE "make:" FILE_IN("/tmp") " close:0 block set:" FILE_IN("/tmp") " fork "
#define HANDLERS "handle:1 handle:2 handle:3 handle:15 handle:10 "
#define WAITED MADE HANDLERS "unblock wait unlink:" FILE_IN("/tmp") " "

static void test_a_wrapper_that_has_started_ranks(void **state) {
  (void)state;
  has_started = true;
  assert_string_equal(run(), "");
  check_trace(WAITED "exit:0 ");
  status = 7 << 8;
  assert_string_equal(run(), "");
  check_trace(WAITED "exit:7 ");
}

/* Its user has asked for three ranks, and would take the result for that of three. */
static void test_a_wrapper_that_has_started_none(void **state) {
  (void)state;
  assert_string_equal(run(),
                      "tmpirun: 'script' has ended, and ran once, not 3 times: it has started no "
                      "MPI program (name in tmpirun's command what is to run as ranks)\n");
  check_trace(WAITED "exit:1 ");
  status = 7 << 8; /* it has failed before it came to that */
  assert_string_equal(run(), "");
  check_trace(WAITED "exit:7 ");
}

/* The signal ends tmpirun, too, and leaves one core, the wrapper's. */
static void test_a_wrapper_that_a_signal_ends(void **state) {
  (void)state;
  status = SIGSEGV;
  assert_string_equal(run(), "");
  check_trace(WAITED "no_core default:11 raise:11 exit:139 ");
}

static void test_a_wait_that_signals_interrupt(void **state) {
  (void)state;
  has_started = true;
  interruptions = 2;
  run();
  check_trace(MADE HANDLERS "unblock wait wait wait unlink:" FILE_IN("/tmp") " exit:0 ");
}

/* A signal that is ignored stays so, in the wrapper as well. */
static void test_signals_that_are_ignored(void **state) {
  (void)state;
  has_started = is_ignored = true;
  run();
  check_trace(MADE "handle:1 handle:2 handle:15 handle:10 unblock wait unlink:" FILE_IN(
      "/tmp") " "
              "exit:0 ");
}

/* What another process sends comes to the wrapper; the terminal sends its signals to both. */
static void test_signals_are_handed_on(void **state) {
  (void)state;
  run();
  trace[0] = '\0';
  static const int codes[] = {SI_USER, SI_TKILL, SI_QUEUE, SI_KERNEL, 1};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    siginfo_t info = {.si_code = codes[i]};
    handler.sa_sigaction(SIGTERM, &info, NULL);
  }
  check_trace("kill:200,15 kill:200,15 kill:200,15 ");
}

/* ---- the wrapper's process */

static void test_the_wrapper_becomes_its_program(void **state) {
  (void)state;
  forked = 0;
  assert_string_equal(run(), "tmpirun: cannot run '/bin/sh': Exec format error (check the file)\n");
  check_trace(MADE "with_parent:9 unblock exec _exit:1 ");
}

/* tmpirun may have ended before the process asked to end with it. */
static void test_a_wrapper_whose_parent_is_gone(void **state) {
  (void)state;
  forked = 0;
  parent = 1;
  run();
  check_trace(MADE "with_parent:9 raise:9 unblock exec _exit:1 ");
}

/* ---- where there is no room */

static void test_folders_for_the_file(void **state) {
  (void)state;
  static char much[5000]; /* a name that is too long for a file */
  memset(much, '/', sizeof much - 1);
  const char *const folders[] = {"/own", "relative", "", NULL, much};
  has_started = true;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    temporary = folders[i];
    room = i == 0 ? "/own/" : "/dev/shm/";
    run();
    static const char own[] = "make:" FILE_IN("/own") " close:0 block set:" FILE_IN("/own") " ";
    static const char shared[] = "make:" FILE_IN("/tmp") " make:" FILE_IN(
        "/var/tmp") " make:" FILE_IN("/dev/shm") " close:0 block set:" FILE_IN("/dev/shm") " ";
    assert_memory_equal(trace, i == 0 ? own : shared, strlen(i == 0 ? own : shared));
    trace[0] = '\0';
  }
}

/* The longest name of a file is used whole. */
static void test_a_folder_whose_name_just_fits(void **state) {
  (void)state;
  enum { REST = sizeof "/tmpirun-unstarted-abcdef" };
  for (int over = 0; over < 2; over++) {
    char name[PATH_MAX];
    size_t length = PATH_MAX - REST + (size_t)over;
    memset(name, '/', length);
    name[length] = '\0';
    temporary = name;
    room = "////";
    run();
    assert_int_equal(strncmp(trace, "make:////", 9) == 0, over == 0);
    trace[0] = '\0';
  }
}

#define CANNOT "tmpirun: cannot run 'script', which may start the MPI program: "
#define OTHERWISE ", or name the MPI program itself)\n"

static void test_no_room_for_the_file(void **state) {
  (void)state;
  room = NULL;
  assert_string_equal(run(), CANNOT "no folder has room for a file (set TMPDIR" OTHERWISE);
  check_trace(
      "make:" FILE_IN("/tmp") " make:" FILE_IN("/var/tmp") " make:" FILE_IN("/dev/shm") " exit:1 ");
}

static void test_no_process_for_the_wrapper(void **state) {
  (void)state;
  forked = -1;
  assert_string_equal(run(),
                      CANNOT "Resource temporarily unavailable (end other programs" OTHERWISE);
  check_trace(MADE "unblock unlink:" FILE_IN("/tmp") " exit:1 ");
  has_memory = false;
  assert_string_equal(run(), CANNOT "Cannot allocate memory (end other programs" OTHERWISE);
  check_trace("make:" FILE_IN("/tmp") " close:0 block set:" FILE_IN(
      "/tmp") " unblock unlink:" FILE_IN("/tmp") " exit:1 ");
}

/* ---- the tmpirun that a wrapper starts */

static void test_a_tmpirun_says_that_it_runs(void **state) {
  (void)state;
  static const char *const others[] = {NULL,
                                       "",
                                       "/etc/passwd",
                                       "tmpirun-unstarted-abcdef",
                                       "/tmp/tmpirun-unstarted",
                                       "/tmpirun-unstarted-a/b"};
  unstarted = FILE_IN("/own");
  tm_wrapped_started();
  check_trace("unlink:" FILE_IN("/own") " unset ");
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    unstarted = others[i]; /* a variable that the user has set removes no other file */
    tm_wrapped_started();
    check_trace("unset ");
  }
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup(name, start)
  const struct CMUnitTest tests[] = {
      ROW(test_a_wrapper_that_has_started_ranks),
      ROW(test_a_wrapper_that_has_started_none),
      ROW(test_a_wrapper_that_a_signal_ends),
      ROW(test_a_wait_that_signals_interrupt),
      ROW(test_signals_that_are_ignored),
      ROW(test_signals_are_handed_on),
      ROW(test_the_wrapper_becomes_its_program),
      ROW(test_a_wrapper_whose_parent_is_gone),
      ROW(test_folders_for_the_file),
      ROW(test_a_folder_whose_name_just_fits),
      ROW(test_no_room_for_the_file),
      ROW(test_no_process_for_the_wrapper),
      ROW(test_a_tmpirun_says_that_it_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
