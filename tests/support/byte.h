/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file byte.h
 * One byte between two ends of a pipe: what tests of input and output have their threads do.
 */
#ifndef TESTS_BYTE_H
#define TESTS_BYTE_H

#include <mltp/io.h>
#include <unistd.h>

#include "support/support.h"

static inline void close_both(const int *ends) {
  CHECK_EQUAL(mltp_io_close(ends[0]), 0);
  CHECK_EQUAL(mltp_io_close(ends[1]), 0);
}

/** A thread: reads the byte. @param p0 the descriptor */
static inline void *read_one(void *p0) {
  char byte = 0;
  size_t count;
  CHECK_EQUAL(mltp_io_read(*(int *)p0, &byte, 1, &count), 0);
  CHECK_EQUAL(byte, 'x');
  return NULL;
}

/** A thread outside: writes the byte later than a deadlock takes to be suspected. @param p0 the
 * descriptor */
static inline void *write_late(void *p0) {
  usleep(300000);
  CHECK_EQUAL(write(*(int *)p0, "x", 1), 1);
  return NULL;
}

#endif
