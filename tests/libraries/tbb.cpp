/* SPDX-License-Identifier: Apache-2.0 */
// oneTBB keeps workers and limits for the process; Eigen solves in the tasks.
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_reduce.h>

#include <Eigen/Dense>

#include "work.h"

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1 + rank % 3);
  tbb::enumerable_thread_specific<int> solved(0);
  double sum = 0;
  for (int step = 0; step < 3; step++) {
    work_mix();
    sum += tbb::parallel_deterministic_reduce(
        tbb::blocked_range<int>(0, 40, 5), 0.0,
        [&](const tbb::blocked_range<int> &range, double start) {
          for (int i = range.begin(); i < range.end(); i++) {
            Eigen::MatrixXd matrix = Eigen::MatrixXd::Identity(12, 12) * (i + rank + 2.0);
            for (int k = 0; k < 144; k++) matrix(k / 12, k % 12) += (k * (i + 1) % 11) / 8.0;
            Eigen::VectorXd right = Eigen::VectorXd::LinSpaced(12, 0, step + 1.0);
            start += matrix.partialPivLu().solve(right).sum();
            solved.local()++;
          }
          return start;
        },
        [](double one, double other) { return one + other; });
  }
  sum += tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return work_end(sum + solved.combine([](int one, int other) { return one + other; }));
}
