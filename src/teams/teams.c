/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmltp-teams: what `mltp run` preloads into a program that was not written for us. It joins
 * mltpd and gives each team of threads the size of the program's grant.
 *
 *   gomp.c   OpenMP of gcc: the library is called with the number of threads
 *   kmpc.c   OpenMP of clang: the number is set before the region starts
 *   blas.c   OpenBLAS, BLIS and MKL: their number of threads is set before a call
 *   tbb.c    oneTBB: its limit of threads is set before a call
 *
 * A team never is larger than the program expects, so arrays it made by omp_get_max_threads() are
 * large enough. A program that asks for a number of threads gets it. The demand is the whole
 * machine while a team works, else one CPU.
 *
 * Relaxed: a count that changes under the lock, read as a hint.
 */
#include "teams/teams.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/ilock.h"
#include "coord/client.h"
#include "os/os.h"

static struct {
  mt_ilock lock;
  bool joined;
  unsigned most;    /* [const] CPUs */
  unsigned working; /* [atomic] teams at work; changes under the lock */
  unsigned teams;   /* [lock] so far */
} state;

__attribute__((constructor)) static void start(void) {
  const char *where = getenv("MLTP_COORDINATOR");
  state.most = (unsigned)os_cpus();
  struct mt_client_program program = {.role = MT_PROTO_TEAMS, .most = state.most};
  state.joined = mt_client_join(where != NULL && *where != '\0' ? where : "auto", &program) == 0;
}

/* Only the process that `mltp run` started says so, not each shell of a wrapper script. */
static bool is_started_by_run(void) {
  const char *process = getenv("MLTP_RUN_PROCESS");
  return process != NULL && atol(process) == (long)os_process();
}

__attribute__((destructor)) static void end(void) {
  if (state.teams == 0 && getenv("MLTP_RUN_QUIET") == NULL && is_started_by_run())
    fprintf(stderr, "mltp: %s used no team of OpenMP, oneTBB or a BLAS: nothing was adjusted\n",
            program_invocation_short_name);
  mt_client_leave();
}

/* ---- the functions behind ours */

/* A library that was loaded for one caller only is not found from here, but from that caller. */
static void *find_from(const char *name, const void *caller) {
  Dl_info info;
  void *handle = NULL, *found = NULL;
  if (dladdr(caller, &info) != 0) handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != NULL) found = dlsym(handle, name);
  if (handle != NULL) dlclose(handle);
  return found;
}

void *mt_team_find_any(const char *name, const void *caller) {
  void *found = dlsym(RTLD_NEXT, name);
  return found != NULL ? found : find_from(name, caller);
}

void *mt_team_find(const char *name, const void *caller) {
  void *found = mt_team_find_any(name, caller);
  if (found != NULL) return found;
  fprintf(stderr, "mltp: %s is called, and no library has it (run the program without mltp run)\n",
          name);
  abort();
}

/* ---- teams */

/* @return true: the daemon has to hear of it. */
static bool report(void) {
  unsigned demand = state.working > 0 ? state.most : 1;
  return mt_client_report(demand, demand);
}

unsigned mt_team_most(void) { return state.most; }

unsigned mt_team_grant(void) {
  mt_client_look(os_now());
  return mt_client_follow();
}

static void change_working(unsigned change) {
  mt_ilock_lock(&state.lock);
  mt_store_relaxed(&state.working, state.working + change);
  if (change == 1) state.teams++;
  bool ring = report();
  mt_ilock_unlock(&state.lock);
  if (ring) mt_client_ring();
}

void mt_team_begin(void) { change_working(1); }

void mt_team_end(void) { change_working((unsigned)-1); }

bool mt_team_is_alone(void) { return mt_load_relaxed(&state.working) == 1; }

unsigned mt_team_size(unsigned asked, const void *caller) {
  static int (*get_level)(void), (*get_max)(void);
  if (get_level == NULL) {
    *(void **)&get_max = mt_team_find("omp_get_max_threads", caller);
    *(void **)&get_level = mt_team_find("omp_get_level", caller);
  }
  if (asked != 0 || get_level() > 0) return asked;
  unsigned own = (unsigned)get_max(), granted = mt_team_grant();
  return granted < own ? granted : own;
}
