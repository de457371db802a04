/* SPDX-License-Identifier: Apache-2.0 */
/* An object that asks for executable stacks. */
#include "support/stack_code.h"

int code_on_stack(void);

int code_on_stack(void) { return call_code_on_stack(); }
