/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file joins.h
 * Waiting for the end of a rank's pthread without a kernel thread: the waiter parks until the
 * pthread is about to end. So any number of ranks may wait at once, more than there can be VPs.
 */
#ifndef TM_RUN_JOINS_H
#define TM_RUN_JOINS_H

#include <pthread.h>

struct tm_join;

/** Makes what a pthread that is about to be created and its joiner share. attr: of that pthread.
 * @return NULL: it is created detached, or there is no memory: a joiner waits in the kernel. */
struct tm_join *tm_join_new(const pthread_attr_t *attr);

/** The pthread exists. It says so itself before it calls the program, and its creator as well: the
 * first of the two counts, and only then the number is read. join may be NULL, here and below. */
void tm_join_exists(struct tm_join *join, const pthread_t *thread);

/** Its creator needs it no longer. */
void tm_join_created(struct tm_join *join);

/** It could not be created. */
void tm_join_cancel(struct tm_join *join);

/** The calling pthread ends. */
void tm_join_ended(struct tm_join *join);

/** Before the caller waits for the pthread's end: once the pthread has been joined, another one may
 * have its number. @return NULL: it is not known, or another thread waits for it. */
struct tm_join *tm_join_take(pthread_t thread);

/** After tm_join_take(): parks until the pthread is about to end. */
void tm_join_wait(struct tm_join *join);

/** After tm_join_take(): the pthread has been joined or detached. */
void tm_join_forget(struct tm_join *join);

/** After tm_join_take(): it has not. */
void tm_join_put_back(struct tm_join *join);

#endif
