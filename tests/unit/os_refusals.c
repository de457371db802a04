/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel refuses (src/os/futex.c, membarrier.c, peek.c, cpus.c, and connections of
 * io.c): where the library can do without, and where the process ends. The kernel is the test's. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "os/cpus.c"

#include "os/futex.c"

#include "os/io.c"

#include "os/membarrier.c"

#include "os/peek.c"

#include "support/noted.h"
#include "support/support.h"

struct answer {
  long result;
  int error; /* 0: there is none */
};

static struct {
  struct answer answers[8], rest; /* one after the other, then the rest */
  int asked;
  uint64_t now;
  struct timespec waits;
  int bits, cpus, mask_error; /* of the machine's mask; in it; why it cannot be read */
} world;

static void begin(void) {
  memset(&world, 0, sizeof world);
  trace[0] = '\0';
  errno = EDOM;
}

/* The kernel's next answers. */
#define ANSWERED(...)                                                                              \
  memcpy(world.answers, (const struct answer[]){__VA_ARGS__},                                      \
         sizeof((const struct answer[]){__VA_ARGS__}))

static long answer(void) {
  int asked = world.asked++;
  const struct answer *next =
      asked < 8 && world.rest.error == 0 ? &world.answers[asked] : &world.rest;
  if (next->error != 0) errno = next->error;
  return next->error != 0 ? -1 : next->result;
}

/* ---- the kernel */

static void note_futex(va_list list) {
  CHECK(va_arg(list, uint32_t *) != NULL);
  int call = va_arg(list, int);
  unsigned expected = va_arg(list, unsigned);
  const struct timespec *timeout = va_arg(list, const struct timespec *);
  CHECK(va_arg(list, uint32_t *) == NULL && va_arg(list, int) == 0);
  if (call == FUTEX_WAKE_PRIVATE) {
    CHECK(timeout == NULL);
    note("wake:%u", expected);
    return;
  }
  CHECK_EQUAL(call, FUTEX_WAIT_PRIVATE);
  note(timeout != NULL ? "wait:%u:timed" : "wait:%u", expected);
  if (timeout != NULL) world.waits = *timeout;
}

static void note_copy(va_list list) {
  const struct iovec *to = va_arg(list, const struct iovec *);
  CHECK_EQUAL(va_arg(list, int), 1);
  const struct iovec *from = va_arg(list, const struct iovec *);
  CHECK(va_arg(list, int) == 1 && va_arg(list, int) == 0);
  CHECK_EQUAL(to->iov_len, from->iov_len);
  note("copy:%zu", to->iov_len);
}

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  if (number == SYS_futex) {
    note_futex(list);
  } else if (number == SYS_membarrier) {
    note("barrier:%d", va_arg(list, int));
    CHECK(va_arg(list, int) == 0 && va_arg(list, int) == 0);
  } else if (number == SYS_process_vm_readv) {
    CHECK_EQUAL(va_arg(list, int), getpid());
    note_copy(list);
  } else {
    int fd = va_arg(list, int);
    (void)va_arg(list, void *);
    note("%s:%d:%zu", number == SYS_write ? "write" : "read", fd, va_arg(list, size_t));
  }
  va_end(list);
  return answer();
}

int __wrap_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags) {
  CHECK_EQUAL(flags, O_CLOEXEC);
  note("pipe");
  ends[0] = 3;
  ends[1] = 4;
  return (int)answer();
}

int __wrap_close(int fd);
int __wrap_close(int fd) {
  note("close:%d", fd);
  return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms) {
  CHECK(count == 1 && fds->fd == 9 && fds->events == POLLOUT && ms == 0);
  note("poll");
  return (int)answer();
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length) {
  CHECK(fd == 9 && level == SOL_SOCKET && name == SO_ERROR && *length == sizeof(int));
  note("ask");
  long result = answer();
  if (result >= 0) *(int *)value = (int)result;
  return result < 0 ? -1 : 0;
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length) {
  CHECK(fd == 9 && address != NULL && length == sizeof *address);
  return (int)answer();
}

int __wrap_sched_yield(void);
int __wrap_sched_yield(void) {
  if (world.rest.error == 0) note("yield");
  return 0;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus) {
  CHECK_EQUAL(pid, 0);
  errno = world.mask_error != 0 ? world.mask_error : EINVAL;
  if (world.mask_error != 0 || (int)size * 8 < world.bits) return -1;
  memset(cpus, 0, size);
  for (int i = 0; i < world.cpus; i++) CPU_SET_S((size_t)i, size, cpus);
  return 0;
}

int __wrap_os_cgroup_least(const char *controller, int (*v2)(const char *),
                           int (*v1)(const char *));
int __wrap_os_cgroup_least(const char *controller, int (*v2)(const char *),
                           int (*v1)(const char *)) {
  CHECK(strcmp(controller, "cpu") == 0 && v2 != NULL && v1 != NULL);
  errno = ENOENT;
  return INT_MAX;
}

uint64_t __wrap_os_now(void);
uint64_t __wrap_os_now(void) { return world.now; }

static jmp_buf ended;

void __wrap_os_fatal(const char *call, int error, const char *remedy) __attribute__((noreturn));
void __wrap_os_fatal(const char *call, int error, const char *remedy) {
  CHECK(remedy[0] != '\0');
  note("fatal:%s:%d", call, error);
  longjmp(ended, 1);
}

/* ---- waiting */

static uint32_t word;

static void a_wait_ends_as_the_kernel_says(void) {
  static const int ends[] = {0, EAGAIN, EINTR, ETIMEDOUT}; /* the caller looks at the word */
  for (int i = 0; i < 4; i++) {
    begin();
    world.answers[0].error = ends[i];
    CHECK_EQUAL(os_futex_wait(&word, 6, UINT64_MAX), ends[i] == ETIMEDOUT ? ETIMEDOUT : 0);
    TRACE("wait:6");
    CHECK_EQUAL(errno, EDOM);
  }
}

static void a_deadline_is_a_time_from_now(void) {
  static const struct {
    uint64_t now, deadline;
    time_t seconds;
    long ns;
  } rows[] = {{5, 5, 0, 0}, {6, 5, 0, 0}, {5, 6, 0, 1}, {5, 3000000004, 2, 999999999}};
  for (int i = 0; i < 4; i++) {
    begin();
    check_case("row %d", i);
    world.now = rows[i].now;
    CHECK_EQUAL(os_futex_wait(&word, 6, rows[i].deadline), 0);
    TRACE("wait:6:timed");
    CHECK(world.waits.tv_sec == rows[i].seconds && world.waits.tv_nsec == rows[i].ns);
  }
}

static void die_by(void (*call)(void), const char *expected) {
  if (setjmp(ended) == 0) call();
  TRACE(expected);
}

static void wait_once(void) { os_futex_wait(&word, 6, UINT64_MAX); }
static void wake_three(void) { os_futex_wake(&word, 3); }

static void no_process_can_do_without_futexes(void) {
  char expected[40];
  begin();
  ANSWERED({2, 0}, {0, 0}, {0, ENOSYS}, {0, EPERM});
  wake_three();
  wake_three(); /* nobody waits */
  TRACE("wake:3 wake:3");
  CHECK_EQUAL(errno, EDOM);
  snprintf(expected, sizeof expected, "wake:3 fatal:futex:%d", ENOSYS);
  die_by(wake_three, expected);
  snprintf(expected, sizeof expected, "wait:6 fatal:futex:%d", EPERM);
  die_by(wait_once, expected);
}

static void a_thread_gives_its_cpu_away(void) {
  begin();
  os_yield();
  TRACE("yield");
}

/* ---- fences */

static void a_fence_is_repeated_while_the_kernel_lacks_memory(void) {
  char expected[40];
  begin();
  ANSWERED({0, 0}, {0, ENOSYS}, {0, ENOMEM}, {0, ENOMEM}, {0, 0}, {0, EPERM});
  CHECK(os_membarrier_register());
  CHECK(!os_membarrier_register());
  TRACE("barrier:16 barrier:16");
  os_membarrier();
  TRACE("barrier:8 yield barrier:8 yield barrier:8");
  CHECK_EQUAL(errno, EDOM);
  snprintf(expected, sizeof expected, "barrier:8 fatal:membarrier:%d", EPERM);
  die_by(os_membarrier, expected);
  begin();
  world.rest.error = ENOMEM;
  if (setjmp(ended) == 0) os_membarrier();
  CHECK_EQUAL(world.asked, TRIES);
}

/* ---- memory that may not be there */

static void memory_is_copied_through_a_pipe_where_a_filter_wants_it(void) {
  char copied[8];
  begin();
  ANSWERED({0, ENOSYS}, {0, 0}, {4, 0}, {4, 0});
  CHECK_EQUAL(os_peek(copied, (const void *)0x5000, 4), 4);
  TRACE("copy:4 pipe write:4:4 read:3:4 close:3 close:4");
  CHECK_EQUAL(errno, EDOM);
  begin();
  ANSWERED({0, EPERM}, {0, 0}, {0, EFAULT});
  CHECK_EQUAL(os_peek(copied, (const void *)0x5000, 4), 0);
  TRACE("copy:4 pipe write:4:4 close:3 close:4");
  begin();
  ANSWERED({0, EPERM}, {0, 0}, {4, 0}, {3, 0});
  CHECK_EQUAL(os_peek(copied, (const void *)0x5000, 4), 0);
  TRACE("copy:4 pipe write:4:4 read:3:4 close:3 close:4");
  begin();
  ANSWERED({0, EPERM}, {0, EMFILE});
  CHECK_EQUAL(os_peek(copied, (const void *)0x5000, 4), 0);
  TRACE("copy:4 pipe");
}

static void memory_is_copied_page_by_page(void) {
  char copied[8];
  begin();
  ANSWERED({2, 0}, {0, EFAULT}, {3, 0});
  CHECK_EQUAL(os_peek(copied, (const void *)0x5ffe, 5), 2);
  TRACE("copy:2 copy:3");
  CHECK_EQUAL(os_peek(copied, (const void *)0x6000, 4), 0); /* a part of it */
  TRACE("copy:4");
}

/* ---- CPUs */

static void a_program_uses_the_cpus_of_its_mask(void) {
  static const struct {
    int bits, cpus, error, expected;
  } rows[] = {
      {8, 3, 0, 3},
      {4096, 2000, 0, 2000},
      {1 << 20, 2000, 0, 2000},
      {(1 << 20) + 1, 9, 0, 1 /* no mask is large enough */},
      {8, 3, EPERM, 1},
      {8, 0, 0, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    begin();
    check_case("row %zu", i);
    world.bits = rows[i].bits;
    world.cpus = rows[i].cpus;
    world.mask_error = rows[i].error;
    CHECK_EQUAL(os_cpus(), rows[i].expected);
    CHECK_EQUAL(errno, EDOM);
  }
}

/* ---- connections */

static void a_signal_does_not_end_a_connect(void) {
  const struct sockaddr address = {.sa_family = AF_INET}, local = {.sa_family = AF_UNIX};
  begin();
  ANSWERED({0, EINTR}, {0, 0}, {0, ECONNREFUSED}, {0, EINTR}, {0, EAGAIN});
  CHECK_EQUAL(os_connect(9, &address, sizeof address), EINPROGRESS);
  CHECK_EQUAL(os_connect(9, &address, sizeof address), 0);
  CHECK_EQUAL(os_connect(9, &address, sizeof address), ECONNREFUSED);
  CHECK_EQUAL(os_connect(9, &local, sizeof local), EAGAIN);
  CHECK_EQUAL(errno, EDOM);
}

static void a_connection_says_how_it_ended(void) {
  begin();
  ANSWERED({0, 0}, {1, 0}, {ECONNREFUSED, 0}, {1, 0}, {0, 0}, {1, 0}, {0, EBADF});
  CHECK_EQUAL(os_connected(9), EAGAIN); /* it has not */
  TRACE("poll");
  CHECK_EQUAL(os_connected(9), ECONNREFUSED);
  CHECK_EQUAL(os_connected(9), 0);
  CHECK_EQUAL(os_connected(9), EBADF);
  TRACE("poll ask poll ask poll ask");
  CHECK_EQUAL(errno, EDOM);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_wait_ends_as_the_kernel_says),
      TEST_BARE(a_deadline_is_a_time_from_now),
      TEST_BARE(no_process_can_do_without_futexes),
      TEST_BARE(a_thread_gives_its_cpu_away),
      TEST_BARE(a_fence_is_repeated_while_the_kernel_lacks_memory),
      TEST_BARE(memory_is_copied_through_a_pipe_where_a_filter_wants_it),
      TEST_BARE(memory_is_copied_page_by_page),
      TEST_BARE(a_program_uses_the_cpus_of_its_mask),
      TEST_BARE(a_signal_does_not_end_a_connect),
      TEST_BARE(a_connection_says_how_it_ended),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
