/* SPDX-License-Identifier: Apache-2.0 */
/* Meets the limits of mltp-limits(7): probe LIMIT [NUMBER]. Prints the size at which it met one,
 * and what it got; limits.py makes the page of that. A limit that ends the process prints what led
 * to it first. */
#define _GNU_SOURCE
#include <errno.h>
#include <mltp/mltp.h>
#include <mltp/sim.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/internal/process.h"
#include "core/memory/descriptor.h"

static long number;

static void found(long size, int error) {
  printf("%ld %s\n", size, error != 0 ? strerrorname_np(error) : "-");
}

static void need(int error) {
  if (error == 0) return;
  fprintf(stderr, "probe: %s\n", strerror(error));
  exit(2);
}

/* What the process may still take: in all, or of the heap and anonymous memory. */
static void limit(int what, size_t bytes) {
  struct rlimit now;
  getrlimit(what, &now);
  now.rlim_cur = bytes;
  setrlimit(what, &now);
}

static size_t address_space(void) {
  size_t pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%zu", &pages) != 1) exit(2);
  fclose(f);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The first size that fails, of those below `most`: try() fails for all from it on. */
static void search(long most, int (*try)(long size), int wanted) {
  long good = 1, bad = most;
  if (try(bad) != wanted) exit(3);
  while (bad - good > 1) {
    long middle = good + (bad - good) / 2;
    if (try(middle) == wanted)
      bad = middle;
    else
      good = middle;
  }
  found(good, wanted);
}

/* ---- stacks */

static void stack_space(void) {
  size_t left = mti_stacks_left(), all = 1;
  while (all < left) all *= 2; /* the runtime has taken a few */
  found((long)all, 0);
}

static void *wait_for_ever(void *arg) {
  mltp_sem_t never = MLTP_SEM_INIT(0);
  mltp_sem_wait(&never);
  return arg;
}

static void *begin(void *arg) {
  printf("began\n");
  fflush(stdout);
  return wait_for_ever(arg);
}

/* All begin that can, and the main thread joins the last. */
static void stacks(void) {
  mltp_t *last;
  for (long i = 0; i < number; i++) need(mltp_create(&last, NULL, begin, NULL));
  mltp_join(last, NULL);
}

static int stack_of(long size) {
  mltp_t *thread;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.stack_size = (size_t)size;
  int error = mltp_create(&thread, &attr, wait_for_ever, NULL);
  if (error == 0) mltp_detach(thread);
  return error;
}

static void stack_size(void) { search(1L << 40, stack_of, EINVAL); }

static void guards(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.detached = 1;
  for (long i = 0; i < number; i++) need(mltp_create(NULL, &attr, wait_for_ever, NULL));
  mltp_yield(); /* all begin */
  found(number, 0);
}

/* ---- threads */

/* Their number is a constant: as many would need more memory than machines have. */
static void descriptors(void) {
  int error = 0;
  mltp_t *thread;
  limit(RLIMIT_AS, address_space() + (64 << 20));
  while ((error = mltp_create(&thread, NULL, wait_for_ever, NULL)) == 0) {
  }
  found((long)MT_SLAB_PER_CHUNK * MT_SLAB_CHUNKS_MAX, error);
}

static void bound(void) {
  int error = 0;
  mltp_t *thread;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.bound = 1;
  limit(RLIMIT_AS, address_space() + (64 << 20));
  while ((error = mltp_create(&thread, &attr, wait_for_ever, NULL)) == 0) {
  }
  found(0, error);
}

static void keys(void) {
  mltp_tss_t key;
  long count = 0;
  int error;
  while ((error = mltp_tss_create(&key, NULL)) == 0) count++;
  found(count, error);
}

/* ---- VPs */

static int vps_of(long count) { return mltp_set_vps((int)count); }

static void vps(void) { search(1 << 20, vps_of, EINVAL); }

static atomic_int blocked, released;

static void *block(void *arg) {
  mltp_blocking_begin();
  atomic_fetch_add(&blocked, 1);
  while (!atomic_load(&released)) usleep(10000);
  mltp_blocking_end();
  return arg;
}

/* Prints how many threads block when their number no longer changes, and lets them continue. It is
 * no thread of the library's, so it has a CPU when all VPs block. */
static void *release(void *arg) {
  enum { UNCHANGED = 20 };
  int before = 0;
  for (int unchanged = 0; unchanged < UNCHANGED; usleep(50000)) {
    const int now = atomic_load(&blocked);
    unchanged = now == before && now != 0 ? unchanged + 1 : 0;
    before = now;
  }
  found(before, 0);
  atomic_store(&released, 1);
  return arg;
}

/* More threads block in the kernel than there can be VPs, and all end. */
static void blocking(void) {
  pthread_t releaser;
  mltp_t **threads = calloc((size_t)number, sizeof *threads);
  need(pthread_create(&releaser, NULL, release, NULL));
  for (long i = 0; i < number; i++) need(mltp_create(&threads[i], NULL, block, NULL));
  for (long i = 0; i < number; i++) need(mltp_join(threads[i], NULL));
  need(pthread_join(releaser, NULL));
  free(threads);
}

static mltp_lock_t lock;

static void *take(void *arg) {
  mltp_lock(&lock);
  mltp_unlock(&lock);
  return arg;
}

/* @return how many threads block a VP, as a dump says. */
static long blocking_threads(void) {
  long blocks = 0;
  char line[512];
  FILE *file = tmpfile();
  mltp_dump(fileno(file));
  rewind(file);
  while (fgets(line, sizeof line, file) != NULL) blocks += strstr(line, "blocks VP") != NULL;
  fclose(file);
  return blocks;
}

/* How many waiters of the lock block a VP each, when their number no longer changes; all get it. */
static void semaphore(void) {
  enum { UNCHANGED = 10, NAP = 50000000 };
  long blocks = 0;
  mltp_t **threads = calloc((size_t)number, sizeof *threads);
  mltp_lock_init(&lock, MLTP_LOCK_SEMAPHORE, NULL);
  mltp_lock(&lock);
  for (long i = 0; i < number; i++) need(mltp_create(&threads[i], NULL, take, NULL));
  for (int unchanged = 0; unchanged < UNCHANGED;) {
    mltp_sleep(NAP);
    const long now = blocking_threads();
    unchanged = now == blocks && now != 0 ? unchanged + 1 : 0;
    blocks = now;
  }
  mltp_unlock(&lock);
  for (long i = 0; i < number; i++) need(mltp_join(threads[i], NULL));
  found(blocks, 0);
  free(threads);
}

/* ---- simulation */

static void nest(void *arg) {
  const mltp_sim_child_t child = {nest, arg, "inner"};
  mltp_sim_par(&child, 1);
}

static void nested(void) { found(mltp_sim_run(nest, NULL), 0); }

static const struct {
  const char *name;
  void (*meet)(void);
} limits[] = {
    {"stack_space", stack_space},
    {"stacks", stacks},
    {"stack_size", stack_size},
    {"guards", guards},
    {"descriptors", descriptors},
    {"bound", bound},
    {"keys", keys},
    {"vps", vps},
    {"blocking", blocking},
    {"semaphore", semaphore},
    {"nested", nested},
};

int main(int argc, char **argv) {
  number = argc > 2 ? atol(argv[2]) : 0;
  for (size_t i = 0; argc > 1 && i < sizeof limits / sizeof *limits; i++)
    if (strcmp(argv[1], limits[i].name) == 0) {
      need(mltp_init(0));
      limits[i].meet();
      fflush(stdout);
      _exit(0); /* threads that wait indefinitely */
    }
  fprintf(stderr, "usage: probe LIMIT [NUMBER]\n");
  return 2;
}
