/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections between nodes, which are processes here: how they are made and between which
 * processes, what they carry, and what a node does when another one ends early, is killed, or is
 * not there. Long sleeps are noted only, and the clock stands still unless a test moves it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "tmpi/nodes/nodes.h"
#include "tmpi/rank/rank.h"

enum { NODES = 3, TEXT = 1024, LARGE = 300000, DONE = 40, NAPPED = 41, STATUS = 7, ROUNDS = 20 };

#define MUST(condition) ((condition) ? (void)0 : not_met(__LINE__, #condition))

__attribute__((noreturn)) static void not_met(int line, const char *condition) {
  dprintf(STDOUT_FILENO, "node_links.c:%d: %s: %s\n", line, condition, strerror(errno));
  _exit(1);
}

/* Of all nodes of a job. */
static struct {
  pthread_barrier_t all;
  struct tm_link_address address[NODES];
  int connected; /* [atomic] node 1 is, to node 0; or nodes that have seen what they wait for */
} *shared;

static void meet(void) { pthread_barrier_wait(&shared->all); }

/* ---- what is around */

struct tm_job tm_job;
static int own;
static int asked[NODES], gathered,
    suspicions;                   /* [atomic] notes of each node; of data; of the own node */
static int times_asked = 1000000; /* os_now() leaves its place after that many calls */
static uint64_t nap;              /* the long sleep that is expected; then it is 0 */
static bool ends_when_it_naps = true, time_flies;
static void (*notify_others)(int status, const char *why);
static unsigned char data[LARGE];

uint64_t os_now(void) {
  static uint64_t now = 1000000000;
  if (time_flies) now += 100000000;
  return --times_asked > 0 ? now : UINT64_MAX / 2;
}

void os_nap(uint64_t ns) {
  if (ns <= 1000000) {
    nanosleep(&(struct timespec){0, (long)ns}, NULL);
    return;
  }
  MUST(ns == nap);
  nap = 0;
  if (ends_when_it_naps) _exit(NAPPED);
}

void os_yield(void) { sched_yield(); }

int os_write(int fd, const char *text, size_t length) {
  return write(fd, text, length) == (ssize_t)length ? 0 : errno;
}

void os_wait_read(int fd, uint64_t ns) { MUST(fd == STDERR_FILENO && ns == 5000000000); }

void tm_job_flush(void) { fputs("flushed\n", stderr); }

void tm_job_on_early_end(void (*tell)(int status, const char *why)) { notify_others = tell; }

bool tm_rest_prepare(const struct tm_nodes *nodes) { return nodes->size == NODES; }
bool tm_counts_prepare(const struct tm_nodes *nodes) { return nodes->size == NODES; }

/* In the thread that reads. */
void tm_rest_note(int node, const struct tm_note *note) {
  MUST(note->round == (uint32_t)node);
  if (note->kind == TM_NOTE_SUSPECT) {
    MUST(node == own);
    __atomic_add_fetch(&suspicions, 1, __ATOMIC_SEQ_CST);
    return;
  }
  __atomic_add_fetch(&asked[node], note->kind == TM_NOTE_ASK, __ATOMIC_SEQ_CST);
  if (note->kind != TM_NOTE_GATHERED) return;
  MUST(tm_links_read(node, data, note->bytes));
  for (size_t i = 0; i < note->bytes; i++) MUST(data[i] == (unsigned char)(i * 7 + (size_t)node));
  __atomic_add_fetch(&gathered, 1, __ATOMIC_SEQ_CST);
}

static void wait_for(const int *count, int wanted) {
  while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < wanted) os_nap(100000);
}

/* ---- a job */

static int count_descriptors(void) {
  int count = 0;
  for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static struct tm_node list[NODES];

static void listen_at_address(void) {
  char why[TM_NODE_WHY];
  struct tm_nodes nodes = {NODES, own, list};
  for (int i = 0; i < NODES; i++) snprintf(list[i].host, sizeof list[i].host, "host%d", i);
  const struct tm_link_address *address = tm_links_open(why, sizeof why);
  MUST(address != NULL && address->count > 0 && address->port != 0);
  shared->address[own] = *address;
  MUST(tm_links_prepare(&nodes) == NULL && strcmp(tm_links_host(1), "host1") == 0);
  meet();
}

static void connect_all(void) {
  listen_at_address();
  for (int i = 0; i < NODES; i++) MUST(tm_links_connect(i, &shared->address[i]) == NULL);
  MUST(tm_links_start(600) == NULL && notify_others != NULL);
  meet();
}

/* From now on nodes may go away. */
static void part_in_peace(void) {
  MUST(tm_links_lost() == -1);
  meet();
}

/* Each node runs the part. @return what a node prints; status: how it ends. */
static void run(void (*part)(void), char said[NODES][TEXT], int status[NODES]) {
  pthread_barrierattr_t attr;
  pid_t children[NODES];
  int files[NODES];
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(shared != MAP_FAILED);
  pthread_barrierattr_init(&attr);
  pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  assert_int_equal(pthread_barrier_init(&shared->all, &attr, NODES), 0);
  fflush(NULL);
  for (int i = 0; i < NODES; i++) files[i] = memfd_create("said", MFD_CLOEXEC);
  for (int i = 0; i < NODES; i++) {
    children[i] = fork();
    if (children[i] != 0) continue;
    own = i;
    dup2(files[i], STDERR_FILENO);
    for (int k = 0; k < NODES; k++) close(files[k]);
    part();
    _exit(DONE);
  }
  for (int i = 0; i < NODES; i++) {
    assert_int_equal(waitpid(children[i], &status[i], 0), children[i]);
    ssize_t length = pread(files[i], said[i], TEXT - 1, 0);
    assert_true(length >= 0);
    said[i][length] = '\0';
    close(files[i]);
  }
  munmap(shared, sizeof *shared);
}

/* All nodes end so, and print nothing. */
static void all_end_with(int wanted, void (*part)(void)) {
  char said[NODES][TEXT];
  int status[NODES];
  run(part, said, status);
  for (int i = 0; i < NODES; i++) {
    assert_string_equal(said[i], "");
    assert_true(WIFEXITED(status[i]) && WEXITSTATUS(status[i]) == wanted);
  }
}

/* One ends by itself, as told; the others follow it, and say why. */
static void others_follow(int first, void (*part)(void), const char *own_words, const char *why,
                          int wanted) {
  char said[NODES][TEXT], expected[TEXT];
  int status[NODES];
  run(part, said, status);
  assert_string_equal(said[first], own_words);
  for (int i = 0; i < NODES; i++) {
    if (i == first) continue;
    snprintf(expected, sizeof expected,
             "flushed\ntmpirun: node %d (host%d): %s: this node (%d, host%d) ends, too\n", first,
             first, why, i, i);
    assert_string_equal(said[i], expected);
    assert_true(WIFEXITED(status[i]) && WEXITSTATUS(status[i]) == wanted);
  }
}

/* ---- what connections carry */

static void exchange(void) {
  int before = count_descriptors();
  connect_all();
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < NODES; i++)
      tm_links_send(i, &(struct tm_note){.kind = TM_NOTE_ASK, .round = (uint32_t)own});
    if (own != 0) {
      for (size_t i = 0; i < LARGE; i++) data[i] = (unsigned char)(i * 7 + (size_t)own);
      tm_links_write(
          0, &(struct tm_note){.kind = TM_NOTE_GATHERED, .round = (uint32_t)own, .bytes = LARGE},
          data);
    }
  }
  tm_links_send(own, &(struct tm_note){.kind = TM_NOTE_SUSPECT, .round = (uint32_t)own});
  wait_for(&suspicions, 1);
  for (int i = 0; i < NODES; i++) wait_for(&asked[i], ROUNDS);
  if (own == 0) wait_for(&gathered, (NODES - 1) * ROUNDS);
  pid_t child = fork(); /* it has no connection */
  int status = 1;
  if (child == 0) _exit(count_descriptors() != before);
  MUST(waitpid(child, &status, 0) == child && status == 0);
  MUST(count_descriptors() == before + NODES - 1 + 2);
  part_in_peace();
}

static void nodes_go_away(void) {
  connect_all();
  part_in_peace();
  if (own == 2) return;
  while (tm_links_lost() < 0) os_nap(100000);
  MUST(tm_links_lost() == 2);
  __atomic_add_fetch(&shared->connected, 1, __ATOMIC_SEQ_CST);
  wait_for(&shared->connected, 2); /* the other one has seen it, too */
}

static void connections_carry_notes_and_data(void **state) {
  (void)state;
  all_end_with(DONE, exchange);
  all_end_with(DONE, nodes_go_away);
}

/* ---- early ends */

static void one_ends_early(void) {
  connect_all();
  if (own != 1) pause();
  notify_others(STATUS, "rank 5 failed");
  ends_when_it_naps = false;
  nap = 15000000000;
  notify_others(STATUS + 1, "again"); /* another thread's: it waits for the first */
  MUST(nap == 0);
}

static void one_is_killed(void) {
  connect_all();
  if (own == 2) raise(SIGKILL);
  pause();
}

static void ucx_loses_one(void) {
  connect_all();
  if (own != 0) pause();
  ends_when_it_naps = false;
  nap = 3000000000;
  tm_links_suspect(1, "timeout");
}

static void the_others_learn_why_a_node_ends(void **state) {
  (void)state;
  others_follow(1, one_ends_early,
                "tmpirun: node 1 (host1): rank 5 failed: the job ends on all nodes\n",
                "rank 5 failed", STATUS);
  others_follow(2, one_is_killed, "",
                "its process is gone: it was killed (see the launcher's messages)", 1);
}

static void a_node_that_ucx_has_lost(void **state) {
  (void)state;
  char said[NODES][TEXT], expected[TEXT];
  int status[NODES];
  run(ucx_loses_one, said, status);
  for (int i = 0; i < NODES; i++) {
    snprintf(expected, sizeof expected,
             "flushed\ntmpirun: node 1 (host1): UCX has lost it: timeout (UCX_TLS: another "
             "transport): this node (%d, host%d) ends, too\n",
             i, i);
    assert_string_equal(said[i], expected);
    assert_true(WIFEXITED(status[i]) && WEXITSTATUS(status[i]) == 1);
  }
}

/* ---- a reason that may come */

static void no_reason_comes(void) {
  connect_all();
  time_flies = true;
  tm_links_wait_for_reason();
  meet();
  part_in_peace();
}

static void a_reason_comes(void) {
  connect_all();
  part_in_peace();
  if (own == 2) _exit(NAPPED);
  nap = 15000000000;
  tm_links_wait_for_reason();
}

static void a_node_waits_for_the_reason(void **state) {
  (void)state;
  all_end_with(DONE, no_reason_comes);
  all_end_with(NAPPED, a_reason_comes);
}

/* ---- callers of a node */

static int connect_raw(const struct tm_link_address *address) {
  struct sockaddr_in name = {
      .sin_family = AF_INET, .sin_port = address->port, .sin_addr.s_addr = address->ip[0]};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  MUST(fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof name) == 0);
  return fd;
}

/* What a caller says first. */
struct hello {
  uint64_t secret;
  int32_t node;
};

static void is_turned_away(uint64_t secret, int node, size_t bytes) {
  const struct hello hello = {secret, node};
  char answer;
  int fd = connect_raw(&shared->address[0]);
  MUST(send(fd, &hello, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
  if (bytes < sizeof hello) shutdown(fd, SHUT_WR);
  MUST(recv(fd, &answer, 1, 0) <= 0);
  close(fd);
}

static void strangers_call(void) {
  const struct tm_link_address *address = &shared->address[0];
  listen_at_address();
  if (own == 2) {
    is_turned_away(address->secret[0] + 1, 2, sizeof(struct hello));
    is_turned_away(address->secret[1], 2, sizeof(struct hello));
    is_turned_away(address->secret[0], 0, sizeof(struct hello));
    is_turned_away(address->secret[0], -1, sizeof(struct hello));
    is_turned_away(address->secret[0], NODES, sizeof(struct hello));
    is_turned_away(address->secret[0], 2, 4);
  }
  if (own == 1) {
    MUST(tm_links_connect(0, address) == NULL);
    __atomic_store_n(&shared->connected, 1, __ATOMIC_SEQ_CST);
  }
  if (own == 2) {
    wait_for(&shared->connected, 1);
    is_turned_away(address->secret[0], 1, sizeof(struct hello)); /* there is one */
  }
  if (own == 2) MUST(tm_links_connect(0, address) == NULL);
  if (own == 2) MUST(tm_links_connect(1, &shared->address[1]) == NULL);
  MUST(tm_links_connect(own, address) == NULL); /* nodes connect to lower ones */
  MUST(tm_links_start(600) == NULL);
  meet();
  part_in_peace();
}

/* A listener that is no node of the job: what it answers is wrong, or it is not there. */
static void answers_are_checked(void) {
  struct tm_link_address address = {.secret = {11, 22}, .count = 1, .ip = {htonl(INADDR_LOOPBACK)}};
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof name;
  const struct hello answers[] = {{23, 0}, {11, 0}, {22, 1}, {22, 0}};
  listen_at_address();
  if (own != 1) return;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  MUST(fd >= 0);
  MUST(bind(fd, (struct sockaddr *)&name, sizeof name) == 0 && listen(fd, 8) == 0);
  MUST(getsockname(fd, (struct sockaddr *)&name, &size) == 0);
  address.port = name.sin_port;
  MUST(!tm_links_is_gone(&address));
  pid_t child = fork();
  if (child == 0) {
    close(accept(fd, NULL, NULL)); /* of tm_links_is_gone() */
    for (int i = 0; i < 5; i++) {
      struct hello got = {0};
      int to = accept(fd, NULL, NULL);
      MUST(to >= 0);
      MUST(recv(to, &got, sizeof got, MSG_WAITALL) == (ssize_t)sizeof got);
      MUST(got.secret == 11 && got.node == 1);
      if (i > 0) MUST(send(to, &answers[i - 1], sizeof got, MSG_NOSIGNAL) == (ssize_t)sizeof got);
      close(to);
    }
    _exit(0);
  }
  close(fd);
  int before = count_descriptors(), status;
  for (int i = 0; i < 4; i++) MUST(strcmp(tm_links_connect(0, &address), strerror(EPROTO)) == 0);
  MUST(count_descriptors() == before);
  MUST(tm_links_connect(0, &address) == NULL);
  MUST(count_descriptors() == before + 1);
  MUST(waitpid(child, &status, 0) == child && status == 0);
  MUST(tm_links_is_gone(&address));
  MUST(strcmp(tm_links_connect(0, &address), strerror(ECONNREFUSED)) == 0);
  MUST(tm_links_connect(1, &address) == NULL && tm_links_connect(2, &address) == NULL);
  address.count = 0;
  MUST(!tm_links_is_gone(&address));
  MUST(strcmp(tm_links_connect(0, &address), strerror(EADDRNOTAVAIL)) == 0);
  MUST(count_descriptors() == before + 1);
}

/* Node 2 does not connect. */
static void one_is_late(void) {
  listen_at_address();
  if (own == 1) MUST(tm_links_connect(0, &shared->address[0]) == NULL);
  if (own != 0) return;
  times_asked = 3; /* the time is over when node 1 is there */
  MUST(strcmp(tm_links_start(600), "node 2 (host2) has not connected by TCP") == 0);
}

static void none_is_there(void) {
  listen_at_address();
  if (own == 0) MUST(strcmp(tm_links_start(0), "node 1 (host1) has not connected by TCP") == 0);
  if (own == 1) MUST(strcmp(tm_links_start(0), "node 2 (host2) has not connected by TCP") == 0);
}

static void only_nodes_of_the_job_connect(void **state) {
  (void)state;
  all_end_with(DONE, strangers_call);
  all_end_with(DONE, answers_are_checked);
  all_end_with(DONE, one_is_late);
  all_end_with(DONE, none_is_there);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(connections_carry_notes_and_data),
      cmocka_unit_test(the_others_learn_why_a_node_ends),
      cmocka_unit_test(a_node_that_ucx_has_lost),
      cmocka_unit_test(a_node_waits_for_the_reason),
      cmocka_unit_test(only_nodes_of_the_job_connect),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
