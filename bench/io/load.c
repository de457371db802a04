/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/timer.h"

enum { MESSAGE = 64, EVENTS = 256, SILENT_MS = 30000 };

struct request {
  uint32_t connection, number;
  char text[MESSAGE - 8];
};

struct connection {
  int fd;
  uint32_t number;
  size_t got;
  double sent_at;
  struct request answer;
};

struct load {
  pid_t server;
  clockid_t server_clock;
  int epoll, count;
  struct connection *connections;
  float *us; /* of each answer */
};

/* ---- the server */

static int read_port(int fd) {
  char text[16] = "";
  ssize_t count = read(fd, text, sizeof text - 1);
  return count > 0 ? atoi(text) : 0;
}

/* @return its port; 0: it does not start. */
static int start_server(struct load *load, const char *server) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  load->server = fork();
  if (load->server == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    execl(server, server, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  int port = load->server > 0 ? read_port(ends[0]) : 0;
  close(ends[0]);
  return port != 0 && clock_getcpuclockid(load->server, &load->server_clock) == 0 ? port : 0;
}

static void stop_server(const struct load *load) {
  if (load->server <= 0) return;
  kill(load->server, SIGKILL);
  waitpid(load->server, NULL, 0);
}

/* ---- requests */

static void fill(struct request *request, uint32_t connection, uint32_t number) {
  request->connection = connection;
  request->number = number;
  memset(request->text, 'a' + (int)((connection + number) % 26), sizeof request->text);
}

static bool ask(struct load *load, int index) {
  struct connection *c = &load->connections[index];
  struct request request;
  fill(&request, (uint32_t)index, ++c->number);
  c->got = 0;
  c->sent_at = bench_clock(CLOCK_MONOTONIC);
  return send(c->fd, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request;
}

/* @return 1: the answer is whole, and right; 0: more has to come; -1: it is wrong. */
static int hear(struct load *load, int index) {
  struct connection *c = &load->connections[index];
  ssize_t count = recv(c->fd, (char *)&c->answer + c->got, sizeof c->answer - c->got, 0);
  if (count <= 0) return -1;
  c->got += (size_t)count;
  if (c->got < sizeof c->answer) return 0;
  struct request request;
  fill(&request, (uint32_t)index, c->number);
  return memcmp(&request, &c->answer, sizeof request) == 0 ? 1 : -1;
}

/* ---- connections */

static bool connect_all(struct load *load, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < load->count; i++) {
    int fd = load->connections[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        epoll_ctl(load->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
      return false;
  }
  return true;
}

/* Reset, so that no port stays in use. */
static void close_all(struct load *load) {
  const int at_once[] = {1, 0}; /* on, for 0 seconds */
  for (int i = 0; i < load->count; i++) {
    if (load->connections[i].fd < 0) continue;
    setsockopt(load->connections[i].fd, SOL_SOCKET, SO_LINGER, at_once, sizeof at_once);
    close(load->connections[i].fd);
  }
}

/* Asks on every connection, and again after each answer, until all answers have come. */
static const char *exchange(struct load *load, int requests) {
  struct epoll_event events[EVENTS];
  int asked = 0, heard = 0;
  for (; asked < load->count && asked < requests; asked++)
    if (!ask(load, asked)) return "a request could not be sent";
  while (heard < requests) {
    int count = epoll_wait(load->epoll, events, EVENTS, SILENT_MS);
    if (count == 0) return "the server is silent";
    for (int i = 0; i < count; i++) {
      int index = (int)events[i].data.u32, result = hear(load, index);
      if (result < 0) return "an answer is wrong";
      if (result == 0) continue;
      double seconds = bench_clock(CLOCK_MONOTONIC) - load->connections[index].sent_at;
      load->us[heard++] = (float)(1e6 * seconds);
      if (asked == requests) continue;
      asked++;
      if (!ask(load, index)) return "a request could not be sent";
    }
  }
  return NULL;
}

static int compare(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static const char *measure(struct load *load, int requests, struct io_sample *sample) {
  const char *wrong = exchange(load, load->count); /* each connection once, unmeasured */
  if (wrong != NULL) return wrong;
  double wall = bench_clock(CLOCK_MONOTONIC), cpu = bench_clock(load->server_clock);
  wrong = exchange(load, requests);
  if (wrong != NULL) return wrong;
  cpu = bench_clock(load->server_clock) - cpu;
  wall = bench_clock(CLOCK_MONOTONIC) - wall;
  sample->requests_per_second = requests / wall;
  sample->requests_per_cpu_second = requests / cpu;
  qsort(load->us, (size_t)requests, sizeof *load->us, compare);
  const double parts[3] = {0.5, 0.99, 0.999};
  for (int i = 0; i < 3; i++) sample->us[i] = (double)load->us[(int)(parts[i] * (requests - 1))];
  return NULL;
}

const char *io_run(const char *server, int connections, int requests, struct io_sample *sample) {
  struct load load = {.count = connections, .epoll = epoll_create1(EPOLL_CLOEXEC)};
  const int most = requests > connections ? requests : connections;
  load.connections = calloc((size_t)connections, sizeof *load.connections);
  load.us = calloc((size_t)most, sizeof *load.us);
  const char *wrong = load.connections == NULL || load.us == NULL ? "no memory" : NULL;
  for (int i = 0; wrong == NULL && i < connections; i++) load.connections[i].fd = -1;
  int port = wrong == NULL ? start_server(&load, server) : 0;
  if (wrong == NULL && port == 0) wrong = "the server does not start";
  if (wrong == NULL && !connect_all(&load, port)) wrong = "a connection was refused";
  if (wrong == NULL) wrong = measure(&load, requests, sample);
  if (load.connections != NULL) close_all(&load);
  stop_server(&load);
  close(load.epoll);
  free(load.connections);
  free(load.us);
  return wrong;
}
