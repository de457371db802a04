/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file session.h
 * Sessions: MPI without MPI_Init(). A rank may have several; each has an error handler, hints and a
 * buffer of its own. Groups and communicators made from one hold it.
 */
#ifndef TM_OBJECT_SESSION_H
#define TM_OBJECT_SESSION_H

#include "tmpi/rank/rank.h"

struct tm_errhandler;
struct tm_info;

struct tm_session {
  uint32_t magic;
  uint32_t refs;                 /* [atomic] the handle, groups, communicators */
  struct tm_errhandler *handler; /* [rank] */
  struct tm_info *info;          /* [rank] */
  struct tm_buffer *buffer;      /* [rank] of MPI_Session_attach_buffer(); NULL: none */
};

/** NULL: nothing. */
void tm_session_hold(struct tm_session *session);
void tm_session_release(struct tm_session *session);

/** Looks a handle up. @return MPI_SUCCESS or what tm_fail() returned. */
int tm_get_session(const char *call, MPI_Session handle, struct tm_session **session);

/** As tm_fail(), by the session's error handler. */
int tm_session_fail(struct tm_session *session, const char *call, int code, const char *why);

#endif
