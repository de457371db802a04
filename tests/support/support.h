/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file support.h
 * What the tests share.
 *
 * A test's body runs in the main thread of a fresh runtime, which may move to
 * another kernel thread, while cmocka keeps its state in thread-local storage.
 * So bodies, and the threads they start, only record with CHECK(), and the
 * cmocka test around them asserts once mltp_finalize() has brought it back.
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <errno.h>
#include <mltp/alternatives.h>
#include <mltp/mltp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <cmocka.h>

/* ------------------------------------------------------------- recording */

/** Records a failure unless condition holds. Any thread. */
#define CHECK(condition) check_true(!!(condition), #condition, __FILE__, __LINE__)

/** Records a failure, with both values, unless they are equal. Any thread. */
#define CHECK_EQUAL(actual, expected)                                                              \
  check_equal((intmax_t)(actual), (intmax_t)(expected), #actual " == " #expected, __FILE__,        \
              __LINE__)

/** Records a failure, with both texts, unless they are equal. Any thread. */
#define CHECK_TEXT(actual, expected) check_text((actual), (expected), #actual, __FILE__, __LINE__)

void check_true(int holds, const char *what, const char *file, int line);
void check_equal(intmax_t actual, intmax_t expected, const char *what, const char *file, int line);
void check_text(const char *actual, const char *expected, const char *what, const char *file,
                int line);

/** Says which case of a matrix runs: printed with every failure recorded from now on. */
void check_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Asserts that nothing was recorded since the last call. Only in a cmocka test,
 * on the kernel thread cmocka runs on, without a runtime. */
void assert_checks(void);

/* ------------------------------------------------- tests inside a runtime */

/** Runs body in a runtime with the VPs the environment asks for. */
#define TEST(body) {#body, test_in_runtime, NULL, NULL, (void *)(body)}

/** The same without the monitor. On a busy machine a VP may wait in the kernel, for an internal
 * lock of libc or of a sanitizer, for so long that the monitor makes one more. A body that counts
 * VPs must not meet that one. */
#define TEST_UNMONITORED(body) {#body, test_unmonitored, NULL, NULL, (void *)(body)}

/** Runs body on one VP and without the monitor, where the order of the ready queue can be seen;
 * skipped on the kernel backend, which has no ready queue, and in deterministic mode, which
 * shuffles it. */
#define TEST_ONE_VP(body) {#body, test_on_one_vp, NULL, NULL, (void *)(body)}

/** Runs body without a runtime, for tests that start their own. */
#define TEST_BARE(body) {#body, test_bare, NULL, NULL, (void *)(body)}

void test_in_runtime(void **state);
void test_unmonitored(void **state);
void test_on_one_vp(void **state);
void test_bare(void **state);

/** @return whether each thread is a kernel thread in this run. */
int on_kernel_backend(void);

/** @return whether this run is in deterministic mode, on one VP and in an order of its own. */
int seeded(void);

/** @return whether libc's swapcontext() switches threads in this run. */
int on_ucontext_backend(void);

/** @return whether an overflow of a stack of the library's is noticed when it happens. */
int has_guards(void);

/** Whether a sanitizer slows this build down and makes its memory accounting useless,
 * and whether it is the one that adds kernel threads of its own. */
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED 1
#elif defined(__has_feature)
#define THREAD_SANITIZED __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZED 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (THREAD_SANITIZED || __has_feature(address_sanitizer))
#else
#define SANITIZED THREAD_SANITIZED
#endif

/** @return n, or a tenth of it (at least 1) under a sanitizer or an emulator (EMULATED,
 * which CMake defines). */
int scaled(int n);

/** mltp_init() without the monitor; see TEST_UNMONITORED. @return what it returned. */
int init_unmonitored(int vps);

/* ----------------------------------------------------- locks of any class */

enum { LOCK_CLASSES = MLTP_ALTERNATIVES ? 15 : 8 };

/** Every class of lock, also of src/alternatives where the library has them. */
extern const struct lock_class {
  mltp_lock_class_t id;
  const char *name;
} lock_classes[LOCK_CLASSES];

/* ----------------------------------------------------- threads of any kind */

enum kind { UNBOUND, BOUND, FOREIGN, MIXED, KINDS };

/** Names of the kinds, for check_case(). */
extern const char *const kind_names[KINDS];

/** Starts func(arg) on a joinable thread of the library. @return NULL: it was refused. */
mltp_t *spawn(mltp_userf_t *func, void *arg);
mltp_t *spawn_bound(mltp_userf_t *func, void *arg);

/** mltp_channel_create() as an expression. @return NULL: no memory. */
mltp_channel_t *new_channel(size_t capacity, size_t element_size, const char *name);

/** A thread of any kind: started, then joined by a thread of the runtime. */
struct worker {
  enum kind kind;
  mltp_userf_t *func;
  void *arg;
  void *result;
  mltp_t *thread;    /* unbound and bound */
  pthread_t foreign; /* foreign */
  mltp_sem_t ended;  /* foreign: so that the joiner does not block its VP */
};

/** Starts func(arg) on a thread of the given kind (not MIXED). */
void worker_start(struct worker *worker, enum kind kind, mltp_userf_t *func, void *arg);

/** Waits for it. @return what func returned. */
void *worker_join(struct worker *worker);

/** Runs func(arg) on count (at most WORKERS_MAX) threads of a kind at once, MIXED
 * taking each kind in turn, and waits for all. */
void workers_run(int count, enum kind kind, mltp_userf_t *func, void *arg);

#define WORKERS_MAX 64

/* --------------------------------------------------------------- processes */

/** How a child process ended and what it wrote to stderr. */
struct outcome {
  int status; /* of waitpid() */
  char said[32768];
};

/** Runs body in a forked child and exits it with status 0 when body returns.
 * settings: "NAME=value" for its environment ("NAME": unset), ended by NULL.
 * Only without a runtime. */
void run_child(struct outcome *outcome, void (*body)(void), const char *const *settings);

/** Zeroed memory that children share with the test; never freed. */
void *shared_memory(size_t size);

/** Starts count processes that burn CPU; they die with the caller at the latest. */
void load_start(pid_t *pids, int count);

/** Ends them. */
void load_stop(const pid_t *pids, int count);

/** Pins the calling thread, and all that it starts from now on, to one CPU it may use. */
void pin_to_one_cpu(void);

#ifdef __cplusplus
}
#endif

#endif
