/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TCP connection between each two nodes, beside those of UCX. It tells why a node ends early, and
 * that a node no longer answers.
 *
 * A node that ends early first sends each other node a notice, with its status and the reason. A
 * node that gets a notice prints it, passes it on, and ends with the same status: so the connection
 * of a node closes without a notice only if its process was killed. Before it ends, each waits a
 * bounded time until all others know: the launcher kills all nodes when the first has ended, and
 * one that has not printed the reason by then never does. It also waits until the launcher has read
 * the reason. A launcher that learns of a failed process first ends the job, and drops what is
 * still in the pipes. It may know of that process before the one that was killed.
 * The kernel asks the other one at intervals whether it is there, and closes a connection after
 * SILENCE_SECONDS without an answer. A process that is stopped still answers, since the kernel
 * does.
 *
 * A node connects to the ones with lower numbers. Both ends show that they are of this job by
 * numbers that only its nodes know.
 *
 * Rejected: messages at intervals through UCX, which end the job of a node that a debugger has
 * stopped; the keep-alive of UCX, which has no bound while data are under way.
 *
 * Several threads write to a connection. What follows a note comes directly behind it, so a thread
 * has `writes` meanwhile. A suspicion is dropped then: a VP cannot wait, and sends the next one a
 * second later. The notice of an end does not wait either, since it may come from a signal handler.
 *
 * Relaxed: the swap chooses the thread that ends the node; the rest are counts and hints.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
#include "os/os.h"
#include "tmpi/nodes/nodes.h"
#include "tmpi/rank/rank.h"

enum {
  IDLE_SECONDS = 5,
  PROBES = 4,
  PROBE_SECONDS = 3,
  SILENCE_SECONDS = IDLE_SECONDS + PROBES * PROBE_SECONDS,
  STEP_SECONDS = 20,   /* for one connection, or one answer to it */
  STACK_SIZE = 1 << 20 /* of a thread that reports, as watch.c's */
};

#define MS ((uint64_t)1000000)
#define NOTIFY_NS (5000 * MS) /* until the others know */
#define READ_NS (5000 * MS)   /* until the launcher has read why this node ends */
#define SIGN_NS (1000 * MS)   /* until the connection of a node that is gone closes */
#define END_NS                                                                                     \
  (NOTIFY_NS + READ_NS + 5000 * MS) /* until a thread that ends this node has done so */
#define SUSPICION_NS (3000 * MS)    /* until the connection of a node closes that UCX has lost */

struct hello {
  uint64_t secret;
  int32_t node;
};

struct link {
  int fd;                  /* [const] of the own node: see inlet */
  uint32_t writes;         /* [atomic] 1: a thread writes a note, and what follows it */
  bool answered;           /* [reader] it has sent a notice, or is closed */
  char host[TM_NODE_TEXT]; /* [const] */
};

static struct {
  int size, own;                  /* [const] */
  struct link *list;              /* [const] by number of the node */
  int inlet;                      /* [const] what is sent here comes from the own node */
  int listener;                   /* [const] until all are connected */
  pthread_t reader;               /* [const] the thread of this file */
  struct pollfd *polls;           /* [reader] by number of the node */
  struct tm_link_address address; /* [const] own */
} links = {.inlet = -1, .listener = -1};

static uint32_t notified; /* [atomic] 1: this node ends early */
static int answered;      /* [atomic] nodes that know of it, or are gone; relaxed: a count */
static int lost = -1;     /* [atomic] the first node that has gone away since: */
static uint32_t ending;   /* [atomic] 1: nodes may go away; both are hints, so relaxed */

static void read_links(int milliseconds);

/* ---- a node ends early */

/* The notice is small, so it fits into what the kernel buffers. */
static void send_all(const struct tm_note *notice) {
  for (int i = 0; i < links.size; i++)
    if (i != links.own && links.list[i].fd >= 0)
      send(links.list[i].fd, notice, sizeof *notice, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The thread that ends the node may be the one that reads the answers. */
static void wait_until_known(void) {
  bool reads = pthread_equal(pthread_self(), links.reader);
  for (uint64_t end = os_now() + NOTIFY_NS;
       mt_load_relaxed(&answered) < links.size - 1 && os_now() < end;)
    if (reads)
      read_links(1);
    else
      os_nap(MS);
  os_wait_read(2, READ_NS);
}

/* Also in a signal handler. Of two threads that end the job, the second waits for the first. */
static void tell(int status, const char *why) {
  struct tm_note notice = {.kind = TM_NOTE_END, .status = status, .node = links.own};
  char text[2 * TM_NODE_TEXT + 100];
  if (mt_or_relaxed(&notified, 1) != 0) {
    os_nap(END_NS);
    return;
  }
  snprintf(notice.why, sizeof notice.why, "%s", why);
  int length = snprintf(text, sizeof text, "tmpirun: node %d (%s): %s: the job ends on all nodes\n",
                        links.own, links.list[links.own].host, notice.why);
  os_write(2, text, (size_t)length);
  send_all(&notice);
  wait_until_known();
}

/* Ends this node, since another one has ended or is gone. */
static void follow(const struct tm_note *notice) {
  if (mt_or_relaxed(&notified, 1) != 0) return; /* another thread ends it */
  tm_job_flush();
  fprintf(stderr, "tmpirun: node %d (%s): %s: this node (%d, %s) ends, too\n", notice->node,
          links.list[notice->node].host, notice->why, links.own, links.list[links.own].host);
  send_all(notice);
  wait_until_known();
  _exit(notice->status);
}

/* ---- the thread */

static void note_answer(struct link *link) {
  if (!link->answered) mt_add_relaxed(&answered, 1);
  link->answered = true;
}

static void end_with(int node, const char *what) {
  struct tm_note notice = {.kind = TM_NOTE_END, .status = 1, .node = node};
  snprintf(notice.why, sizeof notice.why, "%s", what);
  follow(&notice);
}

/* error: 0 if the other end has closed it. */
static void node_is_gone(int node, int error) {
  char what[TM_NODE_TEXT];
  int none = -1;
  note_answer(&links.list[node]);
  if (mt_load_relaxed(&ending) != 0) {
    mt_cas_relaxed(&lost, &none, node); /* relaxed: any of them will do */
    return;
  }
  if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH)
    snprintf(what, sizeof what, "no answer for %d s (%s): its machine, or the link to it, is down",
             SILENCE_SECONDS, strerror(error));
  else
    snprintf(what, sizeof what,
             "its process is gone%s%s: it was killed (see the launcher's messages)",
             error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
  end_with(node, what);
}

/* @return whether the connection is still open. */
static bool read_link(int node) {
  struct tm_note notice;
  struct link *link = &links.list[node];
  ssize_t got = recv(link->fd, &notice, sizeof notice, MSG_WAITALL);
  if (got < 0 && errno == EINTR) return true;
  if (got != (ssize_t)sizeof notice) {
    node_is_gone(node, got < 0 ? errno : 0);
    return false;
  }
  if (notice.kind != TM_NOTE_END) {
    /* what follows a note that is dropped can only count as an answer */
    if (mt_load_relaxed(&notified) == 0) tm_rest_note(node, &notice);
    return true;
  }
  notice.why[sizeof notice.why - 1] = '\0';
  note_answer(link);
  if (notice.node >= 0 && notice.node < links.size) follow(&notice);
  return true;
}

/* milliseconds: at most to wait for what comes; -1: for as long as it takes. */
static void read_links(int milliseconds) {
  if (poll(links.polls, (nfds_t)links.size, milliseconds) < 0) return;
  for (int i = 0; i < links.size; i++)
    if (links.polls[i].revents != 0 && !read_link(i)) links.polls[i].fd = -1;
}

static void *watch(void *unused) {
  (void)unused;
  for (;;) read_links(-1);
  return NULL;
}

/* ---- connecting */

static void add_address(const struct sockaddr *from) {
  struct tm_link_address *to = &links.address;
  struct sockaddr_in name;
  if (from == NULL || from->sa_family != AF_INET || to->count == TM_LINK_ADDRESSES) return;
  memcpy(&name, from, sizeof name);
  to->ip[to->count++] = name.sin_addr.s_addr;
}

/* The loopback's only if there is no other. */
static bool find_addresses(void) {
  struct ifaddrs *all;
  if (getifaddrs(&all) != 0) return false;
  for (unsigned loopback = 0; loopback <= IFF_LOOPBACK; loopback += IFF_LOOPBACK)
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next)
      if ((at->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == (IFF_UP | loopback) &&
          (loopback == 0 || links.address.count == 0))
        add_address(at->ifa_addr);
  freeifaddrs(all);
  return true;
}

const struct tm_link_address *tm_links_open(char *why, size_t room) {
  struct sockaddr_in name = {.sin_family = AF_INET};
  socklen_t size = sizeof name;
  links.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (links.listener >= 0 && bind(links.listener, (struct sockaddr *)&name, sizeof name) == 0 &&
      listen(links.listener, SOMAXCONN) == 0 &&
      getsockname(links.listener, (struct sockaddr *)&name, &size) == 0 && find_addresses() &&
      getrandom(links.address.secret, sizeof links.address.secret, 0) > 0) {
    links.address.port = name.sin_port;
    return &links.address;
  }
  snprintf(why, room, "no TCP socket: %s", strerror(errno));
  return NULL;
}

/* @return 0, or an error: what a socket sends and gets has a bound from now on. */
static int set_bounds(int fd, int seconds) {
  const struct timeval bound = {.tv_sec = seconds};
  if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound) != 0 ||
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound) != 0)
    return errno;
  return 0;
}

/* @return 0, or an error. */
static int keep_alive(int fd) {
  const struct {
    int level, name, value;
  } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                 {IPPROTO_TCP, TCP_KEEPIDLE, IDLE_SECONDS},
                 {IPPROTO_TCP, TCP_KEEPINTVL, PROBE_SECONDS},
                 {IPPROTO_TCP, TCP_KEEPCNT, PROBES},
                 {IPPROTO_TCP, TCP_NODELAY, 1},
                 {IPPROTO_TCP, TCP_USER_TIMEOUT, 1000 * SILENCE_SECONDS}};
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    if (setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int)) != 0)
      return errno;
  return set_bounds(fd, 0);
}

static bool exchange_hellos(int fd, const struct hello *out, struct hello *in) {
  return send(fd, out, sizeof *out, MSG_NOSIGNAL) == (ssize_t)sizeof *out &&
         recv(fd, in, sizeof *in, MSG_WAITALL) == (ssize_t)sizeof *in;
}

/* @return a connection to a node by one of its addresses; -1: errno tells. */
static int connect_by(uint32_t ip, const struct tm_link_address *other, int node) {
  const struct sockaddr_in name = {
      .sin_family = AF_INET, .sin_port = other->port, .sin_addr.s_addr = ip};
  const struct hello own = {other->secret[0], links.own};
  struct hello theirs = {0};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  int error = set_bounds(fd, STEP_SECONDS);
  if (error == 0 && connect(fd, (const struct sockaddr *)&name, sizeof name) != 0) error = errno;
  if (error == 0 && !exchange_hellos(fd, &own, &theirs)) error = EPROTO;
  if (error == 0 && (theirs.secret != other->secret[1] || theirs.node != node)) error = EPROTO;
  if (error == 0) error = keep_alive(fd);
  if (error == 0) return fd;
  close(fd);
  errno = error;
  return -1;
}

static const char *connect_to(const struct tm_link_address *other, int node) {
  int error = EADDRNOTAVAIL;
  for (int i = 0; i < other->count; i++) {
    int fd = connect_by(other->ip[i], other, node);
    links.list[node].fd = fd;
    if (fd >= 0) return NULL;
    error = errno;
  }
  return strerror(error);
}

/* Accepts a connection of this job; others are closed. @return false: errno tells. */
static bool accept_one(int *left) {
  struct hello theirs, own = {links.address.secret[1], links.own};
  int fd = accept4(links.listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return errno == EINTR || errno == ECONNABORTED || errno == EAGAIN;
  bool known = set_bounds(fd, STEP_SECONDS) == 0 &&
               recv(fd, &theirs, sizeof theirs, MSG_WAITALL) == (ssize_t)sizeof theirs &&
               theirs.secret == links.address.secret[0] && theirs.node > links.own &&
               theirs.node < links.size && links.list[theirs.node].fd < 0 &&
               send(fd, &own, sizeof own, MSG_NOSIGNAL) == (ssize_t)sizeof own &&
               keep_alive(fd) == 0;
  if (!known) {
    close(fd);
    return true;
  }
  links.list[theirs.node].fd = fd;
  --*left;
  return true;
}

/* @return that the first such node has not connected. */
static const char *name_late(void) {
  static char text[TM_NODE_TEXT + 60];
  int node = links.own + 1;
  while (node < links.size - 1 && links.list[node].fd >= 0) node++;
  snprintf(text, sizeof text, "node %d (%s) has not connected by TCP", node, links.list[node].host);
  return text;
}

static const char *accept_all(int seconds) {
  uint64_t end = os_now() + 1000 * MS * (uint64_t)seconds;
  for (int left = links.size - 1 - links.own; left > 0;) {
    struct pollfd at = {links.listener, POLLIN, 0};
    uint64_t now = os_now();
    if (now >= end) return name_late();
    if (poll(&at, 1, (int)((end - now) / MS) + 1) > 0 && !accept_one(&left)) return strerror(errno);
  }
  return NULL;
}

/* @return whether the caller has the connection now. */
static bool begin_write(struct link *link, bool waits) {
  /* UX-10 acquire: what was written before has left; pairs UX-11 */
  while (mt_swap_acquire(&link->writes, 1) != 0) {
    if (!waits) return false;
    os_yield();
  }
  return true;
}

static void end_write(struct link *link) {
  mt_store_release(&link->writes, 0); /* UX-11 release: as there; pairs UX-10 */
}

void tm_links_send(int node, const struct tm_note *note) {
  struct link *link = &links.list[node];
  if (!begin_write(link, note->kind != TM_NOTE_SUSPECT)) return;
  send(node == links.own ? links.inlet : link->fd, note, sizeof *note, MSG_NOSIGNAL | MSG_DONTWAIT);
  end_write(link);
}

static bool write_all(int fd, const void *data, size_t bytes) {
  for (const char *at = data; bytes > 0;) {
    ssize_t written = send(fd, at, bytes, MSG_NOSIGNAL);
    if (written < 0 && errno != EINTR) return false;
    if (written < 0) continue;
    at += written;
    bytes -= (size_t)written;
  }
  return true;
}

void tm_links_write(int node, const struct tm_note *note, const void *data) {
  struct link *link = &links.list[node];
  begin_write(link, true);
  if (write_all(link->fd, note, sizeof *note)) write_all(link->fd, data, note->bytes);
  end_write(link);
}

bool tm_links_read(int node, void *data, size_t bytes) {
  return recv(links.list[node].fd, data, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

/* A child of a rank would keep the connections open. */
static void close_in_child(void) {
  for (int i = 0; i < links.size; i++)
    if (links.list[i].fd >= 0) close(links.list[i].fd);
  close(links.inlet);
}

/* The thread gets no signals. */
static const char *start_thread(void) {
  sigset_t all, before;
  pthread_attr_t attr;
  links.polls = calloc((size_t)links.size, sizeof *links.polls);
  if (links.polls == NULL) return "no memory";
  for (int i = 0; i < links.size; i++)
    links.polls[i] = (struct pollfd){links.list[i].fd, POLLIN, 0};
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attr, STACK_SIZE);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&links.reader, &attr, watch, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  return error == 0 ? NULL : strerror(error);
}

const char *tm_links_prepare(const struct tm_nodes *nodes) {
  links.size = nodes->size;
  links.own = nodes->own;
  links.list = calloc((size_t)nodes->size, sizeof *links.list);
  if (links.list == NULL) return "no memory";
  for (int i = 0; i < nodes->size; i++) {
    links.list[i].fd = -1;
    strcpy(links.list[i].host, nodes->list[i].host);
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return strerror(errno);
  links.list[links.own].fd = ends[0];
  links.inlet = ends[1];
  return tm_rest_prepare(nodes) && tm_counts_prepare(nodes) ? NULL : "no memory";
}

const char *tm_links_connect(int node, const struct tm_link_address *address) {
  return node < links.own ? connect_to(address, node) : NULL;
}

const char *tm_links_start(int seconds) {
  const char *missing = accept_all(seconds);
  close(links.listener);
  if (missing == NULL) missing = start_thread();
  if (missing != NULL) return missing;
  pthread_atfork(NULL, NULL, close_in_child);
  tm_job_on_early_end(tell);
  return NULL;
}

/* @return whether a connection has closed, or brings a notice that nobody has read yet. */
static bool has_sign(void) {
  for (int i = 0; i < links.size; i++) {
    struct pollfd at = {links.list[i].fd, POLLIN, 0};
    if (i != links.own && poll(&at, 1, 0) > 0) return true;
  }
  return mt_load_relaxed(&notified) != 0; /* relaxed: a hint */
}

void tm_links_wait_for_reason(void) {
  bool sign = has_sign();
  for (uint64_t end = os_now() + SIGN_NS; !sign && os_now() < end; sign = has_sign()) os_nap(MS);
  if (sign) os_nap(END_NS); /* the thread of this file ends the node */
}

bool tm_links_is_gone(const struct tm_link_address *address) {
  bool gone = address->count > 0;
  for (int i = 0; gone && i < address->count; i++) {
    const struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = address->port, .sin_addr.s_addr = address->ip[i]};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    gone = fd >= 0 && set_bounds(fd, PROBE_SECONDS) == 0 &&
           connect(fd, (const struct sockaddr *)&name, sizeof name) != 0 && errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
  }
  return gone;
}

const char *tm_links_host(int node) { return links.list[node].host; }

int tm_links_lost(void) {
  mt_or_relaxed(&ending, 1);                           /* relaxed: a hint, as `lost` is */
  if (mt_load_relaxed(&notified) != 0) os_nap(END_NS); /* another thread ends this node */
  return mt_load_relaxed(&lost);
}

/* The connection tells more: that node's notice, or that its process is gone. */
void tm_links_suspect(int node, const char *what) {
  char why[TM_NODE_TEXT];
  os_nap(SUSPICION_NS);
  snprintf(why, sizeof why, "UCX has lost it: %s (UCX_TLS: another transport)", what);
  end_with(node, why);
  os_nap(END_NS); /* another thread ends the job */
}
