/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls for descriptors, as a rank makes them (src/tmpi/run/descriptors.c): which descriptors reach
 * the kernel in lists and sets, and what the program finds there afterwards; which names are looked
 * at; what is given for what a call has made. By its number 1 the rank means descriptor 20, and by
 * 20 it means 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "captured.h"
#include "overridden.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process_number.h"
#include "tmpi/run/signals.h"
#include "tmpi/run/streams.h"
#include "traced_calls.h"

enum { NUMBER = 1, MEANT = 20, FAR = FD_SETSIZE /* what is meant by 3 */ };

static bool is_redirected; /* any number means another descriptor */
static bool mask_is_good;
static int rank;
static char text[1000];

int tm_rank_number(void) { return rank; }
bool tm_streams_any(void) { return is_redirected; }

int tm_streams_meant(int fd) {
  if (fd == 3 && is_redirected) return FAR;
  return fd == NUMBER ? MEANT : fd == MEANT ? NUMBER : fd;
}

int tm_streams_number(int fd) { return tm_streams_meant(fd); }

int tm_streams_give(int fd, int least, const char *call) {
  assert_int_equal(least, 0);
  note("give:%d,%s", fd, call);
  return fd < 0 ? fd : fd + 100;
}

const char *tm_streams_path(const char *path, char room[TM_STREAMS_PATH]) {
  snprintf(room, TM_STREAMS_PATH, "@%s", path);
  return room;
}

void tm_number_in_name(const char *path, int flags) { note("name:%s,%x", path, (unsigned)flags); }
void tm_number_in_object(const char *name, int flags) {
  note("object:%s,%x", name, (unsigned)flags);
}

static const sigset_t *given_mask, rank_mask;

bool tm_masked_begin(struct tm_masked *masked, const sigset_t **mask) {
  assert_non_null(masked);
  assert_ptr_equal(*mask, given_mask);
  note("[");
  *mask = &rank_mask;
  errno = EINTR;
  return mask_is_good;
}

void tm_masked_end(const struct tm_masked *masked) {
  assert_non_null(masked);
  note("]");
}

/* ---- the kernel */

static int result; /* of the next call */

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  note("open:%s,%x,%o", path, (unsigned)flags, (unsigned)va_arg(list, mode_t));
  va_end(list);
  return result;
}

int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  note("openat:%d,%s,%x,%o", folder, path, (unsigned)flags, (unsigned)va_arg(list, mode_t));
  va_end(list);
  return result;
}

int __wrap_creat(const char *path, mode_t mode);
int __wrap_creat(const char *path, mode_t mode) {
  note("creat:%s,%o", path, mode);
  return result;
}

int __wrap_shm_open(const char *name, int flags, mode_t mode);
int __wrap_shm_open(const char *name, int flags, mode_t mode) {
  note("shm_open:%s,%x,%o", name, (unsigned)flags, mode);
  return result;
}

static int make_two(int ends[2]) {
  ends[0] = 40;
  ends[1] = 41;
  return result;
}

int __wrap_pipe(int ends[2]);
int __wrap_pipe(int ends[2]) { return make_two(ends); }

int __wrap_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags) {
  note("flags:%x", (unsigned)flags);
  return make_two(ends);
}

int __wrap_socketpair(int domain, int type, int protocol, int ends[2]);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2]) {
  note("socketpair:%d,%d,%d", domain, type, protocol);
  return make_two(ends);
}

int __wrap_signalfd(int fd, const sigset_t *mask, int flags);
int __wrap_signalfd(int fd, const sigset_t *mask, int flags) {
  assert_ptr_equal(mask, &rank_mask);
  note("signalfd:%d,%d", fd, flags);
  return result;
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  note("ioctl:%d,%lu,%s", fd, request, va_arg(list, char *));
  va_end(list);
  return result;
}

int __wrap_epoll_pwait(int fd, struct epoll_event *events, int count, int timeout,
                       const sigset_t *mask);
int __wrap_epoll_pwait(int fd, struct epoll_event *events, int count, int timeout,
                       const sigset_t *mask) {
  assert_int_equal(events[2].events, 33);
  assert_ptr_equal(mask, &rank_mask);
  note("epoll_pwait:%d,%d,%d", fd, count, timeout);
  return result;
}

static void note_list(const struct pollfd *asked, nfds_t count) {
  for (nfds_t i = 0; i < count; i++) note("%d", asked[i].fd);
}

int __wrap_poll(struct pollfd *asked, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *asked, nfds_t count, int timeout) {
  note("poll:%d", timeout);
  note_list(asked, count);
  return result;
}

int __wrap___poll_chk(struct pollfd *asked, nfds_t count, int timeout, size_t room);
int __wrap___poll_chk(struct pollfd *asked, nfds_t count, int timeout, size_t room) {
  note("poll_chk:%d,%d", timeout, (int)room);
  note_list(asked, count);
  return result;
}

int __wrap_ppoll(struct pollfd *asked, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *asked, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask) {
  assert_ptr_equal(mask, &rank_mask);
  note("ppoll:%d", (int)timeout->tv_sec);
  note_list(asked, count);
  return result;
}

static int ready; /* the only descriptor that is */

static void note_set(const char *name, fd_set *set) {
  if (set == NULL) return;
  note("%s", name);
  for (int fd = 0; fd < FD_SETSIZE; fd++) {
    if (!FD_ISSET(fd, set)) continue;
    note("%d", fd);
    if (result >= 0 && fd != ready) FD_CLR(fd, set);
  }
}

int __wrap_select(int count, fd_set *reads, fd_set *writes, fd_set *others,
                  struct timeval *timeout);
int __wrap_select(int count, fd_set *reads, fd_set *writes, fd_set *others,
                  struct timeval *timeout) {
  note("select:%d,%d", count, (int)timeout->tv_sec);
  note_set("reads", reads);
  note_set("writes", writes);
  note_set("others", others);
  return result;
}

int __wrap_pselect(int count, fd_set *reads, fd_set *writes, fd_set *others,
                   const struct timespec *timeout, const sigset_t *mask);
int __wrap_pselect(int count, fd_set *reads, fd_set *writes, fd_set *others,
                   const struct timespec *timeout, const sigset_t *mask) {
  struct timeval time = {timeout->tv_sec, 0};
  assert_ptr_equal(mask, &rank_mask);
  return __wrap_select(count, reads, writes, others, &time);
}

/* ---- making descriptors */

static tm_any *row(const char *name) { return overridden(tm_override_descriptors, name); }

#define CALL(name) ((__typeof__(name) *)row(#name))

static int start(void **state) {
  (void)state;
  rank = 2;
  is_redirected = mask_is_good = true;
  given_mask = NULL;
  result = 7;
  ready = MEANT;
  trace[0] = '\0';
  return 0;
}

static void test_names_are_looked_at(void **state) {
  (void)state;
  assert_int_equal(CALL(open)("a", O_CREAT | O_TRUNC, 0640), 107);
  check_trace("name:a,240 open:@a,240,640 give:7,open ");
  assert_int_equal(CALL(openat)(AT_FDCWD, "a", O_CREAT, 0600), 107);
  check_trace("name:a,40 openat:-100,@a,40,600 give:7,openat ");
  assert_int_equal(CALL(openat)(5, "a", O_CREAT, 0600), 107); /* in another folder */
  check_trace("openat:5,@a,40,600 give:7,openat ");
  assert_int_equal(CALL(creat)("a", 0604), 107);
  check_trace("name:a,240 creat:@a,604 give:7,creat ");
  assert_int_equal(CALL(shm_open)("/a", O_RDWR, 0600), 107);
  check_trace("object:/a,2 shm_open:/a,2,600 give:7,shm_open ");
  result = -1;
  assert_int_equal(CALL(open)("a", 0), -1);
}

static void test_calls_that_make_two(void **state) {
  (void)state;
  int ends[3] = {0, 0, 99};
  result = 0;
  assert_int_equal(CALL(pipe)(ends), 0);
  assert_true(ends[0] == 140 && ends[1] == 141 && ends[2] == 99);
  check_trace("give:40,pipe give:41,pipe ");
  assert_int_equal(CALL(pipe2)(ends, O_NONBLOCK), 0);
  check_trace("flags:800 give:40,pipe2 give:41,pipe2 ");
  assert_int_equal(CALL(socketpair)(AF_UNIX, SOCK_STREAM, 9, ends), 0);
  check_trace("socketpair:1,1,9 give:40,socketpair give:41,socketpair ");
  result = -1;
  assert_int_equal(CALL(pipe)(ends), -1);
  check_trace("");
}

static void read_signals(const void *number) {
  rank = *(const int *)number;
  for (int i = 0; i < 3; i++) CALL(signalfd)(-1, &rank_mask, SFD_CLOEXEC);
}

static void test_signals_are_not_read(void **state) {
  (void)state;
  static const int first = 0, none = -1;
  assert_true(captured_in_child(read_signals, &first, text, sizeof text));
  assert_string_equal(text,
                      "tmpirun: rank 0: signalfd() reads no signal that a rank blocks (take it by "
                      "sigtimedwait(), or handle it)\n"); /* once */
  assert_true(captured_in_child(read_signals, &none, text, sizeof text));
  assert_string_equal(text, "");
  rank = -1;
  assert_int_equal(CALL(signalfd)(-1, &rank_mask, SFD_CLOEXEC), 107);
  check_trace("signalfd:-1,524288 give:7,signalfd ");
  result = MEANT; /* one that is there gets another mask */
  assert_int_equal(CALL(signalfd)(NUMBER, &rank_mask, 0), NUMBER);
  check_trace("signalfd:20,0 ");
}

static void test_arguments_of_any_type(void **state) {
  (void)state;
  char word[] = "word";
  assert_int_equal(CALL(ioctl)(NUMBER, 55, word), 7);
  check_trace("ioctl:20,55,word ");
}

/* ---- lists of descriptors */

static void check_list(const struct pollfd *list) {
  static const int numbers[] = {NUMBER, 5, -1, MEANT, NUMBER};
  for (int i = 0; i < 5; i++) assert_int_equal(list[i].fd, numbers[i]);
}

/* The list is changed while the call waits. Entries behind its end are nobody's. */
static void test_lists(void **state) {
  (void)state;
  typedef int checked(struct pollfd *, nfds_t, int, size_t);
  struct pollfd list[] = {{.fd = NUMBER}, {.fd = 5}, {.fd = -1}, {.fd = MEANT}, {.fd = NUMBER}};
  const struct timespec time = {8, 0};
  assert_int_equal(CALL(poll)(list, 4, 9), 7);
  check_trace("poll:9 20 5 -1 1 ");
  check_list(list);
  assert_int_equal(((checked *)row("__poll_chk"))(list, 4, 9, 6), 7);
  check_trace("poll_chk:9,6 20 5 -1 1 ");
  check_list(list);
  assert_int_equal(CALL(ppoll)(list, 4, &time, NULL), 7);
  check_trace("[ ppoll:8 20 5 -1 1 ] ");
  check_list(list);
  mask_is_good = false; /* a signal has come that was waited for */
  assert_int_equal(CALL(ppoll)(list, 4, &time, NULL), -1);
  check_trace("[ ] ");
  check_list(list);
  is_redirected = false; /* the program's list is the kernel's */
  assert_int_equal(CALL(poll)(list, 4, 9), 7);
  check_trace("poll:9 1 5 -1 20 ");
  check_list(list);
}

static void test_epoll(void **state) {
  (void)state;
  struct epoll_event events[3] = {[2] = {.events = 33}};
  assert_int_equal(CALL(epoll_pwait)(NUMBER, events, 3, 4, NULL), 7);
  check_trace("[ epoll_pwait:20,3,4 ] ");
  mask_is_good = false;
  assert_int_equal(CALL(epoll_pwait)(NUMBER, events, 3, 4, NULL), -1);
  check_trace("[ ] ");
}

/* ---- sets of descriptors */

static fd_set sets[3];

static void put(int set, int first, int second) {
  FD_ZERO(&sets[set]);
  FD_SET(first, &sets[set]);
  FD_SET(second, &sets[set]);
}

static void check_set(int set, const char *expected) {
  trace[0] = '\0';
  int before = result;
  result = -1;
  note_set("", &sets[set]);
  result = before;
  check_trace(expected);
}

static int ask(bool by_pselect, int count, fd_set *others) {
  struct timeval time = {6, 0};
  const struct timespec precise = {6, 0};
  trace[0] = '\0';
  return by_pselect ? CALL(pselect)(count, &sets[0], &sets[1], others, &precise, NULL)
                    : CALL(select)(count, &sets[0], &sets[1], others, &time);
}

static void put_all(void) {
  put(0, 0, NUMBER);
  put(1, NUMBER, 5);
  put(2, 2, 6);
}

/* Descriptors from the count on are not looked at. */
static void test_sets(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    const char *before = i == 0 ? "" : "[ ", *behind = i == 0 ? "" : "] ";
    snprintf(text, sizeof text, "%sselect:21,6 reads 0 20 writes 5 20 others 2 %s", before, behind);
    put_all();
    assert_int_equal(ask(i == 1, 6, &sets[2]), 7);
    check_trace(text);
    check_set(0, " 1 "); /* the one that is ready, by the rank's number */
    check_set(1, " 1 ");
    check_set(2, " 6 ");
    put_all();
    result = 0;
    ready = -1;
    assert_int_equal(ask(i == 1, 6, NULL), 0);
    check_set(0, " ");
    check_set(1, " ");
    check_set(2, " 2 6 ");
    put_all();
    result = -1; /* the sets stay as they were */
    assert_int_equal(ask(i == 1, 6, &sets[2]), -1);
    check_set(0, " 0 1 ");
    check_set(2, " 2 6 ");
    put(0, 0, 2); /* none that means another one: the count stays */
    put(1, 0, 2);
    snprintf(text, sizeof text, "%sselect:6,6 reads 0 2 writes 0 2 others %s", before, behind);
    assert_int_equal(ask(i == 1, 6, NULL), -1);
    check_trace(text);
    put(0, 0, NUMBER); /* just behind the count */
    snprintf(text, sizeof text, "%sselect:21,6 reads 0 20 writes 0 2 others %s", before, behind);
    assert_int_equal(ask(i == 1, MEANT, NULL), -1);
    check_trace(text);
    result = 7;
    ready = MEANT;
  }
}

static void test_descriptors_that_fit_in_no_set(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    put(0, 0, 3);
    put(1, 0, 5);
    errno = 0;
    assert_int_equal(ask(i == 1, 6, NULL), -1);
    assert_int_equal(errno, EBADF);
    check_trace("");
    check_set(0, " 0 3 ");
  }
}

static void test_sets_that_are_the_kernel_s(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    const char *before = i == 0 ? "" : "[ ", *behind = i == 0 ? "" : "] ";
    ready = NUMBER;
    is_redirected = false;
    put(0, 0, NUMBER);
    put(1, 0, 5);
    snprintf(text, sizeof text, "%sselect:6,6 reads 0 1 writes 0 5 %s", before, behind);
    assert_int_equal(ask(i == 1, 6, NULL), 7);
    check_trace(text);
    check_set(0, " 1 ");
    is_redirected = true; /* a count that the sets of libc do not have */
    put(0, 0, NUMBER);
    put(1, 0, 5);
    snprintf(text, sizeof text, "%sselect:%d,6 reads 0 1 writes 0 5 %s", before, FD_SETSIZE + 1,
             behind);
    assert_int_equal(ask(i == 1, FD_SETSIZE + 1, NULL), 7);
    check_trace(text);
    put(0, 0, NUMBER); /* the greatest one that they have */
    put(1, 0, FD_SETSIZE - 1);
    snprintf(text, sizeof text, "%sselect:%d,6 reads 0 20 writes 0 %d others %s", before,
             FD_SETSIZE, FD_SETSIZE - 1, behind);
    assert_int_equal(ask(i == 1, FD_SETSIZE, NULL), 7);
    check_trace(text);
  }
}

static void test_a_mask_that_lets_a_signal_through(void **state) {
  (void)state;
  mask_is_good = false;
  put_all();
  assert_int_equal(ask(true, 6, NULL), -1);
  check_trace("[ ] ");
  check_set(0, " 0 1 ");
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup(name, start)
  const struct CMUnitTest tests[] = {
      ROW(test_names_are_looked_at),
      ROW(test_calls_that_make_two),
      ROW(test_signals_are_not_read),
      ROW(test_arguments_of_any_type),
      ROW(test_lists),
      ROW(test_epoll),
      ROW(test_sets),
      ROW(test_descriptors_that_fit_in_no_set),
      ROW(test_sets_that_are_the_kernel_s),
      ROW(test_a_mask_that_lets_a_signal_through),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
