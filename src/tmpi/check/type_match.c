/* SPDX-License-Identifier: Apache-2.0 */
/* A message and its receive have to be of the same basic types, as far as the message goes. */
#include <stdio.h>

#include "tmpi/check/check.h"
#include "tmpi/check/signature.h"
#include "tmpi/match/hook.h"
#include "tmpi/object/comm.h"
#include "tmpi/report/text.h"

/* Where a rank is, if it is in a call: it may be the one that sent or receives, or a later one. */
static void describe_call(char *text, size_t size, int rank) {
  const struct tm_seen *seen = tm_seen_of(rank);
  text[0] = '\0';
  if (seen == NULL) return;
  int used = snprintf(text, size, ", in %s", tm_calls[seen->call]);
  tm_describe_site(text + used, size - (size_t)used, seen->site);
}

static void look(const struct tm_request *recv, const struct tm_envelope *envelope,
                 const struct tm_type *type, size_t count) {
  if (recv->comm == NULL || recv->entry.envelope.context != recv->comm->context) return;
  struct tm_signature sent = tm_signature_of(type, count);
  struct tm_signature wanted = tm_signature_start(recv->type, recv->count, sent.count);
  if (sent.count > wanted.count) return; /* too long: the receive says so */
  if (tm_signature_same(&sent, &wanted)) return;
  char from[100], to[100], place[TM_CALL_TEXT];
  tm_describe_data(from, sizeof from, count, tm_type_handle(type));
  tm_describe_data(to, sizeof to, recv->count, tm_type_handle(recv->type));
  describe_call(place, sizeof place, recv->owner->number);
  tm_finding_print("rank %d receives %s from rank %d of %s, which sent %s (tag %d)%s",
                   recv->owner->number, to, envelope->source, tm_text_comm(recv->comm->name), from,
                   envelope->tag, place);
}

void tm_type_match_start(void) { tm_match_hook = look; }
