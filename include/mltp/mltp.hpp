/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mltp.hpp
 * MLTP for C++20: threads, locks and other objects with the interfaces of the standard library.
 * Include this one header, and link the same library.
 *
 * Each type wraps a C object of the same size, and native_handle() returns that object, so
 * C and C++ calls can be mixed. A member that costs more than the C call says so. Threads of every
 * kind may use the types, ordinary std::threads included.
 *
 *  - Errors of the C calls become std::system_error. A misuse stops the program first, unless
 *    MLTP_MISUSE=error.
 *  - Timed members take any duration of <chrono> and time points of any clock. mltp::clock is the
 *    clock that mltp_now() reads.
 *  - An exception that leaves a thread's function ends the program, after a message that names
 *    the thread.
 *  - A std:: object that waits (std::mutex, std::future, std::latch, ...) blocks the VP with all
 *    its threads. thread_local variables belong to the VP; std::call_once uses some.
 *  - A static object may outlive mltp_finalize(), except a channel.
 */
#ifndef MLTP_MLTP_HPP
#define MLTP_MLTP_HPP

#if __cplusplus < 202002L
#error "mltp.hpp needs C++20 (use -std=c++20, or include <mltp/mltp.h>, which serves C++17)"
#else

#include <mltp/mltp.h>

#include <mltp/cxx/barrier.hpp>
#include <mltp/cxx/channel.hpp>
#include <mltp/cxx/condition.hpp>
#include <mltp/cxx/condition_any.hpp>
#include <mltp/cxx/jthread.hpp>
#include <mltp/cxx/latch.hpp>
#include <mltp/cxx/mutex.hpp>
#include <mltp/cxx/once.hpp>
#include <mltp/cxx/runtime.hpp>
#include <mltp/cxx/semaphore.hpp>
#include <mltp/cxx/shared_mutex.hpp>
#include <mltp/cxx/thread.hpp>
#include <mltp/cxx/time.hpp>

#endif

#endif
