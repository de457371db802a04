/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/run/audited.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tmpi/env/launch.h"
#include "tmpi/loader/search.h"

/* Beside libmpi_abi. @return false: it is not there, or ld.so(8) would take its path for two. */
static bool find_auditor(char path[PATH_MAX]) {
  const char *name = &TM_AUDITOR[1]; /* without the slash */
  return tm_search_beside(name, path) && strchr(path, ':') == NULL && access(path, R_OK) == 0;
}

void tm_audited_start(void) {
  char path[PATH_MAX], *list;
  const char *before = getenv("LD_AUDIT");
  if (!find_auditor(path)) return;
  size_t length = strlen(path);
  if (before != NULL && strncmp(before, path, length) == 0) return; /* of the tmpirun above */
  if (before == NULL || before[0] == '\0') {
    setenv("LD_AUDIT", path, 1);
  } else if (asprintf(&list, "%s:%s", path, before) >= 0) {
    setenv("LD_AUDIT", list, 1);
    free(list);
  }
}
