/* SPDX-License-Identifier: Apache-2.0 */
/* dk-load: six small programs of different character, and the two ends of a network load. */
#pragma once
#include <stdint.h>

/** Does one round of a program's work, and returns a checksum that is the same for each round. */
typedef uint64_t load_round(void);

load_round load_fp; /**< bound by floating-point units: independent chains of multiply and add */
load_round load_integer; /**< integer arithmetic in registers */
load_round load_branchy; /**< branches that depend on data, and that no predictor can know */
load_round load_cache;   /**< look-ups in a table that fits the second-level cache */
load_round load_memory;  /**< a chain of pointers through more memory than caches hold */
load_round load_mixed;   /**< a sparse matrix times a vector: indices, memory and floating point */

/**
 * Sends blocks to each client that asks, until it is killed. Blocks: the process.
 * @return a positive errno.
 */
int net_serve(const char *address);

/**
 * Asks a server for blocks without end, until it is killed or the server leaves. Blocks: the
 * process.
 * @return 0 when the server has left; a positive errno.
 */
int net_fetch(const char *address);

/**
 * Sends small datagrams as fast as the kernel takes them, until it is killed. Blocks: the process.
 * @return a positive errno.
 */
int net_flood(const char *address);
