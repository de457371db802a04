/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a spawn as bytes. All nodes have the same version of it (nodes/nodes.h).
 *
 *   head | nodes of the new ranks | numbers of the parents | commands, each followed by its texts
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/comm/spawn.h"
#include "tmpi/object/errhandler.h"

struct head {
  uint64_t context, parent_context;
  int32_t first, ranks, parents, commands;
  int32_t words;   /* of all commands, with a NULL for each */
  int32_t returns; /* 1: errors return to the new ranks */
};

struct command {
  int32_t ranks, words; /* words -1: there is no list */
  int32_t has_folder, has_path;
};

/* ---- writing */

static int count_words(const struct tm_command *command) {
  int count = 0;
  if (command->argv == NULL) return -1;
  while (command->argv[count] != NULL) count++;
  return count;
}

static void put_text(FILE *to, const char *text) {
  if (text != NULL) fwrite(text, 1, strlen(text) + 1, to);
}

static void put_command(FILE *to, const struct tm_command *from) {
  const struct command command = {from->ranks, count_words(from), from->folder != NULL,
                                  from->path != NULL};
  fwrite(&command, sizeof command, 1, to);
  put_text(to, from->program);
  put_text(to, from->folder);
  put_text(to, from->path);
  for (int i = 0; i < command.words; i++) put_text(to, from->argv[i]);
}

char *tm_order_write(const struct tm_spawn *spawn, const int *nodes, size_t *bytes) {
  char *data = NULL;
  const struct tm_world *world = spawn->world;
  struct head head = {world->context,
                      world->parent_context,
                      spawn->first,
                      world->group->size,
                      world->parents->size,
                      spawn->count,
                      0,
                      world->handler != NULL};
  for (int i = 0; i < spawn->count; i++) head.words += count_words(&spawn->commands[i]) + 1;
  FILE *to = open_memstream(&data, bytes);
  if (to == NULL) return NULL;
  fwrite(&head, sizeof head, 1, to);
  fwrite(nodes, sizeof *nodes, (size_t)head.ranks, to);
  fwrite(world->parents->ranks, sizeof world->parents->ranks[0], (size_t)head.parents, to);
  for (int i = 0; i < spawn->count; i++) put_command(to, &spawn->commands[i]);
  bool failed = ferror(to) != 0;
  if (fclose(to) == 0 && !failed) return data;
  free(data);
  return NULL;
}

/* ---- reading */

static struct head head_of(const char *data) {
  struct head head;
  memcpy(&head, data, sizeof head);
  return head;
}

const int *tm_order_nodes(const char *data, int *first, int *count) {
  struct head head = head_of(data);
  *first = head.first;
  *count = head.ranks;
  const void *nodes = data + sizeof head;
  return nodes;
}

/* @return the text at *at, which is moved behind it. */
static char *take_text(char **at) {
  char *text = *at;
  *at += strlen(text) + 1;
  return text;
}

/* words: room for those of the command. @return the room behind them. */
static char **take_command(struct tm_command *to, char **at, char **words) {
  struct command command;
  memcpy(&command, *at, sizeof command);
  *at += sizeof command;
  *to = (struct tm_command){.ranks = command.ranks, .program = take_text(at)};
  if (command.has_folder) to->folder = take_text(at);
  if (command.has_path) to->path = take_text(at);
  if (command.words < 0) return words;
  to->argv = words;
  for (int i = 0; i < command.words; i++) words[i] = take_text(at);
  return words + command.words + 1;
}

/* The groups of the world are this node's own. @return NULL: no memory. */
static struct tm_world *make_world(const struct head *head, const char *parents_at) {
  struct tm_group *parents = tm_group_new(head->parents);
  if (parents == NULL) return NULL;
  memcpy(parents->ranks, parents_at, (size_t)head->parents * sizeof parents->ranks[0]);
  struct tm_world *world = tm_world_new(head->ranks, parents);
  tm_group_release(parents); /* the world has a reference of its own */
  if (world == NULL) return NULL;
  world->context = head->context;
  world->parent_context = head->parent_context;
  if (head->returns) world->handler = tm_errhandler_returning();
  return world;
}

bool tm_order_read(struct tm_order *order, const char *data) {
  struct head head = head_of(data);
  const char *parents = data + sizeof head + (size_t)head.ranks * sizeof(int);
  char *at = (char *)(uintptr_t)parents + (size_t)head.parents * sizeof(int);
  order->commands = calloc((size_t)head.commands, sizeof *order->commands);
  order->words = calloc((size_t)head.words + 1, sizeof *order->words);
  order->spawn =
      (struct tm_spawn){.commands = order->commands, .count = head.commands, .first = head.first};
  if (order->commands == NULL || order->words == NULL) return false;
  char **words = order->words;
  for (int i = 0; i < head.commands; i++) words = take_command(&order->commands[i], &at, words);
  order->spawn.world = make_world(&head, parents);
  return order->spawn.world != NULL;
}

void tm_order_drop(struct tm_order *order) {
  free(order->commands);
  free(order->words);
}
