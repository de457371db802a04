// SPDX-License-Identifier: Apache-2.0
// What SystemC does to processes: starts, stops, kills, resets, suspends, throws into. All is
// printed on stdout with the time, so that two runs can be compared.
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <iostream>
#include <stdexcept>
#include <string>
#include <systemc>

using namespace sc_core;

static std::ostream &say() {
  return std::cout << sc_time_stamp() << " d" << sc_delta_count() << " "
                   << (sc_get_current_process_handle().valid()
                           ? sc_get_current_process_handle().name()
                           : "sc_main")
                   << ": ";
}

struct noisy {
  const char *what;
  explicit noisy(const char *w) : what(w) { say() << what << " made" << std::endl; }
  ~noisy() { say() << what << " unmade" << std::endl; }
};

struct top : sc_module {
  sc_clock clock{"clock", 4, SC_NS};
  sc_in<bool> edge{"edge"};
  sc_signal<bool> reset{"reset"};
  sc_signal<int> count{"count"};
  sc_event never, tick;
  sc_process_handle victim, restarted, sleeper, target;

  SC_CTOR(top) {
    edge(clock);
    SC_THREAD(waits_forever);
    victim = sc_get_current_process_handle();
    SC_THREAD(restarts);
    restarted = sc_get_current_process_handle();
    SC_THREAD(sleeps);
    sleeper = sc_get_current_process_handle();
    SC_THREAD(catches);
    target = sc_get_current_process_handle();
    SC_CTHREAD(counts, edge.pos());
    reset_signal_is(reset, true);
    SC_METHOD(watches);
    sensitive << count;
    dont_initialize();
    SC_THREAD(never_started);
    dont_initialize();
    SC_THREAD(commands);
  }

  void waits_forever() {
    noisy a("a local of the one to be killed");
    deep(20);
  }
  void deep(int levels) {
    if (levels > 0)
      deep(levels - 1);
    else
      wait(never);
  }
  void restarts() {
    noisy a("a local of the one that restarts");
    say() << "starts" << std::endl;
    wait(never);
  }
  void sleeps() {
    for (int i = 0; i < 12; i++) {
      wait(3, SC_NS);
      say() << "woke" << std::endl;
    }
  }
  void catches() {
    for (;;) try {
        wait(never);
      } catch (const std::exception &e) {
        say() << "was thrown " << e.what() << std::endl;
        wait(1, SC_NS);
        say() << "still has it: " << e.what() << std::endl;
      }
  }
  void counts() {
    count = 0;
    say() << "reset" << std::endl;
    wait();
    for (;;) {
      count = count + 1;
      wait(2);
    }
  }
  void watches() { say() << "count is " << count << std::endl; }
  void never_started() { say() << "must not be seen" << std::endl; }

  int child(int depth) {
    noisy a("a local of a child");
    if (depth > 0) {
      auto handle = sc_spawn([=] { child(depth - 1); });
      wait(handle.terminated_event());
    }
    wait(depth, SC_NS);
    return depth;
  }

  void commands() {
    wait(5, SC_NS);
    say() << "kill" << std::endl;
    victim.kill();
    say() << "reset" << std::endl;
    restarted.reset();
    say() << "suspend" << std::endl;
    sleeper.suspend();
    wait(9, SC_NS);
    sleeper.resume();
    say() << "throw" << std::endl;
    target.throw_it(std::runtime_error("the first"));
    wait(2, SC_NS);
    target.throw_it(std::runtime_error("the second"));
    reset = true;
    wait(9, SC_NS);
    reset = false;
    int result = 0;
    auto family = sc_spawn([this, &result] { result = child(3); });
    wait(family.terminated_event());
    say() << "the family made " << result << std::endl;
    sc_spawn([this] { killed_before_it_runs(); }).kill();
    auto suicide = sc_spawn([] {
      noisy a("a local of a suicide");
      sc_get_current_process_handle().kill();
    });
    wait(suicide.terminated_event());
    sc_join both;
    for (int i = 0; i < 2; i++) both.add_process(sc_spawn([this, i] { wait(i, SC_NS); }));
    both.wait();
    say() << "joined" << std::endl;
    sc_pause();
    wait(1, SC_NS);
    throw std::runtime_error("out of a process");
  }
  void killed_before_it_runs() { say() << "runs, though killed before" << std::endl; }
};

int sc_main(int, char **) {
  top t("top");
  try {
    sc_start(20, SC_NS);
    say() << "a slice has passed" << std::endl;
    sc_start();
    say() << "paused" << std::endl;
    sc_start();
  } catch (const std::exception &e) {
    say() << "caught " << std::string(e.what()).substr(0, 20) << std::endl;
  }
  sc_stop();
  return 0;
}
