/* SPDX-License-Identifier: Apache-2.0 */
/* Ports, names of services, communicators made through them or a socket; a spawn without a
 * program. Without arguments it checks all of that; "mark" and "late" are for nodes.py. */
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

static void check_inter(MPI_Comm inter, int theirs) {
  int remote, flag, value = rank, heard = -1;
  MPI_Comm all;
  CHECK(MPI_Comm_test_inter(inter, &flag) == MPI_SUCCESS && flag);
  MPI_Comm_remote_size(inter, &remote);
  CHECK(remote == theirs);
  MPI_Intercomm_merge(inter, rank == 0, &all);
  MPI_Allreduce(&value, &heard, 1, MPI_INT, MPI_MAX, all);
  CHECK(heard == size - 1);
  MPI_Comm_free(&all);
  CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS && inter == MPI_COMM_NULL);
}

/* Rank 0 is the server, the others are one client; several rounds on one port. */
static void groups(void) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
  if (rank == 0) {
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(MPI_Publish_name("ocean", MPI_INFO_NULL, port) == MPI_SUCCESS);
    EXPECT(MPI_ERR_SERVICE, MPI_Publish_name("ocean", MPI_INFO_NULL, port));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Lookup_name("ocean", MPI_INFO_NULL, port) == MPI_SUCCESS);
  for (int i = 0; i < 3; i++) {
    if (rank == 0)
      CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter) == MPI_SUCCESS);
    else
      CHECK(MPI_Comm_connect(rank == size - 1 ? port : NULL, MPI_INFO_NULL, size - 2, half,
                             &inter) == MPI_SUCCESS);
    check_inter(inter, rank == 0 ? size - 1 : 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1)
    EXPECT(MPI_ERR_PORT, MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
  if (rank == 0) {
    CHECK(MPI_Unpublish_name("ocean", MPI_INFO_NULL, port) == MPI_SUCCESS);
    EXPECT(MPI_ERR_SERVICE, MPI_Unpublish_name("ocean", MPI_INFO_NULL, port));
    CHECK(MPI_Close_port(port) == MPI_SUCCESS);
    EXPECT(MPI_ERR_PORT, MPI_Close_port(port));
    EXPECT(MPI_ERR_NAME, MPI_Lookup_name("ocean", MPI_INFO_NULL, port));
    EXPECT(MPI_ERR_PORT, MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
  }
  MPI_Comm_free(&half);
}

/* Each port and each service is found among others. A port is no service, and the reverse. */
static void several(void) {
  enum { PORTS = 3 };
  static const char *const names[PORTS] = {"first", "second", "third"};
  char ports[PORTS][MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
  for (int i = 0; i < PORTS; i++) {
    CHECK(MPI_Open_port(MPI_INFO_NULL, ports[i]) == MPI_SUCCESS);
    CHECK(MPI_Publish_name(names[i], MPI_INFO_NULL, ports[i]) == MPI_SUCCESS);
    for (int k = 0; k < i; k++) CHECK(strcmp(ports[i], ports[k]) != 0);
  }
  EXPECT(MPI_ERR_NAME, MPI_Lookup_name(ports[1], MPI_INFO_NULL, found));
  EXPECT(MPI_ERR_PORT, MPI_Close_port(names[1]));
  EXPECT(MPI_ERR_SERVICE, MPI_Unpublish_name(names[1], MPI_INFO_NULL, ports[0]));
  EXPECT(MPI_ERR_SERVICE, MPI_Unpublish_name(ports[1], MPI_INFO_NULL, ports[1]));
  for (int i = 0; i < PORTS; i++) {
    CHECK(MPI_Lookup_name(names[i], MPI_INFO_NULL, found) == MPI_SUCCESS);
    CHECK(strcmp(found, ports[i]) == 0);
  }
  for (int i = 0; i < PORTS; i++) { /* the second one first */
    int gone = (i + 1) % PORTS;
    CHECK(MPI_Close_port(ports[gone]) == MPI_SUCCESS);
    EXPECT(MPI_ERR_PORT, MPI_Close_port(ports[gone]));
    CHECK(MPI_Lookup_name(names[gone], MPI_INFO_NULL, found) == MPI_SUCCESS);
    CHECK(MPI_Unpublish_name(names[gone], MPI_INFO_NULL, ports[gone]) == MPI_SUCCESS);
    EXPECT(MPI_ERR_NAME, MPI_Lookup_name(names[gone], MPI_INFO_NULL, found));
    for (int k = i + 1; k < PORTS; k++) {
      int there = (k + 1) % PORTS;
      CHECK(MPI_Lookup_name(names[there], MPI_INFO_NULL, found) == MPI_SUCCESS);
      CHECK(strcmp(found, ports[there]) == 0);
    }
  }
}

/* Several clients at one port, each by itself. */
static void clients(void) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm inter;
  int value = 0, sum = 0;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 1; i < (rank == 0 ? size : 2); i++) {
    if (rank == 0) {
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
      MPI_Recv(&value, 1, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
      sum += value;
    } else {
      MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
      MPI_Send(&rank, 1, MPI_INT, 0, 3, inter);
    }
    MPI_Comm_disconnect(&inter);
  }
  CHECK(rank != 0 || sum == size * (size - 1) / 2);
  if (rank == 0) MPI_Close_port(port);
}

/* A root that nobody accepts fails when its time is over, and its group with it. Its offer is gone
 * then: the root that accepts later meets the next one. */
static void limits(void) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm others, inter;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "timeout", "0.02");
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &others);
  MPI_Comm_set_errhandler(others, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) EXPECT(MPI_ERR_PORT, MPI_Comm_connect(port, info, 0, others, &inter));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Info_set(info, "timeout", "1000");
  if (rank == 0)
    CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, others, &inter) == MPI_SUCCESS);
  else
    CHECK(MPI_Comm_connect(port, info, 0, others, &inter) == MPI_SUCCESS);
  check_inter(inter, rank == 0 ? size - 1 : 1);
  if (rank == 0) MPI_Close_port(port);
  MPI_Comm_free(&others);
  MPI_Info_free(&info);
}

/* Ranks 0 and 1 have the ends of a socket: descriptors are the process's. */
static void sockets_of_one_process(void) {
  int ends[2], own;
  MPI_Comm inter;
  if (rank == 0) CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  MPI_Bcast(ends, 2, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank > 1) return;
  own = ends[rank];
  CHECK(MPI_Comm_join(own, &inter) == MPI_SUCCESS);
  CHECK(MPI_Comm_remote_size(inter, &own) == MPI_SUCCESS && own == 1);
  MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &own, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
  CHECK(own == 1 - rank);
  MPI_Comm_disconnect(&inter);
  close(ends[rank]);
}

/* @return a connection with another rank, by TCP: that may be on another node of this machine. */
static int connect_with(int other) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t bytes = sizeof name;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(fd >= 0);
  if (rank > other) {
    MPI_Recv(&name, sizeof name, MPI_BYTE, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(connect(fd, (struct sockaddr *)&name, sizeof name) == 0);
    MPI_Send(NULL, 0, MPI_BYTE, other, 5, MPI_COMM_WORLD);
    return fd;
  }
  CHECK(bind(fd, (struct sockaddr *)&name, sizeof name) == 0 && listen(fd, 1) == 0);
  CHECK(getsockname(fd, (struct sockaddr *)&name, &bytes) == 0);
  MPI_Send(&name, sizeof name, MPI_BYTE, other, 5, MPI_COMM_WORLD);
  MPI_Recv(NULL, 0, MPI_BYTE, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int accepted = accept(fd, NULL, NULL); /* it has connected */
  CHECK(accepted >= 0 && close(fd) == 0);
  return accepted;
}

/* What is written to a socket after the call is not the call's. */
static void check_quiescent(int fd) {
  char out = (char)('a' + rank), in = 0;
  CHECK(write(fd, &out, 1) == 1 && read(fd, &in, 1) == 1);
  CHECK(in == 'a' + size - 1 - rank);
}

/* Each rank of the first half joins one of the other half, all at a time. */
static void sockets(void) {
  enum { LARGE = 100000 };
  static int out[LARGE], in[LARGE];
  int other = size - 1 - rank, remote;
  MPI_Comm inter, all;
  if (rank == other) return;
  int fd = connect_with(other);
  CHECK(MPI_Comm_join(fd, &inter) == MPI_SUCCESS);
  check_quiescent(fd);
  CHECK(close(fd) == 0);
  CHECK(MPI_Comm_remote_size(inter, &remote) == MPI_SUCCESS && remote == 1);
  for (int i = 0; i < LARGE; i++) out[i] = rank + i;
  MPI_Sendrecv(out, LARGE, MPI_INT, 0, 0, in, LARGE, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
  for (int i = 0; i < LARGE; i++) CHECK(in[i] == other + i);
  MPI_Intercomm_merge(inter, rank < other, &all);
  MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, all);
  CHECK(out[0] == size - 1);
  MPI_Comm_free(&all);
  CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS && inter == MPI_COMM_NULL);
}

/* What each side of MPI_Comm_join() writes. */
struct hello {
  uint64_t job, context;
  int32_t rank, process;
};

/* A partner that is gone, that ends before its answer, or that is another job's. */
static void sockets_without_partner(void) {
  struct hello other = {.context = 1, .process = getpid()};
  int ends[2];
  MPI_Comm inter = MPI_COMM_SELF;
  for (int written = 0; written < 3; written++) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    size_t bytes = written == 2 ? sizeof other : (size_t)written;
    CHECK(write(ends[1], &other, bytes) == (ssize_t)bytes);
    CHECK(written == 0 ? close(ends[1]) == 0 : shutdown(ends[1], SHUT_WR) == 0);
    EXPECT(MPI_ERR_OTHER, MPI_Comm_join(ends[0], &inter));
    CHECK(inter == MPI_COMM_NULL && close(ends[0]) == 0);
    if (written != 0) close(ends[1]);
  }
  EXPECT(MPI_ERR_OTHER, MPI_Comm_join(-1, &inter));
}

/* Prints what tells this job from others. */
static void print_mark(void) {
  struct hello own;
  int ends[2];
  MPI_Comm inter;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && shutdown(ends[1], SHUT_WR) == 0);
  EXPECT(MPI_ERR_OTHER, MPI_Comm_join(ends[0], &inter));
  CHECK(read(ends[1], &own, sizeof own) == sizeof own);
  printf("%llu\n", (unsigned long long)own.job);
  close(ends[0]);
  close(ends[1]);
}

/* Nothing moves for longer than a search for deadlocks takes: rank 0 waits at its socket, the last
 * rank waits for a process, and the others in a barrier. */
static void late(void) {
  MPI_Comm inter;
  if (rank == 0 || rank == size - 1) {
    int fd = connect_with(size - 1 - rank);
    if (rank != 0) CHECK(system("sleep 4") == 0);
    CHECK(MPI_Comm_join(fd, &inter) == MPI_SUCCESS && close(fd) == 0);
    MPI_Comm_disconnect(&inter);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void refused(void) {
  int codes[5] = {0}, *universe, flag;
  char *commands[2], program[] = "./app";
  const int most[2] = {2, 3}, too_many[2] = {INT_MAX, INT_MAX};
  const MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm inter = MPI_COMM_SELF;
  commands[0] = commands[1] = program;
  EXPECT(MPI_ERR_SPAWN,
         MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, codes));
  CHECK(inter == MPI_COMM_NULL && codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN);
  EXPECT(MPI_ERR_SPAWN, MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, most, infos, 0,
                                                MPI_COMM_SELF, &inter, codes));
  CHECK(codes[4] == MPI_ERR_SPAWN);
  EXPECT(MPI_ERR_ARG,
         MPI_Comm_spawn("", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, codes));
  EXPECT(MPI_ERR_ARG,
         MPI_Comm_spawn(NULL, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, codes));
  EXPECT(MPI_ERR_INFO,
         MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, (MPI_Info)7, 0, MPI_COMM_SELF, &inter, codes));
  EXPECT(MPI_ERR_ARG, MPI_Comm_spawn_multiple(0, commands, MPI_ARGVS_NULL, most, infos, 0,
                                              MPI_COMM_SELF, &inter, codes));
  EXPECT(MPI_ERR_ARG, MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, NULL, infos, 0,
                                              MPI_COMM_SELF, &inter, codes));
  EXPECT(MPI_ERR_SPAWN, MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, too_many, infos, 0,
                                                MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE));
  CHECK(inter == MPI_COMM_NULL);
  EXPECT(MPI_ERR_ROOT, MPI_Comm_accept("a port", MPI_INFO_NULL, 1, MPI_COMM_SELF, &inter));
  EXPECT(MPI_ERR_ROOT, MPI_Comm_connect("a port", MPI_INFO_NULL, -1, MPI_COMM_SELF, &inter));
  CHECK(MPI_Comm_get_parent(&inter) == MPI_SUCCESS && inter == MPI_COMM_NULL);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
  CHECK(flag && *universe > size);
}

/* @return whether a command with this hint could be started: then it is the second one that is
 * refused, since its info is none. */
static bool is_good(const char *key, const char *value, int ranks) {
  char program[] = "./app", *commands[2] = {program, program};
  const int most[2] = {ranks, 1};
  int class;
  MPI_Comm inter = MPI_COMM_SELF;
  MPI_Info infos[2] = {MPI_INFO_NULL, (MPI_Info)7};
  MPI_Info_create(&infos[0]);
  MPI_Info_set(infos[0], key, value);
  MPI_Error_class(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, most, infos, 0,
                                          MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE),
                  &class);
  MPI_Info_free(&infos[0]);
  CHECK(inter == MPI_COMM_NULL && (class == MPI_ERR_INFO || class == MPI_ERR_SPAWN));
  return class == MPI_ERR_INFO;
}

static void hints(void) {
  static const struct {
    const char *list, *has; /* the numbers of 1 to 12 */
  } lists[] = {{"4", "4"},
               {"2:4", "2 3 4"},
               {"1,4:8:2", "1 4 6 8"},
               {"8:2:-2", "2 4 6 8"},
               {"9:1:-3,12", "3 6 9 12"},
               {"3:1", ""},
               {"5:5:0", ""},
               {"12,1", "1 12"},
               {"1:12:11", "1 12"},
               {"-3:2:1", "1 2"}};
  char own[256], found[64];
  struct utsname machine;
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    found[0] = '\0';
    for (int number = 1; number <= 12; number++)
      if (is_good("soft", lists[i].list, number))
        snprintf(found + strlen(found), sizeof found - strlen(found), found[0] ? " %d" : "%d",
                 number);
    if (strcmp(found, lists[i].has) != 0) fprintf(stderr, "%s has %s\n", lists[i].list, found);
    CHECK(strcmp(found, lists[i].has) == 0);
  }
  CHECK(gethostname(own, sizeof own) == 0 && uname(&machine) == 0);
  CHECK(is_good("host", own, 1) && is_good("host", "localhost", 1));
  CHECK(!is_good("host", "another.example", 1));
  CHECK(is_good("arch", machine.machine, 1) && !is_good("arch", "pdp11", 1));
  CHECK(!is_good("file", "settings", 1) && is_good("of the program", "any", 1));
  CHECK(is_good("mpi_initial_errhandler", "mpi_errors_return", 1));
  CHECK(is_good("mpi_initial_errhandler", "mpi_errors_abort", 1));
  CHECK(is_good("mpi_initial_errhandler", "mpi_errors_are_fatal", 1));
  CHECK(!is_good("mpi_initial_errhandler", "mine", 1));
}

/* What a library for another Fortran says has to agree. */
static void fortran(void) {
  int yes, no, set;
  MPI_Info info;
  CHECK(MPI_Abi_get_fortran_booleans(4, &yes, &no, &set) == MPI_SUCCESS);
  CHECK(yes == 1 && no == 0 && set);
  CHECK(MPI_Abi_set_fortran_booleans(4, &yes, &no) == MPI_SUCCESS);
  yes = -1;
  EXPECT(MPI_ERR_ABI, MPI_Abi_set_fortran_booleans(4, &yes, &no));
  EXPECT(MPI_ERR_ARG, MPI_Abi_get_fortran_booleans(3, &yes, &no, &set));
  CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS);
  CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
  MPI_Info_set(info, "mpi_integer_size", "8");
  EXPECT(MPI_ERR_ABI, MPI_Abi_set_fortran_info(info));
  MPI_Info_free(&info);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (argc > 1) { /* on several nodes */
    strcmp(argv[1], "late") == 0 ? late() : print_mark();
    MPI_Finalize();
    return 0;
  }
  groups();
  if (rank == 0) several();
  clients();
  limits();
  sockets();
  sockets_without_partner();
  if (check_is_one_node()) {
    sockets_of_one_process();
    refused();
    hints();
    fortran();
  }
  MPI_Finalize();
  return 0;
}
