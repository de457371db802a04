/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round: read demands, divide, publish.
 *
 * A rise of demand counts at once. A fall counts when it has lasted for ROUND_NS: a program that
 * waits for a moment keeps its share.
 */
#include <string.h>
#include <sys/timerfd.h>

#include "base/atomic.h"
#include "daemon.h"

/* ---- demand */

static void read_demand(struct daemon *d, struct client *c, uint64_t now) {
  uint32_t demand = mt_load_relaxed(&c->report->demand); /* relaxed: a number, and may be a lie */
  if (demand > c->most) demand = c->most;
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
  mt_store_relaxed(&c->grant->lease, now + LEASE_NS); /* relaxed: looked at ten times a second */
  mt_store_relaxed(&c->grant->share, p->share);
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
        (struct mt_policy_program){c->uid, c->weight, c->most, c->demand, c->granted, c->share};
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
    limited |= c->granted < c->asked && c->demand > 0;
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
