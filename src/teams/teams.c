/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmltp-teams: what `mltp run` preloads into a program that was not written for us. It joins
 * mltpd and gives each team of threads the size of the program's grant.
 *
 *   OpenMP     regions compiled by gcc call libgomp with a number of threads, 0 where the program
 *              leaves the choice to the library; 0 becomes the grant, or what libgomp would take if
 *              that is less. A program that says num_threads(n) gets n.
 *   OpenBLAS   before a matrix product its number of threads becomes the grant, or what it was at
 *              the start if that is less.
 *
 * A team never is larger than the program expects, so arrays it made by omp_get_max_threads() are
 * large enough. The demand is the whole machine while a team works, else one CPU.
 *
 * Relaxed: counters and a flag that only the report at the end reads.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ilock.h"
#include "coord/client.h"
#include "os/os.h"

#define EXPORT __attribute__((visibility("default")))

static struct {
  mt_ilock lock;
  bool joined;
  unsigned most;    /* [const] CPUs */
  unsigned working; /* [lock] teams at work */
  unsigned teams;   /* [lock] so far */
  int blas_own;     /* [lock] OpenBLAS's own number of threads; 0: not asked yet */
  int blas_now;     /* [lock] as we have set it last */
} state;

__attribute__((constructor)) static void start(void) {
  const char *where = getenv("MLTP_COORDINATOR");
  state.most = (unsigned)os_cpus();
  struct mt_client_program program = {.role = MT_PROTO_TEAMS, .most = state.most};
  state.joined = mt_client_join(where != NULL && *where != '\0' ? where : "auto", &program) == 0;
}

__attribute__((destructor)) static void end(void) {
  if (state.teams == 0 && getenv("MLTP_RUN_QUIET") == NULL)
    fprintf(stderr, "mltp: %s used neither OpenMP by libgomp nor OpenBLAS: nothing was adjusted\n",
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

/* @return NULL: nobody has it. */
static void *find_any(const char *name, const void *caller) {
  void *found = dlsym(RTLD_NEXT, name);
  return found != NULL ? found : find_from(name, caller);
}

static void *find(const char *name, const void *caller) {
  void *found = find_any(name, caller);
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

static unsigned grant(void) {
  mt_client_look(os_now());
  return mt_client_follow();
}

static void begin_team(void) {
  mt_ilock_lock(&state.lock);
  state.teams++;
  state.working++;
  bool ring = report();
  mt_ilock_unlock(&state.lock);
  if (ring) mt_client_ring();
}

static void end_team(void) {
  mt_ilock_lock(&state.lock);
  state.working--;
  bool ring = report();
  mt_ilock_unlock(&state.lock);
  if (ring) mt_client_ring();
}

/* ---- OpenMP */

typedef void region(void *data);

/* @return the size of a team for which the program asks for a size. Inner regions stay as they are:
 * their threads are part of a team that has the grant. */
static unsigned team_size(unsigned asked, const void *caller) {
  static int (*get_level)(void), (*get_max)(void);
  if (get_level == NULL) {
    *(void **)&get_max = find("omp_get_max_threads", caller);
    *(void **)&get_level = find("omp_get_level", caller);
  }
  if (asked != 0 || get_level() > 0) return asked;
  unsigned own = (unsigned)get_max(), granted = grant();
  return granted < own ? granted : own;
}

#define CALLER __builtin_return_address(0)

EXPORT void GOMP_parallel(region *f, void *data, unsigned threads, unsigned flags) {
  static void (*next)(region *, void *, unsigned, unsigned);
  if (next == NULL) *(void **)&next = find("GOMP_parallel", CALLER);
  begin_team();
  next(f, data, team_size(threads, CALLER), flags);
  end_team();
}

EXPORT unsigned GOMP_parallel_reductions(region *f, void *data, unsigned threads, unsigned flags) {
  static unsigned (*next)(region *, void *, unsigned, unsigned);
  if (next == NULL) *(void **)&next = find("GOMP_parallel_reductions", CALLER);
  begin_team();
  unsigned result = next(f, data, team_size(threads, CALLER), flags);
  end_team();
  return result;
}

EXPORT void GOMP_parallel_sections(region *f, void *data, unsigned threads, unsigned count,
                                   unsigned flags) {
  static void (*next)(region *, void *, unsigned, unsigned, unsigned);
  if (next == NULL) *(void **)&next = find("GOMP_parallel_sections", CALLER);
  begin_team();
  next(f, data, team_size(threads, CALLER), count, flags);
  end_team();
}

/* Combined loops: the same but for the name; some have a size of chunks. */
typedef void chunked_loop(region *, void *, unsigned, long, long, long, long, unsigned);
typedef void plain_loop(region *, void *, unsigned, long, long, long, unsigned);

struct loop {
  long start, end, step, chunk;
};

static void run_chunked(chunked_loop **next, const char *name, const void *caller, region *f,
                        void *data, unsigned threads, struct loop loop, unsigned flags) {
  if (*next == NULL) *(void **)next = find(name, caller);
  begin_team();
  (*next)(f, data, team_size(threads, caller), loop.start, loop.end, loop.step, loop.chunk, flags);
  end_team();
}

static void run_plain(plain_loop **next, const char *name, const void *caller, region *f,
                      void *data, unsigned threads, struct loop loop, unsigned flags) {
  if (*next == NULL) *(void **)next = find(name, caller);
  begin_team();
  (*next)(f, data, team_size(threads, caller), loop.start, loop.end, loop.step, flags);
  end_team();
}

EXPORT void GOMP_parallel_loop_dynamic(region *f, void *data, unsigned threads, long start,
                                       long end, long step, long chunk, unsigned flags) {
  static chunked_loop *next;
  run_chunked(&next, "GOMP_parallel_loop_dynamic", CALLER, f, data, threads,
              (struct loop){start, end, step, chunk}, flags);
}

EXPORT void GOMP_parallel_loop_guided(region *f, void *data, unsigned threads, long start, long end,
                                      long step, long chunk, unsigned flags) {
  static chunked_loop *next;
  run_chunked(&next, "GOMP_parallel_loop_guided", CALLER, f, data, threads,
              (struct loop){start, end, step, chunk}, flags);
}

EXPORT void GOMP_parallel_loop_nonmonotonic_dynamic(region *f, void *data, unsigned threads,
                                                    long start, long end, long step, long chunk,
                                                    unsigned flags) {
  static chunked_loop *next;
  run_chunked(&next, "GOMP_parallel_loop_nonmonotonic_dynamic", CALLER, f, data, threads,
              (struct loop){start, end, step, chunk}, flags);
}

EXPORT void GOMP_parallel_loop_nonmonotonic_guided(region *f, void *data, unsigned threads,
                                                   long start, long end, long step, long chunk,
                                                   unsigned flags) {
  static chunked_loop *next;
  run_chunked(&next, "GOMP_parallel_loop_nonmonotonic_guided", CALLER, f, data, threads,
              (struct loop){start, end, step, chunk}, flags);
}

EXPORT void GOMP_parallel_loop_runtime(region *f, void *data, unsigned threads, long start,
                                       long end, long step, unsigned flags) {
  static plain_loop *next;
  run_plain(&next, "GOMP_parallel_loop_runtime", CALLER, f, data, threads,
            (struct loop){start, end, step, 0}, flags);
}

EXPORT void GOMP_parallel_loop_nonmonotonic_runtime(region *f, void *data, unsigned threads,
                                                    long start, long end, long step,
                                                    unsigned flags) {
  static plain_loop *next;
  run_plain(&next, "GOMP_parallel_loop_nonmonotonic_runtime", CALLER, f, data, threads,
            (struct loop){start, end, step, 0}, flags);
}

EXPORT void GOMP_parallel_loop_maybe_nonmonotonic_runtime(region *f, void *data, unsigned threads,
                                                          long start, long end, long step,
                                                          unsigned flags) {
  static plain_loop *next;
  run_plain(&next, "GOMP_parallel_loop_maybe_nonmonotonic_runtime", CALLER, f, data, threads,
            (struct loop){start, end, step, 0}, flags);
}

/* ---- OpenBLAS */

/* Only while no other team works: a product that is under way keeps its threads. Another BLAS than
 * OpenBLAS is left alone. */
static void size_blas(const void *caller) {
  static int (*get_threads)(void);
  static void (*set_threads)(int);
  if (get_threads == NULL) {
    *(void **)&set_threads = find_any("openblas_set_num_threads", caller);
    *(void **)&get_threads = find_any("openblas_get_num_threads", caller);
  }
  if (get_threads == NULL || set_threads == NULL) return;
  int granted = (int)grant();
  mt_ilock_lock(&state.lock);
  if (state.blas_own == 0) state.blas_own = state.blas_now = get_threads();
  int size = granted < state.blas_own ? granted : state.blas_own;
  bool set = state.working == 1 && size != state.blas_now;
  if (set) state.blas_now = size;
  mt_ilock_unlock(&state.lock);
  if (set) set_threads(size);
}

typedef void dgemm(const char *, const char *, const int *, const int *, const int *,
                   const double *, const double *, const int *, const double *, const int *,
                   const double *, double *, const int *);

EXPORT void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                   const double *alpha, const double *a, const int *lda, const double *b,
                   const int *ldb, const double *beta, double *c, const int *ldc) {
  static dgemm *next;
  if (next == NULL) *(void **)&next = find("dgemm_", CALLER);
  begin_team();
  size_blas(CALLER);
  next(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  end_team();
}

typedef void sgemm(const char *, const char *, const int *, const int *, const int *, const float *,
                   const float *, const int *, const float *, const int *, const float *, float *,
                   const int *);

EXPORT void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                   const float *alpha, const float *a, const int *lda, const float *b,
                   const int *ldb, const float *beta, float *c, const int *ldc) {
  static sgemm *next;
  if (next == NULL) *(void **)&next = find("sgemm_", CALLER);
  begin_team();
  size_blas(CALLER);
  next(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  end_team();
}

typedef void cblas_dgemm_type(int, int, int, int, int, int, double, const double *, int,
                              const double *, int, double, double *, int);

EXPORT void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha,
                        const double *a, int lda, const double *b, int ldb, double beta, double *c,
                        int ldc) {
  static cblas_dgemm_type *next;
  if (next == NULL) *(void **)&next = find("cblas_dgemm", CALLER);
  begin_team();
  size_blas(CALLER);
  next(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  end_team();
}

typedef void cblas_sgemm_type(int, int, int, int, int, int, float, const float *, int,
                              const float *, int, float, float *, int);

EXPORT void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                        int lda, const float *b, int ldb, float beta, float *c, int ldc) {
  static cblas_sgemm_type *next;
  if (next == NULL) *(void **)&next = find("cblas_sgemm", CALLER);
  begin_team();
  size_blas(CALLER);
  next(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  end_team();
}
