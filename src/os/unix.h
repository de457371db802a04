/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file unix.h
 * Unix sockets and pages shared with another process: what the client of mltpd needs of the system.
 * As in os.h, functions return 0 or a positive errno value and leave errno as it was.
 */
#ifndef MT_OS_UNIX_H
#define MT_OS_UNIX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { OS_DESCRIPTORS = 2 }; /**< that a message may bring */

/** A socket of ours. A program may close all its descriptors and open others with the same numbers,
 * so a number alone does not say that a socket is still ours. */
struct os_socket {
  int fd; /**< -1: none */
  dev_t device;
  ino_t inode;
};

/** Connects, without waiting, to a SOCK_SEQPACKET socket.
 * @return 0; ENOENT or ECONNREFUSED: nobody listens; EACCES: the listener's user is neither
 * root nor the caller's; or another errno value. */
int os_unix_connect(const char *path, struct os_socket *to);

/** @return true unless the program has closed the socket. */
bool os_socket_is_ours(const struct os_socket *s);

/** Sends one message, without waiting. @return 0; EAGAIN: no room; EBADF: the program has closed
 * the socket; EPIPE or ECONNRESET: nobody is there. */
int os_unix_send(const struct os_socket *to, const void *message, size_t size);

/** Receives one message of a known size, and the descriptors it brings (-1: none). Waits wait_ms at
 * most. @return 0; EAGAIN: none; ECONNRESET: nobody is there; EPROTO: its size is another. */
int os_unix_receive(const struct os_socket *from, void *message, size_t size, int wait_ms,
                    int fds[OS_DESCRIPTORS]);

void os_unix_close(struct os_socket *s);

/** Copies the program's short name, cut to size, with a zero at the end; the rest is zeroes. */
void os_program_name(char *name, size_t size);

/** Maps a memfd that nobody can make smaller, at *page, or anywhere if that is NULL; closes fd.
 * A mapping that is already there is replaced at once, so that readers never miss it. @return 0,
 * EPERM: not sealed against shrinking; or what mmap(2) said. */
int os_page_attach(int fd, size_t size, bool writable, void **page);

#endif
