/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file runtime.hpp
 * The runtime's life as a scope.
 */
#ifndef MLTP_CXX_RUNTIME_HPP
#define MLTP_CXX_RUNTIME_HPP

#include <mltp/sched.h>

#include <mltp/cxx/error.hpp>

namespace mltp {

/** Starts the runtime (mltp_init()), and at the end of its scope waits for all threads and
 * stops it (mltp_finalize()): the first object of main(). */
class runtime {
 public:
  /** @param vps as of mltp_init(); throws what that returns. */
  explicit runtime(int vps = 0) { detail::check(mltp_init(vps), "mltp_init"); }
  ~runtime() { mltp_finalize(); }

  runtime(const runtime &) = delete;
  runtime &operator=(const runtime &) = delete;
};

}  // namespace mltp

#endif
