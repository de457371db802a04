/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file io.hpp
 * Descriptors, over the C library's input and output. This header is not part of <mltp/mltp.hpp>.
 */
#ifndef MLTP_CXX_IO_HPP
#define MLTP_CXX_IO_HPP

#include <mltp/io.h>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <mltp/cxx/time.hpp>

namespace mltp {

/** Owns a descriptor, and closes it at its end. Members that take a time point or a duration return
 * an empty result, or false, when that comes first. All other errors are std::system_error, the
 * cancellation of the thread included (ECANCELED). */
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor &&other) noexcept : fd_(other.release()) {}
  descriptor &operator=(descriptor &&other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~descriptor() { reset(); }

  /** As mltp_io_open(). */
  static descriptor open(const char *path, int flags, mode_t mode = 0) {
    int fd = -1;
    detail::check(mltp_io_open(path, flags, mode, &fd), "mltp_io_open");
    return descriptor(fd);
  }

  explicit operator bool() const noexcept { return fd_ >= 0; }
  int native_handle() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) mltp_io_close(fd_);
    fd_ = fd;
  }

  /** @return bytes read, at least one; 0: the end, or the buffer is empty. */
  std::size_t read(std::span<std::byte> buffer) {
    std::size_t count = 0;
    detail::check(mltp_io_read(fd_, buffer.data(), buffer.size(), &count), "mltp_io_read");
    return count;
  }

  template <class Clock, class Duration>
  std::optional<std::size_t> read_until(std::span<std::byte> buffer,
                                        const std::chrono::time_point<Clock, Duration> &end) {
    std::size_t count = 0;
    bool done = detail::in_time("mltp_io_read_timed", end, [&](uint64_t at) {
      return mltp_io_read_timed(fd_, buffer.data(), buffer.size(), &count, at);
    });
    return done ? std::optional(count) : std::nullopt;
  }

  template <class Rep, class Period>
  std::optional<std::size_t> read_for(std::span<std::byte> buffer,
                                      const std::chrono::duration<Rep, Period> &duration) {
    return read_until(buffer, detail::end_of(duration));
  }

  /** Writes all of it. */
  void write(std::span<const std::byte> data) {
    detail::check(mltp_io_write(fd_, data.data(), data.size(), nullptr), "mltp_io_write");
  }

  /** @return false: it is late, and some of the data may have been written. */
  template <class Clock, class Duration>
  bool write_until(std::span<const std::byte> data,
                   const std::chrono::time_point<Clock, Duration> &end) {
    return detail::in_time("mltp_io_write_timed", end, [&](uint64_t at) {
      std::size_t count = 0;
      int error = mltp_io_write_timed(fd_, data.data(), data.size(), &count, at);
      data = data.subspan(count);
      return error;
    });
  }

  template <class Rep, class Period>
  bool write_for(std::span<const std::byte> data,
                 const std::chrono::duration<Rep, Period> &duration) {
    return write_until(data, detail::end_of(duration));
  }

  /** @return the next connection. */
  descriptor accept() {
    int connection = -1;
    detail::check(mltp_io_accept(fd_, nullptr, nullptr, &connection), "mltp_io_accept");
    return descriptor(connection);
  }

  template <class Clock, class Duration>
  std::optional<descriptor> accept_until(const std::chrono::time_point<Clock, Duration> &end) {
    int connection = -1;
    bool done = detail::in_time("mltp_io_accept_timed", end, [&](uint64_t at) {
      return mltp_io_accept_timed(fd_, nullptr, nullptr, &connection, at);
    });
    return done ? std::optional<descriptor>(std::in_place, connection) : std::nullopt;
  }

  template <class Rep, class Period>
  std::optional<descriptor> accept_for(const std::chrono::duration<Rep, Period> &duration) {
    return accept_until(detail::end_of(duration));
  }

  void connect(const sockaddr *address, socklen_t length) {
    detail::check(mltp_io_connect(fd_, address, length), "mltp_io_connect");
  }

 private:
  int fd_ = -1;
};

}  // namespace mltp

#endif
