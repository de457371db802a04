/* SPDX-License-Identifier: Apache-2.0 */
/* mltp.hpp: channels of plain elements, and of elements that can only be moved. */
#include <atomic>
#include <memory>
#include <mltp/mltp.hpp>
#include <ranges>
#include <string>
#include <vector>

#include "support/support.h"

using namespace std::chrono_literals;
using mltp::channel_status;

namespace {

constexpr int kThreads = 4;

struct Plain {
  int number;
  char text[20];
};

/* Cannot be copied, nor made of nothing; counts live instances. */
class Owned {
 public:
  static inline std::atomic<int> alive = 0;
  explicit Owned(int number) : number_(number) { alive++; }
  Owned(Owned &&other) noexcept : number_(std::exchange(other.number_, -1)) { alive++; }
  ~Owned() { alive--; }
  int number() const { return number_; }

 private:
  int number_;
};

int number_of(const Plain &plain) { return plain.number; }
int number_of(const Owned &owned) { return owned.number(); }
template <class T>
T make(int number) {
  if constexpr (std::is_same_v<T, Plain>)
    return Plain{number, "text"};
  else
    return T(number);
}

static_assert(std::ranges::input_range<mltp::channel<Plain> &>);
static_assert(std::ranges::input_range<mltp::channel<std::unique_ptr<int>> &>);

template <class T>
void every_element_arrives_once(std::size_t capacity) {
  const int rounds = scaled(500);
  mltp::channel<T> channel(capacity, "numbers");
  std::atomic<long> sum = 0, count = 0;
  std::vector<mltp::thread> receivers, senders;
  for (int i = 0; i < kThreads; i++) {
    receivers.emplace_back(mltp::attributes().bound(i == 0), [&] {
      for (const T &element : channel) {
        sum += number_of(element);
        count++;
      }
    });
    senders.emplace_back([&, i] {
      for (int j = 0; j < rounds; j++) CHECK(channel.send(make<T>(i * rounds + j)));
    });
  }
  for (mltp::thread &sender : senders) sender.join();
  channel.close();
  for (mltp::thread &receiver : receivers) receiver.join();
  const long total = kThreads * rounds;
  CHECK_EQUAL(count.load(), total);
  CHECK_EQUAL(sum.load(), total * (total - 1) / 2);
}

void elements_arrive() {
  for (std::size_t capacity : {0, 1, 16}) {
    check_case("capacity %zu", capacity);
    every_element_arrives_once<Plain>(capacity);
    every_element_arrives_once<Owned>(capacity);
  }
  CHECK_EQUAL(Owned::alive.load(), 0);
}

void a_send_that_fails_leaves_its_element() {
  mltp::channel<Owned> channel(1);
  Owned element(7);
  CHECK(channel.try_send(Owned(1)) == channel_status::success);
  CHECK(channel.try_send(std::move(element)) == channel_status::unavailable);
  CHECK_EQUAL(element.number(), 7); /* NOLINT(bugprone-use-after-move) */
  CHECK(channel.send_for(std::move(element), 1ms) == channel_status::unavailable);
  CHECK_EQUAL(element.number(), 7);
  channel.close();
  channel.close();
  CHECK(channel.try_send(std::move(element)) == channel_status::closed);
  CHECK(!channel.send(std::move(element)));
  CHECK_EQUAL(element.number(), 7);
  CHECK_EQUAL(channel.size(), 1);
  CHECK_EQUAL(channel.capacity(), 1);
}

void a_receive_tells_empty_from_closed() {
  mltp::channel<std::unique_ptr<int>> channel(2);
  std::optional<std::unique_ptr<int>> element;
  CHECK(channel.try_receive(element) == channel_status::unavailable);
  CHECK(channel.receive_for(element, 1ms) == channel_status::unavailable);
  const auto end = std::chrono::system_clock::now() + 2ms;
  CHECK(channel.receive_until(element, end) == channel_status::unavailable);
  CHECK(std::chrono::system_clock::now() >= end);
  CHECK(channel.send(std::make_unique<int>(3)));
  CHECK(channel.send_for(std::make_unique<int>(4), 1h) == channel_status::success);
  channel.close();
  CHECK(channel.receive_for(element, 1h) == channel_status::success);
  CHECK_EQUAL(**element, 3);
  element = channel.receive();
  CHECK(element.has_value() && **element == 4);
  CHECK(!channel.receive().has_value());
  CHECK(channel.try_receive(element) == channel_status::closed);
}

void what_is_left_is_destroyed() {
  {
    mltp::channel<Owned> channel(4);
    for (int i = 0; i < 4; i++) CHECK(channel.send(Owned(i)));
    CHECK_EQUAL(Owned::alive.load(), 4);
  }
  CHECK_EQUAL(Owned::alive.load(), 0);
  mltp::channel<std::string> copies(1);
  const std::string text = "kept, and longer than a string holds in place";
  CHECK(copies.send(text));
  CHECK(copies.receive() == text);
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      TEST(elements_arrive),
      TEST(a_send_that_fails_leaves_its_element),
      TEST(a_receive_tells_empty_from_closed),
      TEST(what_is_left_is_destroyed),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
