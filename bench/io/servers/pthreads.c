/* SPDX-License-Identifier: Apache-2.0 */
/* The echo server of `mltp-bench io` with a pthread for each connection. */
#include <pthread.h>
#include <stdint.h>

#include "server.h"

static void *serve(void *arg) {
  int connection = (int)(intptr_t)arg;
  char data[BUFFER];
  ssize_t count;
  while ((count = read(connection, data, sizeof data)) > 0)
    if (write(connection, data, (size_t)count) != count) break;
  close(connection);
  return NULL;
}

int main(void) {
  int listener = server_listen(), connection;
  pthread_attr_t attr;
  pthread_t thread;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 64 << 10);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  while ((connection = accept(listener, NULL, NULL)) >= 0)
    if (pthread_create(&thread, &attr, serve, (void *)(intptr_t)connection) != 0) return 1;
  return 1;
}
