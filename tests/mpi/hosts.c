/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmpirun --hosts, word by word: which names are this machine, what is refused, which launcher is
 * started, with which words, and which variables travel. Each case is a process of its own, as the
 * hosts stay. The launcher is a file that is not started.
 */
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured.h"
#include "tmpi/run/hosts.h"
#include "tmpi/run/prefix.h"

enum { TEXT = 1 << 14, HOST_TEXT = 256, ROOT = 0, USER = 1 };

/* In a process of a case. */
#define MUST(condition) ((condition) ? (void)0 : _exit(98))

/* ---- the machine */

static uid_t user;
static int exec_error; /* 0: the process ends there */
static bool has_memory = true, has_proc = true;
static int addresses; /* found and not freed */
static bool has_prterun, has_orterun;

static const char *const launched[] = {"prterun", "orterun"};

char *tm_find_program(const char *name) {
  bool there = strcmp(name, launched[0]) == 0 ? has_prterun : has_orterun;
  char path[64];
  snprintf(path, sizeof path, "%s%s", there ? "/bin/" : "", name);
  return strdup(path);
}

int __wrap_gethostname(char *name, size_t size);
int __wrap_gethostname(char *name, size_t size) {
  MUST(size == HOST_TEXT - 1);
  strcpy(name, "node.example");
  return 0;
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void) { return user; }

int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found);
int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found) {
  MUST(service == NULL && hints == NULL);
  MUST(strcmp(name, "localhost") != 0 && strcmp(name, "node") != 0); /* they are known */
  static struct addrinfo one;
  *found = &one;
  addresses++;
  if (strncmp(name, "unknown", 7) != 0) return 0;
  addresses--;
  return EAI_NONAME;
}

void __wrap_freeaddrinfo(struct addrinfo *found);
void __wrap_freeaddrinfo(struct addrinfo *found) {
  MUST(found != NULL);
  addresses--;
}

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size) {
  return has_memory ? __real_realloc(memory, size) : NULL;
}

ssize_t __wrap_readlink(const char *path, char *text, size_t size);
ssize_t __wrap_readlink(const char *path, char *text, size_t size) {
  MUST(strcmp(path, "/proc/self/exe") == 0);
  MUST(size == PATH_MAX - 1);
  errno = EACCES;
  if (!has_proc) return -1;
  memcpy(text, "/bin/tmpirun", 12);
  return 12;
}

/* Prints the words. */
int __wrap_execv(const char *path, char *const *words);
int __wrap_execv(const char *path, char *const *words) {
  MUST(strcmp(path, words[0]) == 0);
  for (int i = 0; words[i] != NULL; i++) fprintf(stderr, "%s%s", i > 0 ? " " : "", words[i]);
  fprintf(stderr, "\n");
  errno = exec_error;
  if (exec_error == 0) _exit(0);
  return -1;
}

/* What a part prints in a process of its own; it returns its status, or another process follows. */
static const char *printed(int (*part)(void), int expected) {
  static char said[TEXT];
  int status;
  struct captured captured = captured_begin();
  pid_t child = fork();
  if (child == 0) {
    int result = part();
    fflush(stderr);
    _exit(addresses == 0 ? result : 99);
  }
  pid_t ended = waitpid(child, &status, 0);
  captured_end(&captured, said, sizeof said);
  assert_true(ended == child && WIFEXITED(status));
  if (WEXITSTATUS(status) != expected) fail_msg("status %d: %s", WEXITSTATUS(status), said);
  return said;
}

/* ---- a case: hosts of --hosts, and of a file */

static const char *list, *file;
static int ranks;
static char path[] = "/tmp/hosts-XXXXXX";
static char *words[] = {(char *)"tmpirun", (char *)"-n", (char *)"6", (char *)"prog", NULL};
enum { REFUSED = 30, FAR = 31, HERE = 32 };

static int launch(void) {
  if (list != NULL && !tm_hosts_add("--hosts", list)) return REFUSED;
  if (file != NULL && !tm_hosts_add_file("--hostfile", file)) return REFUSED;
  return tm_hosts_launch(ranks, words, 4);
}

static int look(void) {
  if (!tm_hosts_add("--hosts", list)) return REFUSED;
  return tm_hosts_are_far() ? FAR : HERE;
}

static void check(int status, const char *expected) {
  assert_string_equal(printed(launch, status), expected);
}

/* Of the variables of this process one is left. */
static void set_only(const char *name) {
  setenv("A", "", 1); /* so that there is an array */
  while (environ[0] != NULL) {
    char *first = strndup(environ[0], strcspn(environ[0], "="));
    unsetenv(first);
    free(first);
  }
  if (name != NULL) setenv(name, "1", 1);
}

static int prepare(void **state) {
  (void)state;
  set_only(NULL);
  user = USER;
  exec_error = 0;
  has_memory = has_proc = has_prterun = has_orterun = true;
  list = "a,b,c";
  file = NULL;
  ranks = 6;
  return 0;
}

static void names_of_this_machine(void **state) {
  static const struct {
    const char *list;
    int where;
  } all[] = {{"localhost", HERE},
             {"LocalHost", HERE},
             {"127.0.0.1", HERE},
             {"::1", HERE},
             {"node", HERE},
             {"NODE", HERE},
             {"node.example", HERE},
             {"Node.Example", HERE},
             {"node:4", HERE},
             {"localhost:2", HERE},
             {"", HERE},
             {",", HERE},
             {"nod", FAR},
             {"nodes", FAR},
             {"edon", FAR},
             {"node.", FAR},
             {"node.exampl", FAR},
             {"node.examples", FAR},
             {"elpmaxe.edon", FAR},
             {"other", FAR},
             {"other,node", FAR},
             {"node,other", FAR},
             {"::2", FAR}};
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    list = all[i].list;
    assert_string_equal(printed(look, all[i].where), "");
  }
}

static void names_that_nobody_has(void **state) {
  static const char wanted[] =
      "tmpirun: --hosts: '%s': no machine has this name (correct it, or "
      "add its address to /etc/hosts)\n";
  static const char *const lists[] = {"unknown", "a,unknown,b", "a,b,unknown:3"};
  char expected[256];
  (void)state;
  snprintf(expected, sizeof expected, wanted, "unknown");
  for (int i = 0; i < 3; i++) {
    list = lists[i];
    check(REFUSED, expected);
  }
  has_memory = false;
  list = "a";
  check(REFUSED, "tmpirun: --hosts: 'a': no memory (name fewer hosts)\n");
}

static void write_file(const char *text) {
  FILE *to = fopen(path, "w");
  if (to == NULL) abort();
  fputs(text, to);
  fclose(to);
}

static void hosts_of_a_file(void **state) {
  (void)state;
  close(mkstemp(path));
  file = path;
  list = NULL;
  write_file("# nodes\n\n  a slots=4\r\nb# no blank\n\tc:2 \n   \n#d\n");
  check(0, "/bin/prterun --host a,b,c -n 3 /bin/tmpirun -n 6 prog\n");
  write_file("a"); /* without an end of line */
  check(0, "/bin/prterun --host a -n 1 /bin/tmpirun -n 6 prog\n");
  list = "b,,c,";
  check(0, "/bin/prterun --host b,c,a -n 3 /bin/tmpirun -n 6 prog\n");
  write_file("a\nunknown\nunknown2\n");
  check(REFUSED,
        "tmpirun: --hostfile: 'unknown': no machine has this name (correct it, or add its "
        "address to /etc/hosts)\n");
  char expected[200], line[2000];
  memset(line, 'x', sizeof line - 1);
  line[0] = '#';
  line[sizeof line - 1] = '\0';
  list = "b";
  write_file(line); /* a comment may be long */
  check(0, "/bin/prterun --host b -n 1 /bin/tmpirun -n 6 prog\n");
  unlink(path);
  snprintf(expected, sizeof expected,
           "tmpirun: --hostfile: '%s': No such file or directory (name a file of hosts)\n", path);
  check(REFUSED, expected);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(expected, sizeof expected,
           "tmpirun: --hostfile: '%s': Is a directory (name a file of hosts)\n", path);
  check(REFUSED, expected);
  rmdir(path);
}

static void hosts_that_make_no_job(void **state) {
  enum { USAGE = 2 };
  static const struct {
    const char *list, *twice;
  } all[] = {{"a,b,a", "a"},   {"a,A", "A"},          {"a,b,c,c", "c"},
             {"a,b,c,b", "b"}, {"node,a,::1", "::1"}, {"localhost,node.example", "node.example"},
             {"a:2,a:3", "a"}};
  char expected[256];
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    list = all[i].list;
    snprintf(expected, sizeof expected,
             "tmpirun: --hosts: '%s': this machine is named twice, and is one node (name each "
             "machine once)\n",
             all[i].twice);
    check(USAGE, expected);
  }
  list = "a,b,c,node";
  check(USAGE,
        "tmpirun: -n 6: 4 hosts are named, and each must have as many ranks (choose a "
        "multiple of 4)\n");
  list = "a,b,c";
  setenv("PMIX_NAMESPACE", "job", 1);
  check(USAGE,
        "tmpirun: --hosts: 'a': a launcher has started this tmpirun, and names the hosts "
        "(name hosts to one of them only)\n");
}

static void a_launcher_is_found(void **state) {
  (void)state;
  list = "a:4,b,node:2";
  check(0, "/bin/prterun --host a,b,node -n 3 /bin/tmpirun -n 6 prog\n");
  has_prterun = false;
  check(0, "/bin/orterun --host a,b,node -n 3 /bin/tmpirun -n 6 prog\n");
  has_orterun = false;
  check(1,
        "tmpirun: --hosts: 'a,b,node': no launcher in PATH that starts processes on other "
        "machines (install PRRTE's prterun, or Open MPI's orterun; or srun --mpi=pmix "
        "tmpirun)\n");
  has_prterun = true;
  exec_error = ENOEXEC;
  check(1,
        "/bin/prterun --host a,b,node -n 3 /bin/tmpirun -n 6 prog\n"
        "tmpirun: --hosts: '/bin/prterun': Exec format error (install it anew)\n");
  has_proc = false;
  check(1, "tmpirun: --hosts: 'tmpirun': /proc is missing, which says where it is (mount it)\n");
}

static void some_variables_travel(void **state) {
  static const char *const stay[] = {"HOME",    "HOSTNAME",   "LOGNAME", "OLDPWD",
                                     "PWD",     "SHLVL",      "TMPDIR",  "USER",
                                     "_",       "XAUTHORITY", "DISPLAY", "OMPI_",
                                     "ORTE_x",  "PMIX_RANK",  "PRTE_X",  "SLURM_JOB",
                                     "SSH_TTY", "XDG_A",      "OMPI_A",  "BASH_FUNC_which%%",
                                     "A.B"};
  static const char *const travel[] = {"PATH",    "HOMES", "HOM", "__",  "OMPI", "SSH",
                                       "XOMPI_A", "SLURM", "a",   "Z9_", "z0",   "_A"};
  (void)state;
  list = "a";
  for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++) {
    set_only(stay[i]);
    check(0, "/bin/prterun --host a -n 1 /bin/tmpirun -n 6 prog\n");
  }
  for (size_t i = 0; i < sizeof travel / sizeof travel[0]; i++) {
    char expected[128];
    set_only(travel[i]);
    snprintf(expected, sizeof expected, "/bin/prterun --host a -n 1 -x %s /bin/tmpirun -n 6 prog\n",
             travel[i]);
    check(0, expected);
  }
  setenv("BEHIND", "x=y", 1);
  setenv("USER", "me", 1);
  setenv("LAST", "", 1);
  check(0, "/bin/prterun --host a -n 1 -x _A -x BEHIND -x LAST /bin/tmpirun -n 6 prog\n");
}

/* Says what launchers are allowed. */
static int launch_and_print(void) {
  int status = launch();
  for (char **variable = environ; *variable != NULL; variable++) fprintf(stderr, "%s\n", *variable);
  return status;
}

static void launchers_run_as_root_as_tmpirun_does(void **state) {
  static const char line[] =
      "/bin/prterun --host a -n 1 /bin/tmpirun -n 6 prog\n"
      "tmpirun: --hosts: '/bin/prterun': Permission denied (install it "
      "anew)\n";
  char expected[TEXT];
  (void)state;
  list = "a";
  exec_error = EACCES;
  assert_string_equal(printed(launch_and_print, 1), line);
  user = ROOT;
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "0", 1);
  snprintf(expected, sizeof expected, "%s%s", line,
           "OMPI_ALLOW_RUN_AS_ROOT=0\nOMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
           "PRTE_ALLOW_RUN_AS_ROOT=1\nPRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1\n");
  assert_string_equal(printed(launch_and_print, 1), expected);
}

int main(void) {
#define PART(part) cmocka_unit_test_setup(part, prepare)
  const struct CMUnitTest tests[] = {
      PART(names_of_this_machine),
      PART(names_that_nobody_has),
      PART(hosts_of_a_file),
      PART(hosts_that_make_no_job),
      PART(a_launcher_is_found),
      PART(some_variables_travel),
      PART(launchers_run_as_root_as_tmpirun_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
