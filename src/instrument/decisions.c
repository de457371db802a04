/* SPDX-License-Identifier: Apache-2.0 */
#include "instrument/decisions.h"

mt_decision_hook_t *mt_decision_hook;
