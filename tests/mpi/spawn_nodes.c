/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that ranks of several nodes spawn: where they are, when they are refused, how such a job
 * ends. Nodes are processes, so the number of its process tells the node of a rank. The first
 * argument says what a parent does, or a child.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { PLACE = 1 /* the tag of: */, MOST = 8 };

/* What a child tells the first parent. */
struct place {
  int process, local_rank, local_size, node_size;
};

static int rank, size;
static char *self;
static int processes[MOST]; /* of the first world */

/* ---- spawning */

static MPI_Info on_host(const char *host) {
  MPI_Info info;
  if (host == NULL) return MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "host", host);
  return info;
}

/* @return what MPI_Comm_spawn() does. host NULL: any. */
static int try_spawn(const char *how, int count, const char *host, MPI_Comm comm, MPI_Comm *inter) {
  char word[32], *argv[] = {word, NULL};
  int codes[MOST];
  MPI_Info info = on_host(host);
  snprintf(word, sizeof word, "%s", how);
  int error = MPI_Comm_spawn(self, argv, count, info, 0, comm, inter, codes);
  for (int i = 0; i < count; i++) CHECK(codes[i] == error);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return error;
}

static struct place place_of(MPI_Comm inter, int child) {
  struct place place;
  MPI_Recv(&place, 4, MPI_INT, child, PLACE, inter, MPI_STATUS_IGNORE);
  return place;
}

/* The children of one spawn by the calling rank are on these nodes. */
static void spawn_on(int count, const char *host, const int *nodes) {
  MPI_Comm inter;
  CHECK(try_spawn("placed", count, host, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
  for (int i = 0; i < count; i++) {
    struct place place = place_of(inter, i);
    int before = 0, all = 0;
    for (int k = 0; k < count; k++) {
      all += nodes[k] == nodes[i];
      before += k < i && nodes[k] == nodes[i];
    }
    CHECK(place.process == processes[nodes[i]]);
    CHECK(place.local_rank == before && place.local_size == all && place.node_size == all);
  }
  MPI_Comm_disconnect(&inter);
}

/* ---- what parents do */

/* Of two nodes with a rank each: a new rank goes where fewer are. */
static void check_places(void) {
  char host[256];
  gethostname(host, sizeof host);
  if (rank == 1) {
    spawn_on(3, NULL, (const int[]){0, 1, 1});
    spawn_on(1, NULL, (const int[]){0});
    spawn_on(2, "localhost", (const int[]){1, 1});
    spawn_on(3, host, (const int[]){0, 0, 1});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) spawn_on(4, NULL, (const int[]){0, 0, 0, 1});
  if (rank == 0) puts("right");
}

/* What a node has prepared for a spawn that another node refuses is given back: the arguments of a
 * rank are kept until it starts. */
static void refuse_often(void) {
  enum { FIRST = 10, TIMES = 60, LENGTH = 100000 };
  static char how[] = "placed", text[LENGTH + 1], *argv[] = {how, text, NULL};
  size_t before = 0;
  MPI_Comm inter;
  memset(text, 'x', LENGTH);
  for (int i = 0; i < TIMES; i++) {
    struct mallinfo2 memory = mallinfo2();
    size_t now = memory.uordblks + memory.hblkhd;
    if (i == FIRST) before = now;
    CHECK(i < FIRST || now < before + (size_t)(TIMES - FIRST) * LENGTH / 2);
    EXPECT(MPI_ERR_SPAWN, MPI_Comm_spawn(self, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                                         MPI_ERRCODES_IGNORE));
  }
}

/* A node's part of a spawn cannot be started, so none is, and the numbers are given again. */
static void check_refused(void) {
  MPI_Comm inter;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < 2; i++) {
    CHECK(try_spawn("placed", 2, NULL, MPI_COMM_SELF, &inter) == MPI_ERR_SPAWN);
    CHECK(inter == MPI_COMM_NULL);
  }
  if (rank == 0) refuse_often();
  if (rank == 0) spawn_on(1, "localhost", (const int[]){0});
  CHECK(rank != 0 || try_spawn("placed", 2, NULL, MPI_COMM_SELF, &inter) == MPI_ERR_SPAWN);
  if (rank == 0) puts("right");
}

/* Only rank 1 has a folder of this name. Its node has made copies of ranks 3 and 4 when node 0
 * refuses, and then rank 2 is there. */
static void check_refused_elsewhere(void) {
  enum { NUMBER = 500 };
  char name[64];
  MPI_Comm inter;
  MPI_Info info;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 1) {
    snprintf(name, sizeof name, "/proc/self/fd/%d",
             fcntl(open("/", O_RDONLY | O_DIRECTORY), F_DUPFD, NUMBER));
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", name);
    EXPECT(MPI_ERR_SPAWN, MPI_Comm_spawn(self, MPI_ARGV_NULL, 3, info, 0, MPI_COMM_SELF, &inter,
                                         MPI_ERRCODES_IGNORE));
    MPI_Info_free(&info);
    spawn_on(1, "localhost", (const int[]){1});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("right");
}

static void check_no_room(void) {
  MPI_Comm inter;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(try_spawn("placed", 2, NULL, MPI_COMM_WORLD, &inter) == MPI_ERR_SPAWN);
  if (rank == 0) puts("right");
}

/* Two nodes spawn at once, again and again, and all arguments of a long command arrive. */
static void check_at_once(void) {
  enum { TIMES = 10, WORDS = 2000, LENGTH = 100 };
  static char text[WORDS][LENGTH + 1], how[] = "long", *argv[WORDS + 2] = {how};
  for (int i = 0; i < WORDS; i++) {
    memset(text[i], 'a' + i % 26, LENGTH);
    argv[i + 1] = text[i];
  }
  for (int i = 0; i < TIMES; i++) {
    MPI_Comm inter, all;
    int sum, members, one = 1;
    MPI_Comm_spawn(self, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, 0, &all);
    MPI_Comm_size(all, &members);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(members == 3 && sum == 3);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("right");
}

/* A node whose ranks have ended gets no others. The first world ends; a child on node 1 is left. */
static void leave_child(void) {
  MPI_Comm inter;
  if (rank != 1) return;
  CHECK(try_spawn("left", 1, "localhost", MPI_COMM_SELF, &inter) == MPI_SUCCESS);
  MPI_Comm_disconnect(&inter);
}

static void spawn_for_end(const char *how) {
  MPI_Comm inter;
  CHECK(try_spawn(how, 2, NULL, MPI_COMM_WORLD, &inter) == MPI_SUCCESS);
  if (strcmp(how, "wait") == 0) MPI_Barrier(inter);
}

/* ---- what children do */

static int variable(const char *name) {
  const char *text = getenv(name);
  CHECK(text != NULL);
  return atoi(text);
}

static void be_placed(MPI_Comm parent) {
  struct place own = {getpid(), variable("OMPI_COMM_WORLD_LOCAL_RANK"),
                      variable("OMPI_COMM_WORLD_LOCAL_SIZE"), 0};
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &own.node_size);
  MPI_Comm_free(&node);
  MPI_Send(&own, 4, MPI_INT, 0, PLACE, parent);
  MPI_Comm_disconnect(&parent);
}

static void be_long(int argc, char **argv, MPI_Comm parent) {
  MPI_Comm all;
  int sum, one = 1;
  CHECK(argc == 2002);
  for (int i = 2; i < argc; i++)
    CHECK(strlen(argv[i]) == 100 && argv[i][0] == 'a' + (i - 2) % 26 && argv[i][99] == argv[i][0]);
  MPI_Intercomm_merge(parent, 1, &all);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
  CHECK(sum == 3);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&parent);
}

/* Spawns one rank after the other, until one that node 0 should have got is here. */
static void be_left(MPI_Comm parent) {
  int other = 1, own = 2, ended = 0;
  MPI_Comm_disconnect(&parent);
  while (!ended) {
    MPI_Comm inter;
    int wanted = other < own;
    CHECK(try_spawn("placed", 1, wanted ? NULL : "localhost", MPI_COMM_SELF, &inter) ==
          MPI_SUCCESS);
    int here = place_of(inter, 0).process == getpid();
    ended = wanted && here;
    own += here;
    other += !here;
    MPI_Comm_disconnect(&inter);
    usleep(10000);
  }
  puts("right");
}

static void be_child(int argc, char **argv, MPI_Comm parent) {
  const char *how = argv[1];
  int value;
  if (strcmp(how, "placed") == 0) be_placed(parent);
  if (strcmp(how, "long") == 0) be_long(argc, argv, parent);
  if (strcmp(how, "left") == 0) be_left(parent);
  if (strcmp(how, "wait") == 0) MPI_Recv(&value, 1, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE);
  if (strcmp(how, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
  MPI_Finalize();
  exit(strcmp(how, "status") == 0 && rank == 1 ? 3 : 0);
}

int main(int argc, char **argv) {
  MPI_Comm parent;
  self = argv[0];
  rank = check_start(&argc, &argv, &size);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) be_child(argc, argv, parent);
  const char *what = argc > 1 ? argv[1] : "places";
  int own = getpid();
  CHECK(size <= MOST);
  MPI_Allgather(&own, 1, MPI_INT, processes, 1, MPI_INT, MPI_COMM_WORLD);
  if (strcmp(what, "places") == 0)
    check_places();
  else if (strcmp(what, "refused") == 0)
    check_refused();
  else if (strcmp(what, "refused_elsewhere") == 0)
    check_refused_elsewhere();
  else if (strcmp(what, "no_room") == 0)
    check_no_room();
  else if (strcmp(what, "at_once") == 0)
    check_at_once();
  else if (strcmp(what, "left") == 0)
    leave_child();
  else
    spawn_for_end(what);
  MPI_Finalize();
  return 0;
}
