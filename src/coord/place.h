/* SPDX-License-Identifier: Apache-2.0 */
/** @file place.h Where the sockets of daemons are. */
#ifndef MT_COORD_PLACE_H
#define MT_COORD_PLACE_H

#include <stddef.h>

enum { MT_SOCKET_PATH = 108 }; /**< sizeof sun_path */

/** The socket of the user's own daemon: $XDG_RUNTIME_DIR/mltpd.sock.
 * @return 0, ENOENT when the variable is not set, or ENAMETOOLONG. */
int mt_socket_of_user(char path[MT_SOCKET_PATH]);

/** The socket of the machine's daemon. */
#define MT_SOCKET_OF_MACHINE "/run/mltpd.sock"

#endif
