/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file once.hpp
 * once_flag and call_once with the interface of <mutex>.
 */
#ifndef MLTP_CXX_ONCE_HPP
#define MLTP_CXX_ONCE_HPP

#include <mltp/once.h>

#include <functional>
#include <utility>

#include <mltp/cxx/error.hpp>

namespace mltp {

/** A mltp_once_t and nothing else. */
class once_flag {
 public:
  constexpr once_flag() noexcept = default;
  once_flag(const once_flag &) = delete;
  once_flag &operator=(const once_flag &) = delete;

  mltp_once_t *native_handle() noexcept { return &once_; }

 private:
  mltp_once_t once_ = MLTP_ONCE_INIT;
};

/** Calls f(args...) unless that was done; others wait until it is. One that throws has not
 * been done: the exception goes to its caller, and the next one calls. */
template <class F, class... Args>
void call_once(once_flag &flag, F &&f, Args &&...args) {
  auto call = [&] { std::invoke(std::forward<F>(f), std::forward<Args>(args)...); };
  const auto run = [](void *argument) { (*static_cast<decltype(call) *>(argument))(); };
  detail::check(mltp_once(flag.native_handle(), run, &call), "mltp_once");
}

}  // namespace mltp

#endif
