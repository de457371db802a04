/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file barrier.hpp
 * Barriers with the interface of <barrier>.
 */
#ifndef MLTP_CXX_BARRIER_HPP
#define MLTP_CXX_BARRIER_HPP

#include <cstddef>
#include <mutex>
#include <utility>

#include <mltp/cxx/condition.hpp>

namespace mltp {

namespace detail {
struct no_completion {
  void operator()() const noexcept {}
};
}  // namespace detail

/**
 * A barrier with arrivals that do not wait, and with leaving for good. It calls a function after
 * the last arrival and before any thread continues: in the last thread, with the barrier locked.
 * It is a mutex and a condition; mltp_barrier_t has none of these features and costs less.
 */
template <class CompletionFunction = detail::no_completion>
class barrier {
 public:
  /** What arrive() returns: the phase to wait for the end of. */
  using arrival_token = uint64_t;

  static constexpr std::ptrdiff_t max() noexcept { return PTRDIFF_MAX; }

  constexpr explicit barrier(std::ptrdiff_t expected,
                             CompletionFunction completion = CompletionFunction())
      : expected_(expected), left_(expected), completion_(std::move(completion)) {}

  barrier(const barrier &) = delete;
  barrier &operator=(const barrier &) = delete;

  /** Counts count arrivals. @return what wait() takes. */
  [[nodiscard]] arrival_token arrive(std::ptrdiff_t count = 1) {
    std::lock_guard lock(mutex_);
    return count_down(count);
  }

  /** Waits until all have arrived in the phase of the token. */
  void wait(arrival_token phase) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return phase_ != phase; });
  }

  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    const arrival_token phase = count_down(1);
    ended_.wait(lock, [&] { return phase_ != phase; });
  }

  /** Arrives, and is not expected in the phases to come. */
  void arrive_and_drop() {
    std::lock_guard lock(mutex_);
    expected_--;
    count_down(1);
  }

 private:
  arrival_token count_down(std::ptrdiff_t count) {
    const arrival_token phase = phase_;
    left_ -= count;
    if (left_ == 0) {
      completion_();
      left_ = expected_;
      phase_++;
      ended_.notify_all();
    }
    return phase;
  }

  mutex mutex_;
  condition_variable ended_;
  arrival_token phase_ = 0;
  std::ptrdiff_t expected_, left_;
  [[no_unique_address]] CompletionFunction completion_;
};

}  // namespace mltp

#endif
