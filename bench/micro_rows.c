/* SPDX-License-Identifier: Apache-2.0 */
/** @file micro_rows.c The numbers to beat, as data. */
#include "micro.h"

#include <stddef.h>

const char micro_reference[] =
    "Targets and best peers were measured on the reference machine, a 2-CPU x86-64 VM of about "
    "3.6 GHz;\ncompare ratios between rows of one run, not figures of two machines.";

const struct micro_row micro_rows[] = {
    {"switch", "raw symmetric switch", "switch", 1, 2, MICRO_CPU_NS, 2.5,
     "5.5 Boost.Context (saves FP control), 1.0 corosensei (inlined)"},
    {"yield-2", "yield, 2 threads", "yield-2", 1, 2, MICRO_CPU_NS, 6, "12.3 libfibre"},
    {"yield-1000", "yield, 1000 threads", "yield-1000", 1, 1000, MICRO_CPU_NS, 10,
     "11.0 Photon (cannot be stolen)"},
    {"yield-1000", "yield, 1000 threads", "yield-1000", 2, 1000, MICRO_CPU_NS, 12, "16.5 libfibre"},
    {"create", "create, start, finish null threads", "create", 1, 256, MICRO_CPU_NS, 8,
     "24 Argobots"},
    {"create", "create, start, finish null threads", "create", 2, 256, MICRO_CPU_NS, 12,
     "25 MassiveThreads"},
    {"fork-join", "fork-join", "fork-join", 1, 2, MICRO_CPU_NS, 14, "36 MassiveThreads"},
    {"fork-join", "fork-join", "fork-join", 2, 2, MICRO_CPU_NS, 25, "51 MassiveThreads"},
    {"fib-25", "fib(25) tree, per thread", "fib", 1, 121392, MICRO_CPU_NS, 16, "43 MassiveThreads"},
    {"fib-25", "fib(25) tree, per thread", "fib", 2, 121392, MICRO_CPU_NS, 13, "26 MassiveThreads"},
    {"mutex", "mutex, uncontended", "mutex", 1, 1, MICRO_CPU_NS, 4.3, "4.3 Go"},
    {"mutex-8", "mutex, 8 threads", "mutex-8", 2, 8, MICRO_CPU_NS, 4.7, "4.7 libfibre"},
    {"sem", "semaphore round trip (double handshake)", "sem", 1, 2, MICRO_CPU_NS, 45,
     "70 State Threads"},
    {"cond", "condition round trip", "cond", 1, 2, MICRO_CPU_NS, 45, "43 State Threads"},
    {"sem-2-vps", "semaphore round trip, both may stay on one VP, wall clock", "sem", 2, 2,
     MICRO_WALL_NS, 0, NULL},
    {"across", "semaphore round trip across VPs, one side polls, wall clock", "across", 2, 2,
     MICRO_WALL_NS, 300, "425 Argobots (spins for ever)"},
    {"barrier-64", "barrier, 64 threads, per thread", "barrier-64", 1, 64, MICRO_CPU_NS, 18,
     "30.5"},
    {"barrier-64", "barrier, 64 threads, per thread", "barrier-64", 2, 64, MICRO_CPU_NS, 40, "47"},
    {"barrier-1000", "barrier, 1000 threads, per thread", "barrier-1000", 1, 1000, MICRO_CPU_NS, 20,
     "33"},
    {"barrier-1000", "barrier, 1000 threads, per thread", "barrier-1000", 2, 1000, MICRO_CPU_NS, 45,
     "53"},
    {"memory", "resident memory per blocked thread", "memory", 1, 100000, MICRO_RSS_BYTES, 4300,
     "4114 Boost (4 KiB stacks, no guard), 2781 Go"},
    {"memory-page-tables", "page tables per blocked thread", "memory", 1, 100000, MICRO_PTE_BYTES,
     0, NULL},
    {NULL, NULL, NULL, 0, 0, MICRO_CPU_NS, 0, NULL},
};

const struct micro_peer micro_peers[] = {
    {"mltp", NULL},
    {"pthreads", NULL},
    {"boost-context", "libboost-context-dev"},
    {"boost-fiber", "libboost-fiber-dev"},
    {"st", "libst-dev"},
    {"pth", "libpth-dev"},
    {"go", "golang-go"},
    {NULL, NULL},
};
