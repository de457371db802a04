/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_THREAD_MULTIPLE: threads of a rank use what the rank has once (key values, error codes, the
 * buffer of buffered sends) and one communicator, at once. */
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { THREADS = 4, TURNS = 300, KEYS = 4, TAG = 1 };

static int rank, size;
static MPI_Comm shared;

static void in_threads(void *(*function)(void *)) {
  pthread_t threads[THREADS];
  static int numbers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, function, &numbers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ---- attributes of one communicator, under key values of each thread */

static int deletes;

static int count_delete(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  __atomic_add_fetch(&deletes, 1, __ATOMIC_RELAXED);
  return MPI_SUCCESS;
}

static void *use_attributes(void *argument) {
  char *own = argument, *reported;
  int keys[KEYS], flag;
  for (int turn = 0; turn < TURNS; turn++) {
    for (int k = 0; k < KEYS; k++) {
      MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count_delete, &keys[k], NULL);
      MPI_Comm_set_attr(shared, keys[k], own + k);
    }
    for (int k = 0; k < KEYS; k++) {
      MPI_Comm_get_attr(shared, keys[k], &reported, &flag);
      CHECK(flag && reported == own + k);
      MPI_Comm_delete_attr(shared, keys[k]);
      MPI_Comm_get_attr(shared, keys[k], &reported, &flag);
      CHECK(!flag);
      MPI_Comm_free_keyval(&keys[k]);
    }
  }
  return NULL;
}

/* All delete one attribute: one of them calls the function. */
static int common_key;

static void *delete_common(void *argument) {
  (void)argument;
  MPI_Comm_delete_attr(shared, common_key);
  return NULL;
}

static void attributes(void) {
  MPI_Comm_dup(MPI_COMM_SELF, &shared);
  in_threads(use_attributes);
  CHECK(deletes == THREADS * TURNS * KEYS);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_delete, &common_key, NULL);
  for (int turn = 0; turn < TURNS / 10; turn++) {
    deletes = 0;
    MPI_Comm_set_attr(shared, common_key, &deletes);
    in_threads(delete_common);
    CHECK(deletes == 1);
  }
  MPI_Comm_free_keyval(&common_key);
  MPI_Comm_free(&shared);
}

/* ---- error codes */

static void *use_codes(void *argument) {
  int class, code, found, length;
  char text[MPI_MAX_ERROR_STRING], own[16];
  snprintf(own, sizeof own, "text %d", *(int *)argument);
  for (int turn = 0; turn < TURNS; turn++) {
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, own);
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    CHECK(found == class && strcmp(text, own) == 0);
    MPI_Remove_error_string(code);
    MPI_Remove_error_code(code);
    MPI_Remove_error_class(class);
  }
  return NULL;
}

/* ---- buffers: some threads send, others attach and detach */

static void *use_buffers(void *argument) {
  int number = *(int *)argument, value = number;
  for (int turn = 0; turn < TURNS; turn++) {
    if (number % 2 == 0) {
      MPI_Bsend(&value, 1, MPI_INT, 0, number, shared);
      MPI_Recv(&value, 1, MPI_INT, 0, number, shared, MPI_STATUS_IGNORE);
      CHECK(value == number);
    } else if (number == 1) {
      void *address;
      int bytes;
      MPI_Comm_attach_buffer(shared, MPI_BUFFER_AUTOMATIC, 0);
      MPI_Comm_detach_buffer(shared, &address, &bytes);
    } else {
      MPI_Buffer_flush();
    }
  }
  return NULL;
}

static void buffers(void) {
  void *address;
  int bytes;
  MPI_Comm_dup(MPI_COMM_SELF, &shared);
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0); /* there is always room in one of them */
  in_threads(use_buffers);
  MPI_Buffer_detach(&address, &bytes);
  MPI_Comm_free(&shared);
}

/* ---- communicators made at once by groups of the same members: tags keep them apart, also those
 * that differ in one high bit, and the largest */

static const int tags[THREADS] = {5, 5 + (1 << 30), 0x7fffffff, 0x7ffffffe};
static MPI_Group everybody;

static void *make_comm(void *argument) {
  int number = *(int *)argument, result, value, expected = size * (100 + number);
  for (int turn = 0; turn < TURNS / 10; turn++) {
    MPI_Comm comm;
    MPI_Comm_create_group(MPI_COMM_WORLD, everybody, tags[number], &comm);
    value = 100 + number;
    MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, comm);
    CHECK(result == expected);
    MPI_Comm_free(&comm);
  }
  return NULL;
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  attributes();
  in_threads(use_codes);
  buffers();
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  in_threads(make_comm);
  MPI_Group_free(&everybody);
  MPI_Finalize();
  return 0;
}
