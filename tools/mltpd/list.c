/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/socket.h>

#include "base/atomic.h"
#include "daemon.h"

enum { ENTRIES_AT_ONCE = 64 };

static bool send_whole(int socket, const void *message, size_t size) {
  return send(socket, message, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

static struct mt_proto_entry describe(const struct client *c) {
  struct mt_proto_entry e = {
      .magic = MT_PROTO_MAGIC,
      .version = MT_PROTO_VERSION,
      .kind = MT_PROTO_ENTRY,
      .pid = c->pid,
      .uid = c->uid,
      .role = c->role,
      .most = c->most,
      .demand = mt_load_relaxed(&c->report->demand),
      .active = mt_load_relaxed(&c->report->active),
      .granted = c->granted,
      .share = c->share,
      .switches = mt_load_relaxed(&c->report->switches),
      .since = c->since,
  };
  memcpy(e.name, c->name, sizeof e.name);
  return e;
}

bool list_send(struct daemon *d, int socket, uint32_t from) {
  uint32_t sent = 0, slot = from;
  for (; slot < d->slots && sent < ENTRIES_AT_ONCE; slot++) {
    if (d->clients[slot] == NULL || !d->clients[slot]->joined) continue;
    struct mt_proto_entry e = describe(d->clients[slot]);
    if (!send_whole(socket, &e, sizeof e)) return false;
    sent++;
  }
  struct mt_proto_message end = {MT_PROTO_MAGIC,
                                 MT_PROTO_VERSION,
                                 MT_PROTO_END,
                                 0,
                                 slot < d->slots ? slot : 0,
                                 d->cpus,
                                 0,
                                 ""};
  return send_whole(socket, &end, sizeof end);
}
