/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file python.h
 * Interpreters of Python that have a fixed address.
 */
#ifndef TM_RUN_PYTHON_H
#define TM_RUN_PYTHON_H

#include <stdbool.h>

#define TM_PYTHON "TMPI_PYTHON" /* in the environment: the library of the interpreter */

/** Returns the file that runs in the place of such an interpreter, to be freed; NULL: path is none,
 * or its library is not there. Ranks are kernel threads from then on. */
char *tm_python_stand_in(const char *path);

/** @return whether a file is such an interpreter. */
bool tm_python_is_fixed(const char *path);

#endif
