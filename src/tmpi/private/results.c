/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that remember a place, or leave their result in a variable of libc's. */
#define _GNU_SOURCE
#include <mntent.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

char *strtok(char *text, const char *delimiters) {
  static char *place;
  return strtok_r(text, delimiters, &place);
}

/* ---- times */

static struct tm broken_down;
static char as_text[128]; /* a date of seven ints as long as they can be */

struct tm *gmtime(const time_t *time) { return gmtime_r(time, &broken_down); }
struct tm *localtime(const time_t *time) {
  tzset(); /* as localtime() does, and localtime_r() need not; zone.c has it */
  return localtime_r(time, &broken_down);
}
/* NOLINTBEGIN(bugprone-unsafe-functions): these are what is made here */
char *asctime(const struct tm *time) { return asctime_r(time, as_text); }
char *ctime(const time_t *time) { return asctime(localtime(time)); }
/* NOLINTEND(bugprone-unsafe-functions) */

/* ---- numbers as text, and mounted file systems: what their texts lie in is made when it is used
 */

enum { NUMBER_SIZE = 512, ENTRY_SIZE = 4096 };

static char *room_of(char **text, size_t size) {
  if (*text == NULL) *text = malloc(size);
  return *text;
}

char *ecvt(double value, int digits, int *point, int *sign) {
  static char *text;
  if (room_of(&text, NUMBER_SIZE) == NULL) return NULL;
  ecvt_r(value, digits, point, sign, text, NUMBER_SIZE);
  return text;
}

char *fcvt(double value, int digits, int *point, int *sign) {
  static char *text;
  if (room_of(&text, NUMBER_SIZE) == NULL) return NULL;
  fcvt_r(value, digits, point, sign, text, NUMBER_SIZE);
  return text;
}

struct mntent *getmntent(FILE *file) {
  static struct mntent entry;
  static char *text;
  if (room_of(&text, ENTRY_SIZE) == NULL) return NULL;
  return getmntent_r(file, &entry, text, ENTRY_SIZE);
}

/* ---- the one hash table */

static struct hsearch_data table;

int hcreate(size_t count) { return hcreate_r(count, &table); }
void hdestroy(void) { hdestroy_r(&table); }

ENTRY *hsearch(ENTRY item, ACTION action) {
  ENTRY *found;
  return hsearch_r(item, action, &found, &table) != 0 ? found : NULL;
}

/* ---- characters of several bytes */

static mbstate_t state; /* of a text that mbtowc() is given in parts */

/* As libc's: an end of text is one whatever came before; what is cut off is no character. */
static int length_of(wchar_t *wide, const char *text, size_t size, mbstate_t *of) {
  if (text[0] == '\0') {
    if (wide != NULL) *wide = L'\0';
    return 0;
  }
  int length = (int)mbrtowc(wide, text, size, of);
  return length < -1 ? -1 : length; /* -2: cut off */
}

int mblen(const char *text, size_t size) {
  mbstate_t fresh = {0}; /* it does not remember parts */
  return text != NULL ? length_of(NULL, text, size, &fresh) : 0;
}

int mbtowc(wchar_t *wide, const char *text, size_t size) {
  if (text != NULL) return length_of(wide, text, size, &state);
  memset(&state, 0, sizeof state);
  return 0;
}
