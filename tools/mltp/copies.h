/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file copies.h
 * Files whose code a process has mapped more than once, as tmpirun does for each rank. libdw knows
 * the first copy alone, so addresses of the others are those of the first.
 */
#ifndef TOOLS_MLTP_COPIES_H
#define TOOLS_MLTP_COPIES_H

#include <stdint.h>
#include <sys/types.h>

/** Reads the mappings of a process; where that fails, every address is its own first copy. Ends by
 * copies_free(). */
void copies_read(pid_t pid);
void copies_free(void);

/** @return the same place in the first copy of the code; an address of no code is returned as it
 * is. */
uint64_t copies_first(uint64_t address);

#endif
