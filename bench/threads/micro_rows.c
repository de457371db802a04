/* SPDX-License-Identifier: Apache-2.0 */
/** @file micro_rows.c What the micro benchmarks measure, as data. */
#include "micro.h"

#include <stddef.h>

#define MICRO_END {NULL, NULL, NULL, NULL, 0, 0, MICRO_CPU_NS, false, 0}

/* clang-format off: a table */
const struct micro_row micro_rows[] = {
    {"switch", "switch", "raw symmetric switch", "switch", 1, 2, MICRO_CPU_NS, false, 0},
    {"switch", "yield", "yield", "yield", 1, 2, MICRO_CPU_NS, true, 0},
    {"switch", "yield", "yield", "yield", 1, 1000, MICRO_CPU_NS, true, 0},
    {"switch", "yield", "yield", "yield", 2, 1000, MICRO_CPU_NS, true, 0},
    {"forkjoin", "create", "create, start, finish null threads", "create", 1, 256, MICRO_CPU_NS,
     false, 0},
    {"forkjoin", "create", "create, start, finish null threads", "create", 2, 256, MICRO_CPU_NS,
     false, 0},
    {"forkjoin", "fork-join", "fork-join", "fork-join", 1, 2, MICRO_CPU_NS, false, 0},
    {"forkjoin", "fork-join", "fork-join", "fork-join", 2, 2, MICRO_CPU_NS, false, 0},
    {"fib", "fib-25", "fib(25) tree, per thread", "fib", 1, 121392, MICRO_CPU_NS, false, 0},
    {"fib", "fib-25", "fib(25) tree, per thread", "fib", 2, 121392, MICRO_CPU_NS, false, 0},
    {"mutex", "mutex", "mutex", "mutex", 1, 1, MICRO_CPU_NS, true, 0},
    {"mutex", "mutex", "mutex", "mutex", 2, 8, MICRO_CPU_NS, true, 0},
    {"handshake", "sem", "semaphore round trip (double handshake)", "sem", 1, 2, MICRO_CPU_NS,
     false, 0},
    {"handshake", "cond", "condition round trip", "cond", 1, 2, MICRO_CPU_NS, false, 0},
    {"roundtrip", "sem-2-vps", "semaphore round trip, both may stay on one VP, wall clock", "sem",
     2, 2, MICRO_WALL_NS, false, 0},
    {"roundtrip", "across", "semaphore round trip across VPs, one side polls, wall clock", "across",
     2, 2, MICRO_WALL_NS, false, 0},
    {"barrier", "barrier", "barrier, per thread", "barrier", 1, 64, MICRO_CPU_NS, true, 0},
    {"barrier", "barrier", "barrier, per thread", "barrier", 2, 64, MICRO_CPU_NS, true, 0},
    {"barrier", "barrier", "barrier, per thread", "barrier", 1, 1000, MICRO_CPU_NS, true, 0},
    {"barrier", "barrier", "barrier, per thread", "barrier", 2, 1000, MICRO_CPU_NS, true, 0},
    {"sleep", "sleep", "sleep of 1 ms, alone", "sleep", 1, 1, MICRO_CPU_NS, false, 0},
    {"sleep", "sleep", "sleep of 1 ms, alone", "sleep", 2, 1, MICRO_CPU_NS, false, 0},
    {"memory", "memory", "resident memory per blocked thread", "memory", 1, 100000, MICRO_RSS_BYTES,
     false, 0},
    {"memory", "memory-page-tables", "page tables per blocked thread", "memory", 1, 100000,
     MICRO_PTE_BYTES, false, 0},
    {"memory", "memory-packed", "resident memory per blocked thread (packed)", MICRO_PACKED, 1,
     100000, MICRO_RSS_BYTES, false, 0},
    {"memory", "memory-packed-page-tables", "page tables per blocked thread (packed)", MICRO_PACKED,
     1, 100000, MICRO_PTE_BYTES, false, 0},
    MICRO_END,
};

/* Thesis 4.1 counted 1 to 1024 switches from a cold start, and cycles in user mode. By the clock on
 * the wall: within these microseconds kernel threads of ours and of peers begin on other CPUs,
 * which is no part of a switch. */
#define SWITCHES(n)                                                                                \
  {"switch", "switches", "yields from a cold start, each", "yield", 1, 2, MICRO_WALL_NS, true, n}
const struct micro_row micro_switch_rows[] = {
    SWITCHES(2),
    SWITCHES(4),
    SWITCHES(8),
    SWITCHES(16),
    SWITCHES(32),
    SWITCHES(64),
    SWITCHES(128),
    SWITCHES(256),
    SWITCHES(512),
    SWITCHES(1024),
    {"switch", "instructions", "instructions of a raw switch, user mode", "switch", 1, 2,
     MICRO_INSTRUCTIONS, false, 0},
    {"switch", "instructions-yield", "instructions of a yield, user mode", "yield", 1, 2,
     MICRO_INSTRUCTIONS, true, 0},
    MICRO_END,
};

/* TMPI-2's Table 1: two threads that yield. Kernel threads yield without a probe. */
#define EARLY "yield, probe before one switch of stacks"
#define LATE "yield, probe between two switches of stacks"
const struct micro_row micro_probe_rows[] = {
    {"switch", "probe-early", EARLY, "yield", 1, 2, MICRO_CPU_NS, true, 0},
    {"switch", "probe-late", LATE, "yield-late", 1, 2, MICRO_CPU_NS, true, 0},
    {"switch", "probe-early", EARLY, "yield", 1, 1000, MICRO_CPU_NS, true, 0},
    {"switch", "probe-late", LATE, "yield-late", 1, 1000, MICRO_CPU_NS, true, 0},
    {"switch", "instructions-late", "instructions of a " LATE, "yield-late", 1, 2,
     MICRO_INSTRUCTIONS, true, 0},
    {"switch", "instructions-early", "instructions of a " EARLY, "yield", 1, 2, MICRO_INSTRUCTIONS,
     true, 0},
    MICRO_END,
};
/* clang-format off */
/* Each tree at sizes decades apart; the largest one is walked once. The most memory follows the
 * longest path: a thread that has forked another waits for it. */
#define ROW(metric, label, row, vps, n, value, ops) {"recursion", metric, label, row, vps, n, value, true, ops}
#define TIMES(label, row, vps, few, more, many)                                                    \
  ROW(row, label ", per thread", row, vps, few, MICRO_CPU_NS, 0),                                  \
  ROW(row, label ", per thread", row, vps, more, MICRO_CPU_NS, 0),                                 \
  ROW(row, label ", per thread", row, vps, many, MICRO_CPU_NS, 1)
#define SPACE(label, row, n, ops)                                                                  \
  ROW(row "-memory", label ", the most memory", row, 2, n, MICRO_PEAK_BYTES, ops),                 \
  ROW(row "-alive", label ", threads begun and not ended", row "-alive", 2, n, MICRO_ALIVE, ops)
#define SHAPE(label, row, n)                                                                       \
  ROW(row "-depth", label ", the longest path", row, 1, n, MICRO_DEPTH, 0),                        \
  ROW(row "-walk", label ", without threads", row, 1, n, MICRO_WALK_NS, 0)
#define TREE(label, row, few, more, many)                                                          \
  TIMES(label, row, 1, few, more, many), TIMES(label, row, 2, few, more, many),                    \
  SPACE(label, row, few, 0), SPACE(label, row, many, 1), SHAPE(label, row, few), SHAPE(label, row, more)
const struct micro_row micro_recursion_rows[] = {
    TREE("recursive fib(n)", "fibonacci", 24, 32, 40),
    TREE("n queens", "queens", 8, 11, 14),
    TREE("unbalanced tree search", "uts", 100, 1000, 10000),
    TREE("tree search of n levels", "levels", 6, 8, 10),
    MICRO_END,
};
/* clang-format on */

const struct micro_peer micro_peers[] = {
    {"mltp", NULL},
    {"pthreads", NULL},
    {"boost-context", "libboost-context-dev"},
    {"boost-fiber", "libboost-fiber-dev"},
    {"st", "libst-dev"},
    {"pth", "libpth-dev"},
    {"go", "golang-go"},
    {"massivethreads", NULL},
    {"argobots", NULL},
    {NULL, NULL},
};
