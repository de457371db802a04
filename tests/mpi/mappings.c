/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks have one address space: a mapping at a fixed address does not replace another rank's. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { PAGE = 4096, PAGES = 8 };

/* Nothing is mapped there at the start, and sanitizers keep nothing there. */
static char *const fixed = (char *)0x567000000000;

static char *map_at(char *at, int pages) {
  return mmap(at, (size_t)pages * PAGE, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static int is_refused(char *at, int pages) {
  errno = 0;
  return map_at(at, pages) == MAP_FAILED && errno == EEXIST;
}

/* Each maps pages of its own, again and again; then each tries what its neighbour has. */
static void others_keep_theirs(int rank, int size) {
  char *own = fixed + (size_t)rank * PAGES * PAGE;
  char *next = fixed + (size_t)((rank + 1) % size) * PAGES * PAGE;
  for (int round = 0; round < 3; round++) {
    CHECK(map_at(own, PAGES) == own && own[PAGE] == 0);
    own[PAGE] = (char)(rank + 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(is_refused(next, PAGES) && is_refused(next + PAGE, 1) && is_refused(next - PAGE, 2));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(own[PAGE] == rank + 1);
}

/* Pages that their rank has given up are free, the ones around them are not. */
static void holes_are_free(int rank) {
  CHECK(rank != 0 || munmap(fixed + (size_t)2 * PAGE, (size_t)2 * PAGE) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    char *hole = fixed + (size_t)2 * PAGE;
    CHECK(is_refused(hole, 3) && is_refused(hole - PAGE, 2) && is_refused(fixed, PAGES));
    CHECK(map_at(hole, 2) == hole);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 0 || is_refused(fixed + (size_t)3 * PAGE, 1));
  MPI_Barrier(MPI_COMM_WORLD);
}

/* What a rank has reserved is its own, as allocators use it. */
static void own_reservations_work(void) {
  char *room = mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < PAGES; i += 2) {
    char *part = room + (size_t)i * PAGE;
    CHECK(map_at(part, 1) == part);
    *part = 1;
  }
  CHECK(munmap(room, (size_t)PAGES * PAGE) == 0);
  MPI_Barrier(MPI_COMM_WORLD); /* the kernel may give the addresses to another rank */
}

/* A mapping that moves leaves its place. */
static void moved_ones_leave(int rank) {
  char *at = fixed + (size_t)1000 * PAGES * PAGE;
  if (rank == 0) {
    CHECK(map_at(at, 1) == at);
    CHECK(mremap(at, PAGE, (size_t)PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + (1 << 24)) ==
          at + (1 << 24));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 1 || map_at(at, 1) == at);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A mapping that shrinks where it is leaves its end to others. */
static void shrunk_ones_leave_their_end(int rank) {
  char *at = fixed + (size_t)1500 * PAGES * PAGE;
  if (rank == 0)
    CHECK(map_at(at, 3) == at && mremap(at, (size_t)3 * PAGE, PAGE, MREMAP_MAYMOVE) == at);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 1 || (is_refused(at, 2) && map_at(at + PAGE, 2) == at + PAGE));
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A mapping is not moved onto another rank's. Its new place is its rank's, and so is its old one if
 * it stays. */
static void moves_onto_others_fail(int rank) {
  enum { FLAGS = MREMAP_MAYMOVE | MREMAP_FIXED };
  char *at = fixed + (size_t)2000 * PAGES * PAGE, *to = at + (1 << 24), *stays = at + (2 << 24),
       *own;
  if (rank == 0) {
    CHECK(map_at(at, 2) == at && map_at(stays, 1) == stays);
    at[PAGE] = 1;
    CHECK(mremap(stays, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL) != MAP_FAILED);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *own = 2;
    errno = 0;
    CHECK(mremap(own, PAGE, PAGE, FLAGS, at + PAGE) == MAP_FAILED && errno == EEXIST && *own == 2);
    CHECK(mremap(own, PAGE, PAGE, FLAGS, at + 1) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(own, PAGE, PAGE, FLAGS, to) == to && *to == 2 && is_refused(stays, 1));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    CHECK(at[PAGE] == 1 && is_refused(to, 1));
    CHECK(mremap(at, PAGE, PAGE, FLAGS, at + PAGE) == at + PAGE && at[PAGE] == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A page of which a part is asked for is the rank's, and the next one is not. */
static void parts_of_pages_are_pages(int rank) {
  char *at = fixed + (size_t)6000 * PAGES * PAGE;
  if (rank == 0)
    CHECK(mmap(at, PAGE + 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 1 || (is_refused(at + PAGE, 1) && map_at(at + (size_t)2 * PAGE, 1) != MAP_FAILED));
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Maps a guard of its own at the end of its stack, as interpreters of Java do. */
static void *guard_stack(void *result) {
  pthread_attr_t attributes;
  void *low;
  size_t size;
  CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
  CHECK(pthread_attr_getstack(&attributes, &low, &size) == 0);
  pthread_attr_destroy(&attributes);
  *(char **)result = map_at(low, 1);
  return NULL;
}

/* libc keeps the stack of a thread that has ended, and gives it to a thread of another rank. */
static void stacks_are_used_again(int rank, int size) {
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, (size_t)(256 + 3 * PAGES) * PAGE) == 0);
  for (int turn = 0; turn < 2 * size; turn++) {
    if (turn % size == rank) {
      pthread_t thread;
      char *guard;
      CHECK(pthread_create(&thread, &attributes, guard_stack, &guard) == 0);
      CHECK(pthread_join(thread, NULL) == 0);
      CHECK(guard != MAP_FAILED);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  pthread_attr_destroy(&attributes);
}

/* libc unmaps memory itself, and the kernel gives the address to a mapping of another rank. */
static void addresses_come_again(int rank) {
  char *room = NULL;
  if (rank == 0) {
    room = mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED && map_at(room + PAGE, 2) == room + PAGE);
    CHECK(syscall(SYS_munmap, room, (size_t)PAGES * PAGE) == 0);
  }
  MPI_Bcast(&room, 1, MPI_AINT, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    char *at = mmap(room, (size_t)PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED && map_at(at, PAGES) == at && munmap(at, (size_t)PAGES * PAGE) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* @return a segment that nobody has attached, and that ends with the last attachment. */
static int make_segment(char *at, int pages) {
  int id = shmget(IPC_PRIVATE, (size_t)pages * PAGE, IPC_CREAT | 0600);
  CHECK(id >= 0 && shmat(id, at, SHM_REMAP) == at && shmctl(id, IPC_RMID, NULL) == 0);
  return id;
}

static int segment_is_refused(int id, char *at, int flags) {
  errno = 0;
  return shmat(id, at, flags) == (void *)-1 && errno == EINVAL;
}

/* A segment does not replace another rank's mapping, nor is it replaced. It leaves its place. */
static void segments_are_mappings(int rank) {
  char *at = fixed + (size_t)7000 * PAGES * PAGE, *own = at + (1 << 24);
  if (rank == 0) {
    CHECK(map_at(at, 2) == at);
    at[0] = at[PAGE] = 1;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    int id = make_segment(own, 2);
    *own = 2;
    CHECK(segment_is_refused(id, at, SHM_REMAP) && segment_is_refused(id, at - PAGE, SHM_REMAP));
    CHECK(segment_is_refused(id, at + PAGE + 1, SHM_REMAP | SHM_RND));
    CHECK(segment_is_refused(id, at, 0) && segment_is_refused(id, own + 1, SHM_REMAP));
    CHECK(shmat(id, own + PAGE, SHM_REMAP) == own + PAGE && own[PAGE] == 2);
    char *free_one = shmat(id, NULL, 0);
    CHECK(free_one != (void *)-1 && *free_one == 2 && shmdt(free_one) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    CHECK(at[0] == 1 && at[PAGE] == 1 && is_refused(own, 1) &&
          is_refused(own + (size_t)2 * PAGE, 1));
    CHECK(!is_refused(own + (size_t)3 * PAGE, 1));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    CHECK(shmdt(own + PAGE) == 0 && shmdt(own) == 0 && shmdt(own) == -1 && errno == EINVAL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 0 || map_at(own, 3) == own);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void bad_calls_fail(void) {
  errno = 0;
  CHECK(map_at(fixed + 1, 1) == MAP_FAILED && errno == EINVAL);
  errno = 0;
  CHECK(map_at(fixed, 0) == MAP_FAILED && errno == EINVAL);
  CHECK(munmap(fixed + 1, PAGE) == -1 && errno == EINVAL);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  others_keep_theirs(rank, size);
  holes_are_free(rank);
  for (int i = 0; i < 100; i++) own_reservations_work();
  moved_ones_leave(rank);
  shrunk_ones_leave_their_end(rank);
  moves_onto_others_fail(rank);
  parts_of_pages_are_pages(rank);
  stacks_are_used_again(rank, size);
  addresses_come_again(rank);
  segments_are_mappings(rank);
  bad_calls_fail();
  MPI_Finalize();
  return 0;
}
