/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weighted max-min division, in whole VPs: one CPU at a time goes to the party that has the least
 * for its weight and can use more.
 */
#include "coord/policy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* A user, or a program of a user. */
struct party {
  uint32_t weight;
  uint32_t cap;    /* units that it can use */
  uint32_t before; /* what it had: settles ties */
  uint32_t units;  /* what it has now */
};

/* @return whether the next unit is a's rather than b's. Compares (units + 1) / weight, so that of
 * two parties with nothing the heavier one is served first. At a tie the party that had more keeps
 * it, so that the same question gets the same answer. */
static bool goes_first(const struct party *a, const struct party *b) {
  uint64_t left = (uint64_t)(a->units + 1) * b->weight;
  uint64_t right = (uint64_t)(b->units + 1) * a->weight;
  if (left != right) return left < right;
  return a->before > a->units && b->before <= b->units;
}

static struct party *next_party(struct party *parties, uint32_t count) {
  struct party *best = NULL;
  for (uint32_t i = 0; i < count; i++) {
    struct party *p = &parties[i];
    if (p->units < p->cap && (best == NULL || goes_first(p, best))) best = p;
  }
  return best;
}

/* @return units that nobody can use. */
static uint32_t hand_out(uint32_t units, struct party *parties, uint32_t count) {
  struct party *party;
  while (units > 0 && (party = next_party(parties, count)) != NULL) {
    party->units++;
    units--;
  }
  return units;
}

/* ---- programs in the order of their users */

struct division {
  struct mt_policy_program **order; /* programs, those of a user side by side */
  struct party *users;              /* one for each user, then scratch for programs of one */
  struct party *members;
  uint32_t *starts; /* where a user's programs begin in order; one more for the end */
  uint32_t count, user_count;
};

static int by_user(const void *a, const void *b) {
  const struct mt_policy_program *left = *(struct mt_policy_program *const *)a;
  const struct mt_policy_program *right = *(struct mt_policy_program *const *)b;
  if (left->user != right->user) return left->user < right->user ? -1 : 1;
  return left < right ? -1 : left > right; /* as they came: qsort() is not stable */
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t useful(const struct mt_policy_program *p) { return least(p->demand, p->most); }

static void group(struct division *d, struct mt_policy_program *programs) {
  for (uint32_t i = 0; i < d->count; i++) d->order[i] = &programs[i];
  qsort(d->order, d->count, sizeof *d->order, by_user);
  for (uint32_t i = 0; i < d->count; i++)
    if (i == 0 || d->order[i]->user != d->order[i - 1]->user) d->starts[d->user_count++] = i;
  d->starts[d->user_count] = d->count;
}

static void divide_between_users(struct division *d, uint32_t cpus) {
  for (uint32_t u = 0; u < d->user_count; u++) {
    struct party user = {.weight = 1};
    for (uint32_t i = d->starts[u]; i < d->starts[u + 1]; i++) {
      user.cap = least(user.cap + useful(d->order[i]), MT_POLICY_CPUS_MAX);
      user.before += d->order[i]->share;
    }
    user.before = (user.before + 999) / 1000; /* parts of a CPU were rounded down */
    d->users[u] = user;
  }
  hand_out(cpus, d->users, d->user_count);
}

/* The programs of one user outnumber its CPUs: one VP each, a part of a CPU each by weight. Nobody
 * can use more than a whole CPU with one VP, so what is above that goes to the others. */
static void share_time(struct mt_policy_program **programs, uint32_t count, uint64_t share) {
  for (uint32_t i = 0; i < count; i++) {
    programs[i]->granted = 1;
    programs[i]->share = 0;
  }
  for (bool again = true; again;) {
    again = false;
    uint64_t weights = 0, left = share;
    for (uint32_t i = 0; i < count; i++) {
      if (programs[i]->share == 1000)
        left -= 1000;
      else if (programs[i]->demand > 0)
        weights += programs[i]->weight;
    }
    for (uint32_t i = 0; i < count; i++) {
      if (programs[i]->share == 1000 || programs[i]->demand == 0) continue;
      uint64_t part = left * programs[i]->weight / weights;
      again |= part >= 1000;
      programs[i]->share = part < 1000 ? (uint32_t)part : 1000;
    }
  }
}

/* @param share thousandths of a CPU that the user gets, where that is less than units. */
static void divide_between_programs(struct division *d, uint32_t u, uint64_t share) {
  struct mt_policy_program **programs = d->order + d->starts[u];
  uint32_t count = d->starts[u + 1] - d->starts[u], active = 0, units = d->users[u].units;
  for (uint32_t i = 0; i < count; i++) active += programs[i]->demand > 0;
  if (active > units || share < (uint64_t)units * 1000) {
    share_time(programs, count, share);
    return;
  }
  for (uint32_t i = 0; i < count; i++) { /* one for each active program, the rest by weight */
    const struct mt_policy_program *p = programs[i];
    d->members[i] = (struct party){p->weight, useful(p), p->granted, p->demand > 0};
  }
  hand_out(units - active, d->members, count);
  for (uint32_t i = 0; i < count; i++) {
    programs[i]->granted = d->members[i].units;
    programs[i]->share = d->members[i].units * 1000;
  }
}

/* What nobody asks for now goes to programs that may ask soon. An idle program may always run one
 * VP: it asks for its share as soon as it does. */
static void grant_spare(struct division *d, struct mt_policy_program *programs, uint32_t spare,
                        const uint32_t *before) {
  for (uint32_t i = 0; i < d->count; i++) {
    struct mt_policy_program *p = &programs[i];
    d->members[i] = (struct party){p->weight, p->most, before[i], p->granted};
  }
  hand_out(spare, d->members, d->count);
  for (uint32_t i = 0; i < d->count; i++)
    programs[i].granted = d->members[i].units > 0 ? d->members[i].units : 1;
}

/* Two VPs of two programs would meet on one CPU while load of others has the next one alone. */
static void place(struct mt_policy_program *programs, uint32_t count) {
  uint32_t next = 1;
  for (uint32_t i = 0; i < count; i++) {
    struct mt_policy_program *p = &programs[i];
    bool alone = p->share > 0 && p->share == p->granted * 1000;
    p->first = alone ? next : 0;
    if (alone) next += p->granted;
  }
}

static bool acceptable(const struct mt_policy_program *p) {
  return p->most >= 1 && p->weight >= 1 && p->weight <= MT_POLICY_WEIGHT_MAX;
}

static void divide(struct division *d, uint32_t cpus, struct mt_policy_program *programs,
                   uint32_t *before) {
  for (uint32_t i = 0; i < d->count; i++) before[i] = programs[i].granted;
  group(d, programs);
  divide_between_users(d, cpus);
  uint32_t users_active = 0, used = 0;
  for (uint32_t u = 0; u < d->user_count; u++) users_active += d->users[u].cap > 0;
  for (uint32_t u = 0; u < d->user_count; u++) {
    uint64_t share = (uint64_t)d->users[u].units * 1000;
    if (users_active > cpus) share = (uint64_t)cpus * 1000 / users_active;
    divide_between_programs(d, u, share);
    used += d->users[u].units;
  }
  grant_spare(d, programs, cpus - used, before);
  place(programs, d->count);
}

int mt_policy_divide(uint32_t cpus, struct mt_policy_program *programs, uint32_t count) {
  if (cpus < 1 || cpus > MT_POLICY_CPUS_MAX) return EINVAL;
  for (uint32_t i = 0; i < count; i++)
    if (!acceptable(&programs[i])) return EINVAL;
  if (count == 0) return 0;
  struct division d = {.count = count};
  d.order = malloc(count * sizeof *d.order);
  d.users = malloc(count * sizeof *d.users);
  d.members = malloc(count * sizeof *d.members);
  d.starts = malloc((count + 1) * sizeof *d.starts);
  uint32_t *before = malloc(count * sizeof *before);
  int error = 0;
  if (d.order != NULL && d.users != NULL && d.members != NULL && d.starts != NULL && before != NULL)
    divide(&d, cpus, programs, before);
  else
    error = ENOMEM;
  free(d.order);
  free(d.users);
  free(d.members);
  free(d.starts);
  free(before);
  return error;
}
