/* SPDX-License-Identifier: Apache-2.0 */
/* mltp.hpp: mutexes, conditions, semaphores, barriers, with what <mutex> has for them. */
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mltp/mltp.hpp>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "support/support.h"

using namespace std::chrono_literals;

namespace {

constexpr int kThreads = 8;

/* What nobody can wait for, and what was over before it began. */
const auto kNever = mltp::clock::time_point::max();
const auto kPast = mltp::clock::time_point();

void run_threads(const std::function<void(int)> &body) {
  std::vector<mltp::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back(mltp::attributes().bound(i % 4 == 0), body, i);
  }
  for (mltp::thread &thread : threads) thread.join();
}

/* The requirements of the standard library, as far as a compiler can check them. */
template <class T>
concept BasicLockable = requires(T lock) {
  lock.lock();
  lock.unlock();
};
template <class T>
concept Lockable = BasicLockable<T> && requires(T lock) {
  { lock.try_lock() } -> std::same_as<bool>;
};
template <class T>
concept TimedLockable = Lockable<T> && requires(T lock) {
  { lock.try_lock_for(1ms) } -> std::same_as<bool>;
  { lock.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};
static_assert(Lockable<mltp::mutex> && !TimedLockable<mltp::mutex>);
static_assert(TimedLockable<mltp::timed_mutex>);
static_assert(!std::is_copy_constructible_v<mltp::mutex> &&
              !std::is_move_assignable_v<mltp::mutex>);
static_assert(std::is_trivially_destructible_v<mltp::mutex>);

constinit mltp::mutex static_mutex;
constinit mltp::condition_variable static_condition; /* ended after the runtime */
constinit mltp::timed_mutex static_timed_mutex;

void mutexes_exclude_under_every_std_lock() {
  mltp::mutex first, second(MLTP_LOCK_SPIN, "spinning");
  mltp::timed_mutex timed;
  long sum = 0;
  run_threads([&](int number) {
    for (int i = 0; i < scaled(300); i++) {
      switch ((number + i) % 3) {
        case 0: {
          std::scoped_lock locks(first, second, timed, static_mutex);
          sum++;
          break;
        }
        case 1: {
          std::scoped_lock locks(static_mutex, timed, second, first);
          sum++;
          mltp::this_thread::yield();
          break;
        }
        default: {
          std::unique_lock deferred(timed, std::defer_lock);
          std::unique_lock one(first, std::defer_lock), two(second, std::defer_lock);
          std::lock(deferred, one, two);
          std::lock_guard three(static_mutex);
          sum++;
        }
      }
    }
  });
  CHECK_EQUAL(sum, kThreads * scaled(300));
}

void a_mutex_is_tried() {
  mltp::mutex mutex;
  std::unique_lock lock(mutex);
  mltp::thread([&mutex] { CHECK(!mutex.try_lock()); }).join();
  lock.unlock();
  CHECK(lock.try_lock());
  CHECK_EQUAL(mltp_lock_try(mutex.native_handle()), EBUSY); /* the same object in C */
}

void a_recursive_mutex_is_locked_again() {
  mltp::recursive_mutex mutex("again");
  std::unique_lock outer(mutex);
  {
    const std::lock_guard inner(mutex);
    CHECK(mutex.try_lock());
    mutex.unlock();
  }
  mltp::thread([&mutex] { CHECK(!mutex.try_lock()); }).join();
  outer.unlock();
  mltp::thread([&mutex] {
    CHECK(mutex.try_lock());
    mutex.unlock();
  }).join();
}

void a_timed_mutex_gives_up() {
  mltp::timed_mutex mutex;
  std::unique_lock lock(mutex);
  mltp::thread([&mutex] {
    CHECK(!mutex.try_lock_for(1ms));
    CHECK(!mutex.try_lock_until(kPast));
    const auto end = std::chrono::system_clock::now() + 2ms;
    CHECK(!mutex.try_lock_until(end));
    CHECK(std::chrono::system_clock::now() >= end);
  }).join();
  mltp::thread waiter([&mutex] {
    std::unique_lock late(mutex, 1h);
    CHECK(late.owns_lock());
  });
  mltp::this_thread::yield();
  lock.unlock();
  waiter.join();
}

/* Pipes of one place: each element must be handed over, none twice. */
template <class Condition, class Mutex>
void hand_over() {
  constexpr int kRounds = 200;
  Mutex mutex;
  Condition changed;
  std::deque<int> pipe;
  long sum = 0;
  run_threads([&](int number) {
    for (int i = 0; i < kRounds; i++) {
      std::unique_lock lock(mutex);
      if (number % 2 == 0) {
        changed.wait(lock, [&] { return pipe.size() < 2; });
        pipe.push_back(i);
      } else {
        if (!changed.wait_until(lock, kNever, [&] { return !pipe.empty(); })) CHECK(false);
        sum += pipe.front();
        pipe.pop_front();
      }
      changed.notify_all();
    }
  });
  CHECK(pipe.empty());
  CHECK_EQUAL(sum, kThreads / 2 * (kRounds * (kRounds - 1) / 2));
}

void conditions_hand_over() {
  hand_over<mltp::condition_variable, mltp::mutex>();
  hand_over<mltp::condition_variable, mltp::timed_mutex>();
  hand_over<mltp::condition_variable_any, mltp::mutex>();
  hand_over<mltp::condition_variable_any, mltp::timed_mutex>();
}

template <class Condition>
void time_out() {
  mltp::mutex mutex;
  Condition never;
  std::unique_lock lock(mutex);
  CHECK(never.wait_until(lock, kPast) == std::cv_status::timeout);
  CHECK(never.wait_for(lock, 1ms) == std::cv_status::timeout);
  const auto end = std::chrono::system_clock::now() + 2ms;
  CHECK(!never.wait_until(lock, end, [] { return false; }));
  CHECK(std::chrono::system_clock::now() >= end);
  CHECK(!never.wait_for(lock, 1ms, [] { return false; }));
  CHECK(never.wait_for(lock, 0ms, [] { return true; }));
  CHECK(lock.owns_lock());
  CHECK(!mutex.try_lock());
}

void conditions_time_out() {
  time_out<mltp::condition_variable>();
  time_out<mltp::condition_variable_any>();
}

/* Some wait forever, others give up all the time: a notification that met one of those is
 * passed on, so no endless waiter is left behind. */
void no_notification_is_lost_to_one_that_gives_up() {
  mltp::mutex mutex;
  mltp::condition_variable_any changed;
  int units = 0, wanted = 3 * scaled(200);
  run_threads([&](int number) {
    std::unique_lock lock(mutex);
    if (number == 0) {
      for (int i = 3 * scaled(200); i > 0; i--) {
        units++;
        changed.notify_one();
        lock.unlock();
        mltp::this_thread::yield();
        lock.lock();
      }
    } else if (number < 4) {
      for (int i = scaled(200); i > 0; i--) {
        changed.wait(lock, [&] { return units > 0; });
        units--;
        wanted--;
      }
    } else {
      while (wanted > 0)
        if (changed.wait_for(lock, 1us) == std::cv_status::no_timeout) changed.notify_one();
    }
  });
  CHECK_EQUAL(units, 0);
  CHECK_EQUAL(wanted, 0);
}

/* A lock of the program's own, one that is shared, too. */
struct Gate {
  mltp::binary_semaphore free{1};
  void lock() { free.acquire(); }
  void unlock() { free.release(); }
};

void condition_any_takes_any_lock() {
  Gate gate;
  mltp::condition_variable_any changed;
  bool open = false;
  mltp::thread opener([&] {
    std::lock_guard lock(gate);
    open = true;
    changed.notify_all();
  });
  {
    std::unique_lock lock(gate);
    changed.wait(lock, [&] { return open; });
    changed.wait(gate, [&] { return open; });
  }
  opener.join();
}

#ifdef __cpp_lib_jthread
void a_stop_request_ends_waits() {
  mltp::mutex mutex;
  mltp::condition_variable_any never;
  for (int i = 0; i < scaled(100); i++) {
    std::atomic<int> waiting = 0, stopped = 0;
    std::stop_source stop;
    std::vector<mltp::thread> threads;
    for (int j = 0; j < kThreads; j++) {
      threads.emplace_back(mltp::attributes().bound(j % 4 == 0), [&, j] {
        std::unique_lock lock(mutex);
        waiting++;
        const auto never_true = [] { return false; };
        const bool result = j % 2 == 0
                                ? never.wait(lock, stop.get_token(), never_true)
                                : never.wait_until(lock, stop.get_token(), kNever, never_true);
        CHECK(!result);
        CHECK(lock.owns_lock());
        stopped++;
      });
    }
    /* some are about to wait, some wait, some have not begun */
    while (waiting < i % kThreads) mltp::this_thread::yield();
    CHECK(stop.request_stop());
    for (mltp::thread &thread : threads) thread.join();
    CHECK_EQUAL(stopped.load(), kThreads);
  }
  std::unique_lock lock(mutex);
  CHECK(!never.wait_for(lock, std::stop_token(), 1ms, [] { return false; }));
  CHECK(never.wait_for(lock, std::stop_token(), 1h, [] { return true; }));
}
#endif

void semaphores_count() {
  mltp::counting_semaphore<3> places(3);
  mltp::binary_semaphore none(0);
  std::atomic<int> inside = 0, most = 0;
  run_threads([&](int) {
    for (int i = 0; i < scaled(200); i++) {
      places.acquire();
      const int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      mltp::this_thread::yield();
      inside--;
      places.release();
    }
  });
  CHECK(most <= 3);
  places.release(2);
  for (int i = 0; i < 5; i++) CHECK(places.try_acquire());
  CHECK(!places.try_acquire());
  CHECK(!none.try_acquire_for(1ms));
  CHECK(!none.try_acquire_until(kPast));
  none.release();
  CHECK(none.try_acquire_for(1h));
}

void barriers_complete_each_phase_once() {
  constexpr int kPhases = 100;
  std::atomic<int> came = 0;
  int phase = 0;
  mltp::barrier barrier(kThreads, [&]() noexcept {
    phase++;
    CHECK_EQUAL(came.load(), kThreads * phase);
  });
  run_threads([&](int number) {
    for (int i = 0; i < kPhases; i++) {
      came++;
      if ((number + i) % 2 == 0) {
        barrier.arrive_and_wait();
      } else {
        auto token = barrier.arrive();
        mltp::this_thread::yield();
        barrier.wait(token);
      }
      CHECK_EQUAL(phase, i + 1); /* none continues without us */
    }
  });
  CHECK_EQUAL(phase, kPhases);
}

void a_barrier_is_left() {
  mltp::barrier barrier(kThreads);
  std::atomic<int> phases = 0;
  run_threads([&](int number) { /* in phase i only those above i take part */
                                for (int i = 0; i < number; i++) {
                                  barrier.arrive_and_wait();
                                  phases++;
                                }
                                barrier.arrive_and_drop();
  });
  CHECK_EQUAL(phases.load(), kThreads * (kThreads - 1) / 2);
}

static_assert(Lockable<mltp::shared_mutex> && TimedLockable<mltp::shared_timed_mutex>);

void readers_share() {
  mltp::shared_timed_mutex mutex;
  mltp::barrier all_read(kThreads);
  long first = 0, second = 0;
  run_threads([&](int number) {
    {
      std::shared_lock lock(mutex);
      all_read.arrive_and_wait(); /* all hold it at once */
      CHECK(!mutex.try_lock());
      all_read.arrive_and_wait();
    }
    for (int i = 0; i < scaled(200); i++) {
      if ((number + i) % 4 == 0) {
        std::unique_lock lock(mutex);
        first++;
        mltp::this_thread::yield();
        second++;
      } else {
        std::shared_lock lock(mutex, 1h);
        CHECK(lock.owns_lock());
        CHECK_EQUAL(first, second);
      }
    }
  });
  std::unique_lock lock(mutex);
  mltp::thread([&mutex] {
    CHECK(!mutex.try_lock_shared());
    CHECK(!mutex.try_lock_shared_for(1ms));
    CHECK(!mutex.try_lock_until(kPast));
  }).join();
}

void latches_open_once() {
  mltp::latch started(kThreads), done(2 * kThreads);
  CHECK(!started.try_wait());
  CHECK(!started.wait_for(1ms));
  run_threads([&](int) {
    started.arrive_and_wait();
    CHECK(started.try_wait());
    done.count_down(2);
  });
  done.wait();
  CHECK(done.wait_until(kPast));
}

void a_call_that_throws_is_called_again() {
  mltp::once_flag flag;
  std::atomic<int> calls = 0, thrown = 0;
  run_threads([&](int) {
    try {
      mltp::call_once(
          flag,
          [&](int failures) {
            mltp::this_thread::yield();
            if (calls++ < failures) throw 1;
          },
          2);
      CHECK_EQUAL(calls.load(), 3);
    } catch (int) {
      thrown++;
    }
  });
  CHECK_EQUAL(thrown.load(), 2);
  CHECK_EQUAL(calls.load(), 3);
}

void static_objects_serve() {
  std::unique_lock lock(static_mutex);
  CHECK(static_condition.wait_for(lock, 1ms) == std::cv_status::timeout);
  CHECK(static_timed_mutex.try_lock_for(1ms));
  static_timed_mutex.unlock();
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      TEST(mutexes_exclude_under_every_std_lock),
      TEST(a_mutex_is_tried),
      TEST(a_recursive_mutex_is_locked_again),
      TEST(a_timed_mutex_gives_up),
      TEST(conditions_hand_over),
      TEST(conditions_time_out),
      TEST(no_notification_is_lost_to_one_that_gives_up),
      TEST(condition_any_takes_any_lock),
#ifdef __cpp_lib_jthread
      TEST(a_stop_request_ends_waits),
#endif
      TEST(semaphores_count),
      TEST(barriers_complete_each_phase_once),
      TEST(a_barrier_is_left),
      TEST(readers_share),
      TEST(latches_open_once),
      TEST(a_call_that_throws_is_called_again),
      TEST(static_objects_serve),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
