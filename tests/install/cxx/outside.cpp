/* SPDX-License-Identifier: Apache-2.0 */
/* The headers serve C++: a lambda is a thread, an exception stays in the thread that threw it. */
#include <mltp/mltp.h>

#include <iostream>
#include <stdexcept>
#include <string>

int main() {
  if (mltp_init(0) != 0) return 1;
  std::string caught;
  mltp_t *thread = nullptr;
  const int error = mltp_create(
      &thread, nullptr,
      [](void *text) -> void * {
        try {
          throw std::runtime_error("caught here");
        } catch (const std::exception &error) {
          *static_cast<std::string *>(text) = error.what();
        }
        return nullptr;
      },
      &caught);
  if (error != 0 || mltp_join(thread, nullptr) != 0 || mltp_finalize() != 0) return 1;
  std::cout << "outside: MLTP " << mltp_version() << ", " << caught << '\n';
  return caught == "caught here" ? 0 : 1;
}
