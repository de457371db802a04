/* SPDX-License-Identifier: Apache-2.0 */
/* Page faults that a kernel thread serves (src/os/faults.c): what is asked of the kernel, and what
 * its answers mean. The kernel is the test's, as few machines have one that serves them all. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "os/faults.c"

#include <setjmp.h>

#include "support/noted.h"
#include "support/support.h"

enum {
  DESCRIPTOR = 0, /* the thread's table has none before */
  DEVICE = 0,
  MEMORY = 1,
  PAGE = 0x4000,
  FROM = 0x9000,
  SIZE = 0x1000
};

struct answer {
  int result, error; /* error 0: there is none */
};

static struct {
  struct answer answers[120]; /* one after the other; then 0 */
  int asked;
  struct uffd_msg messages[3];
  uint64_t now;
} world;

static struct os_faults faults;

static void begin(void) {
  memset(&world, 0, sizeof world);
  faults = (struct os_faults){DESCRIPTOR, MEMORY};
  trace[0] = '\0';
}

/* The kernel's next answers. */
#define ANSWERED(...)                                                                              \
  memcpy(world.answers, (const struct answer[]){__VA_ARGS__},                                      \
         sizeof((const struct answer[]){__VA_ARGS__}))

static int answer(void) {
  const struct answer *next = &world.answers[world.asked++];
  if (next->error != 0) errno = next->error;
  return next->error != 0 ? -1 : next->result;
}

/* ---- the kernel */

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  if (number == SYS_close_range) {
    unsigned first = va_arg(list, unsigned), last = va_arg(list, unsigned);
    CHECK(first == 0 && last == UINT32_MAX && va_arg(list, int) == 2); /* in a copy of the table */
    note("leave");
  } else {
    CHECK_EQUAL(number, SYS_userfaultfd);
    CHECK_EQUAL(va_arg(list, int), O_CLOEXEC | O_NONBLOCK);
    note("make");
  }
  va_end(list);
  return answer();
}

static void note_ioctl(unsigned long request, void *argument) {
  const struct uffdio_api *api = argument;
  const struct uffdio_register *registered = argument;
  const struct uffdio_range *range = argument;
  const struct uffdio_move *move = argument;
  const struct uffdio_copy *copy = argument;
  switch (request) {
    case UFFDIO_API:
      CHECK(api->api == UFFD_API && api->features == UFFD_FEATURE_MOVE);
      note("api");
      break;
    case UFFDIO_REGISTER:
      CHECK_EQUAL(registered->mode, UFFDIO_REGISTER_MODE_MISSING);
      note("watch:%#x+%#x", (unsigned)registered->range.start, (unsigned)registered->range.len);
      break;
    case UFFDIO_MOVE:
      CHECK(move->dst == PAGE && move->src == FROM && move->len == SIZE && move->mode == 0);
      note("move");
      break;
    case UFFDIO_COPY:
      CHECK(copy->dst == PAGE && copy->src == FROM && copy->len == SIZE && copy->mode == 0);
      note("copy");
      break;
    case UFFDIO_WAKE: note("wake:%#x+%#x", (unsigned)range->start, (unsigned)range->len); break;
    default: CHECK(!"a request that is known");
  }
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  if (request == USERFAULTFD_IOC_NEW) {
    CHECK(fd == DEVICE && va_arg(list, int) == (O_CLOEXEC | O_NONBLOCK));
    note("new");
  } else {
    CHECK_EQUAL(fd, DESCRIPTOR);
    note_ioctl(request, va_arg(list, void *));
  }
  va_end(list);
  return answer();
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  char own[32];
  snprintf(own, sizeof own, "/proc/%d/", (int)getpid());
  bool is_own = strncmp(path, own, strlen(own)) == 0;
  CHECK_EQUAL(flags, is_own ? O_WRONLY | O_APPEND : O_RDWR | O_CLOEXEC);
  note("open:%s", is_own ? path + strlen(own) : path);
  return answer();
}

int __wrap_close(int fd);
int __wrap_close(int fd) {
  note("close:%d", fd);
  errno = EIO;
  return -1;
}

int __wrap_dup2(int fd, int other);
int __wrap_dup2(int fd, int other) {
  note("dup2:%d:%d", fd, other);
  return other;
}

int __wrap_prctl(int option, ...);
int __wrap_prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  CHECK_EQUAL(option, PR_SET_NAME);
  note("name:%s", va_arg(list, const char *));
  va_end(list);
  return 0;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at) {
  CHECK(size == 1 && *(const char *)bytes == 0);
  note("zero:%d:%#x", fd, (unsigned)at);
  return answer();
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms) {
  CHECK(count == 1 && fds->fd == DESCRIPTOR && fds->events == POLLIN);
  note("poll:%d", ms);
  return answer();
}

/* The answer counts messages. */
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size) {
  CHECK(fd == DESCRIPTOR && size % sizeof world.messages[0] == 0);
  note("read:%zu", size / sizeof world.messages[0]);
  int count = answer();
  if (count > 0) memcpy(to, world.messages, (size_t)count * sizeof world.messages[0]);
  return count < 0 ? -1 : (ssize_t)((size_t)count * sizeof world.messages[0]);
}

uint64_t __wrap_os_now(void);
uint64_t __wrap_os_now(void) { return world.now; }

static jmp_buf ended;

void __wrap_os_fatal(const char *call, int error, const char *remedy) __attribute__((noreturn));
void __wrap_os_fatal(const char *call, int error, const char *remedy) {
  note("fatal:%s:%d:%s", call, error, remedy);
  longjmp(ended, 1);
}

/* ---- the thread that serves */

static void the_server_has_descriptors_of_its_own(void) {
  begin();
  ANSWERED({0, 0}, {DESCRIPTOR, 0}, {0, 0}, {MEMORY, 0});
  faults = (struct os_faults){77, 77};
  CHECK_EQUAL(os_faults_open(&faults, "packer"), 0);
  TRACE("name:packer leave make api open:/proc/self/mem");
  CHECK(faults.fd == DESCRIPTOR && faults.memory == MEMORY);
}

static void a_device_stands_in_for_a_right(void) {
  begin();
  ANSWERED({0, 0}, {0, EPERM}, {DEVICE, 0}, {DESCRIPTOR, 0}, {0, 0}, {0, EACCES});
  CHECK_EQUAL(os_faults_open(&faults, "packer"), 0);
  TRACE("name:packer leave make open:/dev/userfaultfd new close:0 api open:/proc/self/mem");
  CHECK(faults.fd == DESCRIPTOR && faults.memory == -1);
}

static void refused_as(int error, const char *calls) {
  check_case("%s", calls);
  CHECK_EQUAL(os_faults_open(&faults, "packer"), error);
  TRACE(calls);
  CHECK(faults.fd == -1 && faults.memory == -1);
  begin();
}

static void the_kernel_may_refuse(void) {
  begin();
  ANSWERED({0, ENOSYS});
  refused_as(ENOSYS, "name:packer leave");
  ANSWERED({0, 0}, {0, EPERM}, {0, ENOENT}); /* the right is missing, whatever the device lacks */
  refused_as(EPERM, "name:packer leave make open:/dev/userfaultfd");
  ANSWERED({0, 0}, {0, EPERM}, {DEVICE, 0}, {0, EMFILE});
  refused_as(EPERM, "name:packer leave make open:/dev/userfaultfd new close:0");
  ANSWERED({0, 0}, {DESCRIPTOR, 0}, {0, EINVAL}); /* it cannot move pages */
  refused_as(EOPNOTSUPP, "name:packer leave make api close:0");
  ANSWERED({0, 0}, {DESCRIPTOR, 0}, {0, ENOMEM});
  refused_as(ENOMEM, "name:packer leave make api close:0");
}

static void what_is_open_is_closed_once(void) {
  begin();
  os_faults_close(&faults);
  os_faults_close(&faults);
  TRACE("close:0 close:1");
  faults = (struct os_faults){3, 0};
  os_faults_close(&faults);
  TRACE("close:3 close:0");
}

/* ---- pages */

static void pages_are_watched_and_own(void) {
  begin();
  ANSWERED({0, 0}, {0, ENOMEM}, {1, 0}, {0, EIO});
  CHECK_EQUAL(os_faults_watch(&faults, (void *)PAGE, SIZE), 0);
  CHECK_EQUAL(os_faults_watch(&faults, (void *)PAGE, SIZE), ENOMEM);
  TRACE("watch:0x4000+0x1000 watch:0x4000+0x1000");
  os_faults_own(&faults, (const void *)PAGE);
  faults.memory = 0;
  os_faults_own(&faults, (const void *)PAGE);
  faults.memory = -1; /* the page stays as it is */
  os_faults_own(&faults, (const void *)PAGE);
  TRACE("zero:1:0x4000 zero:0:0x4000");
}

static void a_page_that_is_locked_is_moved_later(void) {
  begin();
  ANSWERED({0, EAGAIN}, {0, EAGAIN}, {0, 0}, {0, EBUSY});
  CHECK_EQUAL(os_faults_move(&faults, (void *)PAGE, (void *)FROM, SIZE), 0);
  TRACE("move move move");
  CHECK_EQUAL(os_faults_move(&faults, (void *)PAGE, (void *)FROM, SIZE), EBUSY);
  TRACE("move");
  begin();
  for (int i = 0; i < 110; i++) world.answers[i].error = EAGAIN;
  CHECK_EQUAL(os_faults_move(&faults, (void *)PAGE, (void *)FROM, SIZE), EAGAIN);
  CHECK_EQUAL(world.asked, MOVES_MOST);
}

static void a_page_gets_its_content(void) {
  begin();
  ANSWERED({0, EAGAIN}, {0, 0}, {0, ENOMEM});
  CHECK_EQUAL(os_faults_fill(&faults, (void *)PAGE, (void *)FROM, SIZE), 0);
  TRACE("copy copy"); /* that wakes the waiters */
  CHECK_EQUAL(os_faults_fill(&faults, (void *)PAGE, (void *)FROM, SIZE), ENOMEM);
  TRACE("copy");
  begin();
  ANSWERED({0, EEXIST}, {0, 0}, {0, ENOENT});
  for (int i = 0; i < 2; i++) { /* it is there, or nowhere */
    CHECK_EQUAL(os_faults_fill(&faults, (void *)PAGE, (void *)FROM, SIZE), 0);
    TRACE("copy wake:0x4000+0x1000");
  }
}

/* ---- faults */

static void faults_are_read_several_at_a_time(void) {
  uintptr_t addresses[MESSAGES] = {0};
  begin();
  for (int i = 0; i < 3; i++) {
    world.messages[i].event = i == 1 ? UFFD_EVENT_FORK : UFFD_EVENT_PAGEFAULT;
    world.messages[i].arg.pagefault.address = (uintptr_t)PAGE + (uintptr_t)i;
  }
  ANSWERED({3, 0}, {0, EAGAIN}, {0, 0});
  CHECK_EQUAL(os_faults_wait(&faults, addresses, MESSAGES, 0), 2);
  TRACE("read:64");
  CHECK(addresses[0] == PAGE && addresses[1] == PAGE + 2 && addresses[2] == 0);
  CHECK_EQUAL(os_faults_wait(&faults, addresses, MESSAGES + 1, 0), 0); /* no fault is there */
  TRACE("read:64");
  CHECK_EQUAL(os_faults_wait(&faults, addresses, 1, 0), 0);
  TRACE("read:1");
}

static void a_wait_ends_at_its_deadline(void) {
  static const struct {
    uint64_t now, deadline;
    const char *calls;
  } rows[] = {
      {1000, 1001, "poll:1"},
      {1000, 1001000, "poll:1"},
      {1000, 1001001, "poll:2"},
      {5000000, 4000000, "poll:0"},
      {7, 7, "poll:0"},
      {0, 59999000000, "poll:59999"},
      {0, 60000000001, "poll:60000"},
      {0, UINT64_MAX / 2, "poll:60000"},
  };
  uintptr_t address;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    begin();
    check_case("row %zu", i);
    world.now = rows[i].now;
    CHECK_EQUAL(os_faults_wait(&faults, &address, 1, rows[i].deadline), 0);
    TRACE(rows[i].calls);
  }
  begin();
  ANSWERED({0, EINTR}, {1, 0}, {0, 0});
  CHECK_EQUAL(os_faults_wait(&faults, &address, 1, 1), 0);
  TRACE("poll:1");
  CHECK_EQUAL(os_faults_wait(&faults, &address, 1, 1), 0);
  TRACE("poll:1 read:1");
}

/* ---- the end */

static void die(const char *calls) {
  if (setjmp(ended) == 0) os_faults_fatal("ioctl", EIO, "ask for less");
  TRACE(calls);
}

/* The thread has no stderr of its own. */
static void a_failure_is_written_to_the_process_stderr(void) {
  char expected[80];
  begin();
  ANSWERED({0, 0}, {0, ENOENT});
  snprintf(expected, sizeof expected, "open:fd/2 dup2:0:2 fatal:ioctl:%d:ask for less", EIO);
  die(expected);
  snprintf(expected, sizeof expected, "open:fd/2 fatal:ioctl:%d:ask for less", EIO);
  die(expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(the_server_has_descriptors_of_its_own),
      TEST_BARE(a_device_stands_in_for_a_right),
      TEST_BARE(the_kernel_may_refuse),
      TEST_BARE(what_is_open_is_closed_once),
      TEST_BARE(pages_are_watched_and_own),
      TEST_BARE(a_page_that_is_locked_is_moved_later),
      TEST_BARE(a_page_gets_its_content),
      TEST_BARE(faults_are_read_several_at_a_time),
      TEST_BARE(a_wait_ends_at_its_deadline),
      TEST_BARE(a_failure_is_written_to_the_process_stderr),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
