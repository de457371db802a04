/* SPDX-License-Identifier: Apache-2.0 */
/* The table is a list: programs have a few ports. */
#include "tmpi/comm/registry.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/match/far.h"
#include "tmpi/match/match.h"
#include "tmpi/object/comm.h"
#include "tmpi/rank/rank.h"

enum { HOME = 0 /* the rank whose node has the registry */ };

/* A port that is open, or a service. */
struct row {
  struct row *next;
  struct tm_registry_entry entry;
  bool is_service;
  char service[]; /* its name */
};

static uint32_t ilock;
static struct row *rows; /* [ilock] */
static int last_number;  /* [ilock] of a port */

/* @return the place of a port (service NULL) or of a service; of the end of the list: none. */
static struct row **find(const char *service, const char *port) {
  struct row **at = &rows;
  for (; *at != NULL; at = &(*at)->next) {
    if ((*at)->is_service != (service != NULL)) continue;
    if (service != NULL && strcmp((*at)->service, service) == 0) break;
    if (service == NULL && strcmp((*at)->entry.port, port) == 0) break;
  }
  return at;
}

static int add(const char *service, struct tm_registry_entry *entry) {
  size_t length = service != NULL ? strlen(service) + 1 : 0;
  struct row *row = malloc(sizeof *row + length);
  if (row == NULL) return MPI_ERR_NO_MEM;
  row->is_service = service != NULL;
  if (service != NULL) memcpy(row->service, service, length);
  mti_lock(&ilock);
  bool is_new = service == NULL || *find(service, NULL) == NULL;
  if (service == NULL) {
    entry->context = tm_context_new();
    snprintf(entry->port, sizeof entry->port, "tmpi-port:%d:%d", entry->owner, ++last_number);
  }
  row->entry = *entry;
  row->next = rows;
  if (is_new) rows = row;
  mti_unlock(&ilock);
  if (!is_new) free(row);
  return is_new ? MPI_SUCCESS : MPI_ERR_SERVICE;
}

static bool take_out(const char *service, const char *port) {
  mti_lock(&ilock);
  struct row **at = find(service, port), *row = *at;
  bool good = row != NULL && (*port == '\0' || strcmp(row->entry.port, port) == 0);
  if (good) *at = row->next;
  mti_unlock(&ilock);
  if (good) free(row);
  return good;
}

static bool look_up(const char *service, struct tm_registry_entry *entry) {
  mti_lock(&ilock);
  const struct row *row = *find(service, entry->port);
  if (row != NULL) *entry = row->entry;
  mti_unlock(&ilock);
  return row != NULL;
}

static int take_step(enum tm_registry_step step, const char *service,
                     struct tm_registry_entry *entry) {
  switch (step) {
    case TM_PORT_OPEN:
    case TM_SERVICE_NAME: return add(service, entry);
    case TM_PORT_CLOSE: return take_out(service, entry->port) ? MPI_SUCCESS : MPI_ERR_PORT;
    case TM_SERVICE_FORGET: return take_out(service, entry->port) ? MPI_SUCCESS : MPI_ERR_SERVICE;
    case TM_PORT_FIND: return look_up(service, entry) ? MPI_SUCCESS : MPI_ERR_PORT;
    case TM_SERVICE_FIND: return look_up(service, entry) ? MPI_SUCCESS : MPI_ERR_NAME;
  }
  return MPI_ERR_INTERN;
}

/* ---- between nodes */

/* A rank that asks, on its stack. */
struct asker {
  struct tm_request request; /* complete: the answer is here */
  struct tm_registry_entry *entry;
  int result;
};

/* The service's name follows, "" for a port. */
struct note {
  uint64_t asker;
  int32_t step; /* of an answer: -1 */
  int32_t result;
  struct tm_registry_entry entry;
};

static void send_note(const struct note *note, const char *service, int rank, bool inside) {
  size_t length = strlen(service) + 1;
  struct tm_far_send *send = tm_far_note_new(sizeof *note + length);
  char *data = tm_far_note_data(send);
  memcpy(data, note, sizeof *note);
  memcpy(data + sizeof *note, service, length);
  tm_far_note_send(send, TM_FAR_REGISTRY, rank, inside);
}

static int ask(enum tm_registry_step step, const char *call, const char *service,
               struct tm_registry_entry *entry) {
  struct asker asker = {.request = {.kind = TM_COLLECTIVE, .owner = tm_rank_self()},
                        .entry = entry};
  struct tm_request *request = &asker.request;
  const struct note note = {.asker = (uintptr_t)&asker, .step = (int32_t)step, .entry = *entry};
  send_note(&note, service != NULL ? service : "", HOME, false);
  tm_requests_wait(&request, 1, 1, call);
  return asker.result;
}

int tm_registry(enum tm_registry_step step, const char *call, const char *service,
                struct tm_registry_entry *entry) {
  return tm_rank_is_here(HOME) ? take_step(step, service, entry) : ask(step, call, service, entry);
}

void tm_registry_take(int source, const void *data, size_t bytes) {
  struct note note;
  (void)bytes;
  memcpy(&note, data, sizeof note);
  if (note.step < 0) {
    struct asker *asker = (struct asker *)(uintptr_t)note.asker;
    *asker->entry = note.entry;
    asker->result = note.result;
    tm_request_complete(&asker->request);
    return;
  }
  const char *service = (const char *)data + sizeof note;
  bool of_port = note.step <= TM_PORT_FIND;
  note.result = take_step((enum tm_registry_step)note.step, of_port ? NULL : service, &note.entry);
  note.step = -1;
  send_note(&note, "", source, true);
}
