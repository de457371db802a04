/* SPDX-License-Identifier: Apache-2.0 */
/* pthread_exit() of a rank's own thread, and of a pthread: cleanup handlers run from the inner ones
 * to the outer ones, then destructors of thread-specific values. Handlers wait for other ranks, so
 * that ranks change their kernel threads meanwhile. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "check.h"

struct note {
  char text[32];
};

static struct note own, of_pthread;
static pthread_key_t key;

static void add(struct note *to, char letter) { to->text[strlen(to->text)] = letter; }

/* Of a rank's own thread. */
static void note_a(void *to) { add(to, 'a'); }

static void meet_b(void *to) {
  MPI_Barrier(MPI_COMM_WORLD);
  add(to, 'b');
}

static void note_c(void *to) { add(to, 'c'); }

static void note_d(void *to) { add(to, 'd'); }

static void end_e(void *to) {
  add(to, 'e');
  MPI_Finalize();
}

static void note_value(void *to) { add(to, 'v'); }

__attribute__((noinline)) static void leave(struct note *to) {
  pthread_cleanup_push(note_a, to);
  pthread_exit(NULL);
  pthread_cleanup_pop(1);
}

/* Two in one frame, one that has been taken back, and one that has been called. */
__attribute__((noinline)) static void descend(struct note *to, void (*meet)(void *)) {
  pthread_cleanup_push(note_c, to);
  pthread_cleanup_push(meet, to);
  pthread_cleanup_push(note_d, to);
  pthread_cleanup_pop(0);
  pthread_cleanup_push_defer_np(note_d, to);
  pthread_cleanup_pop_restore_np(1);
  leave(to);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
}

static void *leave_pthread(void *unused) {
  (void)unused;
  CHECK(pthread_setspecific(key, &of_pthread) == 0);
  pthread_cleanup_push(note_c, &of_pthread);
  descend(&of_pthread, note_d);
  pthread_cleanup_pop(0);
  return NULL;
}

static void wait_with_a_handler(void) {
  pthread_cleanup_push(note_d, &own);
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_cleanup_pop(0);
}

static void leave_own_thread(void) {
  pthread_cleanup_push(end_e, &own);
  descend(&own, meet_b);
  pthread_cleanup_pop(0);
}

static void look(void) {
  if (strcmp(own.text, "dabcev") == 0) return;
  fprintf(stderr, "the handlers ran as %s\n", own.text);
  _Exit(1);
}

int main(int argc, char **argv) {
  pthread_t thread;
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CHECK(atexit(look) == 0 && pthread_key_create(&key, note_value) == 0);
  CHECK(pthread_setspecific(key, &own) == 0);
  for (int i = 0; i < 20; i++) wait_with_a_handler(); /* buffers do not stay */
  CHECK(pthread_create(&thread, NULL, leave_pthread, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0 && strcmp(of_pthread.text, "dadccv") == 0);
  leave_own_thread();
  return 1;
}
