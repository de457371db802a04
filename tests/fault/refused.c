/* SPDX-License-Identifier: Apache-2.0 */
/* A container's filter refuses system calls, from the start or in the middle: the library does
 * without, or says what it needs. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <mltp/io.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/vp/vp.h"
#include "support/asleep.h"
#include "support/support.h"

enum { ANY = -1, ADVICE_GUARD_INSTALL = 102, FUTEX_WAIT_OP = 0 | 128 };

/* One call, perhaps only with one value of one argument. */
static struct refusal {
  const char *name;
  long call;
  int argument; /* which one is looked at; ANY: none */
  uint32_t value;
  int error;
} refusal;

static void refuse(void) {
  uint32_t look = refusal.argument == ANY ? 0 : (uint32_t)refusal.argument;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refusal.call, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * look),
      BPF_JUMP(BPF_JMP | (refusal.argument == ANY ? BPF_JGE : BPF_JEQ) | BPF_K,
               refusal.argument == ANY ? 0 : refusal.value, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)refusal.error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    _exit(77);
}

static mltp_lock_t lock = MLTP_LOCK_INIT;
static long sum;

static void *add(void *number) {
  mltp_sleep(1000);
  mltp_lock(&lock);
  sum += (long)number;
  mltp_unlock(&lock);
  return NULL;
}

static void work(void) {
  enum { THREADS = 200 };
  static mltp_t *threads[THREADS];
  sum = 0;
  for (long i = 0; i < THREADS; i++) {
    threads[i] = i % 50 == 0 ? spawn_bound(add, (void *)i) : spawn(add, (void *)i);
    if (threads[i] == NULL) _exit(1);
  }
  for (int i = 0; i < THREADS; i++) mltp_join(threads[i], NULL);
  if (sum != THREADS * (THREADS - 1L) / 2) _exit(2);
}

static void from_the_start(void) {
  refuse();
  int error = mltp_init(0);
  if (error != 0) _exit(error == ENOMEM || error == EAGAIN ? 3 : 4);
  work();
  mltp_finalize();
}

static void in_the_middle(void) {
  if (mltp_init(0) != 0) _exit(1);
  work();
  refuse();
  work();
  mltp_sleep(200000000); /* at the latest now a VP has nothing to do, and goes to sleep */
  mltp_finalize();
}

/* A monitor that cannot wait for its alarm naps. */
static void a_lull(void) {
  enum { LULL_NS = 300000000, MOST = 1000 };
  refuse();
  if (mltp_init(0) != 0) _exit(1);
  work();
  uint64_t before = mt_load_relaxed(&mt_rt.handover.wakeups);
  mltp_sleep(LULL_NS);
  if (mt_load_relaxed(&mt_rt.handover.wakeups) - before > MOST) _exit(5);
  mltp_finalize();
}

/* The only VP sleeps until a descriptor is ready or a deadline is over. */
static void wait_for_a_descriptor(void) {
  enum { WAIT_NS = 2000000 };
  int ends[2];
  char byte = 0;
  size_t count = 0;
  refuse();
  if (mltp_init(1) != 0 || pipe(ends) != 0) _exit(1);
  uint64_t deadline = mltp_after(WAIT_NS);
  if (mltp_io_read_timed(ends[0], &byte, 1, &count, deadline) != ETIMEDOUT) _exit(6);
  if (mltp_now() < deadline) _exit(7);
  if (mltp_io_write(ends[1], "x", 1, NULL) != 0) _exit(8);
  if (mltp_io_read_timed(ends[0], &byte, 1, &count, mltp_after(WAIT_NS)) != 0) _exit(9);
  mltp_finalize();
}

enum expected { WORKS, INIT_REFUSES, STOPS };

/* libc waits by futex, too, for locks of its own: then it ends the process, with this message. */
static bool libc_was_first(const struct outcome *outcome) {
  return strstr(outcome->said, "The futex facility returned an unexpected error code") != NULL;
}

static void check(void (*body)(void), struct refusal what, enum expected expected) {
  static const char *const settings[] = {"MLTP_MEMBARRIER=auto",
                                         NULL}; /* or nobody would call it */
  static struct outcome outcome;
  refusal = what;
  do run_child(&outcome, body, settings);
  while (libc_was_first(&outcome));
  print_message("%s\n%s", what.name, outcome.said);
  if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77) skip();
  assert_int_equal(strstr(outcome.said, "mltp: ") != NULL, expected != WORKS);
  if (expected == STOPS) {
    assert_true(WIFSIGNALED(outcome.status));
    assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
    assert_non_null(strstr(outcome.said, what.name)); /* names the call */
  } else {
    assert_true(WIFEXITED(outcome.status));
    assert_int_equal(WEXITSTATUS(outcome.status), expected == WORKS ? 0 : 3);
  }
}

static const struct refusal membarrier = {"membarrier", SYS_membarrier, ANY, 0, EPERM},
                            guards = {"madvise", SYS_madvise, 2, ADVICE_GUARD_INSTALL, EPERM},
                            advice = {"madvise", SYS_madvise, ANY, 0, EPERM},
                            masks = {"sched_setaffinity", SYS_sched_setaffinity, ANY, 0, EPERM},
                            asking = {"sched_getaffinity", SYS_sched_getaffinity, ANY, 0, EPERM},
                            sigstacks = {"sigaltstack", SYS_sigaltstack, ANY, 0, EPERM},
                            usable = {"mprotect", SYS_mprotect, 2, PROT_READ | PROT_WRITE, EPERM},
#if defined(SYS_poll)
                            alarms = {"poll", SYS_poll, ANY, 0, ENOMEM},
#else
                            alarms = {"ppoll", SYS_ppoll, ANY, 0, ENOMEM},
#endif
                            waiting = {"futex", SYS_futex, 1, FUTEX_WAIT_OP, ENOSYS},
                            peeking = {"process_vm_readv", SYS_process_vm_readv, ANY, 0, EPERM};

static void done_without_from_the_start(void **state) {
  (void)state;
  check(from_the_start, membarrier, WORKS);
  check(from_the_start, guards, WORKS);
  check(from_the_start, masks, WORKS);
  if (SANITIZED) return; /* it makes these calls, too */
  check(from_the_start, sigstacks, WORKS);
  check(from_the_start, asking, WORKS);
  check(from_the_start, advice, WORKS);
}

static void done_without_in_the_middle(void **state) {
  (void)state;
  check(in_the_middle, guards, WORKS);
  check(in_the_middle, masks, WORKS);
  if (SANITIZED) return;
  check(in_the_middle, asking, WORKS);
  check(in_the_middle, sigstacks, WORKS);
}

static void the_monitor_naps_without_an_alarm(void **state) {
  (void)state;
  check(a_lull, alarms, WORKS);
}

/* Kernels before 5.11 do not know the call, and filters that are older refuse what they do not
 * know. */
static void waits_for_descriptors_are_as_long_without_it(void **state) {
  (void)state;
  static const int errors[] = {ENOSYS, EPERM};
  for (int i = 0; i < 2; i++)
    check(wait_for_a_descriptor,
          (struct refusal){"epoll_pwait2", SYS_epoll_pwait2, ANY, 0, errors[i]}, WORKS);
}

static void no_usable_memory_is_an_error_of_mltp_init(void **state) {
  (void)state;
  if (SANITIZED) skip(); /* it needs memory, too */
  check(from_the_start, usable, INIT_REFUSES);
}

static void what_cannot_be_done_without_is_named(void **state) {
  (void)state;
  if (SANITIZED) skip(); /* it waits by futexes, too */
  check(in_the_middle, waiting, STOPS);
  if (!on_kernel_backend()) check(in_the_middle, membarrier, STOPS);
}

static void pack(void) {
  setenv("MLTP_PACK_MS", "0", 1);
  refuse();
  int error = mltp_init(0);
  if (error != EINVAL) _exit(error == 0 ? 6 : 7);
  setenv("MLTP_PACK_MS", "off", 1);
  if (mltp_init(0) != 0) _exit(8); /* the refusal left nothing behind */
  work();
  mltp_finalize();
}

/* Without all that packing needs there is none. */
static void check_packing(struct refusal what, const char *remedy) {
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  refusal = what;
  run_child(&outcome, pack, no_settings);
  print_message("%s\n%s", what.name, outcome.said);
  if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77) skip();
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "mltp: MLTP_PACK_MS: stacks cannot be packed: "));
  assert_non_null(strstr(outcome.said, what.name));
  assert_non_null(strstr(outcome.said, remedy));
  assert_null(strchr(strchr(outcome.said, '\n') + 1, '\n')); /* one line */
}

static void packing_is_refused_where_faults_cannot_be_served(void **state) {
  (void)state;
  if (SANITIZED || on_kernel_backend()) skip(); /* another message, or nothing to pack */
  static const struct refusal right = {"userfaultfd", SYS_ioctl, 1, (uint32_t)UFFDIO_API, EPERM},
                              kernel = {"userfaultfd", SYS_ioctl, 1, (uint32_t)UFFDIO_API, EINVAL},
                              table = {"userfaultfd", SYS_close_range, ANY, 0, ENOSYS},
                              ranges = {"UFFDIO_REGISTER", SYS_ioctl, 1, (uint32_t)UFFDIO_REGISTER,
                                        ENOMEM};
  check_packing(right, "vm.unprivileged_userfaultfd=1");
  check_packing(kernel, "Linux 6.8");
  check_packing(table, "Linux 6.8");
  check_packing(ranges, "unset MLTP_PACK_MS");
}

/* @return whether the kernel gives a descriptor with all that packing needs through its device. */
static bool device_serves(void) {
  enum { NEW = 0xAA00 /* USERFAULTFD_IOC_NEW */, MOVE = 1 << 16 /* UFFD_FEATURE_MOVE */ };
  struct uffdio_api api = {.api = UFFD_API, .features = MOVE};
  int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  int fd = device >= 0 ? ioctl(device, NEW, O_CLOEXEC) : -1;
  bool serves = fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0;
  if (fd >= 0) close(fd);
  if (device >= 0) close(device);
  return serves;
}

static void pack_by_device(void) {
  setenv("MLTP_PACK_MS", "0", 1);
  refuse();
  if (mltp_init(0) != 0) _exit(9);
  work();
  mltp_finalize();
}

static void packing_uses_the_device_where_the_call_is_refused(void **state) {
  (void)state;
  static const char *const no_settings[] = {NULL};
  static const struct refusal call = {"userfaultfd", SYS_userfaultfd, ANY, 0, EPERM};
  static struct outcome outcome;
  if (SANITIZED || on_kernel_backend()) skip();
  if (!device_serves()) {
    check_packing(call, "vm.unprivileged_userfaultfd=1");
    return;
  }
  refusal = call;
  run_child(&outcome, pack_by_device, no_settings);
  print_message("%s", outcome.said);
  if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77) skip();
  assert_int_equal(outcome.status, 0);
  assert_string_equal(outcome.said, "");
}

/* The packer is the first kernel thread that one VP without a monitor needs. */
static void pack_without_threads(void) {
  refuse();
  int error = mltp_init(0);
  if (error != EINVAL) _exit(error == 0 ? 6 : 7);
}

static void packing_is_refused_without_a_kernel_thread(void **state) {
  (void)state;
  static const char *const settings[] = {"MLTP_PACK_MS=0", "MLTP_VPS=1", "MLTP_MONITOR=off", NULL};
  static struct outcome outcome;
  if (SANITIZED || on_kernel_backend()) skip();
  refusal = (struct refusal){"clone3", SYS_clone3, ANY, 0, EAGAIN};
  run_child(&outcome, pack_without_threads, settings);
  print_message("%s", outcome.said);
  if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77) skip();
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "mltp: MLTP_PACK_MS: stacks cannot be packed: "));
  assert_non_null(strstr(outcome.said, "(unset MLTP_PACK_MS)"));
  assert_null(strchr(strchr(outcome.said, '\n') + 1, '\n')); /* one line */
}

static mltp_sem_t sem;
static bool arrived; /* [atomic] at the semaphore */

static void *wait_for_sem(void *p0) {
  __atomic_store_n(&arrived, true, __ATOMIC_RELEASE);
  mltp_sem_wait(&sem);
  return p0;
}

static void dump_one_that_waits(void) {
  refuse();
  if (mltp_init(0) != 0) _exit(1);
  mltp_sem_init(&sem, 0, "tickets");
  mltp_t *thread = spawn(wait_for_sem, NULL);
  while (!__atomic_load_n(&arrived, __ATOMIC_ACQUIRE)) mltp_yield();
  wait_until_asleep(0);
  mltp_dump(STDERR_FILENO);
  mltp_sem_post(&sem);
  mltp_join(thread, NULL);
  mltp_finalize();
}

static void dump_sees_without_it_what_is_waited_for(void **state) {
  (void)state;
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  refusal = peeking;
  run_child(&outcome, dump_one_that_waits, no_settings);
  print_message("%s\n%s", refusal.name, outcome.said);
  if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77) skip();
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "'tickets'"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(done_without_from_the_start),
      cmocka_unit_test(done_without_in_the_middle),
      cmocka_unit_test(the_monitor_naps_without_an_alarm),
      cmocka_unit_test(waits_for_descriptors_are_as_long_without_it),
      cmocka_unit_test(no_usable_memory_is_an_error_of_mltp_init),
      cmocka_unit_test(what_cannot_be_done_without_is_named),
      cmocka_unit_test(packing_is_refused_where_faults_cannot_be_served),
      cmocka_unit_test(packing_uses_the_device_where_the_call_is_refused),
      cmocka_unit_test(packing_is_refused_without_a_kernel_thread),
      cmocka_unit_test(dump_sees_without_it_what_is_waited_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
