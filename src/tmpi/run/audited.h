/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file audited.h
 * Programs that wrappers and ranks start are audited, so that none runs as a job of one rank of
 * another MPI: audit/audit.c.
 */
#ifndef TM_RUN_AUDITED_H
#define TM_RUN_AUDITED_H

/** From now on the programs that this process starts, or becomes, are audited. */
void tm_audited_start(void);

#endif
