/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of names; peek.h explains them. */
#include "base/peek.h"

const char *mt_peek_name(char name[MT_NAME_MAX], const char *from) {
  size_t there = from != NULL ? os_peek(name, from, MT_NAME_MAX - 1) : 0;
  name[there] = '\0';
  for (char *c = name; *c != '\0'; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
  return name;
}
