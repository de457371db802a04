// SPDX-License-Identifier: Apache-2.0
// SystemC (libsystemc-dev). `mltp-bench systemc` runs this program as it is, and with our coroutine
// package preloaded.
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <systemc>

#include "peer.h"

namespace {

using sc_core::SC_ZERO_TIME;

constexpr int group = 10;
constexpr const char *names[group] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"};

// Its processes wait until a row needs them; a row ends when nothing more can happen.
struct model : sc_core::sc_module {
  sc_core::sc_event start_handshakes, start_groups, start_crowd, end_crowd, full, empty;
  uint64_t wanted = 0, done = 0;
  bool item = false;

  SC_CTOR(model) {
    SC_THREAD(producer);
    SC_THREAD(consumer);
    SC_THREAD(forker);
    SC_THREAD(crowd);
  }

  void producer() {
    while (true) {
      wait(start_handshakes);
      for (uint64_t i = 0; i < wanted; i += 2) {
        item = true;
        full.notify(SC_ZERO_TIME);
        while (item) wait(empty);
      }
    }
  }
  void consumer() {
    while (true) {
      while (!item) wait(full);
      item = false;
      done += 2;  // waits, one of each side
      empty.notify(SC_ZERO_TIME);
    }
  }

  void forker() {
    while (true) {
      wait(start_groups);
      for (uint64_t i = 0; i < wanted; i += group) {
        sc_core::sc_join all;
        for (const char *name : names) all.add_process(sc_core::sc_spawn([this] { done++; }, name));
        all.wait();
        wait(SC_ZERO_TIME);  // SystemC frees processes at the end of a delta cycle
      }
    }
  }

  void crowd() {
    wait(start_crowd);
    for (uint64_t i = 0; i < wanted; i++)
      sc_core::sc_spawn([this] {
        done++;
        wait(end_crowd);
      });
  }

  bool run(peer_run *run, sc_core::sc_event &start, uint64_t unit) {
    wanted = (run->ops + unit - 1) / unit * unit;
    done = 0;
    start.notify(SC_ZERO_TIME);
    sc_core::sc_start();
    run->ops = done;
    return done == wanted;
  }
};

model *the_model;

bool run_wait(peer_run *run) {
  peer_clock_start(run);
  bool good = the_model->run(run, the_model->start_handshakes, 2);
  peer_clock_stop(run);
  return good;
}

bool run_process(peer_run *run) {
  peer_clock_start(run);
  bool good = the_model->run(run, the_model->start_groups, group);
  peer_clock_stop(run);
  return good;
}

bool run_alive(peer_run *run) {
  peer_memory_start(run);
  bool good = the_model->run(run, the_model->start_crowd, 1);
  peer_memory_stop(run);
  return good;
}

const peer_row rows[] = {
    {"wait", run_wait, 10000, 0, 0},
    {"process", run_process, 1000, 0, 0},
    {"alive", run_alive, 0, 20000, 0},  // SystemC's own package can do some 30,000
    {nullptr, nullptr, 0, 0, 0},
};

void start(int) { sc_core::sc_start(SC_ZERO_TIME); }
void stop() {}

}  // namespace

int sc_main(int argc, char **argv) {
  the_model = new model("model");
  const peer self = {"systemc", SC_VERSION, 1, start, stop, rows};
  return peer_main(&self, argc, argv);
}
