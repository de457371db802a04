// SPDX-License-Identifier: Apache-2.0
// What C++ has for threads, in ranks: the rank waits for results of its own threads, which wait for
// messages of other ranks. Rank after rank gets its result, the last one sends first.
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

int rank, size;
thread_local std::string local = "fresh";

int next() { return (rank + 1) % size; }
int before() { return (rank + size - 1) % size; }

int receive() {
  int value = -1;
  MPI_Recv(&value, 1, MPI_INT, next(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return value;
}

void send() { MPI_Send(&rank, 1, MPI_INT, before(), 0, MPI_COMM_WORLD); }

// The result comes to one rank after another: first to that before the one that sends first.
template <class Wait>
void chain(Wait wait) {
  if (rank == 0) send();
  CHECK(wait() == next());
  if (rank != 0) send();
}

void tasks() {
  auto result = std::async(std::launch::async, receive);
  chain([&] { return result.get(); });
}

void promises() {
  std::promise<int> promise;
  auto result = promise.get_future();
  std::thread thread([&] { promise.set_value(receive()); });
  chain([&] { return result.get(); });
  thread.join();
}

void conditions() {
  std::mutex mutex;
  std::condition_variable came;
  int value = -1;
  std::thread thread([&] {
    int received = receive();
    std::lock_guard<std::mutex> lock(mutex);
    value = received;
    came.notify_one();
  });
  chain([&] {
    std::unique_lock<std::mutex> lock(mutex);
    CHECK(came.wait_for(lock, std::chrono::hours(1), [&] { return value >= 0; }));
    return value;
  });
  thread.join();
}

// A thread starts with thread-locals of its own, and its exceptions are its own.
void threads() {
  std::vector<std::thread> all;
  std::latch ready(4);
  local = "changed";
  for (int i = 0; i < 4; i++)
    all.emplace_back([&, i] {
      ready.arrive_and_wait();
      try {
        local += std::to_string(i);
        throw std::runtime_error(local);
      } catch (const std::exception &error) {
        int sent = i, got = -1;
        MPI_Sendrecv(&sent, 1, MPI_INT, next(), i, &got, 1, MPI_INT, before(), i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(got == i && error.what() == "fresh" + std::to_string(i));
      }
    });
  for (auto &thread : all) thread.join();
  CHECK(local == "changed");
}

// An exception that is kept over a wait, and thrown again.
void kept() {
  std::exception_ptr error;
  int got = -1;
  try {
    throw rank;
  } catch (...) {
    error = std::current_exception();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  try {
    std::rethrow_exception(error);
  } catch (int value) {
    got = value;
  }
  CHECK(got == rank && std::uncaught_exceptions() == 0);
  CHECK(std::regex_match(std::to_string(rank), std::regex("[0-9]+")));
}

}  // namespace

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  for (int i = 0; i < 10; i++) {
    tasks();
    promises();
    conditions();
    threads();
    kept();
  }
  MPI_Finalize();
  return 0;
}
