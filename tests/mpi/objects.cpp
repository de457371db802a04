// SPDX-License-Identifier: Apache-2.0
// C++: each rank constructs and destroys its own static objects; exceptions pass through MPI calls.
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

namespace {

struct Counted {
  static int alive;
  std::vector<int> data;
  explicit Counted(int n) : data(static_cast<std::size_t>(n), n) { alive++; }
  ~Counted() {
    // its rank's own: destroyed once, while its data are still there
    if (--alive != 0 || data.size() != 5) _Exit(1);
  }
};
int Counted::alive = 0;
Counted global(5);

thread_local std::string name = "nobody";

std::string &late() {
  static std::string text = "late";
  return text;
}

void fail(int rank) { throw std::runtime_error("rank " + std::to_string(rank)); }

// While an exception is handled, other ranks throw theirs.
void catch_across(int rank) {
  try {
    fail(rank);
  } catch (const std::exception &) {
    MPI_Barrier(MPI_COMM_WORLD);
    try {
      throw;
    } catch (const std::runtime_error &again) {
      CHECK(again.what() == "rank " + std::to_string(rank));
    }
  }
}

// How a stream formats is the rank's own business.
void format(int rank) {
  std::cout << std::setprecision(rank + 1) << std::setw(rank + 2);
  if (rank % 2 == 0) std::cout << std::hex;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(std::cout.precision() == rank + 1 && std::cout.width() == rank + 2);
  CHECK(((std::cout.flags() & std::ios::hex) != 0) == (rank % 2 == 0));
  std::cout << std::setw(0) << std::dec;
}

}  // namespace

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  CHECK(Counted::alive == 1 && global.data.size() == 5);
  CHECK(name == "nobody");
  name = std::to_string(rank);
  late() += std::to_string(rank);
  for (int i = 0; i < 10; i++) catch_across(rank);
  CHECK(name == std::to_string(rank) && late() == "late" + std::to_string(rank));
  format(rank);
  if (rank == 0) std::cout << "objects of " << size << " ranks" << std::endl;
  MPI_Finalize();
  return 0;
}
