/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators, groups, intercommunicators, attributes, infos, error codes and what can be asked.
 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

/* ---- attributes: the functions count */

static int copies, deletes, refuses = 1;

static int copy_comm(MPI_Comm old, int keyval, void *extra, void *value, void *copy, int *flag) {
  (void)old, (void)keyval;
  copies++;
  *(void **)copy = (char *)value + 1;
  *flag = extra != NULL;
  return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)extra;
  deletes++;
  return value == NULL && refuses ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int copy_type(MPI_Datatype old, int keyval, void *extra, void *value, void *copy,
                     int *flag) {
  (void)old, (void)keyval, (void)extra;
  copies++;
  *(void **)copy = value;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int keyval, void *value, void *extra) {
  (void)type, (void)keyval, (void)value, (void)extra;
  deletes++;
  return MPI_SUCCESS;
}

static void attributes(void) {
  MPI_Comm comm, copy;
  MPI_Datatype type, type_copy;
  int keyval, dup, old, of_type, flag, place = 0, *reported, *predefined;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(copy_comm, delete_comm, &keyval, &place);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup, NULL);
  MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &old, NULL);
  MPI_Comm_set_attr(comm, keyval, &place);
  MPI_Comm_set_attr(comm, dup, &place);
  MPI_Attr_put(comm, old, &place);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_get_attr(copy, keyval, &reported, &flag);
  CHECK(flag && (char *)reported == (char *)&place + 1 && copies == 1);
  MPI_Comm_get_attr(copy, dup, &reported, &flag);
  CHECK(flag && reported == &place);
  MPI_Attr_get(copy, old, &reported, &flag);
  CHECK(!flag);
  MPI_Attr_delete(comm, old);
  MPI_Keyval_free(&old);
  CHECK(old == MPI_KEYVAL_INVALID);
  MPI_Comm_set_attr(comm, keyval, NULL); /* deletes the one before */
  CHECK(deletes == 1);
  CHECK(MPI_Comm_delete_attr(comm, keyval) == MPI_ERR_OTHER && deletes == 2);
  CHECK(MPI_Comm_free(&comm) == MPI_ERR_OTHER); /* nor can it be freed */
  MPI_Comm_free_keyval(&keyval);                /* it works as long as attributes have it */
  MPI_Comm_free(&copy);
  CHECK(deletes == 4);
  refuses = 0;
  MPI_Comm_free(&comm);
  CHECK(deletes == 5 && comm == MPI_COMM_NULL);
  MPI_Type_create_keyval(copy_type, delete_type, &of_type, NULL);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, of_type, &place);
  MPI_Type_dup(type, &type_copy);
  MPI_Type_get_attr(type_copy, of_type, &reported, &flag);
  CHECK(flag && reported == &place && copies == 2);
  MPI_Type_delete_attr(type_copy, of_type);
  MPI_Type_free(&type_copy);
  MPI_Type_free(&type);
  CHECK(deletes == 7);
  MPI_Type_set_attr(MPI_INT, of_type, &rank); /* each rank has its own of a predefined type */
  MPI_Type_get_attr(MPI_INT, of_type, &reported, &flag);
  CHECK(flag && reported == &rank);
  MPI_Type_delete_attr(MPI_INT, of_type);
  MPI_Type_free_keyval(&of_type);
  static const int keys[] = {MPI_TAG_UB,          MPI_IO,     MPI_HOST,
                             MPI_WTIME_IS_GLOBAL, MPI_APPNUM, MPI_LASTUSEDCODE};
  for (int i = 0; i < 6; i++) {
    MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &predefined, &flag);
    CHECK(flag);
  }
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &predefined, &flag);
  CHECK(flag && *predefined == size);
}

/* MPI_Comm_idup() copies attributes when it is called. */
static void attributes_of_idup(void) {
  MPI_Comm comm, copy;
  MPI_Request request;
  int keyval, flag, was = copies;
  char value = 0, *reported;
  MPI_Comm_create_keyval(copy_comm, MPI_COMM_NULL_DELETE_FN, &keyval, &value);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  for (int turn = 0; turn < 2; turn++) {
    MPI_Comm_set_attr(comm, keyval, &value);
    MPI_Comm_idup(comm, &copy, &request);
    CHECK(copies == ++was);
    if (turn == 0) MPI_Comm_set_attr(comm, keyval, NULL);
    if (turn == 1) MPI_Comm_delete_attr(comm, keyval);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_get_attr(copy, keyval, &reported, &flag);
    CHECK(flag && reported == &value + 1);
    MPI_Comm_free(&copy);
  }
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_free(&comm);
}

/* @return how many hints a communicator has, which is freed. */
static int hints_of(MPI_Comm *comm) {
  MPI_Info info;
  int count;
  MPI_Comm_get_info(*comm, &info);
  MPI_Info_get_nkeys(info, &count);
  MPI_Info_free(&info);
  MPI_Comm_free(comm);
  return count;
}

static void infos(void) {
  MPI_Info info, copy;
  char value[MPI_MAX_INFO_VAL], key[MPI_MAX_INFO_KEY];
  int count, flag, length = sizeof value;
  MPI_Comm comm;
  MPI_Info_create(&info);
  MPI_Info_set(info, "first", "1");
  MPI_Info_set(info, "second", "2");
  MPI_Info_set(info, "first", "one");
  MPI_Info_dup(info, &copy);
  MPI_Info_delete(info, "first");
  MPI_Info_get_nkeys(copy, &count);
  CHECK(count == 2);
  MPI_Info_get_nthkey(copy, 0, key);
  MPI_Info_get(copy, key, sizeof value - 1, value, &flag);
  CHECK(flag && strcmp(value, "one") == 0);
  MPI_Info_get_valuelen(copy, "second", &length, &flag);
  CHECK(flag && length == 1);
  MPI_Info_get_string(copy, "third", &length, value, &flag);
  CHECK(!flag);
  length = 2;
  MPI_Info_get_string(copy, "first", &length, value, &flag);
  CHECK(flag && length == 4 && strcmp(value, "o") == 0);
  MPI_Info_set(copy, "mpi_assert_no_any_tag", "true");
  MPI_Comm_dup_with_info(MPI_COMM_SELF, copy, &comm);
  MPI_Info_free(&info);
  MPI_Comm_get_info(comm, &info);
  MPI_Info_get_nkeys(info, &count);
  CHECK(count == 1); /* what is no hint of the standard is not kept */
  MPI_Comm_set_info(comm, copy);
  MPI_Info_free(&info);
  MPI_Request request;
  MPI_Comm third;
  MPI_Comm_idup_with_info(comm, copy, &third, &request);
  MPI_Info_free(&copy);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(hints_of(&third) == 1); /* the info's */
  MPI_Comm_idup(comm, &third, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(hints_of(&third) == 1); /* the communicator's */
  MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &third, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(hints_of(&third) == 0);
  MPI_Comm_free(&comm);
  MPI_Info_create_env(0, NULL, &info);
  MPI_Info_free(&info);
}

/* Keys that come and go leave no gaps, and the others keep their order. */
static void keys_that_come_and_go(void) {
  enum { KEYS = 100 };
  MPI_Info info;
  char key[MPI_MAX_INFO_KEY], value[8];
  int count, flag;
  MPI_Info_create(&info);
  MPI_Info_set(info, "first", "1");
  for (int i = 0; i < KEYS; i++) {
    snprintf(key, sizeof key, "%d", i);
    MPI_Info_set(info, key, "x");
    if (i % 50 != 0) MPI_Info_delete(info, key);
  }
  MPI_Info_set(info, "last", "2");
  MPI_Info_get_nkeys(info, &count);
  CHECK(count == 4);
  static const char *const left[] = {"first", "0", "50", "last"};
  for (int i = 0; i < count; i++) {
    MPI_Info_get_nthkey(info, i, key);
    CHECK(strcmp(key, left[i]) == 0);
  }
  MPI_Info_get(info, "last", (int)sizeof value - 1, value, &flag);
  CHECK(flag && strcmp(value, "2") == 0);
  MPI_Info_free(&info);
}

/* There is one resource: the memory of the machine. Others are none of the caller's. */
static void guided_splits(void) {
  static const int kinds[] = {MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED};
  MPI_Comm comm;
  MPI_Info info;
  for (int i = 0; i < 2; i++) {
    int shared = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, kinds[i], 0, MPI_INFO_NULL, &comm);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", "no such one");
    MPI_Comm_split_type(MPI_COMM_WORLD, kinds[i], 0, info, &comm);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
    MPI_Comm_split_type(MPI_COMM_WORLD, kinds[i], 0, info, &comm);
    CHECK(comm != MPI_COMM_NULL);
    MPI_Comm_size(comm, &shared);
    CHECK(shared == size);
    MPI_Comm_free(&comm);
    MPI_Info_free(&info);
  }
}

static void asked(void) {
  MPI_Info info;
  MPI_Comm parent, comm;
  char text[MPI_MAX_LIBRARY_VERSION_STRING], value[8];
  int major, minor, length, flag;
  void *memory;
  MPI_Get_version(&major, &minor);
  CHECK(major == MPI_VERSION && minor == MPI_SUBVERSION);
  major = minor = -7;
  MPI_Abi_get_version(&major, &minor);
  CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
  MPI_Get_library_version(text, &length);
  CHECK((int)strlen(text) == length);
  MPI_Get_processor_name(text, &length);
  CHECK((int)strlen(text) == length && length > 0);
  MPI_Abi_get_info(&info);
  MPI_Info_get(info, "mpi_count_size", 7, value, &flag);
  CHECK(flag && strcmp(value, "8") == 0);
  MPI_Info_free(&info);
  MPI_Abi_get_fortran_info(&info);
  MPI_Info_get(info, "mpi_real8_supported", 7, value, &flag);
  CHECK(flag && strcmp(value, "true") == 0);
  MPI_Info_free(&info);
  MPI_Get_hw_resource_info(&info);
  MPI_Info_get_nkeys(info, &length);
  CHECK(length == 0);
  MPI_Info_free(&info);
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL);
  MPI_Comm_set_name(MPI_COMM_SELF, "alone");
  MPI_Comm_get_name(MPI_COMM_SELF, text, &length);
  CHECK(strcmp(text, "alone") == 0 && length == 5);
  MPI_Comm_get_name(MPI_COMM_NULL, text, &length);
  CHECK(strcmp(text, "MPI_COMM_NULL") == 0);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
  MPI_Comm_size(comm, &length);
  CHECK(length == size); /* one machine */
  MPI_Comm_free(&comm);
  guided_splits();
  MPI_Finalized(&flag);
  CHECK(!flag);
  MPI_Is_thread_main(&flag);
  CHECK(flag && MPI_Wtick() > 0 && MPI_Wtime() >= 0);
  MPI_Pcontrol(1);
  MPI_Alloc_mem(100, MPI_INFO_NULL, &memory);
  memset(memory, 0, 100);
  MPI_Free_mem(memory);
}

/* ---- the ABI */

struct entry {
  const char *key, *value;
};

/* An info has these and no others. */
static void check_info(MPI_Info *info, const struct entry *entries, int count) {
  char value[MPI_MAX_INFO_VAL];
  int keys, flag;
  MPI_Info_get_nkeys(*info, &keys);
  CHECK(keys == count);
  for (int i = 0; i < count; i++) {
    int length = sizeof value;
    MPI_Info_get_string(*info, entries[i].key, &length, value, &flag);
    CHECK(flag && strcmp(value, entries[i].value) == 0);
  }
  MPI_Info_free(info);
}

static void sizes(void) {
  static const struct entry addresses[] = {
      {"mpi_aint_size", "8"}, {"mpi_count_size", "8"}, {"mpi_offset_size", "8"}};
  static const struct entry fortran[] = {{"mpi_logical_size", "4"},
                                         {"mpi_integer_size", "4"},
                                         {"mpi_real_size", "4"},
                                         {"mpi_double_precision_size", "8"},
                                         {"mpi_logical1_supported", "false"},
                                         {"mpi_logical2_supported", "false"},
                                         {"mpi_logical4_supported", "true"},
                                         {"mpi_logical8_supported", "false"},
                                         {"mpi_logical16_supported", "false"},
                                         {"mpi_integer1_supported", "true"},
                                         {"mpi_integer2_supported", "true"},
                                         {"mpi_integer4_supported", "true"},
                                         {"mpi_integer8_supported", "true"},
                                         {"mpi_integer16_supported", "true"},
                                         {"mpi_real2_supported", "false"},
                                         {"mpi_real4_supported", "true"},
                                         {"mpi_real8_supported", "true"},
                                         {"mpi_real16_supported", "true"},
                                         {"mpi_complex4_supported", "false"},
                                         {"mpi_complex8_supported", "true"},
                                         {"mpi_complex16_supported", "true"},
                                         {"mpi_complex32_supported", "true"},
                                         {"mpi_double_complex_supported", "true"}};
  MPI_Info info;
  MPI_Abi_get_info(&info);
  check_info(&info, addresses, sizeof addresses / sizeof addresses[0]);
  MPI_Abi_get_fortran_info(&info);
  check_info(&info, fortran, sizeof fortran / sizeof fortran[0]);
}

/* What another library says: what we do not know does not matter. */
static void sizes_of_others(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
  MPI_Info_set(info, "another_size", "4");
  MPI_Info_set(info, "mpi_integer_size", "4");
  CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
  MPI_Info_set(info, "mpi_real_size", "8");
  MPI_Info_set(info, "mpi_logical1_supported", "true");
  EXPECT(MPI_ERR_ABI, MPI_Abi_set_fortran_info(info));
  MPI_Info_free(&info);
  EXPECT(MPI_ERR_INFO, MPI_Abi_set_fortran_info(MPI_INFO_NULL));
}

/* Of each size, and no byte beside them. */
static void truth(void) {
  for (int logical = 0; logical <= 17; logical++) {
    char yes[18], no[18];
    int set = 0;
    memset(yes, 7, sizeof yes);
    memset(no, 7, sizeof no);
    if (logical == 0 || (logical & (logical - 1)) != 0) {
      EXPECT(MPI_ERR_ARG, MPI_Abi_get_fortran_booleans(logical, yes, no, &set));
      EXPECT(MPI_ERR_ARG, MPI_Abi_set_fortran_booleans(logical, yes, no));
      continue;
    }
    CHECK(MPI_Abi_get_fortran_booleans(logical, yes, no, &set) == MPI_SUCCESS && set == 1);
    for (int i = 0; i < 18; i++) {
      CHECK(yes[i] == (i == 0 ? 1 : i < logical ? 0 : 7));
      CHECK(no[i] == (i < logical ? 0 : 7));
    }
    CHECK(MPI_Abi_set_fortran_booleans(logical, yes, no) == MPI_SUCCESS);
    for (int i = 0; i < logical; i++) {
      yes[i]++;
      EXPECT(MPI_ERR_ABI, MPI_Abi_set_fortran_booleans(logical, yes, no));
      yes[i]--;
      no[i]++;
      EXPECT(MPI_ERR_ABI, MPI_Abi_set_fortran_booleans(logical, yes, no));
      no[i]--;
    }
  }
  EXPECT(MPI_ERR_ARG, MPI_Abi_set_fortran_booleans(32, &rank, &rank));
}

static void abi(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  sizes();
  sizes_of_others();
  truth();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void clocks_and_names(void) {
  struct timespec before, after;
  char name[MPI_MAX_PROCESSOR_NAME], own[MPI_MAX_PROCESSOR_NAME] = "";
  int length;
  clock_gettime(CLOCK_MONOTONIC, &before);
  double now = MPI_Wtime();
  clock_gettime(CLOCK_MONOTONIC, &after);
  CHECK(now > (double)before.tv_sec + (double)before.tv_nsec * 1e-9 - 1e-6);
  CHECK(now < (double)after.tv_sec + (double)after.tv_nsec * 1e-9 + 1e-6);
  CHECK(MPI_Wtick() == 1e-9);
  CHECK(gethostname(own, sizeof own - 1) == 0 &&
        MPI_Get_processor_name(name, &length) == MPI_SUCCESS);
  CHECK(strcmp(name, own) == 0 && length == (int)strlen(own));
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_library_version(version, &length);
  CHECK(strncmp(version, "tmpi of MLTP ", 13) == 0 && length == (int)strlen(version));
}

/* Each rank asks for another level: one below the first, one of them, and one above the last. */
static void start_at_level(int *argc, char ***argv) {
  static const int levels[][2] = {{MPI_THREAD_SINGLE - 1, MPI_THREAD_SINGLE},
                                  {MPI_THREAD_FUNNELED, MPI_THREAD_FUNNELED},
                                  {MPI_THREAD_MULTIPLE + 1, MPI_THREAD_MULTIPLE},
                                  {MPI_THREAD_SERIALIZED, MPI_THREAD_SERIALIZED}};
  const char *number = getenv("PMI_RANK");
  const int *level = levels[number != NULL ? atoi(number) % 4 : 0];
  int provided = -1, flag = -1;
  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == 0);
  CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == 0);
  MPI_Init_thread(argc, argv, level[0], &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided == level[1] && MPI_Query_thread(&flag) == MPI_SUCCESS && flag == level[1]);
  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == 1);
}

static int reported_code;

static void handle(MPI_Comm *comm, int *code, ...) {
  CHECK(*comm == MPI_COMM_WORLD);
  reported_code = *code;
}

static void errors(void) {
  MPI_Errhandler handler, other;
  char text[MPI_MAX_ERROR_STRING];
  int class, code, reported, length;
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(code, "of ours");
  MPI_Error_class(code, &reported);
  CHECK(reported == class);
  MPI_Error_string(code, text, &length);
  CHECK(strcmp(text, "of ours") == 0);
  MPI_Remove_error_string(code);
  MPI_Remove_error_code(code);
  MPI_Remove_error_class(class);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &other);
  CHECK(other == handler);
  MPI_Errhandler_free(&other);
  MPI_Errhandler_free(&handler);
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
  CHECK(reported_code == MPI_ERR_OTHER);
  CHECK(MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_ERR_COUNT &&
        reported_code == MPI_ERR_COUNT);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &other);
  CHECK(other == MPI_ERRORS_ABORT);
}

int main(int argc, char **argv) {
  int flag;
  start_at_level(&argc, &argv);
  CHECK(size == 1 || getenv("OPENBLAS_NUM_THREADS") != NULL); /* tmpirun(1) */
  attributes();
  attributes_of_idup();
  infos();
  keys_that_come_and_go();
  asked();
  abi();
  clocks_and_names();
  errors();
  MPI_Finalize();
  CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == 1);
  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == 1);
  return 0;
}
