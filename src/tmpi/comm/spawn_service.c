/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service of a node: spawn.h. A thread of its own, which is parked but while it prepares ranks
 * or starts them, so that a node which does so does not rest (nodes/rest.c).
 *
 * tmpirun waits until all ranks of the node have ended, and then ends the service. An order that
 * comes before may still bring ranks.
 *
 * Rejected: the thread that finds the order starts another one for it. It may be a VP without a
 * thread, and holds the transport's lock.
 */
#include <mltp/mltp.h>
#include <stdlib.h>

#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "tmpi/comm/spawn.h"

static const char name[] = "ranks that another node spawns";

enum stage {
  RESTS,   /* there is no order */
  ORDERED, /* the service prepares ranks, and waits for the decision */
  DECIDED
};

static struct {
  uint32_t ilock;
  mltp_t *thread;             /* [const] NULL: the job has one node, or no room for more ranks */
  struct mltp_thread *parked; /* [ilock] the service; NULL: it runs */
  struct mltp_thread *ender;  /* [ilock] waits until the service rests; NULL: none does */
  enum stage stage;           /* [ilock] */
  bool ended;                 /* [ilock] no order is taken any more */
  bool go;                    /* [ilock] the decision */
  char *data;                 /* [ilock] the order; as: */
  int leader;
  uint64_t asker;
} service;

static const struct tm_spawner *spawner; /* [const] once ranks run */

const struct tm_spawner *tm_job_spawner(void) { return spawner; }

/* ---- the thread */

static void wake(struct mltp_thread **parked) {
  struct mltp_thread *thread = *parked;
  *parked = NULL;
  if (thread != NULL) mti_resume(thread);
}

/* The lock is held, and released while the service is parked. */
static void park(void) {
  service.parked = mltp_self();
  mti_park_unlock(&service.ilock, name);
  mti_lock(&service.ilock);
}

/* @return false: the service ends. */
static bool wait_for_order(void) {
  mti_lock(&service.ilock);
  while (service.stage != ORDERED && !service.ended) park();
  bool ordered = service.stage == ORDERED;
  mti_unlock(&service.ilock);
  return ordered;
}

static bool wait_for_decision(void) {
  mti_lock(&service.ilock);
  while (service.stage != DECIDED) park();
  bool go = service.go;
  mti_unlock(&service.ilock);
  return go;
}

static void rest(void) {
  mti_lock(&service.ilock);
  service.stage = RESTS;
  wake(&service.ender);
  mti_unlock(&service.ilock);
}

static void serve(struct tm_order *order) {
  bool read = tm_order_read(order, service.data), good = read && spawner->prepare(&order->spawn);
  tm_spawn_answer(good ? TM_SPAWN_DONE : TM_SPAWN_REFUSED,
                  read ? order->spawn.why : "no memory for more ranks (fewer ranks)",
                  service.leader, service.asker, false);
  bool go = wait_for_decision();
  if (read) spawner->finish(&order->spawn, go);
  if (!go && order->spawn.world != NULL) tm_world_drop(order->spawn.world);
  free(service.data);
  tm_order_drop(order);
}

static void *run(void *unused) {
  (void)unused;
  while (wait_for_order()) {
    struct tm_order order;
    serve(&order);
    int leader = service.leader;
    uint64_t asker = service.asker;
    rest(); /* first: the next order comes when all have answered */
    tm_spawn_answer(TM_SPAWN_DONE, "", leader, asker, false);
  }
  return NULL;
}

/* ---- start and end */

bool tm_job_on_spawn(const struct tm_spawner *own) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  spawner = own;
  attr.name = name;
  return tm_job.spawned_on == NULL || mltp_create(&service.thread, &attr, run, NULL) == 0;
}

bool tm_spawn_service_end(void) {
  if (service.thread == NULL) return true;
  mti_lock(&service.ilock);
  if (service.stage != RESTS) {
    service.ender = mltp_self();
    mti_park_unlock(&service.ilock, "the end of a spawn by another node");
    return false;
  }
  service.ended = true;
  wake(&service.parked);
  mti_unlock(&service.ilock);
  mltp_join(service.thread, NULL);
  return true;
}

/* ---- what takers call */

bool tm_spawn_service_order(char *data, int leader, uint64_t asker) {
  mti_lock(&service.ilock);
  bool ended = service.ended;
  if (!ended) {
    service.data = data;
    service.leader = leader;
    service.asker = asker;
    service.stage = ORDERED;
    wake(&service.parked);
  }
  mti_unlock(&service.ilock);
  return !ended;
}

bool tm_spawn_service_decide(bool go, uint64_t asker) {
  mti_lock(&service.ilock);
  bool has_order = service.stage != RESTS;
  if (has_order) {
    service.go = go;
    service.asker = asker;
    service.stage = DECIDED;
    wake(&service.parked);
  }
  mti_unlock(&service.ilock);
  return has_order;
}
