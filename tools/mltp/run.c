/* SPDX-License-Identifier: Apache-2.0 */
/* mltp run: starts a program that was not written for MLTP, with libmltp-teams preloaded. */
#include <argp.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"
#include "run.h"

enum { EXIT_NOT_STARTED = 127, EXIT_FAILED = 1 };

/* @return whether the kernel will start it without the dynamic loader, which preloads. Files that
 * are no programs for this machine, such as scripts, count as dynamic: what they start may be. */
static bool is_static(const char *path) {
  Elf64_Ehdr head;
  Elf64_Phdr part;
  bool loader = false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool elf = read(fd, &head, sizeof head) == sizeof head &&
             memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64;
  for (int i = 0; elf && i < head.e_phnum; i++)
    loader |=
        pread(fd, &part, sizeof part, (off_t)(head.e_phoff + i * sizeof part)) == sizeof part &&
        part.p_type == PT_INTERP;
  close(fd);
  return elf && !loader;
}

/* Where the shell would find it. */
static bool find_program(const char *name, char path[PATH_MAX]) {
  if (strchr(name, '/') != NULL) {
    snprintf(path, PATH_MAX, "%s", name);
    return true;
  }
  const char *list = getenv("PATH");
  char *copy = strdup(list != NULL ? list : "/usr/bin:/bin"), *rest = copy;
  bool found = false;
  for (char *part = strsep(&rest, ":"); part != NULL && !found; part = strsep(&rest, ":")) {
    snprintf(path, PATH_MAX, "%s/%s", part, name);
    found = access(path, X_OK) == 0;
  }
  free(copy);
  return found;
}

/* Beside the command: ../lib of a build or an installation. @return false: it is not there. */
static bool find_library(char path[PATH_MAX]) {
  static const char *const places[] = {"../lib/libmltp-teams.so", MLTP_LIBDIR "/libmltp-teams.so"};
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) return false;
  self[length] = '\0';
  *(strrchr(self, '/') + 1) = '\0';
  for (int i = 0; i < 2; i++) {
    char name[2 * PATH_MAX];
    snprintf(name, sizeof name, "%s%s", places[i][0] == '/' ? "" : self, places[i]);
    if (realpath(name, path) != NULL) return true;
  }
  return false;
}

static void preload(const char *library) {
  const char *others = getenv("LD_PRELOAD");
  char *list = NULL;
  if (asprintf(&list, "%s%s%s", library, others != NULL ? ":" : "", others != NULL ? others : "") <
      0)
    return;
  setenv("LD_PRELOAD", list, 1);
  free(list);
}

struct request {
  char **words;
  const char *where;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct request *r = state->input;
  switch (key) {
    case 's': r->where = arg; return 0;
    case 'q': setenv("MLTP_RUN_QUIET", "1", 1); return 0;
    case ARGP_KEY_ARG:
      r->words = state->argv + state->next - 1;
      state->next = state->argc;
      return 0;
    case ARGP_KEY_END:
      if (r->words == NULL)
        argp_error(state, "nothing to run: no program given (try: %s -- ./program)", state->name);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

int run_main(int argc, char **argv) {
  static const struct argp_option options[] = {
      {"socket", 's', "PATH", 0, "The daemon's socket (MLTP_COORDINATOR, else auto)", 0},
      {"quiet", 'q', NULL, 0, "Do not say that a program has nothing to adjust", 0},
      {0}};
  static const struct argp argp = {
      .options = options,
      .parser = parse,
      .args_doc = "[--] PROGRAM [ARGUMENT...]",
      .doc =
          "Runs a program that uses OpenMP (libgomp) or OpenBLAS: its teams get the size that "
          "mltpd grants. Nothing is compiled again."};
  struct request request = {0};
  char library[PATH_MAX], program[PATH_MAX];
  argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &request);
  if (request.where != NULL) setenv("MLTP_COORDINATOR", request.where, 1);
  if (!find_library(library)) {
    message("cannot run %s: libmltp-teams.so is not installed beside this command",
            request.words[0]);
    return EXIT_FAILED;
  }
  if (find_program(request.words[0], program) && is_static(program))
    message("%s is linked statically: it runs as it is", request.words[0]);
  preload(library);
  execvp(request.words[0], request.words);
  message("cannot run %s: %s", request.words[0], strerror(errno));
  return EXIT_NOT_STARTED;
}
