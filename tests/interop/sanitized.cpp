/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program for sanitizers, over a library that was built without. sanitized.py names the
 * error that it commits; without one it is right. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mltp/mltp.hpp>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int kThreads = 64, kRounds = 20;
long sum;
mltp::mutex mutex;

int dig(int depth) {
  char frame[200];
  std::memset(frame, depth, sizeof frame);
  if (depth == 0) mltp_yield();
  return depth == 0 ? frame[3] : dig(depth - 1) + frame[depth % 200];
}

void throw_and_catch(const std::string &text) {
  try {
    throw std::runtime_error(text);
  } catch (const std::runtime_error &error) {
    mltp_yield();
    if (text != error.what()) std::abort();
  }
}

void work(int number) {
  const auto numbers = std::make_unique<std::vector<int>>(100, number);
  for (int round = 0; round < kRounds; round++) {
    mltp_yield();
    {
      const std::lock_guard lock(mutex);
      sum += (*numbers)[static_cast<size_t>(round)];
      mltp_yield();
    }
    dig(20);
    if (round % 4 == 0) throw_and_catch("round " + std::string(50, 'y'));
    if (round == 10) mltp_sleep(10000);
  }
}

void leave_frames_behind() {
  char frame[3000];
  std::memset(frame, 1, sizeof frame);
  mltp_yield();
  mltp_exit(frame + 1);
}

void pass_the_end_of_a_block() {
  volatile char *block = static_cast<char *>(std::malloc(10));
  mltp_yield();
  block[10] = 1;
  std::free(const_cast<char *>(block));
}

void pass_the_end_of_a_frame() {
  volatile char frame[10];
  volatile int end = 10;
  mltp_yield();
  frame[end] = 1;
}

void leak() {
  void *volatile block = std::malloc(123);
  mltp_yield();
  block = nullptr;
}

/* What a thread holds at the end is no leak. */
void exit_while_a_thread_holds_memory() {
  static mltp_sem_t never = MLTP_SEM_INIT(0);
  mltp::thread holder([] {
    const auto text = std::make_unique<std::string>(100, 'z');
    mltp_sem_wait(&never);
  });
  mltp_sleep(10000000);
  holder.detach();
  std::exit(0);
}

void in_a_thread(void (*func)()) {
  mltp::thread thread(func);
  thread.join();
}

}  // namespace

int main(int count, char **arguments) {
  const std::string error = count > 1 ? arguments[1] : "none";
  mltp_init_attr_t attr = MLTP_INIT_ATTR_INIT;
  if (mltp_init_with(&attr) != 0) return 3; /* a message has said why */
  std::vector<mltp::thread> threads;
  for (int i = 0; i < kThreads; i++) threads.emplace_back(work, i);
  for (mltp::thread &thread : threads) thread.join();
  if (sum != kThreads * (kThreads - 1) / 2 * kRounds) return 1;
  if (error == "exit") {
    in_a_thread(leave_frames_behind);
    in_a_thread([] { dig(60); });
  }
  if (error == "block") in_a_thread(pass_the_end_of_a_block);
  if (error == "frame") in_a_thread(pass_the_end_of_a_frame);
  if (error == "leak") in_a_thread(leak);
  if (error == "held") exit_while_a_thread_holds_memory();
  mltp_finalize();
  return 0;
}
