/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of sieves: each thread keeps the first number it gets, a prime, and passes on what
 * that does not divide. In C++: mltp::thread, a queue of mltp::mutex and condition_variable. */
#include <deque>
#include <iostream>
#include <memory>
#include <mltp/mltp.hpp>
#include <mutex>
#include <vector>

constexpr int kPrimes = 500;

/* Numbers on their way from one thread to the next; 0 is the last. */
class Pipe {
 public:
  void put(int number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return numbers_.size() < 64; });
    numbers_.push_back(number);
    changed_.notify_all();
  }

  int get() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !numbers_.empty(); });
    const int number = numbers_.front();
    numbers_.pop_front();
    changed_.notify_all();
    return number;
  }

 private:
  mltp::mutex mutex_;
  mltp::condition_variable changed_;
  std::deque<int> numbers_;
};

/* One link of the chain; out is null at its end. */
void sieve(Pipe &in, Pipe *out, int &prime) {
  prime = in.get();
  while (const int number = in.get()) {
    if (out != nullptr && number % prime != 0) out->put(number);
  }
  if (out != nullptr) out->put(0);
}

int main() {
  const mltp::runtime runtime; /* ends when all threads have */
  std::vector<Pipe> pipes(kPrimes);
  std::vector<int> primes(kPrimes);
  std::vector<mltp::thread> sieves;
  for (int i = 0; i < kPrimes; i++) {
    Pipe *next = i + 1 < kPrimes ? &pipes[i + 1] : nullptr;
    sieves.emplace_back(sieve, std::ref(pipes[i]), next, std::ref(primes[i]));
  }
  for (int number = 2; number < 3600; number++) pipes[0].put(number);
  pipes[0].put(0);
  for (mltp::thread &thread : sieves) thread.join();
  std::cout << "primes: number " << kPrimes << " is " << primes.back() << '\n';
  return primes.back() == 3571 ? 0 : 1;
}
