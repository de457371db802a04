/* SPDX-License-Identifier: Apache-2.0 */
/* tmpirun's side of the environments of ranks (src/tmpi/private/environment.c). A program that only
 * reads variables has tmpirun's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

static const struct tm_image *image; /* [const] that has `environ`; NULL: ranks have tmpirun's */
static size_t offset;                /* [const] of it there */

void tm_environment_start(void) {
  struct tm_wanted wanted = tm_want("environ", NULL);
  const Elf64_Sym *symbol = NULL;
  for (int i = 0; symbol == NULL && i < tm_the_program->start_count; i++) {
    image = tm_the_program->images[i];
    symbol = tm_image_find(image, &wanted);
  }
  if (symbol == NULL) image = NULL;
  offset = symbol != NULL ? symbol->st_value : 0;
}

char **tm_process_environment(const struct tm_process *process) {
  if (image == NULL) return environ;
  const char *slot = tm_the_program->arena + (size_t)process->number * tm_the_program->slot;
  char **own;
  memcpy(&own, slot + image->place + offset, sizeof own);
  return own;
}

/* ---- what libc reads, for all ranks */

static bool is_new(const char *name, const char *value) {
  const char *now = getenv(name);
  return value == NULL ? now != NULL : now == NULL || strcmp(now, value) != 0;
}

static void share(const char *entry, size_t length, const char *value) {
  static uint32_t ilock, reported; /* [ilock] */
  char *name = strndup(entry, length);
  if (name == NULL) return;
  mti_lock(&ilock);
  if (is_new(name, value)) {
    if (tm_the_program->ranks > 1 && reported++ == 0)
      fprintf(
          stderr,
          "tmpirun: rank %d changed %s in its environment: all ranks share time zone and locale "
          "(set it before tmpirun)\n",
          tm_rank_number(), name);
    if (value != NULL)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  mti_unlock(&ilock);
  free(name);
}

const struct tm_override tm_override_environment[] = {
    {"tm_environment_share", (tm_any *)share},
    {NULL, NULL},
};
