/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of several nodes, member by member (src/tmpi/io/several_nodes.c): whether the nodes have
 * opened one file, and how they lock it. Four members are on two nodes. The files are real ones in
 * the folder of temporary files, and each node has a descriptor of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tmpi/coll/coll.h"
#include "tmpi/coll/op.h"
#include "tmpi/io/file.h"
#include "tmpi/rank/rank.h"
#include "traced_calls.h"

enum { NODES = 2, MEMBERS = 4, FIRST_NUMBER = 70, AMODE = MPI_MODE_RDWR | MPI_MODE_CREATE };
#define BEYOND ((off_t)1 << 62)

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank rank;
static struct tm_comm comms[MEMBERS], locals[MEMBERS];
static struct tm_file_opened opened[MEMBERS];
static struct tm_file_common commons[NODES];
static const char *names[NODES]; /* of what the name means on each node */
static int errors[NODES];        /* of opening it */
static int amodes[NODES];        /* that it was opened with */
static int opens;                /* number of nodes that have tried */
static int own_errors[MEMBERS];  /* as the members tell each other */
static char file[] = "/tmp/node-files-XXXXXX", copy[] = "/tmp/node-files-XXXXXX";

/* ---- the system */

static int error_of_lock, error_of_stat, interrupts;
static bool notes_locks;

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  struct flock *lock = va_arg(list, struct flock *);
  va_end(list);
  assert_true(command == F_OFD_SETLKW || command == F_OFD_GETLK);
  assert_int_equal(lock->l_whence, SEEK_SET);
  if (notes_locks)
    note("%s %s %d %d", command == F_OFD_GETLK ? "get" : "set",
         lock->l_type == F_WRLCK   ? "write"
         : lock->l_type == F_RDLCK ? "read"
                                   : "none",
         (int)(lock->l_start - BEYOND), (int)lock->l_len);
  if (interrupts > 0) {
    interrupts--;
    errno = EINTR;
    return -1;
  }
  if (error_of_lock == 0) return __real_fcntl(fd, command, lock);
  errno = error_of_lock;
  return -1;
}

int __real_fstat(int fd, struct stat *state);
int __wrap_fstat(int fd, struct stat *state);
int __wrap_fstat(int fd, struct stat *state) {
  if (error_of_stat != fd) return __real_fstat(fd, state);
  errno = EIO;
  return -1;
}

static int blocking;

void mltp_blocking_begin(void) { assert_int_equal(blocking++, 0); }
void mltp_blocking_end(void) {
  assert_int_equal(--blocking, 0);
  errno = 0; /* it may switch threads */
}

/* ---- the rest of the library: rank 0 comes first, and the others run while it waits for them */

int tm_file_common_open(const char *name, int amode, int members, struct tm_file_common **result) {
  int node = opens++;
  assert_string_equal(name, "name");
  assert_int_equal(members, 2);
  amodes[node] = amode;
  if (errors[node] != 0) return errors[node];
  struct tm_file_common *common = *result = &commons[node];
  common->name = (char *)(uintptr_t)names[node];
  common->fd = open(names[node], amode & MPI_MODE_RDONLY ? O_RDONLY : O_RDWR);
  common->amode = amode;
  common->begin = 30 + node;
  assert_in_range(common->fd, 0, 1000);
  return 0;
}

struct tm_rank *tm_rank_self(void) { return &rank; }
const struct tm_op *tm_op_of(MPI_Op handle) {
  return handle == MPI_MAX ? (const struct tm_op *)&rank : NULL;
}

static char of_all[200], of_node[200];

void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root) {
  char *data = coll->comm->size == MEMBERS ? of_all : of_node;
  assert_true(root == 0 && type->size == 1 && count <= sizeof of_all);
  assert_string_equal(coll->call, "MPI_File_open");
  if (coll->comm->rank == 0)
    memcpy(data, buffer, count);
  else
    memcpy(buffer, data, count);
}

static void join(int member) {
  opened[member] = tm_file_open_on_nodes(&comms[member], "MPI_File_open", "name", AMODE | 0x10000);
}

void tm_allreduce(struct tm_coll *coll, const void *from, void *to, size_t count,
                  struct tm_type *type, const struct tm_op *op) {
  int most = 0, member = coll->comm->rank;
  assert_true(count == 1 && type == tm_type_of(MPI_INT) && op == tm_op_of(MPI_MAX));
  assert_true(coll->tag == 2); /* another one than the file's */
  memcpy(&own_errors[member], from, sizeof(int));
  for (int i = 1; member == 0 && i < MEMBERS; i++) join(i);
  for (int i = 0; i < MEMBERS; i++)
    if (own_errors[i] > most) most = own_errors[i];
  memcpy(to, &most, sizeof most);
}

/* ---- opening */

static int start(void **state) {
  static struct tm_type byte = {.magic = TM_TYPE_MAGIC, .size = 1},
                        number = {.magic = TM_TYPE_MAGIC, .size = sizeof(int)};
  (void)state;
  tm_predefined[(uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST] = byte;
  tm_predefined[(uintptr_t)MPI_INT - TM_PREDEFINED_FIRST] = number;
  rank.number = FIRST_NUMBER;
  memset(comms, 0, sizeof comms);
  memset(commons, 0, sizeof commons);
  for (int i = 0; i < MEMBERS; i++) {
    comms[i].rank = i;
    comms[i].size = MEMBERS;
    comms[i].local_comm = &locals[i];
    locals[i].rank = i % 2;
    locals[i].size = 2;
  }
  for (int i = 0; i < NODES; i++) {
    names[i] = file;
    errors[i] = 0;
  }
  error_of_lock = interrupts = 0;
  error_of_stat = -1;
  notes_locks = false;
  trace[0] = '\0';
  assert_int_equal(truncate(file, 100), 0);
  assert_int_equal(truncate(copy, 100), 0);
  return 0;
}

static void drop_files(void) {
  for (int i = 0; i < NODES; i++)
    if (commons[i].name != NULL) close(commons[i].fd);
}

static int end(void **state) {
  (void)state;
  drop_files();
  return 0;
}

/* amode: of rank 0, which counts. */
static void open_with(int amode) {
  drop_files();
  memset(commons, 0, sizeof commons);
  memset(own_errors, 0, sizeof own_errors);
  opens = 0;
  opened[0] = tm_file_open_on_nodes(&comms[0], "MPI_File_open", "name", amode);
  for (int i = 0; i < MEMBERS; i++) {
    comms[i].collectives = locals[i].collectives = 0;
    assert_int_equal(opened[i].amode, amode);
  }
  assert_int_equal(opened[MEMBERS - 1].error, opened[0].error); /* it knows of all */
}

static void all_nodes_open_one_file(void **state) {
  (void)state;
  open_with(AMODE | MPI_MODE_EXCL);
  assert_int_equal(opened[0].error, 0);
  assert_int_equal(amodes[0], AMODE | MPI_MODE_EXCL);
  assert_int_equal(amodes[1], MPI_MODE_RDWR); /* it is there by then */
  for (int i = 0; i < MEMBERS; i++) assert_ptr_equal(opened[i].common, &commons[i / 2]);
  for (int i = 0; i < NODES; i++) {
    const struct tm_file_common *common = &commons[i];
    assert_true(common->spans && common->amode == (AMODE | MPI_MODE_EXCL));
    assert_int_equal(common->begin, 30); /* of the first node */
    assert_int_equal(common->home_rank, FIRST_NUMBER);
    assert_int_equal(common->home, i == 0 ? 0 : (uintptr_t)&commons[0]);
  }
}

/* The lock of the first node is gone when the file is open. */
static void the_file_is_left_unlocked(void **state) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  (void)state;
  open_with(AMODE);
  assert_int_equal(opened[0].error, 0);
  for (int i = 0; i < NODES; i++) {
    lock.l_type = F_WRLCK;
    assert_int_equal(__real_fcntl(commons[i].fd, F_OFD_GETLK, &lock), 0);
    assert_int_equal(lock.l_type, F_UNLCK);
  }
}

/* Each process of the machine locks another byte. */
static void the_first_node_locks_a_byte_of_its_own(void **state) {
  char expected[100];
  int byte = 1 + (int)getpid();
  (void)state;
  notes_locks = true;
  open_with(AMODE);
  snprintf(expected, sizeof expected, "set write %d 1 get write %d 1 set none %d 1 ", byte, byte,
           byte);
  check_trace(expected);
  open_with(MPI_MODE_RDONLY);
  check_trace("");
}

static void check_opens(int amode, const char *first, const char *other, int error) {
  names[0] = first;
  names[1] = other;
  open_with(amode);
  assert_int_equal(opened[0].error, error);
}

static void a_file_of_each_node_is_not_one_file(void **state) {
  (void)state;
  check_opens(AMODE, file, copy, TM_NOT_ONE_FILE);
  error_of_lock = ENOLCK; /* then the inodes decide */
  check_opens(AMODE, file, copy, TM_NOT_ONE_FILE);
  check_opens(AMODE, file, file, 0);
}

static void copies_that_are_only_read_have_one_size(void **state) {
  (void)state;
  check_opens(MPI_MODE_RDONLY, file, copy, 0);
  assert_int_equal(truncate(copy, 101), 0);
  check_opens(MPI_MODE_RDONLY, file, copy, TM_NOT_ONE_FILE);
}

static void devices_are_no_files_with_data(void **state) {
  (void)state;
  check_opens(MPI_MODE_RDWR, "/dev/null", "/dev/zero", 0);
  check_opens(MPI_MODE_RDWR, "/dev/null", file, TM_NOT_ONE_FILE);
  check_opens(MPI_MODE_RDWR, file, "/dev/null", TM_NOT_ONE_FILE);
}

static void errors_of_a_node_are_those_of_all(void **state) {
  (void)state;
  errors[1] = EACCES;
  open_with(AMODE);
  assert_int_equal(opened[0].error, EACCES);
  errors[1] = ENOENT; /* the first node has it */
  open_with(AMODE);
  assert_int_equal(opened[0].error, TM_NOT_ONE_FILE);
  errors[0] = EISDIR;
  open_with(AMODE);
  assert_int_equal(opened[0].error, EISDIR);
  assert_int_equal(opens, 1);
  assert_null(opened[3].common);
}

static void a_file_that_cannot_be_looked_at_is_no_file_of_all(void **state) {
  (void)state;
  open_with(AMODE);
  error_of_stat = commons[1].fd; /* the next one gets this number, too */
  open_with(AMODE);
  assert_int_equal(opened[0].error, TM_NOT_ONE_FILE);
  error_of_stat = commons[0].fd;
  open_with(AMODE);
  assert_int_equal(opened[0].error, TM_NOT_ONE_FILE); /* it is no file with data */
}

/* ---- locks of atomic mode */

/* @return whether another node may lock a byte. */
static bool is_free(int type, off_t byte) {
  struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  assert_int_equal(__real_fcntl(commons[1].fd, F_OFD_GETLK, &lock), 0);
  return lock.l_type == F_UNLCK;
}

static void a_writer_keeps_others_out_and_a_reader_only_writers(void **state) {
  (void)state;
  open_with(AMODE);
  for (int writes = 0; writes < 2; writes++) {
    interrupts = 2;
    assert_int_equal(tm_file_lock(&commons[0], writes), 0);
    for (int last = 0; last < 2; last++) {
      off_t byte = last ? BEYOND - 1 : 0;
      assert_false(is_free(F_WRLCK, byte));
      assert_int_equal(is_free(F_RDLCK, byte), !writes);
    }
    assert_true(is_free(F_WRLCK, BEYOND));
    tm_file_unlock(&commons[0]);
    assert_true(is_free(F_WRLCK, 0) && is_free(F_WRLCK, BEYOND - 1));
  }
  error_of_lock = EDEADLK;
  assert_int_equal(tm_file_lock(&commons[0], true), EDEADLK);
  assert_int_equal(blocking, 0);
}

static void a_lock_is_touched_that_nobody_waits_for(void **state) {
  (void)state;
  open_with(AMODE);
  notes_locks = true;
  tm_file_touch_lock(&commons[0]);
  check_trace("set read 0 1 set none 0 1 ");
  assert_true(is_free(F_WRLCK, BEYOND));
  error_of_lock = ENOLCK;
  tm_file_touch_lock(&commons[0]);
  check_trace("set read 0 1 ");
}

/* Of one node rank 0 acts, and of several the first of each. */
static void the_first_member_of_a_node_acts_for_it(void **state) {
  (void)state;
  for (int i = 0; i < MEMBERS; i++) {
    struct tm_file of_member = {.comm = &comms[i]};
    assert_int_equal(tm_file_acts(&of_member), i % 2 == 0);
    comms[i].local_comm = NULL;
    assert_int_equal(tm_file_acts(&of_member), i == 0);
  }
}

static int make_files(void **state) {
  (void)state;
  close(mkstemp(file));
  close(mkstemp(copy));
  return 0;
}

static int remove_files(void **state) {
  (void)state;
  unlink(file);
  unlink(copy);
  return 0;
}

#define FILES(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      FILES(all_nodes_open_one_file),
      FILES(the_file_is_left_unlocked),
      FILES(the_first_node_locks_a_byte_of_its_own),
      FILES(a_file_of_each_node_is_not_one_file),
      FILES(copies_that_are_only_read_have_one_size),
      FILES(devices_are_no_files_with_data),
      FILES(errors_of_a_node_are_those_of_all),
      FILES(a_file_that_cannot_be_looked_at_is_no_file_of_all),
      FILES(a_writer_keeps_others_out_and_a_reader_only_writers),
      FILES(a_lock_is_touched_that_nobody_waits_for),
      FILES(the_first_member_of_a_node_acts_for_it),
  };
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
