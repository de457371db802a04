/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file modules.h
 * Parts of tmpirun that only some runs need: shared objects in the folder tmpi beside libmpi_abi,
 * loaded when they are wanted.
 */
#ifndef TM_RUN_MODULES_H
#define TM_RUN_MODULES_H

#include <stdbool.h>
#include <stddef.h>

/** Loads a module. @return the address of its symbol; NULL: it is not there, dlerror() says why. */
const void *tm_module(const char *name, const char *symbol);

/** --check (strict: leaks are mistakes) and --report; file: NULL is stderr. @return false after a
 * message. */
bool tm_checks_load(void);
bool tm_checks_start(bool check, bool strict, bool report, const char *file);
/** @return whether --check is on. */
bool tm_checks_look(void);
/** @return a wrapper that takes the place of a function of MPI; NULL: none. */
const void *tm_checks_override(const char *name);
/** The ranks of this node have ended, of several. @return what it has counted for --report, to be
 * freed; NULL: no memory. */
void *tm_checks_gather(size_t *bytes);
/** The same of another node, for the report. */
void tm_checks_add(const void *gathered, size_t bytes);
/** All ranks have ended. reports: this node prints the report. @return the status of the process,
 * which was to be `status`. */
int tm_checks_finish(int status, bool reports);

#endif
