/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Auditor (rtld-audit(7)) of the programs that wrappers and ranks start.
 *
 * libmpi_abi makes ranks of a program that a wrapper starts, and refuses one that a rank starts
 * (env/launched.c). A program that was built for another MPI does not load libmpi_abi: it would be
 * a job of one rank, print its result, and end with status 0. ld.so(8) tells this library what each
 * program loads, so such a program is refused before its first instruction. Where one rank was
 * asked for, and where a program that already runs loads another MPI, that is reported: a library
 * may need one that it never calls.
 *
 * A program of the standard ABI that another MPI's compiler has linked may look for that one's
 * libmpi_abi. It gets ours, and so becomes ranks.
 *
 * The processes of another MPI's launcher are no such job, and have the variables of PMIx or PMI.
 * A program that is statically linked, or that has not got the environment, is not seen.
 *
 * This library does without libc, because it would load a second one into each process.
 *
 * Rejected: LD_PRELOAD, since a sanitizer's library has to be the first; a folder of stand-ins in
 * LD_LIBRARY_PATH, which a DT_RPATH precedes.
 */
#include <link.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "tmpi/env/launch.h"
#include "tmpi/env/other_mpi.h"

#define SHOWN __attribute__((visibility("default")))

enum { STDERR = 2, STATUS = 1 };

static const char *program = "a program"; /* as the process was started */
static char **environment;
static char own_library[4096]; /* libmpi_abi; "": it has no such path */
static bool runs;              /* all that the program needs is loaded */
static bool reported;          /* once is enough: such libraries need each other */

static long call(long number, long first, long second, long third) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(first), "S"(second), "d"(third)
                   : "rcx", "r11", "memory");
  return result;
}

/* @return the value of a variable; NULL: it is not set. */
static const char *value_of(const char *name) {
  for (char **entry = environment; entry != NULL && *entry != NULL; entry++) {
    const char *rest = tm_behind(*entry, name);
    if (rest != NULL && *rest == '=') return rest + 1;
  }
  return NULL;
}

/* ---- a line in one write */

struct line {
  size_t length;
  char bytes[1024];
};

/* What is too long is cut off: a name. */
static void add(struct line *line, const char *text) {
  for (; *text != '\0' && line->length < sizeof line->bytes; text++)
    line->bytes[line->length++] = *text;
}

static void add_name(struct line *line, const char *name) {
  enum { MOST = 200 };
  char part[MOST + 1];
  size_t length = 0;
  for (; name[length] != '\0' && length < MOST; length++) part[length] = name[length];
  part[length] = '\0';
  add(line, part);
}

/* ---- another MPI */

/* @return whether a wrapper or a rank has started the program, and no other launcher. */
static bool is_ours(void) {
  static const char *const signs[] = {"PMIX_RANK", "PMIX_NAMESPACE", "PMI_FD", "PMI_PORT"};
  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
    if (value_of(signs[i]) != NULL) return false;
  return value_of(TM_JOB) != NULL || (value_of(TM_LAUNCH) != NULL && value_of(TM_RANKS) != NULL);
}

/* ranks: that the wrapper's user has asked for; NULL: a rank has started the program. */
static void report(const char *library, const char *ranks) {
  struct line line;
  bool refused = !runs && (ranks == NULL || tm_behind("1", ranks) == NULL);
  line.length = 0;
  add(&line, refused ? "tmpirun: cannot run '" : "tmpirun: warning: '");
  add_name(&line, program);
  add(&line, refused ? "': it uses another MPI, " : "' uses another MPI, ");
  add_name(&line, tm_file_name(library));
  add(&line,
      refused ? ", in which it would be a job of one rank" : ", in which it is a job of one rank");
  if (ranks != NULL && refused) {
    add(&line, ", not of ");
    add_name(&line, ranks);
  }
  if (ranks == NULL) add(&line, ", started by a rank");
  add(&line,
      " (build it by tmpicc, or start it by the launcher of its MPI; if one rank is right, unset ");
  add(&line, ranks == NULL ? TM_JOB ")\n" : TM_LAUNCH ")\n");
  call(SYS_write, STDERR, (intptr_t)line.bytes, (long)line.length);
  if (refused) call(SYS_exit_group, STATUS, 0, 0);
}

/* A rank's child may have a wrapper's variables, too. */
static void meet_other_mpi(const char *library) {
  if (reported || !is_ours()) return;
  reported = true;
  report(library, value_of(TM_JOB) == NULL ? value_of(TM_RANKS) : NULL);
}

/* This library's path, which LD_AUDIT begins with, tells that of libmpi_abi. */
static void find_own_library(void) {
  static const char name[] = "/libmpi_abi.so.1";
  const char *list = value_of("LD_AUDIT"), *rest = NULL;
  size_t length = 0;
  for (; list != NULL && list[length] != '\0' && rest == NULL; length++)
    rest = tm_behind(list + length, TM_AUDITOR);
  if (rest == NULL || length + sizeof name > sizeof own_library) return;
  size_t folder = length - 1;
  for (size_t i = 0; i < folder; i++) own_library[i] = list[i];
  for (size_t i = 0; i < sizeof name; i++) own_library[folder + i] = name[i];
}

/* ---- what ld.so calls */

/* Before all other functions here. */
__attribute__((constructor)) static void start(int argc, char **argv, char **variables) {
  if (argc > 0) program = argv[0];
  environment = variables;
  find_own_library();
}

SHOWN unsigned la_version(unsigned version) { return version; }

/* @return the name that is looked for in place of another. */
SHOWN char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag) {
  (void)cookie;
  bool is_abi = flag == LA_SER_ORIG && tm_behind(tm_file_name(name), "libmpi_abi.so.1") != NULL;
  return is_abi && own_library[0] != '\0' && is_ours() ? own_library : (char *)(uintptr_t)name;
}

/* An object has been mapped, and nothing of it has run. */
SHOWN unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie) {
  (void)namespace, (void)cookie;
  if (tm_is_other_mpi(map->l_name)) meet_other_mpi(map->l_name);
  return 0; /* no calls are followed */
}

SHOWN void la_preinit(uintptr_t *cookie) {
  (void)cookie;
  runs = true;
}
