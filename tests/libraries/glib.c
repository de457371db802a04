/* SPDX-License-Identifier: Apache-2.0 */
/* GLib interns strings and keeps log handlers for the process. */
#include <glib.h>

#include "work.h"

static int logged;

static void count_log(const char *domain, GLogLevelFlags level, const char *message, void *data) {
  (void)domain, (void)level, (void)message, (void)data;
  logged++;
}

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_log_set_default_handler(count_log, NULL);
  for (int i = 0; i < 200; i++) {
    char *name = g_strdup_printf("name %d of %d", i, rank);
    g_quark_from_string(name);
    g_hash_table_insert(table, name, GINT_TO_POINTER(i * rank));
    if (i % 100 == 0) work_mix();
    if (i % 10 == 0) g_message("%s", name);
  }
  double result = logged;
  GHashTableIter iterator;
  gpointer key, value;
  g_hash_table_iter_init(&iterator, table);
  while (g_hash_table_iter_next(&iterator, &key, &value)) result += GPOINTER_TO_INT(value);
  result += g_quark_from_string("the next one"); /* how many there are */
  g_hash_table_destroy(table);
  return work_end(result);
}
