/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers that wait, by the compiler's and the C++ library's own means. The waiters park: a
 * tick of the threads beside them needs no 20 ms. */
#include <cstdio>
#include <mltp/mltp.hpp>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace {

constexpr int kThreads = 8;
int calls;
std::once_flag flag;
mltp_sem_t go_on = MLTP_SEM_INIT(0);

int wait_for_post(bool fails) {
  calls++;
  mltp_sem_wait(&go_on);
  if (fails) throw std::runtime_error("the first one");
  return 42;
}

int need_static() {
  static int value = wait_for_post(calls == 0);
  return value;
}

void need_flag() {
  std::call_once(flag, [] { wait_for_post(calls == 2); });
}

/* @return whether all got the value, the second time. */
template <class F>
bool run(F need) {
  int right = 0, thrown = 0;
  mltp::mutex mutex;
  std::vector<mltp::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([&] {
      for (bool done = false; !done;) {
        try {
          need();
          done = true;
        } catch (const std::runtime_error &) {
          const std::lock_guard lock(mutex);
          thrown++;
        }
      }
      const std::lock_guard lock(mutex);
      right++;
    });
  const uint64_t before = mltp_now();
  for (int i = 0; i < 1000; i++) mltp_yield();
  mltp_sem_post(&go_on);
  mltp_sem_post(&go_on);
  for (mltp::thread &thread : threads) thread.join();
  const double ms = static_cast<double>(mltp_now() - before) / 1e6;
  if (right == kThreads && thrown == 1) return true;
  std::printf("right %d, thrown %d, calls %d, %.1f ms\n", right, thrown, calls, ms);
  return false;
}

}  // namespace

int main() {
  mltp::runtime runtime;
  if (!run([] { need_static(); }) || calls != 2) return 1;
  return !run(need_flag) || calls != 4;
}
