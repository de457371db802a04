/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file condition.hpp
 * Conditions with the interface of <condition_variable>.
 */
#ifndef MLTP_CXX_CONDITION_HPP
#define MLTP_CXX_CONDITION_HPP

#include <mltp/sync.h>

#include <concepts>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <mltp/cxx/mutex.hpp>

namespace mltp {

/** A mltp_cond_t and nothing else, for mltp::mutex and mltp::timed_mutex. */
class condition_variable {
 public:
  constexpr condition_variable() noexcept = default;
  ~condition_variable() { mltp_cond_destroy(&cond_); }

  condition_variable(const condition_variable &) = delete;
  condition_variable &operator=(const condition_variable &) = delete;

  void notify_one() noexcept { mltp_cond_signal(&cond_); }
  void notify_all() noexcept { mltp_cond_broadcast(&cond_); }

  template <std::derived_from<mutex> Mutex>
  void wait(std::unique_lock<Mutex> &lock) {
    detail::check(mltp_cond_wait(&cond_, lock.mutex()->native_handle()), "mltp_cond_wait");
  }

  template <std::derived_from<mutex> Mutex, std::predicate Predicate>
  void wait(std::unique_lock<Mutex> &lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }

  template <std::derived_from<mutex> Mutex, class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<Mutex> &lock,
                            const std::chrono::time_point<Clock, Duration> &end) {
    mltp_lock_t *native = lock.mutex()->native_handle();
    const int error = mltp_cond_wait_timed(&cond_, native, detail::deadline(end));
    if (error == ETIMEDOUT && detail::is_late(end)) return std::cv_status::timeout;
    if (error != ETIMEDOUT) detail::check(error, "mltp_cond_wait_timed");
    return std::cv_status::no_timeout;
  }

  template <std::derived_from<mutex> Mutex, class Clock, class Duration, std::predicate Predicate>
  bool wait_until(std::unique_lock<Mutex> &lock,
                  const std::chrono::time_point<Clock, Duration> &end, Predicate predicate) {
    while (!predicate())
      if (wait_until(lock, end) == std::cv_status::timeout) return predicate();
    return true;
  }

  template <std::derived_from<mutex> Mutex, class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<Mutex> &lock,
                          const std::chrono::duration<Rep, Period> &duration) {
    return wait_until(lock, detail::end_of(duration));
  }

  template <std::derived_from<mutex> Mutex, class Rep, class Period, std::predicate Predicate>
  bool wait_for(std::unique_lock<Mutex> &lock, const std::chrono::duration<Rep, Period> &duration,
                Predicate predicate) {
    return wait_until(lock, detail::end_of(duration), std::move(predicate));
  }

  mltp_cond_t *native_handle() noexcept { return &cond_; }

 private:
  mltp_cond_t cond_ = MLTP_COND_INIT;
};

}  // namespace mltp

#endif
