/* SPDX-License-Identifier: Apache-2.0 */
/* What the program has under a name. */
#include <dlfcn.h>

#include "os/os.h"

void *os_symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }

void *os_next_symbol(const char *name) { return dlsym(RTLD_NEXT, name); }
