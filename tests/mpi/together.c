/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ranks that compute until the other one does, too, and make no call in which another rank
 * could run: they have to run on two VPs. "early": before MPI_Init(). "crash": the one on the
 * second VP crashes, while the first computes indefinitely.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/* Of the process, for ranks that have no MPI yet to share anything by. */
static int *shared_word(char *name, size_t size) {
  snprintf(name, size, "/together-%d", (int)getpid());
  int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
  void *word = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, sizeof(int)) == 0)
    word = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (word != MAP_FAILED) return word;
  perror("together: shm_open");
  exit(1);
}

static void crash_on_second_vp(void) {
  char name[32];
  int none = 0, *first = shared_word(name, sizeof name);
  static int *volatile nowhere;
  if (__atomic_compare_exchange_n(first, &none, 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    for (;;) __asm__ volatile("");
  shm_unlink(name);
  *nowhere = 1;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "crash") == 0) crash_on_second_vp();
  int size, early = argc > 1 && strcmp(argv[1], "early") == 0;
  char name[32];
  if (!early) check_start(&argc, &argv, &size);
  int *here = shared_word(name, sizeof name);
  __atomic_add_fetch(here, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(here, __ATOMIC_RELAXED) < 2) continue;
  shm_unlink(name); /* the other one may have done it */
  if (early) check_start(&argc, &argv, &size);
  CHECK(size == 2);
  MPI_Finalize();
  return 0;
}
