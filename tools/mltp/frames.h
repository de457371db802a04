/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file frames.h
 * Backtraces of threads, running or not, by the unwinder of elfutils; and what is at
 * an address.
 */
#ifndef TOOLS_MLTP_FRAMES_H
#define TOOLS_MLTP_FRAMES_H

#include "threads.h"

/** @return what libdw knows of the modules of a process, NULL after a message. */
Dwfl *frames_open(pid_t pid);

/** Sets tid and frames of each thread of a stopped process. dwfl: from frames_open(),
 * and not used for this before. */
void frames_read(struct threads *threads, const struct layout *layout, struct process *process,
                 Dwfl *dwfl);

/** Where a frame is. Texts live as long as dwfl. */
struct place {
  const char *function; /* NULL: unknown */
  const char *module;   /* path of the program or library, NULL: unknown */
  uint64_t offset;      /* in the module */
  const char *file;     /* NULL: unknown */
  int line;
};

/** @param innermost false: address is where a call returns to */
struct place frames_place(Dwfl *dwfl, uint64_t address, bool innermost);

#endif
