/* SPDX-License-Identifier: Apache-2.0 */
#include "coord/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int mt_socket_of_user(char path[MT_SOCKET_PATH]) {
  const char *directory = secure_getenv("XDG_RUNTIME_DIR");
  if (directory == NULL || directory[0] != '/') return ENOENT;
  int length = snprintf(path, MT_SOCKET_PATH, "%s/mltpd.sock", directory);
  return length < MT_SOCKET_PATH ? 0 : ENAMETOOLONG;
}
