/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/peer.h"

#include "policy/peer.h"

/* Another series of deliveries begins. */
static void begin(struct mt_vp_peer *peer, uint64_t now) {
  peer->count = 0;
  peer->began_at = now;
}

static uint64_t each_ns(const struct mt_vp_peer *peer, uint64_t now) {
  return (now - peer->began_at) / peer->count;
}

/* The peer's CPU is known where the kernel handles a message on the sender's CPU, or on the one
 * that the device interrupts: there a wake-up is as cheap. */
static void look(struct mt_vp *vp, const struct mt_poll_batch *batch, uint64_t now) {
  struct mt_vp_peer *peer = &vp->peer;
  int cpu = mt_poller()->cpu_of(batch);
  bool apart = cpu >= 0 && os_affinity_note(&peer->affinity, cpu);
  if (apart) {
    peer->stays = mt_peer_stay(peer->level);
    peer->cpu = cpu;
    peer->apart_ns = each_ns(peer, now);
  }
  peer->level = mt_peer_level(peer->level, apart);
  peer->look_after = mt_peer_look_after(peer->misses, mt_random(vp));
  begin(peer, now);
}

void mt_peer_sleeps(struct mt_vp *vp) {
  struct mt_vp_peer *peer = &vp->peer;
  if (mt_unlikely(peer->stays != 0)) os_affinity_stay(&peer->affinity, peer->cpu);
}

void mt_peer_delivered(struct mt_vp *vp, const struct mt_poll_batch *batch, bool others,
                       uint64_t now) {
  struct mt_vp_peer *peer = &vp->peer;
  struct mt_peer_seen seen = {
      .count = (uint64_t)batch->count, .others = others, .since_ns = now - peer->at};
  peer->at = now;
  if (!mt_peer_is_lone(seen)) {
    if (peer->stays != 0) peer->misses = mt_peer_misses(peer->misses, 0, 0);
    peer->stays = 0;
    peer->look_after = mt_peer_look_after(peer->misses, mt_random(vp));
    begin(peer, now);
    return;
  }
  peer->count++;
  if (peer->stays != 0) {
    if (--peer->stays != 0) return;
    peer->misses = mt_peer_misses(peer->misses, peer->apart_ns, each_ns(peer, now));
    peer->look_after = mt_peer_look_after(peer->misses, mt_random(vp));
    begin(peer, now);
  } else if (peer->count >= peer->look_after) {
    look(vp, batch, now);
  }
}
