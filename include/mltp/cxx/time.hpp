/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file time.hpp
 * The library's clock, and deadlines made from the durations and time points of <chrono>.
 */
#ifndef MLTP_CXX_TIME_HPP
#define MLTP_CXX_TIME_HPP

#include <mltp/time.h>

#include <cerrno>
#include <chrono>
#include <type_traits>

#include <mltp/cxx/error.hpp>

namespace mltp {

/** The clock of mltp_now(). Deadlines on it go to the C calls as they are; those on
 * another clock are translated, and looked at again on that clock when they come. */
struct clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept { return time_point(duration(static_cast<rep>(mltp_now()))); }
};

namespace detail {

/** Nanoseconds, rounded up: none for what is negative, MLTP_NEVER for what is too many. */
template <class Rep, class Period>
constexpr uint64_t nanoseconds(const std::chrono::duration<Rep, Period> &duration) {
  using std::chrono::nanoseconds;
  if (duration <= duration.zero()) return 0;
  if (std::chrono::duration<double>(duration) >= nanoseconds::max()) return MLTP_NEVER;
  return static_cast<uint64_t>(std::chrono::ceil<nanoseconds>(duration).count());
}

/** @return the time that is a duration from now. */
template <class Rep, class Period>
clock::time_point end_of(const std::chrono::duration<Rep, Period> &duration) {
  constexpr uint64_t last = INT64_MAX;
  const uint64_t end = mltp_after(nanoseconds(duration));
  return clock::time_point(clock::duration(static_cast<clock::rep>(end < last ? end : last)));
}

/** @return the deadline that a time point means to the C calls. */
template <class Clock, class Duration>
uint64_t deadline(const std::chrono::time_point<Clock, Duration> &end) {
  if constexpr (std::is_same_v<Clock, clock>) {
    return nanoseconds(end.time_since_epoch());
  } else {
    const auto now = Clock::now();
    return end > now ? mltp_after(nanoseconds(end - now)) : 0;
  }
}

/** @return true when the caller's clock agrees that the deadline has come. */
template <class Clock, class Duration>
bool is_late(const std::chrono::time_point<Clock, Duration> &end) {
  return std::is_same_v<Clock, clock> || Clock::now() >= end;
}

/** Makes a timed call of the C library, again if it was too early by the caller's clock.
 * @return false: it is late. */
template <class Clock, class Duration, class Call>
bool in_time(const char *name, const std::chrono::time_point<Clock, Duration> &end, Call call) {
  int error;
  do {
    error = call(deadline(end));
  } while (error == ETIMEDOUT && !is_late(end));
  if (error == ETIMEDOUT) return false;
  check(error, name);
  return true;
}

}  // namespace detail
}  // namespace mltp

#endif
