/* SPDX-License-Identifier: Apache-2.0 */
/* A million times, on one VP and on four: a thread gives way between two looks at what must be its
 * own. The exception it has caught and rethrows, its errno, its rounding mode.
 */
#include <atomic>
#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstdlib>

#include "support/support.h"

namespace {

constexpr int kThreads = 64;

mltp_lock_t lock = MLTP_LOCK_INIT;
std::atomic<long> kept, moved;

/* Every way to give way: by yield, to a timer, to the holder of a lock. */
void give_way(long round) {
  const int vp = mltp_vp();
  switch (round % 8) {
    case 0: mltp_sleep(1); break;
    case 1:
    case 2:
      mltp_lock(&lock);
      mltp_yield(); /* others come for the lock and park */
      mltp_unlock(&lock);
      break;
    default: mltp_yield();
  }
  if (mltp_vp() != vp) moved++;
}

struct Own {
  long number;
};

void rethrow(long number) {
  try {
    try {
      throw Own{number};
    } catch (const Own &) {
      give_way(number);
      throw;
    }
  } catch (const Own &caught) {
    CHECK_EQUAL(caught.number, number);
    kept += caught.number == number;
  }
}

/* By a pointer the compiler knows nothing of, or it may keep errno's address across the switch. */
int *(*volatile errno_now)() = __errno_location;

void keep_errno(long number) {
  *errno_now() = static_cast<int>(number);
  give_way(number);
  CHECK_EQUAL(*errno_now(), number);
  kept += *errno_now() == number;
}

/* Set once in a while, kept in between; asked of the control word and of a division. */
void keep_rounding(long number) {
  static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  const int mode = modes[number / 16 % 4];
  if (number % 16 == 0) std::fesetround(mode);
  give_way(number);
  volatile double one = 1, minus_one = -1, three = 3;
  volatile double up = one / three, down = minus_one / three;
  const bool as_set = mode == FE_UPWARD     ? up > -down
                      : mode == FE_DOWNWARD ? up < -down
                                            : up == -down;
  CHECK_EQUAL(std::fegetround(), mode);
  CHECK(as_set);
  kept += std::fegetround() == mode && as_set;
}

void (*keep)(long number);
int rounds;

void *keep_all(void *first) {
  const long mine = reinterpret_cast<long>(first);
  for (long i = mine; i < mine + rounds; i++) keep(i);
  return nullptr;
}

void run(const char *vps) {
  setenv("MLTP_VPS", vps, 1);
  CHECK_EQUAL(mltp_init(0), 0);
  kept = moved = 0;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.fp_control = keep == keep_rounding;
  mltp_t *threads[kThreads];
  for (long i = 0; i < kThreads; i++)
    CHECK_EQUAL(mltp_create(&threads[i], &attr, keep_all, reinterpret_cast<void *>(i << 16)), 0);
  for (mltp_t *thread : threads) CHECK_EQUAL(mltp_join(thread, nullptr), 0);
  CHECK_EQUAL(mltp_finalize(), 0);
  CHECK_EQUAL(kept.load(), kThreads * rounds);
  std::printf("%s VPs: kept %ld times, %ld of them on another VP\n", vps, kept.load(),
              moved.load());
}

void run_on_one_and_four(void (*what)(long number)) {
  keep = what;
  rounds = scaled(1000000 / kThreads);
  if (on_ucontext_backend()) rounds /= 10;  /* a system call for each switch */
  setenv("MLTP_OVERSUBSCRIBE", "eager", 1); /* four VPs, whatever the CPUs */
  run("1");
  CHECK_EQUAL(moved.load(), 0);
  do run("4");
  while (moved.load() == 0); /* on a busy machine the other VPs may have had no CPU */
}

void a_million_rethrown_are_their_own() { run_on_one_and_four(rethrow); }
void errno_is_its_own_a_million_times() { run_on_one_and_four(keep_errno); }
void rounding_is_its_own_a_million_times() { run_on_one_and_four(keep_rounding); }

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_million_rethrown_are_their_own),
      TEST_BARE(errno_is_its_own_a_million_times),
      TEST_BARE(rounding_is_its_own_a_million_times),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
