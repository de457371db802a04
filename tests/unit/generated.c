/* SPDX-License-Identifier: Apache-2.0 */
/* The dump of a thread whose backtrace goes through code of no file, as compilers at run time make
 * it. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/asleep.h"
#include "support/support.h"

static mltp_sem_t sem;
static atomic_bool arrived; /* the thread is about to wait */

/* Instructions that no file has: they make a frame, and call what they are given. */
static const unsigned char generated_code[] = {
#ifdef __x86_64__
    0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3,
#else
    0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00,
    0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
#endif
};

static void wait_here(void) {
  atomic_store(&arrived, true);
  mltp_sem_wait(&sem);
  if (__builtin_frame_address(0) == NULL) _exit(1); /* it has a frame, and no tail call */
}

static void *wait_in_generated_code(void *code) {
  void (*call)(void (*)(void));
  memcpy(&call, &code, sizeof call);
  call(wait_here);
  return NULL;
}

static void dump_generated_code(void) {
  char *code = mmap(NULL, sizeof generated_code, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED || mltp_init(0) != 0) _exit(1);
  memcpy(code, generated_code, sizeof generated_code);
  __builtin___clear_cache(code, code + sizeof generated_code);
  mltp_sem_init(&sem, 0, NULL);
  mltp_t *thread = spawn(wait_in_generated_code, code);
  if (thread == NULL) _exit(1);
  while (!atomic_load(&arrived)) mltp_yield();
  if (seeded()) mltp_sleep(100000000); /* by a clock that continues when nobody can run */
  wait_until_asleep(0);
  mltp_dump(STDERR_FILENO);
  mltp_sem_post(&sem);
  mltp_join(thread, NULL);
  if (mltp_finalize() != 0) _exit(1);
}

static void a_frame_of_no_file_is_an_address(void) {
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  bool found = false;
  run_child(&outcome, dump_generated_code, no_settings);
  CHECK_EQUAL(outcome.status, 0);
  for (const char *line = outcome.said; (line = strstr(line, "\n    #")) != NULL; line++) {
    int number;
    unsigned long address;
    found |= sscanf(line, " #%d 0x%lx", &number, &address) == 2;
  }
  CHECK(found || on_kernel_backend()); /* where others' stacks are not looked at */
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(a_frame_of_no_file_is_an_address)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
