/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that ranks spawn. The program spawns itself: the first argument says what a child does.
 * spawn.py runs the other forms, which end the job.
 */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { CHILDREN = 3, MANY = 40 };

static int rank, size;
static int global = 7; /* each rank's own, also of one that comes later */
static char *self;

static MPI_Comm spawn(const char *how, int count, MPI_Info info, int root, MPI_Comm comm) {
  char word[32], *argv[] = {word, NULL};
  int codes[MANY];
  MPI_Comm inter;
  snprintf(word, sizeof word, "%s", how);
  memset(codes, -1, sizeof codes);
  CHECK(MPI_Comm_spawn(self, argv, count, info, root, comm, &inter, codes) == MPI_SUCCESS);
  for (int i = 0; i < count; i++) CHECK(codes[i] == MPI_SUCCESS);
  return inter;
}

/* Both sides: collectives of the intercommunicator and of the merged one, a window. */
static void check_together(MPI_Comm inter, int high) {
  int remote, local, flag, all_rank, all_size, value = 0, sum = 0, *shared;
  MPI_Comm all;
  MPI_Win win;
  MPI_Comm_size(inter, &local);
  MPI_Comm_remote_size(inter, &remote);
  CHECK(MPI_Comm_test_inter(inter, &flag) == MPI_SUCCESS && flag);
  value = high ? 10 : 1;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == remote * (high ? 1 : 10));
  CHECK(MPI_Intercomm_merge(inter, high, &all) == MPI_SUCCESS);
  MPI_Comm_rank(all, &all_rank);
  MPI_Comm_size(all, &all_size);
  CHECK(all_size == local + remote);
  CHECK(all_rank == (high ? remote + rank : rank));
  MPI_Scan(&all_rank, &sum, 1, MPI_INT, MPI_SUM, all);
  CHECK(sum == all_rank * (all_rank + 1) / 2);
  MPI_Win_allocate(sizeof *shared, sizeof *shared, MPI_INFO_NULL, all, (void *)&shared, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&all_rank, 1, MPI_INT, (all_rank + 1) % all_size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(*shared == (all_rank + all_size - 1) % all_size);
  MPI_Win_free(&win);
  MPI_Comm_free(&all);
}

static void check_messages(MPI_Comm inter, int is_child) {
  int remote, value;
  MPI_Comm_remote_size(inter, &remote);
  MPI_Status status;
  for (int i = 0; i < remote; i++) {
    value = 100 * rank + i;
    MPI_Send(&value, 1, MPI_INT, i, is_child, inter);
  }
  for (int i = 0; i < remote; i++) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1 - is_child, inter, &status);
    CHECK(value == 100 * status.MPI_SOURCE + rank);
  }
}

/* ---- what children do */

static int appnum(void) {
  int *number, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, (void *)&number, &flag);
  CHECK(flag);
  return *number;
}

static void check_environment(void) {
  char expected[16];
  snprintf(expected, sizeof expected, "%d", rank);
  CHECK(getenv("PMI_RANK") != NULL && strcmp(getenv("PMI_RANK"), expected) == 0);
  snprintf(expected, sizeof expected, "%d", size);
  CHECK(strcmp(getenv("OMPI_COMM_WORLD_SIZE"), expected) == 0);
}

/* A child tells the parents its port, and they connect to it. */
static void child_ports(MPI_Comm parent) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm other;
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, sizeof port, MPI_CHAR, 0, 5, parent);
  }
  CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other) == MPI_SUCCESS);
  check_together(other, 1);
  MPI_Comm_disconnect(&other);
  if (rank == 0) MPI_Close_port(port);
}

static void child_named(MPI_Comm parent) {
  char name[MPI_MAX_OBJECT_NAME], group_name[] = "mpi://WORLD";
  int length, count;
  MPI_Session session;
  MPI_Group group;
  MPI_Comm_get_name(parent, name, &length);
  CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, group_name, &group);
  MPI_Group_size(group, &count);
  CHECK(count == size);
  MPI_Group_rank(group, &count);
  CHECK(count == rank);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}

static void child_info(void) {
  char folder[256];
  CHECK(getcwd(folder, sizeof folder) != NULL && strcmp(folder, "/") == 0);
  EXPECT(MPI_ERR_RANK, MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_WORLD)); /* it returns */
}

/* argv: the program, how, more. */
static void be_child(int argc, char **argv, MPI_Comm parent) {
  const char *how = argc > 1 ? argv[1] : "";
  MPI_Comm again;
  CHECK(global == 7);
  global = rank;
  check_environment();
  if (strcmp(how, "messages") == 0) check_messages(parent, 1);
  if (strcmp(how, "named") == 0) child_named(parent);
  if (strcmp(how, "info") == 0) child_info();
  if (strcmp(how, "folders") == 0) CHECK(chdir("/tmp") == 0 && chdir("/") == 0);
  if (strcmp(how, "ports") == 0) child_ports(parent);
  if (strcmp(how, "multiple") == 0 || appnum() > 0) { /* also if the words are lost */
    CHECK(size == 5 && appnum() == (rank < 2 ? 0 : 1));
    CHECK(argc == (rank < 2 ? 2 : 3) && (rank < 2 || strcmp(argv[2], "more words") == 0));
  }
  if (strcmp(how, "nested") == 0) {
    MPI_Comm own = spawn("", 1, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD);
    check_together(own, 0);
    MPI_Comm_disconnect(&own);
  }
  check_together(parent, 1);
  CHECK(global == rank);
  CHECK(MPI_Comm_disconnect(&parent) == MPI_SUCCESS);
  CHECK(MPI_Comm_get_parent(&again) == MPI_SUCCESS && again == MPI_COMM_NULL);
}

/* ---- what parents do */

static void end_with(MPI_Comm inter) {
  check_together(inter, 0);
  MPI_Comm_disconnect(&inter);
}

static void check_multiple(void) {
  char *commands[] = {self, self}, word[] = "multiple", more[] = "more words";
  char *first[] = {word, NULL}, *second[] = {word, more, NULL}, **argvs[] = {first, second};
  const int counts[] = {2, 3};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  int root = size - 1, codes[5], is_root = rank == root;
  MPI_Comm inter;
  CHECK(MPI_Comm_spawn_multiple(is_root ? 2 : 0, is_root ? commands : NULL, is_root ? argvs : NULL,
                                is_root ? counts : NULL, is_root ? infos : NULL, root,
                                MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
  for (int i = 0; i < 5; i++) CHECK(codes[i] == MPI_SUCCESS);
  end_with(inter);
}

static void check_info(void) {
  char host[256], path[512];
  MPI_Info info;
  MPI_Comm inter;
  MPI_Info_create(&info);
  gethostname(host, sizeof host);
  MPI_Info_set(info, "wdir", "/");
  MPI_Info_set(info, "host", host);
  MPI_Info_set(info, "soft", "1:9:2");
  MPI_Info_set(info, "mpi_initial_errhandler", "mpi_errors_return");
  MPI_Info_set(info, "unheard_of", "is ignored");
  end_with(spawn("info", CHILDREN, info, 0, MPI_COMM_WORLD));
  snprintf(path, sizeof path, "/nowhere:%.*s", (int)(strrchr(self, '/') - self), self);
  MPI_Info_free(&info);
  MPI_Info_create(&info);
  MPI_Info_set(info, "path", path);
  CHECK(MPI_Comm_spawn(strrchr(self, '/') + 1, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
  MPI_Info_free(&info);
  end_with(inter);
}

static void refused_with(const char *key, const char *value, const char *program, int count) {
  int codes[2] = {0, 0};
  MPI_Comm inter = MPI_COMM_SELF;
  MPI_Info info;
  MPI_Info_create(&info);
  if (key != NULL) MPI_Info_set(info, key, value);
  EXPECT(MPI_ERR_SPAWN, MPI_Comm_spawn(program, MPI_ARGV_NULL, count, info, 0, MPI_COMM_WORLD,
                                       &inter, count == 2 ? codes : MPI_ERRCODES_IGNORE));
  CHECK(inter == MPI_COMM_NULL);
  CHECK(count != 2 || (codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN));
  MPI_Info_free(&info);
}

static void check_refused(void) {
  enum { SPARE = 1024 }; /* tmpirun's without --spare */
  int *universe, flag;
  MPI_Comm inter, none;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, (void *)&universe, &flag);
  CHECK(flag && *universe > size);
  refused_with(NULL, NULL, self, SPARE + 1);
  refused_with(NULL, NULL, "/nowhere/program", 2);
  refused_with(NULL, NULL, "/bin/sh", 2);
  refused_with("wdir", "/nowhere", self, 2);
  refused_with("host", "another.example", self, 2);
  refused_with("arch", "pdp11", self, 2);
  refused_with("file", "settings", self, 2);
  refused_with("soft", "1,4:8:2", self, 2);
  refused_with("mpi_initial_errhandler", "mine", self, 2);
  EXPECT(MPI_ERR_ARG, MPI_Comm_spawn(self, MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                     &inter, MPI_ERRCODES_IGNORE));
  EXPECT(MPI_ERR_ROOT, MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD,
                                      &inter, MPI_ERRCODES_IGNORE));
  CHECK(MPI_Comm_get_parent(&none) == MPI_SUCCESS && none == MPI_COMM_NULL);
}

static long address_space(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f != NULL && fscanf(f, "%ld", &pages) == 1);
  fclose(f);
  return pages * 4096;
}

/* What is refused keeps no memory. malloc() may reserve 64 MB for an arena of a thread. */
static void check_forgotten(void) {
  enum { TIMES = 200, RANKS = 100000 /* some 2 MB each time */ };
  refused_with(NULL, NULL, self, RANKS);
  long before = address_space();
  for (int i = 0; i < TIMES; i++) refused_with(NULL, NULL, self, RANKS);
  if (rank == 0) CHECK(address_space() - before < 256 << 20);
}

/* A rank that has ended keeps none of the folders open that it was in. */
static void check_closed(void) {
  enum { TIMES = 10, CHILDREN_THEN = 2, OTHERS = TIMES };
  for (int i = 0; i < 2; i++)
    end_with(spawn("folders", CHILDREN_THEN, MPI_INFO_NULL, 0, MPI_COMM_WORLD));
  int before = check_count_descriptors();
  for (int i = 0; i < TIMES; i++)
    end_with(spawn("folders", CHILDREN_THEN, MPI_INFO_NULL, 0, MPI_COMM_WORLD));
  while (check_count_descriptors() > before + OTHERS)
    usleep(1000); /* the last ones end; else this hangs */
}

static void check_ports(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm other, inter = spawn("ports", CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(port, sizeof port, MPI_CHAR, 0, 5, inter, MPI_STATUS_IGNORE);
  CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other) == MPI_SUCCESS);
  end_with(other);
  end_with(inter);
}

static void be_parent(void) {
  MPI_Comm inter = spawn("messages", CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
  check_messages(inter, 0);
  end_with(inter);
  end_with(spawn("named", CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD));
  end_with(spawn("", MANY, MPI_INFO_NULL, 0, MPI_COMM_WORLD));
  end_with(spawn("nested", 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD));
  check_multiple();
  check_info();
  check_ports();
  check_refused();
  int own_rank = rank; /* all at once, each as rank 0 of a group of its own */
  rank = 0;
  for (int i = 0; i < 3; i++) end_with(spawn("", 2, MPI_INFO_NULL, 0, MPI_COMM_SELF));
  rank = own_rank;
}

/* ---- what spawn.py looks at */

static void end_badly(const char *how, MPI_Comm parent) {
  int value;
  printf("child %d\n", rank);
  if (strcmp(how, "crash") == 0 && rank == 1) *(volatile int *)NULL = 1;
  if (strcmp(how, "mpi-abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(how, "status") == 0 && rank == 1) {
    MPI_Finalize();
    exit(3);
  }
  if (strcmp(how, "wait") == 0) MPI_Recv(&value, 1, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE);
  MPI_Finalize();
  exit(0);
}

static void print_universe(void) {
  int *universe, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, (void *)&universe, &flag);
  if (rank == 0) printf("%d\n", flag ? *universe : -1);
}

int main(int argc, char **argv) {
  MPI_Comm parent;
  self = argv[0];
  rank = check_start(&argc, &argv, &size);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL && argc > 2 && strcmp(argv[2], "ends") == 0)
    end_badly(argv[1], parent);
  if (parent != MPI_COMM_NULL) {
    be_child(argc, argv, parent);
  } else if (argc > 1 && strcmp(argv[1], "measured") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_forgotten();
    check_closed();
  } else if (argc > 1 && strcmp(argv[1], "universe") == 0) {
    print_universe();
  } else if (argc > 1) {
    char ends[] = "ends", *words[] = {argv[1], ends, NULL};
    MPI_Comm_spawn(self, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent, MPI_ERRCODES_IGNORE);
    if (strcmp(argv[1], "wait") == 0) MPI_Barrier(parent);
  } else {
    be_parent();
  }
  MPI_Finalize();
  return 0;
}
