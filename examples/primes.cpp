/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of sieves, in C++: each thread keeps the first number it gets, a prime, and passes on
 * what that does not divide. */
#include <functional>
#include <iostream>
#include <memory>
#include <mltp/mltp.hpp>
#include <optional>
#include <vector>

using Numbers = mltp::channel<int>;

constexpr int kPrimes = 500;

/* One link of the chain. */
void sieve(Numbers &in, Numbers &out, int &prime) {
  const std::optional<int> first = in.receive();
  if (!first) return; /* closed before anything came */
  prime = *first;
  for (const int number : in) {
    if (number % prime != 0 && !out.send(number)) break;
  }
  out.close();
}

// NOLINTNEXTLINE(bugprone-exception-escape): then it ends with a message, as it should
int main() {
  const mltp::runtime runtime; /* first, so that it ends last */
  std::vector<std::unique_ptr<Numbers>> links;
  for (int i = 0; i <= kPrimes; i++) links.push_back(std::make_unique<Numbers>(64));
  links.back()->close(); /* what comes out of the last one is not wanted */

  std::vector<int> primes(kPrimes);
  std::vector<mltp::thread> sieves;
  sieves.reserve(kPrimes);
  for (int i = 0; i < kPrimes; i++) {
    sieves.emplace_back(sieve, std::ref(*links[i]), std::ref(*links[i + 1]), std::ref(primes[i]));
  }
  for (int number = 2; number < 3600; number++) links.front()->send(number);
  links.front()->close();
  for (mltp::thread &thread : sieves) thread.join();

  std::cout << "primes: number " << kPrimes << " is " << primes.back() << '\n';
  return primes.back() == 3571 ? 0 : 1;
}
