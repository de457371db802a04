// SPDX-License-Identifier: Apache-2.0
// Processes that wait inside a catch block, and rethrow. Prints whose exception each gets.
#include <iostream>
#include <stdexcept>
#include <string>
#include <systemc>

struct top : sc_core::sc_module {
  SC_CTOR(top) {
    SC_THREAD(a);
    SC_THREAD(b);
    SC_THREAD(c);
  }
  void a() { rethrow("a", 3); }
  void b() { rethrow("b", 1); }
  void c() { rethrow("c", 2); }

  void rethrow(const std::string &name, int time) {
    for (int turn = 0; turn < 3; turn++) try {
        try {
          throw std::runtime_error("of " + name);
        } catch (...) {
          wait(time, sc_core::SC_NS);  // others throw and catch meanwhile
          throw;
        }
      } catch (const std::exception &e) {
        std::cout << sc_core::sc_time_stamp() << ": " << name << " got the one " << e.what()
                  << std::endl;
      }
  }
};

int sc_main(int, char **) {
  top t("top");
  try {
    throw std::runtime_error("of sc_main");
  } catch (...) {
    sc_core::sc_start();
    try {
      throw;
    } catch (const std::exception &e) {
      std::cout << "sc_main got the one " << e.what() << std::endl;
    }
  }
  return 0;
}
