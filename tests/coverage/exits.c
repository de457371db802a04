/* SPDX-License-Identifier: Apache-2.0 */
/* Linked into the tests of coverage builds in place of _exit() and abort() (--wrap): children that
 * end so would take their counts with them. */
#include <stdnoreturn.h>

void __gcov_dump(void);
noreturn void __real__exit(int status);
noreturn void __real_abort(void);
noreturn void __wrap__exit(int status);
noreturn void __wrap_abort(void);

noreturn void __wrap__exit(int status) {
  __gcov_dump();
  __real__exit(status);
}

noreturn void __wrap_abort(void) {
  __gcov_dump();
  __real_abort();
}
