/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about the library itself. */
#include "base/options.h"
#include "core/vp/tuned.h"
#include "mltp/debug.h"

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *mltp_version(void) {
  return VERSION(MLTP_VERSION_MAJOR, MLTP_VERSION_MINOR, MLTP_VERSION_PATCH);
}

void mltp_options(int fd) { mt_options_print(fd); }

void mltp_options_measured(int fd) { mt_tuning_print(fd); }
