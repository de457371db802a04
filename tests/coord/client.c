/* SPDX-License-Identifier: Apache-2.0 */
/* A program joins a daemon, follows its grant, reports to it, and looks for it (played.h). */
#include "played.h"

/* ---- joining */

static void a_program_joins(void) {
  begin();
  client.active = 1;
  client.demand = 3;
  EQUAL(mt_client_join("/place", &program), 0);
  CHECK(mt_client_is_joined());
  EQUAL(os.connects, 1);
  CHECK(strcmp(os.paths[0], "/place") == 0);
  EQUAL(os.receives, 1);
  EQUAL(os.waits[0], 100);
  EQUAL(os.size, sizeof os.answer);
  EQUAL(os.sent_count, 2);
  const struct mt_proto_message hello = {
      MT_PROTO_MAGIC, 1, MT_PROTO_HELLO, MT_PROTO_LIBMLTP, 4, 1, 0, "tested"};
  const struct mt_proto_message bell = {MT_PROTO_MAGIC, 1, MT_PROTO_BELL, 0, 0, 0, 0, ""};
  CHECK(memcmp(&os.sent[0], &hello, sizeof hello) == 0 &&
        memcmp(&os.sent[1], &bell, sizeof bell) == 0);
  EQUAL(report_page.active, 1);
  EQUAL(report_page.demand, 3);
  EQUAL(client.look_at, os.now + 100 * MS);
  EQUAL(client.connect_at, os.now + 1000 * MS);
  EQUAL(os.closed_count, 0);
  EQUAL(client.lock, 0);
  CHECK(mt_client_changed());
  EQUAL(mt_client_follow(), 2);
  CHECK(!mt_client_changed());
  grant_page.granted = 0; /* a program always has one */
  EQUAL(mt_client_follow(), 1);
  uint32_t count = 0;
  grant_page.granted = 3;
  grant_page.first = 7;
  EQUAL(mt_client_cpus(&count), 7);
  EQUAL(count, 3);
  mt_client_count(11);
  mt_client_count(4);
  EQUAL(report_page.switches, 15);
  mt_client_leave();
  check_off();
  EQUAL(os.sockets_closed, 1);
  EQUAL(mt_client_cpus(&count), 0);
  EQUAL(count, 3);
  mt_client_count(1);
  EQUAL(report_page.switches, 15);
  begin();
  program.role = MT_PROTO_TEAMS;
  EQUAL(mt_client_join("/place", &program), 0);
  EQUAL(os.sent[0].role, MT_PROTO_TEAMS);
  for (int i = 0; i < 2; i++) { /* a program without standard input and output */
    begin();
    os.fds[0] = i;
    os.fds[1] = 1 - i;
    EQUAL(mt_client_join("/place", &program), 0);
    EQUAL(client.state, JOINED);
  }
}

static void joins_that_fail(void) {
  begin();
  EQUAL(mt_client_join("off", &program), 0);
  check_off();
  char path[MT_SOCKET_PATH + 1];
  memset(path, 'x', sizeof path);
  path[MT_SOCKET_PATH] = '\0';
  EQUAL(mt_client_join(path, &program), ENAMETOOLONG);
  EQUAL(os.connects, 0);
  check_off();
  path[MT_SOCKET_PATH - 1] = '\0';
  EQUAL(mt_client_join(path, &program), 0);
  CHECK(strcmp(os.paths[0], path) == 0);
  begin();
  os.connect_errors[0] = ECONNREFUSED;
  EQUAL(mt_client_join("/place", &program), ECONNREFUSED);
  EQUAL(os.sent_count, 0);
  check_off();
  begin();
  os.send_error = ENOBUFS;
  EQUAL(mt_client_join("/place", &program), ENOBUFS);
  EQUAL(os.receives, 0);
  EQUAL(os.sockets_closed, 1);
  check_off();
}

/* The daemon has so much to do that it takes no connection. */
static void a_daemon_that_is_busy_is_asked_again(void) {
  begin();
  os.connect_errors[0] = EAGAIN;
  EQUAL(mt_client_join("/place", &program), 0);
  EQUAL(client.state, LOST);
  EQUAL(os.receives, 0);
  CHECK(mt_client_is_joined());
  mt_client_look(os.now + 1000 * MS);
  EQUAL(os.connects, 2);
  EQUAL(client.state, ASKED);
}

static void the_two_daemons_of_auto(void) {
  static const struct {
    const char *directory;
    int first_error, connects;
    const char *first;
  } cases[] = {
      {NULL, 0, 1, "/run/mltpd.sock"},
      {"relative", 0, 1, "/run/mltpd.sock"},
      {"/my", 0, 1, "/my/mltpd.sock"},
      {"/my", ENOENT, 2, "/my/mltpd.sock"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin();
    if (cases[i].directory != NULL) setenv("XDG_RUNTIME_DIR", cases[i].directory, 1);
    os.connect_errors[0] = cases[i].first_error;
    EQUAL(mt_client_join("auto", &program), 0);
    EQUAL(os.connects, cases[i].connects);
    CHECK(strcmp(os.paths[0], cases[i].first) == 0);
    if (os.connects == 2) CHECK(strcmp(os.paths[1], "/run/mltpd.sock") == 0);
  }
  begin();
  setenv("XDG_RUNTIME_DIR", "/my", 1);
  os.connect_errors[0] = EACCES;
  os.connect_errors[1] = ENOENT;
  EQUAL(mt_client_join("auto", &program), ENOENT);
  check_off();
  char path[MT_SOCKET_PATH], directory[MT_SOCKET_PATH];
  memset(directory, 'd', sizeof directory);
  directory[0] = '/';
  directory[MT_SOCKET_PATH - sizeof "/mltpd.sock"] = '\0'; /* the longest that fits */
  setenv("XDG_RUNTIME_DIR", directory, 1);
  EQUAL(mt_socket_of_user(path), 0);
  EQUAL(strlen(path), MT_SOCKET_PATH - 1);
  directory[MT_SOCKET_PATH - sizeof "/mltpd.sock"] = 'd';
  directory[MT_SOCKET_PATH - sizeof "/mltpd.sock" + 1] = '\0';
  setenv("XDG_RUNTIME_DIR", directory, 1);
  EQUAL(mt_socket_of_user(path), ENAMETOOLONG);
}

static void answers_that_are_no_welcome(void) {
  static const struct {
    int receive_error;
    uint32_t magic, version, kind;
    int32_t refused;
    int first, second, error;
  } cases[] = {
      {0, 1, 1, MT_PROTO_WELCOME, 0, FIRST, SECOND, EPROTO},
      {0, MT_PROTO_MAGIC, 2, MT_PROTO_WELCOME, 0, FIRST, SECOND, EPROTO},
      {0, MT_PROTO_MAGIC, 1, MT_PROTO_LIST, 0, FIRST, SECOND, EPROTO},
      {0, MT_PROTO_MAGIC, 1, MT_PROTO_REFUSED, 13, -1, -1, 13},
      {0, MT_PROTO_MAGIC, 1, MT_PROTO_REFUSED, 1, 0, -1, 1},
      {0, MT_PROTO_MAGIC, 1, MT_PROTO_REFUSED, 0, -1, 0, EPROTO},
      {0, MT_PROTO_MAGIC, 1, MT_PROTO_REFUSED, -5, -1, -1, EPROTO},
      {EPROTO, MT_PROTO_MAGIC, 1, MT_PROTO_WELCOME, 0, FIRST, SECOND, EPROTO},
      {0, MT_PROTO_MAGIC, 1, MT_PROTO_WELCOME, 0, -1, -1, EPROTO},
      {0, MT_PROTO_MAGIC, 1, MT_PROTO_WELCOME, 0, FIRST, -1, EPROTO},
      {0, MT_PROTO_MAGIC, 1, MT_PROTO_WELCOME, 0, -1, SECOND, EPROTO},
      {0, MT_PROTO_MAGIC, 1, MT_PROTO_WELCOME, 0, -1, 0, EPROTO},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin();
    os.receive_errors[0] = os.receive_errors[1] = cases[i].receive_error;
    os.answer.magic = cases[i].magic;
    os.answer.version = cases[i].version;
    os.answer.kind = cases[i].kind;
    os.answer.error = cases[i].refused;
    os.fds[0] = cases[i].first;
    os.fds[1] = cases[i].second;
    EQUAL(mt_client_join("/place", &program), cases[i].error);
    check_off();
    EQUAL(os.sockets_closed, 1);
    EQUAL(os.attaches, 0);
    EQUAL(os.closed_count, (cases[i].first >= 0) + (cases[i].second >= 0));
    if (os.closed_count == 2) CHECK(os.closed_fds[0] == FIRST && os.closed_fds[1] == SECOND);
  }
  for (int i = 0; i < 2; i++) {
    begin();
    os.attach_errors[i] = EPERM;
    EQUAL(mt_client_join("/place", &program), EPERM);
    EQUAL(os.attaches, 2);
    check_off();
  }
}

static void refusals_behind_the_end(void) {
  begin(); /* it has refused before it read our message */
  os.send_error = EPIPE;
  os.receive_errors[0] = ECONNRESET;
  os.answer = message_of(MT_PROTO_REFUSED);
  os.answer.error = EAGAIN;
  os.fds[0] = os.fds[1] = -1;
  EQUAL(mt_client_join("/place", &program),
        0); /* as the daemon that has much to do: we ask again */
  EQUAL(os.receives, 2);
  EQUAL(os.waits[1], 0);
  EQUAL(client.state, LOST);
  begin();
  os.receive_errors[0] = os.receive_errors[1] = ECONNRESET;
  EQUAL(mt_client_join("/place", &program), ECONNRESET);
  EQUAL(os.receives, 2);
  check_off();
}

static void a_welcome_that_comes_later(void) {
  static const int errors[] = {EAGAIN, EINTR};
  for (int i = 0; i < 2; i++) {
    begin();
    os.receive_errors[0] = errors[i];
    EQUAL(mt_client_join("/place", &program), 0);
    EQUAL(client.state, ASKED);
    CHECK(mt_client_is_joined());
    EQUAL(mt_client_follow(), UINT32_MAX);
    EQUAL(client.look_at, os.now + 100 * MS);
    mt_client_look(os.now + 100 * MS - 1);
    EQUAL(os.receives, 1);
    client.lock = 1; /* another VP looks */
    mt_client_look(os.now + 100 * MS);
    client.lock = 0;
    EQUAL(os.receives, 1);
    mt_client_look(os.now + 100 * MS);
    EQUAL(os.receives, 2);
    EQUAL(os.waits[1], 0);
    EQUAL(client.state, JOINED);
    EQUAL(mt_client_follow(), 2);
    EQUAL(client.look_at, os.now + 200 * MS);
  }
}

/* ---- leases, and daemons that come and go */

static void grants_are_leases(void) {
  const uint64_t second = (uint64_t)1000 * MS;
  joined();
  os.receive_errors[0] = os.receive_errors[1] = EAGAIN; /* it lives */
  os.fds[0] = os.fds[1] = -1;
  grant_page.lease = 1;
  uint64_t now = os.now + second;
  mt_client_look(now);
  EQUAL(mt_client_follow(), 2);
  mt_client_look(now + 2 * second - 1);
  EQUAL(mt_client_follow(), 2);
  mt_client_look(now += 2 * second + 100 * MS);
  EQUAL(mt_client_follow(), UINT32_MAX);
  grant_page.lease = 9; /* renewed */
  mt_client_look(now += second);
  EQUAL(mt_client_follow(), 2);
  mt_client_look(now += 2 * second);
  EQUAL(mt_client_follow(), UINT32_MAX);
  grant_page.granted = program.most; /* it takes nothing away, so that it needs no lease */
  mt_client_look(now += second);
  EQUAL(mt_client_follow(), program.most);
  mt_client_look(now += 3 * second);
  EQUAL(mt_client_follow(), program.most);
  grant_page.granted = program.most - 1;
  mt_client_look(now += second);
  EQUAL(mt_client_follow(), program.most - 1);
  mt_client_look(now + second);
  EQUAL(mt_client_follow(), UINT32_MAX);
  EQUAL(client.state, JOINED);
}

static void a_daemon_that_is_gone_is_looked_for(void) {
  static const struct {
    int error;
    bool gone;
  } cases[] = {{EAGAIN, false}, {EINTR, false}, {0, true}, {ECONNRESET, true}, {EPROTO, true}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    joined();
    os.receive_errors[1] = cases[i].error;
    os.connect_errors[1] = ENOENT;
    os.fds[0] = 0;
    os.fds[1] = SECOND;
    mt_client_look(os.now + 1000 * MS - 1);
    EQUAL(os.receives, 1);
    os.now += (uint64_t)1000 * MS;
    client.look_at = 0; /* as if nobody had looked */
    mt_client_look(os.now);
    EQUAL(os.receives, 2);
    EQUAL(os.size, 1);
    EQUAL(os.waits[1], 0);
    bool brings = cases[i].error == 0 || cases[i].error == EPROTO; /* two descriptors */
    EQUAL(os.closed_count, brings ? 2 : 0);
    if (brings) CHECK(os.closed_fds[0] == 0 && os.closed_fds[1] == SECOND);
    EQUAL(client.state, cases[i].gone ? LOST : JOINED);
    EQUAL(os.connects, 1 + cases[i].gone);
    EQUAL(os.sockets_closed, cases[i].gone);
    EQUAL(client.connect_at, os.now + 1000 * MS);
    CHECK((client.writes == NULL) == cases[i].gone);
    if (!cases[i].gone) continue;
    os.connects = 0; /* it comes back */
    os.connect_errors[0] = 0;
    os.attaches = os.receives = os.sent_count = 0;
    os.receive_errors[0] = 0;
    os.fds[0] = FIRST;
    mt_client_look(os.now + 1000 * MS - 1);
    EQUAL(os.connects, 0);
    mt_client_look(os.now + 1100 * MS);
    EQUAL(os.connects, 1);
    EQUAL(client.state, ASKED);
    mt_client_look(os.now + 1200 * MS);
    EQUAL(client.state, JOINED);
    EQUAL(os.sent_count, 2);
  }
  joined(); /* one that comes back, and is gone before it hears us */
  os.receive_errors[1] = ECONNRESET;
  os.send_error = ECONNRESET;
  mt_client_look(os.now + 1000 * MS);
  EQUAL(os.connects, 2);
  EQUAL(client.state, LOST);
  EQUAL(os.sockets_closed, 2);
  begin();
  mt_client_look(UINT64_MAX); /* nothing to look at */
  EQUAL(client.look_at, UINT64_MAX);
}

/* ---- reports */

static void reports_and_bells(void) {
  static const struct {
    uint32_t before, demand, bell;
    bool rings;
    uint32_t bell_then;
  } cases[] = {
      {1, 2, 0, false, 0},
      {1, 2, MT_BELL_MORE | MT_BELL_LESS, true, MT_BELL_LESS},
      {1, 2, MT_BELL_LESS, false, MT_BELL_LESS},
      {2, 1, MT_BELL_MORE, false, MT_BELL_MORE},
      {2, 1, MT_BELL_MORE | MT_BELL_LESS, true, MT_BELL_MORE},
      {2, 2, MT_BELL_MORE | MT_BELL_LESS, false, MT_BELL_MORE | MT_BELL_LESS},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    joined();
    mt_client_report(5, cases[i].before);
    report_page.bell = cases[i].bell;
    EQUAL(mt_client_report(7, cases[i].demand), cases[i].rings);
    EQUAL(report_page.active, 7);
    EQUAL(report_page.demand, cases[i].demand);
    EQUAL(report_page.bell, cases[i].bell_then);
  }
  begin(); /* before it joins */
  CHECK(!mt_client_report(3, 2));
  EQUAL(client.active, 3);
  EQUAL(client.demand, 2);
  EQUAL(report_page.active, 0);
}

static void a_bell_is_a_message(void) {
  static const struct {
    int error, state;
  } cases[] = {{0, JOINED}, {EAGAIN, JOINED}, {EPIPE, LOST}};
  for (int i = 0; i < 3; i++) {
    joined();
    os.sent_count = 0;
    os.send_error = cases[i].error;
    mt_client_ring();
    EQUAL(os.sent_count, 1);
    EQUAL(os.sent[0].kind, MT_PROTO_BELL);
    EQUAL(client.state, cases[i].state);
    EQUAL(os.sockets_closed, cases[i].state == LOST);
    EQUAL(client.lock, 0);
    mt_client_ring();
    EQUAL(os.sent_count, cases[i].state == LOST ? 1 : 2);
  }
}

static void a_child_forgets(void) {
  joined();
  mt_client_report(3, 2);
  client.lock = 1;
  mt_client_forget();
  check_off();
  EQUAL(client.active + client.demand, 0);
}

int main(void) {
  a_program_joins();
  joins_that_fail();
  a_daemon_that_is_busy_is_asked_again();
  the_two_daemons_of_auto();
  answers_that_are_no_welcome();
  refusals_behind_the_end();
  a_welcome_that_comes_later();
  grants_are_leases();
  a_daemon_that_is_gone_is_looked_for();
  reports_and_bells();
  a_bell_is_a_message();
  a_child_forgets();
}
