/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pthread_exit() of a rank's own thread. That is libmltp's thread, and libc's function would end
 * the kernel thread below it. As in libc, the stack is unwound frame by frame. The unwinder runs
 * destructors of C++, and what C has registered by pthread_cleanup_push() where it was compiled
 * with -fexceptions. Otherwise that is a buffer of setjmp() in the frame that registers it. libc
 * lists these for each kernel thread; here each rank has a list, since it changes its kernel
 * threads.
 */
#include <mltp/mltp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "tmpi/rank/rank.h"
#include "tmpi/run/keys.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

/* @return the rank whose own thread calls; NULL: another thread. */
static struct tm_process *caller(void) {
  struct tm_process *process = tm_process_self();
  return process != NULL && process->thread == mltp_self() ? process : NULL;
}

/* ---- the list: a buffer has room for the one that was registered before it */

static void push(struct tm_process *process, __pthread_unwind_buf_t *buffer) {
  buffer->__pad[0] = process->cleanups;
  process->cleanups = buffer;
}

static void pop(struct tm_process *process, const __pthread_unwind_buf_t *buffer) {
  process->cleanups = buffer->__pad[0];
}

/* ---- unwinding */

/* The rank ends with its last pthread, by status 0. */
__attribute__((noreturn)) static void end(struct tm_process *process) {
  tm_process_end_thread(process);
  tm_values_end();
  mltp_await(&process->pthreads, 0, NULL);
  tm_process_exit(process, 0, TM_ORDERLY);
}

/* The buffer has no room for the mask, which is not used. */
__attribute__((noreturn)) static void jump(const __pthread_unwind_buf_t *buffer) {
  jmp_buf context;
  memset(&context, 0, sizeof context);
  memcpy(&context, buffer->__cancel_jmp_buf, sizeof buffer->__cancel_jmp_buf);
  longjmp(context, 1);
}

/* For each frame, from the inner ones. Its CFA is the stack pointer where it calls the next inner
 * one: a buffer below that lies in a frame that has been left, but is still there. */
static _Unwind_Reason_Code stop(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                struct _Unwind_Exception *exception,
                                struct _Unwind_Context *context, void *argument) {
  struct tm_process *process = argument;
  __pthread_unwind_buf_t *buffer = process->cleanups;
  bool is_last = (actions & _UA_END_OF_STACK) != 0;
  (void)version, (void)kind, (void)exception;
  if (buffer != NULL && (is_last || _Unwind_GetCFA(context) > (uintptr_t)buffer)) jump(buffer);
  if (is_last) end(process);
  return _URC_NO_REASON;
}

__attribute__((noreturn)) static void unwind(struct tm_process *process) {
  _Unwind_ForcedUnwind(process->unwinding, stop, process);
  end(process); /* it has found no frame */
}

/* A handler of C++ for all exceptions has ended without "throw;". */
static void swallowed(_Unwind_Reason_Code reason, struct _Unwind_Exception *exception) {
  (void)reason, (void)exception;
  fprintf(stderr,
          "tmpirun: rank %d: pthread_exit() in a try block whose catch (...) does not rethrow (end "
          "it by \"throw;\")\n",
          tm_rank_number());
  tm_job_abort(1);
}

void tm_process_exit_thread(struct tm_process *process) {
  if (process->unwinding == NULL) process->unwinding = calloc(1, sizeof *process->unwinding);
  if (process->unwinding == NULL) {
    fprintf(stderr, "tmpirun: rank %d: no memory for pthread_exit() (free some)\n",
            process->number);
    tm_job_abort(1);
  }
  process->unwinding->exception_cleanup = swallowed;
  unwind(process);
}

/* ---- what the macros of libc call */

static void register_buffer(__pthread_unwind_buf_t *buffer) {
  struct tm_process *process = caller();
  if (process != NULL)
    push(process, buffer);
  else
    __pthread_register_cancel(buffer);
}

static void unregister_buffer(__pthread_unwind_buf_t *buffer) {
  struct tm_process *process = caller();
  if (process != NULL)
    pop(process, buffer);
  else
    __pthread_unregister_cancel(buffer);
}

/* A rank's own thread is never cancelled, so it has no type of that. */
static void register_deferred(__pthread_unwind_buf_t *buffer) {
  if (caller() != NULL)
    register_buffer(buffer);
  else
    __pthread_register_cancel_defer(buffer);
}

static void unregister_deferred(__pthread_unwind_buf_t *buffer) {
  if (caller() != NULL)
    unregister_buffer(buffer);
  else
    __pthread_unregister_cancel_restore(buffer);
}

/* The buffer's routine has run. */
__attribute__((noreturn)) static void unwind_next(__pthread_unwind_buf_t *buffer) {
  struct tm_process *process = caller();
  if (process == NULL) __pthread_unwind_next(buffer);
  pop(process, buffer);
  unwind(process);
}

const struct tm_override tm_override_cleanups[] = {
    {"__pthread_register_cancel", (tm_any *)register_buffer},
    {"__pthread_unregister_cancel", (tm_any *)unregister_buffer},
    {"__pthread_register_cancel_defer", (tm_any *)register_deferred},
    {"__pthread_unregister_cancel_restore", (tm_any *)unregister_deferred},
    {"__pthread_unwind_next", (tm_any *)unwind_next},
    {NULL, NULL},
};
