// SPDX-License-Identifier: Apache-2.0
// MPI from C++: each rank counts words of its part of a text; the counts are merged on rank 0.
// Standard containers, exceptions and iostreams work in ranks as in processes.
// usage: words
#include <mpi.h>

#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

static const char text[] =
    "the quick brown fox jumps over the lazy dog and the dog sleeps while the fox runs over the "
    "hill";

static std::map<std::string, int> count(int rank, int size) {
  std::map<std::string, int> words;
  std::istringstream in(text);
  std::string word;
  for (int n = 0; in >> word; n++)
    if (n % size == rank) words[word]++;
  return words;
}

static std::string packed(const std::map<std::string, int> &words) {
  std::ostringstream out;
  for (const auto &[word, number] : words) out << word << ' ' << number << ' ';
  return out.str();
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  const std::string own = packed(count(rank, size));
  const int length = static_cast<int>(own.size());
  std::vector<int> lengths(size), begins(size + 1);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) begins[i + 1] = begins[i] + lengths[i];
  std::string all(rank == 0 ? begins[size] : 0, ' ');
  MPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), begins.data(), MPI_CHAR, 0,
              MPI_COMM_WORLD);

  if (rank == 0) {
    std::map<std::string, int> words;
    std::istringstream in(all);
    std::string word;
    for (int number; in >> word >> number;) words[word] += number;
    for (const auto &[name, number] : words)
      if (number > 1) std::cout << name << ": " << number << '\n';
  }
  MPI_Finalize();
}
