/* SPDX-License-Identifier: Apache-2.0 */
/* The echo server of `mltp-bench io` on Boost.Asio: callbacks, one thread for each CPU. */
#include <array>
#include <utility> /* Boost.Asio 1.74 forgets it */

#include <boost/asio.hpp>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using asio::ip::tcp;

class session : public std::enable_shared_from_this<session> {
 public:
  explicit session(tcp::socket socket) : socket_(std::move(socket)) {}

  void read() {
    socket_.async_read_some(asio::buffer(data_),
                            [self = shared_from_this()](auto error, auto count) {
                              if (!error) self->write(count);
                            });
  }

 private:
  void write(std::size_t count) {
    asio::async_write(socket_, asio::buffer(data_, count),
                      [self = shared_from_this()](auto error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  tcp::socket socket_;
  std::array<char, 4096> data_;
};

static void accept(tcp::acceptor &acceptor) {
  acceptor.async_accept([&acceptor](auto error, tcp::socket socket) {
    if (error) return;
    std::make_shared<session>(std::move(socket))->read();
    accept(acceptor);
  });
}

static void serve() {
  const unsigned cpus = std::max(1u, std::thread::hardware_concurrency());
  asio::io_context context(static_cast<int>(cpus));
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  acceptor.listen(4096);
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  accept(acceptor);
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < cpus; i++) threads.emplace_back([&] { context.run(); });
  context.run();
  for (auto &thread : threads) thread.join();
}

int main() {
  try {
    serve();
  } catch (...) {
    std::fputs("echo server: cannot listen\n", stderr);
    return 1;
  }
}
