/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors and polls of several, step by step (src/io/fd.c, poll.c): one kernel thread, no
 * runtime. The kernel, epoll and the scheduler only note what is asked.
 */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "io/fd.c"

#include "io/poll.c"

#include <limits.h>
#include <stdarg.h>

#include "support/noted.h"
#include "support/support.h"

enum { THREADS = 8, FD = 2000 };

static struct mltp_thread threads[THREADS];
static struct mltp_thread *const self = &threads[0]; /* the caller */

/* ---- what others are asked */

/* What they answer, and what happens while the caller waits. */
static struct {
  int prepare_error, close_error, start_error, report_error, wait_error, poll_error;
  enum os_fd_kind kind;
  int ready[4], looks; /* of poll(2), one after the other */
  int relaxes;         /* until close(2) of FD has ended; < 0: its number is being closed again */
  bool no_memory;
  void (*meanwhile)(void);
} world;

int __wrap_os_fd_prepare(int fd, enum os_fd_kind *kind);
int __wrap_os_fd_prepare(int fd, enum os_fd_kind *kind) {
  note("prepare:%d", fd);
  *kind = world.kind;
  return world.prepare_error;
}

int __wrap_os_fd_close(int fd);
int __wrap_os_fd_close(int fd) {
  note("close:%d", fd);
  CHECK_EQUAL(find(fd)->use & ~MT_IO_CLOSED, 0); /* nobody enters meanwhile */
  CHECK(find(fd)->use != 0);
  return world.close_error;
}

bool __wrap_mt_relax(unsigned *round);
bool __wrap_mt_relax(unsigned *round) {
  note("relax:%u", *round);
  if ((int)++*round == world.relaxes) find(FD)->use = 0;
  if (world.relaxes < 0) find(FD)->use = MT_IO_CLOSING + 1;
  return false;
}

int __wrap_mt_io_start(void);
int __wrap_mt_io_start(void) {
  note("start");
  return world.start_error;
}

int __wrap_mt_io_report(int fd);
int __wrap_mt_io_report(int fd) {
  note("report:%d", fd);
  return world.report_error;
}

void __wrap_mt_io_report_no_more(int fd);
void __wrap_mt_io_report_no_more(int fd) { note("no_more:%d", fd); }

void __wrap_mt_timer_arm(struct mt_timer *timer, struct mltp_thread *t, uint64_t deadline);
void __wrap_mt_timer_arm(struct mt_timer *timer, struct mltp_thread *t, uint64_t deadline) {
  CHECK(timer != NULL && t == self);
  if (deadline == MLTP_NEVER)
    note("arm");
  else
    note("arm:%d", (int)deadline);
}

int __wrap_mt_timer_disarm(struct mt_timer *timer, int error);
int __wrap_mt_timer_disarm(struct mt_timer *timer, int error) {
  CHECK(timer != NULL);
  note("disarm:%d", error);
  return error == ETIMEDOUT ? ECANCELED : error; /* as for a thread that was cancelled */
}

int __wrap_mt_wait(struct mltp_thread *t, mltp_waitq_t *queue, bool front, enum mt_why why,
                   struct mt_timer *timer);
int __wrap_mt_wait(struct mltp_thread *t, mltp_waitq_t *queue, bool front, enum mt_why why,
                   struct mt_timer *timer) {
  CHECK(t == self && queue->ilock_ != 0 && !front && why == MT_WHY_IO && timer != NULL);
  note("wait");
  mt_ilock_unlock(&queue->ilock_);
  if (world.meanwhile != NULL) world.meanwhile();
  return world.wait_error;
}

void __wrap_mt_det_preempt(const char *call);
void __wrap_mt_det_preempt(const char *call) { CHECK(call != NULL); }

void __wrap_mt_resume(struct mltp_thread *t);
void __wrap_mt_resume(struct mltp_thread *t) { note("resume:%d", (int)(t - threads)); }

int __wrap_os_poll_now(struct pollfd *fds, size_t number, int *ready);
int __wrap_os_poll_now(struct pollfd *fds, size_t number, int *ready) {
  (void)fds;
  note("poll:%zu", number);
  *ready = world.ready[world.looks++];
  return world.poll_error;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  note("malloc");
  return world.no_memory ? NULL : __real_malloc(size);
}

/* Compilers make one call of malloc() and memset(). */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  note("malloc");
  return world.no_memory ? NULL : __real_calloc(count, size);
}

static void begin(void) {
  memset(threads, 0, sizeof threads);
  memset(&world, 0, sizeof world);
  memset(&mt_rt, 0, sizeof mt_rt);
  mt_set_current(self);
  for (unsigned i = 0; i < CHUNKS; i++) {
    free(chunks[i]);
    chunks[i] = NULL;
  }
  trace[0] = '\0';
}

/* A descriptor that has been used. */
static struct mt_io_fd *used(int fd) {
  int error;
  struct mt_io_fd *f = find_or_make(fd, &error);
  mt_io_fresh(fd, OS_FD_STREAM);
  trace[0] = '\0';
  return f;
}

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

static uint32_t waiters_seen;

static void note_waiters(void) { waiters_seen = mt_rt.poll.waiters; }

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

/* ---- polls of several */

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
      TEST_BARE(a_poll_that_finds_something_waits_for_nothing),
      TEST_BARE(a_poll_waits_for_a_change_of_any),
      TEST_BARE(what_is_closed_ends_a_poll),
      TEST_BARE(some_descriptors_are_not_linked),
      TEST_BARE(links_of_many_are_allocated),
      TEST_BARE(a_change_before_the_wait_is_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
