/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file growth_rows.h
 * Operations on one of n things, each done n times: what one costs must not grow with n. Time and
 * memory are measured by growth.c, instructions are counted by tests/growth.
 */
#ifndef BENCH_GROWTH_ROWS_H
#define BENCH_GROWTH_ROWS_H

/** @return the name of a row, from 0 on; NULL: there are no more. */
const char *bench_growth_name(int row);

/** Runs a row with n things, in a runtime of one VP. Once in a process.
 * @return 0, EINVAL: no such row, or an error of mltp_sim_run(). Aborts if a step fails. */
int bench_growth_run(int row, int n);

#endif
