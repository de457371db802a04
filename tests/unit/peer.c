/* SPDX-License-Identifier: Apache-2.0 */
/* A VP that sleeps between the messages of one peer stays on the peer's CPU, while it sleeps. The
 * kernel's answers where the peer is are made up: always on another CPU, or not known. */
#define _GNU_SOURCE
#include <mltp/io.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/support.h"

enum { STAYS = 8, LOOKS = 30, PAUSES = 40, PAUSE_NS = 2000000 };

static cpu_set_t all;
static int known;                /* [atomic] the peer's CPU is */
static long looks, stays, wrong; /* [atomic] */
static int ends[2];

static long get(const long *number) { return __atomic_load_n(number, __ATOMIC_ACQUIRE); }

static void add(long *number) { __atomic_fetch_add(number, 1, __ATOMIC_RELEASE); }

/* ---- the kernel */

int __real_getsockopt(int, int, int, void *, socklen_t *);
int __wrap_getsockopt(int, int, int, void *, socklen_t *);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length) {
  if (name != SO_INCOMING_CPU) return __real_getsockopt(fd, level, name, value, length);
  int cpu = -1, here = sched_getcpu();
  for (int i = 0; i < CPU_SETSIZE && __atomic_load_n(&known, __ATOMIC_ACQUIRE); i++)
    if (i != here && CPU_ISSET((unsigned)i, &all)) cpu = i;
  *(int *)value = cpu;
  add(&looks);
  return 0;
}

int __real_sched_setaffinity(pid_t, size_t, const cpu_set_t *);
int __wrap_sched_setaffinity(pid_t, size_t, const cpu_set_t *);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus) {
  if (pid == 0 && CPU_COUNT(cpus) == 1) add(&stays);
  return __real_sched_setaffinity(pid, size, cpus);
}

/* ---- messages */

/* Threads of the program always see all CPUs. */
static void *answer(void *arg) {
  char byte;
  size_t count = 1;
  while (mltp_io_read(ends[0], &byte, 1, &count) == 0 && count != 0) {
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0 || !CPU_EQUAL(&mine, &all)) add(&wrong);
    CHECK_EQUAL(mltp_io_write(ends[0], &byte, 1, NULL), 0);
  }
  return arg;
}

static void talk(void) {
  char byte = 'x';
  if (write(ends[1], &byte, 1) != 1 || read(ends[1], &byte, 1) != 1) add(&wrong);
}

static void *talk_until_it_stays(void *arg) {
  while (get(&stays) < STAYS) talk();
  close(ends[1]);
  return arg;
}

static void *talk_until_it_looks(void *arg) {
  while (get(&looks) < LOOKS) talk();
  close(ends[1]);
  return arg;
}

static void *talk_with_pauses(void *arg) {
  for (int i = 0; i < PAUSES; i++) {
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    talk();
  }
  close(ends[1]);
  return arg;
}

/* The peer is a kernel thread that the library does not know, so nothing else keeps the VP awake.
 */
static void run(void *(*peer)(void *)) {
  pthread_t thread;
  looks = stays = wrong = 0;
  CHECK_EQUAL(sched_getaffinity(0, sizeof all, &all), 0);
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  mltp_t *server = spawn(answer, NULL);
  CHECK_EQUAL(pthread_create(&thread, NULL, peer, NULL), 0);
  CHECK_EQUAL(mltp_join(server, NULL), 0);
  CHECK_EQUAL(pthread_join(thread, NULL), 0);
  CHECK_EQUAL(mltp_io_close(ends[0]), 0);
  CHECK_EQUAL(wrong, 0);
}

static void a_vp_stays_with_its_peer_while_it_sleeps(void) {
  known = 1;
  run(talk_until_it_stays);
}

static void it_does_not_where_the_peer_is_not_known(void) {
  known = 0;
  run(talk_until_it_looks);
  CHECK_EQUAL(stays, 0);
}

static void it_does_not_look_where_messages_are_seldom(void) {
  known = 1;
  run(talk_with_pauses);
  CHECK_EQUAL(looks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_vp_stays_with_its_peer_while_it_sleeps),
      TEST(it_does_not_where_the_peer_is_not_known),
      TEST(it_does_not_look_where_messages_are_seldom),
  };
  CHECK_EQUAL(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) return 77; /* no other CPU */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
