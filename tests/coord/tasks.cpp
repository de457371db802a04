// SPDX-License-Identifier: Apache-2.0
/* A program of oneTBB that knows nothing of MLTP: tasks WAIT. In each kind of work a piece waits
 * until another piece runs beside it, at most WAIT milliseconds. Prints for each kind its name, the
 * most pieces that ran at a time, and whether all pieces ran. */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>

#include <oneapi/tbb.h>

enum { PIECES = 4 };

static std::chrono::milliseconds wait;
static std::atomic<int> running, most, done;

static void piece() {
  int now = ++running, seen = most;
  while (seen < now && !most.compare_exchange_weak(seen, now)) {
  }
  auto end = std::chrono::steady_clock::now() + wait;
  while (most < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  --running;
  done++;
}

static void tell(const char *name, const std::function<void()> &work, int pieces = PIECES) {
  most = done = 0;
  work();
  std::printf("%s %d %s\n", name, most.load(), done == pieces ? "right" : "wrong");
}

static void loop() {
  oneapi::tbb::parallel_for(0, +PIECES, [](int) { piece(); });
}

static void reduction() {
  auto sum = oneapi::tbb::parallel_reduce(
      oneapi::tbb::blocked_range<int>(0, PIECES, 1), 0,
      [](const oneapi::tbb::blocked_range<int> &range, int before) {
        piece();
        return before + static_cast<int>(range.size());
      },
      std::plus<>());
  if (sum != PIECES) done = -1;
}

static void group() {
  oneapi::tbb::task_group tasks;
  for (int i = 0; i < PIECES; i++) tasks.run(piece);
  tasks.wait();
}

static void pipeline() {
  int begun = 0;
  auto input = [&begun](oneapi::tbb::flow_control &control) {
    if (begun == PIECES) control.stop();
    return begun++;
  };
  oneapi::tbb::parallel_pipeline(
      PIECES,
      oneapi::tbb::make_filter<void, int>(oneapi::tbb::filter_mode::serial_in_order, input) &
          oneapi::tbb::make_filter<int, void>(oneapi::tbb::filter_mode::parallel,
                                              [](int) { piece(); }));
}

static void graph() {
  oneapi::tbb::flow::graph all;
  oneapi::tbb::flow::function_node<int> node(all, oneapi::tbb::flow::unlimited,
                                             [](int) { piece(); });
  for (int i = 0; i < PIECES; i++) node.try_put(i);
  all.wait_for_all();
}

/* Only the thread that throws has to see its exception; the other pieces may be left out. */
static void exception() {
  try {
    oneapi::tbb::parallel_for(0, +PIECES, [](int i) {
      piece();
      if (i == 0) throw std::runtime_error("thrown in a task");
    });
  } catch (const std::runtime_error &) {
    done = PIECES;
  }
}

/* A limit of the program's own holds, whatever the grant is. */
static void own_limit() {
  oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism, 1);
  auto before = wait;
  wait = std::chrono::milliseconds(20);
  loop();
  wait = before;
}

int main(int argc, char **argv) {
  wait = std::chrono::milliseconds(argc > 1 ? std::atoi(argv[1]) : 20);
  tell("loop", loop);
  tell("reduction", reduction);
  tell("group", group);
  tell("pipeline", pipeline);
  tell("graph", graph);
  tell("exception", exception);
  tell("own_limit", own_limit);
  return 0;
}
