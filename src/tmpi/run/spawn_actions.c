/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/run/spawn_actions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/run/override.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/streams.h"

enum kind { CLOSE, CLOSE_FROM, COPY, OPEN, ENTER, ENTER_FD, TO_FOREGROUND };

struct action {
  enum kind kind;
  int fd;
  int other; /* COPY: its number then; OPEN: flags */
  mode_t mode;
  char *path; /* a copy; NULL: it has none */
};

/* What is in the program's posix_spawn_file_actions_t. */
struct list {
  struct action *actions;
  size_t count;
};

_Static_assert(sizeof(struct list) <= sizeof(posix_spawn_file_actions_t), "it has no room");

static struct list *list_of(void *asked) { return asked; }

static int carry_out(posix_spawn_file_actions_t *made, const struct action *action) {
  const char *path = action->path != NULL ? action->path : "";
  switch (action->kind) {
    case CLOSE: return posix_spawn_file_actions_addclose(made, action->fd);
    case CLOSE_FROM: return posix_spawn_file_actions_addclosefrom_np(made, action->fd);
    case COPY: return posix_spawn_file_actions_adddup2(made, action->fd, action->other);
    case OPEN:
      return posix_spawn_file_actions_addopen(made, action->fd, path, action->other, action->mode);
    case ENTER: return posix_spawn_file_actions_addchdir_np(made, path);
    case ENTER_FD: return posix_spawn_file_actions_addfchdir_np(made, action->fd);
    case TO_FOREGROUND: return posix_spawn_file_actions_addtcsetpgrp_np(made, action->fd);
  }
  return EINVAL;
}

int tm_actions_make(posix_spawn_file_actions_t *made, const posix_spawn_file_actions_t *asked) {
  const struct list *list = (const void *)asked;
  int error = posix_spawn_file_actions_init(made);
  if (error == 0) error = tm_streams_spawn(made);
  if (error == 0) error = tm_owners_spawn(made);
  for (size_t i = 0; list != NULL && i < list->count && error == 0; i++)
    error = carry_out(made, &list->actions[i]);
  return error;
}

/* ---- the program's calls */

static int init(posix_spawn_file_actions_t *asked) {
  *list_of(asked) = (struct list){NULL, 0};
  return 0;
}

static int destroy(posix_spawn_file_actions_t *asked) {
  struct list *list = list_of(asked);
  for (size_t i = 0; i < list->count; i++) free(list->actions[i].path);
  free(list->actions);
  return init(asked);
}

/* @return as libc's, which refuses what cannot be a descriptor. */
static int check(const struct action *action) {
  posix_spawn_file_actions_t unused;
  int error = posix_spawn_file_actions_init(&unused);
  if (error == 0) error = carry_out(&unused, action);
  posix_spawn_file_actions_destroy(&unused);
  return error;
}

/* path: NULL, or what is copied to the action. */
static int add(posix_spawn_file_actions_t *asked, struct action action, const char *path) {
  struct list *list = list_of(asked);
  action.path = path != NULL ? strdup(path) : NULL;
  if (path != NULL && action.path == NULL) return ENOMEM;
  int error = check(&action);
  struct action *more =
      error == 0 ? reallocarray(list->actions, list->count + 1, sizeof *more) : NULL;
  if (more == NULL) {
    free(action.path);
    return error != 0 ? error : ENOMEM;
  }
  more[list->count++] = action;
  list->actions = more;
  return 0;
}

static int add_close(posix_spawn_file_actions_t *asked, int fd) {
  return add(asked, (struct action){.kind = CLOSE, .fd = fd}, NULL);
}

static int add_close_from(posix_spawn_file_actions_t *asked, int fd) {
  return add(asked, (struct action){.kind = CLOSE_FROM, .fd = fd}, NULL);
}

static int add_copy(posix_spawn_file_actions_t *asked, int fd, int other) {
  return add(asked, (struct action){.kind = COPY, .fd = fd, .other = other}, NULL);
}

static int add_open(posix_spawn_file_actions_t *asked, int fd, const char *path, int flags,
                    mode_t mode) {
  return add(asked, (struct action){.kind = OPEN, .fd = fd, .other = flags, .mode = mode}, path);
}

static int add_enter(posix_spawn_file_actions_t *asked, const char *path) {
  return add(asked, (struct action){.kind = ENTER}, path);
}

static int add_enter_fd(posix_spawn_file_actions_t *asked, int fd) {
  return add(asked, (struct action){.kind = ENTER_FD, .fd = fd}, NULL);
}

static int add_foreground(posix_spawn_file_actions_t *asked, int fd) {
  return add(asked, (struct action){.kind = TO_FOREGROUND, .fd = fd}, NULL);
}

#define ROW(name, function) {"posix_spawn_file_actions_" name, (tm_any *)(function)}

const struct tm_override tm_override_actions[] = {
    ROW("init", init),
    ROW("destroy", destroy),
    ROW("addclose", add_close),
    ROW("addclosefrom_np", add_close_from),
    ROW("adddup2", add_copy),
    ROW("addopen", add_open),
    ROW("addchdir", add_enter), /* the name without _np is of POSIX 2024 */
    ROW("addchdir_np", add_enter),
    ROW("addfchdir", add_enter_fd),
    ROW("addfchdir_np", add_enter_fd),
    ROW("addtcsetpgrp_np", add_foreground),
    {NULL, NULL},
};
