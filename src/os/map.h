/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file map.h
 * What tmpirun, which loads programs, asks of the kernel. It is no part of libmltp. Functions
 * return 0 or a positive errno value.
 */
#ifndef MT_OS_MAP_H
#define MT_OS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Opens a file to read and map. @param[out] size of the file; @return errno value: EISDIR of
 * what is no plain file. */
int os_file_open(const char *path, int *fd, size_t *size);
void os_file_close(int fd);
/** Tells which file it is: two descriptors of one file have the same pair of numbers. */
int os_file_identity(int fd, uint64_t *device, uint64_t *inode);
/** @return a number that another one replaces when the file's content changes; 0: unknown.
 * Async-signal-safe. */
uint64_t os_file_stamp(int fd);
/** @return whether its file system is mounted so that nothing in it may be executed. */
bool os_file_is_noexec(int fd);
/** Opens a file to append to, empty at first. */
int os_file_make(const char *path, int *fd);
/** Allows as many open files as the process may allow itself. */
void os_raise_file_limit(void);
/** Reads exactly size bytes. @return EIO: the file is shorter. */
int os_file_read(int fd, void *to, size_t size, off_t offset);
/** Memory that appears as it is touched; NULL when refused. */
void *os_map_memory(size_t size);
/** Puts part of a file, read-only, at an address that os_map_memory() gave. */
int os_map_file(void *address, size_t size, int fd, off_t offset, bool executable);
void os_unmap(void *address, size_t size);

#endif
