/* SPDX-License-Identifier: Apache-2.0 */
/* A pthread that knows nothing of VPs plays ball with a thread of the library, by the
 * library's semaphores. Main waits for the pthread in a call that blocks its VP. */
#include <mltp/mltp.h>
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 1000 };

static mltp_sem_t ping = MLTP_SEM_INIT(0), pong = MLTP_SEM_INIT(0);
static int ball; /* whose turn it is, the semaphores say */

static void *serve(void *unused) {
  for (int i = 0; i < ROUNDS; i++) {
    ball++;
    mltp_sem_post(&ping);
    mltp_sem_wait(&pong);
  }
  return unused;
}

static void *reply(void *unused) {
  for (int i = 0; i < ROUNDS; i++) {
    mltp_sem_wait(&ping);
    ball++;
    mltp_sem_post(&pong);
  }
  return unused;
}

int main(void) {
  pthread_t foreign;
  mltp_t *thread;
  if (mltp_init(0) != 0 || mltp_create(&thread, NULL, reply, NULL) != 0) return 1;
  if (pthread_create(&foreign, NULL, serve, NULL) != 0) return 1;
  mltp_blocking_begin(); /* or, on one VP, the thread would never run */
  pthread_join(foreign, NULL);
  mltp_blocking_end();
  mltp_join(thread, NULL);
  mltp_finalize();
  printf("foreign: a pthread and a thread exchanged %d strokes\n", ball);
  return ball == 2 * ROUNDS ? 0 : 1;
}
