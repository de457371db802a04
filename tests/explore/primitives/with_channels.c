/* SPDX-License-Identifier: Apache-2.0 */
/* Channels and select. Thread n sends the numbers 10 n, 10 n + 1, ... in this order. */
#include "primitives.h"

static long seen[THREADS]; /* elements of each sender received so far */

static void check_order(long element) {
  long sender = element / 10;
  EXPECT(sender > 0 && sender < THREADS);
  EXPECT(element % 10 == seen[sender]);
  seen[sender]++;
}

static void send_all(mltp_channel_t *channel, long me) {
  for (long i = 0; i < ROUNDS; i++) {
    long element = 10 * me + i;
    EXPECT(mltp_channel_send(channel, &element) == 0);
  }
}

/* One receives from the others. */
static void *through(mltp_channel_t *channel, void *p0) {
  if (p0 != NULL) {
    send_all(channel, (long)p0);
    return p0;
  }
  for (int i = 0; i < ROUNDS * (THREADS - 1); i++) {
    long element = 0;
    EXPECT(mltp_channel_recv(channel, &element) == 0);
    check_order(element);
  }
  return p0;
}

void *with_channel(void *p0) { return through(channels[0], p0); }

void *with_buffer(void *p0) { return through(channels[1], p0); }

/* Each sender has a channel of its own. */
void *with_select(void *p0) {
  long element[CHANNELS];
  if (p0 != NULL) {
    send_all(channels[(long)p0 - 1], (long)p0);
    return p0;
  }
  for (int i = 0; i < ROUNDS * (THREADS - 1); i++) {
    mltp_case_t cases[] = {MLTP_CASE_RECV(channels[0], &element[0]),
                           MLTP_CASE_RECV(channels[1], &element[1])};
    size_t index = 0;
    EXPECT(mltp_select(cases, CHANNELS, &index) == 0 && cases[index].error == 0);
    check_order(element[index]);
    EXPECT(element[index] / 10 == (long)index + 1);
  }
  return p0;
}

/* All want to send or to receive on the same channel, and two of them do; the third goes by its
 * deadline. */
void *with_two_selects(void *p0) {
  static int moved;
  long sent = 10, received = 0;
  mltp_case_t cases[] = {MLTP_CASE_SEND(channels[0], &sent),
                         MLTP_CASE_RECV(channels[0], &received)};
  size_t index = 2;
  int error = mltp_select_timed(cases, 2, &index, mltp_after(50000));
  EXPECT(error == (index < 2 ? 0 : ETIMEDOUT));
  if (index == 1) EXPECT(received == 10);
  moved += index == 0 ? 1 : index == 1 ? -1 : 0;
  mltp_barrier_wait(&barrier);
  EXPECT(moved == 0);
  return p0;
}

/* What was sent by a deadline was received by one, or is still in the channel. */
void *with_timed_channel(void *p0) {
  static int sent, received;
  long element = 10;
  mltp_channel_t *channel = channels[p0 == (void *)1L];
  int error;
  for (int i = 0; i < CHANNELS; i++, channel = channels[p0 != (void *)1L]) {
    if (p0 != NULL) {
      error = mltp_channel_send_timed(channel, &element, mltp_after(4000));
      sent += error == 0;
    } else {
      error = mltp_channel_recv_timed(channel, &element, mltp_after(6000));
      received += error == 0;
    }
    EXPECT(error == 0 || error == ETIMEDOUT);
  }
  mltp_barrier_wait(&barrier);
  if (p0 != NULL) return p0;
  while (mltp_channel_recv_try(channels[1], &element) == 0) received++;
  EXPECT(sent == received);
  return p0;
}

/* A waiter continues when the channel is closed; elements sent before are received. */
void *with_close(void *p0) {
  long element = 10;
  switch ((long)p0) {
    case 0:
      EXPECT(mltp_channel_send(channels[1], &element) == 0);
      EXPECT(mltp_channel_close(channels[1]) == 0);
      EXPECT(mltp_channel_close(channels[0]) == 0);
      break;
    case 1:
      EXPECT(mltp_channel_recv(channels[1], &element) == 0 && element == 10);
      EXPECT(mltp_channel_recv(channels[1], &element) == EPIPE);
      break;
    default:
      EXPECT(mltp_channel_send(channels[0], &element) == EPIPE);
      EXPECT(mltp_channel_recv_try(channels[0], &element) == EPIPE);
  }
  return p0;
}
