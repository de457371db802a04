/* SPDX-License-Identifier: Apache-2.0 */
/* Random models say the same on any number of VPs, and end the same way. */
#include "sim/log.h"

enum { EVENTS = 6, STEPS = 12, DEPTH = 3 };

static mltp_sim_event_t events[EVENTS];

struct actor {
  uint64_t state; /* of its own random numbers */
  int depth;
};

static uint32_t draw(struct actor *actor, uint32_t below) {
  actor->state = actor->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(actor->state >> 33) % below;
}

static void act(void *arg);

static struct actor child_of(struct actor *parent) {
  return (struct actor){parent->state ^ (uint64_t)draw(parent, 1 << 30), parent->depth + 1};
}

static void fork_some(struct actor *self) {
  struct actor actors[3];
  mltp_sim_child_t children[3];
  size_t count = 1 + draw(self, 3);
  for (size_t i = 0; i < count; i++) {
    actors[i] = child_of(self);
    children[i] = (mltp_sim_child_t){act, &actors[i], "child"};
  }
  mltp_sim_par(children, count);
}

static void handle(void *arg) {
  (void)arg;
  log_at("handled");
}

static void try_some(struct actor *self) {
  struct actor actor = child_of(self);
  const mltp_sim_child_t body = {act, &actor, "tried"};
  const mltp_sim_handler_t handlers[] = {
      {&events[draw(self, EVENTS)], (int)draw(self, 2), handle, NULL},
      {&events[draw(self, EVENTS)], (int)draw(self, 2), handle, NULL}};
  say(mltp_sim_try(&body, handlers, 2) == 2 ? "ended" : "trapped");
}

static void wait_some(struct actor *self) {
  mltp_sim_event_t *list[] = {&events[draw(self, EVENTS)], &events[draw(self, EVENTS)]};
  switch (draw(self, 3)) {
    case 0: mltp_sim_wait(list[0]); break;
    case 1: mltp_sim_wait_any(list, 2); break;
    default: mltp_sim_wait_all(list, 1 + (list[0] != list[1])); break;
  }
}

static void act(void *arg) {
  struct actor *self = arg;
  for (int i = 0; i < STEPS; i++) {
    uint32_t choice = draw(self, 16);
    if (choice < 4)
      mltp_sim_notify(&events[draw(self, EVENTS)]);
    else if (choice < 6)
      mltp_sim_notify_one(&events[draw(self, EVENTS)]);
    else if (choice < 10)
      mltp_sim_waitfor(draw(self, 3));
    else if (choice < 12)
      wait_some(self);
    else if (choice < 14 && self->depth < DEPTH)
      fork_some(self);
    else if (choice < 15 && self->depth < DEPTH)
      try_some(self);
    char words[32];
    snprintf(words, sizeof words, "%u.%u", self->depth, choice);
    log_at(words);
  }
}

static uint64_t seed;

/* Something always moves, for a while: many models would wait forever at once. */
static void pulse(void *arg) {
  (void)arg;
  for (int i = 0; i < 60; i++) {
    mltp_sim_waitfor(1);
    mltp_sim_notify(&events[i % EVENTS]);
  }
}

static void model(void *arg) {
  (void)arg;
  struct actor first = {seed, 0}, second = {seed + 1, 0};
  PAR(CHILD(act, &first), CHILD(act, &second), CHILD(pulse, 0));
}

static int run(int vps) {
  sim_log[0] = '\0';
  for (int i = 0; i < EVENTS; i++) events[i] = (mltp_sim_event_t)MLTP_SIM_EVENT_INIT("random");
  CHECK_EQUAL(mltp_sim_set_vps(vps), 0);
  return mltp_sim_run(model, NULL);
}

/* What the models of the first seeds say: a digest of each log (FNV-1a). What a model does when is
 * part of the contract, so it is the same in each version. */
static const uint64_t recorded[] = {
    0x911784ac784529ea, 0xacdceeba4352507c, 0x2e39c3346344b408, 0xb1111e03d6ff77a4,
    0xdcd2fd2a342b81b5, 0x2cf90167e28b35ed, 0x6ac5510835612056, 0xbf6a196af36706db,
    0xe5058c9f733d7bef, 0xcf4a765a5a8d422,
};

static uint64_t digest_of(const char *text) {
  uint64_t digest = 14695981039346656037u;
  for (; *text != '\0'; text++) digest = (digest ^ (unsigned char)*text) * 1099511628211u;
  return digest;
}

static void any_number_of_vps_does_the_same(void) {
  static char one[sizeof sim_log];
  freopen("/dev/null", "w", stderr); /* most end in a deadlock, and say so */
  int stuck = 0;
  for (seed = 1; seed <= (uint64_t)scaled(100); seed++) {
    int error = run(1);
    stuck += error == EDEADLK;
    memcpy(one, sim_log, sizeof one);
    check_case("seed %d", (int)seed);
    if (seed <= sizeof recorded / sizeof recorded[0])
      CHECK_EQUAL(digest_of(sim_log), recorded[seed - 1]);
    for (int i = 1; i < VPS_TRIED; i++) {
      check_case("seed %d, %d VPs", (int)seed, vps_tried[i]);
      CHECK_EQUAL(run(vps_tried[i]), error);
      CHECK_EQUAL(strcmp(sim_log, one), 0);
    }
  }
  mltp_sim_set_vps(1);
  if (scaled(10) == 10) CHECK(stuck > 0 && stuck < 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(any_number_of_vps_does_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
