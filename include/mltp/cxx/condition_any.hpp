/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file condition_any.hpp
 * A condition for locks of any type, with waits that a std::stop_token ends.
 */
#ifndef MLTP_CXX_CONDITION_ANY_HPP
#define MLTP_CXX_CONDITION_ANY_HPP

#include <mltp/sync.h>

#include <concepts>
#include <condition_variable>
#include <mutex>
#include <type_traits>
#include <utility>
#include <version>
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

#include <mltp/cxx/mutex.hpp>

namespace mltp {

/**
 * As std::condition_variable_any. It costs more than mltp::condition_variable: each waiter is
 * a semaphore of its own in a list.
 *
 * A semaphore remembers a post that comes before the wait, and a post never blocks. So
 * the callback by which a stop request wakes a waiter needs no lock and cannot switch
 * threads; std::stop_callback must not wait for one that has: it knows kernel threads only.
 */
class condition_variable_any {
 public:
  condition_variable_any() = default;
  condition_variable_any(const condition_variable_any &) = delete;
  condition_variable_any &operator=(const condition_variable_any &) = delete;

  void notify_one() {
    std::lock_guard guard(mutex_);
    if (first_ != nullptr) notify(*first_);
  }

  void notify_all() {
    std::lock_guard guard(mutex_);
    while (first_ != nullptr) notify(*first_);
  }

  template <class Lock>
  void wait(Lock &lock) {
    waiter self(*this);
    sleep(lock, self);
  }

  template <class Lock, std::predicate Predicate>
  void wait(Lock &lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }

  template <class Lock, class Clock, class Duration>
  std::cv_status wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &end) {
    waiter self(*this);
    return sleep_until(lock, self, end);
  }

  template <class Lock, class Clock, class Duration, std::predicate Predicate>
  bool wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &end,
                  Predicate predicate) {
    while (!predicate())
      if (wait_until(lock, end) == std::cv_status::timeout) return predicate();
    return true;
  }

  template <class Lock, class Rep, class Period>
  std::cv_status wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &duration) {
    return wait_until(lock, detail::end_of(duration));
  }

  template <class Lock, class Rep, class Period, std::predicate Predicate>
  bool wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &duration,
                Predicate predicate) {
    return wait_until(lock, detail::end_of(duration), std::move(predicate));
  }

#ifdef __cpp_lib_jthread
  /** @return predicate(): false only when a stop was requested. */
  template <class Lock, std::predicate Predicate>
  bool wait(Lock &lock, std::stop_token stop, Predicate predicate) {
    while (!stop.stop_requested()) {
      if (predicate()) return true;
      waiter self(*this);
      std::stop_callback wake(stop, [&self] { mltp_sem_post(&self.woken); });
      sleep(lock, self);
    }
    return predicate();
  }

  /** @return predicate(): false only when a stop was requested, or it is late. */
  template <class Lock, class Clock, class Duration, std::predicate Predicate>
  bool wait_until(Lock &lock, std::stop_token stop,
                  const std::chrono::time_point<Clock, Duration> &end, Predicate predicate) {
    while (!stop.stop_requested()) {
      if (predicate()) return true;
      waiter self(*this);
      std::stop_callback wake(stop, [&self] { mltp_sem_post(&self.woken); });
      if (sleep_until(lock, self, end) == std::cv_status::timeout) break;
    }
    return predicate();
  }

  template <class Lock, class Rep, class Period, std::predicate Predicate>
  bool wait_for(Lock &lock, std::stop_token stop,
                const std::chrono::duration<Rep, Period> &duration, Predicate predicate) {
    return wait_until(lock, std::move(stop), detail::end_of(duration), std::move(predicate));
  }
#endif

 private:
  /** In the list from its beginning to its end, unless it is notified before. */
  struct waiter {
    explicit waiter(condition_variable_any &condition) : any(condition) {
      std::lock_guard guard(any.mutex_);
      previous = any.last_;
      (previous != nullptr ? previous->next : any.first_) = this;
      any.last_ = this;
    }

    // NOLINTNEXTLINE(bugprone-exception-escape): a lock misused ends the program
    ~waiter() {
      {
        std::lock_guard guard(any.mutex_);
        if (listed) any.remove(*this);
      }
      mltp_sem_destroy(&woken);
    }

    waiter(const waiter &) = delete;
    waiter &operator=(const waiter &) = delete;

    condition_variable_any &any;
    mltp_sem_t woken = MLTP_SEM_INIT(0);
    waiter *next = nullptr, *previous = nullptr;
    bool listed = true;
  };

  /** A scope in which the caller's lock is released. */
  template <class Lock>
  struct without {
    explicit without(Lock &released) : lock(released) { lock.unlock(); }
    ~without() { lock.lock(); }
    without(const without &) = delete;
    without &operator=(const without &) = delete;
    Lock &lock;
  };

  template <class Lock>
  void sleep(Lock &lock, waiter &self) {
    const without<Lock> released(lock);
    detail::check(mltp_sem_wait(&self.woken), "mltp_sem_wait");
  }

  template <class Lock, class Clock, class Duration>
  std::cv_status sleep_until(Lock &lock, waiter &self,
                             const std::chrono::time_point<Clock, Duration> &end) {
    int error;
    {
      const without<Lock> released(lock);
      error = mltp_sem_wait_timed(&self.woken, detail::deadline(end));
    }
    if (error != ETIMEDOUT) detail::check(error, "mltp_sem_wait_timed");
    if (error == 0 || !detail::is_late(end)) return std::cv_status::no_timeout;
    std::lock_guard guard(mutex_); /* notified at the last moment: nobody else was */
    return self.listed ? std::cv_status::timeout : std::cv_status::no_timeout;
  }

  /** Takes a waiter out of the list. With the mutex. */
  void remove(waiter &one) {
    (one.previous != nullptr ? one.previous->next : first_) = one.next;
    (one.next != nullptr ? one.next->previous : last_) = one.previous;
    one.listed = false;
  }

  void notify(waiter &one) {
    remove(one);
    detail::check(mltp_sem_post(&one.woken), "mltp_sem_post");
  }

  mutex mutex_;
  waiter *first_ = nullptr, *last_ = nullptr;
};

}  // namespace mltp

#endif
