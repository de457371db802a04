/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file process_number.h
 * What programs make of the process number, which all ranks share.
 */
#ifndef TM_RUN_PROCESS_NUMBER_H
#define TM_RUN_PROCESS_NUMBER_H

/** A rank is about to open a file, with flags of open(2). If the name has the process number, and
 * another rank has made or emptied that file, a message says so, once in a job. Keeps errno. path
 * may be NULL, here and below. */
void tm_number_in_name(const char *path, int flags);

/** The same for a name of shm_open(3). */
void tm_number_in_object(const char *name, int flags);

#endif
