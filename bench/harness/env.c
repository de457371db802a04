/* SPDX-License-Identifier: Apache-2.0 */
/** @file env.c The machine and the moment a measurement belongs to. */
#include <gnu/libc-version.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "commit.h"
#include "report.h"

/** The processor's name, family and model as the kernel gives them, since virtual machines have
 * names that say little; its architecture where the kernel gives no name. */
static json_t *cpu_name(const struct utsname *uts) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256], name[200] = "";
  int family = 0, model = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL && line[0] != '\n') {
    if (sscanf(line, "model name : %199[^\n]", name) == 1) continue;
    if (sscanf(line, "cpu family : %d", &family) == 1) continue;
    sscanf(line, "model : %d", &model);
  }
  if (file != NULL) fclose(file);
  if (name[0] == '\0') return json_string(uts->machine);
  return json_sprintf("%s (family %d, model %d)", name, family, model);
}

json_t *bench_env(void) {
  struct utsname uts;
  uname(&uts);
  double load[3] = {0};
  getloadavg(load, 3);
  char date[32];
  const time_t now = time(NULL);
  struct tm tm;
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
  return json_pack("{s:o, s:i, s:s, s:[f,f,f], s:s, s:{s:s, s:s, s:s, s:s}, s:s}", "cpu",
                   cpu_name(&uts), "cpus", mltp_cpus(), "kernel", uts.release, "load", load[0],
                   load[1], load[2], "commit", BENCH_COMMIT, "versions", "mltp", mltp_version(),
                   "libc", gnu_get_libc_version(), "compiler", __VERSION__, "jansson",
                   JANSSON_VERSION, "date", date);
}
