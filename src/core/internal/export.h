/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file export.h
 * The internal API: what the other libraries of this project use of the inside of libmltp.
 *
 * libmltp.so exports these functions under the version MLTP_PRIVATE. Programs must not link to it:
 * the functions change with the library. The headers are grouped by purpose: locks, park, switch,
 * placement, thread, process. A function that releases a lock says so in its name.
 */
#ifndef MT_CORE_INTERNAL_EXPORT_H
#define MT_CORE_INTERNAL_EXPORT_H

#define MTI_EXPORT __attribute__((visibility("default")))

#endif
