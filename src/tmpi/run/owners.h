/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file owners.h
 * Which rank has made a descriptor. What a rank starts would have the descriptors of all ranks: a
 * pipe of another rank would stay open there, and its reader would find no end. So a child of a
 * rank has the rank's own descriptors, and the ones that tmpirun was started with.
 *
 * A rank cannot close what another rank or tmpirun has: in a process of its own it would not be
 * there. It cannot have the number of such a descriptor for a copy either, although a process
 * could. What a rank has is closed when it ends. Its numbers stay in use then, for descriptors of
 * /dev/null: a stream of stdio or a pthread that is left would write to what another rank opens
 * later.
 *
 * What a library of the system opens for itself belongs to no rank, and libraries keep such
 * descriptors from programs. A descriptor that another rank makes at the very moment of the start
 * may be in the child.
 *
 * A stream of stdio that has no descriptor, as of fmemopen(), has an owner, too: a rank that
 * flushes all streams leaves out those of others.
 *
 * Rejected: FD_CLOEXEC for all descriptors of ranks. Each start would have to take it from those of
 * its rank, and they would stay open in a child of fork() that starts no program.
 */
#ifndef TM_RUN_OWNERS_H
#define TM_RUN_OWNERS_H

#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>

/** For a job of several ranks, before they run. @return false: no memory. */
bool tm_owners_start(int ranks);

/** Only ranks make descriptors from now on: no rank has one of the present ones. */
void tm_owners_begin(void);

/** The calling rank has made a descriptor; less than 0: it could not. @return the descriptor. */
int tm_owner_note(int fd);

/** A descriptor is about to be closed: then another rank may get its number. */
void tm_owner_forget(int fd);

enum { TM_OWNER_NONE = -1, TM_OWNER_TMPIRUN = -2 };

/** @return the rank that has an open descriptor, if that is another one than the caller's;
 * TM_OWNER_TMPIRUN; or TM_OWNER_NONE: the calling rank may do with this number as it likes. */
int tm_owner_other(int fd);

/** The calling rank has made a stream without a descriptor. Without memory it has no owner. */
void tm_owner_note_stream(const FILE *stream);

/** A stream is about to be closed: then another one may get its address. */
void tm_owner_forget_stream(const FILE *stream);

/** @return whether another rank has made the stream, or its descriptor. */
bool tm_owner_is_others_stream(FILE *stream);

/** Closes the calling rank's descriptors from first to last. on_exec: in the programs that it
 * starts only. */
void tm_owners_close_own(unsigned first, unsigned last, bool on_exec);

/** A rank has ended. */
void tm_owners_end(int rank);

/** In a child of a rank: closes those of other ranks. Async-signal-safe. */
void tm_owners_close_others(int rank);

/** Adds what does so in a process that the calling rank starts. @return 0, or ENOMEM. */
int tm_owners_spawn(posix_spawn_file_actions_t *actions);

#endif
