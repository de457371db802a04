/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file policy.h
 * Which libraries all ranks share. Each rank has its own copy of any other.
 */
#ifndef TM_LOADER_POLICY_H
#define TM_LOADER_POLICY_H

#include <stdbool.h>

/** --share=NAMES and --private=NAMES, separated by commas: libfftw3, libfftw3.so.3 or patterns of
 * fnmatch(3). The last option that matches a library counts. libc, and what runs the ranks, is
 * shared whatever they say. @return false: no memory. */
bool tm_policy_option(const char *names, bool share);

/** A library that all ranks share needs this one, which they share therefore. @return false: no
 * memory. */
bool tm_policy_share(const char *name);

/** Tells whether ranks share a library of that name: a file name, as in DT_NEEDED. @return why;
 * NULL: each rank has its own. */
const char *tm_policy_shared(const char *name);

/** @return whether it is a run-time library of a language: private to ranks although libraries that
 * all ranks share may use it, too. */
bool tm_policy_is_language(const char *name);

#endif
