/* SPDX-License-Identifier: Apache-2.0 */
/* mltp dump where the libraries it needs were not there to build it. */
#include "dump.h"

#include "message.h"

int dump(pid_t pid, bool json) {
  (void)json;
  message("cannot dump process %d: built without libdw (install libdw-dev and build again)",
          (int)pid);
  return 1;
}
