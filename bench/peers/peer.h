/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file peer.h
 * The frame of a peer program: one thread library, measured from the outside.
 *
 * `PROGRAM ROW VPS MS` measures one row for about MS milliseconds on VPS kernel
 * threads and prints one line of JSON. A row that any number of threads can take part in
 * may be named with their number, as in barrier-64; --ops N asks for exactly N operations.
 * `bench/threads/micro.c` runs these programs in turn; a library that crashes, hangs or leaks harms
 * nobody else's figures. Everything here is callable from C and C++.
 */
#ifndef MLTP_BENCH_PEER_H
#define MLTP_BENCH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One measurement: the row starts and stops the clocks around the part that counts. */
struct peer_run {
  uint64_t ops;     /**< in: operations wanted; out: operations done */
  unsigned threads; /**< in: how many take part, in rows that can have any number */
  uint64_t wall_ns;
  uint64_t cpu_ns;    /**< of the whole process, all kernel threads */
  uint64_t rss_bytes; /**< growth of resident memory, rows about memory only */
  uint64_t pte_bytes; /**< growth of page tables, rows about memory only */
  uint64_t depth;     /**< forks on the longest path, trees only */
  uint64_t walk_ns;   /**< CPU time of the same trees without threads */
  uint64_t alive;     /**< threads begun and not ended at most, rows that count them only */
};

/** Does run->ops operations (at least one unit of them). @return is the answer right? */
typedef bool peer_row_fn(struct peer_run *run);

/** A row a library offers; a table of them ends with a NULL name. */
struct peer_row {
  const char *name;
  peer_row_fn *run;
  uint64_t first_ops; /**< operations of the first warm-up round */
  uint64_t fixed_ops; /**< nonzero: this number unless --ops says another, once, without warm-up */
  unsigned threads;   /**< unless ROW-N asks for N; 0: the row knows their number itself */
};

struct peer {
  const char *name;
  const char *version; /**< of the library, as it tells it */
  int max_vps;         /**< kernel threads the library can spread its threads over */
  void (*start)(int vps);
  void (*stop)(void);
  const struct peer_row *rows;
};

/** The whole program: reads the command line, measures, prints. @return exit status. */
int peer_main(const struct peer *peer, int argc, char **argv);

void peer_clock_start(struct peer_run *run);
void peer_clock_stop(struct peer_run *run);

/** Resident memory now, to be subtracted by peer_memory_stop(). */
void peer_memory_start(struct peer_run *run);
void peer_memory_stop(struct peer_run *run);

/** Zeroed memory, or the end of the program. */
void *peer_alloc(size_t count, size_t size);

/** Ends the program: the row is not offered here. A message has said why. */
void peer_not_offered(void) __attribute__((noreturn));

/** Ends the program with a message unless ok: set-up that failed is no measurement. */
void peer_check(bool ok, const char *what);

#ifdef __cplusplus
}
#endif

#endif
