/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulation from its start to its end.
 *
 * Relaxed: whether a simulation runs is a hint for callers that may not start another.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "core/internal/direct_switch.h"
#include "core/internal/thread.h"
#include "mltp/sched.h"
#include "sim/kernel.h"

static uint32_t running; /* [atomic] 1: there is a simulation */
static int vps = 1;

bool sm_is_running(void) { return mt_load_relaxed(&running) != 0; } /* relaxed: see above */

int mltp_sim_set_vps(int count) {
  if (sm_is_running()) return EBUSY;
  int error = count > mltp_vps() ? mltp_set_vps(count) : 0;
  if (error == 0 && count < 1) error = EINVAL;
  if (error == 0) vps = count;
  return error;
}

static int set_up(void) {
  sm = (struct simulation){.vps = vps, .native = mti_is_native()};
  sm.hands_over = mti_can_prepare_switch() && vps == 1;
  sm.ready_end = &sm.ready;
  sm.notified_end = &sm.notified;
  return !sm.hands_over ? mltp_tss_create(&sm.key, NULL) : 0;
}

static void take_down(void) {
  if (!sm.hands_over) mltp_tss_delete(sm.key);
  sm_round_free();
  sm_forget_delta();
  free(sm.heap);
  sm = (struct simulation){0};
}

int mltp_sim_run(void (*body)(void *arg), void *arg) {
  if (mti_self("mltp_sim_run") == NULL) return EPERM;
  uint32_t none = 0;
  /* SI-1 acquire: after the last one's end; pairs SI-2 */
  if (!mt_cas_acquire(&running, &none, 1)) return EBUSY;
  int error = set_up();
  if (error == 0) {
    struct sim_thread first = {
        .body = body,
        .arg = arg,
        .name = "main",
    };
    first.node.thread = &first;
    sm_trace_begin();
    error = sm_hosts_run(&first);
    sm_trace_end();
    if (sm.stuck) error = EDEADLK;
    take_down();
  }
  mt_store_release(&running, 0); /* SI-2 release: the next one starts from here; pairs SI-1 */
  return error;
}
