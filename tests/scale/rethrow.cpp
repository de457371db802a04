/* SPDX-License-Identifier: Apache-2.0 */
/* A million times: an exception is caught, the thread gives way, and what it rethrows is its own.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "support/support.h"

namespace {

constexpr int kThreads = 64;
constexpr int kRounds = 500000 / kThreads + 1; /* for each number of VPs */

struct Own {
  long number;
};

mltp_lock_t lock = MLTP_LOCK_INIT;
std::atomic<long> rethrown, moved;

/* Every way to give way: by yield, to a timer, to the holder of a lock. */
void give_way(long round) {
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
}

void *rethrow(void *first) {
  const long mine = reinterpret_cast<long>(first);
  for (long i = mine; i < mine + kRounds; i++) {
    const int vp = mltp_vp();
    try {
      try {
        throw Own{i};
      } catch (const Own &) {
        give_way(i);
        if (mltp_vp() != vp) moved++;
        throw;
      }
    } catch (const Own &caught) {
      CHECK_EQUAL(caught.number, i);
      rethrown++;
    }
  }
  return nullptr;
}

void run(const char *vps) {
  setenv("MLTP_VPS", vps, 1);
  CHECK_EQUAL(mltp_init(0), 0);
  rethrown = moved = 0;
  mltp_t *threads[kThreads];
  for (long i = 0; i < kThreads; i++) {
    threads[i] = mltp_create(rethrow, reinterpret_cast<void *>(i * kRounds));
  }
  for (mltp_t *thread : threads) CHECK_EQUAL(mltp_join(thread, nullptr), 0);
  CHECK_EQUAL(mltp_finalize(), 0);
  CHECK_EQUAL(rethrown.load(), kThreads * kRounds);
  std::printf("%s VPs: %ld rethrown, %ld of them on another VP\n", vps, rethrown.load(),
              moved.load());
}

void a_million_rethrown_are_their_own() {
  setenv("MLTP_OVERSUBSCRIBE", "eager", 1); /* four VPs, whatever the CPUs */
  run("1");
  CHECK_EQUAL(moved.load(), 0);
  run("4");
  CHECK(moved.load() > 0);
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {TEST_BARE(a_million_rethrown_are_their_own)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
