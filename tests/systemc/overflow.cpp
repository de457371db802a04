// SPDX-License-Identifier: Apache-2.0
// A process that calls itself without end.
#include <iostream>
#include <systemc>

struct top : sc_core::sc_module {
  SC_CTOR(top) {
    SC_THREAD(shallow);
    SC_THREAD(deep);
    set_stack_size(100 << 10);
  }
  void shallow() {
    while (true) wait(1, sc_core::SC_NS);
  }
  void deep() {
    wait(5, sc_core::SC_NS);
    std::cout << down(1) << std::endl;
  }
  static int down(int depth) {
    volatile char frame[200];
    frame[0] = static_cast<char>(depth);
    return depth < 0 ? frame[0] : down(depth + 1) + frame[0];
  }
};

int sc_main(int, char **) {
  top t("top");
  sc_core::sc_start();
  return 0;
}
