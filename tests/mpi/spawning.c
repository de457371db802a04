/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MPI_Comm_spawn() asks tmpirun for, and what it makes of the answer, step by step
 * (src/tmpi/comm/spawn.c): each argument, each key of an info, and each step that fails. The root
 * tells the others by a struct, which the test keeps: so another rank gets what the root has sent.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <mltp/mltp.h>

#include "counted_blocks.h"
#include "tmpi/coll/coll.h"
#include "tmpi/comm/spawn.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/errhandler.h"
#include "tmpi/object/info.h"
#include "traced_calls.h"

/* FIRST: number of the first new rank */
enum { RANKS = 4, FIRST = 20, CONTEXT = 77, KEYS = 4, BEHIND = -7 };

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_comm comm, made;
static struct tm_rank rank;
static struct tm_world *world;
static struct tm_group *parents;
static struct tm_errhandler returning;
static struct tm_info infos[2];
static struct tm_info_entry entries[2][KEYS];
static char said[500];
static char sent[200]; /* what the root has told the others */
static bool has_spawner, is_prepared, is_on_nodes;
static bool no_name, no_world, no_group, no_comm, no_local;
static struct tm_command asked[2];
static int asked_count, locks, group_holds;
static struct tm_comm **to_parents;
static struct tm_group *remote_group; /* of the communicator that was made */

/* ---- the rest of the library */

int tm_fail(struct tm_comm *on, const char *call, int code, const char *format, ...) {
  va_list list;
  assert_true(on == &comm && strncmp(call, "MPI_Comm_spawn", 14) == 0);
  assert_string_equal(said, "");
  va_start(list, format);
  vsnprintf(said, sizeof said, format, list);
  va_end(list);
  return code;
}

int tm_fail_code(struct tm_comm *on, const char *call, int code) {
  return tm_fail(on, call, code, "code");
}

int tm_no_place(const char *call, const char *what) {
  assert_non_null(call);
  assert_string_equal(what, "the communicator");
  note("no place");
  return MPI_ERR_ARG;
}

struct tm_rank *tm_enter(const char *call) {
  assert_non_null(call);
  return &rank;
}

int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **found) {
  assert_non_null(call);
  if (handle != (MPI_Comm)&comm) return MPI_ERR_COMM;
  *found = &comm;
  return MPI_SUCCESS;
}

int tm_check_other_root(struct tm_comm *on, const char *call, int root) {
  assert_true(on == &comm && call != NULL);
  return tm_fail(on, call, MPI_ERR_ROOT, "root %d", root);
}

void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root) {
  assert_true(coll->comm == &comm && coll->tag == comm.collectives && count <= sizeof sent);
  assert_ptr_equal(type, tm_type_of(MPI_BYTE));
  if (comm.rank == root)
    memcpy(sent, buffer, count);
  else
    memcpy(buffer, sent, count);
}

struct tm_info *tm_info_of(MPI_Info handle) {
  for (int i = 0; i < 2; i++)
    if (handle == (MPI_Info)&infos[i]) return &infos[i];
  return NULL;
}

struct tm_info_entry *tm_info_find(const struct tm_info *info, const char *key) {
  for (int i = 0; i < KEYS; i++) {
    struct tm_info_entry *entry = &entries[info - infos][i];
    if (strcmp(entry->key, key) == 0) return entry;
  }
  return NULL;
}

struct tm_errhandler *tm_errhandler_returning(void) { return &returning; }

int mltp_lock(mltp_lock_t *lock) {
  assert_non_null(lock);
  assert_int_equal(locks++, 0);
  return 0;
}

int mltp_unlock(mltp_lock_t *lock) {
  assert_non_null(lock);
  assert_int_equal(--locks, 0);
  return 0;
}

static bool prepare(struct tm_spawn *spawn) {
  note("prepare");
  assert_int_equal(locks, 1);
  assert_int_equal(spawn->first, FIRST);
  assert_true(spawn->world == world && spawn->count <= 2);
  asked_count = spawn->count;
  memcpy(asked, spawn->commands, (size_t)spawn->count * sizeof *asked);
  world->first = spawn->first;
  if (!is_prepared) snprintf(spawn->why, sizeof spawn->why, "not %s", "today");
  return is_prepared;
}

static void finish(struct tm_spawn *spawn, bool go) {
  assert_true(spawn->world == world && locks == 1);
  note(go ? "go" : "forget");
}

bool tm_spawn_on_nodes(struct tm_spawn *spawn, const char *call) {
  assert_true(call != NULL && locks == 0 && is_on_nodes);
  note("nodes");
  memcpy(asked, spawn->commands, (size_t)spawn->count * sizeof *asked);
  world->first = FIRST;
  return true;
}

const struct tm_spawner *tm_job_spawner(void) {
  static const struct tm_spawner spawner = {.prepare = prepare, .finish = finish};
  return has_spawner ? &spawner : NULL;
}

struct tm_world *tm_world_new(int size, struct tm_group *group) {
  assert_ptr_equal(group, parents);
  if (no_world) return NULL;
  world->group->size = size;
  return world;
}

void tm_world_drop(struct tm_world *dropped) {
  assert_ptr_equal(dropped, world);
  note("drop");
}

struct tm_comm **tm_world_to_parents(const struct tm_rank *of) {
  assert_ptr_equal(of, &rank);
  return to_parents;
}

/* What follows the ranks is to stay as it is. */
struct tm_group *tm_group_new(int size) {
  if (no_group) return NULL;
  struct tm_group *group = __real_calloc(1, sizeof *group + ((size_t)size + 1) * sizeof(int));
  assert_non_null(group);
  group->size = size;
  group->ranks[size] = BEHIND;
  return group;
}

void tm_group_hold(struct tm_group *group) {
  assert_true(group == parents || group == world->group);
  group_holds += group == parents ? 1 : 100;
}

/* What a communicator does that is not made. */
static void release_groups(void) {
  __real_free(remote_group);
  group_holds--;
}

struct tm_comm *tm_comm_new(uint64_t context, struct tm_group *group, struct tm_group *remote) {
  assert_true(context == CONTEXT && group == parents);
  remote_group = remote;
  if (no_comm) release_groups();
  return no_comm ? NULL : &made;
}

struct tm_comm *tm_comm_add_local(struct tm_comm *to) {
  if (to == NULL) return NULL;
  assert_ptr_equal(to, &made);
  if (no_local) release_groups();
  return no_local ? NULL : to;
}

void tm_comm_inherit(struct tm_comm *to, const struct tm_comm *parent) {
  assert_true(to == &made && parent == &comm);
  note("inherit");
}

/* ---- libc's: the host is "here", the machine "pdp11" */

int __wrap_gethostname(char *name, size_t size);
int __wrap_gethostname(char *name, size_t size) {
  if (no_name) return -1;
  snprintf(name, size, "here");
  return 0;
}

int __wrap_uname(struct utsname *name);
int __wrap_uname(struct utsname *name) {
  if (no_name) return -1;
  snprintf(name->machine, sizeof name->machine, "pdp11");
  return 0;
}

/* ---- ranks that spawn */

static int start(void **state) {
  static struct tm_team *const team = (struct tm_team *)&made;
  (void)state;
  tm_job = (struct tm_job){.size = FIRST};
  memset(entries, 0, sizeof entries);
  tm_predefined[(uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST].magic = TM_TYPE_MAGIC;
  parents = tm_group_new(RANKS);
  world = __real_calloc(1, sizeof *world);
  assert_true(parents != NULL && world != NULL);
  world->group = tm_group_new(3);
  world->parent_context = CONTEXT;
  comm = (struct tm_comm){.rank = 1, .size = RANKS, .team = team, .group = parents};
  has_spawner = is_prepared = true;
  is_on_nodes = memory_is_out = no_name = no_world = no_group = no_comm = no_local = false;
  said[0] = trace[0] = '\0';
  locks = group_holds = blocks = 0;
  to_parents = NULL;
  return 0;
}

static int end(void **state) {
  (void)state;
  check_trace("");
  assert_int_equal(blocks, 0);
  __real_free(world->group);
  __real_free(world);
  __real_free(parents);
  return 0;
}

static void set(int info, const char *key, char *value) {
  struct tm_info_entry *entry = entries[info];
  while (entry->key[0] != '\0') entry++;
  snprintf(entry->key, sizeof entry->key, "%s", key);
  entry->value = value;
}

static char name[] = "program";

static int ask(int ranks, MPI_Info info, int codes[]) {
  MPI_Comm inter = (MPI_Comm)&comm;
  int error = PMPI_Comm_spawn(name, MPI_ARGV_NULL, ranks, info, 1, (MPI_Comm)&comm, &inter, codes);
  assert_ptr_equal(inter, error == MPI_SUCCESS ? (MPI_Comm)&made : MPI_COMM_NULL);
  return error;
}

static void check_said(const char *expected) {
  if (strstr(said, expected) == NULL) fail_msg("\"%s\" is not in: %s", expected, said);
  said[0] = '\0';
}

/* A spawn with one key. NULL: it succeeds. */
static void check_key(const char *key, char *value, int ranks, const char *refusal) {
  memset(entries, 0, sizeof entries);
  set(0, key, value);
  int error = ask(ranks, (MPI_Info)&infos[0], MPI_ERRCODES_IGNORE);
  assert_int_equal(error, refusal == NULL ? MPI_SUCCESS : MPI_ERR_SPAWN);
  if (refusal != NULL) check_said(refusal);
  check_trace(refusal == NULL ? "prepare go inherit " : "");
}

/* ---- what info says */

static void numbers_of_ranks(void **state) {
  static const struct {
    const char *list;
    const char *has; /* of the numbers from 1 to 11, "x" for each that it has */
  } rows[] = {{"4", "---x-------"},       {"", "-----------"},       {"1,4:8:2", "x--x-x-x---"},
              {"3:5", "--xxx------"},     {"5:5", "----x------"},    {"2:1", "-----------"},
              {"11:1:-4", "--x---x---x"}, {"8:4:-2", "---x-x-x---"}, {"0:100:0", "-----------"},
              {"5:1:0", "-----------"},   {"10,8,9", "-------xxx-"}, {"2:10:3,1", "xx--x--x---"},
              {"1:11:10", "x---------x"}, {"1:1:-1", "x----------"}, {"-3:3:3", "--x--------"},
              {"5:2:1", "-----------"},   {"2:5:-1", "-----------"}, {"1:3,6:7", "xxx--xx----"}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int ranks = 1; ranks < 12; ranks++) {
      char list[20], refusal[100];
      snprintf(list, sizeof list, "%s", rows[i].list);
      snprintf(refusal, sizeof refusal, "info 'soft': '%s' does not have %d,", list, ranks);
      check_key("soft", list, ranks, rows[i].has[ranks - 1] == 'x' ? NULL : refusal);
    }
}

static void where_ranks_start(void **state) {
  static char here[] = "here", there[] = "there", local[] = "localhost", folder[] = "/";
  static char machine[] = "pdp11", other[] = "vax";
  (void)state;
  check_key("host", here, 1, NULL);
  assert_ptr_equal(asked[0].host, here);
  check_key("host", local, 1, NULL);
  check_key("host", there, 1, "info 'host': 'there' is another machine");
  check_key("arch", machine, 1, NULL);
  check_key("arch", other, 1, "info 'arch': 'vax' is not this machine's");
  no_name = true;
  check_key("host", here, 1, "info 'host': 'here' is another machine");
  check_key("host", local, 1, NULL);
  check_key("arch", machine, 1, "info 'arch': 'pdp11' is not this machine's");
  assert_true(asked[0].folder == NULL && asked[0].path == NULL);
  check_key("wdir", folder, 1, NULL);
  assert_true(asked[0].folder == folder && asked[0].path == NULL && asked[0].host == NULL);
  check_key("path", folder, 1, NULL);
  assert_true(asked[0].folder == NULL && asked[0].path == folder);
  check_key("file", folder, 1, "info 'file': no files of settings are read");
  check_key("unheard of", other, 1, NULL);
}

static void the_handler_to_begin_with(void **state) {
  static char fatal[] = "mpi_errors_are_fatal", aborts[] = "mpi_errors_abort";
  static char returns[] = "mpi_errors_return", other[] = "mine";
  (void)state;
  check_key("mpi_initial_errhandler", fatal, 1, NULL);
  assert_null(world->handler);
  check_key("mpi_initial_errhandler", aborts, 1, NULL);
  assert_null(world->handler);
  check_key("mpi_initial_errhandler", other, 1, "info 'mpi_initial_errhandler': 'mine' is no");
  check_key("mpi_initial_errhandler", returns, 1, NULL);
  assert_ptr_equal(world->handler, &returning);
  check_key("unheard of", other, 1, NULL);
  assert_null(world->handler);
}

/* ---- commands */

static int ask_two(char *const programs[], char **argvs[], const int counts[], MPI_Info second,
                   int *codes) {
  const MPI_Info both[] = {MPI_INFO_NULL, second};
  MPI_Comm inter;
  return PMPI_Comm_spawn_multiple(2, (char **)(uintptr_t)programs, argvs, counts, both, 1,
                                  (MPI_Comm)&comm, &inter, codes);
}

static void words_and_programs(void **state) {
  char second[] = "second", *programs[] = {name, second};
  char *words[] = {name, NULL}, **argvs[] = {NULL, words};
  MPI_Comm inter;
  (void)state;
  assert_int_equal(ask_two(programs, argvs, (int[]){1, 2}, (MPI_Info)&infos[1], NULL), 0);
  check_trace("prepare go inherit ");
  assert_true(asked_count == 2 && asked[0].ranks == 1 && asked[1].ranks == 2);
  assert_true(asked[0].program == name && asked[1].program == second);
  assert_true(asked[0].argv == NULL && asked[1].argv == words);
  assert_int_equal(world->group->size, 3);
  assert_int_equal(ask_two(programs, MPI_ARGVS_NULL, (int[]){1, 2}, MPI_INFO_NULL, NULL), 0);
  assert_true(asked[0].argv == NULL && asked[1].argv == NULL);
  PMPI_Comm_spawn(name, words, 1, MPI_INFO_NULL, 1, (MPI_Comm)&comm, &inter, NULL);
  assert_true(asked_count == 1 && asked[0].argv == words);
  PMPI_Comm_spawn(name, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 1, (MPI_Comm)&comm, &inter, NULL);
  assert_null(asked[0].argv);
  trace[0] = '\0';
}

static void refuse(int class, const char *why, char *const programs[], const int counts[],
                   MPI_Info info, int coded) {
  int codes[5] = {-1, -1, -1, -1, -1};
  assert_int_equal(ask_two(programs, MPI_ARGVS_NULL, counts, info, codes), class);
  check_said(why);
  for (int i = 0; i < 5; i++) assert_int_equal(codes[i], i < coded ? class : -1);
}

/* The codes of all ranks that were asked for say what was wrong. */
static void commands_that_are_wrong(void **state) {
  char none[] = "", *good[] = {name, name}, *empty[] = {name, none}, *null[] = {NULL, name};
  const MPI_Info info = MPI_INFO_NULL;
  static char text[] = "x";
  (void)state;
  refuse(MPI_ERR_ARG, "no program is named", empty, (int[]){1, 2}, info, 3);
  refuse(MPI_ERR_ARG, "no program is named", null, (int[]){1, 2}, info, 3);
  refuse(MPI_ERR_ARG, "maxprocs is 0, below 1", good, (int[]){3, 0}, info, 3);
  refuse(MPI_ERR_ARG, "maxprocs is -1, below 1", good, (int[]){-1, 2}, info, 2);
  refuse(MPI_ERR_INFO, "info 1 is no info object", good, (int[]){1, 1}, (MPI_Info)&made, 2);
  refuse(MPI_ERR_SPAWN, "more ranks than an int counts", good, (int[]){INT_MAX, 1}, info, 0);
  set(1, "file", text);
  refuse(MPI_ERR_SPAWN, "info 'file'", good, (int[]){2, 2}, (MPI_Info)&infos[1], 4);
  memory_is_out = true;
  refuse(MPI_ERR_NO_MEM, "code", good, (int[]){1, 1}, info, 0);
  memory_is_out = false;
  no_world = true;
  refuse(MPI_ERR_NO_MEM, "code", good, (int[]){1, 1}, info, 2);
  assert_int_equal(ask_two(good, NULL, (int[]){INT_MAX - 1, 1}, info, NULL), MPI_ERR_NO_MEM);
  check_said("code");
}

static void lists_that_are_missing(void **state) {
  char *programs[] = {name};
  const int one[] = {1};
  const MPI_Info info[] = {MPI_INFO_NULL};
  (void)state;
  for (int missing = 0; missing < 5; missing++) {
    MPI_Comm inter = (MPI_Comm)&made;
    int error = PMPI_Comm_spawn_multiple(missing == 3   ? 0
                                         : missing == 4 ? -1
                                                        : 1,
                                         missing == 0 ? NULL : programs, MPI_ARGVS_NULL,
                                         missing == 1 ? NULL : one, missing == 2 ? NULL : info, 1,
                                         (MPI_Comm)&comm, &inter, NULL);
    assert_int_equal(error, MPI_ERR_ARG);
    assert_ptr_equal(inter, MPI_COMM_NULL);
    check_said(missing < 3    ? "a list of arguments is NULL"
               : missing == 3 ? "the number of commands is 0"
                              : "the number of commands is -1");
  }
}

/* ---- tmpirun starts ranks, or does not */

static void nobody_starts_ranks(void **state) {
  int code = -1;
  (void)state;
  has_spawner = false;
  assert_int_equal(ask(1, MPI_INFO_NULL, &code), MPI_ERR_SPAWN);
  check_said("no room for more ranks was kept");
  tm_job.alone = true;
  assert_int_equal(ask(1, MPI_INFO_NULL, &code), MPI_ERR_SPAWN);
  check_said("tmpirun starts ranks");
  assert_int_equal(code, MPI_ERR_SPAWN);
  has_spawner = true;
  assert_int_equal(ask(1, MPI_INFO_NULL, &code), MPI_SUCCESS);
  check_trace("prepare go inherit ");
  assert_int_equal(code, MPI_SUCCESS);
}

static void ranks_that_do_not_start(void **state) {
  int codes[3] = {-1, -1, -1};
  (void)state;
  is_prepared = false;
  assert_int_equal(ask(2, MPI_INFO_NULL, codes), MPI_ERR_SPAWN);
  check_said("not today");
  check_trace("prepare forget drop ");
  assert_true(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN && codes[2] == -1);
}

/* Any host may be one of theirs. */
static void ranks_of_several_nodes(void **state) {
  static char there[] = "there";
  (void)state;
  tm_job.far = (const struct tm_transport *)&made;
  if (tm_far() == NULL) skip();
  is_on_nodes = true;
  set(0, "host", there);
  assert_int_equal(ask(1, (MPI_Info)&infos[0], NULL), MPI_SUCCESS);
  check_trace("nodes inherit ");
  assert_ptr_equal(asked[0].host, there);
}

/* ---- all parents */

/* The root's outcome reaches another rank, which looks at nothing but its own arguments. */
static void other_parents(void **state) {
  MPI_Comm inter = MPI_COMM_NULL;
  int codes[4] = {-1, -1, -1, -1};
  (void)state;
  for (int good = 1; good >= 0; good--) {
    is_prepared = good;
    comm.rank = 1;
    ask(3, MPI_INFO_NULL, NULL);
    said[0] = trace[0] = '\0';
    comm.rank = 2;
    int error = PMPI_Comm_spawn(NULL, NULL, -1, (MPI_Info)&made, 1, (MPI_Comm)&comm, &inter, codes);
    assert_int_equal(error, good ? MPI_SUCCESS : MPI_ERR_SPAWN);
    assert_ptr_equal(inter, good ? (MPI_Comm)&made : MPI_COMM_NULL);
    for (int i = 0; i < 4; i++) assert_int_equal(codes[i], i == 3 ? -1 : error);
    check_trace(good ? "inherit " : "");
    if (!good) check_said("code");
  }
}

/* Parents on one node share the world's group; those of several have one each. */
static void groups_of_the_communicator(void **state) {
  (void)state;
  assert_int_equal(ask(3, MPI_INFO_NULL, NULL), MPI_SUCCESS);
  assert_ptr_equal(remote_group, world->group);
  assert_int_equal(group_holds, 101);
  comm.team = NULL; /* they are on several nodes */
  assert_int_equal(ask(3, MPI_INFO_NULL, NULL), MPI_SUCCESS);
  assert_true(remote_group != world->group && remote_group->size == 3);
  for (int i = 0; i < 3; i++) assert_int_equal(remote_group->ranks[i], FIRST + i);
  assert_int_equal(remote_group->ranks[3], BEHIND);
  assert_int_equal(group_holds, 102);
  __real_free(remote_group);
  comm.size = 1; /* one alone has no team, and shares the group */
  comm.rank = 0;
  MPI_Comm inter;
  PMPI_Comm_spawn(name, NULL, 2, MPI_INFO_NULL, 0, (MPI_Comm)&comm, &inter, NULL);
  assert_ptr_equal(remote_group, world->group);
  assert_int_equal(group_holds, 203);
  trace[0] = '\0';
}

static void communicators_without_memory(void **state) {
  (void)state;
  comm.team = NULL; /* on several nodes there is a group, too */
  for (int step = 0; step < 3; step++) {
    no_group = step == 0;
    no_comm = step == 1;
    no_local = step == 2;
    assert_int_equal(ask(1, MPI_INFO_NULL, NULL), MPI_ERR_NO_MEM);
    check_said("code");
    check_trace("prepare go ");
    assert_int_equal(group_holds, 0);
  }
}

static void arguments_of_all(void **state) {
  MPI_Comm inter = (MPI_Comm)&made;
  const MPI_Comm own = (MPI_Comm)&comm;
  int before = comm.collectives;
  (void)state;
  assert_int_equal(PMPI_Comm_spawn(name, NULL, 1, MPI_INFO_NULL, 1, (MPI_Comm)&made, &inter, NULL),
                   MPI_ERR_COMM);
  assert_ptr_equal(inter, (MPI_Comm)&made);
  assert_int_equal(PMPI_Comm_spawn(name, NULL, 1, MPI_INFO_NULL, 1, own, NULL, NULL), MPI_ERR_ARG);
  check_trace("no place ");
  for (int root = -1; root <= RANKS; root += RANKS + 1) {
    assert_int_equal(PMPI_Comm_spawn(name, NULL, 1, MPI_INFO_NULL, root, own, &inter, NULL),
                     MPI_ERR_ROOT);
    check_said("root");
    assert_ptr_equal(inter, MPI_COMM_NULL);
  }
  comm.inter = true;
  int error = PMPI_Comm_spawn(name, NULL, 1, MPI_INFO_NULL, 1, own, &inter, NULL);
  assert_int_equal(error, MPI_ERR_COMM);
  check_said("it is an intercommunicator");
  assert_int_equal(comm.collectives, before);
}

static void the_parents_of_a_rank(void **state) {
  struct tm_comm *none = NULL, *there = &made;
  MPI_Comm parent = (MPI_Comm)&comm;
  (void)state;
  assert_int_equal(PMPI_Comm_get_parent(NULL), MPI_ERR_ARG);
  check_trace("no place ");
  assert_int_equal(PMPI_Comm_get_parent(&parent), MPI_SUCCESS);
  assert_ptr_equal(parent, MPI_COMM_NULL);
  to_parents = &there;
  assert_int_equal(PMPI_Comm_get_parent(&parent), MPI_SUCCESS);
  assert_ptr_equal(parent, (MPI_Comm)&made);
  to_parents = &none;
  assert_int_equal(PMPI_Comm_get_parent(&parent), MPI_SUCCESS);
  assert_ptr_equal(parent, MPI_COMM_NULL);
}

#define SPAWNS(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      SPAWNS(numbers_of_ranks),           SPAWNS(where_ranks_start),
      SPAWNS(the_handler_to_begin_with),  SPAWNS(words_and_programs),
      SPAWNS(commands_that_are_wrong),    SPAWNS(lists_that_are_missing),
      SPAWNS(nobody_starts_ranks),        SPAWNS(ranks_that_do_not_start),
      SPAWNS(ranks_of_several_nodes),     SPAWNS(other_parents),
      SPAWNS(groups_of_the_communicator), SPAWNS(communicators_without_memory),
      SPAWNS(arguments_of_all),           SPAWNS(the_parents_of_a_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
