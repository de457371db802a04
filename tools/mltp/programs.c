/* SPDX-License-Identifier: Apache-2.0 */
/* An observer's side of mltpd (coord/proto.h). */
#include "programs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coord/place.h"
#include "message.h"
#include "os/unix.h"

enum { WAIT_MS = 2000, EXIT_FAILED = 1 };

union answer {
  struct mt_proto_message message;
  struct mt_proto_entry entry;
};

static int open_any(const char *where, struct os_socket *socket, char *path) {
  if (strcmp(where, "auto") != 0) {
    strncpy(path, where, MT_SOCKET_PATH - 1);
    return os_unix_connect(where, socket);
  }
  int error = mt_socket_of_user(path);
  if (error == 0) error = os_unix_connect(path, socket);
  if (error == 0) return 0;
  strcpy(path, MT_SOCKET_OF_MACHINE);
  return os_unix_connect(path, socket);
}

static bool keep(struct programs *p, const struct mt_proto_entry *entry) {
  if (p->count == p->room) {
    p->room = 2 * p->room + 64;
    struct mt_proto_entry *entries = reallocarray(p->entries, p->room, sizeof *entries);
    if (entries == NULL) return false;
    p->entries = entries;
  }
  p->entries[p->count++] = *entry;
  return true;
}

/* Entries and the end differ in size. @return 0 or an errno value; *end: no more entries come. */
static int read_one(const struct os_socket *socket, struct programs *p, uint32_t *from, bool *end) {
  union answer a;
  int fds[OS_DESCRIPTORS];
  int error = os_unix_receive(socket, &a, sizeof a, WAIT_MS, fds);
  if (error == EPROTO && a.message.kind == MT_PROTO_END) error = 0; /* it is shorter */
  if (error != 0) return error == EAGAIN ? ETIMEDOUT : error;
  if (a.message.magic != MT_PROTO_MAGIC || a.message.version != MT_PROTO_VERSION) return EPROTO;
  if (a.message.kind == MT_PROTO_REFUSED) return a.message.error;
  *end = a.message.kind == MT_PROTO_END;
  if (*end) {
    *from = a.message.most;
    p->cpus = a.message.weight;
    return 0;
  }
  if (a.message.kind != MT_PROTO_ENTRY) return EPROTO;
  a.entry.name[MT_PROTO_NAME - 1] = '\0';
  return keep(p, &a.entry) ? 0 : ENOMEM;
}

static int read_all(const struct os_socket *socket, struct programs *p) {
  uint32_t from = 0;
  do {
    struct mt_proto_message list = {
        MT_PROTO_MAGIC, MT_PROTO_VERSION, MT_PROTO_LIST, 0, from, 0, 0, ""};
    bool end = false;
    int error = os_unix_send(socket, &list, sizeof list);
    while (error == 0 && !end) error = read_one(socket, p, &from, &end);
    if (error != 0) return error;
  } while (from != 0);
  return 0;
}

int programs_read(const char *where, struct programs *programs) {
  struct os_socket socket = {.fd = -1};
  char path[MT_SOCKET_PATH] = "";
  *programs = (struct programs){0};
  if (strcmp(where, "off") == 0) {
    message(
        "cannot ask mltpd: MLTP_COORDINATOR is off (set it to auto, or to the path of a socket)");
    return EXIT_FAILED;
  }
  int error = open_any(where, &socket, path);
  if (error != 0) {
    message(
        "cannot reach mltpd at %s: %s (start it: mltpd, or systemctl --user start mltpd.socket)",
        path, strerror(error));
    return EXIT_FAILED;
  }
  error = read_all(&socket, programs);
  os_unix_close(&socket);
  if (error == 0) return 0;
  message("no answer of mltpd at %s: %s (is it stopped, or of another version?)", path,
          strerror(error));
  programs_free(programs);
  return EXIT_FAILED;
}

void programs_free(struct programs *programs) {
  free(programs->entries);
  *programs = (struct programs){0};
}
