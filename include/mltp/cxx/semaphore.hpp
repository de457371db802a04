/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file semaphore.hpp
 * Semaphores with the interface of <semaphore>.
 */
#ifndef MLTP_CXX_SEMAPHORE_HPP
#define MLTP_CXX_SEMAPHORE_HPP

#include <mltp/sync.h>

#include <cstddef>

#include <mltp/cxx/time.hpp>

namespace mltp {

/** A mltp_sem_t and nothing else. The largest value is 2^32 - 1, whatever is asked for. */
template <std::ptrdiff_t least_max_value = UINT32_MAX>
class counting_semaphore {
  static_assert(least_max_value >= 0 && least_max_value <= UINT32_MAX);

 public:
  static constexpr std::ptrdiff_t max() noexcept { return UINT32_MAX; }

  constexpr explicit counting_semaphore(std::ptrdiff_t value)
      : sem_ MLTP_SEM_INIT(static_cast<uint32_t>(value)) {}
  ~counting_semaphore() { mltp_sem_destroy(&sem_); }

  counting_semaphore(const counting_semaphore &) = delete;
  counting_semaphore &operator=(const counting_semaphore &) = delete;

  /** Adds count units, one by one. */
  void release(std::ptrdiff_t count = 1) {
    for (; count > 0; count--) detail::check(mltp_sem_post(&sem_), "mltp_sem_post");
  }

  void acquire() { detail::check(mltp_sem_wait(&sem_), "mltp_sem_wait"); }
  bool try_acquire() noexcept { return mltp_sem_wait_try(&sem_) == 0; }

  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period> &duration) {
    return try_acquire_until(detail::end_of(duration));
  }

  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &end) {
    return detail::in_time("mltp_sem_wait_timed", end,
                           [this](uint64_t at) { return mltp_sem_wait_timed(&sem_, at); });
  }

  mltp_sem_t *native_handle() noexcept { return &sem_; }

 private:
  mltp_sem_t sem_;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace mltp

#endif
