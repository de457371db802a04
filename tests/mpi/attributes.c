/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: the order in which they are copied and deleted, functions that fail, many of them on
 * one object, key values that come and go, and what the library keeps itself. */
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"

enum { MANY = 40, CALLS_MAX = 64 };

/* ---- the functions note their calls; they fail for one key value */

struct call {
  char what; /* 'c': copy, 'd': delete */
  int keyval;
  void *value, *extra;
};

static struct call calls[CALLS_MAX];
static int call_count, failing = MPI_KEYVAL_INVALID, dropped = MPI_KEYVAL_INVALID;
static int extras[MANY], values[MANY];

static int note(char what, int keyval, void *value, void *extra) {
  CHECK(call_count < CALLS_MAX);
  calls[call_count++] = (struct call){what, keyval, value, extra};
  return keyval == failing ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int copy_comm(MPI_Comm old, int keyval, void *extra, void *value, void *copy, int *flag) {
  CHECK(old != MPI_COMM_NULL);
  *(void **)copy = (int *)value + 1;
  *flag = keyval != dropped;
  return note('c', keyval, value, extra);
}

static int delete_comm(MPI_Comm comm, int keyval, void *value, void *extra) {
  CHECK(comm != MPI_COMM_NULL);
  return note('d', keyval, value, extra);
}

static int copy_type(MPI_Datatype old, int keyval, void *extra, void *value, void *copy,
                     int *flag) {
  CHECK(old != MPI_DATATYPE_NULL);
  *(void **)copy = (int *)value + 1;
  *flag = keyval != dropped;
  return note('c', keyval, value, extra);
}

static int delete_type(MPI_Datatype type, int keyval, void *value, void *extra) {
  CHECK(type != MPI_DATATYPE_NULL);
  return note('d', keyval, value, extra);
}

/* The calls since the last time were for these key values, in this order; their values are those of
 * the places, or (moved) the ones after them. */
static void called(char what, int count, const int keyvals[], const int places[], int moved) {
  CHECK(call_count == count);
  for (int i = 0; i < count; i++)
    CHECK(calls[i].what == what && calls[i].keyval == keyvals[i] &&
          calls[i].value == &values[places[i]] + moved && calls[i].extra == &extras[places[i]]);
  call_count = 0;
}

static void has(MPI_Comm comm, int keyval, const int *value) {
  int *found, flag = -1;
  MPI_Comm_get_attr(comm, keyval, &found, &flag);
  CHECK(flag == (value != NULL) && (value == NULL || found == value));
}

/* ---- orders: the newest attribute comes first; one that is set anew is the newest */

static void orders(void) {
  int keys[4];
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 4; i++) {
    MPI_Comm_create_keyval(copy_comm, delete_comm, &keys[i], &extras[i]);
    MPI_Comm_set_attr(comm, keys[i], &values[i]);
  }
  MPI_Comm_set_attr(comm, keys[1], &values[1]);
  called('d', 1, &keys[1], (int[]){1}, 0);
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_set_attr(comm, MPI_KEYVAL_INVALID, NULL)); /* by its handler */
  const int newest_first[4] = {keys[1], keys[3], keys[2], keys[0]}, places[4] = {1, 3, 2, 0};
  MPI_Comm_dup(comm, &copy);
  called('c', 4, newest_first, places, 0);
  for (int i = 0; i < 4; i++) has(copy, keys[i], &values[i] + 1);
  MPI_Comm_free(&copy);
  called('d', 4, newest_first, places, 1);
  dropped = keys[2]; /* its function does not want it in the copy */
  MPI_Comm_dup(comm, &copy);
  called('c', 4, newest_first, places, 0);
  has(copy, keys[2], NULL);
  has(copy, keys[3], &values[3] + 1);
  MPI_Comm_free(&copy);
  called('d', 3, (int[]){keys[1], keys[3], keys[0]}, (int[]){1, 3, 0}, 1);
  dropped = MPI_KEYVAL_INVALID;
  failing =
      keys[2]; /* what was copied before is gone, and no function of the program hears of it */
  copy = comm;
  CHECK(MPI_Comm_dup(comm, &copy) == MPI_ERR_OTHER && copy == MPI_COMM_NULL);
  called('c', 3, newest_first, places, 0);
  CHECK(MPI_Comm_delete_attr(comm, keys[2]) == MPI_ERR_OTHER);
  called('d', 1, &keys[2], (int[]){2}, 0);
  CHECK(MPI_Comm_set_attr(comm, keys[2], &values[0]) == MPI_ERR_OTHER);
  called('d', 1, &keys[2], (int[]){2}, 0);
  has(comm, keys[2], &values[2]); /* and keeps its place */
  CHECK(MPI_Comm_free(&comm) == MPI_ERR_OTHER && comm != MPI_COMM_NULL);
  called('d', 3, newest_first, places, 0);
  for (int i = 0; i < 4; i++) has(comm, keys[i], i == 0 || i == 2 ? &values[i] : NULL);
  failing = MPI_KEYVAL_INVALID;
  CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
  called('d', 2, (int[]){keys[2], keys[0]}, (int[]){2, 0}, 0);
  for (int i = 0; i < 4; i++) MPI_Comm_free_keyval(&keys[i]);
}

/* ---- a copy function that deletes attributes of the object: each of the others is copied once */

static int victim, trigger = MPI_KEYVAL_INVALID;

static int copy_and_delete(MPI_Comm old, int keyval, void *extra, void *value, void *copy,
                           int *flag) {
  if (keyval == trigger) MPI_Comm_delete_attr(old, victim);
  *(void **)copy = value;
  *flag = 1;
  return note('c', keyval, value, extra);
}

enum { KEYS = 4 };

/* While the attribute at one place is copied, another or the same one is deleted. */
static void delete_while_copied(int at, int gone) {
  int keys[KEYS], expected[KEYS], places[KEYS], count = 0;
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  for (int i = 0; i < KEYS; i++) {
    MPI_Comm_create_keyval(copy_and_delete, MPI_COMM_NULL_DELETE_FN, &keys[i], &extras[i]);
    MPI_Comm_set_attr(comm, keys[i], &values[i]);
  }
  for (int i = KEYS - 1; i >= 0; i--) {
    if (i == gone && gone < at) continue;
    places[count] = i;
    expected[count++] = keys[i];
  }
  victim = keys[gone];
  trigger = keys[at];
  MPI_Comm_dup(comm, &copy);
  trigger = MPI_KEYVAL_INVALID;
  called('c', count, expected, places, 0);
  for (int i = 0; i < KEYS; i++) {
    has(comm, keys[i], i == gone ? NULL : &values[i]);
    has(copy, keys[i], i == gone && gone < at ? NULL : &values[i]);
  }
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  for (int i = 0; i < KEYS; i++) MPI_Comm_free_keyval(&keys[i]);
}

/* ---- the same of datatypes, whose copy is none if a function fails */

static void of_types(void) {
  int keys[2], *found, flag;
  MPI_Datatype type, copy;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Type_contiguous(2, MPI_INT, &type);
  for (int i = 0; i < 2; i++) {
    MPI_Type_create_keyval(copy_type, delete_type, &keys[i], &extras[i]);
    MPI_Type_set_attr(type, keys[i], &values[i]);
    MPI_Type_set_attr(MPI_DOUBLE, keys[i], &values[i]);
  }
  const int newest_first[2] = {keys[1], keys[0]}, places[2] = {1, 0};
  failing = keys[0];
  copy = type;
  CHECK(MPI_Type_dup(type, &copy) == MPI_ERR_OTHER && copy == MPI_DATATYPE_NULL);
  called('c', 2, newest_first, places, 0);
  CHECK(MPI_Type_free(&type) == MPI_ERR_OTHER && type != MPI_DATATYPE_NULL);
  called('d', 2, newest_first, places, 0);
  failing = MPI_KEYVAL_INVALID;
  MPI_Type_get_attr(type, keys[1], &found, &flag);
  CHECK(flag == 0);
  MPI_Type_get_attr(type, keys[0], &found, &flag);
  CHECK(flag == 1 && found == &values[0]);
  MPI_Type_free(&type);
  called('d', 1, &keys[0], (int[]){0}, 0);
  MPI_Type_dup(MPI_DOUBLE, &copy);
  called('c', 2, newest_first, places, 0);
  MPI_Type_get_attr(MPI_FLOAT, keys[0], &found, &flag);
  CHECK(flag == 0);
  MPI_Type_free(&copy);
  called('d', 2, newest_first, places, 1);
  for (int i = 0; i < 2; i++) {
    MPI_Type_delete_attr(MPI_DOUBLE, keys[i]);
    called('d', 1, &keys[i], &i, 0);
    EXPECT(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, keys[i], NULL));
    EXPECT(MPI_ERR_KEYVAL, MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &found, &flag));
    EXPECT(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[i]));
    MPI_Type_free_keyval(&keys[i]);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- many on one object, some of which leave */

static void many(void) {
  int keys[MANY];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  for (int i = 0; i < MANY; i++) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &keys[i], &extras[i]);
    for (int k = 0; k < i; k++) CHECK(keys[k] != keys[i]);
    has(comm, keys[i], NULL);
    MPI_Comm_set_attr(comm, keys[i], &values[i]);
    for (int k = 0; k <= i; k++) has(comm, keys[k], &values[k]);
  }
  for (int i = 0; i < MANY; i += 3) {
    MPI_Comm_delete_attr(comm, keys[i]);
    called('d', 1, &keys[i], &i, 0);
    CHECK(MPI_Comm_delete_attr(comm, keys[i]) == MPI_SUCCESS && call_count == 0); /* it has none */
  }
  for (int i = 0; i < MANY; i++) has(comm, keys[i], i % 3 == 0 ? NULL : &values[i]);
  MPI_Comm_free(&comm);
  for (int i = MANY - 1, n = 0; i >= 0; i--)
    if (i % 3 != 0) CHECK(calls[n].keyval == keys[i] && calls[n++].value == &values[i]);
  CHECK(call_count == MANY - (MANY + 2) / 3);
  call_count = 0;
  for (int i = 0; i < MANY; i++) {
    MPI_Comm_free_keyval(&keys[i]);
    CHECK(keys[i] == MPI_KEYVAL_INVALID);
  }
}

/* The first number of all is used again, too. */
static void first_key_value(void) {
  int first, again;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &first, NULL);
  again = first;
  MPI_Comm_free_keyval(&again);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &again, NULL);
  CHECK(again == first);
  MPI_Comm_free_keyval(&again);
}

/* ---- key values: numbers that are free are used again; one in use lasts as long as attributes */

static void key_values(void) {
  enum { ROUNDS = 50 };
  int keys[MANY], low = INT_MAX, high = 0, used, again, flag, *found;
  MPI_Comm comm;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int round = 0; round < ROUNDS; round++) {
    int first = INT_MAX, last = 0;
    for (int i = 0; i < MANY; i++) {
      MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL);
      if (keys[i] < first) first = keys[i];
      if (keys[i] > last) last = keys[i];
    }
    CHECK(last - first == MANY - 1 && (round == 0 || (first == low && last == high)));
    low = first, high = last;
    for (int i = 0; i < MANY; i++) MPI_Comm_free_keyval(&keys[i]);
  }
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_get_attr(MPI_COMM_WORLD, low, &found, &flag));
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_get_attr(MPI_COMM_WORLD, low - 1, &found, &flag));
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_get_attr(MPI_COMM_WORLD, high + 1, &found, &flag));
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&(int){low}));
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &used, &extras[0]);
  MPI_Comm_set_attr(comm, used, &values[0]);
  for (int i = 0; i < 2; i++) CHECK(MPI_Comm_free_keyval(&(int){used}) == MPI_SUCCESS);
  has(comm, used, &values[0]);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &again, NULL);
  CHECK(again != used);
  MPI_Comm_free_keyval(&again);
  MPI_Comm_delete_attr(comm, used);
  called('d', 1, &used, (int[]){0}, 0);
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&(int){used}));
  MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- what the library keeps */

static void predefined(int size) {
  static const int keys[] = {MPI_TAG_UB,          MPI_IO,     MPI_HOST,
                             MPI_WTIME_IS_GLOBAL, MPI_APPNUM, MPI_UNIVERSE_SIZE,
                             MPI_LASTUSEDCODE};
  const int expected[] = {INT_MAX, MPI_ANY_SOURCE, MPI_PROC_NULL, check_is_one_node(), 0, size};
  int *found, flag, code;
  for (int i = 0; i < 6; i++) {
    found = NULL;
    flag = -1;
    MPI_Comm_get_attr(MPI_COMM_SELF, keys[i], &found, &flag);
    CHECK(flag == 1 && *found == expected[i]);
  }
  MPI_Comm_get_attr(MPI_COMM_SELF, MPI_LASTUSEDCODE, &found, &flag);
  CHECK(flag == 1 && *found >= MPI_ERR_OTHER && *found <= MPI_ERR_LASTCODE);
  MPI_Add_error_code(MPI_ERR_OTHER, &code);
  MPI_Comm_get_attr(MPI_COMM_SELF, MPI_LASTUSEDCODE, &found, &flag);
  CHECK(flag == 1 && *found == code);
  MPI_Remove_error_code(code);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < 7; i++) {
    EXPECT(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, keys[i], &flag));
    EXPECT(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[i]));
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- a window's errors go to its own handler, and to no other */

static int handled;

static void on_error(MPI_Win *win, int *code, ...) {
  CHECK(*win != MPI_WIN_NULL && *code != MPI_SUCCESS);
  handled++;
}

static bool refuses;

static int may_be_deleted(MPI_Win win, int keyval, void *value, void *extra) {
  (void)win, (void)keyval, (void)value, (void)extra;
  return refuses ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void of_windows(void) {
  int key;
  MPI_Win win;
  MPI_Errhandler handler;
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_create_errhandler(on_error, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Errhandler_free(&handler);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, may_be_deleted, &key, NULL);
  MPI_Win_set_attr(win, key, &key);
  refuses = true;
  EXPECT(MPI_ERR_OTHER, MPI_Win_delete_attr(win, key));
  CHECK(handled == 1);
  refuses = false;
  EXPECT(MPI_SUCCESS, MPI_Win_delete_attr(win, key));
  CHECK(handled == 1);
  MPI_Win_free_keyval(&key);
  EXPECT(MPI_ERR_KEYVAL, MPI_Win_delete_attr(win, MPI_KEYVAL_INVALID));
  CHECK(handled == 2);
  EXPECT(MPI_SUCCESS, MPI_Win_free(&win));
}

int main(int argc, char **argv) {
  int size;
  check_start(&argc, &argv, &size);
  first_key_value();
  orders();
  for (int i = 0; i < KEYS * KEYS; i++) delete_while_copied(i / KEYS, i % KEYS);
  of_types();
  many();
  key_values();
  of_windows();
  predefined(size);
  MPI_Finalize();
  return 0;
}
