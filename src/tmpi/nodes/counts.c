/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node has counted for --report comes to node 0 when its ranks have ended. Node 0's own
 * ranks may end last, so the thread of links.c keeps what comes.
 */
#include <stdlib.h>

#include "base/atomic.h"
#include "os/os.h"
#include "tmpi/nodes/nodes.h"

#define COME_NS 10000000000 /* until counts are here that were sent before the end of the job */
#define LOOK_NS 1000000

struct counts {
  void *data;    /* [reader] until they have come; then the caller's of tm_counts_take() */
  size_t bytes;  /* likewise */
  uint32_t come; /* [atomic] 1: they are here */
};

static struct counts *counts; /* [const] by number of the node */

bool tm_counts_prepare(const struct tm_nodes *nodes) {
  counts = calloc((size_t)nodes->size, sizeof *counts);
  return counts != NULL;
}

void tm_counts_note(int node, uint64_t bytes) {
  struct counts *of = &counts[node];
  void *data = bytes > 0 ? malloc(bytes) : NULL;
  if (data == NULL || !tm_links_read(node, data, bytes)) {
    free(data); /* the report says that it lacks them */
    return;
  }
  of->data = data;
  of->bytes = bytes;
  mt_store_release(&of->come, 1); /* UX-12 release: the counts; pairs UX-13 */
}

void tm_counts_send(const void *data, size_t bytes) {
  tm_links_write(0, &(struct tm_note){.kind = TM_NOTE_COUNTS, .bytes = bytes}, data);
}

void *tm_counts_take(int node, bool waits, size_t *bytes) {
  uint64_t end = os_now() + (waits ? COME_NS : 0);
  /* UX-13 acquire: the counts; pairs UX-12 */
  for (; mt_load_acquire(&counts[node].come) == 0; os_nap(LOOK_NS))
    if (os_now() >= end) return NULL;
  *bytes = counts[node].bytes;
  return counts[node].data;
}
