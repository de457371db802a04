/* SPDX-License-Identifier: Apache-2.0 */
/* Short messages between ranks that have a VP each: they pass the mailbox's lock by
 * (match/intake.h). Rank 0 sends, rank 1 receives; where the two share a VP the same holds. */
#include <string.h>
#include <time.h>

#include "check.h"

enum { ROUNDS = 40, BATCH = 100, TAGS = 3, LARGEST = 20000, ANSWER = 50, KEPT = 60 };

static int rank;

static void both(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void rest_ms(int ms) { nanosleep(&(struct timespec){0, ms * 1000000L}, NULL); }

static unsigned next_random(unsigned *state) {
  *state = *state * 1103515245 + 12345;
  return *state >> 16;
}

/* ---- order: sizes that take the ring, the mailbox, and the sender's buffer, in any sequence */

enum { SIZES = 12 };
static const int sizes[SIZES] = {4, 8, 9, 36, 37, 64, 65, 200, 484, 485, 1000, LARGEST};

/* Bytes of a message's number, and then others that follow from it. */
static void fill(char *message, int bytes, int number) {
  memcpy(message, &number, sizeof number);
  for (int i = (int)sizeof number; i < bytes; i++) message[i] = (char)(number * 7 + i);
}

static void send_batch(unsigned seed, int sent[TAGS]) {
  static char out[BATCH][LARGEST];
  MPI_Request requests[BATCH];
  for (int i = 0; i < BATCH; i++) {
    int tag = (int)(next_random(&seed) % TAGS), bytes = sizes[next_random(&seed) % SIZES];
    fill(out[i], bytes, sent[tag]++);
    MPI_Isend(out[i], bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &requests[i]);
    if (next_random(&seed) % 40 == 0) rest_ms(1);
  }
  MPI_Waitall(BATCH, requests, MPI_STATUSES_IGNORE);
}

static void check_next(const char *in, int bytes, int tag, int got[TAGS]) {
  static char right[LARGEST];
  fill(right, bytes, got[tag]++);
  CHECK(memcmp(in, right, (size_t)bytes) == 0);
}

/* A message of any tag, by one of the ways to look for it first. */
static void receive_one(unsigned way, int got[TAGS]) {
  static char in[LARGEST];
  MPI_Status status;
  MPI_Message message;
  int flag = 0, bytes;
  switch (way % 5) {
    case 0:
      MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Recv(in, LARGEST, MPI_BYTE, 0, status.MPI_TAG, MPI_COMM_WORLD, &status);
      break;
    case 1:
      while (!flag) MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
      MPI_Recv(in, LARGEST, MPI_BYTE, 0, status.MPI_TAG, MPI_COMM_WORLD, &status);
      break;
    case 2:
      MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(in, LARGEST, MPI_BYTE, &message, &status);
      break;
    default:
      MPI_Recv(in, LARGEST, MPI_BYTE, way % 5 == 3 ? 0 : MPI_ANY_SOURCE, MPI_ANY_TAG,
               MPI_COMM_WORLD, &status);
  }
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  check_next(in, bytes, status.MPI_TAG, got);
}

/* All of a batch, posted at once; receives that name a tag and others take turns. The batch's tags
 * are known by its seed. */
static void receive_posted(unsigned seed, unsigned way, int got[TAGS]) {
  static char in[BATCH][LARGEST];
  MPI_Request requests[BATCH];
  MPI_Status status;
  int tags[BATCH], bytes[BATCH], flag = 0, index;
  unsigned own = seed;
  for (int i = 0; i < BATCH; i++) {
    tags[i] = (int)(next_random(&own) % TAGS);
    bytes[i] = sizes[next_random(&own) % SIZES];
    next_random(&own);
    MPI_Irecv(in[i], LARGEST, MPI_BYTE, 0, tags[i], MPI_COMM_WORLD, &requests[i]);
  }
  if (way % 3 == 0) MPI_Waitall(BATCH, requests, MPI_STATUSES_IGNORE);
  while (way % 3 == 1 && !flag) MPI_Testall(BATCH, requests, &flag, MPI_STATUSES_IGNORE);
  for (int i = 0; way % 3 == 2 && i < BATCH; i++) MPI_Waitany(BATCH, requests, &index, &status);
  for (int i = 0; i < BATCH; i++) check_next(in[i], bytes[i], tags[i], got);
}

static void order(void) {
  int counts[TAGS] = {0};
  unsigned seed = 7;
  for (int i = 0; i < ROUNDS; i++) {
    unsigned way = next_random(&seed);
    if (rank == 0)
      send_batch(seed, counts);
    else if (way % 2 == 0)
      receive_posted(seed, way / 2, counts);
    else
      for (int j = 0; j < BATCH; j++) receive_one(next_random(&way), counts);
    if (i % 8 == 0) both();
  }
  both();
}

/* ---- the receiver does not look for a while */

/* More than the ring has room for. */
static void computes(void) {
  enum { MANY = 500 };
  both();
  for (int i = 0; i < MANY; i++)
    if (rank == 0) MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  both();
  for (int i = 0, in; rank == 1 && i < MANY; i++) {
    MPI_Recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == i);
  }
}

/* The receive of a message that came first is complete when a later message is here, although
 * nobody waits for it. */
static void given_up(void) {
  static int first, second;
  MPI_Request request;
  first = 0;
  if (rank == 1) {
    MPI_Irecv(&first, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  both();
  for (int i = 1; rank == 0 && i < 3; i++) MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(&second, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(first == 1 && second == 2);
  }
  both();
}

/* Of three alike the second is cancelled; and one is, whose memory was that of an older one. */
static void cancelled(void) {
  MPI_Request requests[3];
  MPI_Status status;
  int out[3] = {1, 2, 3}, in, flag;
  both();
  if (rank == 0) {
    for (int i = 0; i < 3; i++)
      MPI_Isend(&out[i], 1, MPI_INT, 1, KEPT, MPI_COMM_WORLD, &requests[i]);
    MPI_Cancel(&requests[1]);
    MPI_Wait(&requests[1], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
      MPI_Isend(&out[i], 1, MPI_INT, 1, KEPT, MPI_COMM_WORLD, &requests[0]);
      if (i == 1) MPI_Cancel(&requests[0]);
      MPI_Wait(&requests[0], &status);
    }
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
  }
  both();
  const int kept[] = {1, 3, 1};
  for (int i = 0; rank == 1 && i < 3; i++) {
    MPI_Recv(&in, 1, MPI_INT, 0, KEPT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == kept[i]);
  }
  if (rank == 1) MPI_Iprobe(0, KEPT, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(rank == 0 || !flag);
}

/* A communicator is freed with a message that nobody has received. */
static void lost(void) {
  MPI_Comm comm;
  int number = 5;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 1, comm);
  both();
  if (rank == 1)
    EXPECT(MPI_ERR_OTHER, MPI_Comm_free(&comm));
  else
    MPI_Comm_free(&comm);
}

/* ---- the receiver is parked when the message comes, in each way to wait */

static void parked(void) {
  for (int way = 0; way < 12; way++) {
    int in = 0, out = way, index;
    MPI_Request requests[2];
    MPI_Status status;
    if (rank == 0) {
      rest_ms(way % 4 == 0 ? 0 : 3);
      MPI_Send(&out, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(&in, 1, MPI_INT, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      continue;
    }
    requests[1] = MPI_REQUEST_NULL;
    if (way % 3 == 0) {
      MPI_Recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (way % 3 == 1) {
      MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
      MPI_Waitany(2, requests, &index, &status);
    } else {
      MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
      MPI_Recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK(in == way);
    MPI_Send(&in, 1, MPI_INT, 0, ANSWER, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  int size;
  rank = check_start(&argc, &argv, &size);
  CHECK(size == 2);
  order();
  computes();
  given_up();
  cancelled();
  lost();
  parked();
  MPI_Finalize();
}
