/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file predefined.h
 * The types every program has; their handles are small numbers of the ABI.
 */
#ifndef TM_LAYOUT_PREDEFINED_H
#define TM_LAYOUT_PREDEFINED_H

#include "tmpi/layout/type.h"

/** Makes them; before any other use of types. */
void tm_types_start(void);

#endif
