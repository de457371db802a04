/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file channel.hpp
 * Channels of any type of elements, over the C library's.
 */
#ifndef MLTP_CXX_CHANNEL_HPP
#define MLTP_CXX_CHANNEL_HPP

#include <mltp/channel.h>

#include <array>
#include <bit>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <mltp/cxx/time.hpp>

namespace mltp {

/** The result of a send or a receive that does not wait forever. */
enum class channel_status {
  success,
  closed,     /**< nothing was sent; or nothing will come any more */
  unavailable /**< not now, or not in time */
};

/**
 * A mltp_channel_t of elements of type T, for any number of senders and receivers. Trivially
 * copyable elements are copied byte by byte. Other elements, such as types that can only be moved,
 * travel on the heap. A send that fails leaves its element as it was.
 *
 * `for (T &element : channel)` receives until the channel is closed and empty.
 */
template <class T>
class channel {
  static_assert(std::is_move_constructible_v<T> && !std::is_reference_v<T>);

  static constexpr bool is_plain = std::is_trivially_copyable_v<T>;
  using bytes = std::array<std::byte, sizeof(T)>;
  using wire = std::conditional_t<is_plain, bytes, T *>; /* what the C channel carries */

 public:
  /** @param capacity as of mltp_channel_create(). @param name shown in reports, not copied. */
  explicit channel(std::size_t capacity = 0, const char *name = nullptr) {
    if (mltp_channel_create(&channel_, capacity, sizeof(wire), name) != 0) throw std::bad_alloc();
  }

  /** Nobody may use it any more; what is left in it is destroyed. Before the runtime ends. */
  ~channel() {
    if constexpr (!is_plain) {
      std::optional<T> left;
      while (try_receive(left) == channel_status::success) {
      }
    }
    mltp_channel_destroy(channel_);
  }

  channel(const channel &) = delete;
  channel &operator=(const channel &) = delete;

  /** @return false: the channel is closed. */
  bool send(T &&element) {
    return put("mltp_channel_send", element, [this](const wire &out) {
             return mltp_channel_send(channel_, &out);
           }) == channel_status::success;
  }
  bool send(const T &element)
    requires std::is_copy_constructible_v<T>
  {
    return send(T(element));
  }

  channel_status try_send(T &&element) {
    return put("mltp_channel_send_try", element,
               [this](const wire &out) { return mltp_channel_send_try(channel_, &out); });
  }

  template <class Clock, class Duration>
  channel_status send_until(T &&element, const std::chrono::time_point<Clock, Duration> &end) {
    return put("mltp_channel_send_timed", element, [&](const wire &out) {
      return timed(end, [&](uint64_t at) { return mltp_channel_send_timed(channel_, &out, at); });
    });
  }

  template <class Rep, class Period>
  channel_status send_for(T &&element, const std::chrono::duration<Rep, Period> &duration) {
    return send_until(std::move(element), detail::end_of(duration));
  }

  /** @return the element; none: the channel is closed and empty. */
  std::optional<T> receive() {
    std::optional<T> element;
    receive_to(element);
    return element;
  }

  channel_status try_receive(std::optional<T> &element) {
    return get("mltp_channel_recv_try", element,
               [this](wire &in) { return mltp_channel_recv_try(channel_, &in); });
  }

  template <class Clock, class Duration>
  channel_status receive_until(std::optional<T> &element,
                               const std::chrono::time_point<Clock, Duration> &end) {
    return get("mltp_channel_recv_timed", element, [&](wire &in) {
      return timed(end, [&](uint64_t at) { return mltp_channel_recv_timed(channel_, &in, at); });
    });
  }

  template <class Rep, class Period>
  channel_status receive_for(std::optional<T> &element,
                             const std::chrono::duration<Rep, Period> &duration) {
    return receive_until(element, detail::end_of(duration));
  }

  /** No more elements will be sent. Closing twice is no error. */
  void close() noexcept { mltp_channel_close(channel_); }

  std::size_t size() const noexcept { return mltp_channel_length(channel_); }
  std::size_t capacity() const noexcept { return mltp_channel_capacity(channel_); }
  mltp_channel_t *native_handle() noexcept { return channel_; }

  /** Receives as it goes. */
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;

    explicit iterator(channel &from) : from_(&from) { ++*this; }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it is not at the end, as of any iterator
    T &operator*() const { return *element_; }
    iterator &operator++() {
      element_.reset();
      from_->receive_to(element_);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept { return !element_.has_value(); }

   private:
    channel *from_;
    mutable std::optional<T> element_;
  };

  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  void receive_to(std::optional<T> &element) {
    get("mltp_channel_recv", element,
        [this](wire &in) { return mltp_channel_recv(channel_, &in); });
  }

  template <class Clock, class Duration, class Call>
  static int timed(const std::chrono::time_point<Clock, Duration> &end, Call call) {
    int error;
    do {
      error = call(detail::deadline(end));
    } while (error == ETIMEDOUT && !detail::is_late(end));
    return error;
  }

  static channel_status status(const char *name, int error) {
    if (error == EPIPE) return channel_status::closed;
    if (error == EAGAIN || error == ETIMEDOUT) return channel_status::unavailable;
    detail::check(error, name);
    return channel_status::success;
  }

  template <class Call>
  static channel_status put(const char *name, T &element, Call call) {
    if constexpr (is_plain) {
      return status(name, call(std::bit_cast<bytes>(element)));
    } else {
      auto box = std::make_unique<T>(std::move(element));
      const int error = call(box.get());
      if (error == 0) {
        box.release(); /* the receiver's now */
      } else {
        std::destroy_at(&element);
        std::construct_at(&element, std::move(*box));
      }
      return status(name, error);
    }
  }

  template <class Call>
  static channel_status get(const char *name, std::optional<T> &element, Call call) {
    wire in;
    const int error = call(in);
    if (error != 0) return status(name, error);
    if constexpr (is_plain)
      element.emplace(std::bit_cast<T>(in));
    else
      element.emplace(std::move(*std::unique_ptr<T>(in)));
    return channel_status::success;
  }

  mltp_channel_t *channel_ = nullptr;
};

}  // namespace mltp

#endif
