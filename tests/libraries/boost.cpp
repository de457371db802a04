/* SPDX-License-Identifier: Apache-2.0 */
// Boost's serialization keeps a register of types for the process; with filesystem.
#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>
#include <boost/filesystem.hpp>
#include <boost/serialization/export.hpp>
#include <boost/serialization/vector.hpp>
#include <fstream>
#include <memory>

#include "work.h"

struct base {
  virtual ~base() = default;
  virtual double value() const { return 0; }
  template <class archive>
  void serialize(archive &, unsigned) {}
};

struct derived : base {
  std::vector<double> numbers;
  double value() const override {
    double sum = 0;
    for (double number : numbers) sum += number;
    return sum;
  }
  template <class archive>
  void serialize(archive &to, unsigned) {
    to &boost::serialization::base_object<base>(*this);
    to & numbers;
  }
};
BOOST_CLASS_EXPORT(derived)

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  namespace fs = boost::filesystem;
  fs::path folder = fs::path(argv[1]) / ("boost." + std::to_string(rank)), file = folder / "object";
  fs::create_directories(folder);
  auto *written = new derived;
  for (int i = 0; i < 100; i++) written->numbers.push_back(i * 0.25 + rank);
  work_mix();
  {
    std::ofstream stream(file.string());
    boost::archive::text_oarchive archive(stream);
    const base *object = written;
    archive << object;
  }
  work_mix();
  base *read = nullptr;
  {
    std::ifstream stream(file.string());
    boost::archive::text_iarchive archive(stream);
    archive >> read;
  }
  double result = read->value() + static_cast<double>(fs::file_size(file));
  delete written;
  delete read;
  fs::remove_all(folder);
  return work_end(result);
}
