// SPDX-License-Identifier: Apache-2.0
// Processes that multiply, created and joined in groups: listing 2 of the ContextThreads report, in
// SystemC. There are a hundred processes for each turn. As in the listing each of the ten numbers
// is multiplied by the first process that gets it. prodcons.cpp says how to build and run it.
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <cstdlib>
#include <iostream>
#include <systemc>

namespace {

constexpr int multiplications = 1000;
constexpr int groups[] = {1, 7, 9, 3, 8, 4, 2, 5, 6, 10, 1, 7, 9, 3, 8, 4, 2, 5, 6};
constexpr const char *names[] = {"fmul0", "fmul1", "fmul2", "fmul3", "fmul4",
                                 "fmul5", "fmul6", "fmul7", "fmul8", "fmul9"};

struct tfmul : sc_core::sc_module {
  const long turns;
  double product[10];
  int multiplied[10] = {};

  SC_HAS_PROCESS(tfmul);
  tfmul(const sc_core::sc_module_name &name, long n) : sc_module(name), turns(n) {
    for (double &f : product) f = 1.2;
    SC_THREAD(run);
  }

  void multiply(int which) {
    for (int &i = multiplied[which]; i < multiplications; i++) product[which] *= 1.1;
  }

  void run() {
    for (long turn = 0; turn < turns; turn++)
      for (int size : groups) {
        sc_core::sc_join all;
        for (int which = 0; which < size; which++)
          all.add_process(sc_core::sc_spawn(sc_bind(&tfmul::multiply, this, which), names[which]));
        all.wait();
        wait(sc_core::SC_ZERO_TIME);  // SystemC frees processes at the end of a delta cycle
      }
    for (double f : product) std::cout << f << '\n';
    std::cout << turns * 100 << " processes" << '\n';
  }
};

}  // namespace

int sc_main(int argc, char **argv) {
  tfmul top("top", argc > 1 ? std::atol(argv[1]) : 10);
  sc_core::sc_start();
  return 0;
}
