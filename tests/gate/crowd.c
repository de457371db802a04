/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stock pthread program: how many of its threads compute at the same time?
 *   crowd N        eight threads that compute for a moment between two locks, also when they end.
 *                  Prints how often more than N did so at a time, and how often they computed
 *   crowd N c11    the same; their last moments are in the destructor of a key of C11
 *   crowd together eight threads that compute until all of them do so at the same time
 *   crowd turns    the same, until each of them has computed
 *   crowd spin     one thread spins until another, created later, stores a word
 *   crowd read     threads block in read(2) until the last one writes
 *   crowd ask      one thread asks another again and again, and spins until it has the answer,
 *                  until some of the last 32 answers came much sooner than a slice of 10 ms
 *   crowd team     one thread asks three others at once, again and again, and spins until it has
 *                  all answers; they spin, too, and call now and then. Until some of the last 32
 *                  rounds took much less CPU time than three slices
 *   crowd aside    eight threads that compute for long between two locks, until all of them do so
 *                  at the same time
 *   crowd stray    two threads take long turns beside one that slept in a call which is none of the
 *                  gate's, and then spins until they have had all of theirs
 *   crowd talk     two threads talk over sockets, waiting in one call after the other, and each
 *                  locks a mutex before it answers, until some of the last 32 answers came much
 *                  sooner than the monitor's tick of 2 ms
 *   crowd begin    four threads begin at the same time. Prints how often they slept in the gate
 *                  before
 *   crowd share    the same. They say so, and compute for a moment between two calls that need not
 *                  wait. After SIGUSR1, until 10 moments more had one of them than had several
 *   crowd come     threads come, wait, and go again and again, and lose their CPU each time before
 *                  they sleep in the gate
 */
#include <dlfcn.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum {
  THREADS = 8,
  ROUNDS = 150,
  LAST_ROUNDS = 20,
  COMPUTE_NS = 200000,
  SOON = 6,
  SOON_NS = 6000000,
  AT_ONCE_NS = 1000000,
  WAYS = 6, /* to wait for a byte */
  COMING = 48,
  TIMES = 20,
  TURN_NS = 10000000,
  SOME_TURNS = 10,
  ALL_TURNS = 30,
  SLOW_NS = 100000,
  TEAM = 4,
  BEGINNERS = 4,
  ALONE = 10,     /* moments */
  LOOKS = 100000, /* of one that answers, between two calls */
  ROUND_NS = 2000000,
  LONG_NS = 4000000
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int computing, word, ends[2], talk[2];
static sem_t question;

static struct {
  int most;  /* threads that may compute at a time */
  int over;  /* times that more did */
  int times; /* of all */
} counted;

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

static long cpu_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void compute_once(void) {
  int beside = __atomic_fetch_add(&computing, 1, __ATOMIC_RELAXED);
  for (long end = now() + COMPUTE_NS; now() < end;) continue;
  __atomic_fetch_sub(&computing, 1, __ATOMIC_RELAXED);
  pthread_mutex_lock(&mutex);
  counted.over += beside + 1 > counted.most;
  counted.times++;
  pthread_mutex_unlock(&mutex);
}

static bool is_c11; /* which key is used */
static pthread_key_t key;
static tss_t key_c11;

static void keep_to_the_end(intptr_t round) {
  if ((is_c11 ? tss_set(key_c11, (void *)round) : pthread_setspecific(key, (void *)round)) != 0)
    _exit(1);
}

/* In all rounds of destructors but the last, in which the thread leaves the gate. */
static void compute_at_the_end(void *of) {
  intptr_t round = (intptr_t)of;
  for (int i = 0; i < LAST_ROUNDS; i++) compute_once();
  if (round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) keep_to_the_end(round + 1);
}

static bool make_key(void) {
  return is_c11 ? tss_create(&key_c11, compute_at_the_end) == thrd_success
                : pthread_key_create(&key, compute_at_the_end) == 0;
}

static void *compute(void *arg) {
  for (int i = 0; i < ROUNDS; i++) compute_once();
  keep_to_the_end(1);
  return arg;
}

/* It makes no call before all have come. */
static void *compute_together(void *arg) {
  __atomic_fetch_add(&computing, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&computing, __ATOMIC_RELAXED) < THREADS) continue;
  return arg;
}

static void *compute_in_turns(void *arg) {
  compute_once();
  __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&word, __ATOMIC_RELAXED) < THREADS) compute_once();
  return arg;
}

static void *compute_long(void *arg) {
  while (__atomic_load_n(&word, __ATOMIC_RELAXED) == 0) {
    int beside = __atomic_fetch_add(&computing, 1, __ATOMIC_RELAXED);
    if (beside + 1 == THREADS) __atomic_store_n(&word, 1, __ATOMIC_RELAXED);
    for (long end = now() + LONG_NS; now() < end;) continue;
    __atomic_fetch_sub(&computing, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

static void *spin(void *arg) {
  while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) continue;
  return arg;
}

static void *store(void *arg) {
  __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
  return arg;
}

static void *receive(void *arg) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) _exit(1);
  return arg;
}

static void *send_all(void *arg) {
  for (int i = 0; i < THREADS - 1; i++)
    if (write(ends[1], "x", 1) != 1) _exit(1);
  return arg;
}

static void *ask(void *arg) {
  unsigned soon = 0; /* a bit for each of the last answers */
  for (int answers = 0; __builtin_popcount(soon) < SOON; answers++) {
    long begin = now();
    sem_post(&question);
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == answers) continue;
    soon = soon << 1 | (now() - begin < SOON_NS);
  }
  __atomic_store_n(&word, -1, __ATOMIC_RELEASE);
  sem_post(&question);
  return arg;
}

static void *answer(void *arg) {
  for (int answers = 0; __atomic_load_n(&word, __ATOMIC_ACQUIRE) >= 0; answers++) {
    sem_wait(&question);
    int expected = answers;
    __atomic_compare_exchange_n(&word, &expected, answers + 1, 0, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
  }
  return arg;
}

static int answers_of_all;

static void *ask_team(void *arg) {
  unsigned soon = 0; /* a bit for each of the last rounds */
  for (int round = 1; __builtin_popcount(soon) < SOON; round++) {
    long begin = cpu_time();
    __atomic_store_n(&word, round, __ATOMIC_RELEASE);
    while (__atomic_load_n(&answers_of_all, __ATOMIC_ACQUIRE) < (TEAM - 1) * round) continue;
    soon = soon << 1 | (cpu_time() - begin < ROUND_NS);
  }
  __atomic_store_n(&word, -1, __ATOMIC_RELEASE);
  return arg;
}

static void *answer_in_team(void *arg) {
  for (int answered = 0, asked = 0; asked >= 0;) {
    for (int i = 0; i < LOOKS && asked == answered; i++)
      asked = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
    if (asked > answered) __atomic_fetch_add(&answers_of_all, 1, __ATOMIC_RELEASE);
    answered = asked;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

/* Waits for a byte, and takes it. */
static char hear(int fd, int way) {
  char byte = 0;
  struct pollfd one = {.fd = fd, .events = POLLIN};
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  if (way == 0 && poll(&one, 1, -1) != 1) _exit(1);
  if (way == 1 && ppoll(&one, 1, NULL, NULL) != 1) _exit(1);
  if (way == 2 && select(fd + 1, &set, NULL, NULL, NULL) != 1) _exit(1);
  if (way == 3 && recv(fd, &byte, 1, MSG_PEEK) != 1) _exit(1);
  if ((way == 4 ? recvmsg(fd, &message, 0) : read(fd, &byte, 1)) != 1) _exit(1);
  return byte;
}

static void say(int fd, char byte) {
  pthread_mutex_lock(&mutex); /* a call that needs a permit */
  pthread_mutex_unlock(&mutex);
  if (write(fd, &byte, 1) != 1) _exit(1);
}

static void *begin_talk(void *arg) {
  for (int way = 0; way < WAYS; way++)
    for (unsigned soon = 0; __builtin_popcount(soon) < SOON;) { /* a bit for each answer */
      long begin = now();
      say(talk[0], (char)way);
      if (hear(talk[0], way) != way) _exit(1);
      soon = soon << 1 | (now() - begin < AT_ONCE_NS);
    }
  say(talk[0], WAYS);
  return arg;
}

static void *answer_talk(void *arg) {
  struct epoll_event event = {.events = EPOLLIN};
  int fd = epoll_create1(0);
  if (epoll_ctl(fd, EPOLL_CTL_ADD, talk[1], &event) != 0) _exit(1);
  for (;;) {
    if (epoll_wait(fd, &event, 1, -1) != 1) _exit(1);
    char heard = hear(talk[1], WAYS);
    if (heard == WAYS) return arg;
    say(talk[1], heard);
  }
}

/* ---- the gate's calls come here */

static int slow;
static __thread int sleeps;

static long straight(long number, const long arg[6]) {
  static long (*next)(long, ...);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "syscall");
  return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

long syscall(long number, ...) {
  static const struct timespec time = {0, SLOW_NS};
  long arg[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) arg[i] = va_arg(list, long);
  va_end(list);
  bool waits = number == SYS_futex && (arg[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  sleeps += waits;
  if (slow && waits) straight(SYS_nanosleep, (long[6]){(long)&time});
  return straight(number, arg);
}

/* ---- threads that begin */

static void *come_together(void *arg) {
  __atomic_fetch_add(&counted.over, sleeps, __ATOMIC_RELAXED);
  __atomic_fetch_add(&counted.times, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&counted.times, __ATOMIC_ACQUIRE) < BEGINNERS) continue;
  return arg;
}

static volatile sig_atomic_t shares;

static void on_share(int number) { shares = number; }

static void *begin_and_share(void *arg) {
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  come_together(arg);
  if (arg != NULL) puts("begun"), fflush(stdout);
  while (__atomic_load_n(&word, __ATOMIC_RELAXED) < ALONE) {
    int beside = __atomic_fetch_add(&computing, 1, __ATOMIC_RELAXED);
    for (long end = now() + COMPUTE_NS; now() < end;) continue;
    __atomic_fetch_sub(&computing, 1, __ATOMIC_RELAXED);
    if (beside == 0 && shares)
      __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
    else if (beside != 0 && __atomic_load_n(&word, __ATOMIC_RELAXED) > 0)
      __atomic_fetch_sub(&word, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
  }
  return arg;
}

/* ---- a thread that the monitor catches, and that runs on without a call that would tell */

static int count_turn(void) {
  pthread_mutex_lock(&mutex);
  int turn = __atomic_add_fetch(&word, 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&mutex);
  return turn;
}

static void *take_turns(void *arg) {
  for (int turn = 0; turn < ALL_TURNS;) {
    for (long end = now() + TURN_NS; now() < end;) continue;
    turn = count_turn();
    if (turn == SOME_TURNS && write(ends[1], "x", 1) != 1) _exit(1);
  }
  return arg;
}

static void *stray(void *arg) {
  char byte;
  if (straight(SYS_read, (long[6]){ends[0], (long)&byte, 1}) != 1) _exit(1);
  while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) < ALL_TURNS) continue;
  return arg;
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void *come(void *arg) {
  pthread_mutex_lock(&mutex);
  while (word == 0) pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
  return arg;
}

static void let_all_come(void) {
  pthread_t threads[COMING];
  word = 0;
  for (int i = 0; i < COMING; i++)
    if (pthread_create(&threads[i], NULL, come, NULL) != 0) _exit(1);
  pthread_mutex_lock(&mutex);
  word = 1;
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < COMING; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  void *(*first)(void *) = compute, *(*last)(void *) = compute;
  pthread_t threads[THREADS];
  int count = strcmp(what, "ask") == 0 || strcmp(what, "talk") == 0 ? 2 : THREADS;
  if (strcmp(what, "team") == 0) first = answer_in_team, last = ask_team, count = TEAM;
  if (strcmp(what, "aside") == 0) first = last = compute_long;
  if (strcmp(what, "begin") == 0) first = last = come_together, count = BEGINNERS;
  if (strcmp(what, "share") == 0) first = last = begin_and_share, count = BEGINNERS;
  if (strcmp(what, "stray") == 0) first = take_turns, last = stray, count = 3;
  if (pipe(ends) != 0 || sem_init(&question, 0, 0) != 0) return 1;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, talk) != 0) return 1;
  if (signal(SIGUSR1, on_share) == SIG_ERR) return 1;
  slow = strcmp(what, "come") == 0;
  for (int i = 0; i < TIMES && slow; i++) let_all_come();
  if (slow) return 0;
  if (strcmp(what, "together") == 0) first = last = compute_together;
  if (strcmp(what, "turns") == 0) first = last = compute_in_turns;
  if (strcmp(what, "ask") == 0) first = ask, last = answer;
  if (strcmp(what, "talk") == 0) first = begin_talk, last = answer_talk;
  if (strcmp(what, "spin") == 0) first = spin, last = store;
  if (strcmp(what, "read") == 0) first = receive, last = send_all;
  counted.most = atoi(what);
  is_c11 = argc > 2 && strcmp(argv[2], "c11") == 0;
  if (counted.most > 0 && !make_key()) return 1;
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], NULL, i < count - 1 ? first : last, i == 0 ? ends : NULL) != 0)
      return 1;
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  printf("%d %d\n", counted.over, counted.times);
  return 0;
}
