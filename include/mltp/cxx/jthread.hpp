/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file jthread.hpp
 * Threads that are asked to stop and joined when their handle ends. Needs a C++ library that
 * has std::stop_token (feature test __cpp_lib_jthread); without one this header is empty.
 */
#ifndef MLTP_CXX_JTHREAD_HPP
#define MLTP_CXX_JTHREAD_HPP

#include <version>
#ifdef __cpp_lib_jthread
#include <stop_token>
#include <type_traits>
#include <utility>

#include <mltp/cxx/thread.hpp>

namespace mltp {

/**
 * A thread and a std::stop_source, as std::jthread. The function gets a std::stop_token before
 * its arguments if it takes one.
 *
 * A std::stop_callback must not wait, for a lock, say: the C++ library tells threads by their
 * kernel threads, and may take the callback for ended when its kernel thread runs another
 * thread meanwhile. Posting a semaphore is fine; waits of condition_variable_any with a
 * stop_token do just that.
 */
class jthread {
 public:
  using id = thread::id;
  using native_handle_type = thread::native_handle_type;

  jthread() noexcept : stop_(std::nostopstate) {}

  template <class F, class... Args>
    requires(!std::is_same_v<std::remove_cvref_t<F>, jthread> &&
             !std::is_same_v<std::remove_cvref_t<F>, attributes>)
  explicit jthread(F &&f, Args &&...args)
      : jthread(attributes(), std::forward<F>(f), std::forward<Args>(args)...) {}

  template <class F, class... Args>
  explicit jthread(const attributes &attributes, F &&f, Args &&...args)
      : thread_(start(attributes, stop_, std::forward<F>(f), std::forward<Args>(args)...)) {}

  jthread(jthread &&) noexcept = default;

  jthread &operator=(jthread &&other) noexcept {
    jthread(std::move(other)).swap(*this); /* what this was is stopped and joined */
    return *this;
  }

  // NOLINTNEXTLINE(bugprone-exception-escape): a join misused ends the program
  ~jthread() {
    if (!joinable()) return;
    request_stop();
    join();
  }

  bool joinable() const noexcept { return thread_.joinable(); }
  void join() { thread_.join(); }
  void detach() { thread_.detach(); }
  id get_id() const noexcept { return thread_.get_id(); }
  native_handle_type native_handle() const noexcept { return thread_.native_handle(); }

  std::stop_source get_stop_source() noexcept { return stop_; }
  std::stop_token get_stop_token() const noexcept { return stop_.get_token(); }
  bool request_stop() noexcept { return stop_.request_stop(); }

  void swap(jthread &other) noexcept {
    std::swap(stop_, other.stop_);
    thread_.swap(other.thread_);
  }
  friend void swap(jthread &one, jthread &other) noexcept { one.swap(other); }

  static unsigned hardware_concurrency() noexcept { return thread::hardware_concurrency(); }

 private:
  template <class F, class... Args>
  static thread start(const attributes &attributes, const std::stop_source &stop, F &&f,
                      Args &&...args) {
    if constexpr (std::is_invocable_v<std::decay_t<F>, std::stop_token, std::decay_t<Args>...>)
      return thread(attributes, std::forward<F>(f), stop.get_token(), std::forward<Args>(args)...);
    else
      return thread(attributes, std::forward<F>(f), std::forward<Args>(args)...);
  }

  std::stop_source stop_;
  thread thread_;
};

}  // namespace mltp

#endif
#endif
