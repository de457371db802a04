/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of a window to another node (src/tmpi/rma/far_notes.c and what it serves): which messages
 * share one, what waits for answers, and locks, posts and their ends.
 */
#include "far_window.h"

static void put_bytes(size_t at, size_t bytes) {
  struct tm_access_call c = call_of(NULL, bytes, int_type());
  struct tm_access a = access_of(1, tm_type_of(MPI_BYTE));
  c.origin_type = MPI_BYTE;
  a.memory.at = (char *)target + at;
  a.memory.bytes = bytes;
  assert_int_equal(tm_far_put(&c, &a), MPI_SUCCESS);
}

/* Small accesses share a note up to its size; one of some size closes it. */
static void joined_notes(void **state) {
  enum { HEADS = sizeof(struct tm_win_head) + sizeof(struct tm_piece), EACH = 100 };
  int most = JOINED_MAX / (HEADS + EACH);
  (void)state;
  for (int i = 0; i < most; i++) put_bytes((size_t)i * EACH, EACH);
  assert_int_equal(notes, 0);
  put_bytes(0, EACH);
  assert_int_equal(notes, 1);
  assert_int_equal(queue[0]->header.bytes, most * (HEADS + EACH));
  put_bytes(0, 2048 - HEADS - 1);
  assert_int_equal(notes, 1);
  put_bytes(0, 2048 - HEADS);
  assert_int_equal(notes, 2);
  assert_int_equal(queue[1]->header.bytes, HEADS + EACH + 4095);
  put_bytes(0, JOINED_MAX - 2 * HEADS - 1); /* goes at once */
  assert_int_equal(notes, 3);
  put_bytes(0, 20000);
  assert_int_equal(notes, 4);
  tm_win_settle(&wins[OWN], "MPI_Win_fence");
  assert_int_equal(notes, 8); /* each has an answer */
}

/* What answers bring counts, too. */
static void joined_gets(void **state) {
  struct tm_access_call c = call_of(NULL, 500, int_type());
  int most = JOINED_MAX / (2000 + (int)sizeof(struct tm_win_answer));
  (void)state;
  c.origin = result;
  for (int i = 0; i <= most; i++) {
    struct tm_access a = access_of(500, int_type());
    assert_int_equal(tm_far_get(&c, &a), MPI_SUCCESS);
    assert_int_equal(notes, i == most);
  }
}

/* A note is full to its last byte, by data or by what its answer will have. */
static void notes_that_are_just_full(void **state) {
  enum {
    HEADS = sizeof(struct tm_win_head) + sizeof(struct tm_piece),
    HALF = JOINED_MAX / 2 - (int)sizeof(struct tm_win_answer)
  };
  struct tm_access_call c = call_of(NULL, HALF / 4, int_type());
  (void)state;
  put_bytes(0, 100);
  put_bytes(100, JOINED_MAX - 2 * HEADS - 100); /* goes at once */
  assert_int_equal(notes, 1);
  assert_int_equal(queue[0]->header.bytes, JOINED_MAX);
  deliver();
  notes = 0;
  c.origin = result;
  for (int i = 0; i < 3; i++) {
    struct tm_access a = access_of(HALF / 4, int_type());
    assert_int_equal(tm_far_get(&c, &a), MPI_SUCCESS);
    assert_int_equal(notes, i == 2);
  }
}

/* More notes than may be on their way wait for answers. */
static void pending_notes(void **state) {
  (void)state;
  for (int i = 0; i <= PENDING_MAX; i++) put_bytes(0, 2048);
  assert_true(queue_first == 0 && notes == PENDING_MAX + 1);
  put_bytes(0, 2048); /* until one is answered */
  assert_true(queue_first > 0 && notes > PENDING_MAX + 2);
}

/* So do large data. */
static void pending_large_data(void **state) {
  struct tm_access_call c = call_of(NULL, 20000, int_type());
  (void)state;
  for (int i = 0; i <= PENDING_MAX + 1; i++) {
    struct tm_access a = access_of(20000, int_type());
    assert_int_equal(tm_far_put(&c, &a), MPI_SUCCESS);
    assert_int_equal(queue_first > 0, i == PENDING_MAX + 1);
  }
}

static void settle_too(void) { tm_win_settle(&wins[OWN], "another thread"); }

/* Two threads wait for answers, and both are released. */
static void threads_that_wait(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) put_bytes(0, 2048);
  at_wait = settle_too;
  tm_win_settle(&wins[OWN], "MPI_Win_flush");
  assert_int_equal(notes, 6);
}

/* Messages that end something come after large data. */
static void ends_wait_for_large_data(void **state) {
  struct tm_access_call c = call_of(NULL, 20000, int_type());
  struct tm_access a = access_of(20000, int_type());
  (void)state;
  put_bytes(0, 2048);
  assert_false(tm_win_notes_have_large(&wins[OWN]));
  deliver();
  assert_int_equal(tm_far_put(&c, &a), MPI_SUCCESS);
  assert_true(tm_win_notes_have_large(&wins[OWN]));
  tm_win_far_posted(&wins[OWN], OTHER);
  assert_false(tm_win_notes_have_large(&wins[OWN]));
  assert_int_equal(target[19999], origin[19999]);
  check_trace("");
  deliver();
  check_trace("posted 1 wake ");
  c.origin = result;
  assert_int_equal(tm_far_get(&c, &a), MPI_SUCCESS);
  assert_true(tm_win_notes_have_large(&wins[OWN]));
  tm_win_settle(&wins[OWN], "MPI_Win_flush");
  assert_int_equal(result[19999], origin[19999]);
}

static void sizes_that_are_large(void **state) {
  struct tm_access a = access_of(1, int_type());
  (void)state;
  a.origin.type = int_type();
  assert_false(tm_far_is_large(&a, LARGE_MIN));
  assert_true(tm_far_is_large(&a, LARGE_MIN + 1));
  a.origin.type = &spread;
  assert_false(tm_far_is_large(&a, LARGE_MIN + 1));
  a = access_of(1, &spread);
  a.origin.type = int_type();
  assert_false(tm_far_is_large(&a, LARGE_MIN + 1));
  a = access_of(1, int_type());
  a.origin.type = int_type();
  wins[OWN].flavor = MPI_WIN_FLAVOR_DYNAMIC;
  assert_false(tm_far_is_large(&a, LARGE_MIN + 1));
}

/* ---- locks and epochs */

static struct tm_win_wait wait_of(enum tm_win_wait_for what, bool exclusive) {
  return (struct tm_win_wait){
      .what = what, .win = &wins[OWN], .target = OTHER, .exclusive = exclusive, .origin = OWN};
}

/* The origin spins first, or parks; the lock is there, or comes later. */
static void locks(void **state) {
  (void)state;
  for (int way = 0; way < 16; way++) {
    bool one = way & 1, flag = way & 2, spins = way & 4;
    char expected[60];
    struct tm_win_wait wait = wait_of(one ? TM_FOR_LOCK : flag ? TM_FOR_ALL : TM_FOR_GATE, flag);
    has_lock = way & 8;
    tm_job.wait = spins ? TM_WAIT_SPIN : TM_WAIT_PARK;
    parks = 0;
    if (one)
      tm_win_far_lock(&wait, "MPI_Win_lock");
    else
      tm_win_far_gate(&wait, spins, "MPI_Win_lock_all");
    if (one)
      snprintf(expected, sizeof expected, "lock %d 1", flag);
    else
      snprintf(expected, sizeof expected, "gate %d %d", flag, spins);
    char all[180];
    bool parked = !spins || !has_lock;
    snprintf(all, sizeof all, "%s%s %s%s%s", spins ? "spin " : "", expected,
             has_lock ? "" : expected, /* again, with a waiter that is queued */
             has_lock ? ""
             : flag   ? " queued 1 "
                      : " queued 0 ",
             parked ? "resume " : "");
    check_trace(all);
    assert_true(wait.granted == 1 && parks == parked);
  }
}

static void unlocks(void **state) {
  (void)state;
  put_bytes(0, 10);
  for (int flag = 0; flag < 2; flag++) {
    tm_win_far_unlock(&wins[OWN], OTHER, flag); /* waits for the answer */
    check_trace(flag ? "unlock 1 wake " : "unlock 0 wake ");
    assert_int_equal(((char *)target)[9], ((char *)origin)[9]);
    tm_win_far_leave_gate(&wins[OWN], flag);
    check_trace("");
    deliver();
    check_trace(flag ? "leave 1 wake " : "leave 0 wake ");
  }
}

static void defer(bool exclusive) {
  assert_true(tm_win_far_defer(&wins[OWN], OTHER, exclusive));
  assert_true(ranks[OWN].deferred_lock == &wins[OWN] &&
              wins[OWN].access[OTHER] == TM_LOCK_DEFERRED);
}

static void check_got(const char *expected) {
  assert_true(ranks[OWN].deferred_lock == NULL && wins[OWN].access[OTHER] == 0);
  check_trace(expected);
}

/* A deferred lock, the accesses and the unlock are one note, which waits for the lock at its target
 * and is then performed. */
static void deferred_locks(void **state) {
  (void)state;
  for (int way = 0; way < 8; way++) {
    bool exclusive = way & 1, puts = way & 4;
    has_lock = way & 2;
    notes = 0;
    ((char *)target)[7] = 0;
    defer(exclusive);
    if (puts) put_bytes(0, 10);
    assert_int_equal(notes, 0);
    tm_win_far_unlock(&wins[OWN], OTHER, exclusive);
    char expected[120];
    snprintf(expected, sizeof expected, "lock %d 1 %sunlock %d wake resume ", exclusive,
             !has_lock ? exclusive ? "lock 1 1 queued 1 " : "lock 0 1 queued 0 " : "", exclusive);
    check_got(expected);
    assert_int_equal(notes, 2); /* one has the answer */
    if (puts) assert_int_equal(((char *)target)[7], ((char *)origin)[7]);
  }
}

/* What does not fit its note, and what others wait for, comes after the lock. */
static void deferred_locks_that_are_wanted(void **state) {
  (void)state;
  defer(false);
  put_bytes(0, 10);
  tm_win_far_posted(&wins[OWN], OTHER);
  check_got("lock 0 1 resume ");
  deliver();
  check_trace("posted 1 wake ");
  defer(true);
  tm_win_settle(&wins[OWN], "MPI_Win_flush");
  check_got("lock 1 1 resume ");
  defer(true);
  put_bytes(0, 5000);
  assert_ptr_equal(ranks[OWN].deferred_lock, &wins[OWN]); /* it waits for its note's end */
  put_bytes(5000, 5000);
  check_got("lock 1 1 resume ");
  assert_int_equal(((char *)target)[4999], ((char *)origin)[4999]);
  tm_win_far_lock_now(&ranks[OWN], "MPI_Win_lock"); /* there is none */
  check_got("");
}

/* A note keeps room for the unlock of the lock that it begins with. */
static void an_unlock_goes_with_its_lock(void **state) {
  enum { HEAD = sizeof(struct tm_win_head) };
  size_t most = JOINED_MAX - 3 * HEAD - sizeof(struct tm_piece);
  (void)state;
  for (int i = 0; i < 2; i++) { /* full, and one byte less */
    notes = 0;
    defer(true);
    put_bytes(0, most - (size_t)i);
    tm_win_far_unlock(&wins[OWN], OTHER, true);
    check_got("lock 1 1 unlock 1 wake resume ");
    assert_int_equal(notes, 2); /* one has the answer */
  }
}

/* What came before a lock goes before it, also where the lock is deferred. */
static void accesses_before_a_lock(void **state) {
  struct tm_win_wait wait = wait_of(TM_FOR_LOCK, true);
  (void)state;
  put_bytes(0, 10);
  tm_win_far_lock(&wait, "MPI_Win_lock");
  check_trace("lock 1 1 resume ");
  assert_int_equal(((char *)target)[9], ((char *)origin)[9]);
  put_bytes(10, 10);
  notes = 0;
  defer(false);
  assert_int_equal(notes, 1);
  tm_win_far_unlock(&wins[OWN], OTHER, false);
  check_got("lock 0 1 unlock 0 wake resume ");
}

static void large_data_come_after_a_deferred_lock(void **state) {
  struct tm_access_call c = call_of(NULL, 20000, int_type());
  struct tm_access a = access_of(20000, int_type());
  (void)state;
  defer(true);
  assert_int_equal(tm_far_put(&c, &a), MPI_SUCCESS);
  check_got("lock 1 1 resume ");
}

static void locks_that_are_not_deferred(void **state) {
  (void)state;
  ranks[OWN].windows_within = 1;
  assert_false(tm_win_far_defer(&wins[OWN], OTHER, true));
  ranks[OWN].windows_within = 0;
  ranks[OWN].thread_level = MPI_THREAD_MULTIPLE;
  assert_false(tm_win_far_defer(&wins[OWN], OTHER, true));
  check_got("");
}

static void epochs(void **state) {
  (void)state;
  tm_win_far_completed(&wins[OWN], OTHER);
  assert_int_equal(notes, 0); /* it may wait for more */
  tm_win_settle(&wins[OWN], "MPI_Win_complete");
  check_trace("completed 1 wake ");
  comms[OWN].rank = 6; /* of the window */
  tm_win_far_posted(&wins[OWN], OTHER);
  deliver();
  check_trace("posted 6 wake ");
}

/* ---- without memory: the other node waits for an answer, so the job ends */

static void make_notes(void) { tm_win_notes_free(tm_win_notes_new()); }

static void lock_that_waits(void) {
  struct tm_win_wait wait = wait_of(TM_FOR_LOCK, true);
  has_lock = false;
  tm_win_far_lock(&wait, "MPI_Win_lock");
}

static void no_memory_ends_the_job(void **state) {
  struct tm_access_call c = call_of(NULL, 10, &spread);
  struct tm_access a = access_of(10, &spread);
  (void)state;
  assert_true(ends_the_job(make_notes, 0));
  assert_true(ends_the_job(lock_that_waits, 1)); /* which is for its note */
  check_trace("lock 1 1 ");
  assert_int_equal(tm_far_put(&c, &a), MPI_SUCCESS); /* of more than a few pieces */
  tm_win_far_posted(&wins[OWN], OTHER);
  assert_true(ends_the_job(deliver, 1)); /* which is for the answer */
  tm_win_answered(&wins[OWN]);
  c = call_of(NULL, 20000, int_type());
  a = access_of(20000, int_type());
  assert_int_equal(tm_far_put(&c, &a), MPI_SUCCESS);
  assert_true(ends_the_job(deliver, 0));
  tm_win_answered(&wins[OWN]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WINDOW(joined_notes),
      WINDOW(joined_gets),
      WINDOW(notes_that_are_just_full),
      WINDOW(pending_notes),
      WINDOW(pending_large_data),
      WINDOW(threads_that_wait),
      WINDOW(ends_wait_for_large_data),
      WINDOW(sizes_that_are_large),
      WINDOW(locks),
      WINDOW(unlocks),
      WINDOW(deferred_locks),
      WINDOW(deferred_locks_that_are_wanted),
      WINDOW(an_unlock_goes_with_its_lock),
      WINDOW(accesses_before_a_lock),
      WINDOW(large_data_come_after_a_deferred_lock),
      WINDOW(locks_that_are_not_deferred),
      WINDOW(epochs),
      WINDOW(no_memory_ends_the_job),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
