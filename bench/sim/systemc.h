/* SPDX-License-Identifier: Apache-2.0 */
/** @file systemc.h Where our coroutine package for SystemC is. */
#ifndef BENCH_SYSTEMC_H
#define BENCH_SYSTEMC_H

#include <limits.h>

/** Writes what LD_PRELOAD names: the package in ../lib beside this program's folder, or its bare
 * name, for which the loader looks. */
void bench_systemc_package(char path[PATH_MAX]);

#endif
