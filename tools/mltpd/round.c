/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round: read demands, divide, publish.
 *
 * A rise of demand counts at once. A fall counts when it has lasted for ROUND_NS: a program that
 * waits for a moment keeps its share.
 *
 * A program that is stopped (SIGSTOP, a debugger) or that lies reports the same demand forever. So
 * the daemon looks at the CPU time of a program that asks for CPUs: one that hardly uses any is
 * silent, and its share goes to the others until it computes or rings.
 */
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/atomic.h"
#include "daemon.h"

/* ---- demand */

/* @return the CPU time of a program's process, in ns; 0: the kernel does not say. */
static uint64_t cpu_time(const struct client *c) {
  clockid_t clock;
  struct timespec used;
  if (c->pid <= 0 || clock_getcpuclockid(c->pid, &clock) != 0) return 0;
  if (clock_gettime(clock, &used) != 0) return 0;
  return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* Between two looks too far apart the program may have been idle, which is no silence. The programs
 * of `mltp jobs` and `mltp run --cgroup` compute in other processes. */
static void judge_use(struct client *c, uint64_t now, uint32_t demand) {
  if (c->role == MT_PROTO_JOBS || c->role == MT_PROTO_GROUP) return;
  if (demand == 0) {
    client_lives(c);
    return;
  }
  uint64_t passed = now - c->used_at;
  if (c->used_at != 0 && passed < RENEW_NS) return;
  uint64_t used = cpu_time(c);
  if (c->used_at != 0 && passed <= 2 * (uint64_t)RENEW_NS)
    c->silent = used != 0 && used - c->used < passed / USE_LEAST;
  c->used = used;
  c->used_at = now;
}

static void read_demand(struct daemon *d, struct client *c, uint64_t now) {
  uint32_t demand = mt_load_relaxed(&c->report->demand); /* relaxed: a number, and may be a lie */
  if (demand > c->most) demand = c->most;
  judge_use(c, now, demand);
  if (c->silent) demand = 0;
  if (demand >= c->demand) {
    c->demand = demand;
    c->low_since = 0;
  } else if (c->low_since == 0) {
    c->low_since = now;
    if (d->round_at == UINT64_MAX) d->round_at = now + ROUND_NS;
  } else if (now - c->low_since >= ROUND_NS) {
    c->demand = demand;
    c->low_since = 0;
  } else if (d->round_at == UINT64_MAX) {
    d->round_at = c->low_since + ROUND_NS;
  }
}

/* ---- bells */

/* Where all fit, no report would change a grant. */
static bool all_fit(const struct daemon *d) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < d->slots; i++)
    if (d->clients[i] != NULL && d->clients[i]->joined) most += d->clients[i]->most;
  return most <= d->cpus;
}

static bool any_wants_more(const struct daemon *d) {
  for (uint32_t i = 0; i < d->slots; i++) {
    const struct client *c = d->clients[i];
    if (c != NULL && c->joined && (c->demand > c->granted || c->share % 1000 != 0)) return true;
  }
  return false;
}

static void set_bells(struct daemon *d) {
  uint32_t bells = all_fit(d) ? 0 : MT_BELL_MORE | (any_wants_more(d) ? MT_BELL_LESS : 0);
  for (uint32_t i = 0; i < d->slots; i++) {
    struct client *c = d->clients[i];
    if (c != NULL && c->joined)
      mt_store_seq_cst(&c->report->bell, bells); /* CD-3: before we load its demand */
  }
}

/* ---- grants */

static void publish(struct client *c, const struct mt_policy_program *p, uint64_t now) {
  mt_store_relaxed(&c->grant->lease,
                   now + MT_PROTO_LEASE_NS); /* relaxed: looked at ten times a second */
  mt_store_relaxed(&c->grant->share, p->share);
  mt_store_relaxed(&c->grant->first, p->first);
  if (p->granted != c->granted) mt_store_relaxed(&c->grant->granted, p->granted);
  c->granted = p->granted;
  c->share = p->share;
}

static uint32_t collect(struct daemon *d, uint64_t now) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < d->slots; i++) {
    struct client *c = d->clients[i];
    if (c == NULL || !c->joined) continue;
    read_demand(d, c, now);
    d->programs[count++] =
        (struct mt_policy_program){c->uid, c->weight, c->most, c->demand, c->granted, c->share, 0};
  }
  return count;
}

void round_run(struct daemon *d, uint64_t now) {
  uint32_t count = collect(d, now), next = 0;
  int error = mt_policy_divide(d->cpus, d->programs, count);
  if (error != 0) {
    note("cannot divide: %s (grants stay as they are)", strerror(error));
    return;
  }
  bool limited = false;
  for (uint32_t i = 0; i < d->slots; i++) {
    struct client *c = d->clients[i];
    if (c == NULL || !c->joined) continue;
    publish(c, &d->programs[next++], now);
    limited |= c->silent || (c->granted < c->asked && c->demand > 0);
  }
  d->renew_at = limited ? now + RENEW_NS : UINT64_MAX;
  if (d->round_at == UINT64_MAX) set_bells(d); /* else the timer does: bells ring that often */
}

/* ---- the timer */

void round_timer(struct daemon *d, uint64_t now) {
  if (now >= d->round_at) {
    d->round_at = UINT64_MAX;
    set_bells(d); /* before the look at demands */
    round_run(d, now);
  } else if (now >= d->renew_at) {
    round_run(d, now);
  }
}

void round_plan(struct daemon *d, uint64_t now) {
  uint64_t at = d->round_at < d->renew_at ? d->round_at : d->renew_at;
  struct itimerspec when = {0};
  if (at != UINT64_MAX) {
    if (at <= now) at = now + 1;
    when.it_value.tv_sec = (time_t)(at / 1000000000);
    when.it_value.tv_nsec = (long)(at % 1000000000);
  }
  timerfd_settime(d->timer, TFD_TIMER_ABSTIME, &when, NULL);
}
