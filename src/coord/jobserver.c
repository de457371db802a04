/* SPDX-License-Identifier: Apache-2.0 */
#include "coord/jobserver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/fifo.h"

enum { TOKENS_MAX = 1024, PATH = 108 };

static struct {
  struct os_socket pipe;
  uint32_t held;
  char tokens[TOKENS_MAX]; /* the bytes themselves */
} jobs = {.pipe = {.fd = -1}};

/* The last one counts: make appends its own. @return what follows the equals sign; NULL: none. */
static const char *auth_of(const char *makeflags) {
  static const char option[] = "--jobserver-auth=";
  const char *found = NULL;
  for (const char *at = makeflags; at != NULL && (at = strstr(at, option)) != NULL;)
    found = at += sizeof option - 1;
  return found;
}

bool mt_jobserver_join(const char *makeflags) {
  const char *auth = auth_of(makeflags);
  int take, give;
  char path[PATH] = "";
  if (auth == NULL) return false;
  if (sscanf(auth, "fifo:%107s", path) == 1) return os_fifo_open(path, &jobs.pipe) == 0;
  return sscanf(auth, "%d,%d", &take, &give) == 2 && take >= 0 && give >= 0 &&
         os_fifo_reopen(take, give, &jobs.pipe) == 0;
}

uint32_t mt_jobserver_adjust(uint32_t wanted) {
  if (wanted < 1) wanted = 1;
  while (jobs.held + 1 < wanted && jobs.held < TOKENS_MAX &&
         os_fifo_take(&jobs.pipe, &jobs.tokens[jobs.held]) == 0)
    jobs.held++;
  while (jobs.held + 1 > wanted && os_fifo_give(&jobs.pipe, jobs.tokens[jobs.held - 1]) == 0)
    jobs.held--;
  return jobs.held + 1;
}

void mt_jobserver_leave(void) {
  mt_jobserver_adjust(1);
  mt_jobserver_forget();
}

void mt_jobserver_forget(void) {
  jobs.held = 0;
  os_unix_close(&jobs.pipe);
}
