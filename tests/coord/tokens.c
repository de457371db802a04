/* SPDX-License-Identifier: Apache-2.0 */
/* A program takes part in a jobserver (played.h). */
#include "played.h"

/* ---- a jobserver */

static bool joins_jobserver(const char *makeflags) {
  begin();
  setenv("MAKEFLAGS", makeflags, 1);
  os.connect_errors[0] = os.connect_errors[1] = ENOENT;
  return mt_client_join("auto", &program) == 0;
}

static void what_makeflags_say(void) {
  CHECK(joins_jobserver(" -j2 --jobserver-auth=fifo:/a --jobserver-auth=fifo:/tmp/b -- x=y"));
  CHECK(strcmp(os.fifo_path, "/tmp/b") == 0);
  EQUAL(client.state, JOBS);
  EQUAL(os.connects, 0);
  EQUAL(client.look_at, os.now + 100 * MS);
  EQUAL(client.lock, 0);
  CHECK(mt_client_is_joined());
  EQUAL(mt_client_follow(), 1);
  uint32_t count = 9;
  EQUAL(mt_client_cpus(&count), 0);
  EQUAL(count, 9);
  CHECK(joins_jobserver("--jobserver-auth=0,4"));
  EQUAL(os.take_fd, 0);
  EQUAL(os.give_fd, 4);
  CHECK(joins_jobserver("--jobserver-auth=3,0"));
  static const char *const none[] = {"",
                                     " -j2",
                                     "--jobserver-auth=",
                                     "--jobserver-auth=3",
                                     "--jobserver-auth=-1,4",
                                     "--jobserver-auth=4,-1",
                                     "--jobserver-fds=3,4"};
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
    CHECK(!joins_jobserver(none[i]));
    EQUAL(os.connects, 1); /* it looks for a daemon */
    check_off();
  }
  for (int i = 0; i < 2; i++) {
    begin();
    os.open_error = os.reopen_error = EBADF;
    CHECK(!mt_jobserver_join(i == 0 ? "--jobserver-auth=fifo:/x" : "--jobserver-auth=3,4"));
  }
  begin(); /* only "auto" takes part */
  setenv("MAKEFLAGS", "--jobserver-auth=3,4", 1);
  EQUAL(mt_client_join("/place", &program), 0);
  EQUAL(client.state, JOINED);
}

static void tokens_are_cpus(void) {
  CHECK(joins_jobserver("--jobserver-auth=3,4"));
  os.token_count = 5;
  memcpy(os.tokens, "abcde", 5);
  EQUAL(mt_jobserver_adjust(3), 3);
  EQUAL(os.token_count, 3);
  EQUAL(mt_jobserver_adjust(3), 3);
  EQUAL(mt_jobserver_adjust(9), 6);
  EQUAL(os.token_count, 0);
  EQUAL(mt_jobserver_adjust(4), 4);
  EQUAL(os.token_count, 2);
  CHECK(memcmp(os.tokens, "ab", 2) == 0); /* the very bytes */
  EQUAL(mt_jobserver_adjust(0), 1);
  CHECK(os.token_count == 5 && memcmp(os.tokens, "abcde", 5) == 0);
  EQUAL(mt_jobserver_adjust(4), 4);
  os.give_error = EAGAIN; /* there is no room but for one */
  os.gives_left = 1;
  EQUAL(mt_jobserver_adjust(1), 3);
  os.give_error = 0;
  mt_jobserver_leave();
  EQUAL(os.token_count, 5);
  EQUAL(os.sockets_closed, 1);
  CHECK(joins_jobserver("--jobserver-auth=3,4"));
  os.token_count = 1030;
  EQUAL(mt_jobserver_adjust(1030), 1025);
  EQUAL(os.token_count, 6);
  mt_jobserver_forget(); /* they are the parent's */
  EQUAL(os.token_count, 6);
  EQUAL(jobs.held, 0);
}

static void the_demand_asks_for_tokens(void) {
  CHECK(joins_jobserver("--jobserver-auth=3,4"));
  os.token_count = 9;
  CHECK(!mt_client_report(1, 1) && !mt_client_report(1, 0));
  CHECK(mt_client_report(1, 2));
  mt_client_ring();
  EQUAL(mt_client_follow(), 2);
  CHECK(!mt_client_report(2, 2));
  CHECK(!mt_client_report(1, 1)); /* a VP that sleeps for a moment keeps its token */
  CHECK(mt_client_report(0, 0));
  mt_client_ring();
  EQUAL(mt_client_follow(), 1);
  EQUAL(os.token_count, 9);
  CHECK(mt_client_report(1, 100));
  mt_client_ring();
  EQUAL(mt_client_follow(), program.most);
  mt_client_report(1, 1);
  mt_client_look(os.now + 100 * MS - 1);
  EQUAL(os.token_count, 6);
  mt_client_look(os.now + 100 * MS); /* until now */
  EQUAL(os.token_count, 9);
  EQUAL(client.look_at, os.now + 200 * MS);
  EQUAL(client.state, JOBS);
  client.program.role = MT_PROTO_TEAMS;
  CHECK(mt_client_report(2, 2));
  mt_client_ring();
  CHECK(mt_client_report(1, 1));
  mt_client_ring();
  EQUAL(mt_client_follow(), 1);
  CHECK(!mt_client_report(0, 0)); /* its own CPU is no token */
  mt_client_report(1, 2);
  mt_client_ring();
  EQUAL(os.token_count, 8);
  client.lock = 1; /* at exit(): another thread has the lock */
  leave_jobs();
  EQUAL(os.token_count, 8);
  client.lock = 0;
  leave_jobs();
  EQUAL(os.token_count, 9);
  EQUAL(client.lock, 0);
  CHECK(joins_jobserver("--jobserver-auth=3,4"));
  os.token_count = 1;
  mt_client_report(2, 2);
  mt_client_ring();
  mt_client_leave();
  EQUAL(os.token_count, 1);
  EQUAL(os.sockets_closed, 1);
  check_off();
  joined(); /* with a daemon the end is another */
  leave_jobs();
  EQUAL(client.state, JOINED);
  CHECK(joins_jobserver("--jobserver-auth=3,4"));
  os.token_count = 1;
  mt_client_report(2, 2);
  mt_client_ring();
  mt_client_forget();
  EQUAL(os.token_count, 0);
  check_off();
}

int main(void) {
  what_makeflags_say();
  tokens_are_cpus();
  the_demand_asks_for_tokens();
}
