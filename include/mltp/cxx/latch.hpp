/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file latch.hpp
 * Latches with the interface of <latch>.
 */
#ifndef MLTP_CXX_LATCH_HPP
#define MLTP_CXX_LATCH_HPP

#include <mltp/latch.h>

#include <cstddef>

#include <mltp/cxx/time.hpp>

namespace mltp {

/** A mltp_latch_t and nothing else; one may also wait with a deadline. */
class latch {
 public:
  static constexpr std::ptrdiff_t max() noexcept { return UINT32_MAX; }

  constexpr explicit latch(std::ptrdiff_t expected)
      : latch_ MLTP_LATCH_INIT(static_cast<uint32_t>(expected)) {}
  ~latch() { mltp_latch_destroy(&latch_); }

  latch(const latch &) = delete;
  latch &operator=(const latch &) = delete;

  void count_down(std::ptrdiff_t n = 1) {
    detail::check(mltp_latch_count_down(&latch_, static_cast<unsigned>(n)),
                  "mltp_latch_count_down");
  }

  bool try_wait() noexcept { return mltp_latch_wait_try(&latch_) == 0; }
  void wait() { detail::check(mltp_latch_wait(&latch_), "mltp_latch_wait"); }

  void arrive_and_wait(std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }

  template <class Rep, class Period>
  bool wait_for(const std::chrono::duration<Rep, Period> &duration) {
    return wait_until(detail::end_of(duration));
  }

  template <class Clock, class Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration> &end) {
    return detail::in_time("mltp_latch_wait_timed", end,
                           [this](uint64_t at) { return mltp_latch_wait_timed(&latch_, at); });
  }

  mltp_latch_t *native_handle() noexcept { return &latch_; }

 private:
  mltp_latch_t latch_;
};

}  // namespace mltp

#endif
