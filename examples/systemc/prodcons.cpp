// SPDX-License-Identifier: Apache-2.0
// A producer and a consumer over four channels with a double handshake, and a monitor that ends the
// simulation: listing 1 of the ContextThreads report, in SystemC.
//
//   g++ -O2 prodcons.cpp $(pkg-config --cflags --libs systemc) -o prodcons
//   time ./prodcons 100000
//   time LD_PRELOAD=libmltp-systemc.so ./prodcons 100000
#include <cstdlib>
#include <iostream>
#include <systemc>

using sc_core::sc_event;
using sc_core::SC_NS;
using sc_core::SC_ZERO_TIME;

// The sender continues when the receiver has come, and the receiver when there is something; both
// in the delta cycle after they have met. With the producer's wait for time a value takes four
// waits.
template <class T>
class double_handshake {
 public:
  void send(T value) {
    value_ = value;
    offer_ = true;
    offered_.notify(SC_ZERO_TIME);
    wait(taken_);
  }
  T receive() {
    if (!offer_) wait(offered_);
    offer_ = false;
    taken_.notify(SC_ZERO_TIME);
    wait(taken_);
    return value_;
  }

 private:
  sc_event offered_, taken_;
  T value_{};
  bool offer_ = false;
};

struct prodcons : sc_core::sc_module {
  double_handshake<char> c;
  double_handshake<short> s;
  double_handshake<int> i;
  double_handshake<long long> l;
  sc_event done;
  const long iterations;
  long long sum = 0;

  SC_HAS_PROCESS(prodcons);
  prodcons(const sc_core::sc_module_name &name, long n) : sc_module(name), iterations(n) {
    SC_THREAD(producer);
    SC_THREAD(consumer);
    SC_THREAD(monitor);
  }

  void producer() {
    char a = 42;
    short b = 42;
    int d = 42;
    long long e = 42;
    for (long n = 0; n < iterations; n++) {
      wait(10, SC_NS);
      c.send(a++);
      wait(10, SC_NS);
      s.send(b++);
      wait(10, SC_NS);
      i.send(d++);
      wait(10, SC_NS);
      l.send(e++);
    }
  }

  void consumer() {
    for (long n = 0; n < iterations; n++) {
      sum += c.receive();
      sum += s.receive();
      sum += i.receive();
      sum += l.receive();
    }
    done.notify();
  }

  void monitor() {
    wait(done);
    std::cout << sc_core::sc_time_stamp() << ": " << iterations << " iterations made the sum "
              << sum << '\n';
    sc_core::sc_stop();
  }
};

int sc_main(int argc, char **argv) {
  prodcons top("top", argc > 1 ? std::atol(argv[1]) : 1000);
  sc_core::sc_start();
  return 0;
}
