/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file server.h
 * What the echo servers of `mltp-bench io` share: a server listens on a free port of the loopback
 * interface, prints the port, and echoes until it is killed.
 */
#ifndef BENCH_IO_SERVER_H
#define BENCH_IO_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 4096, BACKLOG = 4096 };

static inline int server_listen(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
      listen(listener, BACKLOG) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
    perror("echo server: cannot listen");
    exit(1);
  }
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  return listener;
}

#endif
