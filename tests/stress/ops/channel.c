/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens go through two channels, by plain calls and by select; the channels start half full, so
 * that no thread waits forever unless a wake-up is lost (tokens.c says why). And pipes: a thread
 * that sends in order and closes, to one that receives until then. */
#include "ops.h"

enum { CHANNELS = 2, ROOM = 4, START = 2 };

static mltp_channel_t *channels[CHANNELS];
static atomic_long in_flight; /* sum of what was sent and not received */

static void begin(void) {
  long nothing = 0;
  atomic_store(&in_flight, 0);
  for (int i = 0; i < CHANNELS; i++) {
    channels[i] = new_channel(ROOM, sizeof(long), "stress");
    CHECK(channels[i] != NULL);
    for (int j = 0; j < START; j++) CHECK_EQUAL(mltp_channel_send(channels[i], &nothing), 0);
  }
}

/* One try, of any kind, on the channel numbered *at, or on either by select. Sets *at to where it
 * happened. @return 0, or why nothing was moved. */
static int try_move(mltp_op_t op, int *at, int either, long *token, unsigned *random) {
  mltp_channel_t *channel = channels[*at];
  int sends = op == MLTP_SEND;
  switch (either ? 0 : pick(random, 4)) {
    case 0: {
      mltp_case_t cases[CHANNELS];
      for (int i = 0; i < CHANNELS; i++) {
        mltp_case_t one = MLTP_CASE_SEND(either || i == *at ? channels[i] : NULL, token);
        one.op = op;
        cases[i] = one;
      }
      size_t index = 0;
      int error = one_in(random, 4)
                      ? mltp_select_timed(cases, CHANNELS, &index, soon(random, 50000))
                      : mltp_select(cases, CHANNELS, &index);
      if (error != 0) return error;
      *at = (int)index;
      return cases[index].error;
    }
    case 1:
      return sends ? mltp_channel_send_try(channel, token) : mltp_channel_recv_try(channel, token);
    case 2: {
      uint64_t deadline = soon(random, 50000);
      return sends ? mltp_channel_send_timed(channel, token, deadline)
                   : mltp_channel_recv_timed(channel, token, deadline);
    }
    default: return sends ? mltp_channel_send(channel, token) : mltp_channel_recv(channel, token);
  }
}

static void move(mltp_op_t op, int *at, int either, unsigned *random) {
  long token = op == MLTP_SEND ? (long)pick(random, 1000) : 0;
  if (op == MLTP_SEND) atomic_fetch_add(&in_flight, token);
  for (int error; (error = try_move(op, at, either, &token, random)) != 0;) {
    CHECK(error == EAGAIN || error == ETIMEDOUT);
    mltp_yield();
  }
  if (op == MLTP_RECV) atomic_fetch_sub(&in_flight, token);
}

/* Whatever channel has lost or got a token gets or loses one: so each stays as full as it is. */
static void act(unsigned *random) {
  int at = (int)pick(random, CHANNELS), send_first = one_in(random, 2);
  move(send_first ? MLTP_SEND : MLTP_RECV, &at, one_in(random, 3), random);
  move(send_first ? MLTP_RECV : MLTP_SEND, &at, 0, random);
}

static void end(void) {
  for (int i = 0; i < CHANNELS; i++) {
    long token;
    while (mltp_channel_recv_try(channels[i], &token) == 0) atomic_fetch_sub(&in_flight, token);
    CHECK_EQUAL(mltp_channel_destroy(channels[i]), 0);
  }
  CHECK_EQUAL(atomic_load(&in_flight), 0);
}

const struct operation op_channel = {"channel", 4, 1, begin, act, end};

/* ---------------------------------------------------------------------- pipe */

enum { SENT = 20 };

static void *send_in_order(void *p0) {
  for (int i = 0; i < SENT; i++) CHECK_EQUAL(mltp_channel_send(p0, &i), 0);
  CHECK_EQUAL(mltp_channel_close(p0), 0);
  return NULL;
}

static void act_pipe(unsigned *random) {
  mltp_channel_t *pipe = new_channel(pick(random, 3), sizeof(int), "pipe");
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.bound = one_in(random, 16);
  mltp_t *sender = NULL;
  CHECK_EQUAL(mltp_create(&sender, &attr, send_in_order, pipe), 0);
  int number = -1, expected = 0;
  while (mltp_channel_recv(pipe, &number) == 0) CHECK_EQUAL(number, expected++);
  CHECK_EQUAL(expected, SENT);
  CHECK_EQUAL(mltp_join(sender, NULL), 0);
  CHECK_EQUAL(mltp_channel_destroy(pipe), 0);
}

const struct operation op_pipe = {"pipe", 1, 0, NULL, act_pipe, NULL};
