/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file node_launcher.h
 * How nodes meet (src/tmpi/nodes/pmix.c) alone: PMIx, the clock and the rest of the module are
 * stand-ins, which note what is called, and do what a test says.
 */
#ifndef TESTS_MPI_NODE_LAUNCHER_H
#define TESTS_MPI_NODE_LAUNCHER_H

#include <pmix.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "noted_events.h"
#include "tmpi/nodes/nodes.h"

enum { NODES = 4, OWN = 1, WHY = 200, NOW = 100, SECONDS = 60, NEVER = -1 };

extern const struct tm_nodes_module tm_nodes_module;

/** All goes well, from now on. */
void stage_reset(void);
extern const char *missing_function; /* NULL: none */
extern bool has_library;
extern pmix_status_t init_status, size_status, commit_status;
extern pmix_status_t begin_status, end_status; /* of a fence */
extern int waits_left;                         /* of a fence; NEVER: it does not end */
extern int interrupted;                        /* waits that a signal ends */
extern int size;
extern const char *bad_put, *bad_get; /* what cannot be put, or got of: */
extern int bad_node;
extern bool other_type, other_size; /* what has come of bad_node */
extern struct timespec wait_end;    /* of the last wait for a fence */
extern struct tm_node nodes_list[NODES];
extern struct tm_link_address links[NODES];
extern char addresses[NODES][16];
extern bool has_link[NODES]; /* it has come */
extern bool hosts_known, host_is_number;
extern void (*fence_ended)(pmix_status_t status, void *data);
extern int naps;
extern bool ucx_opens, links_open, ucx_starts;
extern int bad_connect, bad_ucx_connect; /* nodes */
extern const char *no_prepare, *no_start, *no_settle;
extern int gone; /* its process is */
extern int links_lost, ucx_lost, looks;
extern int lost_after; /* looks */
extern void (*rest_late)(void);

#endif
