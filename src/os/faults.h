/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file faults.h
 * Page faults that a kernel thread of the process serves itself, as far as Linux lets it
 * (userfaultfd(2), Linux 6.8). All functions are for that one kernel thread, which must not touch
 * what it watches. They return 0 or a positive errno value, and may change errno.
 */
#ifndef MT_OS_FAULTS_H
#define MT_OS_FAULTS_H

#include "os/os.h"

struct os_faults {
  int fd;     /**< in the table of the serving kernel thread alone; -1: there is none */
  int memory; /**< /proc/self/mem; -1: it cannot be opened */
};

/** Makes the caller the kernel thread that serves. It gets that name, and loses all descriptors of
 * the process. @return 0; EPERM: it needs a right; ENOSYS, EOPNOTSUPP: the kernel cannot do it; or
 * another errno value. */
int os_faults_open(struct os_faults *faults, const char *name);

/** Pages that are watched and absent read as zeroes from now on. */
void os_faults_close(struct os_faults *faults);

/** From now on an access to an absent page of a range waits until os_faults_fill(). */
int os_faults_watch(const struct os_faults *faults, void *address, size_t size);

/** Writes a zero byte where one is, without waiting if the page is absent. That gives this process
 * a page of its own where a child of fork() has the same. */
void os_faults_own(const struct os_faults *faults, const void *zero);

/** Moves a page to an absent page of a watched range, in one step for all threads.
 * @return 0; ENOENT: it is absent; EBUSY: a device or another process uses it; EEXIST: the other
 * one is not absent; or another errno value: it is as it was. */
int os_faults_move(const struct os_faults *faults, void *to, void *from, size_t size);

/** Gives an absent page of a watched range its content, and wakes the waiters for it. A page that
 * is not absent stays as it is. @return 0 or ENOMEM. */
int os_faults_fill(const struct os_faults *faults, void *page, const void *content, size_t size);

/** Waits for faults until the deadline; 0: does not wait. It may return before.
 * @return how many addresses were stored. */
size_t os_faults_wait(const struct os_faults *faults, uintptr_t *addresses, size_t most,
                      uint64_t deadline);

/** os_fatal() for a kernel thread without descriptors. */
void os_faults_fatal(const char *call, int error, const char *remedy) __attribute__((noreturn));

#endif
