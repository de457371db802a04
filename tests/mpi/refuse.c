/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into tmpirun by refused.py: makes one of the calls to libc fail that tmpirun and its
 * libraries make, counted from 1; those of the program, and of libc for itself, are let through.
 *
 * REFUSE=N: which. REFUSED=FILE: where to note that there was such a call. SLOW=MS: how long it
 * takes to map a part of a program.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static long count, chosen; /* 0: none, or no more */

/* What is done at the end of a process is not tmpirun's. */
void refuse_no_more(void);
void refuse_no_more(void) { chosen = 0; }

static void note(const char *call) {
  const char *path = getenv("REFUSED");
  int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  if (write(fd, call, strlen(call)) < 0) abort();
  close(fd);
}

static bool is_ours(const void *caller) {
  static const char *const names[] = {"tmpirun",  "libmpi_abi.so.1", "libmltp.so.0",
                                      "check.so", "lines.so",        "nodes.so"};
  Dl_info info;
  if (dladdr(caller, &info) == 0) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(slash != NULL ? slash + 1 : info.dli_fname, names[i]) == 0) return true;
  return false;
}

static bool refused(const char *call, const void *caller) {
  static bool started, inside;
  if (inside) return false; /* our own */
  inside = true;
  if (!started) {
    started = true;
    chosen = getenv("REFUSE") != NULL ? atol(getenv("REFUSE")) : 0;
  }
  bool is = false;
  if (chosen > 0 && is_ours(caller)) {
    if (count == 0) atexit(refuse_no_more);
    is = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) == chosen;
    if (is) note(call);
  }
  inside = false;
  if (is) errno = ENOMEM;
  return is;
}

#define HERE __builtin_return_address(0)

void *malloc(size_t size) { return refused("malloc", HERE) ? NULL : __libc_malloc(size); }

void *calloc(size_t number, size_t size) {
  return refused("calloc", HERE) ? NULL : __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
  return refused("realloc", HERE) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return refused("aligned_alloc", HERE) ? NULL : __libc_memalign(alignment, size);
}

char *strdup(const char *text) {
  if (refused("strdup", HERE)) return NULL;
  char *copy = __libc_malloc(strlen(text) + 1);
  return copy != NULL ? strcpy(copy, text) : NULL;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
  static void *(*real)(void *, size_t, int, int, int, off_t);
  if (refused("mmap", HERE)) return MAP_FAILED;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "mmap");
  if ((flags & MAP_FIXED) != 0 && getenv("SLOW") != NULL)
    usleep(1000 * (useconds_t)atoi(getenv("SLOW")));
  return real(address, size, protection, flags, fd, offset);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset) {
  static ssize_t (*real)(int, void *, size_t, off_t);
  if (refused("pread", HERE)) return -1;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pread");
  return real(fd, to, size, offset);
}

FILE *fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions) {
  static FILE *(*real)(void *, const char *, cookie_io_functions_t);
  if (refused("fopencookie", HERE)) return NULL;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "fopencookie");
  return real(cookie, mode, functions);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
                   void *argument) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (refused("pthread_create", HERE)) return EAGAIN;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attr, body, argument);
}
