/* SPDX-License-Identifier: Apache-2.0 */
/* mltp.hpp serves a stranger: C++20 types, and an exception that is the thread's own after a
 * switch. */
#include <iostream>
#include <mltp/mltp.hpp>
#include <mutex>
#include <stdexcept>
#include <vector>

int main() {
  const mltp::runtime runtime(4);
  mltp::mutex mutex;
  long sum = 0;
  {
    std::vector<mltp::thread> threads;
    for (int i = 1; i <= 100; i++) {
      threads.emplace_back([&, i] {
        try {
          try {
            throw i;
          } catch (int) {
            std::scoped_lock lock(mutex);
            mltp::this_thread::yield();
            throw;
          }
        } catch (int mine) {
          std::lock_guard lock(mutex);
          sum += mine == i ? i : 100000;
        }
      });
    }
    for (mltp::thread &thread : threads) thread.join();
  }
  std::cout << "dressed: the sum is " << sum << '\n';
  return sum == 5050 ? 0 : 1;
}
