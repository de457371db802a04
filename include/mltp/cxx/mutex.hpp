/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mutex.hpp
 * Locks with the interface of <mutex>: for std::lock_guard, std::unique_lock, std::scoped_lock.
 */
#ifndef MLTP_CXX_MUTEX_HPP
#define MLTP_CXX_MUTEX_HPP

#include <mltp/sync.h>

#include <mltp/cxx/time.hpp>

namespace mltp {

/** A mltp_lock_t and nothing else; as std::mutex, it is made at compile time and
 * needs no destructor. */
class mutex {
 public:
  constexpr mutex() noexcept = default;

  /** Of another class than the standard one. @param name shown in reports, not copied. */
  explicit mutex(mltp_lock_class_t lock_class, const char *name = nullptr) {
    detail::check(mltp_lock_init(&lock_, lock_class, name), "mltp_lock_init");
  }

  mutex(const mutex &) = delete;
  mutex &operator=(const mutex &) = delete;

  void lock() { detail::check(mltp_lock(&lock_), "mltp_lock"); }
  bool try_lock() noexcept { return mltp_lock_try(&lock_) == 0; }
  void unlock() { detail::check(mltp_unlock(&lock_), "mltp_unlock"); }

  mltp_lock_t *native_handle() noexcept { return &lock_; }

 protected:
  mltp_lock_t lock_ = MLTP_LOCK_INIT;
};

/** A mutex for which one may wait with a deadline. Its end waits out timers in flight
 * (mltp_lock_destroy()); that is the whole difference. */
class timed_mutex : public mutex {
 public:
  using mutex::mutex;
  ~timed_mutex() { mltp_lock_destroy(&lock_); }

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) {
    return try_lock_until(detail::end_of(duration));
  }

  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &end) {
    return detail::in_time("mltp_lock_timed", end,
                           [this](uint64_t at) { return mltp_lock_timed(&lock_, at); });
  }
};

/** A mutex that its holder may lock again; it is free after as many unlocks. */
class recursive_mutex : private mutex {
 public:
  /** @param name shown in reports, not copied. */
  explicit recursive_mutex(const char *name = nullptr) : mutex(MLTP_LOCK_RECURSIVE, name) {}

  using mutex::lock;
  using mutex::native_handle;
  using mutex::try_lock;
  using mutex::unlock;
};

static_assert(sizeof(mutex) == sizeof(mltp_lock_t) && sizeof(timed_mutex) == sizeof(mltp_lock_t));

}  // namespace mltp

#endif
