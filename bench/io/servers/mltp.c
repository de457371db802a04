/* SPDX-License-Identifier: Apache-2.0 */
/* The echo server of `mltp-bench io` on libmltp: a thread for each connection. The stack is small,
 * as those of Go's goroutines. */
#include <mltp/io.h>
#include <mltp/mltp.h>

#include "server.h"

static const mltp_attr_t small = {
    .size = sizeof(mltp_attr_t), .detached = 1, .stack_size = 16 << 10};

static void *serve(void *arg) {
  int connection = (int)(intptr_t)arg;
  char data[BUFFER];
  size_t count;
  while (mltp_io_read(connection, data, sizeof data, &count) == 0 && count != 0)
    if (mltp_io_write(connection, data, count, NULL) != 0) break;
  mltp_io_close(connection);
  return NULL;
}

int main(void) {
  int listener = server_listen(), connection;
  if (mltp_init(0) != 0) return 1;
  while (mltp_io_accept(listener, NULL, NULL, &connection) == 0)
    if (mltp_create(NULL, &small, serve, (void *)(intptr_t)connection) != 0) return 1;
  return 1;
}
