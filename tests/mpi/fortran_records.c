/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subroutines of Fortran that MPI calls (src/tmpi/bindings: attributes.c and requests.c): the C
 * functions that stand for them, the records that these get, and when a record is freed.
 */
#include "fortran_memory.h"
#include "tmpi/attr/integer.h"

static int error;  /* that the C functions return */
static int ierror; /* that subroutines of the program return */

MPI_Comm MPI_Comm_fromint(int number) { return HANDLE(number); }
MPI_Datatype MPI_Type_fromint(int number) { return HANDLE(number); }
MPI_Win MPI_Win_fromint(int number) { return HANDLE(number); }
int PMPI_Comm_toint(MPI_Comm comm) { return NUMBER(comm); }
int PMPI_Type_toint(MPI_Datatype type) { return NUMBER(type); }
int PMPI_Win_toint(MPI_Win win) { return NUMBER(win); }
int PMPI_File_toint(MPI_File file) { return NUMBER(file); }
int PMPI_Session_toint(MPI_Session session) { return NUMBER(session); }
int PMPI_Op_toint(MPI_Op op) { return NUMBER(op); }
int PMPI_Request_toint(MPI_Request request) { return NUMBER(request); }
int PMPI_Errhandler_toint(MPI_Errhandler handler) { return NUMBER(handler); }

/* ---- attributes */

typedef void copy_subroutine(MPI_Fint *, MPI_Fint *, MPI_Aint *, MPI_Aint *, MPI_Aint *, MPI_Fint *,
                             MPI_Fint *);
typedef void delete_subroutine(MPI_Fint *, MPI_Fint *, MPI_Aint *, MPI_Aint *, MPI_Fint *);
typedef void create_subroutine(copy_subroutine *, delete_subroutine *, MPI_Fint *, MPI_Aint *,
                               MPI_Fint *);
typedef void set_subroutine(MPI_Fint *, MPI_Fint *, MPI_Aint *, MPI_Fint *);
typedef void get_subroutine(MPI_Fint *, MPI_Fint *, MPI_Aint *, MPI_Fint *, MPI_Fint *);

static void *record;        /* the extra state of what was made last */
static void *found;         /* by get_attr() */
static bool is_there;       /* an attribute */
static bool is_fortrans;    /* it was set by Fortran */
static const int KEY = 900; /* that is made */

void tm_keyval_of_fortran(int keyval) { note("fortran:%d", keyval); }

bool tm_attribute_of_fortran(enum tm_attributes_of of, void *handle, int keyval, bool make) {
  note("%s:%d,%d,%d", make ? "make" : "is", (int)of, NUMBER(handle), keyval);
  return is_fortrans;
}

/* What the three classes of objects have alike. */
#define CLASS(name, lower, type)                                                                   \
  static MPI_##name##_copy_attr_function *name##_copy;                                             \
  static MPI_##name##_delete_attr_function *name##_delete;                                         \
  static int name##_create_keyval_of_c(MPI_##name##_copy_attr_function *copy,                      \
                                       MPI_##name##_delete_attr_function *del, int *keyval,        \
                                       void *extra) {                                              \
    name##_copy = copy;                                                                            \
    name##_delete = del;                                                                           \
    record = extra;                                                                                \
    if (error == MPI_SUCCESS) *keyval = KEY;                                                       \
    return error;                                                                                  \
  }                                                                                                \
  BOTH_NAMES(name##_create_keyval,                                                                 \
             (MPI_##name##_copy_attr_function * copy, MPI_##name##_delete_attr_function * del,     \
              int *keyval, void *extra),                                                           \
             (copy, del, keyval, extra))                                                           \
  static int name##_set_attr_of_c(type object, int keyval, void *value) {                          \
    note("set:%d,%d,%d", NUMBER(object), keyval, NUMBER(value));                                   \
    return error;                                                                                  \
  }                                                                                                \
  BOTH_NAMES(name##_set_attr, (type object, int keyval, void *value), (object, keyval, value))     \
  static int name##_get_attr_of_c(type object, int keyval, void *value, int *flag) {               \
    note("get:%d,%d", NUMBER(object), keyval);                                                     \
    *flag = is_there;                                                                              \
    if (is_there) memcpy(value, &found, sizeof found);                                             \
    return error;                                                                                  \
  }                                                                                                \
  BOTH_NAMES(name##_get_attr, (type object, int keyval, void *value, int *flag),                   \
             (object, keyval, value, flag))                                                        \
  static int name##_copied(int object, void *value, void *copy, int *flag) {                       \
    return name##_copy(HANDLE(object), KEY, record, value, copy, flag);                            \
  }                                                                                                \
  static int name##_deleted(int object, void *value) {                                             \
    return name##_delete(HANDLE(object), KEY, value, record);                                      \
  }                                                                                                \
  create_subroutine mpi_##lower##_create_keyval_, pmpi_##lower##_create_keyval_;                   \
  set_subroutine mpi_##lower##_set_attr_, pmpi_##lower##_set_attr_;                                \
  get_subroutine mpi_##lower##_get_attr_, pmpi_##lower##_get_attr_;                                \
  copy_subroutine mpi_##lower##_null_copy_fn_, mpi_##lower##_dup_fn_;                              \
  delete_subroutine mpi_##lower##_null_delete_fn_;
CLASS(Comm, comm, MPI_Comm)
CLASS(Type, type, MPI_Datatype)
CLASS(Win, win, MPI_Win)

#define ROW(name, lower)                                                                           \
  {BOTH(lower##_create_keyval_),                                                                   \
   BOTH(lower##_set_attr_),                                                                        \
   BOTH(lower##_get_attr_),                                                                        \
   mpi_##lower##_null_copy_fn_,                                                                    \
   mpi_##lower##_dup_fn_,                                                                          \
   mpi_##lower##_null_delete_fn_,                                                                  \
   name##_copied,                                                                                  \
   name##_deleted}

static const struct class {
  create_subroutine *create[2];
  set_subroutine *set[2];
  get_subroutine *get[2];
  copy_subroutine *null_copy, *dup;
  delete_subroutine *null_delete;
  int (*copied)(int object, void *value, void *copy, int *flag);
  int (*deleted)(int object, void *value);
} classes[] = {ROW(Comm, comm), ROW(Type, type), ROW(Win, win)};

enum { CLASSES = sizeof classes / sizeof classes[0], OBJECT = 6000 };

static void copy_one_more(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *value,
                          MPI_Aint *copy, MPI_Fint *flag, MPI_Fint *result) {
  note("copy:%d,%d,%td,%td", *object, *keyval, *extra, *value);
  *copy = *value + 1;
  *flag = 1;
  assert_int_equal(*result, MPI_SUCCESS);
  *result = ierror;
}

static void delete_it(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra,
                      MPI_Fint *result) {
  note("delete:%d,%d,%td,%td", *object, *keyval, *value, *extra);
  assert_int_equal(*result, MPI_SUCCESS);
  *result = ierror;
}

static void a_key_has_the_subroutines_and_their_state(void **state) {
  (void)state;
  for (int i = 0; i < 2 * CLASSES; i++) {
    const struct class *class = &classes[i / 2];
    MPI_Aint extra = 1LL << 40;
    MPI_Fint keyval = -7, result = -7;
    void *copy = NULL;
    int flag = 0;
    profiled = i % 2;
    class->create[i % 2](copy_one_more, delete_it, &keyval, &extra, &result);
    assert_int_equal(result, MPI_SUCCESS);
    assert_int_equal(keyval, KEY);
    check_trace("fortran:900 ");
    extra = 0; /* the key has the value of before */
    for (ierror = MPI_SUCCESS; ierror < 2; ierror++) {
      assert_int_equal(class->copied(OBJECT, HANDLE(41), &copy, &flag), ierror);
      assert_true(NUMBER(copy) == 42 && flag == 1);
      assert_int_equal(class->deleted(OBJECT, HANDLE(41)), ierror);
      check_trace("copy:6000,900,1099511627776,41 delete:6000,900,41,1099511627776 ");
    }
    assert_int_equal(blocks, 1); /* the library frees it with the key */
    free(record);
  }
  ierror = MPI_SUCCESS;
}

static void a_key_that_is_not_made_has_no_record(void **state) {
  (void)state;
  error = MPI_ERR_NO_MEM;
  for (int i = 0; i < 2 * CLASSES; i++) {
    MPI_Aint extra = 5;
    MPI_Fint keyval = -7, result = -7;
    profiled = i % 2;
    classes[i / 2].create[i % 2](copy_one_more, delete_it, &keyval, &extra, &result);
    assert_int_equal(result, error);
    check_trace("");
    assert_int_equal(blocks, 0);
  }
  error = MPI_SUCCESS;
}

static void an_attribute_that_is_set_is_fortrans(void **state) {
  char line[60];
  (void)state;
  for (int i = 0; i < 2 * CLASSES; i++)
    for (error = MPI_SUCCESS; error < 2; error++) {
      MPI_Fint object = OBJECT, keyval = KEY, result = -7;
      MPI_Aint value = 41;
      profiled = i % 2;
      classes[i / 2].set[i % 2](&object, &keyval, &value, &result);
      assert_int_equal(result, error);
      snprintf(line, sizeof line, "set:6000,900,41 make:%d,6000,900 ", i / 2);
      check_trace(error == MPI_SUCCESS ? line : "set:6000,900,41 ");
    }
  error = MPI_SUCCESS;
}

/* What a subroutine finds at a key. */
static MPI_Aint value_of(int i, MPI_Fint keyval) {
  MPI_Fint object = OBJECT, flag = -7, result = -7;
  MPI_Aint value = -7;
  char line[60];
  profiled = i % 2;
  classes[i / 2].get[i % 2](&object, &keyval, &value, &flag, &result);
  assert_int_equal(result, error);
  assert_int_equal(flag, is_there);
  snprintf(line, sizeof line, "get:6000,%d is:%d,6000,%d ", keyval, i / 2, keyval);
  if (error != MPI_SUCCESS || !is_there) snprintf(line, sizeof line, "get:6000,%d ", keyval);
  check_trace(line);
  return value;
}

static void an_attribute_is_the_value_at_cs_address_or_that_address(void **state) {
  static const int at_ints[] = {MPI_TAG_UB,          MPI_HOST,          MPI_IO,
                                MPI_WTIME_IS_GLOBAL, MPI_APPNUM,        MPI_LASTUSEDCODE,
                                MPI_UNIVERSE_SIZE,   MPI_WIN_DISP_UNIT, MPI_WIN_CREATE_FLAVOR,
                                MPI_WIN_MODEL};
  static const int addresses[] = {MPI_TAG_UB - 1, MPI_UNIVERSE_SIZE + 1, MPI_WIN_BASE, 900};
  static MPI_Aint integer = (7LL << 40) + 5;
  int beginning;
  (void)state;
  memcpy(&beginning, &integer, sizeof beginning);
  is_there = true;
  found = &integer;
  for (int i = 0; i < 2 * CLASSES; i++) {
    for (size_t k = 0; k < sizeof at_ints / sizeof at_ints[0]; k++)
      assert_int_equal(value_of(i, at_ints[k]), beginning);
    for (size_t k = 0; k < sizeof addresses / sizeof addresses[0]; k++)
      assert_int_equal(value_of(i, addresses[k]), (MPI_Aint)&integer);
    assert_int_equal(value_of(i, MPI_WIN_SIZE), integer);
    is_fortrans = true;
    assert_int_equal(value_of(i, 900), integer);
    is_fortrans = false;
  }
}

static void what_is_not_there_leaves_the_value(void **state) {
  (void)state;
  for (int i = 0; i < 2 * CLASSES; i++) {
    is_there = false;
    assert_int_equal(value_of(i, 900), -7);
    is_there = true;
    error = MPI_ERR_KEYVAL;
    assert_int_equal(value_of(i, 900), -7);
    error = MPI_SUCCESS;
  }
}

static void predefined_subroutines_copy_or_do_not(void **state) {
  MPI_Fint object = OBJECT, keyval = KEY;
  MPI_Aint extra = 5, value = 41;
  (void)state;
  for (int i = 0; i < CLASSES; i++) {
    MPI_Fint flag = -7, result = -7;
    MPI_Aint copy = -7;
    classes[i].null_copy(&object, &keyval, &extra, &value, &copy, &flag, &result);
    assert_true(flag == 0 && copy == -7 && result == MPI_SUCCESS);
    result = -7;
    classes[i].dup(&object, &keyval, &extra, &value, &copy, &flag, &result);
    assert_true(flag == 1 && copy == 41 && result == MPI_SUCCESS);
    result = -7;
    classes[i].null_delete(&object, &keyval, &value, &extra, &result);
    assert_int_equal(result, MPI_SUCCESS);
  }
}

/* ---- the names before MPI 2, whose values are integers of the default kind */

typedef void copy_subroutine_1(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *,
                               MPI_Fint *, MPI_Fint *);
typedef void delete_subroutine_1(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
#define OLD_NAMES(p)                                                                               \
  void p##keyval_create_(copy_subroutine_1 *copy, delete_subroutine_1 *del, MPI_Fint *keyval,      \
                         MPI_Fint *extra, MPI_Fint *result);                                       \
  void p##attr_get_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *flag,             \
                    MPI_Fint *result);                                                             \
  void p##attr_put_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *result);
OLD_NAMES(mpi_)
OLD_NAMES(pmpi_)
copy_subroutine_1 mpi_null_copy_fn_, mpi_dup_fn_;
delete_subroutine_1 mpi_null_delete_fn_;

static void copy_one_more_1(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *extra, MPI_Fint *value,
                            MPI_Fint *copy, MPI_Fint *flag, MPI_Fint *result) {
  note("copy:%d,%d,%d,%d", *object, *keyval, *extra, *value);
  *copy = *value + 1;
  *flag = 1;
  assert_int_equal(*result, MPI_SUCCESS);
  *result = ierror;
}

static void delete_it_1(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *extra,
                        MPI_Fint *result) {
  note("delete:%d,%d,%d,%d", *object, *keyval, *value, *extra);
  assert_int_equal(*result, MPI_SUCCESS);
  *result = ierror;
}

static void a_key_of_mpi_1_has_short_integers(void **state) {
  void (*const create[])(copy_subroutine_1 *, delete_subroutine_1 *, MPI_Fint *, MPI_Fint *,
                         MPI_Fint *) = BOTH(keyval_create_);
  (void)state;
  for (int p = 0; p < 2; p++) {
    MPI_Fint keyval = -7, result = -7, extra = -5;
    void *copy = NULL;
    int flag = 0;
    profiled = p;
    create[p](copy_one_more_1, delete_it_1, &keyval, &extra, &result);
    assert_true(result == MPI_SUCCESS && keyval == KEY);
    check_trace("fortran:900 ");
    for (ierror = MPI_SUCCESS; ierror < 2; ierror++) {
      assert_int_equal(Comm_copied(OBJECT, HANDLE(-3), &copy, &flag), ierror);
      assert_true((MPI_Aint)copy == -2 && flag == 1);
      assert_int_equal(Comm_deleted(OBJECT, HANDLE(-3)), ierror);
      check_trace("copy:6000,900,-5,-3 delete:6000,900,-3,-5 ");
    }
    free(record);
    error = MPI_ERR_NO_MEM;
    result = -7;
    create[p](copy_one_more_1, delete_it_1, &keyval, &extra, &result);
    assert_int_equal(result, error);
    assert_int_equal(blocks, 0);
    error = ierror = MPI_SUCCESS;
  }
}

static void an_attribute_of_mpi_1_is_a_short_integer(void **state) {
  void (*const get[])(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *) = BOTH(attr_get_);
  void (*const put[])(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *) = BOTH(attr_put_);
  (void)state;
  for (int p = 0; p < 2; p++) {
    MPI_Fint comm = OBJECT, keyval = KEY, value = -41, flag = -7, result = -7;
    static MPI_Aint integer = -41;
    profiled = p;
    put[p](&comm, &keyval, &value, &result);
    assert_int_equal(result, MPI_SUCCESS);
    check_trace("set:6000,900,-41 make:0,6000,900 ");
    found = &integer;
    is_there = is_fortrans = true;
    value = result = -7;
    get[p](&comm, &keyval, &value, &flag, &result);
    assert_true(result == MPI_SUCCESS && flag == 1 && value == -41);
    value = -7;
    is_there = is_fortrans = false;
    get[p](&comm, &keyval, &value, &flag, &result);
    assert_true(result == MPI_SUCCESS && flag == 0 && value == -7);
    is_there = true;
    error = MPI_ERR_KEYVAL;
    get[p](&comm, &keyval, &value, &flag, &result);
    assert_true(result == MPI_ERR_KEYVAL && value == -7);
    error = MPI_SUCCESS;
    trace[0] = '\0';
  }
}

static void predefined_subroutines_of_mpi_1_copy_or_do_not(void **state) {
  MPI_Fint comm = OBJECT, keyval = KEY, extra = 5, value = 41, copy = -7, flag = -7, result = -7;
  (void)state;
  mpi_null_copy_fn_(&comm, &keyval, &extra, &value, &copy, &flag, &result);
  assert_true(flag == 0 && copy == -7 && result == MPI_SUCCESS);
  result = -7;
  mpi_dup_fn_(&comm, &keyval, &extra, &value, &copy, &flag, &result);
  assert_true(flag == 1 && copy == 41 && result == MPI_SUCCESS);
  result = -7;
  mpi_null_delete_fn_(&comm, &keyval, &value, &extra, &result);
  assert_int_equal(result, MPI_SUCCESS);
}

/* ---- generalized requests */

static MPI_Grequest_query_function *query;
static MPI_Grequest_free_function *release;
static MPI_Grequest_cancel_function *cancel;

static int Grequest_start_of_c(MPI_Grequest_query_function *query_,
                               MPI_Grequest_free_function *free_,
                               MPI_Grequest_cancel_function *cancel_, void *extra,
                               MPI_Request *request) {
  query = query_;
  release = free_;
  cancel = cancel_;
  record = extra;
  if (error == MPI_SUCCESS) *request = HANDLE(9000);
  return error;
}
BOTH_NAMES(Grequest_start,
           (MPI_Grequest_query_function * query_, MPI_Grequest_free_function *free_,
            MPI_Grequest_cancel_function *cancel_, void *extra, MPI_Request *request),
           (query_, free_, cancel_, extra, request))

#define GREQUEST(p)                                                                                \
  void p##grequest_start_(void (*query)(MPI_Aint *, MPI_Fint *, MPI_Fint *),                       \
                          void (*release)(MPI_Aint *, MPI_Fint *),                                 \
                          void (*cancel)(MPI_Aint *, MPI_Fint *, MPI_Fint *), MPI_Aint *extra,     \
                          MPI_Fint *request, MPI_Fint *result);
GREQUEST(mpi_)
GREQUEST(pmpi_)

static void query_it(MPI_Aint *extra, MPI_Fint *status, MPI_Fint *result) {
  note("query:%td", (*extra)++);
  status[0] = 88;
  assert_int_equal(*result, MPI_SUCCESS);
  *result = ierror;
}

static void free_it(MPI_Aint *extra, MPI_Fint *result) {
  note("free:%td", (*extra)++);
  assert_int_equal(*result, MPI_SUCCESS);
  *result = ierror;
}

static void cancel_it(MPI_Aint *extra, MPI_Fint *complete, MPI_Fint *result) {
  note("cancel:%td,%d", (*extra)++, *complete);
  assert_int_equal(*result, MPI_SUCCESS);
  *result = ierror;
}

static void a_request_has_its_record_until_it_is_freed(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    MPI_Aint extra = 5; /* the program's variable, which its subroutines change */
    MPI_Fint request = -7, result = -7;
    MPI_Status status = {0};
    profiled = i % 2;
    ierror = i / 2;
    (profiled ? pmpi_grequest_start_ : mpi_grequest_start_)(query_it, free_it, cancel_it, &extra,
                                                            &request, &result);
    assert_true(result == MPI_SUCCESS && request == 9000);
    assert_int_equal(query(record, &status), ierror);
    assert_int_equal(*(MPI_Fint *)&status, 88);
    assert_int_equal(cancel(record, 1), ierror);
    assert_int_equal(blocks, 1);
    assert_int_equal(release(record), ierror);
    check_trace("query:5 cancel:6,1 free:7 ");
    assert_int_equal(blocks, 0);
  }
  ierror = MPI_SUCCESS;
}

static void a_request_that_is_not_made_has_no_record(void **state) {
  MPI_Aint extra = 5;
  (void)state;
  error = MPI_ERR_NO_MEM;
  for (int p = 0; p < 2; p++) {
    MPI_Fint request = -7, result = -7;
    profiled = p;
    (profiled ? pmpi_grequest_start_ : mpi_grequest_start_)(query_it, free_it, cancel_it, &extra,
                                                            &request, &result);
    assert_int_equal(result, error);
    assert_int_equal(request, NUMBER(MPI_REQUEST_NULL));
    assert_int_equal(blocks, 0);
  }
  error = MPI_SUCCESS;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_key_has_the_subroutines_and_their_state),
      cmocka_unit_test(a_key_that_is_not_made_has_no_record),
      cmocka_unit_test(an_attribute_that_is_set_is_fortrans),
      cmocka_unit_test(an_attribute_is_the_value_at_cs_address_or_that_address),
      cmocka_unit_test(what_is_not_there_leaves_the_value),
      cmocka_unit_test(predefined_subroutines_copy_or_do_not),
      cmocka_unit_test(a_key_of_mpi_1_has_short_integers),
      cmocka_unit_test(an_attribute_of_mpi_1_is_a_short_integer),
      cmocka_unit_test(predefined_subroutines_of_mpi_1_copy_or_do_not),
      cmocka_unit_test(a_request_has_its_record_until_it_is_freed),
      cmocka_unit_test(a_request_that_is_not_made_has_no_record),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
