// SPDX-License-Identifier: Apache-2.0
// mltp::descriptor: what the C calls move, with RAII, exceptions and the deadlines of <chrono>.
#include <mltp/cxx/io.hpp>
#include <mltp/mltp.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <system_error>

#include "support/support.h"

using namespace std::chrono_literals;
using mltp::descriptor;

static std::array<descriptor, 2> make_pipe() {
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  return {descriptor(ends[0]), descriptor(ends[1])};
}

static void descriptor_moves_bytes() {
  auto [in, out] = make_pipe();
  std::array<std::byte, 4> sent{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}, got{};
  mltp::jthread writer([&] {
    mltp_sleep(1000000);
    out.write(sent);
    out.reset();
  });
  CHECK_EQUAL(in.read(got), 4);
  CHECK(got == sent);
  CHECK_EQUAL(in.read(got), 0);
}

static void descriptor_closes_at_its_end() {
  int number;
  {
    auto ends = make_pipe();
    number = ends[0].native_handle();
    descriptor moved = std::move(ends[0]);
    CHECK(!ends[0]);
    CHECK_EQUAL(moved.native_handle(), number);
  }
  CHECK_EQUAL(fcntl(number, F_GETFD), -1);
}

static void descriptor_gives_up_in_time() {
  auto [in, out] = make_pipe();
  std::array<std::byte, 1> byte{};
  CHECK(!in.read_for(byte, 2ms).has_value());
  CHECK(!in.read_until(byte, std::chrono::system_clock::now() + 2ms).has_value());
  CHECK(out.write_for(byte, 1s));
  CHECK_EQUAL(in.read_for(byte, 10s).value_or(0), 1);
}

static void descriptor_throws_what_the_kernel_says() {
  auto [in, out] = make_pipe();
  std::array<std::byte, 1> byte{};
  int code = 0;
  try {
    out.read(byte);
  } catch (const std::system_error &error) {
    code = error.code().value();
  }
  CHECK_EQUAL(code, EBADF);
  try {
    descriptor::open("/nonexistent/file", O_RDONLY);
  } catch (const std::system_error &error) {
    code = error.code().value();
  }
  CHECK_EQUAL(code, ENOENT);
}

int main() {
  const struct CMUnitTest tests[] = {
      TEST(descriptor_moves_bytes),
      TEST(descriptor_closes_at_its_end),
      TEST(descriptor_gives_up_in_time),
      TEST(descriptor_throws_what_the_kernel_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
