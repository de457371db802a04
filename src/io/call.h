/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file call.h
 * A call on a descriptor: an attempt that is repeated whenever its side of the descriptor changes.
 */
#ifndef MT_IO_CALL_H
#define MT_IO_CALL_H

#include "io/fd.h"

/** Arguments and results of all calls; each attempt knows which are its own. */
struct mt_io_call {
  const char *name; /**< of the public function */
  int fd;
  enum mt_io_direction direction; /**< the side it waits for */
  /** Makes the system call. @return 0; EAGAIN: it would have to wait; another error. */
  int (*attempt)(struct mt_io_call *call, const struct mt_io_fd *f);

  const struct iovec *parts; /**< of which `number` are left */
  int number;
  size_t offset; /**< bytes of the first part that are done */
  size_t done;   /**< bytes of all */
  int flags;
  bool begun;      /**< a connect is under way */
  bool short_read; /**< the last attempt took fewer bytes than it had room for */
  union {
    struct {
      struct sockaddr *address;
      socklen_t *length;
      int *connection;
    } accept;
    struct {
      const struct sockaddr *address;
      socklen_t length;
    } connect;
    struct msghdr *message;
    const struct msghdr *message_out;
    struct {
      int from;
      off_t *offset;
      size_t size;
    } file;
  };
};

/** Makes the call; waits until an attempt succeeds or fails. @return its error, ETIMEDOUT,
 * ECANCELED, or EBADF after mltp_io_close(). */
int mt_io_make(struct mt_io_call *call, uint64_t deadline);

/** Counts bytes that an attempt has moved. @return whether parts are left. */
bool mt_io_advance(struct mt_io_call *call, size_t count);

#endif
