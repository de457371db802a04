/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a spawn is read as it was written (src/tmpi/comm/spawn_order.c): commands with and
 * without words, folders and paths, and what both sides' communicators are made of.
 */
#include <string.h>

#include "spawned_world.h"

static char program[] = "program", word[] = "word", empty[] = "";
static const char folder[] = "/folder", path[] = "/path";

static void check_text(const char *in, const char *out) {
  assert_int_equal(in != NULL, out != NULL);
  if (in != NULL) assert_string_equal(in, out);
}

static void orders_are_read_as_written(void **state) {
  char *words[] = {word, empty, NULL}, *none[] = {NULL};
  const struct tm_command commands[] = {
      {.program = program, .ranks = 1},
      {.program = word, .argv = words, .ranks = 2, .folder = folder},
      {.program = program, .argv = none, .ranks = 1, .path = path},
      {.program = word, .argv = words, .ranks = 1, .folder = folder, .path = path}};
  enum { COUNT = sizeof commands / sizeof commands[0] };
  const int nodes[] = {2, 1, 0, 1};
  struct tm_world *world = world_of_parents(4, 3, 5);
  struct tm_spawn spawn = {.commands = commands, .count = COUNT, .first = 9, .world = world};
  struct tm_order order;
  size_t bytes = 0;
  (void)state;
  for (int returns = 0; returns < 2; returns++) {
    int first, count;
    world->handler = returns ? &returning : NULL;
    char *data = tm_order_write(&spawn, nodes, &bytes);
    assert_non_null(data);
    assert_memory_equal(tm_order_nodes(data, &first, &count), nodes, sizeof nodes);
    assert_true(first == 9 && count == 4);
    assert_true(tm_order_read(&order, data) && order.spawn.count == COUNT);
    assert_int_equal(order.spawn.first, 9);
    const struct tm_world *made = order.spawn.world;
    assert_true(made->context == 7 && made->parent_context == 8 && made->group->size == 4);
    assert_true(made->parents->size == 2 && made->parents->refs == 1);
    assert_true(made->parents->ranks[0] == 3 && made->parents->ranks[1] == 5);
    assert_ptr_equal(made->handler, world->handler);
    for (int i = 0; i < COUNT; i++) {
      const struct tm_command *out = &commands[i], *in = &order.spawn.commands[i];
      assert_string_equal(in->program, out->program);
      assert_true(in->ranks == out->ranks && in->host == NULL);
      check_text(in->folder, out->folder);
      check_text(in->path, out->path);
      assert_int_equal(in->argv != NULL, out->argv != NULL);
      for (int w = 0; out->argv != NULL && out->argv[w] != NULL; w++)
        assert_string_equal(in->argv[w], out->argv[w]);
      if (in->argv == NULL) continue;
      assert_null(in->argv[out->argv == words ? 2 : 0]);
    }
    world_drop(order.spawn.world);
    tm_order_drop(&order);
    no_group = true; /* of the parents */
    assert_false(tm_order_read(&order, data));
    tm_order_drop(&order);
    no_group = false;
    no_world = true;
    assert_false(tm_order_read(&order, data));
    tm_order_drop(&order);
    no_world = false;
    free(data);
  }
  world_drop(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_read_as_written)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
