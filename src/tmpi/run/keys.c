/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread-specific values of a program: libc keeps them for kernel threads, and a rank runs now on
 * this, now on that one. The run-time library of Fortran has its random numbers there.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/internal/locks.h"
#include "tmpi/run/keys.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

enum { KEYS = PTHREAD_KEYS_MAX, BLOCK = 32, ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };

struct value {
  const void *value;
  uint32_t generation; /* of the key it was set for; another: no value */
};

/* Of a thread. Most programs have few keys. */
struct tm_values {
  struct value *blocks[KEYS / BLOCK]; /* NULL: none was set */
};

struct key {
  void (*destructor)(void *); /* [ilock] */
  uint32_t generation;        /* [ilock] to write; the program orders making a key and using it */
  bool used;                  /* [ilock] */
};

/* A rank's. */
struct tm_keys {
  uint32_t ilock;
  struct tm_values values; /* [rank] of its own thread */
  struct key of[KEYS];
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

/* A thread that belongs to no rank, such as that of a timer, has no keys: those of libc would be
 * taken for a rank's. */
static int create_key(pthread_key_t *key, void (*destructor)(void *)) {
  struct tm_process *process = tm_process_here();
  if (process == NULL) return EAGAIN;
  struct tm_keys *keys = keys_of(process);
  if (keys == NULL) return ENOMEM;
  mti_lock(&keys->ilock);
  unsigned free_one = 0;
  while (free_one < KEYS && keys->of[free_one].used) free_one++;
  if (free_one < KEYS) {
    keys->of[free_one].used = true;
    keys->of[free_one].destructor = destructor;
    keys->of[free_one].generation++;
    *key = free_one;
  }
  mti_unlock(&keys->ilock);
  return free_one < KEYS ? 0 : EAGAIN;
}

static struct tm_keys *keys_here(void) {
  const struct tm_process *process = tm_process_here();
  return process != NULL ? process->keys : NULL;
}

/* The values stay: at exit(), what they point to is no leak. */
static int delete_key(pthread_key_t key) {
  struct tm_keys *keys = keys_here();
  if (keys == NULL || key >= KEYS) return EINVAL;
  mti_lock(&keys->ilock);
  bool was_used = keys->of[key].used;
  keys->of[key].used = false;
  keys->of[key].destructor = NULL;
  mti_unlock(&keys->ilock);
  return was_used ? 0 : EINVAL;
}

static struct tm_values *values_of_thread(struct tm_keys *keys) {
  return of_pthread != NULL ? of_pthread : &keys->values;
}

static int set_value(pthread_key_t key, const void *value) {
  struct tm_keys *keys = keys_here();
  if (keys == NULL || key >= KEYS) return EINVAL;
  struct value **block = &values_of_thread(keys)->blocks[key / BLOCK];
  if (*block == NULL) *block = calloc(BLOCK, sizeof **block);
  if (*block == NULL) return ENOMEM;
  (*block)[key % BLOCK] = (struct value){value, keys->of[key].generation};
  return 0;
}

static void *get_value(pthread_key_t key) {
  struct tm_keys *keys = keys_here();
  if (keys == NULL || key >= KEYS) return NULL;
  const struct value *block = values_of_thread(keys)->blocks[key / BLOCK];
  if (block == NULL || block[key % BLOCK].generation != keys->of[key].generation) return NULL;
  return (void *)(uintptr_t)block[key % BLOCK].value;
}

struct tm_values *tm_values_exchange(struct tm_values *values) {
  struct tm_values *before = of_pthread;
  of_pthread = values;
  return before;
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
    if (value == NULL) continue;
    mti_lock(&keys->ilock);
    void (*destructor)(void *) = keys->of[key].destructor;
    mti_unlock(&keys->ilock);
    if (destructor == NULL) continue;
    set_value(key, NULL);
    destructor((void *)(uintptr_t)value);
    any = true;
  }
  return any;
}

void tm_values_end(void) {
  struct tm_keys *keys = keys_here();
  if (keys != NULL)
    for (int round = 0; round < ROUNDS && call_destructors(keys); round++) continue;
  if (of_pthread == NULL) return; /* the rank's own values are part of its keys */
  for (int i = 0; i < KEYS / BLOCK; i++) free(of_pthread->blocks[i]);
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
