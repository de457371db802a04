/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file error.hpp
 * Errors of the C calls as exceptions.
 */
#ifndef MLTP_CXX_ERROR_HPP
#define MLTP_CXX_ERROR_HPP

#include <system_error>

namespace mltp::detail {

/** Throws what a call of the C library returned, unless it is 0. */
inline void check(int error, const char *call) {
  if (error != 0) [[unlikely]]
    throw std::system_error(error, std::generic_category(), call);
}

}  // namespace mltp::detail

#endif
