/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables that look like options and are none: misspelt, most likely. */
#include "base/unknown_options.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"

enum { NAME_MAX_SIZE = 48 };

/* Variables of our tools and tests, and what systems of modules set for an installation; a name
 * that ends in '_' stands for all that begin so. */
static const char *const known[] = {"MLTP_ACCESSES", "MLTP_RUN_", "MLTP_STRESS_", "MLTP_ROOT",
                                    "MLTP_DIR",      "MLTP_HOME", "MLTP_PREFIX",  "MLTP_VERSION"};

static bool is_known(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    size_t size = strlen(known[i]);
    bool begins = known[i][size - 1] == '_';
    if ((begins ? length >= size : length == size) && memcmp(name, known[i], size) == 0)
      return true;
  }
  for (int i = 0; mt_options_name(i) != NULL; i++)
    if (strlen(mt_options_name(i)) == length && memcmp(name, mt_options_name(i), length) == 0)
      return true;
  return false;
}

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* @return letters to insert, remove or replace until a is b (Levenshtein). */
static unsigned distance(const char *a, size_t a_length, const char *b) {
  size_t b_length = strlen(b);
  unsigned row[NAME_MAX_SIZE]; /* of the first i letters of a to the first j of b */
  for (unsigned j = 0; j <= b_length; j++) row[j] = j;
  for (size_t i = 0; i < a_length; i++) {
    unsigned diagonal = row[0];
    row[0] = (unsigned)i + 1;
    for (size_t j = 0; j < b_length; j++) {
      unsigned replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = least(replaced, least(row[j], diagonal) + 1);
    }
  }
  return row[b_length];
}

static void warn(const char *name, size_t length) {
  const char *nearest = mt_options_name(0);
  unsigned best = distance(name, length, nearest);
  for (int i = 1; mt_options_name(i) != NULL; i++) {
    unsigned d = distance(name, length, mt_options_name(i));
    if (d < best) {
      best = d;
      nearest = mt_options_name(i);
    }
  }
  mt_message(
      "%.*s in the environment is no option and has no effect (perhaps %s is meant; mltp "
      "options lists them)",
      (int)length, name, nearest);
}

void mt_options_warn_of_unknown(void) {
  static bool done;
  if (done) return;
  done = true;
  for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
    size_t length = strcspn(*variable, "=");
    bool is_set = (*variable)[length] == '=' && (*variable)[length + 1] != '\0';
    if (!is_set || strncmp(*variable, "MLTP_", 5) != 0) continue;
    if (length < NAME_MAX_SIZE && !is_known(*variable, length)) warn(*variable, length);
  }
}
