/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file signature.h
 * Type signatures: the basic types of which data are made, in their order. Two are compared by a
 * number and a hash: that of a sequence is a polynomial, so that a sequence repeated a million
 * times takes twenty steps.
 */
#ifndef TM_CHECK_SIGNATURE_H
#define TM_CHECK_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmpi/layout/type.h"

struct tm_signature {
  uint64_t count; /* basic elements */
  uint64_t hash;
  uint64_t power; /* the factor's count-th power */
  bool packed;    /* MPI_PACKED: fits everything */
};

/** @return the signature of `count` elements of a type. */
struct tm_signature tm_signature_of(const struct tm_type *type, uint64_t count);

/** Of the first `wanted` basic elements of these. */
struct tm_signature tm_signature_start(const struct tm_type *type, uint64_t count, uint64_t wanted);

static inline bool tm_signature_same(const struct tm_signature *a, const struct tm_signature *b) {
  return a->packed || b->packed || (a->count == b->count && a->hash == b->hash);
}

#endif
