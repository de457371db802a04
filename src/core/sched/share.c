/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: what changes under sleep.ilock is read under it, or as a hint.
 */
#include "core/sched/share.h"

#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "core/det/det.h"
#include "core/vp/vp.h"

enum { LOOK_NS = 100000000 }; /* between two looks of a VP at the daemon's health */

static bool can_share(void) {
  return mt_options.backend != MT_BACKEND_KERNEL && !mt_det_on &&
         mt_options.oversubscribe == MT_OVERSUBSCRIBE_NOT;
}

static int join(void) {
  struct mt_client_program program = {.role = MT_PROTO_LIBMLTP, .most = (uint32_t)mt_rt.most};
  return mt_client_join(mt_options.coordinator, &program);
}

static const char *remedy(int error) {
  if (error == EACCES) return "join a daemon of your own or of root, or set it to auto or off";
  if (error == EPROTO) return "no mltpd of this version listens there: start one, or set it to off";
  return "start mltpd there, or set it to auto or off";
}

int mt_share_join(void) {
  const char *where = mt_options.coordinator;
  if (!can_share()) return 0;
  int error = join();
  if (error == 0 || strcmp(where, "auto") == 0) return 0;
  mt_message("MLTP_COORDINATOR: cannot join %s: %s (%s)", where, strerror(error), remedy(error));
  return error;
}

void mt_share_set_most(int most) {
  bool joined = mt_client_is_joined();
  mt_store_relaxed(&mt_rt.most, most);
  if (!joined) return;
  mt_client_leave();
  join(); /* if it is refused now, the program runs as without a daemon */
}

int mt_share_target(void) {
  uint32_t granted = mt_client_follow();
  int most = mt_load_relaxed(&mt_rt.most);
  return granted < (uint32_t)most ? (int)granted : most;
}

/* ---- demand */

void mt_share_report(void) {
  uint32_t awake = mt_rt.idle.awake > 0 ? (uint32_t)mt_rt.idle.awake : 0;
  uint32_t demand = mt_rt.hungry ? (uint32_t)mt_rt.most : awake;
  if (mt_client_report(awake, demand)) mt_store_relaxed(&mt_rt.ring_due, true);
}

void mt_share_ring_if_due(void) {
  if (mt_likely(!mt_load_relaxed(&mt_rt.ring_due))) return;
  mt_store_relaxed(&mt_rt.ring_due, false); /* two that see it ring twice: no harm */
  mt_client_ring();
}

void mt_share_refused(void) {
  if (mt_load_relaxed(&mt_rt.hungry) || !mt_client_is_joined()) return;
  if (mt_load_relaxed(&mt_rt.idle.target) >= mt_load_relaxed(&mt_rt.most)) return;
  mt_ilock_lock(&mt_rt.sleep.ilock);
  mt_store_relaxed(&mt_rt.hungry, true);
  mt_share_report();
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  mt_share_ring_if_due();
}

/* A VP that is awake goes where the program has CPUs of its own. */
static void go_home(void) {
  uint32_t count, first = mt_client_cpus(&count);
  if (first != 0) os_affinity_visit(first - 1, count);
}

void mt_share_look(struct mt_vp *vp, uint64_t now) {
  if (mt_likely(now < vp->sleep.share_look_at)) return;
  vp->sleep.share_look_at = now + LOOK_NS;
  uint32_t tick = mt_load_relaxed(&vp->points.tick);
  mt_client_count(tick - vp->sleep.counted_tick);
  vp->sleep.counted_tick = tick;
  mt_client_look(now);
  if (mt_load_relaxed(&vp->sleep.status) == MT_VP_AWAKE) go_home();
}
