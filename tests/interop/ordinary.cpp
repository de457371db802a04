/* SPDX-License-Identifier: Apache-2.0 */
/* What the C++ library and the compiler keep for a kernel thread, in threads that wait in the
 * middle of it: exceptions and coroutines. And mistakes that must be reported. */
#include <pthread.h>

#include <atomic>
#include <coroutine>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mltp/mltp.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int kThreads = 16, kRounds = 20;
std::atomic<int> wrong;

void expect(bool right) { wrong += !right; }

/* Other threads throw and catch while an exception is on its way, is handled, and is thrown anew.
 */
void throw_and_wait(int id, int round) {
  const std::string text = std::to_string(id) + "." + std::to_string(round);
  struct waiter {
    ~waiter() { mltp_yield(); }
  };
  try {
    try {
      waiter unwound;
      throw std::runtime_error(text);
    } catch (const std::exception &outer) {
      mltp_yield();
      expect(outer.what() == text && std::uncaught_exceptions() == 0);
      try {
        throw id;
      } catch (int inner) {
        mltp_yield();
        expect(inner == id);
      }
      throw;
    }
  } catch (const std::runtime_error &again) {
    mltp_yield();
    expect(again.what() == text);
  }
  expect(std::current_exception() == nullptr);
}

struct task {
  struct promise_type {
    int value = 0;
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) {
      value = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

task count(int to) {
  for (int i = 1; i <= to; i++) {
    mltp_yield();
    co_yield i;
  }
  throw std::out_of_range("end");
}

void resume_to_the_end() {
  task counter = count(kRounds);
  int sum = 0;
  try {
    for (;;) {
      counter.handle.resume();
      sum += counter.handle.promise().value;
    }
  } catch (const std::out_of_range &) {
    expect(sum == kRounds * (kRounds + 1) / 2);
  }
  counter.handle.destroy();
}

int run_right() {
  std::vector<mltp::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([i] {
      for (int round = 0; round < kRounds; round++) throw_and_wait(i, round);
      resume_to_the_end();
    });
  for (mltp::thread &t : threads) t.join();
  return wrong != 0;
}

volatile int depth = 1 << 30;

int recurse(int level) {
  volatile char frame[512];
  memset(const_cast<char *>(frame), level, sizeof frame);
  return level < depth ? recurse(level + 1) + frame[0] : 0;
}

template <class F>
int run_wrong(F body, bool bound = false) {
  mltp::thread t(mltp::attributes().name("worker").bound(bound), body);
  t.join();
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "right";
  mltp::runtime runtime;
  if (what == "body") return run_wrong([] { throw std::runtime_error("body-x"); });
  if (what == "exit") return run_wrong([] { pthread_exit(nullptr); });
  if (what == "overflow") return run_wrong([] { recurse(1); });
  if (what == "bound-overflow") return run_wrong([] { recurse(1); }, true);
  if (what == "main-overflow") return recurse(1);
  return run_right();
}
