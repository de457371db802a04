/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file shared_mutex.hpp
 * Readers-writer locks with the interface of <shared_mutex>: for std::shared_lock.
 */
#ifndef MLTP_CXX_SHARED_MUTEX_HPP
#define MLTP_CXX_SHARED_MUTEX_HPP

#include <mltp/rwlock.h>

#include <mltp/cxx/time.hpp>

namespace mltp {

/** A mltp_rwlock_t and nothing else; made at compile time, needs no destructor. */
class shared_mutex {
 public:
  constexpr shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex &) = delete;
  shared_mutex &operator=(const shared_mutex &) = delete;

  void lock() { detail::check(mltp_rwlock_wrlock(&lock_), "mltp_rwlock_wrlock"); }
  bool try_lock() noexcept { return mltp_rwlock_wrlock_try(&lock_) == 0; }
  void unlock() { detail::check(mltp_rwlock_unlock(&lock_), "mltp_rwlock_unlock"); }

  void lock_shared() { detail::check(mltp_rwlock_rdlock(&lock_), "mltp_rwlock_rdlock"); }
  bool try_lock_shared() noexcept { return mltp_rwlock_rdlock_try(&lock_) == 0; }
  void unlock_shared() { unlock(); }

  mltp_rwlock_t *native_handle() noexcept { return &lock_; }

 protected:
  mltp_rwlock_t lock_ = MLTP_RWLOCK_INIT;
};

/** A shared_mutex for which one may wait with a deadline. Its end waits out timers in
 * flight (mltp_rwlock_destroy()); that is the whole difference. */
class shared_timed_mutex : public shared_mutex {
 public:
  using shared_mutex::shared_mutex;
  ~shared_timed_mutex() { mltp_rwlock_destroy(&lock_); }

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) {
    return try_lock_until(detail::end_of(duration));
  }

  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &end) {
    return detail::in_time("mltp_rwlock_wrlock_timed", end,
                           [this](uint64_t at) { return mltp_rwlock_wrlock_timed(&lock_, at); });
  }

  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &duration) {
    return try_lock_shared_until(detail::end_of(duration));
  }

  template <class Clock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &end) {
    return detail::in_time("mltp_rwlock_rdlock_timed", end,
                           [this](uint64_t at) { return mltp_rwlock_rdlock_timed(&lock_, at); });
  }
};

static_assert(sizeof(shared_timed_mutex) == sizeof(mltp_rwlock_t));

}  // namespace mltp

#endif
