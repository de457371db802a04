/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays programs against the parts of mltpd that hear, divide and answer, in one process and by a
 * clock of its own. Each byte of the input is a step of one of a few programs: it connects, sends a
 * message that is right, damaged or of any bytes, writes into its report, reads, hangs up, or time
 * passes. After each step what the daemon has promised must hold (check()), and in the end nothing
 * may be left of anyone.
 *
 * Built with clang's libFuzzer (./dev fuzz), which finds inputs that reach new lines; with other
 * compilers main() is here, and plays inputs that it draws.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../tools/mltpd/daemon.h"

enum {
  PROGRAMS = 6,
  CPUS_MAX = 8,
  CLIENTS = 4,
  PER_USER = 3,
  EVENTS = 16,
  TURNS_MAX = 1000,
  DESCRIPTORS = 128
};

#define LISTENER UINT64_MAX
#define MUST(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

static struct program {
  int socket; /* -1: not connected */
  struct mt_grant *grant;
  struct mt_report *report;
} programs[PROGRAMS];

static struct daemon daemon_;
static struct sockaddr_un address;
static socklen_t address_size;
static uint64_t clock_ns = 1000000000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the parts expect of main.c. */
void note(const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
}

uint64_t clock_now(void) { return clock_ns; }

static _Noreturn void fail(const char *condition, int line) {
  printf("coord.c:%d: does not hold: %s\n", line, condition);
  fflush(stdout);
  abort();
}

/* ---- the input */

static struct input {
  const uint8_t *at, *end;
} input;

static uint32_t draw(void) { return input.at < input.end ? *input.at++ : 0; }

/* Small numbers, and those at the borders. */
static uint32_t draw_number(void) {
  static const uint32_t borders[] = {0, 1, 2, 3, 1000, 1001, 0x7fffffff, 0x80000000, UINT32_MAX};
  uint32_t byte = draw(), count = sizeof borders / sizeof borders[0];
  return byte < 128 ? byte % (CPUS_MAX + 2) : borders[byte % count];
}

/* ---- the daemon */

static void begin_daemon(void) {
  struct daemon *d = &daemon_;
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = LISTENER};
  address.sun_family = AF_UNIX;
  address_size = sizeof address;
  d->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  /* Without a name the kernel chooses an abstract one. */
  MUST(bind(d->listener, (const struct sockaddr *)&address, sizeof address.sun_family) == 0);
  MUST(getsockname(d->listener, (struct sockaddr *)&address, &address_size) == 0);
  MUST(listen(d->listener, PROGRAMS) == 0);
  d->epoll = epoll_create1(EPOLL_CLOEXEC);
  d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  MUST(epoll_ctl(d->epoll, EPOLL_CTL_ADD, d->listener, &event) == 0);
  d->clients_max = CLIENTS;
  d->per_user = PER_USER;
  d->clients = calloc(CLIENTS, sizeof(struct client *));
  d->programs = calloc(CLIENTS, sizeof *d->programs);
  MUST(d->clients != NULL && d->programs != NULL);
}

/* What main.c's loop does until nothing is left to do at this time. */
static void serve(void) {
  struct daemon *d = &daemon_;
  struct epoll_event events[EVENTS];
  for (int turn = 0;; turn++) {
    MUST(turn < TURNS_MAX); /* else it never sleeps */
    int count = epoll_wait(d->epoll, events, EVENTS, 0);
    for (int i = 0; i < count; i++)
      if (events[i].data.u64 == LISTENER)
        clients_accept(d);
      else
        client_event(d, events[i].data.u64, events[i].events);
    bool due = clock_ns >= d->round_at || clock_ns >= d->renew_at;
    if (due) round_timer(d, clock_ns);
    round_plan(d, clock_ns);
    if (count == 0 && !due) return;
  }
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void check(void) {
  const struct daemon *d = &daemon_;
  uint32_t count = 0, joined = 0, granted = 0, demand = 0, part = 0, shares = 0;
  bool limited = false;
  for (uint32_t i = 0; i < CLIENTS; i++) {
    const struct client *c = d->clients[i];
    if (c == NULL) continue;
    MUST(i < d->slots && c->slot == i);
    count++;
    if (!c->joined) continue;
    MUST(c->most >= 1 && c->most <= d->cpus && c->demand <= c->most);
    MUST(c->granted >= 1 && c->granted <= c->most && c->granted == c->grant->granted);
    MUST(c->share <= 1000 * c->granted && c->share == c->grant->share);
    MUST(memchr(c->name, '\0', sizeof c->name) != NULL);
    joined++;
    granted += c->granted;
    demand += c->demand;
    shares += c->share;
    part += c->demand > 0 && c->share < 1000;
    limited |= c->silent || (c->granted < c->asked && c->demand > 0);
  }
  MUST(count == d->count && count <= PER_USER);
  MUST(shares <= 1000 * d->cpus);
  MUST(granted >= least(d->cpus, demand));
  MUST(granted <= d->cpus + joined);
  MUST(part == 0 || demand >= d->cpus);
  /* Leases are renewed while a program is held back. */
  MUST(!limited || d->renew_at <= clock_ns + RENEW_NS);
  MUST(d->renew_at == UINT64_MAX || d->renew_at <= clock_ns + RENEW_NS);
  MUST(d->round_at == UINT64_MAX || d->round_at <= clock_ns + ROUND_NS);
}

/* ---- the programs */

static void hang_up(struct program *p) {
  if (p->grant != NULL) munmap(p->grant, MT_PROTO_PAGE);
  if (p->report != NULL) munmap(p->report, MT_PROTO_PAGE);
  if (p->socket >= 0) close(p->socket);
  *p = (struct program){.socket = -1};
}

static void call(struct program *p) {
  hang_up(p);
  p->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const struct sockaddr *to = (const struct sockaddr *)&address;
  if (connect(p->socket, to, address_size) == 0) return;
  MUST(errno == EAGAIN); /* as many wait as may: the daemon lets them in */
  serve();
  MUST(connect(p->socket, to, address_size) == 0);
}

static void send_bytes(const struct program *p, const void *bytes, size_t size, bool descriptors) {
  union {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
  } control = {0};
  struct iovec part = {(void *)bytes, size};
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  const int fds[2] = {p->socket, p->socket};
  if (descriptors) {
    header.msg_control = &control;
    header.msg_controllen = sizeof control;
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(c), fds, sizeof fds);
  }
  if (sendmsg(p->socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    MUST(errno == EPIPE || errno == ECONNRESET || errno == EAGAIN || errno == EBADF);
}

static struct mt_proto_message some_message(uint32_t kind) {
  struct mt_proto_message m = {MT_PROTO_MAGIC, MT_PROTO_VERSION, kind, 0, 0, 0, 0, "fuzz"};
  m.role = draw() % (MT_PROTO_ROLES + 1);
  m.most = draw_number();
  m.weight = draw_number();
  return m;
}

static void send_raw(const struct program *p) {
  size_t size = draw() * 2, left = (size_t)(input.end - input.at);
  if (size > left) size = left;
  send_bytes(p, input.at, size, false);
  input.at += size;
}

/* The pages that a WELCOME brings. */
static void take_pages(struct program *p, const struct msghdr *header) {
  const struct cmsghdr *c = CMSG_FIRSTHDR(header);
  int fds[2];
  MUST(c != NULL && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fds));
  memcpy(fds, CMSG_DATA(c), sizeof fds);
  MUST(p->grant == NULL); /* one WELCOME for a connection */
  p->grant = mmap(NULL, MT_PROTO_PAGE, PROT_READ, MAP_SHARED, fds[0], 0);
  p->report = mmap(NULL, MT_PROTO_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
  MUST(p->grant != MAP_FAILED && p->report != MAP_FAILED);
  MUST(p->grant->granted >= 1 && p->grant->lease > 0);
  close(fds[0]);
  close(fds[1]);
}

/* @return false: nothing is there. */
static bool receive_one(struct program *p) {
  union {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
  } control;
  union {
    struct mt_proto_message message;
    struct mt_proto_entry entry;
  } m;
  struct iovec part = {&m, sizeof m};
  struct msghdr header = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t size = recvmsg(p->socket, &header, MSG_DONTWAIT);
  if (size <= 0) return false;
  MUST((size_t)size >= sizeof m.message && m.message.magic == MT_PROTO_MAGIC);
  MUST(m.message.version == MT_PROTO_VERSION && (header.msg_flags & MSG_CTRUNC) == 0);
  uint32_t kind = m.message.kind;
  MUST(kind == MT_PROTO_WELCOME || kind == MT_PROTO_REFUSED || kind == MT_PROTO_ENTRY ||
       kind == MT_PROTO_END);
  MUST((size_t)size == (kind == MT_PROTO_ENTRY ? sizeof m.entry : sizeof m.message));
  if (kind == MT_PROTO_REFUSED) MUST(m.message.error > 0);
  if (kind == MT_PROTO_WELCOME) take_pages(p, &header);
  return true;
}

/* A message of another size ends the connection. */
static void send_damaged(struct program *p) {
  struct mt_proto_message m = some_message(draw() % (MT_PROTO_END + 2));
  size_t at = draw() % sizeof m, size = sizeof m - draw() % 3;
  ((uint8_t *)&m)[at] = (uint8_t)draw();
  send_bytes(p, &m, size, draw() % 4 == 0);
  if (size == sizeof m) return;
  serve();
  while (receive_one(p)) continue;
  MUST(p->socket < 0 || recv(p->socket, &m, sizeof m, MSG_DONTWAIT) == 0 || errno != EAGAIN);
}

static void write_report(const struct program *p) {
  if (p->report == NULL) return;
  p->report->demand = draw_number();
  p->report->active = draw_number();
  p->report->bell = draw();
}

static void step(void) {
  uint32_t byte = draw();
  struct program *p = &programs[byte / 16 % PROGRAMS];
  struct mt_proto_message m;
  switch (byte % 16) {
    case 0: call(p); return;
    case 1: hang_up(p); return;
    case 2: send_damaged(p); return;
    case 3: send_raw(p); return;
    case 4:
    case 5:
    case 6:
      m = some_message(MT_PROTO_HELLO);
      if (byte % 2 == 0) m.most = 1 + m.most % CPUS_MAX, m.weight = 1, m.role = 0;
      if (p->socket < 0) call(p);
      send_bytes(p, &m, sizeof m, false);
      serve();
      receive_one(p);
      return;
    case 7:
    case 8:
      write_report(p);
      m = some_message(MT_PROTO_BELL);
      send_bytes(p, &m, sizeof m, false);
      return;
    case 9:
      m = some_message(MT_PROTO_LIST);
      send_bytes(p, &m, sizeof m, false);
      return;
    case 10:
    case 11: write_report(p); return;
    case 12:
    case 13:
      while (receive_one(p)) continue;
      return;
    default: clock_ns += UINT64_C(1) << draw() % 34; return;
  }
}

static int open_descriptors(void) {
  int count = 0;
  for (int fd = 0; fd < DESCRIPTORS; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (daemon_.clients == NULL) begin_daemon();
  int before = open_descriptors();
  input = (struct input){data, data + size};
  daemon_.round_at = daemon_.renew_at = UINT64_MAX;
  daemon_.cpus = 1 + draw() % CPUS_MAX;
  for (int i = 0; i < PROGRAMS; i++) programs[i] = (struct program){.socket = -1};
  while (input.at < input.end) {
    step();
    if (draw() % 4 == 0) continue; /* the daemon finds more at once */
    serve();
    check();
  }
  for (int i = 0; i < PROGRAMS; i++) hang_up(&programs[i]);
  serve();
  clock_ns += RENEW_NS;
  serve();
  MUST(daemon_.count == 0 && daemon_.slots == 0);
  MUST(daemon_.round_at == UINT64_MAX && daemon_.renew_at == UINT64_MAX); /* it sleeps */
  MUST(open_descriptors() == before);
  return 0;
}

#ifndef WITH_LIBFUZZER
enum { STEPS_MAX = 1024, DRAWN_MAX = 400 };

/* Plays the inputs that libFuzzer has found to reach different lines (corpus.py). @return how many.
 */
static long play_corpus(const char *path) {
  FILE *file = fopen(path, "r");
  char *line = NULL;
  size_t room = 0;
  long count = 0;
  MUST(file != NULL);
  while (getline(&line, &room, file) > 0) {
    uint8_t data[STEPS_MAX];
    size_t size = 0;
    unsigned byte;
    if (line[0] == '#') continue;
    while (size < STEPS_MAX && sscanf(line + 2 * size, "%2x", &byte) == 1)
      data[size++] = (uint8_t)byte;
    LLVMFuzzerTestOneInput(data, size);
    count++;
  }
  free(line);
  fclose(file);
  return count;
}

/* INPUTS [CORPUS [SEED]] */
int main(int argc, char **argv) {
  long tries = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
  long kept = argc > 2 ? play_corpus(argv[2]) : 0;
  unsigned seed = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
  uint8_t data[STEPS_MAX];
  for (long i = 0; i < tries; i++) {
    size_t size = 1 + (size_t)rand_r(&seed) % DRAWN_MAX;
    for (size_t k = 0; k < size; k++) data[k] = (uint8_t)(rand_r(&seed) >> 8);
    LLVMFuzzerTestOneInput(data, size);
  }
  printf("%ld inputs of the corpus, %ld others\n", kept, tries);
  return 0;
}
#endif
