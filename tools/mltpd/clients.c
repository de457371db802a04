/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes from a program is believed only as far as it concerns itself: its user and process are
 * the kernel's word (SO_PEERCRED), its demand is limited by what it may run, its number of
 * connections by its user.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "daemon.h"

enum { MESSAGES_AT_ONCE = 8, SECOND_NS = 1000000000, NAP_US = 10000 };

/* ---- pages */

/* A page of shared memory. The grant page is sealed after we have mapped it: nobody else can map it
 * for writing, or write to its descriptor. @return the descriptor, or -1. */
static int page_make(const char *name, int more_seals, void **page) {
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  *page = MAP_FAILED;
  if (ftruncate(fd, MT_PROTO_PAGE) == 0)
    *page = mmap(NULL, MT_PROTO_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | more_seals;
  if (*page != MAP_FAILED && fcntl(fd, F_ADD_SEALS, seals) == 0) return fd;
  if (*page != MAP_FAILED) munmap(*page, MT_PROTO_PAGE);
  *page = NULL;
  close(fd);
  return -1;
}

static void pages_free(struct client *c) {
  if (c->grant != NULL) munmap(c->grant, MT_PROTO_PAGE);
  if (c->report != NULL) munmap(c->report, MT_PROTO_PAGE);
  c->grant = NULL;
  c->report = NULL;
}

/* ---- messages to a program */

static bool send_with(int socket, const struct mt_proto_message *m, const int *fds, size_t count) {
  union {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
  } control = {0};
  struct iovec part = {(void *)m, sizeof *m};
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  if (count > 0) {
    header.msg_control = &control;
    header.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, count * sizeof(int));
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *m;
}

static void refuse(struct daemon *d, struct client *c, int error) {
  struct mt_proto_message m = {
      MT_PROTO_MAGIC, MT_PROTO_VERSION, MT_PROTO_REFUSED, 0, 0, 0, error, ""};
  send_with(c->socket, &m, NULL, 0);
  client_drop(d, c);
}

/* ---- joining */

static bool welcome(struct daemon *d, struct client *c) {
  int fds[2] = {page_make("mltpd-grant", F_SEAL_FUTURE_WRITE, (void **)&c->grant),
                page_make("mltpd-report", 0, (void **)&c->report)};
  bool sent = false;
  if (fds[0] >= 0 && fds[1] >= 0) {
    struct mt_proto_message m = {
        MT_PROTO_MAGIC, MT_PROTO_VERSION, MT_PROTO_WELCOME, 0, d->cpus, 0, 0, ""};
    mt_store_relaxed(&c->report->demand, 1);
    c->joined = true;
    c->demand = 1;
    round_run(d, c->since); /* the first grant that the program sees is its share */
    sent = send_with(c->socket, &m, fds, 2);
  }
  for (int i = 0; i < 2; i++)
    if (fds[i] >= 0) close(fds[i]);
  return sent;
}

/* Names go to terminals: only printable ASCII stays. */
static void copy_name(char to[MT_PROTO_NAME], const char from[MT_PROTO_NAME]) {
  int i = 0;
  for (; i < MT_PROTO_NAME - 1 && from[i] != '\0'; i++)
    to[i] = from[i] > ' ' && from[i] < 127 ? from[i] : '?';
  to[i] = '\0';
}

static void join(struct daemon *d, struct client *c, const struct mt_proto_message *m) {
  if (m->role >= MT_PROTO_ROLES || m->most < 1 || m->weight < 1 ||
      m->weight > MT_POLICY_WEIGHT_MAX) {
    refuse(d, c, EINVAL);
    return;
  }
  c->role = m->role;
  c->asked = m->most;
  c->most = m->most < d->cpus ? m->most : d->cpus;
  c->weight = m->weight;
  c->since = clock_now();
  copy_name(c->name, m->name);
  if (!welcome(d, c)) {
    note("cannot serve process %d: no memory, or it does not read", (int)c->pid);
    refuse(d, c, ENOMEM);
    return;
  }
}

/* ---- messages from a program */

static bool rings_too_often(struct client *c, uint64_t now) {
  if (now - c->window > SECOND_NS) {
    c->window = now;
    c->bells = 0;
  }
  return ++c->bells > BELLS_MAX;
}

void client_lives(struct client *c) {
  c->silent = false;
  c->used_at = 0;
}

/* @return false: the client is no more. */
static bool heard_bell(struct daemon *d, struct client *c) {
  uint64_t now = clock_now();
  if (rings_too_often(c, now)) {
    note("process %d of user %u rings more than %d times a second: cut off", (int)c->pid,
         (unsigned)c->uid, BELLS_MAX);
    client_drop(d, c);
    return false;
  }
  client_lives(c);
  if (d->round_at == UINT64_MAX) d->round_at = now + ROUND_NS;
  if (mt_load_relaxed(&c->report->demand) > c->demand || c->low_since == 0) round_run(d, now);
  return true;
}

/* @return false: the client is no more. */
static bool understand(struct daemon *d, struct client *c, const struct mt_proto_message *m) {
  bool known = m->magic == MT_PROTO_MAGIC && m->version == MT_PROTO_VERSION;
  uint32_t slot = c->slot;
  if (known && m->kind == MT_PROTO_HELLO && !c->joined)
    join(d, c, m);
  else if (known && m->kind == MT_PROTO_BELL && c->joined)
    return heard_bell(d, c) && d->clients[slot] == c;
  else if (known && m->kind == MT_PROTO_LIST && !c->joined)
    known = list_send(d, c->socket, m->most);
  else
    known = false;
  if (d->clients[slot] != c) return false;
  if (known) return true;
  note("process %d of user %u sent what no program sends: cut off", (int)c->pid, (unsigned)c->uid);
  client_drop(d, c);
  return false;
}

/* No descriptors are taken, so a program cannot fill our table. A few messages at a time: others
 * have their turn. */
static void receive_some(struct daemon *d, uint32_t slot) {
  for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
    struct client *c = d->clients[slot];
    struct mt_proto_message m;
    ssize_t size = recv(c->socket, &m, sizeof m, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      client_drop(d, c);
      return;
    }
    if ((size_t)size != sizeof m) m.magic = 0;
    if (!understand(d, c, &m)) return;
  }
}

/* Bits of epoll's number of an event: 0 process or socket, 1-31 slot, 32-63 connection. */
static uint64_t event_of(const struct client *c, bool process) {
  return (uint64_t)c->number << 32 | c->slot << 1 | process;
}

void client_event(struct daemon *d, uint64_t event, uint32_t events) {
  uint32_t slot = (uint32_t)event >> 1;
  struct client *c = slot < d->slots ? d->clients[slot] : NULL;
  if (c == NULL || c->number != event >> 32) return; /* dropped by an event before this one */
  if ((event & 1) == 0 && (events & EPOLLIN) != 0)
    receive_some(d, c->slot);
  else
    client_drop(d, c);
}

/* ---- connections */

static uint32_t connections_of(const struct daemon *d, uid_t uid) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < d->slots; i++)
    count += d->clients[i] != NULL && d->clients[i]->uid == uid;
  return count;
}

static void watch(struct daemon *d, struct client *c) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = event_of(c, false)};
  epoll_ctl(d->epoll, EPOLL_CTL_ADD, c->socket, &event);
  /* The socket alone would not do: a child of the program may hold it open. */
  c->process = (int)syscall(SYS_pidfd_open, c->pid, 0);
  event.events = EPOLLIN;
  event.data.u64 = event_of(c, true);
  if (c->process >= 0) epoll_ctl(d->epoll, EPOLL_CTL_ADD, c->process, &event);
}

static uint32_t free_slot(struct daemon *d) {
  for (uint32_t i = 0; i < d->slots; i++)
    if (d->clients[i] == NULL) return i;
  return d->slots++;
}

/* One message a second: a program may try again and again. */
static void report_refusal(struct daemon *d, const struct ucred *peer, bool ours) {
  uint64_t now = clock_now();
  if (d->refused_at != 0 && now - d->refused_at < SECOND_NS) return;
  d->refused_at = now;
  if (!ours)
    note("refused process %d: its user %u is neither root nor mine (serve all users by --machine)",
         (int)peer->pid, (unsigned)peer->uid);
  else
    note(
        "refused process %d of user %u: no room for one more connection (raise --per-user, the "
        "limit of open files, or free memory)",
        (int)peer->pid, (unsigned)peer->uid);
}

static void admit(struct daemon *d, int socket) {
  struct ucred peer = {0};
  socklen_t size = sizeof peer;
  struct client *c = NULL;
  bool known = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  bool ours = known && (d->any_user || peer.uid == 0 || peer.uid == geteuid());
  if (ours && d->count < d->clients_max && connections_of(d, peer.uid) < d->per_user)
    c = calloc(1, sizeof *c);
  if (c == NULL) {
    struct mt_proto_message m = {
        MT_PROTO_MAGIC, MT_PROTO_VERSION, MT_PROTO_REFUSED, 0, 0, 0, ours ? EAGAIN : EACCES, ""};
    send_with(socket, &m, NULL, 0);
    close(socket);
    report_refusal(d, &peer, ours);
    return;
  }
  c->socket = socket;
  c->pid = peer.pid;
  c->uid = peer.uid;
  c->slot = free_slot(d);
  c->number = ++d->connections & INT32_MAX; /* never that of LISTENER and its like */
  d->clients[c->slot] = c;
  d->count++;
  watch(d, c);
}

void clients_accept(struct daemon *d) {
  for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
    int socket = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      if (errno == ENFILE || errno == ENOMEM)
        usleep(NAP_US); /* the machine is short: no busy loop */
      return;
    }
    admit(d, socket);
  }
}

void client_drop(struct daemon *d, struct client *c) {
  bool joined = c->joined;
  close(c->socket); /* which takes it out of the epoll set, too */
  if (c->process >= 0) close(c->process);
  pages_free(c);
  d->clients[c->slot] = NULL;
  d->count--;
  while (d->slots > 0 && d->clients[d->slots - 1] == NULL) d->slots--;
  free(c);
  if (joined) round_run(d, clock_now());
}
