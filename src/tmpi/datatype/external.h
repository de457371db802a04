/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file external.h
 * The standard's "external32": pack_external.c has the rules.
 */
#ifndef TM_DATATYPE_EXTERNAL_H
#define TM_DATATYPE_EXTERNAL_H

#include "tmpi/layout/type.h"

/** @return bytes of an element outside of memory. */
size_t tm_external_size(const struct tm_type *type);

/** Converts between packed elements and their external form; out: to the latter. */
void tm_external_convert(unsigned char *packed, unsigned char *outside, const struct tm_type *type,
                         size_t count, bool out);

#endif
