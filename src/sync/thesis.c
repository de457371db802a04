/* SPDX-License-Identifier: Apache-2.0 */
/* The names and shapes of calls that only the thesis has (mltp/thesis.h). */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "core/det/det.h"
#include "mltp/thesis.h"
#include "os/os.h"

/* This file calls the functions that thesis.h gives another meaning. */
#undef mltp_create
#undef mltp_cond_wait

mltp_t *mltp_thesis_create(mltp_userf_t *func, void *p0) {
  mltp_t *thread = NULL;
  return mltp_create(&thread, NULL, func, p0) == 0 ? thread : NULL;
}

struct vcall {
  mltp_vuserf_t *func;
  struct arch_vargs args;
};

static void *run_vcall(void *arg) {
  struct vcall call = *(struct vcall *)arg;
  free(arg);
  return mt_arch_vcall(call.func, &call.args);
}

mltp_t *mltp_vcreate(mltp_vuserf_t *func, int nbytes, ...) {
  if (nbytes < 0 || nbytes > MLTP_VARGS_MAX) return NULL;
  struct vcall *call = malloc(sizeof *call);
  if (call == NULL) return NULL;
  call->func = func;
  va_list list;
  va_start(list, nbytes);
  mt_arch_capture(&call->args, list, nbytes);
  va_end(list);
  mltp_t *thread = mltp_thesis_create(run_vcall, call);
  if (thread == NULL) free(call);
  return thread;
}

void mltp_abort(void) { mltp_exit(NULL); }

void mltp_yield_bound(void) {
  if (mt_det_on)
    mltp_yield(); /* a bound thread runs on the one VP there */
  else
    os_yield();
}
