/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: numbers in the pages stand for themselves, and follow nothing.
 */
#include "coord/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ilock.h"
#include "coord/jobserver.h"
#include "coord/place.h"
#include "os/os.h"
#include "os/unix.h"

enum {
  JOIN_WAIT_MS = 100,
  LOOK_NS = 100000000,       /* between two looks at the lease */
  RECONNECT_NS = 1000000000, /* between two looks for a daemon */
};

enum state { OFF, ASKED, JOINED, LOST, JOBS };

static const uint32_t any_number = UINT32_MAX;
static uint32_t by_tokens; /* [atomic] the grant while a jobserver gives it */

struct mt_client_view mt_client_view = {&any_number, UINT32_MAX};

/* The client. Pages stay mapped forever once they were: a VP may be reading them. */
static struct {
  mt_ilock lock;
  uint32_t state;                   /* [atomic] enum state; written under the lock */
  struct os_socket socket;          /* [lock] */
  struct mt_grant *grant;           /* [lock] address of the page; NULL: never joined */
  struct mt_report *report;         /* likewise */
  struct mt_report *writes;         /* [atomic] where reports go; NULL: nowhere */
  uint32_t active;                  /* [atomic] in the last report; under mt_rt.sleep.ilock */
  uint32_t demand;                  /* [atomic] likewise */
  uint64_t look_at;                 /* [atomic] when mt_client_look() has something to do */
  uint64_t connect_at;              /* [lock] */
  uint64_t lease;                   /* [lock] as read last */
  uint64_t renewed_at;              /* [lock] when it was first read, by our clock */
  struct mt_client_program program; /* [lock] */
  char path[MT_SOCKET_PATH];        /* [lock] where the daemon is, or was */
} client = {.socket = {.fd = -1}, .look_at = UINT64_MAX};

static struct mt_proto_message message_of(uint32_t kind) {
  return (struct mt_proto_message){MT_PROTO_MAGIC, MT_PROTO_VERSION, kind, 0, 0, 0, 0, ""};
}

/* ---- which grant counts */

static void follow_page(bool page) {
  const uint32_t *word = page ? &client.grant->granted : &any_number;
  mt_store_release(&mt_client_view.granted,
                   word); /* CD-1 release: the page is mapped; pairs CD-2 CD-6 CD-13 */
}

/* The lease is only compared with itself: the daemon may be in another time namespace, where the
 * clock shows another time. A lease that has not changed for its length has ended. */
static void check_lease(uint64_t now) {
  if (client.grant == NULL) return;
  bool limited = mt_load_relaxed(&client.grant->granted) < client.program.most;
  uint64_t lease = mt_load_relaxed(&client.grant->lease);
  if (!limited || lease != client.lease) client.renewed_at = now;
  client.lease = lease;
  follow_page(now - client.renewed_at < MT_PROTO_LEASE_NS);
}

/* ---- joining */

static void drop(enum state state) {
  os_unix_close(&client.socket);
  mt_store_relaxed(&client.writes, NULL);
  mt_store_relaxed(&client.state, state);
}

static int ask(void) {
  int error = os_unix_connect(client.path, &client.socket);
  if (error != 0) return error;
  struct mt_proto_message hello = message_of(MT_PROTO_HELLO);
  hello.role = client.program.role;
  hello.most = client.program.most;
  hello.weight = 1;
  os_program_name(hello.name, sizeof hello.name);
  error = os_unix_send(&client.socket, &hello, sizeof hello);
  if (error != 0 && error != EPIPE) { /* EPIPE: refused already; the answer says why */
    drop(LOST);
    return error;
  }
  mt_store_relaxed(&client.state, ASKED);
  return 0;
}

static int attach(const int fds[OS_DESCRIPTORS]) {
  int first = os_page_attach(fds[0], MT_PROTO_PAGE, false, (void **)&client.grant);
  int second = os_page_attach(fds[1], MT_PROTO_PAGE, true, (void **)&client.report);
  return first != 0 ? first : second;
}

/* A VP may report meanwhile: either it sees where reports go, or its demand is seen here. */
static void start_reporting(void) {
  /* CD-7 seq_cst: the page is mapped; before the demand is loaded; pairs CD-9 CD-10 CD-11 */
  mt_store_seq_cst(&client.writes, client.report);
  uint32_t demand;
  do {
    mt_store_relaxed(&client.report->active, mt_load_relaxed(&client.active));
    /* CD-8 seq_cst: after CD-7, and again after the store; pairs CD-9 */
    demand = mt_load_seq_cst(&client.demand);
    mt_store_relaxed(&client.report->demand, demand); /* relaxed: the bell below tells of it */
    mt_fence_full(); /* CD-12 full fence: that store before the next load; pairs CD-9 */
  } while (mt_load_relaxed(&client.demand) != demand);
  mt_store_relaxed(&client.state, JOINED);
  struct mt_proto_message bell = message_of(MT_PROTO_BELL);
  os_unix_send(&client.socket, &bell, sizeof bell); /* lost: the daemon looks at new clients */
}

/* Takes the answer to HELLO. @return 0; EAGAIN: none yet; or why there will be none. */
static int take_welcome(int wait_ms) {
  struct mt_proto_message answer;
  int fds[OS_DESCRIPTORS] = {-1, -1};
  int error = os_unix_receive(&client.socket, &answer, sizeof answer, wait_ms, fds);
  if (error == ECONNRESET) /* refused before HELLO was read: the answer is behind the reset */
    error = os_unix_receive(&client.socket, &answer, sizeof answer, 0, fds);
  if (error == EAGAIN || error == EINTR) return EAGAIN;
  if (error == 0 && (answer.magic != MT_PROTO_MAGIC || answer.version != MT_PROTO_VERSION))
    error = EPROTO;
  if (error == 0 && answer.kind == MT_PROTO_REFUSED)
    error = answer.error > 0 ? answer.error : EPROTO;
  if (error == 0 && (answer.kind != MT_PROTO_WELCOME || fds[0] < 0 || fds[1] < 0)) error = EPROTO;
  if (error == 0)
    error = attach(fds);
  else
    for (int i = 0; i < OS_DESCRIPTORS; i++)
      if (fds[i] >= 0) os_close(fds[i]);
  if (error != 0) {
    drop(LOST);
    return error;
  }
  start_reporting();
  follow_page(true);
  return 0;
}

/* ---- a jobserver in the daemon's place */

/* Tokens that are missing are asked for at once. Those too many go back at once where nothing runs,
 * else when mt_client_look() comes: a VP that sleeps for a moment shall not cost two system calls.
 */
static bool has_to_adjust(uint32_t demand) {
  uint32_t granted = mt_load_relaxed(&by_tokens);
  bool at_once = demand == 0 || client.program.role == MT_PROTO_TEAMS;
  return demand > granted || (at_once && demand < granted && granted > 1);
}

/* Under the lock. */
static void adjust(void) {
  uint32_t demand = mt_load_relaxed(&client.demand);
  if (demand > client.program.most) demand = client.program.most;
  mt_store_relaxed(&by_tokens, mt_jobserver_adjust(demand));
}

static void begin_jobs(void) {
  mt_store_relaxed(&by_tokens, 1);
  /* CD-5 release: the first grant; pairs CD-2 CD-6 CD-13 */
  mt_store_release(&mt_client_view.granted, &by_tokens);
  mt_store_relaxed(&client.look_at, os_now() + LOOK_NS);
  mt_store_relaxed(&client.state, JOBS);
}

/* A program may end without mltp_finalize(). */
__attribute__((destructor)) static void leave_jobs(void) {
  if (mt_load_relaxed(&client.state) == JOBS && mt_ilock_trylock(&client.lock)) {
    mt_jobserver_leave();
    mt_ilock_unlock(&client.lock);
  }
}

/* ---- finding the daemon */

static int try_path(const char *path) {
  if (strlen(path) >= sizeof client.path) return ENAMETOOLONG;
  strcpy(client.path, path);
  return ask();
}

static int find(const char *where) {
  if (strcmp(where, "auto") != 0) return try_path(where);
  char path[MT_SOCKET_PATH];
  int error = mt_socket_of_user(path);
  if (error == 0) error = try_path(path);
  if (error != 0) error = try_path(MT_SOCKET_OF_MACHINE);
  return error;
}

int mt_client_join(const char *where, const struct mt_client_program *program) {
  if (strcmp(where, "off") == 0) return 0;
  mt_ilock_lock(&client.lock);
  client.program = *program;
  if (strcmp(where, "auto") == 0 && mt_jobserver_join(getenv("MAKEFLAGS"))) {
    begin_jobs();
    mt_ilock_unlock(&client.lock);
    return 0;
  }
  int error = find(where);
  if (error == 0) error = take_welcome(JOIN_WAIT_MS);
  if (error == EAGAIN) { /* the daemon has much to do: mt_client_look() asks again */
    if (client.state != ASKED) mt_store_relaxed(&client.state, LOST);
    error = 0;
  }
  uint64_t now = os_now();
  client.connect_at = now + RECONNECT_NS;
  mt_store_relaxed(&client.look_at, error == 0 ? now + LOOK_NS : UINT64_MAX);
  if (error != 0) drop(OFF);
  mt_ilock_unlock(&client.lock);
  return error;
}

void mt_client_leave(void) {
  mt_ilock_lock(&client.lock);
  if (client.state == JOBS) mt_jobserver_leave();
  follow_page(false);
  mt_store_relaxed(&client.look_at, UINT64_MAX);
  drop(OFF);
  mt_ilock_unlock(&client.lock);
}

void mt_client_forget(void) {
  client.lock = (mt_ilock){0}; /* another kernel thread of the parent may have held it */
  client.active = client.demand = 0;
  mt_jobserver_forget();
  mt_client_leave();
}

bool mt_client_is_joined(void) { return mt_load_relaxed(&client.state) != OFF; }

uint32_t mt_client_follow(void) {
  /* CD-2 acquire: the page that the pointer leads to; pairs CD-1 CD-5 */
  uint32_t granted = mt_load_relaxed(mt_load_acquire(&mt_client_view.granted));
  mt_store_relaxed(&mt_client_view.seen, granted);
  return granted > 0 ? granted : 1;
}

uint32_t mt_client_cpus(uint32_t *count) {
  /* CD-13 acquire: the page that the pointer leads to; pairs CD-1 CD-5 */
  const uint32_t *granted = mt_load_acquire(&mt_client_view.granted);
  if (granted == &any_number || granted == &by_tokens) return 0;
  *count = mt_load_relaxed(granted);
  return mt_load_relaxed(&((const struct mt_grant *)granted)->first);
}

/* ---- reporting */

bool mt_client_report(uint32_t active, uint32_t demand) {
  uint32_t before = mt_load_relaxed(&client.demand);
  mt_store_relaxed(&client.active, active);
  /* CD-9 seq_cst: before the look where reports go; pairs CD-7 CD-8 CD-12 */
  mt_store_seq_cst(&client.demand, demand);
  /* CD-10 seq_cst: the same, and the page; pairs CD-7 */
  struct mt_report *report = mt_load_seq_cst(&client.writes);
  if (mt_load_relaxed(&client.state) == JOBS) return has_to_adjust(demand);
  if (report == NULL) return false;
  mt_store_relaxed(&report->active, active);
  if (demand == before) return false;
  /* CD-3 seq_cst: before the look at the bell; the daemon stores that first; pairs CD-4 */
  mt_store_seq_cst(&report->demand, demand);
  uint32_t kind = demand > before ? MT_BELL_MORE : MT_BELL_LESS;
  /* CD-4 seq_cst: after the demand, which the daemon loads last; pairs CD-3 */
  if ((mt_load_seq_cst(&report->bell) & kind) == 0) return false;
  mt_and_relaxed(&report->bell, ~kind); /* relaxed: a second ring does no harm */
  return true;
}

void mt_client_ring(void) {
  struct mt_proto_message bell = message_of(MT_PROTO_BELL);
  mt_ilock_lock(&client.lock);
  if (client.state == JOINED) {
    int error = os_unix_send(&client.socket, &bell, sizeof bell);
    if (error != 0 && error != EAGAIN) drop(LOST); /* EAGAIN: bells enough are under way */
  } else if (client.state == JOBS) {
    adjust();
  }
  mt_ilock_unlock(&client.lock);
}

void mt_client_count(uint32_t switches) {
  /* CD-11 acquire: the page; pairs CD-7 */
  struct mt_report *report = mt_load_acquire(&client.writes);
  if (report != NULL) mt_add_relaxed(&report->switches, switches);
}

/* ---- the daemon's health */

/* The daemon says nothing after its WELCOME, so what can be received is the end. */
static bool daemon_is_gone(void) {
  char byte;
  int fds[OS_DESCRIPTORS] = {-1, -1};
  int error = os_unix_receive(&client.socket, &byte, sizeof byte, 0, fds);
  for (int i = 0; i < OS_DESCRIPTORS; i++)
    if (fds[i] >= 0) os_close(fds[i]);
  return error != EAGAIN && error != EINTR;
}

static void look(uint64_t now) {
  check_lease(now);
  if (client.state == ASKED) take_welcome(0);
  if (now < client.connect_at) return;
  client.connect_at = now + RECONNECT_NS;
  if (client.state == JOINED && daemon_is_gone()) drop(LOST);
  if (client.state == LOST) ask();
}

void mt_client_look(uint64_t now) {
  if (mt_likely(now < mt_load_relaxed(&client.look_at))) return;
  if (!mt_ilock_trylock(&client.lock)) return; /* another VP looks already */
  if (client.state != OFF) {
    mt_store_relaxed(&client.look_at, now + LOOK_NS);
    if (client.state == JOBS)
      adjust();
    else
      look(now);
  }
  mt_ilock_unlock(&client.lock);
}
