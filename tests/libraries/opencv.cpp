/* SPDX-License-Identifier: Apache-2.0 */
// OpenCV keeps threads for the process, and a random generator for each thread.
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "work.h"

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  cv::Mat image(96, 96, CV_8U), smooth, edges, labels;
  cv::setNumThreads(1 + rank % 3);
  cv::theRNG().state = 1000 + rank;
  work_mix();
  cv::randu(image, 0, 255);  // from the rank's state
  work_mix();
  cv::GaussianBlur(image, smooth, cv::Size(5, 5), 1.5);
  cv::Canny(smooth, edges, 50, 120);
  int parts = cv::connectedComponents(edges, labels);
  double sum = parts * 1000.0 + cv::sum(smooth)[0] + cv::countNonZero(edges);
  cv::Mat left(20, 20, CV_64F), right(20, 1, CV_64F), found;
  cv::theRNG().fill(left, cv::RNG::UNIFORM, -1.0, 1.0);
  work_mix();
  cv::theRNG().fill(right, cv::RNG::UNIFORM, -1.0, 1.0);
  left += cv::Mat::eye(20, 20, CV_64F) * 20;
  WORK(cv::solve(left, right, found, cv::DECOMP_LU));
  return work_end(sum + cv::sum(found)[0] + cv::getNumThreads());
}
