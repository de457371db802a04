/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams of OpenMP that libgomp starts. Regions compiled by gcc call it with a number of threads, 0
 * where the program leaves the choice to the library; 0 becomes the grant.
 */
#include <stddef.h>

#include "teams/teams.h"

typedef void region(void *data);

EXPORT void GOMP_parallel(region *f, void *data, unsigned threads, unsigned flags) {
  static void (*next)(region *, void *, unsigned, unsigned);
  if (next == NULL) *(void **)&next = mt_team_find("GOMP_parallel", CALLER);
  mt_team_begin();
  next(f, data, mt_team_size(threads, CALLER), flags);
  mt_team_end();
}

EXPORT unsigned GOMP_parallel_reductions(region *f, void *data, unsigned threads, unsigned flags) {
  static unsigned (*next)(region *, void *, unsigned, unsigned);
  if (next == NULL) *(void **)&next = mt_team_find("GOMP_parallel_reductions", CALLER);
  mt_team_begin();
  unsigned result = next(f, data, mt_team_size(threads, CALLER), flags);
  mt_team_end();
  return result;
}

EXPORT void GOMP_parallel_sections(region *f, void *data, unsigned threads, unsigned count,
                                   unsigned flags) {
  static void (*next)(region *, void *, unsigned, unsigned, unsigned);
  if (next == NULL) *(void **)&next = mt_team_find("GOMP_parallel_sections", CALLER);
  mt_team_begin();
  next(f, data, mt_team_size(threads, CALLER), count, flags);
  mt_team_end();
}

/* Combined loops: the same but for the name; some have a size of chunks. */
typedef void chunked_loop(region *, void *, unsigned, long, long, long, long, unsigned);
typedef void plain_loop(region *, void *, unsigned, long, long, long, unsigned);

struct loop {
  long start, end, step, chunk;
};

static void run_chunked(chunked_loop **next, const char *name, const void *caller, region *f,
                        void *data, unsigned threads, struct loop loop, unsigned flags) {
  if (*next == NULL) *(void **)next = mt_team_find(name, caller);
  mt_team_begin();
  (*next)(f, data, mt_team_size(threads, caller), loop.start, loop.end, loop.step, loop.chunk,
          flags);
  mt_team_end();
}

static void run_plain(plain_loop **next, const char *name, const void *caller, region *f,
                      void *data, unsigned threads, struct loop loop, unsigned flags) {
  if (*next == NULL) *(void **)next = mt_team_find(name, caller);
  mt_team_begin();
  (*next)(f, data, mt_team_size(threads, caller), loop.start, loop.end, loop.step, flags);
  mt_team_end();
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
