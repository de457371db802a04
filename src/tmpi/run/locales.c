/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locale of a rank: setlocale() of one changes nothing for others. libc has one for the process
 * and one for each kernel thread, which is what a rank's becomes (working_directory.h).
 *
 * Locales that setlocale() makes are kept as long as the job, each once: it gives the address of a
 * name away. What a rank sets by uselocale() it may free, so a kernel thread has it only while the
 * rank's own thread runs there.
 *
 * Relaxed: a rank's own fields; that there are any is seen late only by VPs without such ranks.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/working_directory.h"

enum { CATEGORIES = 12, NAMES_MAX = 1024 };

static const struct {
  int number;
  const char *name;
} categories[CATEGORIES] = {{LC_CTYPE, "LC_CTYPE"},
                            {LC_NUMERIC, "LC_NUMERIC"},
                            {LC_TIME, "LC_TIME"},
                            {LC_COLLATE, "LC_COLLATE"},
                            {LC_MONETARY, "LC_MONETARY"},
                            {LC_MESSAGES, "LC_MESSAGES"},
                            {LC_PAPER, "LC_PAPER"},
                            {LC_NAME, "LC_NAME"},
                            {LC_ADDRESS, "LC_ADDRESS"},
                            {LC_TELEPHONE, "LC_TELEPHONE"},
                            {LC_MEASUREMENT, "LC_MEASUREMENT"},
                            {LC_IDENTIFICATION, "LC_IDENTIFICATION"}};

struct kept {
  struct kept *next;
  locale_t locale;
  const char *names[CATEGORIES];
  char all[NAMES_MAX]; /* as setlocale(LC_ALL, NULL) says it */
};

static struct kept *kept;   /* [ilock] */
static uint32_t ilock, any; /* any: [atomic] 1: a rank has a locale of its own */

static __thread locale_t used_here; /* by a pthread of a rank's; NULL: none */

static bool is_outside(void) { return tm_rank_number() < 0 || tm_the_program->ranks == 1; }

/* ---- of the kernel thread */

void tm_locale_apply(const struct tm_carried *carried, bool own_only) {
  if (mt_load_relaxed(&any) == 0) return;
  locale_t used = tm_on_pthread() ? used_here : mt_load_relaxed(&carried->used);
  locale_t own = mt_load_relaxed(&carried->locale);
  uselocale(used != NULL && !own_only ? used : own != NULL ? own : LC_GLOBAL_LOCALE);
}

static void begin(void) {
  if (mt_or_relaxed(&any, 1) == 0) tm_carry_hook();
}

/* ---- setlocale() */

static const char *name_in(locale_t locale, int category) {
  const char *name = nl_langinfo_l(_NL_LOCALE_NAME(category), locale);
  return name != NULL && name[0] != '\0' ? name : "C";
}

static const char *variable(const char *name) {
  char **list = tm_process_environment(tm_process_self());
  size_t length = strlen(name);
  for (; list != NULL && *list != NULL; list++)
    if (strncmp(*list, name, length) == 0 && (*list)[length] == '=' && (*list)[length + 1] != '\0')
      return *list + length + 1;
  return NULL;
}

/* What "" stands for: the rank's environment says it. */
static const char *from_environment(const char *category) {
  const char *name = variable("LC_ALL");
  if (name == NULL) name = variable(category);
  if (name == NULL) name = variable("LANG");
  return name != NULL ? name : "C";
}

/* @return a locale with the name for these categories, and as `base` otherwise; NULL. */
static locale_t make(locale_t base, int category, const char *name) {
  if (category == LC_ALL && name[0] != '\0') return newlocale(LC_ALL_MASK, name, (locale_t)0);
  locale_t made = duplocale(base);
  for (int i = 0; made != NULL && i < CATEGORIES; i++) {
    if (category != LC_ALL && category != categories[i].number) continue;
    const char *wanted = name[0] != '\0' ? name : from_environment(categories[i].name);
    locale_t changed = newlocale(1 << categories[i].number, wanted, made);
    if (changed == NULL) freelocale(made);
    made = changed;
  }
  return made;
}

/* As libc says it: one name, or a list. */
static void name_all(struct kept *locale) {
  bool same = true;
  size_t used = 0;
  for (int i = 1; i < CATEGORIES; i++) same &= strcmp(locale->names[i], locale->names[0]) == 0;
  for (int i = 0; !same && i < CATEGORIES && used < sizeof locale->all; i++)
    used += (size_t)snprintf(locale->all + used, sizeof locale->all - used, "%s%s=%s",
                             i > 0 ? ";" : "", categories[i].name, locale->names[i]);
  if (same) snprintf(locale->all, sizeof locale->all, "%s", locale->names[0]);
}

/* Takes the locale over. @return the one that is kept; NULL: no memory. */
static struct kept *keep(locale_t locale) {
  struct kept *fresh = calloc(1, sizeof *fresh), *found;
  if (fresh == NULL) {
    freelocale(locale);
    return NULL;
  }
  fresh->locale = locale;
  for (int i = 0; i < CATEGORIES; i++) fresh->names[i] = name_in(locale, categories[i].number);
  name_all(fresh);
  mti_lock(&ilock);
  for (found = kept; found != NULL && strcmp(found->all, fresh->all) != 0;) found = found->next;
  if (found == NULL) {
    fresh->next = kept;
    kept = found = fresh;
  }
  mti_unlock(&ilock);
  if (found == fresh) return found;
  freelocale(locale);
  free(fresh);
  return found;
}

static struct kept *kept_of(locale_t locale) {
  mti_lock(&ilock);
  struct kept *found = kept;
  while (found != NULL && found->locale != locale) found = found->next;
  mti_unlock(&ilock);
  return found;
}

static char *name_of(const struct kept *locale, int category) {
  for (int i = 0; i < CATEGORIES; i++)
    if (categories[i].number == category) return (char *)(uintptr_t)locale->names[i];
  return (char *)(uintptr_t)locale->all;
}

static bool is_category(int category) {
  bool known = category == LC_ALL;
  for (int i = 0; i < CATEGORIES; i++) known |= categories[i].number == category;
  return known;
}

static char *setlocale_rank(int category, const char *name) {
  if (is_outside() || !is_category(category)) return setlocale(category, name);
  struct tm_carried *carried = tm_carried();
  locale_t now = carried->locale;
  if (name == NULL)
    return now != NULL ? name_of(kept_of(now), category) : setlocale(category, NULL);
  locale_t made = make(now != NULL ? now : LC_GLOBAL_LOCALE, category, name);
  const struct kept *new = made != NULL ? keep(made) : NULL;
  if (new == NULL) return NULL;
  mt_store_relaxed(&carried->locale, new->locale);
  begin();
  tm_locale_apply(carried, false);
  return name_of(new, category);
}

/* ---- the others */

static locale_t uselocale_rank(locale_t locale) {
  if (is_outside()) return uselocale(locale);
  struct tm_carried *carried = tm_carried();
  locale_t *used = tm_on_pthread() ? &used_here : &carried->used;
  locale_t before = *used != NULL ? *used : LC_GLOBAL_LOCALE;
  if (locale == NULL) return before;
  mt_store_relaxed(used, locale != LC_GLOBAL_LOCALE ? locale : NULL);
  begin();
  tm_locale_apply(carried, false);
  return before;
}

static locale_t duplocale_rank(locale_t locale) {
  bool own = locale == LC_GLOBAL_LOCALE && !is_outside() && tm_carried()->locale != NULL;
  return duplocale(own ? tm_carried()->locale : locale);
}

/* libc's own result is one for all. */
static struct lconv *localeconv_rank(void) {
  if (is_outside()) return localeconv();
  struct lconv *own = &tm_carried()->conventions;
  mti_lock(&ilock);
  *own = *localeconv();
  mti_unlock(&ilock);
  return own;
}

const struct tm_override tm_override_locales[] = {
    {"setlocale", (tm_any *)setlocale_rank},
    {"localeconv", (tm_any *)localeconv_rank},
    {"uselocale", (tm_any *)uselocale_rank},
    {"duplocale", (tm_any *)duplocale_rank},
    {NULL, NULL},
};
