/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor that UCX makes readable when there is something to do is one of epoll, and has the
 * descriptors of UCX's transports in it. That of TCP is one of epoll, too, and pollers look at that
 * one only. So each message would notify both, and its sender, whose CPU delivers it on one
 * machine, or the receiver's interrupt would pay for the outer one. While threads poll, the outer
 * one gets no events of inner ones of epoll.
 *
 * The kernel lists in /proc/self/fdinfo what a descriptor of epoll watches. Where it does not, all
 * wakeups stay on, and so do those of what UCX adds later.
 *
 * Rejected: to take inner descriptors out, since UCX aborts when it takes out what is not there.
 */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tmpi/nodes/ucx.h"

enum { WATCHED_MAX = 16, PATH_ROOM = 64 };

static struct {
  int outer; /* [const] */
  int count; /* [const] of: */
  struct {
    int fd;
    struct epoll_event events;
  } of[WATCHED_MAX]; /* [const] */
} watched;

static bool is_of_epoll(int fd) {
  static const char name[] = "anon_inode:[eventpoll]";
  char path[PATH_ROOM], target[PATH_ROOM];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(path, target, sizeof target);
  return length == sizeof name - 1 && memcmp(target, name, sizeof name - 1) == 0;
}

void tm_wakeups_open(int outer) {
  char path[PATH_ROOM], line[4 * PATH_ROOM];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", outer);
  FILE *info = fopen(path, "re");
  if (info == NULL) return;
  watched.outer = outer;
  while (watched.count < WATCHED_MAX && fgets(line, sizeof line, info) != NULL) {
    int fd;
    unsigned events;
    unsigned long long data;
    if (sscanf(line, "tfd: %d events: %x data: %llx", &fd, &events, &data) != 3) continue;
    if (!is_of_epoll(fd)) continue;
    watched.of[watched.count].fd = fd;
    watched.of[watched.count++].events = (struct epoll_event){events, {.u64 = data}};
  }
  fclose(info);
}

/* It fails if UCX has taken the descriptor out. */
void tm_wakeups_set(bool on) {
  for (int i = 0; i < watched.count; i++) {
    struct epoll_event events = watched.of[i].events;
    if (!on) events.events = 0;
    epoll_ctl(watched.outer, EPOLL_CTL_MOD, watched.of[i].fd, &events);
  }
}
