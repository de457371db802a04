/* SPDX-License-Identifier: Apache-2.0 */
/* Ways in which a thread ends, or ends its process: endings WAY. A way that begins with "bound-" is
 * one of a bound thread. compilers.py has what each way must give. */
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <mltp/mltp.hpp>
#include <stdexcept>
#include <string>

/* Not in the namespace without a name: there the compiler would know that nothing but
 * finished::act() can be meant, and call that. */
namespace endings {

struct unfinished {
  unfinished();
  virtual ~unfinished() = default;
  virtual void act() = 0;
};

unfinished *volatile in_construction;

unfinished::unfinished() {
  in_construction = this;
  mltp_yield();
  in_construction->act();
}

struct finished : unfinished {
  void act() override {}
};

}  // namespace endings

namespace {

struct noisy {
  ~noisy() { std::fputs("destroyed\n", stderr); }
};

struct throwing {
  ~throwing() noexcept(false) {
    mltp_yield();
    throw std::runtime_error("destructor-x");
  }
};

[[gnu::noinline]] void fail(const char *text) {
  mltp_yield();
  throw std::runtime_error(text);
}

void break_promise() noexcept { fail("noexcept-x"); }

void throw_while_unwinding() {
  try {
    throwing local;
    fail("first-x");
  } catch (const std::runtime_error &) {
    std::fputs("caught\n", stderr);
  }
}

void throw_nothing() {
  mltp_yield();
  throw;
}

void call_pure() { endings::finished object; }

void print_and_leave() {
  std::fputs("handler\n", stderr);
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception &e) {
    std::fprintf(stderr, "what %s\n", e.what());
  }
  std::_Exit(5);
}

void yield_and_leave() {
  mltp_yield();
  std::fputs("yielded\n", stderr);
  std::_Exit(6);
}

void exit_quickly() {
  std::at_quick_exit([] { std::fputs("at quick_exit\n", stderr); });
  std::quick_exit(4);
}

void make_thread_at_exit() {
  mltp_yield();
  mltp::thread([] { std::fputs("thread at exit\n", stderr); }).join();
}

void exit_with_handler() {
  std::atexit(make_thread_at_exit);
  std::exit(9);
}

void cancel_self() {
  noisy local;
  pthread_cancel(pthread_self());
  pthread_testcancel();
  std::fputs("survived\n", stderr);
}

void cancel_self_and_sleep() {
  noisy local;
  pthread_cancel(pthread_self());
  usleep(10);
  std::fputs("survived\n", stderr);
}

void exit_by_pthread() {
  noisy local;
  pthread_exit(nullptr);
}

const std::map<std::string, void (*)()> ways = {
    {"return", [] { mltp_yield(); }},
    {"mltp_exit", [] { mltp_exit(nullptr); }},
    {"detach", [] { pthread_detach(pthread_self()); }},
    {"pthread_exit", exit_by_pthread},
    {"cancel", cancel_self},
    {"cancel_sleep", cancel_self_and_sleep},
    {"noexcept", break_promise},
    {"body", [] { fail("body-x"); }},
    {"destructor", throw_while_unwinding},
    {"rethrow", throw_nothing},
    {"pure", call_pure},
    {"handler", [] { fail("handler-x"); }},
    {"handler_yields", break_promise},
    {"exit", [] { std::exit(3); }},
    {"quick_exit", exit_quickly},
    {"atexit", exit_with_handler},
    {"abort", [] { std::abort(); }},
};

}  // namespace

int main(int argc, char **argv) {
  std::string way = argc > 1 ? argv[1] : "return";
  const mltp::runtime runtime;
  if (way == "main") fail("main-x");
  if (way == "handler") std::set_terminate(print_and_leave);
  if (way == "handler_yields") std::set_terminate(yield_and_leave);
  mltp::attributes attributes;
  attributes.name("worker");
  if (way.rfind("bound-", 0) == 0) {
    attributes.bound();
    way = way.substr(6);
  }
  const auto found = ways.find(way);
  if (found == ways.end()) return 2;
  mltp::thread(attributes, found->second).join();
  return 0;
}
