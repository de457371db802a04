/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_T: variables have the values that they should, texts are cut, mistakes have their codes. */
#include <malloc.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

static int rank, size, one, two;

static uint64_t read_cvar(const char *name, MPI_Datatype expected) {
  MPI_T_cvar_handle handle;
  MPI_Datatype type;
  union {
    int number;
    uint64_t large;
  } value = {.large = 0};
  int index, count;
  CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
  MPI_T_cvar_get_info(index, NULL, NULL, NULL, &type, NULL, NULL, NULL, NULL, NULL);
  CHECK(type == expected);
  CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS && count == 1);
  CHECK(MPI_T_cvar_read(handle, &value) == MPI_SUCCESS);
  CHECK(MPI_T_cvar_write(handle, &value) == MPI_T_ERR_CVAR_SET_NEVER);
  CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL);
  CHECK(MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE);
  return type == MPI_INT ? (uint64_t)value.number : value.large;
}

static void control(void) {
  char name[6], item[20], meaning[200];
  int length = sizeof name, index, scope, binding, items, value;
  MPI_T_enum words;
  CHECK(read_cvar("tmpi_ranks", MPI_INT) == (uint64_t)size);
  CHECK(read_cvar("tmpi_wait", MPI_INT) < 3);
  CHECK(read_cvar("tmpi_held_bytes", MPI_UNSIGNED_LONG_LONG) == 16 << 20);
  MPI_T_cvar_get_index("tmpi_wait", &index);
  two = sizeof meaning;
  CHECK(MPI_T_cvar_get_info(index, name, &length, NULL, NULL, &words, meaning, &two, &binding,
                            &scope) == MPI_SUCCESS);
  CHECK(strcmp(name, "tmpi_") == 0 && length == 10 && strstr(meaning, "--wait") != NULL);
  CHECK(binding == MPI_T_BIND_NO_OBJECT && scope == MPI_T_SCOPE_READONLY);
  length = sizeof item;
  CHECK(MPI_T_enum_get_info(words, &items, item, &length) == MPI_SUCCESS && items == 3);
  CHECK(strcmp(item, "tmpi_wait") == 0 && length == 10);
  length = sizeof item;
  CHECK(MPI_T_enum_get_item(words, 2, &value, item, &length) == MPI_SUCCESS);
  CHECK(value == 2 && strcmp(item, "park") == 0 && length == 5);
  length = 1; /* of the text there is only its end */
  CHECK(MPI_T_enum_get_item(words, 0, &value, item, &length) == MPI_SUCCESS);
  CHECK(value == 0 && strcmp(item, "") == 0 && length == 10);
  CHECK(MPI_T_enum_get_item(words, 3, &value, item, &length) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_enum_get_item(words, -1, &value, item, &length) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &value, item, &length) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &items, item, &length) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_cvar_get_index("none", &index) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        MPI_T_ERR_INVALID_INDEX);
}

/* What a call that is refused, or is given no place, leaves alone. */
static void control_limits(void) {
  MPI_T_cvar_handle handle;
  MPI_Datatype type;
  MPI_T_enum words;
  char name[20] = "untouched";
  int count, index = -7, length = 0, verbosity = -7;
  union {
    unsigned halves[2];
    uint64_t whole;
  } value = {.whole = UINT64_MAX};
  CHECK(MPI_T_cvar_get_num(&count) == MPI_SUCCESS && count == 9);
  CHECK(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_cvar_handle_alloc(-1, NULL, &handle, &one) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_cvar_handle_alloc(count, NULL, &handle, &one) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_cvar_get_index(NULL, &index) == MPI_T_ERR_INVALID && index == -7);
  CHECK(MPI_T_cvar_get_index("tmpi_wait", NULL) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_cvar_get_index("tmpi_ranks", &index) == MPI_SUCCESS && index == 0);
  CHECK(MPI_T_cvar_get_info(index, name, &length, &verbosity, &type, &words, NULL, NULL, NULL,
                            NULL) == MPI_SUCCESS);
  CHECK(strcmp(name, "untouched") == 0 && length == 11 && words == MPI_T_ENUM_NULL);
  CHECK(verbosity == MPI_T_VERBOSITY_USER_BASIC && type == MPI_INT);
  CHECK(MPI_T_cvar_get_info(index, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == 0);
  CHECK(MPI_T_cvar_get_info(index, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == 0);
  CHECK(strcmp(name, "untouched") == 0 && length == 11);
  CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &one) == MPI_SUCCESS);
  CHECK(MPI_T_cvar_read(handle, value.halves) == MPI_SUCCESS); /* an int, and no more */
  CHECK(value.halves[0] == (unsigned)size && value.halves[1] == UINT32_MAX);
  CHECK(MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, value.halves) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_cvar_write(MPI_T_CVAR_HANDLE_NULL, value.halves) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS);
}

static MPI_T_pvar_handle open_pvar(MPI_T_pvar_session session, const char *name, int class) {
  MPI_T_pvar_handle handle;
  int index;
  CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &one) == MPI_SUCCESS && one == 1);
  return handle;
}

/* Messages that rank 0 has not received are counted, and so are its waits. */
static void performance(void) {
  MPI_T_pvar_session session, other;
  unsigned arrived = 99;
  uint64_t held = 0, parks = 99;
  char data[1000] = {0};
  CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_session_create(&other) == MPI_SUCCESS);
  MPI_T_pvar_handle of_messages =
      open_pvar(session, "tmpi_messages_arrived", MPI_T_PVAR_CLASS_LEVEL);
  MPI_T_pvar_handle of_bytes = open_pvar(session, "tmpi_bytes_held", MPI_T_PVAR_CLASS_LEVEL);
  MPI_T_pvar_handle of_parks = open_pvar(session, "tmpi_parks", MPI_T_PVAR_CLASS_COUNTER);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) MPI_Send(data, sizeof data, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  if (rank != 0) MPI_Send(data, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD); /* maybe through an intake */
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_T_pvar_read(session, of_messages, &arrived) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_read(session, of_bytes, &held) == MPI_SUCCESS);
  CHECK(rank != 0 || arrived >= 2 * ((unsigned)size - 1));
  CHECK(rank != 0 || held >= (size_t)(size - 1) * sizeof data);
  for (int i = 1; rank == 0 && i < size; i++) {
    MPI_Recv(data, sizeof data, MPI_CHAR, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(data, 8, MPI_CHAR, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  CHECK(MPI_T_pvar_reset(session, of_parks) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_read(session, of_parks, &parks) == MPI_SUCCESS && parks == 0);
  parks = 70;
  CHECK(MPI_T_pvar_write(session, of_parks, &parks) == MPI_SUCCESS);
  parks = 99;
  CHECK(MPI_T_pvar_readreset(session, of_parks, &parks) == MPI_SUCCESS && parks == 70);
  CHECK(MPI_T_pvar_read(session, of_parks, &parks) == MPI_SUCCESS && parks == 0);
  CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_start(session, of_parks) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK(MPI_T_pvar_reset(session, of_bytes) == MPI_T_ERR_PVAR_NO_WRITE);
  CHECK(MPI_T_pvar_read(other, of_bytes, &held) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_read(NULL, of_bytes, &held) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_handle_free(session, &of_bytes) == MPI_SUCCESS);
  CHECK(of_bytes == MPI_T_PVAR_HANDLE_NULL);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
  CHECK(MPI_T_pvar_session_free(&other) == MPI_SUCCESS);
}

static uint64_t read_pvar(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  uint64_t value = 0;
  CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
  return value;
}

/* What counts does so from where its handle was made or reset; what has a level has that one. */
static void levels_and_counts(void) {
  MPI_T_pvar_session session, none = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle handles[4], null = MPI_T_PVAR_HANDLE_NULL, all = MPI_T_PVAR_ALL_HANDLES;
  MPI_Session mpi;
  uint64_t value = 5;
  int index = -7;
  for (int i = 0; i < 10; i++) MPI_Barrier(MPI_COMM_WORLD); /* ranks park */
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &mpi) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
  for (int i = 0; i < 3; i++)
    handles[i] = open_pvar(session, "tmpi_sessions", MPI_T_PVAR_CLASS_LEVEL);
  handles[3] = open_pvar(session, "tmpi_parks", MPI_T_PVAR_CLASS_COUNTER);
  CHECK(read_pvar(session, handles[0]) == 1 && read_pvar(session, handles[3]) == 0);
  CHECK(MPI_T_pvar_handle_free(session, &handles[1]) == MPI_SUCCESS); /* from the middle */
  CHECK(MPI_T_pvar_write(session, handles[3], &value) == MPI_SUCCESS);
  CHECK(read_pvar(session, handles[3]) == 5);
  CHECK(MPI_T_pvar_reset(session, all) == MPI_SUCCESS);
  CHECK(read_pvar(session, handles[3]) == 0);
  CHECK(read_pvar(session, handles[0]) == 1 && read_pvar(session, handles[2]) == 1);
  CHECK(MPI_T_pvar_write(session, handles[0], &value) == MPI_T_ERR_PVAR_NO_WRITE);
  CHECK(MPI_T_pvar_readreset(session, handles[0], &value) == MPI_T_ERR_PVAR_NO_WRITE && value == 5);
  CHECK(read_pvar(session, handles[0]) == 1);
  CHECK(MPI_Session_finalize(&mpi) == MPI_SUCCESS);
  CHECK(read_pvar(session, handles[0]) == 0);
  CHECK(MPI_T_pvar_read(session, null, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_read(session, all, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_write(session, null, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_readreset(session, null, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_handle_free(session, &null) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_stop(session, null) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_stop(session, all) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_stop(none, all) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_reset(none, all) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_session_free(&none) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_handle_alloc(none, 0, NULL, &null, &one) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_handle_alloc(session, -1, NULL, &null, &one) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_pvar_get_num(&two) == MPI_SUCCESS && two == 5);
  CHECK(MPI_T_pvar_handle_alloc(session, two, NULL, &null, &one) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_pvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                            NULL) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_pvar_get_index("tmpi_parks", MPI_T_PVAR_CLASS_LEVEL, &index) ==
        MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_pvar_get_index("tmpi_parks", MPI_T_PVAR_CLASS_COUNTER, NULL) == MPI_T_ERR_INVALID);
  CHECK(index == -7);
  for (int i = 3; i >= 0; i -= 3) CHECK(MPI_T_pvar_handle_free(session, &handles[i]) == 0);
  CHECK(read_pvar(session, handles[2]) == 0);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS); /* with one handle */
}

/* What is freed is given back. A sanitizer's allocator does not count for mallinfo2(). */
static void memory_of_handles(void) {
  enum { TIMES = 5000 };
  MPI_Barrier(MPI_COMM_WORLD);
  size_t before = rank == 0 ? mallinfo2().uordblks : 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < TIMES && rank == 0; i++) {
    MPI_T_cvar_handle control_handle;
    MPI_T_pvar_session session;
    CHECK(MPI_T_cvar_handle_alloc(0, NULL, &control_handle, &one) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_free(&control_handle) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    MPI_T_pvar_handle handle = open_pvar(session, "tmpi_parks", MPI_T_PVAR_CLASS_COUNTER);
    open_pvar(session, "tmpi_sessions", MPI_T_PVAR_CLASS_LEVEL);
    CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
  }
  CHECK(rank != 0 || mallinfo2().uordblks < before + 8 * TIMES);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void categories(void) {
  int list[20], cvars, pvars, inner, all_cvars, all_pvars, sum = 0;
  MPI_T_cvar_get_num(&all_cvars);
  MPI_T_pvar_get_num(&all_pvars);
  CHECK(MPI_T_category_get_num(&one) == MPI_SUCCESS && one == 2);
  for (int i = 0; i < one; i++) {
    CHECK(MPI_T_category_get_info(i, NULL, NULL, NULL, NULL, &cvars, &pvars, &inner) == 0);
    CHECK(MPI_T_category_get_cvars(i, 20, list) == MPI_SUCCESS && list[0] == sum && inner == 0);
    for (int n = 0; n < 20; n++) list[n] = -7;
    CHECK(MPI_T_category_get_cvars(i, 1, list) == MPI_SUCCESS && list[1] == -7);
    CHECK(MPI_T_category_get_cvars(i, 19, list) == MPI_SUCCESS && list[cvars] == -7);
    CHECK(cvars == 0 || list[cvars - 1] == sum + cvars - 1);
    sum += cvars;
    all_pvars -= pvars;
  }
  CHECK(sum == all_cvars && all_pvars == 0);
  CHECK(MPI_T_category_get_index("tmpi_mailbox", &two) == MPI_SUCCESS && two == 1);
  CHECK(MPI_T_category_get_cvars(2, 20, list) == MPI_T_ERR_INVALID_INDEX);
  char name[20], meaning[60];
  int length = sizeof name, lengths = sizeof meaning;
  CHECK(MPI_T_category_get_info(1, name, &length, meaning, &lengths, NULL, NULL, NULL) == 0);
  CHECK(strcmp(name, "tmpi_mailbox") == 0 && length == 13);
  CHECK(strcmp(meaning, "sizes in the mailboxes of ranks") == 0 && lengths == 32);
  CHECK(MPI_T_category_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_category_get_index(NULL, &two) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_category_get_index("tmpi_job", NULL) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_category_get_index("tmpi_job", &two) == MPI_SUCCESS && two == 0);
  CHECK(MPI_T_category_get_index("none", &two) == MPI_T_ERR_INVALID_NAME);
  for (int n = 0; n < 20; n++) list[n] = -7;
  CHECK(MPI_T_category_get_pvars(0, 20, list) == MPI_SUCCESS);
  for (int n = 0; n < 20; n++) CHECK(list[n] == (n < 5 ? n : -7));
  for (int n = 0; n < 20; n++) list[n] = -7;
  CHECK(MPI_T_category_get_pvars(1, 20, list) == MPI_SUCCESS && list[0] == -7);
  CHECK(MPI_T_category_get_categories(0, 20, list) == MPI_SUCCESS && list[0] == -7);
  CHECK(MPI_T_category_get_events(0, 20, list) == MPI_SUCCESS && list[0] == -7);
  two = -7;
  CHECK(MPI_T_category_get_num_events(0, &two) == MPI_SUCCESS && two == 0);
  two = -7;
  CHECK(MPI_T_category_changed(&two) == MPI_SUCCESS && two == 0);
  two = -7;
  CHECK(MPI_T_event_get_num(&two) == MPI_SUCCESS && two == 0);
  CHECK(MPI_T_event_get_index("none", &two) == MPI_T_ERR_INVALID_NAME);
  two = -7;
  CHECK(MPI_T_source_get_num(&two) == MPI_SUCCESS && two == 0);
}

/* Every variable can be read as what its information says. */
static void all_variables(void) {
  MPI_T_pvar_session session;
  char name[60], meaning[200];
  int length, lengths, class, binding, readonly, continuous, atomic, count, list[20];
  MPI_Datatype type;
  MPI_T_enum words;
  MPI_T_cvar_get_num(&count);
  for (int i = 0; i < count; i++) {
    length = sizeof name;
    MPI_T_cvar_get_info(i, name, &length, NULL, &type, NULL, NULL, NULL, NULL, NULL);
    read_cvar(name, type);
  }
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_get_num(&count);
  CHECK(MPI_T_category_get_pvars(1, 20, list) == MPI_SUCCESS);
  for (int i = 0; i < count; i++) {
    uint64_t value = UINT64_MAX;
    length = sizeof name, lengths = sizeof meaning;
    words = (MPI_T_enum)name, binding = -7;
    CHECK(MPI_T_pvar_get_info(i, name, &length, &one, &class, &type, &words, meaning, &lengths,
                              &binding, &readonly, &continuous, &atomic) == MPI_SUCCESS);
    CHECK(one == MPI_T_VERBOSITY_USER_BASIC && continuous == 1 && atomic == 0);
    CHECK((size_t)lengths == strlen(meaning) + 1 && strchr(meaning, ' ') != NULL);
    CHECK(binding == MPI_T_BIND_NO_OBJECT && words == MPI_T_ENUM_NULL);
    CHECK(readonly == (class == MPI_T_PVAR_CLASS_LEVEL));
    MPI_T_pvar_handle handle = open_pvar(session, name, class);
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS && (uint32_t)value < 1u << 31);
    CHECK(type == MPI_UNSIGNED_LONG_LONG || type == MPI_UNSIGNED);
    CHECK(value >> 32 == (type == MPI_UNSIGNED ? UINT32_MAX : 0));
    CHECK(MPI_T_pvar_stop(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  }
  CHECK(MPI_T_pvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                            NULL) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                            NULL) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
}

/* There are none, so that each call has a wrong index or handle. */
static void events(void) {
  const int handle = MPI_T_ERR_INVALID_HANDLE, index = MPI_T_ERR_INVALID_INDEX;
  MPI_T_event_registration none = NULL;
  MPI_T_event_instance event = NULL;
  MPI_T_source_order order;
  MPI_Count time;
  MPI_Info info;
  int list[2];
  CHECK(MPI_T_category_get_categories(0, 2, list) == MPI_SUCCESS);
  CHECK(MPI_T_category_get_events(0, 2, list) == MPI_SUCCESS);
  CHECK(MPI_T_category_get_num_events(1, &one) == MPI_SUCCESS && one == 0);
  CHECK(MPI_T_category_get_num_events(2, &one) == index);
  CHECK(MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        index);
  CHECK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &none) == index);
  CHECK(MPI_T_event_handle_get_info(none, &info) == handle);
  CHECK(MPI_T_event_handle_set_info(none, MPI_INFO_NULL) == handle);
  CHECK(MPI_T_event_register_callback(none, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL) ==
        handle);
  CHECK(MPI_T_event_callback_get_info(none, MPI_T_CB_REQUIRE_NONE, &info) == handle);
  CHECK(MPI_T_event_callback_set_info(none, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL) == handle);
  CHECK(MPI_T_event_set_dropped_handler(none, NULL) == handle);
  CHECK(MPI_T_event_handle_free(none, NULL, NULL) == handle);
  CHECK(MPI_T_event_read(event, 0, list) == handle && MPI_T_event_copy(event, list) == handle);
  CHECK(MPI_T_event_get_timestamp(event, &time) == handle);
  CHECK(MPI_T_event_get_source(event, &one) == handle);
  CHECK(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, &order, &time, &time, &info) == index);
  CHECK(MPI_T_source_get_timestamp(0, &time) == index);
}

/* Without the interface no call gives anything. */
static void not_initialized(void) {
  const int refused = MPI_T_ERR_NOT_INITIALIZED;
  MPI_T_cvar_handle control_handle;
  MPI_T_pvar_handle handle;
  MPI_T_pvar_session session;
  char name[8];
  int length = sizeof name, list[4];
  uint64_t value;
  CHECK(MPI_T_cvar_get_num(&one) == refused && MPI_T_cvar_get_index("tmpi_wait", &one) == refused);
  CHECK(MPI_T_cvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == refused);
  CHECK(MPI_T_cvar_handle_alloc(0, NULL, &control_handle, &one) == refused);
  CHECK(MPI_T_cvar_read(NULL, &value) == refused);
  CHECK(MPI_T_pvar_get_num(&one) == refused);
  CHECK(MPI_T_pvar_get_index("", MPI_T_PVAR_CLASS_COUNTER, &one) == refused);
  CHECK(MPI_T_pvar_get_info(0, name, &length, &one, &one, NULL, NULL, NULL, NULL, &one, &one, &one,
                            &one) == refused);
  CHECK(MPI_T_pvar_session_create(&session) == refused);
  CHECK(MPI_T_pvar_handle_alloc(NULL, 0, NULL, &handle, &one) == refused);
  CHECK(MPI_T_enum_get_info(NULL, &one, name, &length) == refused);
  CHECK(MPI_T_enum_get_item(NULL, 0, &one, name, &length) == refused);
  CHECK(MPI_T_category_get_num(&one) == refused && MPI_T_category_changed(&one) == refused);
  CHECK(MPI_T_category_get_index("tmpi_job", &one) == refused);
  CHECK(MPI_T_category_get_cvars(0, 4, list) == refused);
  CHECK(MPI_T_event_get_num(&one) == refused && MPI_T_source_get_num(&one) == refused);
  CHECK(MPI_T_event_get_index("", &one) == refused);
  CHECK(MPI_T_finalize() == refused);
}

int main(int argc, char **argv) {
  int provided;
  not_initialized();
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
  rank = check_start(&argc, &argv, &size);
  CHECK(MPI_T_finalize() == MPI_SUCCESS); /* the first one holds */
  control();
  control_limits();
  performance();
  levels_and_counts();
  memory_of_handles();
  categories();
  all_variables();
  events();
  MPI_Finalize();
  CHECK(MPI_T_cvar_get_num(&one) == MPI_SUCCESS && one > 5);
  CHECK(MPI_T_finalize() == MPI_SUCCESS);
  not_initialized();
  return 0;
}
