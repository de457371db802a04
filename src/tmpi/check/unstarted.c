/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a persistent request that was never started: that returns at once, and nothing comes.
 */
#include <string.h>

#include "tmpi/check/check.h"
#include "tmpi/mailbox/mailbox.h"
#include "tmpi/rank/handle.h"

void tm_unstarted_begin(const struct tm_seen *seen) {
  if (seen->kind != TM_REQUEST || strncmp(tm_calls[seen->call], "MPI_Wait", 8) != 0) return;
  for (int i = 0; seen->before != NULL && i < seen->count; i++) {
    const struct tm_request *request = seen->before[i];
    if (!tm_handle_is_address(request) || request->magic != TM_REQUEST_MAGIC) continue;
    if (!request->persistent || request->active || request->done) continue;
    char text[TM_CALL_TEXT];
    tm_describe(text, seen);
    tm_finding_print(
        "rank %d: %s waits for a persistent %s rank %d, tag %d, that was never started "
        "(MPI_Start())",
        seen->rank, text, request->kind == TM_SEND ? "send to" : "receive from", request->peer,
        request->envelope.tag);
  }
}
