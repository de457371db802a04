/* SPDX-License-Identifier: Apache-2.0 */
/* What a switch keeps: registers, the red zone, alignment; what follows the thread. */
#define _GNU_SOURCE /* registers of a ucontext_t */
#include <fenv.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unwind.h>

#include "arch/arch.h"
#include "support/support.h"

/* ------------------------------------------------------------------ registers */

/* Twelve integers and eight doubles live across the switch: the compiler keeps as many as it
 * can in registers that a call preserves. */
static __attribute__((noinline)) uint64_t wrong_after_yield(uint64_t seed) {
  uint64_t a = seed, b = seed * 3, c = seed * 5, d = seed * 7, e = seed * 11, f = seed * 13;
  double p = (double)seed, q = p * 3, r = p * 5, s = p * 7, t = p * 11, u = p * 13;
  __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  __asm__ volatile("" : "+m"(p), "+m"(q), "+m"(r), "+m"(s), "+m"(t), "+m"(u));
  p += 1, q += 1, r += 1, s += 1, t += 1, u += 1;
  mltp_yield();
  __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  uint64_t wrong = (a ^ seed) | (b ^ seed * 3) | (c ^ seed * 5) | (d ^ seed * 7) | (e ^ seed * 11) |
                   (f ^ seed * 13);
  double base = (double)seed, sum = p + q + r + s + t + u;
  return wrong | (sum != base * 40 + 6);
}

static void *keep_registers(void *p0) {
  uint64_t seed = mltp_id(mltp_self()), wrong = 0;
  for (int i = 0; i < scaled(1000); i++) wrong |= wrong_after_yield(seed + (uint64_t)i);
  CHECK_EQUAL(wrong, 0);
  return p0;
}

static void registers_are_kept(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(12, (enum kind)kind, keep_registers, NULL);
  }
}

/* ------------------------------------------------------- red zone and alignment */

static struct arch_context here, there;
static atomic_uintptr_t frame_seen;

static char called[8]; /* the callers, in order */
static size_t calls;
static bool detour;

static void call(char name) {
  volatile __attribute__((aligned(16))) char frame[16] = {0};
  CHECK_EQUAL(((uintptr_t)frame | (uintptr_t)__builtin_frame_address(0)) % 16, 0);
  if (calls < sizeof called) called[calls] = name;
  calls++;
}

static void call_a(void) { call('a'); }

static void call_b(void) { call('b'); }

/* Starts by a jump, not a call: its frame is where a called one's would be, plus a word. */
static void bounce(void) {
  for (;;) {
    atomic_store(&frame_seen, (uintptr_t)mt_arch_sp());
    if (detour) {
      mt_arch_call_first(&here, call_a);
      mt_arch_call_first(&here, call_b);
    }
    mt_arch_switch(&there, &here);
  }
}

enum { WORDS = 15 }; /* nearly all of x86-64's 128 bytes, the first of them, too */

/* A leaf: its locals may lie in the red zone, below the stack pointer. */
static __attribute__((noinline)) uint64_t wrong_in_red_zone(uint64_t seed) {
  volatile uint64_t local[WORDS];
  uint64_t wrong = 0;
  for (unsigned i = 0; i < WORDS; i++) local[i] = seed + i;
  mt_arch_switch(&here, &there);
  for (unsigned i = 0; i < WORDS; i++) wrong |= local[i] ^ (seed + i);
  return wrong;
}

/* The native switch, bare: nothing is written below the stack pointer, or at all. */
static void the_red_zone_is_kept(void) {
  static alignas(16) char stack[65536];
  if (SANITIZED) return; /* sanitizers must learn of each switch */
  mt_arch_context_init(&there, stack + sizeof stack);
  CHECK_EQUAL((uintptr_t)there.sp % 16, 0);
  there.ip = (void *)(uintptr_t)bounce;
  for (uint64_t seed = 1; seed < 100; seed++) CHECK_EQUAL(wrong_in_red_zone(seed), 0);
  CHECK(atomic_load(&frame_seen) > (uintptr_t)stack);
  CHECK(atomic_load(&frame_seen) <= (uintptr_t)stack + sizeof stack);
}

/* A suspended context calls functions before it continues, and nothing of it is lost. */
static void detours_keep_all(void) {
  static alignas(16) char stack[65536];
  if (SANITIZED) return;
  mt_arch_context_init(&there, stack + sizeof stack);
  there.ip = (void *)(uintptr_t)bounce;
  detour = true;
  calls = 0;
  for (uint64_t seed = 1; seed < 100; seed++) CHECK_EQUAL(wrong_in_red_zone(seed), 0);
  detour = false;
  CHECK_EQUAL(calls, 2 * 99);
  CHECK(called[0] == 'b' && called[1] == 'a');
}

typedef float vector __attribute__((vector_size(16)));

/* Stores of whole vectors into the frame fault unless it is aligned. */
static void *use_vectors(void *p0) {
  volatile vector on_stack[4];
  for (int i = 0; i < 4; i++) on_stack[i] = (vector){1, 2, 3, (float)i};
  mltp_yield();
  for (int i = 0; i < 4; i++) {
    vector back = on_stack[i];
    CHECK(back[0] == 1 && back[3] == (float)i);
  }
  CHECK_EQUAL((uintptr_t)on_stack % 16, 0);
  return p0;
}

static void fresh_stacks_are_aligned_for_vectors(void) {
  workers_run(40, UNBOUND, use_vectors, NULL);
}

/* --------------------------------------------------------- another kernel thread */

static atomic_int moved;

/* Fills the VP on which the mover was, so that another VP has to run the mover. */
static void *fill(void *vp) {
  while (!atomic_load(&moved) && mltp_vp() == (int)(intptr_t)vp) continue;
  return NULL;
}

/* What the library reads of thread-local storage must be the new kernel thread's. */
static void *move(void *p0) {
  const mltp_attr_t detached = {.size = sizeof(mltp_attr_t), .detached = 1};
  mltp_t *self = mltp_self();
  int from = mltp_vp();
  CHECK(from >= 0);
  while (mltp_vp() == from) {
    CHECK_EQUAL(mltp_create(NULL, &detached, fill, (void *)(intptr_t)from), 0);
    mltp_yield();
  }
  CHECK(mltp_self() == self);
  atomic_store(&moved, 1);
  mltp_yield();
  CHECK(mltp_self() == self);
  return p0;
}

static void the_current_thread_is_read_afresh(void) {
  if (on_kernel_backend() || seeded() || mltp_vps_active() < 2) return; /* nowhere to move to */
  atomic_store(&moved, 0);
  mltp_t *mover = spawn(move, NULL);
  CHECK_EQUAL(mltp_join(mover, NULL), 0);
}

/* ------------------------------------------------------- what follows the thread */

static int is_blocked(int signo) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  return sigismember(&now, signo);
}

/* Runs in between: says what it finds, and puts it back. */
static void *other(void *found) {
  sigset_t set;
  mltp_yield(); /* until now the main thread has changed nothing */
  ((int *)found)[0] = fegetround();
  ((int *)found)[1] = is_blocked(SIGUSR2);
  fesetround(FE_TONEAREST);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  return NULL;
}

/* FP control stays with the kernel thread (but see fp_control.c); so does the signal mask,
 * unless swapcontext() exchanges it. */
static void fp_control_and_signal_mask(void) {
  int found[2] = {-1, -1};
  mltp_t *thread = spawn(other, found);
  sigset_t set;
  mltp_yield();
  fesetround(FE_UPWARD);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  mltp_yield();
  CHECK_EQUAL(found[0], FE_UPWARD);
  CHECK_EQUAL(found[1], !on_ucontext_backend());
  CHECK_EQUAL(fegetround(), FE_TONEAREST);
  CHECK_EQUAL(is_blocked(SIGUSR2), on_ucontext_backend());
  fesetround(FE_TONEAREST);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  CHECK_EQUAL(mltp_join(thread, NULL), 0);
}

/* -------------------------------------------------------------------- unwinding */

enum { FRAMES_MAX = 64 };

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *count) {
  (void)context;
  return ++*(int *)count < FRAMES_MAX ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

static void *unwind(void *p0) {
  int frames = 0;
  _Unwind_Reason_Code end = _Unwind_Backtrace(count_frame, &frames);
  CHECK_EQUAL(end, _URC_END_OF_STACK);
  CHECK(frames >= 2 && frames < 16); /* this, the thread's start, its entry */
  return p0;
}

static void unwinding_ends_at_the_entry(void) { workers_run(9, MIXED, unwind, NULL); }

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(registers_are_kept),
      TEST_BARE(the_red_zone_is_kept),
      TEST_BARE(detours_keep_all),
      TEST(fresh_stacks_are_aligned_for_vectors),
      TEST(the_current_thread_is_read_afresh),
      TEST_ONE_VP(fp_control_and_signal_mask),
      TEST(unwinding_ends_at_the_entry),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
