/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite keeps its configuration and its caches for the process. */
#include <sqlite3.h>

#include "work.h"

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  char name[4096], text[200];
  sqlite3 *base;
  sqlite3_stmt *query;
  snprintf(name, sizeof name, "%s/sqlite.%d", argv[1], rank);
  remove(name);
  WORK(sqlite3_open(name, &base) == SQLITE_OK);
  WORK(sqlite3_exec(base, "create table t(x integer, y real); begin", NULL, NULL, NULL) ==
       SQLITE_OK);
  for (int i = 0; i < 100; i++) {
    snprintf(text, sizeof text, "insert into t values(%d, %d)", i, i * rank);
    WORK(sqlite3_exec(base, text, NULL, NULL, NULL) == SQLITE_OK);
    if (i % 50 == 0) work_mix();
  }
  WORK(sqlite3_exec(base, "commit", NULL, NULL, NULL) == SQLITE_OK);
  work_mix();
  WORK(sqlite3_prepare_v2(base, "select sum(y) + count(*) from t where x > 10", -1, &query, NULL) ==
       SQLITE_OK);
  WORK(sqlite3_step(query) == SQLITE_ROW);
  double result = sqlite3_column_double(query, 0);
  WORK(sqlite3_finalize(query) == SQLITE_OK && sqlite3_close(base) == SQLITE_OK);
  return work_end(result);
}
