/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file io.h
 * Input and output of threads: the calls of POSIX, in which only the calling thread waits. This
 * header is not part of `<mltp/mltp.h>`.
 *
 * A call makes its system call at once. If that would wait, the thread parks until the kernel
 * reports a change, and its VP runs other threads meanwhile. Threads of any number may wait for the
 * same descriptor; all of them try again after a change. After some dozen calls in a row that need
 * not wait, a call yields.
 *
 * Rules for descriptors:
 *  - The first call on a descriptor sets O_NONBLOCK, which other processes that share the open file
 *    see, too. Regular files, directories and block devices are left alone.
 *  - Close a descriptor by mltp_io_close(), which is safe while other threads wait for it or use
 *    it. If close(2) closes it instead, its waiters wait on, and a later descriptor of the same
 *    number may wait forever unless it comes from mltp_io_accept(), mltp_io_open() or
 *    mltp_io_connect().
 *  - A call on a regular file, and mltp_io_open() and mltp_io_fsync(), run on a few kernel threads
 *    that the library keeps for that purpose, unless the data is in the page cache. Bound and
 *    foreign threads call the kernel themselves.
 *
 * Each call that waits for a descriptor ends with ECANCELED if its thread is cancelled
 * (mltp_cancel()), and its _timed variant with ETIMEDOUT at the deadline. Bytes moved until then
 * are in *count. Calls on files end when the kernel has ended them. No call raises SIGPIPE on a
 * socket: it returns EPIPE.
 *
 * Wherever a call returns an error of the kernel, its errno value is what POSIX lists for the call
 * of that name. EBADF also means that the descriptor was closed meanwhile. ENOMEM, EMFILE, ENFILE
 * and ENOSPC also mean that the kernel refused to watch the descriptor. With MLTP_SEED the order in
 * which data comes from outside the process is not replayed.
 */
#ifndef MLTP_IO_H
#define MLTP_IO_H

#include <mltp/base.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

MLTP_BEGIN_DECLS

/* ---------------------------------------------------------------- bytes */

/**
 * Reads bytes; waits until there is at least one.
 * @param[out] count bytes read; 0 without an error: the end of the file or stream
 * @return 0; ECANCELED: see mltp_cancel(); an error of read(2). Blocks: thread. Context: any.
 */
MLTP_API int mltp_io_read(int fd, void *buffer, size_t size, size_t *count);

/** Reads as mltp_io_read(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_read_timed(int fd, void *buffer, size_t size, size_t *count,
                                uint64_t deadline);

/** Reads into several buffers as mltp_io_read() does into one. @param number of parts, at most
 * IOV_MAX. @return as mltp_io_read(). Blocks: thread. Context: any. */
MLTP_API int mltp_io_readv(int fd, const struct iovec *parts, int number, size_t *count);

/** Reads as mltp_io_readv(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_readv_timed(int fd, const struct iovec *parts, int number, size_t *count,
                                 uint64_t deadline);

/**
 * Writes all bytes; waits as often as it has to.
 * @param[out] count bytes written: fewer than size only after an error; NULL: not wanted
 * @return 0; ECANCELED: see mltp_cancel(); an error of write(2). Blocks: thread. Context: any.
 */
MLTP_API int mltp_io_write(int fd, const void *buffer, size_t size, size_t *count);

/** Writes as mltp_io_write(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_write_timed(int fd, const void *buffer, size_t size, size_t *count,
                                 uint64_t deadline);

/** Writes all bytes of several buffers. @param number of parts, at most IOV_MAX.
 * @param[out] count as of mltp_io_write(). @return as mltp_io_write(). Blocks: thread.
 * Context: any. */
MLTP_API int mltp_io_writev(int fd, const struct iovec *parts, int number, size_t *count);

/** Writes as mltp_io_writev(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_writev_timed(int fd, const struct iovec *parts, int number, size_t *count,
                                  uint64_t deadline);

/* -------------------------------------------------------------- sockets */

/**
 * Accepts a connection; waits until there is one.
 * @param[out] address    of the peer; NULL: not wanted
 * @param[in,out] length  room for it, and its size; NULL if address is
 * @param[out] connection its descriptor, which does not block and which exec closes
 * @return 0; ECANCELED: see mltp_cancel(); an error of accept(2). Blocks: thread. Context: any.
 */
MLTP_API int mltp_io_accept(int fd, struct sockaddr *address, socklen_t *length, int *connection);

/** Accepts as mltp_io_accept(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_accept_timed(int fd, struct sockaddr *address, socklen_t *length,
                                  int *connection, uint64_t deadline);

/**
 * Connects a socket; waits until the peer has answered.
 * @return 0; ECANCELED: see mltp_cancel(); EAGAIN: the queue of a local socket is full; an error of
 *         connect(2). After an error, close the socket. Blocks: thread. Context: any.
 */
MLTP_API int mltp_io_connect(int fd, const struct sockaddr *address, socklen_t length);

/** Connects as mltp_io_connect(), but gives up at a deadline. @return the same; ETIMEDOUT, which
 * connect(2) returns, too, if the peer does not answer. Blocks: thread. Context: any. */
MLTP_API int mltp_io_connect_timed(int fd, const struct sockaddr *address, socklen_t length,
                                   uint64_t deadline);

/** Receives from a socket as mltp_io_read(). @param flags of recv(2); MSG_DONTWAIT has no effect.
 * @return as mltp_io_read(). Blocks: thread. Context: any. */
MLTP_API int mltp_io_recv(int fd, void *buffer, size_t size, int flags, size_t *count);

/** Receives as mltp_io_recv(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_recv_timed(int fd, void *buffer, size_t size, int flags, size_t *count,
                                uint64_t deadline);

/** Sends all bytes to a socket as mltp_io_write(). @param flags of send(2); MSG_DONTWAIT has no
 * effect. @return as mltp_io_write(). Blocks: thread. Context: any. */
MLTP_API int mltp_io_send(int fd, const void *buffer, size_t size, int flags, size_t *count);

/** Sends as mltp_io_send(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_send_timed(int fd, const void *buffer, size_t size, int flags, size_t *count,
                                uint64_t deadline);

/** Receives one message with its address and control data; waits until there is one.
 * @param flags of recvmsg(2); MSG_DONTWAIT has no effect. @return 0; ECANCELED: see mltp_cancel();
 * an error of recvmsg(2). Blocks: thread. Context: any. */
MLTP_API int mltp_io_recvmsg(int fd, struct msghdr *message, int flags, size_t *count);

/** Receives as mltp_io_recvmsg(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_recvmsg_timed(int fd, struct msghdr *message, int flags, size_t *count,
                                   uint64_t deadline);

/** Sends one message with its address and control data, in one system call; a stream may take fewer
 * bytes than it has. @param flags of sendmsg(2); MSG_DONTWAIT has no effect. @return 0; ECANCELED:
 * see mltp_cancel(); an error of sendmsg(2). Blocks: thread. Context: any. */
MLTP_API int mltp_io_sendmsg(int fd, const struct msghdr *message, int flags, size_t *count);

/** Sends as mltp_io_sendmsg(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_sendmsg_timed(int fd, const struct msghdr *message, int flags, size_t *count,
                                   uint64_t deadline);

/* ------------------------------------------------------------ readiness */

/**
 * Waits until one of several descriptors is ready.
 * @param fds        as of poll(2): it sets revents. It leaves O_NONBLOCK as it is
 * @param[out] ready how many have revents
 * @return 0; ECANCELED: see mltp_cancel(); ENOMEM; an error of poll(2). Blocks: thread.
 * Context: any.
 */
MLTP_API int mltp_io_poll(struct pollfd *fds, size_t number, int *ready);

/** Waits as mltp_io_poll(), but gives up at a deadline; 0: does not wait. @return the same;
 * ETIMEDOUT. Blocks: thread. Context: any. */
MLTP_API int mltp_io_poll_timed(struct pollfd *fds, size_t number, int *ready, uint64_t deadline);

/* ---------------------------------------------------------------- files */

/** Opens a file; exec closes its descriptor. @param[out] fd the descriptor. @return 0; ECANCELED:
 * see mltp_cancel(), nothing was opened; an error of open(2). Blocks: thread. Context: any. */
MLTP_API int mltp_io_open(const char *path, int flags, mode_t mode, int *fd);

/** Reads bytes of a file at an offset. @param[out] count bytes read, fewer than size only at the
 * end of the file or after an error. @return 0; ECANCELED: see mltp_cancel(); an error of pread(2).
 * Blocks: thread. Context: any. */
MLTP_API int mltp_io_pread(int fd, void *buffer, size_t size, off_t offset, size_t *count);

/** Writes all bytes to a file at an offset. @param[out] count bytes written; NULL: not wanted.
 * @return 0; ECANCELED: see mltp_cancel(); an error of pwrite(2). Blocks: thread. Context: any. */
MLTP_API int mltp_io_pwrite(int fd, const void *buffer, size_t size, off_t offset, size_t *count);

/** Waits until the data of a file is on its device. @return 0; ECANCELED: see mltp_cancel(); an
 * error of fsync(2). Blocks: thread. Context: any. */
MLTP_API int mltp_io_fsync(int fd);

/**
 * Sends bytes of a file to a socket or pipe.
 * @param[in,out] offset in the file; NULL: the file's position
 * @param[out] count     bytes sent, fewer than size only at the end of the file or after an error
 * @return 0; ECANCELED: see mltp_cancel(); an error of sendfile(2). Blocks: thread. A file that is
 *         not in the page cache blocks the VP, too. Context: any.
 */
MLTP_API int mltp_io_sendfile(int to, int from, off_t *offset, size_t size, size_t *count);

/** Sends as mltp_io_sendfile(), but gives up at a deadline. @return the same; ETIMEDOUT. Blocks:
 * thread. Context: any. */
MLTP_API int mltp_io_sendfile_timed(int to, int from, off_t *offset, size_t size, size_t *count,
                                    uint64_t deadline);

/**
 * Closes a descriptor. Threads that wait for it get EBADF. If another thread is in a system call on
 * it, the descriptor is closed when that returns, so its number is not used again before.
 * @return 0; an error of close(2), the descriptor being closed even so. Blocks: no. Context: any.
 */
MLTP_API int mltp_io_close(int fd);

MLTP_END_DECLS

#endif
