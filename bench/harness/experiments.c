/* SPDX-License-Identifier: Apache-2.0 */
/** @file experiments.c The table of experiments: one line each. */
#include "experiment.h"

#include "threads/micro.h"

const struct experiment *const bench_experiments[] = {
    &bench_pi,        &bench_matmul,    &bench_ocean,      &bench_lifecycle,    &bench_latency,
    &bench_micro,     &bench_switch,    &bench_forkjoin,   &bench_fib,          &bench_mutex,
    &bench_handshake, &bench_roundtrip, &bench_recursion,  &bench_barrier,      &bench_memory,
    &bench_sleep,     &bench_calibrate, &bench_mpi,        &bench_mpi_programs, &bench_mpi_rma,
    &bench_mpi_files, &bench_mpi_wait,  &bench_mpi_load,   &bench_systemc,      &bench_sim,
    &bench_deltas,    &bench_growth,    &bench_mpi_growth,
#if MLTP_ALTERNATIVES
    &bench_spin,
#endif
    &bench_workload,  &bench_copies,    &bench_foreign,    &bench_io,           NULL,
};
