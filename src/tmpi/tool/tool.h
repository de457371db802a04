/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tool.h
 * MPI_T: what tools may read of the library while a program runs.
 *
 * Control variables are tmpirun's options and the sizes that the mailbox is built with: they are
 * fixed before the first rank runs, so none can be written. Performance variables are counts of the
 * calling rank. There are no events, so no index, handle or source of them is valid.
 *
 * Functions return their code and call no error handler. Each rank has its own initialisation,
 * sessions and handles; its threads may use different handles at once.
 */
#ifndef TM_TOOL_TOOL_H
#define TM_TOOL_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "tmpi/mpi.h"
#include "tmpi/rank/rank.h"

/** @return the calling rank; NULL: MPI_T_init_thread() has not been called, or each call of it was
 * undone. */
struct tm_rank *tm_tool_rank(void);

/** Stores a text as MPI_T does: cut to *length with its end, and *length becomes what all of it
 * takes. Either pointer may be NULL; then nothing is stored there. */
void tm_tool_text(const char *text, char *to, int *length);

/** Stores a value unless the pointer is NULL. */
static inline void tm_tool_int(int value, int *to) {
  if (to != NULL) *to = value;
}

/** What a control or performance variable's value is. */
enum tm_tool_type { TM_TOOL_INT, TM_TOOL_UNSIGNED, TM_TOOL_LARGE };

MPI_Datatype tm_tool_datatype(enum tm_tool_type type);

/** Stores a value of a type. */
void tm_tool_value(enum tm_tool_type type, uint64_t value, void *to);

/** The enumeration of the ways to wait. */
extern const struct tm_tool_enum tm_tool_waits;

/** @return how many there are. */
int tm_cvar_count(void);
int tm_pvar_count(void);

#endif
