/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel gives to a process: its environment, and where its stack ends.
 *
 * The environment of a rank: it starts with tmpirun's, and what a rank changes the others do not
 * see. What libc itself reads there, time zone and locale, tmpirun reads there instead
 * (run/zone.c, run/locales.c).
 *
 * What was stored stays until the rank ends: getenv() has given its address away.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* tmpirun's (run/zone.c): the rank's time zone may have changed. */
void tm_zone_changed(void);

char **environ;
extern char **__environ __attribute__((alias("environ")));
extern char **_environ __attribute__((alias("environ")));

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char **own;  /* [mutex] the array that environ points to; the program may have set another */
static size_t room; /* [mutex] of own */

static size_t count_of(char *const *list) {
  size_t count = 0;
  while (list != NULL && list[count] != NULL) count++;
  return count;
}

/* What was in the environment stays in memory: main() may have got the array, getenv() a text. */
static struct block {
  struct block *before;
  char content[];
} *blocks;

/* Under the mutex. @return memory that is never freed; NULL: there is none. */
static void *keep(size_t size) {
  struct block *block = calloc(1, sizeof *block + size);
  if (block == NULL) return NULL;
  block->before = blocks;
  blocks = block;
  return block->content;
}

/* Makes environ an array of the rank's own, with room for one more: the first one is that of all
 * ranks. @return false: no memory. */
static bool own_environ(void) {
  size_t count = count_of(environ);
  if (environ == own && own != NULL && count + 2 <= room) return true;
  size_t larger = 2 * count + 16;
  char **list = keep(larger * sizeof *list);
  if (list == NULL) return false;
  for (size_t i = 0; i < count; i++) list[i] = environ[i];
  environ = own = list;
  room = larger;
  return true;
}

/* What ld.so(8) notes for libc: where the kernel has left argc. Garbage collectors read from the
 * stack pointer to here. */
void *__libc_stack_end;

__attribute__((constructor)) static void start(int argc, char **argv, char **environment) {
  (void)argc;
  environ = environment;
  __libc_stack_end = argv - 1;
}

static void note_change(const char *name) {
  if (strncmp(name, "TZ", 2) == 0) tm_zone_changed();
}

/* @return the place of a variable; NULL: there is none. */
static char **find(const char *name, size_t length) {
  for (char **at = environ; at != NULL && *at != NULL; at++)
    if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return at;
  return NULL;
}

/* ---- reading */

char *getenv(const char *name) {
  size_t length = strlen(name);
  char **at = find(name, length);
  return at != NULL ? *at + length + 1 : NULL;
}

char *secure_getenv(const char *name) { return getauxval(AT_SECURE) ? NULL : getenv(name); }

/* ---- writing */

/* entry: NAME=VALUE, which becomes part of the environment. @return false: no memory. */
static bool put(char *entry, size_t length) {
  pthread_mutex_lock(&mutex);
  bool good = own_environ();
  if (good) {
    char **at = find(entry, length);
    if (at == NULL) {
      at = &environ[count_of(environ)];
      at[1] = NULL;
    }
    *at = entry;
  }
  pthread_mutex_unlock(&mutex);
  note_change(entry);
  return good;
}

static int failed(int error) {
  errno = error;
  return -1;
}

/* Not inlined: libc's header declares that unsetenv() is given no null pointer, and the compiler
 * would leave the test out there. */
__attribute__((noinline)) static bool is_name(const char *name) {
  return name != NULL && name[0] != '\0' && strchr(name, '=') == NULL;
}

int setenv(const char *name, const char *value, int replace) {
  if (!is_name(name)) return failed(EINVAL);
  size_t length = strlen(name), size = strlen(value);
  if (replace == 0 && find(name, length) != NULL) return 0;
  pthread_mutex_lock(&mutex);
  char *entry = keep(length + size + 2);
  pthread_mutex_unlock(&mutex);
  if (entry == NULL) return failed(ENOMEM);
  memcpy(entry, name, length);
  entry[length] = '=';
  memcpy(entry + length + 1, value, size + 1);
  return put(entry, length) ? 0 : failed(ENOMEM);
}

int unsetenv(const char *name) {
  if (!is_name(name)) return failed(EINVAL);
  size_t length = strlen(name);
  if (find(name, length) == NULL) return 0;
  pthread_mutex_lock(&mutex);
  bool good = own_environ();
  char **at = good ? find(name, length) : NULL;
  while (at != NULL) {
    for (char **next = at; next[0] != NULL; next++) next[0] = next[1];
    at = find(name, length);
  }
  pthread_mutex_unlock(&mutex);
  note_change(name);
  return good ? 0 : failed(ENOMEM);
}

int putenv(char *entry) {
  const char *equals = strchr(entry, '=');
  if (equals == NULL) {
    unsetenv(entry); /* libc tells of no error here */
    return 0;
  }
  return put(entry, (size_t)(equals - entry)) ? 0 : failed(ENOMEM);
}

int clearenv(void) {
  pthread_mutex_lock(&mutex);
  environ = NULL;
  pthread_mutex_unlock(&mutex);
  tm_zone_changed();
  return 0;
}
