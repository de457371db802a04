/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file element.h
 * The predefined type whose elements an accumulate combines.
 */
#ifndef TM_RMA_ELEMENT_H
#define TM_RMA_ELEMENT_H

#include "tmpi/layout/type.h"

/** @return the predefined type that a type is made of; NULL: there are several. Types that
 * operations treat alike (MPI_INT, MPI_INT32_T) are one. */
struct tm_type *tm_type_element_of_derived(struct tm_type *type);
static inline struct tm_type *tm_type_element(struct tm_type *type) {
  return type->predefined ? type : tm_type_element_of_derived(type);
}

/** @return whether both are the same to an operation. */
static inline bool tm_element_same(const struct tm_type *a, const struct tm_type *b) {
  return a == b || (a->basic == b->basic && a->size == b->size);
}

#endif
