/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of pthread_atfork(). libc would call those of all ranks when one of them forks: the
 * handler of another rank may wait for a lock that this one holds while it is parked, and one of a
 * rank that has ended finds what its destructors have left. Each rank has a list of its own.
 */
#include "tmpi/run/fork_handlers.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/internal/locks.h"
#include "tmpi/loader/program.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

struct tm_fork_handler {
  struct tm_fork_handler *next, *before; /* [ilock] in the order in which they were registered */
  void (*prepare)(void);                 /* each may be NULL */
  void (*in_parent)(void);
  void (*in_child)(void);
};

static uint32_t ilock; /* of all lists. Handlers stay, so they are called without it */

/* In a child no other thread is left, and one may have held the lock. */
static void lock(void) {
  if (!tm_process_is_child()) mti_lock(&ilock);
}

static void unlock(void) {
  if (!tm_process_is_child()) mti_unlock(&ilock);
}

static int push(struct tm_fork_list *list, struct tm_fork_handler handler) {
  struct tm_fork_handler *fresh = malloc(sizeof *fresh);
  if (fresh == NULL) return ENOMEM;
  *fresh = handler;
  lock();
  fresh->before = list->last;
  if (list->last != NULL)
    list->last->next = fresh;
  else
    list->first = fresh;
  list->last = fresh;
  unlock();
  return 0;
}

/* pthread_atfork() is in the program, and calls this. of: anything in the object. */
static int register_handler(void (*prepare)(void), void (*in_parent)(void), void (*in_child)(void),
                            void *of) {
  static int (*libc)(void (*)(void), void (*)(void), void (*)(void), void *);
  struct tm_process *process = tm_process_here();
  if (process != NULL && tm_program_rank_of(tm_the_program, of) >= 0)
    return push(&process->at_fork,
                (struct tm_fork_handler){NULL, NULL, prepare, in_parent, in_child});
  if (libc == NULL) *(void **)&libc = dlsym(RTLD_DEFAULT, "__register_atfork");
  return libc(prepare, in_parent, in_child, of);
}

static struct tm_fork_handler *follow(struct tm_fork_handler *const *link) {
  lock();
  struct tm_fork_handler *handler = *link;
  unlock();
  return handler;
}

void tm_fork_prepare(const struct tm_process *process) {
  for (struct tm_fork_handler *at = follow(&process->at_fork.last); at != NULL;
       at = follow(&at->before))
    if (at->prepare != NULL) at->prepare();
}

void tm_fork_in_parent(const struct tm_process *process) {
  for (struct tm_fork_handler *at = follow(&process->at_fork.first); at != NULL;
       at = follow(&at->next))
    if (at->in_parent != NULL) at->in_parent();
}

void tm_fork_in_child(const struct tm_process *process) {
  for (struct tm_fork_handler *at = follow(&process->at_fork.first); at != NULL;
       at = follow(&at->next))
    if (at->in_child != NULL) at->in_child();
}

const struct tm_override tm_override_forks[] = {
    {"__register_atfork", (tm_any *)register_handler},
    {NULL, NULL},
};
