/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file session.h
 * Sessions: MPI without MPI_Init(). A rank may have several; each has an error handler, hints and a
 * buffer of its own. Groups and communicators made from one hold it.
 */
#ifndef TM_OBJECT_SESSION_H
#define TM_OBJECT_SESSION_H

#include <stdint.h>

struct tm_errhandler;
struct tm_info;

struct tm_session {
  uint32_t magic;
  uint32_t refs;                 /* [atomic] the handle, groups, communicators */
  struct tm_errhandler *handler; /* [rank] */
  struct tm_info *info;          /* [rank] */
  struct tm_buffer *buffer; /* [lock:buffers_ilock] of MPI_Session_attach_buffer(); NULL: none */
};

enum { TM_SESSION_MAGIC = 0x5e55 };

/** NULL: nothing. */
void tm_session_hold(struct tm_session *session);
void tm_session_release(struct tm_session *session);

#endif
