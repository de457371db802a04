/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mltp.hpp
 * MLTP for C++20: threads, locks and their kin with the interfaces of the standard library.
 * Include this one header; link the same library.
 *
 * Each type is a thin dress of a C object of the same size, reached by native_handle(), so
 * that both can be mixed; what costs more than the C call says so. Threads of every kind may
 * use them, ordinary std::threads included.
 *
 *  - Errors of the C calls become std::system_error. Misuse stops the program first, unless
 *    MLTP_MISUSE=error.
 *  - Timed calls take any duration of <chrono>, and time points of any clock; mltp::clock is
 *    the one that mltp_now() reads.
 *  - An exception that leaves a thread's function ends the program, after a message that names
 *    the thread.
 *  - What std:: has for waiting (std::mutex, std::future, std::latch, ...) blocks the VP with
 *    all its threads. thread_local variables are the VP's; std::call_once uses some.
 *  - A static object may outlive mltp_finalize(), but for a channel.
 */
#ifndef MLTP_MLTP_HPP
#define MLTP_MLTP_HPP

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
