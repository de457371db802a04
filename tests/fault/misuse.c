/* SPDX-License-Identifier: Apache-2.0 */
/* Misuse names thread, object and call, and aborts; with MLTP_MISUSE=error the call
 * returns the documented error. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/asleep.h"
#include "support/support.h"

/* What a misused call returned; read by the test through MLTP_MISUSE=error. */
static int *returned;

static mltp_lock_t lock;
static mltp_cond_t cond;
static mltp_barrier_t barrier;
static mltp_sem_t sem, ready;
static mltp_latch_t latch;
static mltp_waitgroup_t group;

static void *hold_lock(void *p0) {
  mltp_lock(&lock);
  mltp_sem_post(&ready);
  mltp_sem_wait(&sem);
  mltp_unlock(&lock);
  return p0;
}

static mltp_t *start(const char *name, mltp_userf_t *func, void *p0) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  mltp_t *thread = NULL;
  if (mltp_create(&thread, &attr, func, p0) != 0) _exit(1);
  return thread;
}

/* When this returns, threads that were about to wait do wait, also on a busy machine. */
static void let_others_wait(void) {
  mltp_sleep(1000000); /* ready threads here run, or are stolen */
  wait_until_asleep(0);
}

/* With MLTP_MISUSE=error: a refused call has released its internal locks, so the same call is
 * refused again, and does not hang. */
enum { TIMES = 2 };

/* Runs misuse in threads named "clumsy", and lets everybody end. */
static void run_clumsy(mltp_userf_t *misuse, void *p0) {
  for (int i = 0; i < TIMES; i++) mltp_join(start("clumsy", misuse, p0), NULL);
}

static void set_up(void) {
  if (mltp_init(0) != 0) _exit(1);
  mltp_lock_init(&lock, MLTP_LOCK_STANDARD, "the-lock");
  mltp_cond_init(&cond, "the-condition");
  mltp_barrier_init(&barrier, 2, "the-barrier");
  mltp_sem_init(&sem, 0, "the-semaphore");
  mltp_sem_init(&ready, 0, "ready");
  mltp_latch_init(&latch, 2, "the-latch");
  mltp_waitgroup_init(&group, "the-group");
}

/* --------------------------------------------------------------- the misuses */

static void *unlock_it(void *p0) {
  *returned = mltp_unlock(&lock);
  return p0;
}

static void unlock_by_another(void) {
  set_up();
  mltp_t *holder = start("holder", hold_lock, NULL);
  mltp_sem_wait(&ready);
  run_clumsy(unlock_it, NULL);
  mltp_sem_post(&sem);
  mltp_join(holder, NULL);
}

static void unlock_of_a_free_lock(void) {
  set_up();
  run_clumsy(unlock_it, NULL);
}

static void *lock_twice(void *p0) {
  mltp_lock(&lock);
  *returned = p0 == NULL ? mltp_lock(&lock) : mltp_lock_timed(&lock, mltp_after(1000000));
  mltp_unlock(&lock);
  return NULL;
}

static void recursive_lock(void) {
  set_up();
  run_clumsy(lock_twice, NULL);
}

static void recursive_timedlock(void) {
  set_up();
  run_clumsy(lock_twice, &lock);
}

static void *wait_without_lock(void *p0) {
  *returned = p0 == NULL ? mltp_cond_wait(&cond, &lock)
                         : mltp_cond_wait_timed(&cond, &lock, mltp_after(1000000));
  return NULL;
}

static void cond_wait_without_its_lock(void) {
  set_up();
  run_clumsy(wait_without_lock, NULL);
}

static void cond_timedwait_without_its_lock(void) {
  set_up();
  run_clumsy(wait_without_lock, &lock);
}

static void *wait_with_no_lock(void *p0) {
  *returned = p0 == NULL ? mltp_cond_wait(&cond, NULL)
                         : mltp_cond_wait_timed(&cond, NULL, mltp_after(1000000));
  return NULL;
}

static void cond_wait_with_no_lock(void) {
  set_up();
  run_clumsy(wait_with_no_lock, NULL);
}

static void cond_wait_timed_with_no_lock(void) {
  set_up();
  run_clumsy(wait_with_no_lock, &lock);
}

/* A wait would release it once only, and others could not change the predicate. */
static void *wait_with_a_lock_held_twice(void *p0) {
  mltp_lock_init(&lock, MLTP_LOCK_RECURSIVE, "the-lock");
  mltp_lock(&lock);
  mltp_lock(&lock);
  *returned = mltp_cond_wait(&cond, &lock);
  mltp_unlock(&lock);
  mltp_unlock(&lock);
  return p0;
}

static void cond_wait_with_a_lock_held_twice(void) {
  set_up();
  run_clumsy(wait_with_a_lock_held_twice, NULL);
}

static void *create_by_blank_attributes(void *p0) {
  mltp_attr_t attr = {0};
  attr.detached = 1;
  *returned = mltp_create(NULL, &attr, create_by_blank_attributes, NULL);
  return p0;
}

static void create_without_a_size(void) {
  set_up();
  run_clumsy(create_by_blank_attributes, NULL);
}

struct join_call {
  mltp_t *target;
  int *returned;
};

static void *join_it(void *p0) {
  struct join_call *call = p0;
  *call->returned = mltp_join(call->target, NULL);
  return NULL;
}

static void *do_nothing(void *p0) { return p0; }

static void *wait_for_sem(void *p0) {
  mltp_sem_wait(&sem);
  return p0;
}

static void join_of_a_detached_thread(void) {
  set_up();
  mltp_t *target = start("target", wait_for_sem, NULL);
  mltp_detach(target);
  run_clumsy(join_it, &(struct join_call){target, returned});
  mltp_sem_post(&sem);
}

/* The second of two joiners at a time; after the end the handle is gone. */
static void double_join(void) {
  set_up();
  int first_returned;
  mltp_t *target = start("target", wait_for_sem, NULL);
  mltp_t *first = start("first", join_it, &(struct join_call){target, &first_returned});
  let_others_wait();
  run_clumsy(join_it, &(struct join_call){target, returned});
  mltp_sem_post(&sem);
  mltp_join(first, NULL);
}

/* A handle joined a moment ago is still recognised while nothing else was created. */
static void join_again(void) {
  set_up();
  mltp_set_name(mltp_self(), "clumsy");
  mltp_t *target = start("target", do_nothing, NULL);
  mltp_join(target, NULL);
  for (int i = 0; i < TIMES; i++) *returned = mltp_join(target, NULL);
}

static void *detach_it(void *p0) {
  *returned = mltp_detach(p0);
  return NULL;
}

static void double_detach(void) {
  set_up();
  mltp_t *target = start("target", wait_for_sem, NULL);
  mltp_detach(target);
  run_clumsy(detach_it, target);
  mltp_sem_post(&sem);
}

static void *destroy_lock(void *p0) {
  *returned = mltp_lock_destroy(&lock);
  return p0;
}

static void destroy_of_a_held_lock(void) {
  set_up();
  mltp_t *holder = start("holder", hold_lock, NULL);
  mltp_sem_wait(&ready);
  run_clumsy(destroy_lock, NULL);
  mltp_sem_post(&sem);
  mltp_join(holder, NULL);
}

static void *wait_at_barrier(void *p0) {
  mltp_barrier_wait(&barrier);
  return p0;
}

static void *destroy_barrier(void *p0) {
  *returned = mltp_barrier_destroy(&barrier);
  return p0;
}

static void destroy_of_a_barrier_in_use(void) {
  set_up();
  mltp_t *waiter = start("waiter", wait_at_barrier, NULL);
  let_others_wait();
  run_clumsy(destroy_barrier, NULL);
  mltp_barrier_wait(&barrier);
  mltp_join(waiter, NULL);
}

static void *destroy_sem(void *p0) {
  *returned = mltp_sem_destroy(&sem);
  return p0;
}

static void destroy_of_a_semaphore_in_use(void) {
  set_up();
  mltp_t *waiter = start("waiter", wait_for_sem, NULL);
  let_others_wait();
  run_clumsy(destroy_sem, NULL);
  mltp_sem_post(&sem);
  mltp_join(waiter, NULL);
}

static void *wait_for_cond(void *p0) {
  mltp_cond_wait_unlocked(&cond);
  return p0;
}

static void *destroy_cond(void *p0) {
  *returned = mltp_cond_destroy(&cond);
  return p0;
}

static void destroy_of_a_condition_in_use(void) {
  set_up();
  mltp_t *waiter = start("waiter", wait_for_cond, NULL);
  let_others_wait();
  run_clumsy(destroy_cond, NULL);
  mltp_cond_signal(&cond);
  mltp_join(waiter, NULL);
}

static void *wait_at_nothing(void *p0) {
  *returned = mltp_barrier_wait(p0);
  return NULL;
}

static void wait_at_an_uninitialised_barrier(void) {
  static mltp_barrier_t zero;
  set_up();
  run_clumsy(wait_at_nothing, &zero);
}

static void *cancel_it(void *p0) {
  *returned = mltp_cancel(p0);
  return NULL;
}

static void cancel_of_a_joined_thread(void) {
  set_up();
  mltp_set_name(mltp_self(), "clumsy");
  mltp_t *target = start("target", do_nothing, NULL);
  mltp_join(target, NULL);
  for (int i = 0; i < TIMES; i++) cancel_it(target);
}

static mltp_channel_t *channel;

static void *receive(void *p0) {
  int number;
  mltp_channel_recv(channel, &number);
  return p0;
}

static void *free_channel(void *p0) {
  *returned = mltp_channel_destroy(channel);
  return p0;
}

static void free_of_a_channel_in_use(void) {
  int number = 0;
  set_up();
  channel = new_channel(0, sizeof number, "the-channel");
  mltp_t *waiter = start("waiter", receive, NULL);
  let_others_wait();
  run_clumsy(free_channel, NULL);
  mltp_channel_send(channel, &number);
  mltp_join(waiter, NULL);
}

static void *select_nonsense(void *p0) {
  mltp_case_t c = MLTP_CASE_RECV(NULL, NULL);
  c.op = (mltp_op_t)7;
  size_t chosen;
  *returned = mltp_select_try(&c, 1, &chosen);
  return p0;
}

static void select_of_no_operation(void) {
  set_up();
  run_clumsy(select_nonsense, NULL);
}

static void *set_deleted_key(void *p0) {
  mltp_tss_t key;
  mltp_tss_create(&key, NULL);
  mltp_tss_delete(key);
  *returned = p0 == NULL ? mltp_tss_set(key, &key) : mltp_tss_delete(key);
  return NULL;
}

static void set_of_a_deleted_key(void) {
  set_up();
  run_clumsy(set_deleted_key, NULL);
}

static void double_key_delete(void) {
  set_up();
  run_clumsy(set_deleted_key, &sem);
}

static void *count_too_much(void *p0) {
  *returned = mltp_latch_count_down(&latch, 3);
  return p0;
}

static void latch_below_zero(void) {
  set_up();
  run_clumsy(count_too_much, NULL);
}

static void *arrive_late(void *p0) {
  mltp_latch_count_down(&latch, 2);
  *returned = mltp_latch_arrive_and_wait(&latch);
  return p0;
}

static void arrival_at_an_open_latch(void) {
  set_up();
  run_clumsy(arrive_late, NULL);
}

static void *wait_for_latch(void *p0) {
  mltp_latch_wait(&latch);
  return p0;
}

static void *destroy_latch(void *p0) {
  *returned = mltp_latch_destroy(&latch);
  return p0;
}

static void destroy_of_a_latch_in_use(void) {
  set_up();
  mltp_t *waiter = start("waiter", wait_for_latch, NULL);
  let_others_wait();
  run_clumsy(destroy_latch, NULL);
  mltp_latch_count_down(&latch, 2);
  mltp_join(waiter, NULL);
}

static void *end_too_many(void *p0) {
  mltp_waitgroup_add(&group, 1);
  mltp_waitgroup_done(&group);
  *returned = p0 == NULL ? mltp_waitgroup_done(&group) : mltp_waitgroup_add(&group, -1);
  return NULL;
}

static void waitgroup_done_too_often(void) {
  set_up();
  run_clumsy(end_too_many, NULL);
}

static void waitgroup_below_zero(void) {
  set_up();
  run_clumsy(end_too_many, &group);
}

static mltp_once_t once = MLTP_ONCE_INIT;

static void nest_once(void *p0) { *returned = mltp_once(&once, nest_once, p0); }

static void *call_once_in_itself(void *p0) {
  mltp_once(&once, nest_once, p0);
  return p0;
}

static void once_in_itself(void) {
  set_up();
  run_clumsy(call_once_in_itself, NULL);
}

static mltp_rwlock_t rwlock;

/* What to do in which order: w and r acquire, u releases, d destroys; the last counts. Then it
 * releases what it holds. */
static void *use_rwlock(void *p0) {
  int held = 0;
  for (const char *step = p0; *step != '\0'; step++) {
    int change = *step == 'u' ? -1 : *step == 'd' ? 0 : 1;
    switch (*step) {
      case 'w': *returned = mltp_rwlock_wrlock(&rwlock); break;
      case 'W': *returned = mltp_rwlock_wrlock_timed(&rwlock, MLTP_NEVER); break;
      case 'r': *returned = mltp_rwlock_rdlock(&rwlock); break;
      case 'R': *returned = mltp_rwlock_rdlock_timed(&rwlock, MLTP_NEVER); break;
      case 'd': *returned = mltp_rwlock_destroy(&rwlock); break;
      default: *returned = mltp_rwlock_unlock(&rwlock);
    }
    if (*returned == 0) held += change;
  }
  while (held-- > 0) mltp_rwlock_unlock(&rwlock);
  return NULL;
}

static void misuse_rwlock(char *steps) {
  set_up();
  mltp_rwlock_init(&rwlock, "the-rwlock");
  run_clumsy(use_rwlock, steps);
}

static void rwlock_unlock_of_a_free_one(void) { misuse_rwlock("ruu"); }
static void rwlock_write_twice(void) { misuse_rwlock("ww"); }
static void rwlock_write_twice_timed(void) { misuse_rwlock("wW"); }
static void rwlock_read_while_writing(void) { misuse_rwlock("wr"); }
static void rwlock_read_while_writing_timed(void) { misuse_rwlock("wR"); }
static void rwlock_destroy_while_reading(void) { misuse_rwlock("rd"); }

static void rwlock_unlock_by_another(void) {
  set_up();
  mltp_rwlock_init(&rwlock, "the-rwlock");
  mltp_rwlock_wrlock(&rwlock);
  run_clumsy(use_rwlock, "u");
}

/* ------------------------------------------------------------------ the table */

static const struct misuse {
  void (*body)(void);
  const char *call;   /* named in the message */
  const char *object; /* and so is this; NULL: it has no name */
  int error;          /* returned with MLTP_MISUSE=error */
} misuses[] = {
    {unlock_by_another, "mltp_unlock", "the-lock", EPERM},
    {unlock_of_a_free_lock, "mltp_unlock", "the-lock", EPERM},
    {recursive_lock, "mltp_lock", "the-lock", EDEADLK},
    {recursive_timedlock, "mltp_lock_timed", "the-lock", EDEADLK},
    {cond_wait_without_its_lock, "mltp_cond_wait", "the-lock", EPERM},
    {cond_timedwait_without_its_lock, "mltp_cond_wait_timed", "the-lock", EPERM},
    {cond_wait_with_no_lock, "mltp_cond_wait", NULL, EINVAL},
    {cond_wait_timed_with_no_lock, "mltp_cond_wait_timed", NULL, EINVAL},
    {cond_wait_with_a_lock_held_twice, "mltp_cond_wait", "the-lock", EINVAL},
    {create_without_a_size, "mltp_create", "MLTP_ATTR_INIT", EINVAL},
    {join_of_a_detached_thread, "mltp_join", "target", EINVAL},
    {double_join, "mltp_join", "target", EINVAL},
    {join_again, "mltp_join", NULL, EINVAL},
    {double_detach, "mltp_detach", "target", EINVAL},
    {destroy_of_a_held_lock, "mltp_lock_destroy", "the-lock", EBUSY},
    {destroy_of_a_barrier_in_use, "mltp_barrier_destroy", "the-barrier", EBUSY},
    {destroy_of_a_semaphore_in_use, "mltp_sem_destroy", "the-semaphore", EBUSY},
    {destroy_of_a_condition_in_use, "mltp_cond_destroy", "the-condition", EBUSY},
    {latch_below_zero, "mltp_latch_count_down", "the-latch", EINVAL},
    {arrival_at_an_open_latch, "mltp_latch_arrive_and_wait", "the-latch", EINVAL},
    {destroy_of_a_latch_in_use, "mltp_latch_destroy", "the-latch", EBUSY},
    {waitgroup_done_too_often, "mltp_waitgroup_done", "the-group", EINVAL},
    {waitgroup_below_zero, "mltp_waitgroup_add", "the-group", EINVAL},
    {once_in_itself, "mltp_once", NULL, EDEADLK},
    {rwlock_unlock_of_a_free_one, "mltp_rwlock_unlock", "the-rwlock", EPERM},
    {rwlock_unlock_by_another, "mltp_rwlock_unlock", "the-rwlock", EPERM},
    {rwlock_write_twice, "mltp_rwlock_wrlock", "the-rwlock", EDEADLK},
    {rwlock_write_twice_timed, "mltp_rwlock_wrlock_timed", "the-rwlock", EDEADLK},
    {rwlock_read_while_writing, "mltp_rwlock_rdlock", "the-rwlock", EDEADLK},
    {rwlock_read_while_writing_timed, "mltp_rwlock_rdlock_timed", "the-rwlock", EDEADLK},
    {rwlock_destroy_while_reading, "mltp_rwlock_destroy", "the-rwlock", EBUSY},
    {wait_at_an_uninitialised_barrier, "mltp_barrier_wait", NULL, EINVAL},
    {cancel_of_a_joined_thread, "mltp_cancel", NULL, EINVAL},
    {free_of_a_channel_in_use, "mltp_channel_destroy", "the-channel", EBUSY},
    {select_of_no_operation, "mltp_select_try", NULL, EINVAL},
    {set_of_a_deleted_key, "mltp_tss_set", NULL, EINVAL},
    {double_key_delete, "mltp_tss_delete", NULL, EINVAL},
};
enum { MISUSES = sizeof misuses / sizeof misuses[0] };

static struct outcome outcome;

static void misuse_names_thread_object_and_call(void) {
  static const char *const settings[] = {"MLTP_MISUSE=abort", NULL};
  for (int i = 0; i < MISUSES; i++) {
    const struct misuse *misuse = &misuses[i];
    run_child(&outcome, misuse->body, settings);
    print_message("%s", outcome.said);
    check_case("misuse %d, %s", i, misuse->call);
    CHECK(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGABRT);
    CHECK(strstr(outcome.said, misuse->call) != NULL);
    CHECK(strstr(outcome.said, "clumsy") != NULL);
    if (misuse->object != NULL) CHECK(strstr(outcome.said, misuse->object) != NULL);
  }
}

static void misuse_returns_errors_when_asked(void) {
  static const char *const settings[] = {"MLTP_MISUSE=error", NULL};
  for (int i = 0; i < MISUSES; i++) {
    const struct misuse *misuse = &misuses[i];
    *returned = -1;
    run_child(&outcome, misuse->body, settings);
    check_case("misuse %d, %s", i, misuse->call);
    CHECK_EQUAL(outcome.status, 0);
    CHECK_EQUAL(*returned, misuse->error);
  }
}

int main(void) {
  returned = shared_memory(sizeof *returned);
  const struct CMUnitTest tests[] = {
      TEST_BARE(misuse_names_thread_object_and_call),
      TEST_BARE(misuse_returns_errors_when_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
