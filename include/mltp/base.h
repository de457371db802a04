/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base.h
 * Linkage, visibility and version: included by every other public header.
 */
#ifndef MLTP_BASE_H
#define MLTP_BASE_H

#include <stddef.h>
#include <stdint.h>

#define MLTP_VERSION_MAJOR 0
#define MLTP_VERSION_MINOR 1
#define MLTP_VERSION_PATCH 0

#ifdef __cplusplus
#define MLTP_BEGIN_DECLS extern "C" {
#define MLTP_END_DECLS }
#else
#define MLTP_BEGIN_DECLS
#define MLTP_END_DECLS
#endif

/** Marks a function of the public interface: visible outside the library. */
#define MLTP_API __attribute__((visibility("default")))

/** Handle of a thread. It is valid until the thread was joined, or until a detached thread ends. */
typedef struct mltp_thread mltp_t;

#endif
