/* SPDX-License-Identifier: Apache-2.0 */
/* Polls of several descriptors, step by step (src/io/poll.c). */
#include "io_steps.h"

static struct pollfd fds[10];

static void name_descriptors(int number) {
  for (int i = 0; i < number; i++) fds[i] = (struct pollfd){.fd = FD + i, .events = POLLIN};
}

static void change_one(void) {
  CHECK_TEXT(self->waiting_for, "one of 2 descriptors");
  mt_io_changed(FD + 1, EPOLLIN, NULL);
}

static void close_one(void) {
  mt_add_relaxed(&find(FD + 1)->use, MT_IO_CLOSING);
  mt_io_changed(FD + 1, EPOLLOUT, NULL);
}

static void check_left(int number) {
  for (int i = 0; i < number; i++) {
    const struct mt_io_fd *f = find(FD + i);
    CHECK(f == NULL || (f->sides[MT_IO_IN].watches == NULL && f->sides[MT_IO_OUT].watches == NULL &&
                        f->use == 0));
  }
}

static void a_poll_that_finds_something_waits_for_nothing(void) {
  int ready = 0;
  begin();
  name_descriptors(2);
  world.ready[0] = 1;
  CHECK(mltp_io_poll(fds, 2, &ready) == 0 && ready == 1);
  TRACE("poll:2");
  world.looks = 0;
  world.ready[0] = 0;
  CHECK_EQUAL(mltp_io_poll_timed(fds, 2, &ready, 0), ETIMEDOUT);
  TRACE("poll:2");
  world.poll_error = EINVAL;
  CHECK_EQUAL(mltp_io_poll(fds, 2, &ready), EINVAL);
  TRACE("poll:2");
}

static void a_poll_waits_for_a_change_of_any(void) {
  int ready = 0;
  begin();
  name_descriptors(2);
  used(FD);
  world.ready[2] = 1;
  world.meanwhile = change_one;
  CHECK(mltp_io_poll_timed(fds, 2, &ready, 9) == 0 && ready == 1);
  TRACE("poll:2 start report:2000 start report:2001 poll:2 arm:9 wait disarm:0 poll:2");
  check_left(2);
  world.looks = 0; /* its time is over */
  world.meanwhile = NULL;
  world.wait_error = ETIMEDOUT;
  CHECK_EQUAL(mltp_io_poll(fds, 2, &ready), ECANCELED);
  TRACE("poll:2 poll:2 arm wait disarm:110");
  check_left(2);
}

static void what_is_closed_ends_a_poll(void) {
  int ready = 0;
  begin();
  name_descriptors(3);
  world.meanwhile = close_one;
  fds[0].revents = fds[2].revents = 77;
  CHECK(mltp_io_poll(fds, 3, &ready) == 0 && ready == 1);
  CHECK(fds[0].revents == 0 && fds[1].revents == POLLNVAL && fds[2].revents == 0);
  CHECK(strstr(trace, "wait disarm:0 no_more:2001 close:2001") != NULL);
  check_left(3);
}

/* poll(2) knows numbers that are no descriptors, and files, of which epoll reports nothing. */
static void some_descriptors_are_not_linked(void) {
  static const int refused[] = {EPERM, EBADF, ENOMEM};
  int ready = 0;
  begin();
  name_descriptors(2);
  fds[0].fd = -1;
  fds[1].fd = 0;
  world.wait_error = ETIMEDOUT;
  CHECK_EQUAL(mltp_io_poll(fds, 2, &ready), ECANCELED);
  TRACE("poll:2 malloc start report:0 poll:2 arm wait disarm:110");
  for (int i = 0; i < 3; i++) {
    begin();
    name_descriptors(1);
    used(FD);
    world.report_error = refused[i];
    world.wait_error = ETIMEDOUT;
    CHECK_EQUAL(mltp_io_poll(fds, 1, &ready), i < 2 ? ECANCELED : ENOMEM);
    TRACE(i < 2 ? "poll:1 start report:2000 poll:1 arm wait disarm:110"
                : "poll:1 start report:2000");
    check_left(1);
  }
  begin();
  name_descriptors(3);
  used(FD);
  world.no_memory = true; /* for the table */
  fds[1].fd = FD + CHUNK;
  CHECK_EQUAL(mltp_io_poll(fds, 3, &ready), ENOMEM);
  TRACE("poll:3 start report:2000 malloc");
  check_left(3);
  begin();
  name_descriptors(1);
  used(FD)->use = MT_IO_CLOSING + 1; /* poll(2) says that it is not open */
  world.wait_error = ETIMEDOUT;
  CHECK_EQUAL(mltp_io_poll(fds, 1, &ready), ECANCELED);
  TRACE("poll:1 poll:1 arm wait disarm:110");
}

static void links_of_many_are_allocated(void) {
  for (int number = FEW; number < FEW + 2; number++) {
    int ready = 0;
    begin();
    name_descriptors(number);
    used(FD);
    world.wait_error = ETIMEDOUT;
    CHECK_EQUAL(mltp_io_poll(fds, (size_t)number, &ready), ECANCELED);
    CHECK_EQUAL(strstr(trace, "malloc") != NULL, number > FEW);
    check_left(number);
  }
  int ready = 0;
  begin();
  world.no_memory = true;
  CHECK_EQUAL(mltp_io_poll(fds, FEW + 1, &ready), ENOMEM);
  TRACE("poll:9 malloc");
}

static void fire_at_once(void) {
  mt_io_changed(FD, EPOLLIN, NULL);
  world.meanwhile = NULL;
}

static void a_change_before_the_wait_is_seen(void) {
  struct mt_io_poll one = {.fired = 1};
  begin();
  CHECK_EQUAL(wait(self, &one, 9), 0);
  TRACE("arm:9 disarm:0");
  CHECK_EQUAL(one.queue.ilock_, 0);
  one.fired = 0;
  for (int det = 0; det < 2; det++) {
    mt_det_on = det;
    world.meanwhile = note_waiters;
    CHECK_EQUAL(wait(self, &one, 9), 0);
    CHECK(waiters_seen == (uint32_t)det && mt_rt.poll.waiters == 0);
    mt_det_on = false;
  }
  begin(); /* what fired before the look is not new */
  name_descriptors(1);
  used(FD);
  world.ready[3] = 1;
  world.meanwhile = fire_at_once;
  int ready;
  CHECK_EQUAL(mltp_io_poll(fds, 1, &ready), 0);
  TRACE("poll:1 start report:2000 poll:1 arm wait disarm:0 poll:1 arm wait disarm:0 poll:1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_poll_that_finds_something_waits_for_nothing),
      TEST_BARE(a_poll_waits_for_a_change_of_any),
      TEST_BARE(what_is_closed_ends_a_poll),
      TEST_BARE(some_descriptors_are_not_linked),
      TEST_BARE(links_of_many_are_allocated),
      TEST_BARE(a_change_before_the_wait_is_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
