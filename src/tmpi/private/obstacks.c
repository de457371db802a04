/* SPDX-License-Identifier: Apache-2.0 */
/* What happens when an obstack gets no memory: a rank may have a handler and a status of its own.
 * run/ending.c calls this handler. */
#include <obstack.h>
#include <stdio.h>
#include <stdlib.h>

int obstack_exit_failure = EXIT_FAILURE;

static void end_without_memory(void) {
  fputs("memory exhausted\n", stderr); /* libc's text */
  exit(obstack_exit_failure);
}

void (*obstack_alloc_failed_handler)(void) = end_without_memory;
