/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is freed gives its memory back: many rounds that make and free an object take no more memory
 * than few.
 */
#define _GNU_SOURCE /* mallinfo2() */
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { TIMES = 4, ROUNDS = 500, MANY = 40, LEAST = 24 }; /* bytes: the smallest block of libc's */

static int rank, size;

static void types(void) {
  MPI_Datatype vector, indexed, record, resized;
  MPI_Type_vector(3, 2, 5, MPI_INT, &vector);
  MPI_Type_set_name(vector, "vector");
  MPI_Type_indexed(3, (int[]){1, 2, 3}, (int[]){0, 4, 9}, MPI_DOUBLE, &indexed);
  MPI_Type_create_struct(3, (int[]){1, 2, 1}, (MPI_Aint[]){0, 64, 512},
                         (MPI_Datatype[]){MPI_CHAR, vector, indexed}, &record);
  MPI_Type_create_resized(record, 0, 1024, &resized);
  MPI_Type_commit(&resized);
  MPI_Type_free(&vector);
  MPI_Type_free(&indexed);
  MPI_Type_free(&record);
  MPI_Type_free(&resized);
}

static void topologies(void) {
  MPI_Comm made;
  int index[8], edges[16], next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int i = 0; i < size; i++) {
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + 1) % size;
    edges[2 * i + 1] = (i + size - 1) % size;
  }
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &made);
  MPI_Comm_free(&made);
  MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, size / 2}, (int[]){0, 1}, 0, &made);
  MPI_Comm_free(&made);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, (int[]){3}, 1, &next, (int[]){4},
                                 MPI_INFO_NULL, 0, &made);
  MPI_Comm_free(&made);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[]){2}, (int[]){next, last}, (int[]){5, 6},
                        MPI_INFO_NULL, 0, &made);
  MPI_Comm_free(&made);
}

static void communicators(void) {
  MPI_Comm copy, half, between;
  MPI_Group all, some, others;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, "copy");
  MPI_Comm_split(copy, rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, copy, 1 - rank % 2, 0, &between);
  MPI_Comm_group(copy, &all);
  MPI_Group_incl(all, 2, (int[]){1, 0}, &some);
  MPI_Group_difference(all, some, &others);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  MPI_Group_free(&others);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void small_objects(void) {
  MPI_Info info, copy;
  MPI_Op op;
  int key;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_dup(info, &copy);
  MPI_Info_free(&copy);
  MPI_Info_free(&info);
  MPI_Op_create(add, 1, &op);
  MPI_Op_free(&op);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &rank);
  MPI_Comm_delete_attr(MPI_COMM_SELF, key);
  MPI_Comm_free_keyval(&key);
}

static void windows(void) {
  static int values[4];
  MPI_Win made;
  int *memory;
  MPI_Win_create(values, sizeof values, sizeof *values, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
  MPI_Win_set_name(made, "window");
  MPI_Win_fence(0, made);
  MPI_Put(&rank, 1, MPI_INT, 0, rank % 4, 1, MPI_INT, made);
  MPI_Win_fence(0, made);
  MPI_Win_free(&made);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &made);
  MPI_Win_free(&made);
}

static void requests(void) {
  MPI_Request two[2], many[2 * MANY];
  int values[MANY], to = (rank + 1) % size, from = (rank + size - 1) % size, got, sum;
  MPI_Send_init(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &two[0]);
  MPI_Recv_init(&got, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &two[1]);
  MPI_Startall(2, two);
  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  CHECK(got == from);
  MPI_Request_free(&two[0]);
  MPI_Request_free(&two[1]);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &two[0]);
  MPI_Ibarrier(MPI_COMM_WORLD, &two[1]);
  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  CHECK(sum == size * (size - 1) / 2);
  for (int i = 0; i < MANY; i++) {
    MPI_Irecv(&values[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &many[i]);
    MPI_Isend(&rank, 1, MPI_INT, to, i, MPI_COMM_WORLD, &many[MANY + i]);
  }
  MPI_Waitall(2 * MANY, many, MPI_STATUSES_IGNORE);
}

static char script[] = "/tmp/released-XXXXXX"; /* of an interpreter that is this program */

/* It may not be run, so nothing starts. */
static void refused_spawns(void) {
  MPI_Comm made;
  if (rank != 0) return;
  EXPECT(MPI_ERR_SPAWN, MPI_Comm_spawn(script, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                       &made, MPI_ERRCODES_IGNORE));
}

static void write_script(const char *program) {
  char path[PATH_MAX];
  int fd = mkstemp(script);
  CHECK(fd >= 0 && realpath(program, path) != NULL);
  CHECK(dprintf(fd, "#!%s\n", path) > 0 && fchmod(fd, S_IRUSR) == 0 && close(fd) == 0);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static size_t in_use(void) {
  size_t bytes = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) bytes = mallinfo2().uordblks;
  MPI_Barrier(MPI_COMM_WORLD);
  return bytes;
}

/* One block that one rank keeps in each round is found. The test runs without the cache of libc's
 * that each kernel thread has: on a busy machine ranks come to ever more VPs, whose caches fill. */
static void check(const char *name, void (*round)(void)) {
  size_t before, after = 0, allowed = (size_t)LEAST * ROUNDS;
  for (int time = 0; time < TIMES; time++) {
    before = in_use();
    for (int i = 0; i < ROUNDS; i++) round();
    after = in_use();
    MPI_Bcast(&before, sizeof before, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(&after, sizeof after, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (after <= before + allowed) return;
  }
  if (rank == 0)
    fprintf(stderr, "%s: %zu bytes more after %d rounds\n", name, after - before, (int)ROUNDS);
  CHECK(after <= before + allowed);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  /* a sanitizer's allocator does not count for mallinfo2(), and finds what is kept by itself */
  if (dlsym(RTLD_DEFAULT, "__asan_init") == NULL && dlsym(RTLD_DEFAULT, "__tsan_init") == NULL) {
    check("types", types);
    check("topologies", topologies);
    check("communicators", communicators);
    check("small objects", small_objects);
    check("windows", windows);
    check("requests", requests);
    write_script(argv[0]);
    check("refused spawns", refused_spawns);
    CHECK(unlink(script) == 0);
  }
  MPI_Finalize();
  return 0;
}
