/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spawning: the root asks tmpirun for more ranks (run/spawn.c), and tells the others of their group
 * what both sides' communicator is made of. The new ranks make theirs in MPI_Init(), so parents do
 * not wait for them. spawn.h has what several nodes do.
 */
#include <limits.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tmpi/coll/coll.h"
#include "tmpi/comm/spawn.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/errhandler.h"
#include "tmpi/object/info.h"
#include "tmpi/object/world.h"

/* What the root tells the others. */
struct outcome {
  int error, ranks;
  int first;              /* number in the job of the first new rank */
  uint64_t context;       /* of the communicator with the new ranks */
  struct tm_world *world; /* on the root's node */
};

/* ---- what info says of a command; others than these keys are hints that mean nothing here */

static const char *value_of(const struct tm_info *info, const char *key) {
  const struct tm_info_entry *entry = info != NULL ? tm_info_find(info, key) : NULL;
  return entry != NULL ? entry->value : NULL;
}

/* @return whether a list such as "1,4:8:2" has a number. */
static bool list_has(const char *list, long number) {
  while (*list != '\0') {
    char *end;
    long first = strtol(list, &end, 10), last = first, step = 1;
    if (*end == ':') last = strtol(end + 1, &end, 10);
    if (*end == ':') step = strtol(end + 1, &end, 10);
    bool up = step > 0 && number >= first && number <= last;
    bool down = step < 0 && number <= first && number >= last;
    if ((up || down) && (number - first) % step == 0) return true;
    list = end + strcspn(end, ",");
    list += *list == ',';
  }
  return false;
}

static bool is_this_host(const char *name) {
  char own[HOST_NAME_MAX + 1] = "";
  return strcmp(name, "localhost") == 0 ||
         (gethostname(own, sizeof own - 1) == 0 && strcmp(name, own) == 0);
}

static bool is_this_machine(const char *name) {
  struct utsname own;
  return uname(&own) == 0 && strcmp(name, own.machine) == 0;
}

/* @return MPI_SUCCESS, or what tm_fail() returned. */
static int read_info(struct tm_comm *comm, const char *call, const struct tm_info *info,
                     struct tm_command *command) {
  const char *host = value_of(info, "host"), *arch = value_of(info, "arch");
  const char *soft = value_of(info, "soft");
  command->folder = value_of(info, "wdir");
  command->path = value_of(info, "path");
  if (value_of(info, "file") != NULL)
    return tm_fail(comm, call, MPI_ERR_SPAWN,
                   "info 'file': no files of settings are read (set the keys themselves)");
  command->host = host;
  if (host != NULL && tm_far() == NULL && !is_this_host(host))
    return tm_fail(comm, call, MPI_ERR_SPAWN,
                   "info 'host': '%.60s' is another machine, and all ranks are on this one (leave "
                   "it out)",
                   host);
  if (arch != NULL && !is_this_machine(arch))
    return tm_fail(comm, call, MPI_ERR_SPAWN,
                   "info 'arch': '%.60s' is not this machine's (leave it out)", arch);
  if (soft != NULL && !list_has(soft, command->ranks))
    return tm_fail(comm, call, MPI_ERR_SPAWN,
                   "info 'soft': '%.60s' does not have %d, and all ranks are started or none (add "
                   "it, or change maxprocs)",
                   soft, command->ranks);
  return MPI_SUCCESS;
}

/* The handler that the new ranks begin with. */
static int read_handler(struct tm_comm *comm, const char *call, const struct tm_info *info,
                        struct tm_errhandler **handler) {
  const char *name = value_of(info, "mpi_initial_errhandler");
  if (name == NULL || strcmp(name, "mpi_errors_are_fatal") == 0 ||
      strcmp(name, "mpi_errors_abort") == 0)
    return MPI_SUCCESS;
  if (strcmp(name, "mpi_errors_return") != 0)
    return tm_fail(comm, call, MPI_ERR_SPAWN,
                   "info 'mpi_initial_errhandler': '%.60s' is no error handler (mpi_errors_return, "
                   "mpi_errors_abort, mpi_errors_are_fatal)",
                   name);
  *handler = tm_errhandler_returning();
  return MPI_SUCCESS;
}

/* ---- the root */

static int check_command(struct tm_comm *comm, const char *call, const char *program, int ranks) {
  if (program == NULL || *program == '\0')
    return tm_fail(comm, call, MPI_ERR_ARG, "no program is named");
  if (ranks < 1) return tm_fail(comm, call, MPI_ERR_ARG, "maxprocs is %d, below 1", ranks);
  return MPI_SUCCESS;
}

/* @return false, and why, if no rank is started. */
static bool start(const struct tm_spawner *spawner, struct tm_spawn *spawn, const char *call) {
  static mltp_lock_t lock = MLTP_LOCK_INIT; /* one spawn at a time */
  if (tm_far() != NULL) return tm_spawn_on_nodes(spawn, call);
  mltp_lock(&lock);
  spawn->first = tm_job.size;
  bool good = spawner->prepare(spawn);
  spawner->finish(spawn, good);
  mltp_unlock(&lock);
  return good;
}

static int ask(struct tm_comm *comm, const char *call, const struct tm_command *commands, int count,
               struct tm_errhandler *handler, struct outcome *outcome) {
  const struct tm_spawner *spawner = tm_job_spawner();
  if (spawner == NULL && tm_job.alone)
    return tm_fail(comm, call, MPI_ERR_SPAWN, "tmpirun starts ranks (run the program by it)");
  if (spawner == NULL)
    return tm_fail(comm, call, MPI_ERR_SPAWN,
                   "no room for more ranks was kept when the program was read (tmpirun --spare=N)");
  struct tm_world *world = tm_world_new(outcome->ranks, comm->group);
  if (world == NULL) return tm_fail_code(comm, call, MPI_ERR_NO_MEM);
  world->handler = handler;
  struct tm_spawn spawn = {.commands = commands, .count = count, .world = world};
  if (start(spawner, &spawn, call)) {
    outcome->first = world->first;
    outcome->context = world->parent_context;
    outcome->world = world;
    return MPI_SUCCESS;
  }
  tm_world_drop(world);
  return tm_fail(comm, call, MPI_ERR_SPAWN, "%s", spawn.why);
}

/* Arguments of the root. */
struct given {
  int count;
  char *const *programs;
  char **const *argvs; /* NULL: none has any */
  const int *ranks;
  const MPI_Info *infos;
};

static int read_commands(struct tm_comm *comm, const char *call, const struct given *given,
                         struct tm_command *commands, struct tm_errhandler **handler) {
  int error = MPI_SUCCESS;
  for (int i = 0; error == MPI_SUCCESS && i < given->count; i++) {
    const struct tm_info *info = tm_info_of(given->infos[i]);
    commands[i] = (struct tm_command){.program = given->programs[i],
                                      .argv = given->argvs != NULL ? given->argvs[i] : NULL,
                                      .ranks = given->ranks[i]};
    if (info == NULL && given->infos[i] != MPI_INFO_NULL)
      return tm_fail(comm, call, MPI_ERR_INFO, "info %d is no info object", i);
    error = check_command(comm, call, given->programs[i], given->ranks[i]);
    if (error == MPI_SUCCESS) error = read_info(comm, call, info, &commands[i]);
    if (error == MPI_SUCCESS) error = read_handler(comm, call, info, handler);
  }
  return error;
}

/* *all: how many codes there are, also when a command is wrong. */
static int count_ranks(struct tm_comm *comm, const char *call, const struct given *given,
                       int *all) {
  int sum = 0, error = MPI_SUCCESS;
  for (int i = 0; error == MPI_SUCCESS && i < given->count; i++)
    if (__builtin_add_overflow(sum, given->ranks[i] > 0 ? given->ranks[i] : 0, &sum))
      error = tm_fail(comm, call, MPI_ERR_SPAWN, "more ranks than an int counts (fewer ranks)");
  *all = error == MPI_SUCCESS ? sum : 0;
  return error;
}

static int spawn_at_root(struct tm_comm *comm, const char *call, const struct given *given,
                         struct outcome *outcome) {
  struct tm_errhandler *handler = NULL;
  if (given->count < 1)
    return tm_fail(comm, call, MPI_ERR_ARG, "the number of commands is %d", given->count);
  if (given->programs == NULL || given->ranks == NULL || given->infos == NULL)
    return tm_fail(comm, call, MPI_ERR_ARG, "a list of arguments is NULL");
  struct tm_command *commands = calloc((size_t)given->count, sizeof *commands);
  if (commands == NULL) return tm_fail_code(comm, call, MPI_ERR_NO_MEM);
  int error = count_ranks(comm, call, given, &outcome->ranks);
  if (error == MPI_SUCCESS) error = read_commands(comm, call, given, commands, &handler);
  if (error == MPI_SUCCESS) error = ask(comm, call, commands, given->count, handler, outcome);
  free(commands);
  return error;
}

/* ---- all parents */

/* @return the new ranks, with a reference for the caller. Parents on one node share the world's
 * group, which stays. NULL: no memory. */
static struct tm_group *children_of(const struct tm_comm *parents, const struct outcome *outcome) {
  bool shares = !tm_comm_spans(parents);
  struct tm_group *group = shares ? outcome->world->group : tm_group_new(outcome->ranks);
  if (shares) tm_group_hold(group);
  for (int i = 0; !shares && group != NULL && i < outcome->ranks; i++)
    group->ranks[i] = outcome->first + i;
  return group;
}

static int make_comm(struct tm_comm *parents, const char *call, const struct outcome *outcome,
                     MPI_Comm *result) {
  struct tm_group *children = children_of(parents, outcome);
  if (children == NULL) return tm_fail_code(parents, call, MPI_ERR_NO_MEM);
  tm_group_hold(parents->group);
  struct tm_comm *comm = tm_comm_add_local(tm_comm_new(outcome->context, parents->group, children));
  if (comm == NULL) return tm_fail_code(parents, call, MPI_ERR_NO_MEM);
  tm_comm_inherit(comm, parents);
  *result = (MPI_Comm)comm;
  return MPI_SUCCESS;
}

static int spawn(const char *call, MPI_Comm handle, int root, const struct given *given,
                 MPI_Comm *result, int *codes) {
  struct tm_comm *comm;
  struct outcome outcome = {.error = MPI_SUCCESS};
  int error = tm_get_comm(call, handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (result == NULL) return tm_no_place(call, "the communicator");
  *result = MPI_COMM_NULL;
  if (comm->inter) return tm_fail(comm, call, MPI_ERR_COMM, "it is an intercommunicator");
  error = tm_check_root(comm, call, root);
  if (error != MPI_SUCCESS) return error;
  struct tm_coll all = tm_coll_begin_rooted(comm, call, root);
  if (comm->rank == root) outcome.error = spawn_at_root(comm, call, given, &outcome);
  tm_bcast(&all, &outcome, sizeof outcome, tm_type_of(MPI_BYTE), root);
  for (int i = 0; codes != MPI_ERRCODES_IGNORE && i < outcome.ranks; i++) codes[i] = outcome.error;
  if (outcome.error == MPI_SUCCESS) return make_comm(comm, call, &outcome, result);
  return comm->rank == root ? outcome.error : tm_fail_code(comm, call, outcome.error);
}

#pragma weak MPI_Comm_spawn = PMPI_Comm_spawn
int PMPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root,
                    MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]) {
  char *program = (char *)(uintptr_t)command;
  struct given given = {1, &program, argv != MPI_ARGV_NULL ? &argv : NULL, &maxprocs, &info};
  return spawn("MPI_Comm_spawn", comm, root, &given, intercomm, array_of_errcodes);
}

#pragma weak MPI_Comm_spawn_multiple = PMPI_Comm_spawn_multiple
int PMPI_Comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[],
                             const int array_of_maxprocs[], const MPI_Info array_of_info[],
                             int root, MPI_Comm comm, MPI_Comm *intercomm,
                             int array_of_errcodes[]) {
  char **const *argvs = array_of_argv != MPI_ARGVS_NULL ? array_of_argv : NULL;
  struct given given = {count, array_of_commands, argvs, array_of_maxprocs, array_of_info};
  return spawn("MPI_Comm_spawn_multiple", comm, root, &given, intercomm, array_of_errcodes);
}

#pragma weak MPI_Comm_get_parent = PMPI_Comm_get_parent
int PMPI_Comm_get_parent(MPI_Comm *parent) {
  static const char call[] = "MPI_Comm_get_parent";
  const struct tm_rank *rank = tm_enter(call);
  if (parent == NULL) return tm_no_place(call, "the communicator");
  struct tm_comm **to_parents = tm_world_to_parents(rank);
  *parent = to_parents != NULL && *to_parents != NULL ? (MPI_Comm)*to_parents : MPI_COMM_NULL;
  return MPI_SUCCESS;
}
