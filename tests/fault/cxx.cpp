/* SPDX-License-Identifier: Apache-2.0 */
/* mltp.hpp: what ends a C++ program, and what it says. */
#include <sys/wait.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mltp/mltp.hpp>
#include <stdexcept>

#include "support/support.h"

namespace {

const char *const no_settings[] = {nullptr};

/* The body ends by SIGABRT after a line that says all of the words. */
void expect_abort(void (*body)(), std::initializer_list<const char *> words) {
  struct outcome outcome;
  run_child(&outcome, body, no_settings);
  CHECK(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGABRT);
  for (const char *word : words) {
    check_case("\"%s\" in: %.60s", word, outcome.said);
    CHECK(std::strstr(outcome.said, word) != nullptr);
  }
}

void throw_in(bool bound, void (*func)()) {
  mltp::runtime runtime;
  mltp::thread thread(mltp::attributes().name("careless").bound(bound), func);
  thread.join();
}

void throw_runtime_error() { throw std::runtime_error("no more soap"); }

void an_escaped_exception_names_the_thread() {
  expect_abort([] { throw_in(false, throw_runtime_error); },
               {"mltp: thread ", "'careless': an exception left its function: no more soap ("});
  expect_abort([] { throw_in(true, throw_runtime_error); }, {"'careless'", "no more soap"});
  expect_abort([] { throw_in(false, [] { throw 7; }); }, {"'careless'", "no std::exception"});
}

struct Frame {
  ~Frame() { std::fputs("unwound\n", stderr); }
};

void throw_past_a_frame() {
  const Frame frame;
  mltp_yield();
  throw_runtime_error();
}

/* std::terminate() runs at the throw, so that a debugger sees it: no frame was left. */
void expect_whole_stack(bool bound) {
  static bool is_bound;
  is_bound = bound;
  struct outcome outcome;
  run_child(&outcome, [] { throw_in(is_bound, throw_past_a_frame); }, no_settings);
  CHECK(std::strstr(outcome.said, "no more soap") != nullptr);
  CHECK(std::strstr(outcome.said, "unwound") == nullptr);
}

void an_escaped_exception_keeps_the_frames_of_its_throw() {
  expect_whole_stack(false);
  expect_whole_stack(true);
}

int initialised_by_itself();
int need_itself() { return initialised_by_itself(); }
int initialised_by_itself() {
  static int value = need_itself();
  return value;
}

void an_initialiser_that_needs_itself_is_reported() {
  expect_abort([] { throw_in(false, [] { initialised_by_itself(); }); },
               {"__cxa_guard_acquire", "'careless'", "waits for its own end"});
}

void *post_and_throw(void *started) {
  mltp_sem_post(static_cast<mltp_sem_t *>(started));
  throw 7;
}

/* Caught by nobody: not by the joiner either, in whose frames the thread may run when it is
 * joined before it has started. */
void join_thrower(bool bound, bool started) {
  mltp::runtime runtime(1);
  mltp_yield(); /* so that it is nobody else's turn when the joiner runs the thread */
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  mltp_t *thread = (bound ? spawn_bound : spawn)(post_and_throw, &sem);
  try {
    if (started) mltp_sem_wait(&sem);
    mltp_join(thread, nullptr);
  } catch (...) {
    std::_Exit(1);
  }
}

void an_exception_of_a_c_thread_ends_the_program() {
  expect_abort([] { join_thrower(false, true); }, {"terminate", "int"});
  expect_abort([] { join_thrower(true, true); }, {"terminate", "int"});
}

void an_exception_of_a_thread_run_by_its_joiner_ends_the_program() {
  expect_abort([] { join_thrower(false, false); }, {"terminate", "int"});
}

void a_forgotten_thread_ends_the_program() {
  expect_abort(
      [] {
        mltp::runtime runtime;
        mltp::thread forgotten([] {});
      },
      {"terminate"});
}

void misuse_is_thrown_when_it_does_not_abort() {
  const char *const settings[] = {"MLTP_MISUSE=error", nullptr};
  struct outcome outcome;
  run_child(
      &outcome,
      [] {
        mltp::runtime runtime;
        mltp::mutex mutex;
        try {
          mutex.unlock();
        } catch (const std::system_error &error) {
          if (error.code() == std::errc::operation_not_permitted) return;
        }
        std::abort();
      },
      settings);
  CHECK_EQUAL(outcome.status, 0);
}

/* Ended by exit(), when there is no runtime any more, timers having been set on them. */
void static_objects_outlive_the_runtime() {
  struct outcome outcome;
  run_child(
      &outcome,
      [] {
        static mltp::timed_mutex mutex;
        static mltp::condition_variable condition;
        static mltp::binary_semaphore semaphore(0);
        {
          mltp::runtime runtime;
          std::unique_lock lock(mutex);
          condition.wait_for(lock, std::chrono::milliseconds(1));
          if (semaphore.try_acquire_for(std::chrono::milliseconds(1))) std::abort();
        }
        std::exit(0); /* destroys them */
      },
      no_settings);
  CHECK_EQUAL(outcome.status, 0);
  CHECK_TEXT(outcome.said, "");
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      TEST_BARE(an_escaped_exception_names_the_thread),
      TEST_BARE(an_escaped_exception_keeps_the_frames_of_its_throw),
      TEST_BARE(an_initialiser_that_needs_itself_is_reported),
      TEST_BARE(an_exception_of_a_c_thread_ends_the_program),
      TEST_BARE(an_exception_of_a_thread_run_by_its_joiner_ends_the_program),
      TEST_BARE(a_forgotten_thread_ends_the_program),
      TEST_BARE(misuse_is_thrown_when_it_does_not_abort),
      TEST_BARE(static_objects_outlive_the_runtime),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
