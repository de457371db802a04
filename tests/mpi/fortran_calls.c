/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subroutines of Fortran whose arguments differ from those of the C functions (src/tmpi/bindings:
 * start.c, spawn.c, removed.c): texts and their lengths, argument vectors, integers that are
 * too short.
 */
#include "captured.h"
#include "fortran_memory.h"

static int error; /* that the C functions return */

MPI_Info MPI_Info_fromint(int number) { return HANDLE(number); }
MPI_Session MPI_Session_fromint(int number) { return HANDLE(number); }
MPI_Comm MPI_Comm_fromint(int number) { return HANDLE(number); }
MPI_Datatype MPI_Type_fromint(int number) { return HANDLE(number); }
MPI_Errhandler MPI_Errhandler_fromint(int number) { return HANDLE(number); }
int PMPI_Info_toint(MPI_Info info) { return NUMBER(info); }
int PMPI_Comm_toint(MPI_Comm comm) { return NUMBER(comm); }
int PMPI_Type_toint(MPI_Datatype type) { return NUMBER(type); }
int PMPI_Errhandler_toint(MPI_Errhandler handler) { return NUMBER(handler); }
void *tmf_address(void *buffer) { return buffer; }
MPI_Fint tmpi_errcodes_ignore_[1];
char tmpi_argv_null_[1], tmpi_argvs_null_[1];

/* ---- the start, and infos */

static int Init_of_c(int *argc, char ***argv) {
  note("init:%d", argc == NULL && argv == NULL);
  return error;
}
BOTH_NAMES(Init, (int *argc, char ***argv), (argc, argv))

static int Init_thread_of_c(int *argc, char ***argv, int required, int *provided) {
  note("init:%d,%d", argc == NULL && argv == NULL, required);
  *provided = 2;
  return error;
}
BOTH_NAMES(Init_thread, (int *argc, char ***argv, int required, int *provided),
           (argc, argv, required, provided))

static int Pcontrol_of_c(int level) {
  note("control:%d", level);
  return MPI_SUCCESS;
}
BOTH_NAMES(Pcontrol, (const int level, ...), (level))

static int Info_create_env_of_c(int argc, char *argv[], MPI_Info *info) {
  note("env:%d,%d", argc, argv == NULL);
  if (error == MPI_SUCCESS) *info = HANDLE(5000);
  return error;
}
BOTH_NAMES(Info_create_env, (int argc, char *argv[], MPI_Info *info), (argc, argv, info))

static int is_set = 1; /* the key of an info */

static int text_of_c(int *length, char *value) {
  static const char text[] = "value and more";
  if (error != MPI_SUCCESS || !is_set) return error;
  if (*length > 0) snprintf(value, (size_t)*length, "%s", text);
  *length = sizeof text;
  return MPI_SUCCESS;
}

static int Info_get_string_of_c(MPI_Info info, const char *key, int *length, char *value,
                                int *flag) {
  note("get:%d,%s,%d", NUMBER(info), key, *length);
  *flag = is_set;
  return text_of_c(length, value);
}
BOTH_NAMES(Info_get_string, (MPI_Info info, const char *key, int *length, char *value, int *flag),
           (info, key, length, value, flag))

static int Session_get_nth_pset_of_c(MPI_Session session, MPI_Info info, int n, int *length,
                                     char *name) {
  note("set:%d,%d,%d,%d", NUMBER(session), NUMBER(info), n, *length);
  return text_of_c(length, name);
}
BOTH_NAMES(Session_get_nth_pset,
           (MPI_Session session, MPI_Info info, int n, int *length, char *name),
           (session, info, n, length, name))

#define SUBROUTINES(p)                                                                             \
  void p##init_(MPI_Fint *ierror);                                                                 \
  void p##init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror);                  \
  void p##pcontrol_(MPI_Fint *level);                                                              \
  void p##info_create_env_(MPI_Fint *info, MPI_Fint *ierror);                                      \
  void p##info_get_string_(MPI_Fint *info, char *key, MPI_Fint *length, char *value,               \
                           MPI_Fint *flag, MPI_Fint *ierror, size_t key_n, size_t value_n);        \
  void p##session_get_nth_pset_(MPI_Fint *session, MPI_Fint *info, MPI_Fint *n, MPI_Fint *length,  \
                                char *name, MPI_Fint *ierror, size_t name_n);                      \
  void p##comm_spawn_(char *command, char *argv, MPI_Fint *ranks, MPI_Fint *info, MPI_Fint *root,  \
                      MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *codes, MPI_Fint *ierror,      \
                      size_t command_n, size_t argv_n);                                            \
  void p##comm_spawn_multiple_(MPI_Fint *count, char *commands, char *argvs, MPI_Fint *ranks,      \
                               MPI_Fint *infos, MPI_Fint *root, MPI_Fint *comm,                    \
                               MPI_Fint *intercomm, MPI_Fint *codes, MPI_Fint *ierror,             \
                               size_t command_n, size_t argv_n);                                   \
  void p##address_(void *location, MPI_Fint *address, MPI_Fint *ierror);                           \
  void p##type_extent_(MPI_Fint *type, MPI_Fint *extent, MPI_Fint *ierror);                        \
  void p##type_lb_(MPI_Fint *type, MPI_Fint *lb, MPI_Fint *ierror);                                \
  void p##type_ub_(MPI_Fint *type, MPI_Fint *ub, MPI_Fint *ierror);                                \
  void p##type_hindexed_(MPI_Fint *count, MPI_Fint *lengths, MPI_Fint *displacements,              \
                         MPI_Fint *type, MPI_Fint *newtype, MPI_Fint *ierror);
SUBROUTINES(mpi_)
SUBROUTINES(pmpi_)

static void a_program_starts_without_arguments(void **state) {
  void (*const init[])(MPI_Fint *) = BOTH(init_);
  void (*const init_thread[])(MPI_Fint *, MPI_Fint *, MPI_Fint *) = BOTH(init_thread_);
  void (*const control[])(MPI_Fint *) = BOTH(pcontrol_);
  void (*const create_env[])(MPI_Fint *, MPI_Fint *) = BOTH(info_create_env_);
  MPI_Fint ierror, level = 3, provided = -7, info = -7;
  (void)state;
  for (int p = 0; p < 2; p++) {
    profiled = p;
    for (error = MPI_SUCCESS; error < 2; error++) {
      ierror = -7;
      init[p](&ierror);
      assert_int_equal(ierror, error);
      ierror = -7;
      init_thread[p](&level, &provided, &ierror);
      assert_int_equal(ierror, error);
      assert_int_equal(provided, 2);
      ierror = -7;
      create_env[p](&info, &ierror);
      assert_int_equal(ierror, error);
      assert_int_equal(info, error == MPI_SUCCESS ? 5000 : NUMBER(MPI_INFO_NULL));
      control[p](&level);
      check_trace("init:1 init:1,3 env:0,1 control:3 ");
    }
  }
  error = MPI_SUCCESS;
}

/* What Fortran finds in `length` of a variable of 7 characters. */
static void check_texts(MPI_Fint length, const char *expected, MPI_Fint expected_length) {
  void (*const get[])(MPI_Fint *, char *, MPI_Fint *, char *, MPI_Fint *, MPI_Fint *, size_t,
                      size_t) = BOTH(info_get_string_);
  void (*const set[])(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, char *, MPI_Fint *, size_t) =
      BOTH(session_get_nth_pset_);
  char key[] = "key  ", line[100];
  MPI_Fint info = 5000, session = 6000, n = 4, flag, ierror;
  for (int p = 0; p < 2; p++) {
    char value[] = "########", name[] = "########";
    MPI_Fint found = length;
    profiled = p;
    ierror = -7;
    get[p](&info, key, &found, value, &flag, &ierror, 5, 7);
    snprintf(line, sizeof line, "get:5000,key,%d ", length > 0 ? length + 1 : 0);
    check_trace(line);
    assert_int_equal(ierror, error);
    assert_string_equal(value, expected);
    assert_int_equal(found, expected_length);
    if (!is_set) continue; /* a set of processes has a name */
    found = length;
    ierror = -7;
    set[p](&session, &info, &n, &found, name, &ierror, 7);
    snprintf(line, sizeof line, "set:6000,5000,4,%d ", length > 0 ? length + 1 : 0);
    check_trace(line);
    assert_int_equal(ierror, error);
    assert_string_equal(name, expected);
    assert_int_equal(found, expected_length);
  }
  assert_int_equal(blocks, 0);
}

static void the_length_of_a_text_is_without_an_end_in_fortran(void **state) {
  (void)state;
  check_texts(0, "########", 14); /* the length alone is asked for */
  check_texts(1, "v      #", 14);
  check_texts(5, "value  #", 14);
  check_texts(7, "value a#", 14);
  check_texts(100, "value a#", 14);
}

static void a_text_that_is_not_there_leaves_the_variable(void **state) {
  (void)state;
  is_set = 0;
  check_texts(5, "########", 5);
  is_set = 1;
  error = MPI_ERR_INFO_KEY;
  check_texts(5, "########", 5);
  error = MPI_SUCCESS;
}

/* ---- spawning */

static void note_vector(char *argv[]) {
  if (argv == MPI_ARGV_NULL) note("null");
  for (; argv != MPI_ARGV_NULL && *argv != NULL; argv++) note("%s", *argv);
}

static int Comm_spawn_of_c(const char *command, char *argv[], int ranks, MPI_Info info, int root,
                           MPI_Comm comm, MPI_Comm *intercomm, int codes[]) {
  note("%s:%d,%d,%d,%d", command, ranks, NUMBER(info), root, NUMBER(comm));
  note_vector(argv);
  if (codes != MPI_ERRCODES_IGNORE) codes[0] = 17;
  if (error == MPI_SUCCESS) *intercomm = HANDLE(7000);
  return error;
}
BOTH_NAMES(Comm_spawn,
           (const char *command, char *argv[], int ranks, MPI_Info info, int root, MPI_Comm comm,
            MPI_Comm *intercomm, int codes[]),
           (command, argv, ranks, info, root, comm, intercomm, codes))

static int Comm_spawn_multiple_of_c(int count, char *commands[], char **argvs[], const int ranks[],
                                    const MPI_Info infos[], int root, MPI_Comm comm,
                                    MPI_Comm *intercomm, int codes[]) {
  note("%d,%d,%d:", count, root, NUMBER(comm));
  if (argvs == MPI_ARGVS_NULL) note("nulls");
  for (int i = 0; i < count; i++) {
    note("%s:%d,%d", commands[i], ranks[i], NUMBER(infos[i]));
    if (argvs != MPI_ARGVS_NULL) note_vector(argvs[i]);
  }
  if (codes != MPI_ERRCODES_IGNORE) codes[0] = 17;
  if (error == MPI_SUCCESS) *intercomm = HANDLE(7000);
  return error;
}
BOTH_NAMES(Comm_spawn_multiple,
           (int count, char *commands[], char **argvs[], const int ranks[], const MPI_Info infos[],
            int root, MPI_Comm comm, MPI_Comm *intercomm, int codes[]),
           (count, commands, argvs, ranks, infos, root, comm, intercomm, codes))

/* The subroutine of one command, with these words. codes: NULL: none are wanted. */
static void spawn(int p, char *words, const char *expected, MPI_Fint *codes) {
  void (*const spawns[])(char *, char *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *,
                         MPI_Fint *, MPI_Fint *, size_t, size_t) = BOTH(comm_spawn_);
  MPI_Fint ranks = 3, info = 5000, root = 1, comm = 6000, made = -7, ierror = -7;
  char command[] = "prog ", line[400];
  profiled = p;
  spawns[p](command, words, &ranks, &info, &root, &comm, &made,
            codes != NULL ? codes : tmpi_errcodes_ignore_, &ierror, 5, 4);
  assert_int_equal(ierror, error);
  assert_int_equal(made, error == MPI_SUCCESS ? 7000 : NUMBER(MPI_COMM_NULL));
  snprintf(line, sizeof line, "prog:3,5000,1,6000 %s", expected);
  check_trace(line);
  assert_int_equal(blocks, 0);
}

static void a_blank_word_ends_the_arguments(void **state) {
  enum { MOST = 40, WIDTH = 4 };
  (void)state;
  for (int count = 0; count <= MOST; count++) {
    char words[WIDTH * (MOST + 2) + 1] = "", expected[WIDTH * MOST + 1] = "";
    for (int i = 0; i < count; i++) {
      const char word[WIDTH] = {'w', (char)('0' + i / 10), (char)('0' + i % 10), ' '};
      memcpy(words + WIDTH * i, word, WIDTH);
    }
    memcpy(expected, words, sizeof expected);
    memcpy(words + WIDTH * count, "    more", 8);
    spawn(count % 2, words, expected, NULL);
  }
}

static void arguments_and_codes_may_be_left_out(void **state) {
  MPI_Fint codes[1] = {-7};
  (void)state;
  for (int p = 0; p < 2; p++) {
    spawn(p, tmpi_argv_null_, "null ", codes);
    assert_int_equal(codes[0], 17);
    error = MPI_ERR_SPAWN;
    spawn(p, tmpi_argv_null_, "null ", NULL);
    error = MPI_SUCCESS;
  }
}

static void spawn_many(MPI_Fint count, char *words, const char *expected) {
  void (*const spawns[])(MPI_Fint *, char *, char *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *,
                         MPI_Fint *, MPI_Fint *, MPI_Fint *, size_t, size_t) =
      BOTH(comm_spawn_multiple_);
  MPI_Fint ranks[] = {3, 4}, infos[] = {5000, 5001}, root = 1, comm = 6000;
  char commands[] = "one  other";
  for (int p = 0; p < 2; p++) {
    MPI_Fint codes[1] = {-7}, made = -7, ierror = -7;
    profiled = p;
    spawns[p](&count, commands, words, ranks, infos, &root, &comm, &made, codes, &ierror, 5, 4);
    assert_int_equal(ierror, error);
    assert_int_equal(made, error == MPI_SUCCESS ? 7000 : NUMBER(MPI_COMM_NULL));
    assert_int_equal(codes[0], 17);
    check_trace(expected);
    assert_int_equal(blocks, 0);
  }
}

/* The rows of a matrix, which Fortran stores by columns. */
static void each_command_has_a_row_of_arguments(void **state) {
  char words[] = "a1  b   a2      a3              ";
  (void)state;
  spawn_many(2, words, "2,1,6000: one:3,5000 a1 a2 a3 other:4,5001 b ");
  spawn_many(2, tmpi_argvs_null_, "2,1,6000: nulls one:3,5000 other:4,5001 ");
  error = MPI_ERR_SPAWN;
  spawn_many(1, tmpi_argvs_null_, "1,1,6000: nulls one:3,5000 ");
  spawn_many(0, tmpi_argvs_null_, "0,1,6000: nulls ");
  spawn_many(-1, tmpi_argvs_null_, "-1,1,6000: nulls ");
  error = MPI_SUCCESS;
}

/* ---- what MPI 3.0 removed */

static MPI_Aint lower, extent, location;

static int Get_address_of_c(const void *of, MPI_Aint *address) {
  assert_ptr_equal(of, &location);
  *address = location;
  return error;
}
BOTH_NAMES(Get_address, (const void *of, MPI_Aint *address), (of, address))

static int Type_get_extent_of_c(MPI_Datatype type, MPI_Aint *lb, MPI_Aint *found) {
  assert_int_equal(NUMBER(type), 8000);
  if (error != MPI_SUCCESS) return error;
  *lb = lower;
  *found = extent;
  return MPI_SUCCESS;
}
BOTH_NAMES(Type_get_extent, (MPI_Datatype type, MPI_Aint *lb, MPI_Aint *found), (type, lb, found))

static int Type_create_hindexed_of_c(int count, const int lengths[], const MPI_Aint displs[],
                                     MPI_Datatype old, MPI_Datatype *made) {
  for (int i = 0; i < count; i++) note("%d@%td", lengths[i], displs[i]);
  assert_int_equal(NUMBER(old), 8000);
  *made = HANDLE(8001);
  return MPI_SUCCESS;
}
BOTH_NAMES(Type_create_hindexed,
           (int count, const int lengths[], const MPI_Aint displs[], MPI_Datatype old,
            MPI_Datatype *made),
           (count, lengths, displs, old, made))

#define UNUSED_NAMES(name, parameters)                                                             \
  int MPI_##name parameters { return MPI_ERR_OTHER; }                                              \
  int PMPI_##name parameters { return MPI_ERR_OTHER; }
UNUSED_NAMES(Type_create_hvector, (int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *))
UNUSED_NAMES(Type_create_struct,
             (int, const int[], const MPI_Aint[], const MPI_Datatype[], MPI_Datatype *))
UNUSED_NAMES(Comm_set_errhandler, (MPI_Comm, MPI_Errhandler))
UNUSED_NAMES(Comm_get_errhandler, (MPI_Comm, MPI_Errhandler *))
void mpi_comm_create_errhandler_(void (*subroutine)(void), MPI_Fint *handler, MPI_Fint *ierror);
void pmpi_comm_create_errhandler_(void (*subroutine)(void), MPI_Fint *handler, MPI_Fint *ierror);
void mpi_comm_create_errhandler_(void (*)(void), MPI_Fint *, MPI_Fint *) {}
void pmpi_comm_create_errhandler_(void (*)(void), MPI_Fint *, MPI_Fint *) {}

int PMPI_Comm_call_errhandler(MPI_Comm comm, int code) {
  note("handler:%d,%d", comm == MPI_COMM_WORLD, code);
  return MPI_SUCCESS;
}

/* What the three subroutines and MPI_ADDRESS store; -7: nothing. */
static void check_bounds(MPI_Fint lb, MPI_Fint ub, MPI_Fint whole, MPI_Fint address) {
  void (*const calls[][2])(MPI_Fint *, MPI_Fint *, MPI_Fint *) = {BOTH(type_lb_), BOTH(type_ub_),
                                                                  BOTH(type_extent_)};
  void (*const addresses[])(void *, MPI_Fint *, MPI_Fint *) = BOTH(address_);
  const MPI_Fint expected[] = {lb, ub, whole};
  for (int p = 0; p < 2; p++) {
    MPI_Fint type = 8000, found, ierror;
    profiled = p;
    for (int i = 0; i < 3; i++) {
      found = ierror = -7;
      calls[i][p](&type, &found, &ierror);
      assert_int_equal(ierror, error);
      assert_int_equal(found, expected[i]);
    }
    found = ierror = -7;
    addresses[p](&location, &found, &ierror);
    assert_int_equal(ierror, error);
    assert_int_equal(found, address);
  }
}

static void bounds_are_integers(void **state) {
  (void)state;
  lower = -5, extent = 1000, location = 123456;
  check_bounds(-5, 995, 1000, 123456);
  lower = 0, extent = INT32_MAX, location = INT32_MIN;
  check_bounds(0, INT32_MAX, INT32_MAX, INT32_MIN);
  error = MPI_ERR_TYPE;
  check_bounds(-7, -7, -7, -7);
  error = MPI_SUCCESS;
  check_trace("");
}

static void a_bound_that_does_not_fit_is_an_error(void **state) {
  MPI_Fint type = 8000, found = -7, ierror = -7;
  char text[300];
  (void)state;
  profiled = false;
  lower = 0, extent = 1LL << 31, location = 1LL << 40;
  struct captured captured = captured_begin();
  mpi_type_extent_(&type, &found, &ierror);
  assert_int_equal(ierror, MPI_ERR_ARG);
  ierror = -7;
  mpi_address_(&location, &found, &ierror);
  assert_int_equal(ierror, MPI_ERR_ARG);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text,
                      "tmpi: MPI_TYPE_EXTENT, _LB or _UB: 2147483648 does not fit into an "
                      "INTEGER (call MPI_TYPE_GET_EXTENT)\n"
                      "tmpi: MPI_ADDRESS: 1099511627776 does not fit into an INTEGER (call "
                      "MPI_GET_ADDRESS)\n");
  char line[60];
  snprintf(line, sizeof line, "handler:1,%d handler:1,%d ", MPI_ERR_ARG, MPI_ERR_ARG);
  check_trace(line);
}

static void displacements_become_wide(void **state) {
  void (*const create[])(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *) =
      BOTH(type_hindexed_);
  MPI_Fint count = 3, lengths[] = {1, 2, 3}, displs[] = {-8, 0, INT32_MAX}, type = 8000, made = -7;
  (void)state;
  for (int p = 0; p < 2; p++) {
    MPI_Fint ierror = -7;
    profiled = p;
    create[p](&count, lengths, displs, &type, &made, &ierror);
    assert_int_equal(ierror, MPI_SUCCESS);
    assert_int_equal(made, 8001);
    check_trace("1@-8 2@0 3@2147483647 ");
    assert_int_equal(blocks, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_starts_without_arguments),
      cmocka_unit_test(the_length_of_a_text_is_without_an_end_in_fortran),
      cmocka_unit_test(a_text_that_is_not_there_leaves_the_variable),
      cmocka_unit_test(a_blank_word_ends_the_arguments),
      cmocka_unit_test(arguments_and_codes_may_be_left_out),
      cmocka_unit_test(each_command_has_a_row_of_arguments),
      cmocka_unit_test(bounds_are_integers),
      cmocka_unit_test(a_bound_that_does_not_fit_is_an_error),
      cmocka_unit_test(displacements_become_wide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
