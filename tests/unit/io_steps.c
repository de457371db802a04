/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors, step by step (src/io/fd.c): the table, users and closers, waiters, changes. */
#include "io_steps.h"

#include <limits.h>

static void let_wait(mltp_waitq_t *queue, int thread) {
  mt_waitq_append(queue, &threads[thread]);
  threads[thread].waitq = queue;
}

/* ---- the table */

static void descriptors_are_made_in_chunks(void) {
  int error = 0;
  begin();
  CHECK(find(FD) == NULL && find(-1) == NULL && find(INT_MAX) == NULL);
  struct mt_io_fd *f = find_or_make(FD, &error);
  TRACE("malloc");
  CHECK(f != NULL && f->fd == FD && f->use == 0 && !f->prepared && find(FD) == f);
  CHECK(find_or_make(FD, &error) == f && find_or_make(CHUNK, &error)->fd == CHUNK);
  CHECK(find_or_make(2 * CHUNK - 1, &error)->fd == 2 * CHUNK - 1);
  TRACE("");
  CHECK(find(CHUNK - 1) == NULL && find(2 * CHUNK) == NULL);
  CHECK(find_or_make(0, &error)->fd == 0 && find(0) != NULL);
  CHECK(find_or_make(CHUNK * CHUNKS - 1, &error)->fd == CHUNK * CHUNKS - 1);
  TRACE("malloc malloc");
  CHECK(find(CHUNK * CHUNKS - 1) != NULL && find(CHUNK * CHUNKS) == NULL);
  CHECK(find_or_make(-1, &error) == NULL && error == EBADF);
  CHECK(find_or_make(CHUNK * CHUNKS, &error) == NULL && error == ENOMEM);
  world.no_memory = true;
  error = 0;
  CHECK(find_or_make(5 * CHUNK, &error) == NULL && error == ENOMEM);
  CHECK_EQUAL(chunks_ilock, 0);
  TRACE("malloc");
}

static void two_threads_make_the_same_chunk(void) {
  int error;
  begin();
  struct mt_io_fd *f = find_or_make(FD, &error);
  CHECK(chunk_new(FD / CHUNK) == f - FD % CHUNK); /* the other was first */
  CHECK(find(FD) == f);
}

/* ---- using and closing */

static void a_descriptor_is_prepared_once(void) {
  int error = -1;
  begin();
  world.kind = OS_FD_SOCKET;
  struct mt_io_fd *f = mt_io_enter(FD, false, &error);
  CHECK(f != NULL && error == 0 && f->use == 1);
  TRACE("malloc");
  CHECK(mt_io_enter(FD, true, &error) == f && error == 0 && f->use == 2);
  CHECK_EQUAL(mt_io_kind(f), OS_FD_SOCKET);
  TRACE("prepare:2000");
  CHECK(mt_io_enter(FD, true, &error) == f && f->use == 3);
  TRACE("");
  mt_io_unknown(FD);
  mt_io_unknown(FD + CHUNK); /* never used */
  world.prepare_error = EBADF;
  CHECK(mt_io_enter(FD, true, &error) == NULL && error == EBADF && f->use == 3);
  CHECK(!f->prepared);
  TRACE("prepare:2000");
  for (int i = 0; i < 3; i++) CHECK_EQUAL(mt_io_leave(f), 0);
  CHECK_EQUAL(f->use, 0);
  CHECK(mt_io_enter(-1, true, &error) == NULL && error == EBADF);
  TRACE("");
}

static void the_last_user_closes(void) {
  int error;
  for (int registered = 0; registered < 2; registered++) {
    begin();
    struct mt_io_fd *f = used(FD);
    mt_io_enter(FD, true, &error);
    mt_io_enter(FD, true, &error);
    f->registered = (uint8_t)registered;
    mt_io_drained(&f->sides[MT_IO_IN], 3);
    f->sides[MT_IO_IN].ended = f->sides[MT_IO_OUT].ended = 1;
    f->sides[MT_IO_OUT].drained_at = 2;
    mt_add_relaxed(&f->use, MT_IO_CLOSING);
    CHECK(mt_io_is_closing(f));
    CHECK(mt_io_enter(FD, true, &error) == NULL && error == EBADF);
    CHECK_EQUAL(mt_io_leave(f), 0);
    TRACE("");
    world.close_error = EIO;
    CHECK_EQUAL(mt_io_leave(f), EIO);
    TRACE(registered ? "no_more:2000 close:2000" : "close:2000");
    CHECK(f->use == 0 && !f->registered && !f->prepared && !mt_io_is_closing(f));
    for (int side = 0; side < MT_IO_SIDES; side++)
      CHECK(f->sides[side].ended == 0 && f->sides[side].drained_at == 0);
  }
}

static void who_enters_waits_for_a_close(void) {
  int error = EIO;
  begin();
  struct mt_io_fd *f = used(FD);
  f->use = MT_IO_CLOSED;
  world.relaxes = 3;
  CHECK(mt_io_enter(FD, false, &error) == f && error == 0 && f->use == 1);
  TRACE("relax:0 relax:1 relax:2");
  f->use = MT_IO_CLOSED; /* begins to close while another waits */
  world.relaxes = -1;
  error = 0;
  CHECK(mt_io_enter(FD, false, &error) == NULL && error == EBADF);
  CHECK_EQUAL(f->use, MT_IO_CLOSING + 1);
  TRACE("relax:0");
  CHECK_EQUAL(mt_io_leave(f), 0);
  TRACE("close:2000");
}

static void new_descriptors_start_anew(void) {
  begin();
  struct mt_io_fd *f = used(FD);
  f->registered = 1;
  f->sides[MT_IO_IN].drained_at = f->sides[MT_IO_OUT].drained_at = 4;
  f->sides[MT_IO_OUT].ended = 1;
  mt_io_fresh(FD, OS_FD_TCP);
  CHECK(f->prepared == 1 && !f->registered && mt_io_kind(f) == OS_FD_TCP);
  CHECK(f->sides[MT_IO_IN].drained_at == 0 && f->sides[MT_IO_OUT].drained_at == 0 &&
        f->sides[MT_IO_OUT].ended == 0);
  mt_io_unknown(FD);
  CHECK(f->prepared == 0);
  world.no_memory = true;
  mt_io_fresh(FD + CHUNK, OS_FD_TCP);
  TRACE("malloc");
}

/* ---- waiting */

static void descriptors_are_registered_once(void) {
  begin();
  struct mt_io_fd *f = used(FD);
  world.start_error = ENOMEM;
  CHECK_EQUAL(mt_io_register(f), ENOMEM);
  TRACE("start");
  world.start_error = 0;
  world.report_error = EPERM;
  CHECK(mt_io_register(f) == EPERM && !f->registered);
  TRACE("start report:2000");
  world.report_error = 0;
  CHECK(mt_io_register(f) == 0 && f->registered == 1);
  TRACE("start report:2000");
  CHECK_EQUAL(mt_io_register(f), 0);
  TRACE("");
}

static void a_thread_waits_unless_something_has_changed(void) {
  for (int det = 0; det < 2; det++) {
    begin();
    struct mt_io_fd *f = used(FD);
    mt_det_on = det;
    world.meanwhile = note_waiters;
    CHECK_EQUAL(mt_io_wait(self, f, MT_IO_IN, 0, 9), 0);
    TRACE("start report:2000 arm:9 wait disarm:0");
    CHECK_TEXT(self->waiting_for, "descriptor 2000 to be readable");
    CHECK(waiters_seen == (uint32_t)det && mt_rt.poll.waiters == 0);
    world.wait_error = ETIMEDOUT;
    CHECK_EQUAL(mt_io_wait(self, f, MT_IO_OUT, 0, MLTP_NEVER), ECANCELED);
    TRACE("arm wait disarm:110");
    CHECK_TEXT(self->waiting_for, "descriptor 2000 to be writable");
    CHECK(mt_rt.poll.waiters == 0);
    mt_det_on = false;
  }
  begin();
  struct mt_io_fd *f = used(FD);
  world.report_error = EMFILE;
  CHECK_EQUAL(mt_io_wait(self, f, MT_IO_IN, 0, 0), EMFILE);
  world.report_error = 0;
  CHECK_EQUAL(mt_io_wait(self, f, MT_IO_IN, 0, 0), ETIMEDOUT);
  TRACE("start report:2000 start report:2000");
  CHECK_EQUAL(mt_io_wait(self, f, MT_IO_IN, 1, 9), 0);
  TRACE("arm:9 disarm:0");
  f->sides[MT_IO_IN].text[0] = '!'; /* it is written once */
  CHECK_EQUAL(mt_io_wait(self, f, MT_IO_IN, 0, 9), 0);
  f->sides[MT_IO_IN].text[0] = '?';
  CHECK_EQUAL(mt_io_wait(self, f, MT_IO_IN, 0, 9), 0);
  CHECK(self->waiting_for[0] == '?');
  trace[0] = '\0';
  f->use = MT_IO_CLOSING + 1;
  CHECK_EQUAL(mt_io_wait(self, f, MT_IO_IN, 0, 9), 0);
  TRACE("arm:9 disarm:0");
  CHECK_EQUAL(f->sides[MT_IO_IN].queue.ilock_, 0);
}

/* ---- changes */

static void check_sides(const struct mt_io_fd *f, uint32_t in, uint32_t out, bool ended) {
  CHECK_EQUAL(f->sides[MT_IO_IN].changes, in);
  CHECK_EQUAL(f->sides[MT_IO_OUT].changes, out);
  CHECK_EQUAL(f->sides[MT_IO_IN].ended, ended);
  CHECK_EQUAL(f->sides[MT_IO_OUT].ended, 0);
}

static void events_change_their_sides(void) {
  static const struct {
    uint32_t events, in, out;
    bool ended;
    const char *resumes;
  } rows[] = {{EPOLLIN, 1, 0, false, "resume:1 resume:2"},
              {EPOLLOUT, 0, 1, false, "resume:3"},
              {EPOLLIN | EPOLLOUT, 1, 1, false, "resume:1 resume:2 resume:3"},
              {EPOLLERR, 1, 1, true, "resume:1 resume:2 resume:3"},
              {EPOLLHUP, 1, 1, true, "resume:1 resume:2 resume:3"},
              {EPOLLRDHUP, 1, 0, true, "resume:1 resume:2"},
              {EPOLLPRI, 1, 0, true, "resume:1 resume:2"},
              {0, 0, 0, false, ""}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    begin();
    check_case("row %zu", i);
    struct mt_io_fd *f = used(FD);
    let_wait(&f->sides[MT_IO_IN].queue, 1);
    let_wait(&f->sides[MT_IO_IN].queue, 2);
    let_wait(&f->sides[MT_IO_OUT].queue, 3);
    mt_io_changed(FD, rows[i].events, NULL);
    TRACE(rows[i].resumes);
    check_sides(f, rows[i].in, rows[i].out, rows[i].ended);
    CHECK_EQUAL(f->sides[MT_IO_IN].queue.count_, rows[i].in ? 0 : 2);
    CHECK_EQUAL(f->sides[MT_IO_IN].queue.ilock_, 0);
  }
  mt_io_changed(FD + CHUNK, EPOLLIN, NULL); /* of a number that was never used */
}

/* On the VP that looks, threads of VPs become ready there. */
static void a_vp_runs_what_it_finds(void) {
  static struct mt_vp vp;
  begin();
  memset(&vp, 0, sizeof vp);
  struct mt_io_fd *f = used(FD);
  let_wait(&f->sides[MT_IO_IN].queue, 1);
  let_wait(&f->sides[MT_IO_IN].queue, 2);
  let_wait(&f->sides[MT_IO_IN].queue, 3);
  threads[1].vp = threads[3].vp = &vp;
  mt_io_changed(FD, EPOLLIN, &vp);
  TRACE("resume:2"); /* a kernel thread's own */
  CHECK(vp.runq.head == &threads[1] && vp.runq.tail == &threads[3] && vp.runq.length == 2);
}

static struct mt_io_poll polls[2];
static struct mt_io_watch watches[3];

static void check_watches(const struct mt_io_side *side, const char *expected) {
  const struct mt_io_watch *at = side->watches, *last = NULL;
  for (const char *c = expected; *c != '\0'; c++) {
    CHECK(at == &watches[*c - '0'] && at->prev == last);
    last = at;
    at = at->next;
  }
  CHECK(at == NULL);
}

static void polls_watch_sides(void) {
  begin();
  struct mt_io_side *side = &used(FD)->sides[MT_IO_OUT];
  memset(polls, 0, sizeof polls);
  for (int i = 0; i < 3; i++) {
    watches[i].poll = &polls[i % 2];
    mt_io_watch(side, &watches[i]);
  }
  check_watches(side, "210");
  let_wait(&polls[0].queue, 4);
  let_wait(&polls[0].queue, 5);
  mt_io_changed(FD, EPOLLIN, NULL);
  TRACE("");
  CHECK(polls[0].fired == 0 && polls[1].fired == 0);
  mt_io_changed(FD, EPOLLOUT, NULL); /* two watches, so two waiters */
  TRACE("resume:4 resume:5");
  CHECK(polls[0].fired == 1 && polls[1].fired == 1);
  CHECK(polls[0].queue.ilock_ == 0 && side->queue.ilock_ == 0);
  mt_io_unwatch(side, &watches[1]);
  check_watches(side, "20");
  mt_io_unwatch(side, &watches[2]);
  check_watches(side, "0");
  mt_io_watch(side, &watches[1]);
  mt_io_unwatch(side, &watches[0]);
  check_watches(side, "1");
  mt_io_unwatch(side, &watches[1]);
  check_watches(side, "");
  CHECK_EQUAL(side->queue.ilock_, 0);
}

static void all_is_forgotten_at_the_end(void) {
  for (int child = 0; child < 2; child++) {
    begin();
    struct mt_io_fd *last = used(2 * CHUNK - 1), *first = used(0);
    for (int i = 0; i < 2; i++) {
      struct mt_io_fd *f = i == 0 ? first : last;
      f->use = 3;
      f->registered = 1;
      f->sides[MT_IO_OUT].changes = 7;
      f->sides[MT_IO_IN].queue.ilock_ = 1;
    }
    chunks_ilock = 1;
    mt_io_forget_all(child);
    for (int i = 0; i < 2; i++) {
      struct mt_io_fd *f = i == 0 ? first : last;
      CHECK(f->use == 0 && !f->registered && !f->prepared);
      CHECK_EQUAL(f->sides[MT_IO_OUT].changes, child ? 0 : 7);
      CHECK_EQUAL(f->sides[MT_IO_IN].queue.ilock_, child ? 0 : 1);
    }
    CHECK_EQUAL(chunks_ilock, !child);
    chunks_ilock = 0;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(descriptors_are_made_in_chunks),
      TEST_BARE(two_threads_make_the_same_chunk),
      TEST_BARE(a_descriptor_is_prepared_once),
      TEST_BARE(the_last_user_closes),
      TEST_BARE(who_enters_waits_for_a_close),
      TEST_BARE(new_descriptors_start_anew),
      TEST_BARE(descriptors_are_registered_once),
      TEST_BARE(a_thread_waits_unless_something_has_changed),
      TEST_BARE(events_change_their_sides),
      TEST_BARE(a_vp_runs_what_it_finds),
      TEST_BARE(polls_watch_sides),
      TEST_BARE(all_is_forgotten_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
