/* SPDX-License-Identifier: Apache-2.0 */
/* The one clock everything is measured with, and one that stands while others run. */
#include <sys/resource.h>
#include <time.h>

#include "os/os.h"

static uint64_t read_clock(clockid_t clock) {
  struct timespec ts;
  clock_gettime(clock, &ts);
  return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t os_now(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t os_cpu_time(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

uint64_t os_thread_cpu_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

uint64_t os_thread_taken(void) {
  struct rusage usage = {0};
  getrusage(RUSAGE_THREAD, &usage);
  return (uint64_t)usage.ru_nivcsw;
}

void os_nap(uint64_t ns) {
  struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}
