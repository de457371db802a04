/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers that run once, step by step (src/core/life/initialise.c): what is in the program's
 * word, how other callers wait, and what mltp_exit() undoes. One kernel thread plays all threads.
 */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "core/life/initialise.c"

#include <setjmp.h>

#include "support/noted.h"
#include "support/support.h"

enum { RUNS = 5 /* glibc's word while an initialiser runs, in this process */ };

static struct mltp_thread threads[3];
static struct mt_vp here;
static uint32_t *awaited; /* the word that threads wait for */

static struct {
  int looks;               /* until the word below is stored in it */
  uint32_t then;           /* 0: the initialiser has failed */
  void (*meanwhile)(void); /* while the caller is parked */
} world;

static int callable, other_callable; /* what std::call_once() hands to pthread_once() */
static void *handed_callable, *handed_call;
static bool has_no_variables;

static void begin_as(struct mltp_thread *self) {
  memset(threads, 0, sizeof threads);
  memset(&world, 0, sizeof world);
  mt_initialise_forget();
  onces.running = RUNS;
  for (int i = 0; i < 3; i++) threads[i].vp = &here;
  mt_set_current(self);
  trace[0] = '\0';
}

static void look(void) {
  if (--world.looks == 0) *awaited = world.then;
}

/* ---- what the initialisers ask of others */

static jmp_buf refused;

int __wrap_mt_misuse(int error, const char *call, uint64_t id, const char *name, const char *format,
                     ...);
int __wrap_mt_misuse(int error, const char *call, uint64_t id, const char *name, const char *format,
                     ...) {
  (void)id, (void)name, (void)format;
  CHECK_EQUAL(slot_of(awaited)->once.queue_.ilock_, 0); /* its text may take time */
  note("misuse:%d:%s", error, call);
  longjmp(refused, 1);
}

int __wrap_mltp_sleep(uint64_t ns);
int __wrap_mltp_sleep(uint64_t ns) {
  note("sleep:%d", (int)ns);
  CHECK_EQUAL(slot_of(awaited)->once.queue_.ilock_, 0);
  look();
  return 0;
}

int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline);
int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  CHECK(word == awaited && deadline == UINT64_MAX && *word == expected);
  note("kernel:%#x", expected);
  look();
  return 0;
}

void __wrap_os_futex_wake(uint32_t *word, int count);
void __wrap_os_futex_wake(uint32_t *word, int count) {
  CHECK_EQUAL(count, INT32_MAX);
  if (word == awaited) note("wake"); /* the compiler's library has words of its own */
}

void __wrap_mt_resume_chain(struct mltp_thread *first);
void __wrap_mt_resume_chain(struct mltp_thread *first) {
  for (; first != NULL; first = first->next) note("resume:%d", (int)(first - threads));
}

int __wrap_mt_wait(struct mltp_thread *self, mltp_waitq_t *queue, bool front, enum mt_why why,
                   struct mt_timer *timer);
int __wrap_mt_wait(struct mltp_thread *self, mltp_waitq_t *queue, bool front, enum mt_why why,
                   struct mt_timer *timer) {
  CHECK(queue->ilock_ != 0 && !front && why == MT_WHY_ONCE && timer == NULL);
  note("park:%d", (int)(self - threads));
  mt_waitq_append(queue, self);
  mt_ilock_unlock(&queue->ilock_);
  world.meanwhile();
  mt_set_current(self);
  return 0;
}

void *__wrap_os_symbol(const char *name);
void *__wrap_os_symbol(const char *name) {
  if (has_no_variables) return NULL; /* a program without the library of C++ */
  return strcmp(name, "_ZSt15__once_callable") == 0 ? &handed_callable : &handed_call;
}

/* libc's pthread_once(), if there is one. */
static bool has_no_once;
static int libc_calls;

static int libcs_once(pthread_once_t *once, void (*func)(void)) {
  libc_calls++;
  *(uint32_t *)once = RUNS;
  func();
  return 0;
}

void *__wrap_os_next_symbol(const char *name);
void *__wrap_os_next_symbol(const char *name) {
  int (*found)(pthread_once_t *, void (*)(void)) = has_no_once ? NULL : libcs_once;
  note("find:%s", name);
  return *(void **)&found;
}

/* ---- words and slots */

static uint64_t guard;
static uint32_t *const word = (uint32_t *)&guard;

static void begin_guard(struct mltp_thread *self) {
  begin_as(self);
  guard = 0;
  awaited = word;
}

/* Nobody runs an initialiser. */
static void check_free(const struct slot *slot) {
  CHECK(slot->key == NULL && slot->once.runner_ == NULL && slot->once.queue_.ilock_ == 0);
  CHECK_EQUAL(slot->once.queue_.count_, 0);
  CHECK(threads[0].undo == NULL);
}

static void a_variable_is_initialised_once(void) {
  begin_guard(&threads[0]);
  CHECK_EQUAL(guard_acquire(&guard), 1);
  struct slot *slot = slot_of(word);
  CHECK_EQUAL(*word, 0x100);
  CHECK(slot->key == word && slot->once.runner_ == &threads[0] && slot->once.queue_.ilock_ == 0);
  CHECK(threads[0].undo == &slot->undo);
  guard_release(&guard);
  CHECK_EQUAL(*word, 1);
  check_free(slot);
  CHECK_EQUAL(guard_acquire(&guard), 0);
  CHECK_EQUAL(*word, 1);
  TRACE("");      /* nobody waits in the kernel */
  *word = 0xff01; /* other bytes are the compiler's */
  CHECK_EQUAL(guard_acquire(&guard), 0);
}

static void an_initialiser_that_fails_is_run_again(void) {
  begin_guard(&threads[0]);
  CHECK_EQUAL(guard_acquire(&guard), 1);
  *word |= 0x10000; /* one waits in the kernel */
  guard_abort(&guard);
  TRACE("wake");
  CHECK_EQUAL(*word, 0);
  check_free(slot_of(word));
  CHECK_EQUAL(guard_acquire(&guard), 1);
  guard_release(&guard);
}

static void release_by_the_first(void) {
  mt_set_current(&threads[0]);
  guard_release(&guard);
}

static void others_park_until_it_has_run(void) {
  begin_guard(&threads[0]);
  CHECK_EQUAL(guard_acquire(&guard), 1);
  mt_waitq_append(&slot_of(word)->once.queue_, &threads[2]);
  mt_set_current(&threads[1]);
  world.meanwhile = release_by_the_first;
  CHECK_EQUAL(guard_acquire(&guard), 0);
  TRACE("park:1 resume:2 resume:1");
  check_free(slot_of(word));
}

static void abort_by_the_first(void) {
  mt_set_current(&threads[0]);
  guard_abort(&guard);
}

static void a_waiter_runs_what_has_failed(void) {
  begin_guard(&threads[0]);
  CHECK_EQUAL(guard_acquire(&guard), 1);
  mt_set_current(&threads[1]);
  world.meanwhile = abort_by_the_first;
  CHECK_EQUAL(guard_acquire(&guard), 1);
  TRACE("park:1 resume:1");
  CHECK(slot_of(word)->once.runner_ == &threads[1]);
  guard_release(&guard);
}

static void an_initialiser_may_not_need_itself(void) {
  begin_guard(&threads[0]);
  CHECK_EQUAL(guard_acquire(&guard), 1);
  if (setjmp(refused) == 0) {
    guard_acquire(&guard);
    CHECK(!"it returned");
  }
  char expected[64];
  snprintf(expected, sizeof expected, "misuse:%d:__cxa_guard_acquire", EDEADLK);
  TRACE(expected);
}

/* A word that shares the slot of another. */
static uint64_t *rival(void) {
  static uint64_t guards_of_others[4 * SLOTS];
  for (int i = 0; i < 4 * SLOTS; i++)
    if (slot_of((uint32_t *)&guards_of_others[i]) == slot_of(word)) return &guards_of_others[i];
  CHECK(!"no word has the same slot");
  return guards_of_others;
}

static void a_word_whose_slot_is_taken_needs_none(void) {
  begin_guard(&threads[0]);
  CHECK_EQUAL(guard_acquire(&guard), 1);
  uint64_t *other = rival();
  struct slot *slot = slot_of(word);
  *other = 0;
  mt_set_current(&threads[1]);
  CHECK_EQUAL(guard_acquire(other), 1);
  CHECK_EQUAL(*(uint32_t *)other, 0x100);
  CHECK(slot->key == word && slot->once.runner_ == &threads[0] && threads[1].undo == NULL);
  guard_release(other);
  CHECK_EQUAL(*(uint32_t *)other, 1);
  CHECK(slot->key == word && slot->once.runner_ == &threads[0] && slot->once.queue_.ilock_ == 0);
  mt_set_current(&threads[0]);
  guard_release(&guard);
  check_free(slot);
}

static void slots_are_spread(void) {
  static uint64_t words[SLOTS];
  bool used[SLOTS] = {false};
  int count = 0;
  for (int i = 0; i < SLOTS; i++) used[slot_of((uint32_t *)&words[i]) - slots] = true;
  for (int i = 0; i < SLOTS; i++) count += used[i];
  CHECK(count > SLOTS / 2);
}

/* ---- a runner without a slot: a function of libc's or of another library */

static void threads_of_vps_look_now_and_then(void) {
  begin_guard(&threads[0]);
  *word = 0x100;
  world.looks = 2;
  world.then = 1;
  CHECK_EQUAL(guard_acquire(&guard), 0);
  TRACE("sleep:100000 sleep:100000");
  *word = 0x300; /* not stale: only pthread_once() counts forks */
  world.looks = 1;
  world.then = 0;
  CHECK_EQUAL(guard_acquire(&guard), 1);
  TRACE("sleep:100000");
  guard_release(&guard);
}

static void kernel_threads_wait_in_the_kernel(void) {
  for (int attached = 0; attached < 2; attached++) {
    check_case("attached %d", attached);
    begin_guard(attached ? &threads[0] : NULL);
    threads[0].vp = NULL;
    *word = 0x100;
    world.looks = 2;
    world.then = 1;
    CHECK_EQUAL(guard_acquire(&guard), 0);
    TRACE("kernel:0x10100 kernel:0x10100");
    CHECK_EQUAL(*word, 1);
  }
  begin_guard(NULL);
  CHECK_EQUAL(guard_acquire(&guard), 1); /* before the runtime starts */
  CHECK_EQUAL(*word, 0x100);
  guard_release(&guard);
  CHECK_EQUAL(*word, 1);
}

/* ---- std::call_once() of libc++ */

static unsigned long flag;
static int calls;

static void initialise_flag(void *arg) {
  CHECK(arg == &calls && (uint32_t)flag == 1);
  calls++;
}

static void a_flag_is_set_when_its_function_has_run(void) {
  begin_as(&threads[0]);
  awaited = (uint32_t *)&flag;
  flag = 0;
  calls = 0;
  call_once(&flag, &calls, initialise_flag);
  CHECK(calls == 1 && flag == UINT64_MAX);
  TRACE("wake");
  check_free(slot_of(awaited));
  call_once(&flag, &calls, initialise_flag);
  CHECK_EQUAL(calls, 1);
  mt_set_current(NULL);
  flag = 1;
  world.looks = 1;
  world.then = UINT32_MAX;
  call_once(&flag, &calls, initialise_flag);
  TRACE("kernel:0x1");
  CHECK_EQUAL(calls, 1);
}

/* ---- pthread_once() */

static pthread_once_t once;

static void initialise_once(void) {
  CHECK_EQUAL(once, onces.running);
  calls++;
}

static void begin_once(struct mltp_thread *self) {
  begin_as(self);
  awaited = (uint32_t *)&once;
  once = PTHREAD_ONCE_INIT;
  calls = libc_calls = 0;
}

static void libc_says_what_runs_means(void) {
  begin_once(&threads[0]);
  has_no_once = true;
  onces.running = 1;
  CHECK_EQUAL(pthread_once(&once, initialise_once), 0);
  TRACE("find:pthread_once wake");
  CHECK(calls == 1 && once == 2 && onces.running == 1);
  CHECK_EQUAL(pthread_once(&once, initialise_once), 0);
  TRACE("");
  has_no_once = false;
  for (int i = 0; i < 2; i++) {
    once = PTHREAD_ONCE_INIT;
    onces.running = 1;
    CHECK_EQUAL(pthread_once(&once, initialise_once), 0);
    TRACE(i == 0 ? "find:pthread_once wake" : "wake");
    CHECK(calls == 2 + i && once == 2 && libc_calls == 1 + i && onces.running == RUNS);
  }
  check_free(slot_of(awaited));
  mt_initialise_forget();
  CHECK_EQUAL(probe, PTHREAD_ONCE_INIT);
}

static void what_the_parent_began_is_begun_again(void) {
  begin_once(&threads[0]);
  once = RUNS - 4; /* of a process before the last fork() */
  CHECK_EQUAL(pthread_once(&once, initialise_once), 0);
  CHECK(calls == 1 && once == 2);
  TRACE("wake");
  once = RUNS;
  world.looks = 1;
  world.then = 2;
  CHECK_EQUAL(pthread_once(&once, initialise_once), 0);
  TRACE("sleep:100000");
  CHECK_EQUAL(calls, 1);
}

/* Other callers wait for the runner, too, and set the variables. */
static void overwrite(void) {
  handed_callable = &other_callable;
  handed_call = &other_callable;
  once = PTHREAD_ONCE_INIT;
  mt_set_current(&threads[0]);
  finish(awaited, &onces, (uint32_t)world.then);
}

static void a_caller_gets_back_what_it_handed_over(void) {
  for (int runs = 0; runs < 2; runs++) {
    check_case("runs %d", runs);
    begin_once(&threads[0]);
    world.then = runs ? 0 : 2;
    CHECK(begin(awaited, &onces, "pthread_once"));
    handed_callable = handed_call = &callable;
    mt_set_current(&threads[1]);
    world.meanwhile = overwrite;
    CHECK_EQUAL(begin(awaited, &onces, "pthread_once"), runs);
    CHECK(handed_callable == (runs ? &callable : &other_callable));
    CHECK(handed_call == (runs ? &callable : &other_callable));
  }
  begin_guard(&threads[0]);
  handed_callable = &callable;
  world.meanwhile = abort_by_the_first;
  CHECK_EQUAL(guard_acquire(&guard), 1); /* no call of its kind */
  CHECK(handed_callable == &callable);
  has_no_variables = true;
  begin_once(&threads[0]);
  CHECK_EQUAL(pthread_once(&once, initialise_once), 0);
  has_no_variables = false;
  CHECK(handed_callable == &callable);
}

/* ---- threads that end in an initialiser */

static void mltp_exit_leaves_an_initialiser(void) {
  static const struct words *const kinds[] = {&guards, &flags, &onces};
  for (int i = 0; i < 3; i++) {
    check_case("kind %d", i);
    begin_guard(&threads[0]);
    CHECK(begin(word, kinds[i], "a call"));
    CHECK_EQUAL(*word, kinds[i]->running);
    mt_waitq_append(&slot_of(word)->once.queue_, &threads[2]);
    struct mt_undo *undo = threads[0].undo;
    threads[0].undo = NULL;
    undo->run(undo);
    TRACE(i == 0 ? "resume:2" : "wake resume:2");
    CHECK_EQUAL(*word, 0);
    check_free(slot_of(word));
  }
}

static void end_here(void) { pthread_exit(NULL); }

static void end_with(void *arg) { pthread_exit(arg); }

static void *begin_a_function(void *p0) {
  pthread_once(&once, end_here);
  return p0;
}

static void *begin_a_flag(void *p0) {
  call_once(&flag, NULL, end_with);
  return p0;
}

static void a_kernel_thread_that_ends_leaves_an_initialiser(void) {
  pthread_t thread;
  begin_once(&threads[0]);
  CHECK_EQUAL(pthread_create(&thread, NULL, begin_a_function, NULL), 0);
  CHECK_EQUAL(pthread_join(thread, NULL), 0);
  TRACE("wake");
  CHECK_EQUAL(once, PTHREAD_ONCE_INIT);
  flag = 0;
  awaited = (uint32_t *)&flag;
  CHECK_EQUAL(pthread_create(&thread, NULL, begin_a_flag, NULL), 0);
  CHECK_EQUAL(pthread_join(thread, NULL), 0);
  TRACE("wake");
  CHECK_EQUAL((uint32_t)flag, 0);
}

static void the_end_may_come_from_elsewhere(void) {
  begin_guard(&threads[0]);
  CHECK_EQUAL(guard_acquire(&guard), 1);
  mt_set_current(&threads[1]); /* it has nothing to undo */
  guard_release(&guard);
  CHECK(*word == 1 && slot_of(word)->key == NULL);
  CHECK(threads[0].undo == &slot_of(word)->undo && threads[1].undo == NULL);
}

static void a_child_of_fork_forgets_the_parents_threads(void) {
  begin_guard(&threads[0]);
  CHECK_EQUAL(guard_acquire(&guard), 1);
  slot_of(word)->once.queue_.ilock_ = 1;
  mt_initialise_forget();
  CHECK(slot_of(word)->key == NULL && slot_of(word)->once.runner_ == NULL);
  CHECK_EQUAL(slot_of(word)->once.queue_.ilock_, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(libc_says_what_runs_means), /* first: what is found is kept */
      TEST_BARE(a_variable_is_initialised_once),
      TEST_BARE(an_initialiser_that_fails_is_run_again),
      TEST_BARE(others_park_until_it_has_run),
      TEST_BARE(a_waiter_runs_what_has_failed),
      TEST_BARE(an_initialiser_may_not_need_itself),
      TEST_BARE(a_word_whose_slot_is_taken_needs_none),
      TEST_BARE(slots_are_spread),
      TEST_BARE(threads_of_vps_look_now_and_then),
      TEST_BARE(kernel_threads_wait_in_the_kernel),
      TEST_BARE(a_flag_is_set_when_its_function_has_run),
      TEST_BARE(what_the_parent_began_is_begun_again),
      TEST_BARE(a_caller_gets_back_what_it_handed_over),
      TEST_BARE(mltp_exit_leaves_an_initialiser),
      TEST_BARE(a_kernel_thread_that_ends_leaves_an_initialiser),
      TEST_BARE(the_end_may_come_from_elsewhere),
      TEST_BARE(a_child_of_fork_forgets_the_parents_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
