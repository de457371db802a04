// SPDX-License-Identifier: Apache-2.0
// Processes that set a rounding mode and wait. Prints what each finds afterwards, sc_main, too.
#include <cfenv>
#include <iostream>
#include <systemc>

static const char *mode() {
  switch (std::fegetround()) {
    case FE_TONEAREST: return "to nearest";
    case FE_UPWARD: return "upward";
    case FE_DOWNWARD: return "downward";
    case FE_TOWARDZERO: return "toward zero";
    default: return "unknown";
  }
}

struct top : sc_core::sc_module {
  SC_CTOR(top) {
    SC_THREAD(up);
    SC_THREAD(down);
    SC_THREAD(inherits);
  }
  void up() { set("up", FE_UPWARD); }
  void down() { set("down", FE_DOWNWARD); }
  void inherits() { std::cout << "inherits: " << mode() << std::endl; }

  void set(const char *name, int round) {
    std::fesetround(round);
    for (int turn = 0; turn < 3; turn++) {
      wait(1, sc_core::SC_NS);
      // x87 and SSE have a mode each; volatile, or the compiler divides
      volatile long double three = 3;
      volatile double third = 3;
      std::cout << name << ": " << mode() << ", rounds 1/3 "
                << (3 * (1.0L / three) < 1 ? "down" : "up") << " and "
                << (1.0 / third > 0.33333333333333333 ? "up" : "down") << std::endl;
    }
  }
};

int sc_main(int, char **) {
  std::fesetround(FE_TOWARDZERO);
  top t("top");
  sc_core::sc_start();
  std::cout << "sc_main: " << mode() << std::endl;
  return 0;
}
