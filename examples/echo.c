/* SPDX-License-Identifier: Apache-2.0 */
/* An echo server with a thread for each connection. `echo PORT` serves until it is stopped, on any
 * free port if PORT is 0; `echo` alone serves a client of its own and ends. */
#include <arpa/inet.h>
#include <mltp/io.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *serve(void *arg) {
  int connection = (int)(intptr_t)arg;
  char data[4096];
  size_t count;
  while (mltp_io_read(connection, data, sizeof data, &count) == 0 && count != 0)
    if (mltp_io_write(connection, data, count, NULL) != 0) break;
  mltp_io_close(connection);
  return NULL;
}

/* Ends when the listener is closed. */
static void *listen_on(void *arg) {
  int listener = (int)(intptr_t)arg, connection;
  const mltp_attr_t detached = {.size = sizeof(mltp_attr_t), .detached = 1};
  while (mltp_io_accept(listener, NULL, NULL, &connection) == 0)
    if (mltp_create(NULL, &detached, serve, (void *)(intptr_t)connection) != 0)
      mltp_io_close(connection);
  return NULL;
}

static int call(const struct sockaddr_in *server) {
  const char out[] = "a request and its answer";
  char in[sizeof out];
  size_t got = 0, count;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  int error = mltp_io_connect(fd, (const struct sockaddr *)server, sizeof *server);
  if (error == 0) error = mltp_io_write(fd, out, sizeof out, NULL);
  while (error == 0 && got < sizeof in) {
    error = mltp_io_read(fd, in + got, sizeof in - got, &count);
    if (error == 0 && count == 0) break;
    got += count;
  }
  mltp_io_close(fd);
  return error == 0 && got == sizeof in && memcmp(in, out, sizeof in) == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
  const int port = count > 1 ? atoi(arguments[1]) : 0, on = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  socklen_t length = sizeof address;
  mltp_t *acceptor;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
      listen(listener, 1024) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
    perror("echo: cannot listen");
    return 1;
  }
  printf("listening on port %d\n", ntohs(address.sin_port));
  fflush(stdout);
  if (mltp_init(0) != 0) return 1;
  if (mltp_create(&acceptor, NULL, listen_on, (void *)(intptr_t)listener) != 0) return 1;
  int failed = 0;
  for (int i = 0; count == 1 && i < 100; i++) failed |= call(&address);
  if (count == 1) mltp_io_close(listener);
  mltp_join(acceptor, NULL);
  if (count == 1) printf("100 answers %s\n", failed ? "went wrong" : "were right");
  mltp_finalize();
  return failed;
}
