/* SPDX-License-Identifier: Apache-2.0 */
/* The one clock everything is measured with. */
#include <time.h>

#include "os/os.h"

uint64_t os_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void os_nap(uint64_t ns) {
  struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}
