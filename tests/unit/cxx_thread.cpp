/* SPDX-License-Identifier: Apache-2.0 */
/* mltp.hpp: threads, attributes, numbers, sleeping, the clock. */
#include <cfenv>
#include <memory>
#include <mltp/mltp.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "support/support.h"

using namespace std::chrono_literals;

namespace {

void functions_and_arguments_are_taken_as_std_thread_does() {
  int calls = 0;
  mltp::thread small([&calls] { calls++; });
  small.join();

  std::string text = "copied";
  auto owned = std::make_unique<int>(7);
  mltp::thread large(
      [](std::string copy, std::unique_ptr<int> moved, int &referred) {
        CHECK_TEXT(copy.c_str(), "copied");
        CHECK_EQUAL(*moved, 7);
        referred += *moved;
      },
      text, std::move(owned), std::ref(calls));
  text = "changed";
  large.join();
  CHECK_EQUAL(calls, 8);

  struct Counter {
    int count = 0;
    void add(int n) { count += n; }
  } counter;
  mltp::thread(&Counter::add, &counter, 5).join();
  CHECK_EQUAL(counter.count, 5);
}

/* As many copies as ends, and nothing of it left. */
struct Counted {
  static inline std::atomic<int> alive = 0;
  Counted() { alive++; }
  Counted(const Counted &) { alive++; }
  ~Counted() { alive--; }
  char more_than_a_pointer[64];
  void operator()() const {}
};

void what_a_thread_took_is_destroyed() {
  for (int i = 0; i < 50; i++) mltp::thread{Counted()}.join();
  CHECK_EQUAL(Counted::alive.load(), 0);
}

void handles_move() {
  static_assert(!std::is_copy_constructible_v<mltp::thread>);
  int ran = 0;
  mltp::thread none;
  CHECK(!none.joinable());
  mltp::thread first([&ran] { ran++; });
  const mltp::thread::id id = first.get_id();
  mltp::thread second(std::move(first));
  CHECK(!first.joinable()); /* NOLINT(bugprone-use-after-move) */
  CHECK(second.joinable());
  CHECK(second.get_id() == id);
  swap(none, second);
  CHECK(none.get_id() == id);
  none.join();
  CHECK(!none.joinable());
  CHECK_EQUAL(ran, 1);
}

void a_detached_thread_runs_on() {
  mltp::binary_semaphore done(0);
  for (int i = 0; i < 20; i++) mltp::thread([&done] { done.release(); }).detach();
  for (int i = 0; i < 20; i++) done.acquire();
}

void numbers_are_the_threads() {
  std::set<mltp::thread::id> seen;
  std::unordered_set<mltp::thread::id> hashed;
  for (int i = 0; i < 20; i++) {
    mltp::thread::id own;
    mltp::thread thread([&own] { own = mltp::this_thread::get_id(); });
    const mltp::thread::id id = thread.get_id();
    thread.join();
    CHECK(own == id);
    seen.insert(id);
    hashed.insert(id);
  }
  CHECK_EQUAL(seen.size(), 20);
  CHECK_EQUAL(hashed.size(), 20);
  CHECK(!seen.contains(mltp::this_thread::get_id()));
  CHECK(mltp::thread().get_id() == mltp::thread::id());
  std::ostringstream out;
  out << mltp::this_thread::get_id();
  CHECK(out.str() == std::to_string(mltp_id(mltp_self())));
}

void attributes_reach_the_thread() {
  std::string name;
  int vp = 0, rounding = 0;
  std::fesetround(FE_UPWARD);
  mltp::thread thread(mltp::attributes().name("washer").stack_size(64 * 1024).bound().fp_control(),
                      [&] {
                        name = mltp_name(mltp_self());
                        vp = mltp_vp();
                        rounding = std::fegetround();
                      });
  std::fesetround(FE_TONEAREST);
  thread.join();
  CHECK_TEXT(name.c_str(), "washer");
  CHECK_EQUAL(vp, seeded() ? 0 : -1); /* deterministic mode knows no bound threads */
  CHECK_EQUAL(rounding, FE_UPWARD);
}

int error_of(void (*act)()) {
  try {
    act();
  } catch (const std::system_error &error) {
    return error.code().value();
  }
  return 0;
}

void errors_are_thrown() {
  CHECK_EQUAL(error_of([] { mltp::thread().join(); }), EINVAL);
  CHECK_EQUAL(error_of([] { mltp::thread().try_join(); }), EINVAL);
  mltp::thread ends([] {});
  while (!ends.try_join()) mltp::this_thread::yield();
  CHECK(!ends.joinable());
  CHECK_EQUAL(error_of([] { mltp::thread().detach(); }), EINVAL);
  CHECK_EQUAL(error_of([] { mltp::thread(mltp::attributes().stack_size(SIZE_MAX), [] {}).join(); }),
              EINVAL);
  CHECK_EQUAL(error_of([] { mltp::runtime second; }), EALREADY);
}

void std_threads_take_part() {
  mltp::mutex mutex;
  mltp::binary_semaphore done(0);
  int sum = 0;
  auto add = [&] {
    for (int i = 0; i < 1000; i++) {
      std::lock_guard lock(mutex);
      sum++;
    }
    done.release();
  };
  mltp::binary_semaphore known(0);
  std::thread foreign([&] {
    known.release(); /* its first call; others only look at descriptors they may know of */
    add();
  });
  known.acquire();
  mltp::thread thread(add);
  done.acquire(); /* so that the join does not block the VP for long */
  done.acquire();
  foreign.join();
  thread.join();
  CHECK_EQUAL(sum, 2000);
}

void sleeping_lasts_as_long_as_it_should() {
  const auto start = mltp::clock::now();
  mltp::this_thread::sleep_for(2ms);
  mltp::this_thread::sleep_for(-1h);
  mltp::this_thread::sleep_until(start); /* long ago */
  mltp::this_thread::sleep_until(std::chrono::system_clock::now() + 2ms);
  mltp::this_thread::sleep_until(std::chrono::steady_clock::now() + 2ms);
  CHECK(mltp::clock::now() - start >= 6ms);
  static_assert(mltp::clock::is_steady);
  const uint64_t now = mltp_now();
  CHECK(mltp::clock::now().time_since_epoch() >= std::chrono::nanoseconds(now));
}

/* Times that no 64 bits of nanoseconds hold. */
void times_are_clipped() {
  using mltp::detail::deadline;
  using mltp::detail::nanoseconds;
  using std::chrono::hours;
  CHECK_EQUAL(nanoseconds(1500us), 1500000);
  CHECK_EQUAL(nanoseconds(std::chrono::duration<double>(1.5e-9)), 2);
  CHECK_EQUAL(nanoseconds(-1ns), 0);
  CHECK(nanoseconds(hours::max()) == MLTP_NEVER);
  CHECK(nanoseconds(std::chrono::nanoseconds::max()) == MLTP_NEVER);
  CHECK_EQUAL(nanoseconds(hours::min()), 0);
  CHECK(deadline(mltp::clock::time_point::max()) == MLTP_NEVER);
  CHECK(deadline(mltp::detail::end_of(hours::max())) == MLTP_NEVER);
  CHECK_EQUAL(deadline(mltp::clock::time_point::min()), 0);
  CHECK_EQUAL(deadline(std::chrono::system_clock::time_point::min()), 0);
}

#ifdef __cpp_lib_jthread
void a_jthread_is_stopped_and_joined() {
  bool stopped = false, joined = false;
  {
    mltp::jthread waits([&stopped](std::stop_token stop) {
      while (!stop.stop_requested()) mltp::this_thread::yield();
      stopped = true;
    });
    mltp::jthread plain([&joined](int n) { joined = n == 3; }, 3);
    mltp::jthread none;
    CHECK(!none.joinable());
    CHECK(!none.request_stop());
  }
  CHECK(stopped);
  CHECK(joined);
}

void a_jthread_that_is_replaced_is_stopped() {
  std::atomic<int> stopped = 0;
  auto until_stopped = [&stopped](std::stop_token stop) {
    while (!stop.stop_requested()) mltp::this_thread::yield();
    stopped++;
  };
  mltp::jthread thread(until_stopped);
  thread = mltp::jthread(mltp::attributes().name("second"), until_stopped);
  CHECK_EQUAL(stopped.load(), 1);
  CHECK_TEXT(mltp_name(thread.native_handle()), "second");
  CHECK(thread.request_stop());
  CHECK(!thread.request_stop());
  thread.join();
  CHECK_EQUAL(stopped.load(), 2);
}
#endif

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      TEST(functions_and_arguments_are_taken_as_std_thread_does),
      TEST(what_a_thread_took_is_destroyed),
      TEST(handles_move),
      TEST(a_detached_thread_runs_on),
      TEST(numbers_are_the_threads),
      TEST(attributes_reach_the_thread),
      TEST(errors_are_thrown),
      TEST(std_threads_take_part),
      TEST(sleeping_lasts_as_long_as_it_should),
      TEST(times_are_clipped),
#ifdef __cpp_lib_jthread
      TEST(a_jthread_is_stopped_and_joined),
      TEST(a_jthread_that_is_replaced_is_stopped),
#endif
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
