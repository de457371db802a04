/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MPI program that a wrapper of tmpirun has started, such as env(1) or a script: before main()
 * it becomes tmpirun, which starts the ranks (run/wrapper.h).
 *
 * That is right only if the program is at its beginning, thus if ld.so(8) has loaded libmpi_abi
 * with it. A program that has run for a while and then loads MPI is refused in MPI_Init().
 */
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "tmpi/env/launch.h"
#include "tmpi/rank/rank.h"

/* In tmpirun. */
extern const char tmpi_is_tmpirun __attribute__((weak, visibility("default")));

enum { OBJECTS = 1024 };

/* ---- whether the program needs libmpi_abi */

static const char *strings_of(const struct link_map *map) {
  for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_STRTAB) return (const char *)d->d_un.d_ptr;
  return NULL;
}

static bool needs(const struct link_map *user, const struct link_map *library) {
  const char *slash = strrchr(library->l_name, '/'), *strings = strings_of(user);
  const char *name = slash != NULL ? slash + 1 : library->l_name;
  if (strings == NULL) return false;
  for (const ElfW(Dyn) *d = user->l_ld; d->d_tag != DT_NULL; d++) {
    if (d->d_tag != DT_NEEDED) continue;
    const char *needed = strings + d->d_un.d_val;
    if (strcmp(needed, name) == 0 || strcmp(needed, library->l_name) == 0) return true;
  }
  return false;
}

/* The list is breadth first: each library comes after the first object that needs it. */
static bool came_with_program(const struct link_map *program) {
  const struct link_map *reached[OBJECTS] = {program};
  int count = 1;
  for (const struct link_map *map = program->l_next; map != NULL && count < OBJECTS;
       map = map->l_next)
    for (int i = 0; i < count; i++) {
      if (!needs(reached[i], map)) continue;
      if (strstr(map->l_name, "/libmpi_abi.so") != NULL) return true;
      reached[count++] = map;
      break;
    }
  return false;
}

/* ---- becoming tmpirun */

__attribute__((noreturn)) static void refuse(const char *tmpirun, const char *why) {
  fprintf(stderr, "tmpi: cannot start ranks by '%s': %s (name the MPI program itself)\n", tmpirun,
          why);
  _exit(1);
}

/* The auditor has nothing to do in tmpirun. */
static bool leave_auditor(void) {
  const char *list = getenv("LD_AUDIT"), *rest = list != NULL ? strstr(list, TM_AUDITOR) : NULL;
  if (rest == NULL || memchr(list, ':', (size_t)(rest - list)) != NULL) return true;
  rest += strlen(TM_AUDITOR);
  return (*rest == ':' ? setenv("LD_AUDIT", rest + 1, 1) : unsetenv("LD_AUDIT")) == 0;
}

__attribute__((noreturn)) static void become(char *launch, const char *program, int argc,
                                             char **argv) {
  char separator[] = {TM_LAUNCH_SEPARATOR, '\0'}, *rest;
  size_t words = 4 + (size_t)argc, n = 0;
  for (const char *c = launch; *c != '\0'; c++) words += *c == TM_LAUNCH_SEPARATOR;
  char **command = calloc(words, sizeof *command);
  if (command == NULL || unsetenv(TM_LAUNCH) != 0 || unsetenv(TM_RANKS) != 0 ||
      setenv(TM_LAUNCHED, "1", 1) != 0 || !leave_auditor())
    refuse(launch, "no memory");
  for (char *word = strtok_r(launch, separator, &rest); word != NULL;
       word = strtok_r(NULL, separator, &rest))
    command[n++] = word;
  command[n++] = (char *)(uintptr_t)"--";
  command[n++] = (char *)(uintptr_t)program;
  for (int i = 1; i < argc; i++) command[n++] = argv[i];
  execv(command[0], command);
  refuse(command[0], strerror(errno));
}

__attribute__((constructor)) static void start_as_ranks(int argc, char **argv) {
  const char *launch = secure_getenv(TM_LAUNCH);
  if (launch == NULL || &tmpi_is_tmpirun != NULL || !came_with_program(_r_debug.r_map)) return;
  const char *program = (const char *)getauxval(AT_EXECFN);
  char *copy = strdup(launch);
  if (copy == NULL || program == NULL) refuse(launch, "no memory, or no name of the program");
  become(copy, program, argc, argv);
}

/* ---- a job of one rank that would be a mistake */

const char *tm_launch_refusal(void) {
  static char text[256];
  if (getenv(TM_LAUNCH) != NULL)
    return "this program was started by a wrapper of tmpirun, and loads MPI when it already runs: "
           "it "
           "cannot become ranks (name it in tmpirun's command in place of the wrapper)";
  if (getenv(TM_JOB) != NULL)
    return "this program was started by a rank: it would be a job of one rank (unset " TM_JOB
           " if that is right, or start it by tmpirun)";
  const char *several = tm_launch_several(true);
  if (several == NULL) return NULL;
  snprintf(text, sizeof text,
           "a launcher has started %s processes of this program, and each would be a job of one "
           "rank (start tmpirun -n N PROGRAM in its place; unset %s if that is right)",
           getenv(several), several);
  return text;
}
