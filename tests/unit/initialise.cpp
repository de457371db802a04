/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers that run once by the means of C++ and libc, and wait: other threads that need them
 * wait without their VP. On one VP each test would hang or be handed over otherwise. */
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "support/support.h"

namespace {

constexpr int kWorkers = 6;
std::atomic<int> calls, early, blocked_vps;

void wait_a_little() {
  for (int i = 0; i < 5; i++) mltp_yield(); /* so that others come, and wait */
}

int slow_value(bool *fails) {
  calls++;
  wait_a_little();
  if (*fails) {
    *fails = false;
    throw std::runtime_error("the first one");
  }
  return 42;
}

template <int Round>
int value_of(bool *fails) {
  static int value = slow_value(fails);
  return value;
}

template <int Round>
void *need_static(void *fails) {
  try {
    if (value_of<Round>(static_cast<bool *>(fails)) != 42) early++;
  } catch (const std::runtime_error &) {
    if (value_of<Round>(static_cast<bool *>(fails)) != 42) early++;
  }
  return nullptr;
}

void run_workers(enum kind kind, mltp_userf_t *func, bool fails, int expected) {
  check_case("%s", kind_names[kind]);
  calls = early = 0;
  workers_run(kWorkers, kind, func, &fails);
  CHECK_EQUAL(calls.load(), expected);
  CHECK_EQUAL(early.load(), 0);
}

void static_is_initialised_once() {
  run_workers(UNBOUND, need_static<0>, false, 1);
  run_workers(BOUND, need_static<1>, false, 1);
  run_workers(FOREIGN, need_static<2>, false, 1);
  run_workers(MIXED, need_static<3>, false, 1);
}

void static_is_initialised_again_after_an_exception() {
  run_workers(UNBOUND, need_static<4>, true, 2);
  run_workers(MIXED, need_static<5>, true, 2);
}

struct Flags {
  std::once_flag flag;
  bool fails;
  int value;
};

/* A function of its own: compilers may keep the address of thread-local data for a whole function
 * (mltp-threads(7)), and the first call returns on another VP perhaps. */
[[gnu::noinline]] void call_once_for(Flags *flags) {
  std::call_once(flags->flag, [flags] { flags->value = slow_value(&flags->fails); });
}

void *need_flag(void *p0) {
  auto *flags = static_cast<Flags *>(p0);
  try {
    call_once_for(flags);
  } catch (const std::runtime_error &) {
    call_once_for(flags);
  }
  if (flags->value != 42) early++;
  return nullptr;
}

void call_once_runs_once(bool fails) {
  for (int round = 0; round < scaled(50); round++) {
    for (int kind = 0; kind < KINDS; kind++) {
      check_case("%s, %s", kind_names[kind], fails ? "throws" : "returns");
      Flags flags[2] = {};
      flags[0].fails = flags[1].fails = fails;
      calls = early = 0;
      std::vector<worker> workers(2 * kWorkers);
      for (size_t i = 0; i < workers.size(); i++)
        worker_start(
            &workers[i],
            kind == MIXED ? static_cast<enum kind>(i % MIXED) : static_cast<enum kind>(kind),
            need_flag, &flags[i % 2]);
      for (worker &each : workers) worker_join(&each);
      CHECK_EQUAL(calls.load(), fails ? 4 : 2);
      CHECK_EQUAL(early.load(), 0);
    }
  }
}

/* GCC for 64-bit Arm keeps the address of the thread-local data in which std::call_once() hands its
 * function on, so the call must return on its VP: a limit that mltp-threads(7) states. */
[[maybe_unused]] bool may_return_on_another_vp() { return !on_kernel_backend() && mltp_vps() > 1; }

/* Two flags at a time: what std::call_once() keeps with the kernel thread must follow the thread.
 */
void call_once_runs_once_and_again_after_an_exception() {
#ifdef __aarch64__
  if (may_return_on_another_vp()) return;
#endif
  call_once_runs_once(false);
  call_once_runs_once(true);
}

pthread_once_t never_blocked = PTHREAD_ONCE_INIT;
mltp_sem_t go_on;

void wait_to_go_on() { mltp_sem_wait(&go_on); }

void *call_blocked(void *) {
  pthread_once(&never_blocked, wait_to_go_on);
  blocked_vps++;
  return nullptr;
}

int wait_for_post() {
  mltp_sem_wait(&go_on);
  return 1;
}

void *need_blocked(void *) {
  static int value = wait_for_post();
  blocked_vps += value;
  return nullptr;
}

/* The main thread posts at once, though callers wait: none of them has the VP. */
void callers_wait_without_their_vp() {
  for (mltp_userf_t *func : {call_blocked, need_blocked}) {
    mltp_sem_init(&go_on, 0, nullptr);
    blocked_vps = 0;
    mltp_t *threads[3];
    for (mltp_t *&thread : threads) thread = spawn(func, nullptr);
    for (int i = 0; i < 3; i++) mltp_yield();
    CHECK_EQUAL(blocked_vps.load(), 0);
    mltp_sem_post(&go_on);
    for (mltp_t *thread : threads) mltp_join(thread, nullptr);
    CHECK_EQUAL(blocked_vps.load(), 3);
  }
}

int leave_twice() {
  wait_a_little();
  if (calls.fetch_add(1) < 2) mltp_exit(nullptr);
  return 42;
}

void *need_left(void *) {
  static int value = leave_twice();
  if (value != 42) early++;
  return nullptr;
}

void static_is_initialised_again_after_mltp_exit() {
  calls = early = 0;
  workers_run(kWorkers, UNBOUND, need_left, nullptr);
  CHECK_EQUAL(calls.load(), 3);
  CHECK_EQUAL(early.load(), 0);
}

void leave_once() {
  wait_a_little();
  if (calls.fetch_add(1) < 2) mltp_exit(nullptr);
}

pthread_once_t once_of_all = PTHREAD_ONCE_INIT;

void *need_once(void *) {
  pthread_once(&once_of_all, leave_once);
  if (calls.load() < 3) early++;
  return nullptr;
}

void pthread_once_runs_again_after_mltp_exit() {
  calls = early = 0;
  once_of_all = PTHREAD_ONCE_INIT;
  workers_run(kWorkers, UNBOUND, need_once, nullptr);
  CHECK_EQUAL(calls.load(), 3);
  CHECK_EQUAL(early.load(), 0);
}

/* More initialisers at a time than there are places for them: nested by a chain of templates. */
template <int Depth>
struct Chain {
  static int value() {
    static int below = (mltp_yield(), Chain<Depth - 1>::value());
    return below + 1;
  }
};
template <>
struct Chain<0> {
  static int value() { return 0; }
};

void *need_chain(void *) {
  if (Chain<200>::value() != 200) early++;
  return nullptr;
}

void many_initialisers_run_at_a_time() {
  early = 0;
  workers_run(kWorkers, MIXED, need_chain, nullptr);
  CHECK_EQUAL(early.load(), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      TEST(static_is_initialised_once),
      TEST(static_is_initialised_again_after_an_exception),
      TEST(call_once_runs_once_and_again_after_an_exception),
      TEST(callers_wait_without_their_vp),
      TEST(static_is_initialised_again_after_mltp_exit),
      TEST(pthread_once_runs_again_after_mltp_exit),
      TEST(many_initialisers_run_at_a_time),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
