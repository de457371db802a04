/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD that lets one allocation of libmpi_abi and libmltp fail, or one creation
 * of a thread by libmpi_abi: starve(N) arms it, the N-th from then on finds no memory. Allocations
 * of the program, of libc and of tmpirun's loader always succeed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <mltp/mltp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void starve(long nth);
int starve_count(void);

static atomic_long left; /* allocations until one fails; 0: none does */
static atomic_int starved;

void starve(long nth) {
  atomic_store(&starved, 0);
  atomic_store(&left, nth);
}

/* @return how many have failed. */
int starve_count(void) { return atomic_load(&starved); }

static int is_library(const void *caller) {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) return 0;
  return strstr(info.dli_fname, "libmpi_abi") != NULL || strstr(info.dli_fname, "libmltp.") != NULL;
}

static int fails(const void *caller) {
  if (atomic_load(&left) == 0 || !is_library(caller)) return 0;
  if (atomic_fetch_sub(&left, 1) != 1) return 0;
  atomic_fetch_add(&starved, 1);
  errno = ENOMEM;
  return 1;
}

/* libc's own, by the names that it has for such libraries. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (fails(__builtin_return_address(0))) return ENOMEM;
  *result = __libc_memalign(alignment, size);
  return *result != NULL ? 0 : ENOMEM;
}

char *strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
  return copy != NULL ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t most) {
  size_t size = strnlen(text, most);
  char *copy = fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size + 1);
  if (copy == NULL) return NULL;
  copy[size] = '\0';
  return memcpy(copy, text, size);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
  static void *(*real)(void *, size_t, int, int, int, off_t);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "mmap");
  return fails(__builtin_return_address(0)) ? MAP_FAILED
                                            : real(address, size, protection, flags, fd, offset);
}

/* libmltp keeps memory for threads to come, so that hardly any creation allocates. */
int mltp_create(mltp_t **thread, const mltp_attr_t *attr, mltp_userf_t *function, void *argument) {
  static int (*real)(mltp_t **, const mltp_attr_t *, mltp_userf_t *, void *);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "mltp_create");
  return fails(__builtin_return_address(0)) ? EAGAIN : real(thread, attr, function, argument);
}
