/* SPDX-License-Identifier: Apache-2.0 */
/* mltp run: starts a program that was not written for MLTP, with libmltp-teams preloaded, or with
 * libmltp-gate. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "message.h"
#include "preload.h"
#include "run.h"

enum { EXIT_NOT_STARTED = 127 };

struct request {
  char **words;
  const char *where, *library;
  bool in_group;      /* --cgroup */
  const char *folder; /* of the group that the program's is made in; NULL: our own */
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct request *r = state->input;
  switch (key) {
    case 't': r->library = preload_gate; return 0;
    case 's': r->where = arg; return 0;
    case 'S':
      r->library = preload_gate;
      setenv("MLTP_SEED", arg, 1);
      return 0;
    case 'g':
      r->in_group = true;
      r->folder = arg;
      return 0;
    case 'q': setenv("MLTP_RUN_QUIET", "1", 1); return 0;
    case ARGP_KEY_ARG:
      r->words = state->argv + state->next - 1;
      state->next = state->argc;
      return 0;
    case ARGP_KEY_END:
      if (r->in_group && r->library != preload_teams)
        argp_error(state, "--cgroup goes without --threads and --seed: choose one");
      if (r->words == NULL)
        argp_error(state, "nothing to run: no program given (try: %s -- ./program)", state->name);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

int run_main(int argc, char **argv) {
  static const struct argp_option options[] = {
      {"threads", 't', NULL, 0,
       "Gate the program's pthreads instead: as many run as it has permits", 0},
      {"seed", 'S', "N", 0, "The same, one at a time; the seed chooses the next (MLTP_SEED)", 0},
      {"cgroup", 'g', "FOLDER", OPTION_ARG_OPTIONAL,
       "Any program: limit its CPU time by a control group made in FOLDER (in the own group)", 0},
      {"socket", 's', "PATH", 0, "The daemon's socket (MLTP_COORDINATOR, else auto)", 0},
      {"quiet", 'q', NULL, 0, "Do not say that a program has nothing to adjust", 0},
      {0}};
  static const struct argp argp = {
      .options = options,
      .parser = parse,
      .args_doc = "[--] PROGRAM [ARGUMENT...]",
      .doc =
          "Runs a program that uses OpenMP, oneTBB or a BLAS: its teams get the size that mltpd "
          "grants. With --threads, runs a program of POSIX threads: as many of them run at a time "
          "as mltpd grants, or MLTP_VPS says. Nothing is compiled again."};
  static const char *const why[] = {
      [PRELOAD_STATIC] = "is linked statically",
      [PRELOAD_MUSL] = "uses musl, another C library",
      [PRELOAD_RIGHTS] = "has rights of its own (set-user-ID), and the loader preloads nothing",
  };
  struct request request = {.library = preload_teams};
  argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &request);
  if (request.in_group) return cgroup_run(request.words, request.where, request.folder);
  if (request.where != NULL) setenv("MLTP_COORDINATOR", request.where, 1);
  char path[PATH_MAX];
  enum preload_start start = preload_start(request.words[0], path);
  int failed = start == PRELOAD_MUSL ? 0 : preload(request.words[0], request.library);
  if (failed != 0) return failed;
  if (start != PRELOAD_LOADS) message("%s %s: it runs as it is", path, why[start]);
  char process[24];
  snprintf(process, sizeof process, "%ld", (long)getpid());
  setenv("MLTP_RUN_PROCESS", process, 1); /* the program's: execvp() keeps it */
  execvp(request.words[0], request.words);
  message("cannot run %s: %s", request.words[0], strerror(errno));
  return EXIT_NOT_STARTED;
}
