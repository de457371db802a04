/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <errno.h> for ranks. libc says that the address of errno never changes, so a compiler keeps it
 * over a call of MPI. But a rank that waits there may continue on another kernel thread, and would
 * read and write the errno of another rank. Here each use of errno asks for its address.
 */
#pragma GCC system_header
#include_next <errno.h>

#ifndef TMPI_ERRNO_H
#define TMPI_ERRNO_H
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    int *
    tmpi_errno_address(void) __asm__("__errno_location");
#undef errno
#define errno (*tmpi_errno_address())
#endif
