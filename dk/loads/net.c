/* SPDX-License-Identifier: Apache-2.0 */
/* The thesis's network load (4.1): a client asks, a server sends large blocks. And a flood of small
 * datagrams, whose softirqs are what dkctl moves. */
#include "loads.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 7311, REQUEST = 64, BLOCK = 256 * 1024, DATAGRAM = 64, BATCH = 64 };

static int address_of(const char *text, struct sockaddr_in *address) {
  *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(PORT)};
  return inet_pton(AF_INET, text, &address->sin_addr) == 1 ? 0 : EINVAL;
}

/* Moves `size` bytes, in as many calls as it takes. */
static int move_all(int fd, char *bytes, size_t size, ssize_t (*move)(int, char *, size_t)) {
  for (size_t done = 0; done < size;) {
    ssize_t n = move(fd, bytes + done, size - done);
    if (n == 0) {
      return ECONNRESET;
    }
    if (n < 0 && errno != EINTR) {
      return errno;
    }
    done += n > 0 ? (size_t)n : 0;
  }
  return 0;
}

static ssize_t take(int fd, char *bytes, size_t size) { return recv(fd, bytes, size, 0); }

static ssize_t give(int fd, char *bytes, size_t size) {
  return send(fd, bytes, size, MSG_NOSIGNAL);
}

static char buffer[BLOCK];

int net_serve(const char *text) {
  struct sockaddr_in address;
  int error = address_of(text, &address), yes = 1;
  if (error) {
    return error;
  }
  int door = socket(AF_INET, SOCK_STREAM, 0);
  if (door < 0 || setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
      bind(door, (struct sockaddr *)&address, sizeof(address)) || listen(door, 4)) {
    return errno;
  }
  for (;;) {
    int client = accept(door, NULL, NULL);
    if (client < 0) {
      return errno;
    }
    while (!move_all(client, buffer, REQUEST, take) && !move_all(client, buffer, BLOCK, give)) {
    }
    close(client);
  }
}

int net_fetch(const char *text) {
  struct sockaddr_in address;
  int error = address_of(text, &address);
  if (error) {
    return error;
  }
  for (int try = 0; try < 100; try++) { /* the server may still be starting */
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) {
      return errno;
    }
    if (!connect(fd, (struct sockaddr *)&address, sizeof(address))) {
      while (!move_all(fd, buffer, REQUEST, give) && !move_all(fd, buffer, BLOCK, take)) {
      }
      close(fd);
      return 0;
    }
    error = errno;
    close(fd);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  return error;
}

int net_flood(const char *text) {
  struct sockaddr_in address;
  int error = address_of(text, &address);
  if (error) {
    return error;
  }
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) {
    return errno;
  }
  struct iovec piece = {.iov_base = buffer, .iov_len = DATAGRAM};
  struct mmsghdr batch[BATCH];
  for (int i = 0; i < BATCH; i++) {
    batch[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &address,
                                            .msg_namelen = sizeof(address),
                                            .msg_iov = &piece,
                                            .msg_iovlen = 1}};
  }
  for (;;) {
    if (sendmmsg(fd, batch, BATCH, 0) < 0 && errno != ENOBUFS && errno != EINTR &&
        errno != EAGAIN) {
      return errno;
    }
  }
}
