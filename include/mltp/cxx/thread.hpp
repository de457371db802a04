/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file thread.hpp
 * Threads with the interface of <thread>, and attributes.
 */
#ifndef MLTP_CXX_THREAD_HPP
#define MLTP_CXX_THREAD_HPP

#include <mltp/sched.h>
#include <mltp/thread.h>

#include <compare>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <ostream>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mltp/cxx/time.hpp>

namespace mltp {

/** What a thread is to be like: mltp::thread(mltp::attributes().name("washer").bound(), f). */
class attributes {
 public:
  /** Shown in reports; not copied, must outlive the thread. */
  attributes &name(const char *name) noexcept { return attr_.name = name, *this; }
  /** Bytes, rounded up to a power of two. */
  attributes &stack_size(std::size_t bytes) noexcept { return attr_.stack_size = bytes, *this; }
  /** A kernel thread of its own. */
  attributes &bound(bool on = true) noexcept { return attr_.bound = on, *this; }
  /** A rounding mode and floating-point exception masks of its own. */
  attributes &fp_control(bool on = true) noexcept { return attr_.fp_control = on, *this; }
  /** MLTP_PRIORITY_HIGH or MLTP_PRIORITY_LOW: a hint. */
  attributes &priority(int priority) noexcept { return attr_.priority = priority, *this; }

  const mltp_attr_t *native() const noexcept { return &attr_; }

 private:
  mltp_attr_t attr_ = MLTP_ATTR_INIT;
};

namespace detail {

/** What std::terminate() called before; see name_at_terminate(). */
inline std::terminate_handler terminate_before = nullptr;

/** Whether the kernel thread is a bound thread's, or a kernel thread of the kernel backend. */
inline thread_local bool is_bound = false;

/** Names the thread. If nobody catches an exception this runs at the place of the throw, whose
 * frames debuggers and core files still show. */
[[noreturn]] inline void terminate_named() {
  const std::exception_ptr current = std::current_exception();
  if (current != nullptr && (is_bound || mltp_vp() >= 0)) {
    const char *what = "of a type that is no std::exception";
    try {
      std::rethrow_exception(current);
    } catch (const std::exception &error) {
      what = error.what(); /* lives on: current holds it */
    } catch (...) {        // NOLINT(bugprone-empty-catch): what it is has been said
    }
    mltp_t *self = mltp_self();
    std::fprintf(stderr,
                 "mltp: thread %llu '%s': an exception left its function: %s (catch it there)\n",
                 static_cast<unsigned long long>(mltp_id(self)), mltp_name(self), what);
  }
  terminate_before();
  std::abort();
}

/** From now on std::terminate() names the thread first. */
inline void name_at_terminate() {
  [[maybe_unused]] static const bool set =
      (terminate_before = std::set_terminate(terminate_named), true);
}

/** What each thread does first. */
inline void begin_thread() noexcept {
  if (mltp_vp() < 0) is_bound = true;
}

/** A callable that travels in the argument of the C call; others are allocated. */
template <class F>
inline constexpr bool is_small =
    sizeof(F) <= sizeof(void *) && alignof(F) <= alignof(void *) && std::is_trivially_copyable_v<F>;

template <class F>
void *run_small(void *argument) {
  begin_thread();
  /* Bytes may hold any type; a pointer that is read as another type breaks aliasing rules. */
  alignas(F) unsigned char bytes[sizeof(F)];
  std::memcpy(bytes, &argument, sizeof bytes);
  std::invoke(std::move(*std::launder(reinterpret_cast<F *>(bytes))));
  return nullptr;
}

template <class Call>
void *run_call(void *argument) {
  const std::unique_ptr<Call> call(static_cast<Call *>(argument));
  begin_thread();
  std::apply([](auto &&...parts) { std::invoke(std::move(parts)...); }, *call);
  return nullptr;
}

template <class F, class... Args>
mltp_t *start(const attributes &attributes, F &&f, Args &&...args) {
  using Function = std::decay_t<F>;
  mltp_t *thread = nullptr;
  name_at_terminate();
  if constexpr (sizeof...(Args) == 0 && is_small<Function>) {
    void *argument = nullptr;
    const Function function(std::forward<F>(f));
    std::memcpy(&argument, &function, sizeof function);
    check(mltp_create(&thread, attributes.native(), run_small<Function>, argument), "mltp_create");
  } else {
    using Call = std::tuple<Function, std::decay_t<Args>...>;
    auto call = std::make_unique<Call>(std::forward<F>(f), std::forward<Args>(args)...);
    check(mltp_create(&thread, attributes.native(), run_call<Call>, call.get()), "mltp_create");
    call.release();
  }
  return thread;
}

}  // namespace detail

/**
 * A handle of a joinable thread: a mltp_t * and nothing else. As with std::thread, one that is
 * still joinable when its handle ends calls std::terminate(), and so does an exception that
 * leaves the thread's function, after a message that names the thread.
 *
 * The function and its arguments are copied to the heap, but for a function that alone is no
 * larger than a pointer (a lambda that captures one reference, say). mltp_exit() runs no
 * destructors: return from the function instead.
 */
class thread {
 public:
  using native_handle_type = mltp_t *;

  /** A thread's number; that of no thread is 0. */
  class id {
   public:
    constexpr id() noexcept = default;
    friend constexpr auto operator<=>(id, id) noexcept = default;
    friend std::ostream &operator<<(std::ostream &out, id id) { return out << id.number_; }

   private:
    friend class thread;
    friend struct std::hash<id>;
    explicit constexpr id(uint64_t number) noexcept : number_(number) {}
    uint64_t number_ = 0;
  };

  constexpr thread() noexcept = default;

  template <class F, class... Args>
    requires(!std::is_same_v<std::remove_cvref_t<F>, thread> &&
             !std::is_same_v<std::remove_cvref_t<F>, attributes> &&
             std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>)
  explicit thread(F &&f, Args &&...args)
      : thread(attributes(), std::forward<F>(f), std::forward<Args>(args)...) {}

  template <class F, class... Args>
    requires std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>
  explicit thread(const attributes &attributes, F &&f, Args &&...args)
      : handle_(detail::start(attributes, std::forward<F>(f), std::forward<Args>(args)...)) {}

  thread(thread &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

  thread &operator=(thread &&other) noexcept {
    if (joinable()) std::terminate();
    handle_ = std::exchange(other.handle_, nullptr);
    return *this;
  }

  ~thread() {
    if (joinable()) std::terminate();
  }

  bool joinable() const noexcept { return handle_ != nullptr; }

  void join() {
    detail::check(joinable() ? mltp_join(handle_, nullptr) : EINVAL, "mltp_join");
    handle_ = nullptr;
  }

  /** Joins the thread if it has ended. @return whether it has. */
  bool try_join() {
    const int error = joinable() ? mltp_join_try(handle_, nullptr) : EINVAL;
    if (error == EBUSY) return false;
    detail::check(error, "mltp_join_try");
    handle_ = nullptr;
    return true;
  }

  void detach() {
    detail::check(joinable() ? mltp_detach(handle_) : EINVAL, "mltp_detach");
    handle_ = nullptr;
  }

  id get_id() const noexcept { return id(joinable() ? mltp_id(handle_) : 0); }
  native_handle_type native_handle() const noexcept { return handle_; }
  void swap(thread &other) noexcept { std::swap(handle_, other.handle_); }
  friend void swap(thread &one, thread &other) noexcept { one.swap(other); }

  /** The CPUs this process may use. */
  static unsigned hardware_concurrency() noexcept { return static_cast<unsigned>(mltp_cpus()); }

  /** What mltp::this_thread::get_id() returns. */
  static id current() noexcept { return id(mltp_id(mltp_self())); }

 private:
  mltp_t *handle_ = nullptr;
};

static_assert(sizeof(thread) == sizeof(mltp_t *));

namespace this_thread {

inline thread::id get_id() noexcept { return thread::current(); }
inline void yield() noexcept { mltp_yield(); }

template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration> &end) {
  do {
    mltp_sleep_until(detail::deadline(end));
  } while (!detail::is_late(end));
}

template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period> &duration) {
  mltp_sleep(detail::nanoseconds(duration));
}

}  // namespace this_thread
}  // namespace mltp

template <>
struct std::hash<mltp::thread::id> {
  std::size_t operator()(mltp::thread::id id) const noexcept {
    return std::hash<uint64_t>()(id.number_);
  }
};

#endif
