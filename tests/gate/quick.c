/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the gate finds that libc's words are as it expects (src/gate/quick.h): with this libc,
 * and with others of the test's. */
#include "gate/quick.c"

#include <errno.h>

#include "gate/layout.h"
#include "gate/next.h"
#include "support/plain.h"

enum { TID = 4711, NOBODY = -1 };

struct gt_gate gt_gate;
__thread struct gt_thread gt_me;
struct mt_client_view mt_client_view;

/* A libc that writes its words into a mutex and a semaphore; one of them may be wrong. */
static struct {
  int lock, owner, nusers, count; /* more than it should be, of a locked mutex */
  int left_lock, left_owner, left_nusers, left_count; /* of an unlocked one */
  int kind;                                           /* locking changes it */
  int value, waiters;                                 /* of a semaphore */
  int trylock_error, unlock_error, trywait_error, post_error;
} wrong;

static int try_mutex(pthread_mutex_t *m) {
  if (wrong.trylock_error != 0) return wrong.trylock_error;
  m->__data.__kind += wrong.kind;
  m->__data.__lock = 1 + wrong.lock;
  m->__data.__owner = TID + wrong.owner;
  m->__data.__nusers = (unsigned)(1 + wrong.nusers);
  m->__data.__count = gt_quick_kind(m) + (unsigned)wrong.count;
  return 0;
}

static int unlock_mutex(pthread_mutex_t *m) {
  m->__data.__lock = wrong.left_lock;
  m->__data.__owner = wrong.left_owner;
  m->__data.__nusers = (unsigned)wrong.left_nusers;
  m->__data.__count = (unsigned)wrong.left_count;
  return wrong.unlock_error;
}

static int take_sem(sem_t *s) {
  if (wrong.trywait_error != 0) return -1;
  *gt_quick_sem_word(s) -= 1;
  return 0;
}

static int post_sem(sem_t *s) {
  *gt_quick_sem_word(s) += 1 + (uint64_t)wrong.value + ((uint64_t)wrong.waiters << 32);
  return wrong.post_error;
}

static void other_libc(void) {
  gt_next.mutex_trylock = try_mutex;
  gt_next.mutex_unlock = unlock_mutex;
  gt_next.sem_trywait = take_sem;
  gt_next.sem_post = post_sem;
  gt_gate.quick = GT_QUICK_KINDS;
}

static void this_libc_is_as_expected(void) {
  CHECK(gt_layout_holds());
  gt_next_find();
  gt_quick_start(gettid());
  EQUAL(gt_gate.quick, 2);
  EQUAL(gt_quick_tid(), gettid());
  gt_quick_start(NOBODY); /* its mutexes would have another owner */
  EQUAL(gt_gate.quick, 0);
  EQUAL(gt_quick_tid(), gettid());
}

/* A function of another library stands before libc's. */
static void functions_of_others(void) {
  for (int i = 0; i < 4; i++) {
    gt_next_find();
    if (i == 0) gt_next.mutex_trylock = try_mutex;
    if (i == 1) gt_next.mutex_unlock = unlock_mutex;
    if (i == 2) gt_next.sem_trywait = take_sem;
    if (i == 3) gt_next.sem_post = post_sem;
    CHECK(!all_of_libc());
    gt_quick_start(gettid());
    EQUAL(gt_gate.quick, 0);
  }
  CHECK(!is_of_libc((void *)8)); /* nobody's */
}

static void words_of_other_libcs(void) {
  other_libc();
  CHECK(mutexes_hold(TID) && sem_holds());
  CHECK(!mutexes_hold(TID + 1));
  int *const of_mutexes[] = {&wrong.lock,          &wrong.owner,       &wrong.nusers,
                             &wrong.count,         &wrong.left_lock,   &wrong.left_owner,
                             &wrong.left_nusers,   &wrong.left_count,  &wrong.kind,
                             &wrong.trylock_error, &wrong.unlock_error};
  for (size_t i = 0; i < sizeof of_mutexes / sizeof of_mutexes[0]; i++) {
    *of_mutexes[i] = 1;
    CHECK(!mutexes_hold(TID) && sem_holds());
    *of_mutexes[i] = 0;
    CHECK(mutexes_hold(TID));
  }
  int *const of_semaphores[] = {&wrong.value, &wrong.waiters, &wrong.trywait_error,
                                &wrong.post_error};
  for (size_t i = 0; i < sizeof of_semaphores / sizeof of_semaphores[0]; i++) {
    *of_semaphores[i] = 1;
    CHECK(!sem_holds() && mutexes_hold(TID));
    *of_semaphores[i] = 0;
    CHECK(sem_holds());
  }
}

static void the_number_of_the_thread(void) {
  other_libc();
  EQUAL(gt_quick_tid(), TID);
  wrong.trylock_error = EBUSY;
  EQUAL(gt_quick_tid(), gettid());
  wrong.trylock_error = 0;
  gt_gate.quick = 0;
  EQUAL(gt_quick_tid(), gettid());
}

int main(void) {
  this_libc_is_as_expected();
  functions_of_others();
  words_of_other_libcs();
  the_number_of_the_thread();
}
