/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread-specific values of a program: libc keeps them for kernel threads, and a rank runs now on
 * this, now on that one. The run-time library of Fortran has its random numbers there.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/run/keys.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

enum { KEYS = 256, ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };

struct tm_values {
  struct {
    const void *value;
    uint32_t generation; /* of the key it was set for; another: no value */
  } of[KEYS];
};

/* A rank's. */
struct tm_keys {
  uint32_t ilock;
  bool used[KEYS];                  /* [ilock] */
  void (*destructor[KEYS])(void *); /* [ilock] */
  uint32_t generation[KEYS]; /* [ilock] to write; the program orders making a key and using it */
  struct tm_values values;   /* [rank] of its own thread */
};

static __thread struct tm_values *of_pthread; /* NULL: the rank's own thread */

/* Makes them for the first thread of the rank that asks. */
static struct tm_keys *keys_of(struct tm_process *process) {
  static uint32_t ilock;
  struct tm_keys *fresh = calloc(1, sizeof *fresh);
  mti_lock(&ilock);
  if (process->keys == NULL) {
    process->keys = fresh;
    fresh = NULL;
  }
  mti_unlock(&ilock);
  free(fresh);
  return process->keys;
}

static int create_key(pthread_key_t *key, void (*destructor)(void *)) {
  struct tm_keys *keys = keys_of(tm_process_self());
  if (keys == NULL) return ENOMEM;
  mti_lock(&keys->ilock);
  unsigned free_one = 0;
  while (free_one < KEYS && keys->used[free_one]) free_one++;
  if (free_one < KEYS) {
    keys->used[free_one] = true;
    keys->destructor[free_one] = destructor;
    keys->generation[free_one]++;
    *key = free_one;
  }
  mti_unlock(&keys->ilock);
  return free_one < KEYS ? 0 : EAGAIN;
}

/* The values stay: at exit(), what they point to is no leak. */
static int delete_key(pthread_key_t key) {
  struct tm_keys *keys = tm_process_self()->keys;
  if (keys == NULL || key >= KEYS) return EINVAL;
  mti_lock(&keys->ilock);
  keys->used[key] = false;
  keys->destructor[key] = NULL;
  mti_unlock(&keys->ilock);
  return 0;
}

static struct tm_values *values_of_thread(void) {
  if (of_pthread != NULL) return of_pthread;
  struct tm_process *process = tm_process_self();
  return process->keys != NULL ? &process->keys->values : NULL;
}

static int set_value(pthread_key_t key, const void *value) {
  struct tm_values *values = values_of_thread();
  const struct tm_keys *keys = tm_process_self()->keys;
  if (values == NULL || keys == NULL || key >= KEYS) return EINVAL;
  values->of[key].value = value;
  values->of[key].generation = keys->generation[key];
  return 0;
}

static void *get_value(pthread_key_t key) {
  const struct tm_values *values = values_of_thread();
  const struct tm_keys *keys = tm_process_self()->keys;
  if (values == NULL || keys == NULL || key >= KEYS) return NULL;
  if (values->of[key].generation != keys->generation[key]) return NULL;
  return (void *)(uintptr_t)values->of[key].value;
}

bool tm_values_start(void) {
  of_pthread = calloc(1, sizeof *of_pthread);
  return of_pthread != NULL;
}

/* @return whether any was called: they may set values anew. */
static bool call_destructors(struct tm_keys *keys) {
  bool any = false;
  for (pthread_key_t key = 0; key < KEYS; key++) {
    const void *value = get_value(key);
    mti_lock(&keys->ilock);
    void (*destructor)(void *) = keys->destructor[key];
    mti_unlock(&keys->ilock);
    if (value == NULL || destructor == NULL) continue;
    of_pthread->of[key].value = NULL;
    destructor((void *)(uintptr_t)value);
    any = true;
  }
  return any;
}

void tm_values_end(void) {
  struct tm_process *process = tm_process_self();
  if (process != NULL && process->keys != NULL)
    for (int round = 0; round < ROUNDS && call_destructors(process->keys); round++) continue;
  free(of_pthread);
  of_pthread = NULL;
}

const struct tm_override tm_override_keys[] = {
    {"pthread_key_create", (tm_any *)create_key},
    {"pthread_key_delete", (tm_any *)delete_key},
    {"pthread_setspecific", (tm_any *)set_value},
    {"pthread_getspecific", (tm_any *)get_value},
    {"tss_create", (tm_any *)create_key},
    {"tss_delete", (tm_any *)delete_key},
    {"tss_set", (tm_any *)set_value},
    {"tss_get", (tm_any *)get_value},
    {NULL, NULL},
};
