/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the library of PMIx or of UCX (nodes.py): hands each call on to the one at REAL,
 * but for the one that NODES_FAIL names (stand_in.h). That call fails for want of memory. Of the
 * function that NODES_COUNT names the node prints at its end how often it was called.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stand_in.h"

#ifdef STANDS_IN_FOR_UCX
#define ONE_MORE(F)
enum { FAILURE = -4 }; /* UCS_ERR_NO_MEMORY */
#define FUNCTIONS(F)                                                                               \
  F(ucp_config_read)                                                                               \
  F(ucp_config_release)                                                                            \
  F(ucp_init_version)                                                                              \
  F(ucp_worker_create)                                                                             \
  F(ucp_worker_get_address)                                                                        \
  F(ucp_worker_set_am_recv_handler)                                                                \
  F(ucp_worker_get_efd)                                                                            \
  F(ucp_worker_progress)                                                                           \
  F(ucp_worker_arm)                                                                                \
  F(ucp_worker_signal)                                                                             \
  F(ucp_worker_flush_nbx)                                                                          \
  F(ucp_ep_create)                                                                                 \
  F(ucp_am_send_nbx)                                                                               \
  F(ucp_am_recv_data_nbx)                                                                          \
  F(ucp_am_data_release)                                                                           \
  F(ucp_request_free)                                                                              \
  F(ucp_request_check_status)                                                                      \
  F(ucs_status_string)
#else
enum { FAILURE = -32 }; /* PMIX_ERR_NOMEM */
#define FUNCTIONS(F)                                                                               \
  F(PMIx_Init)                                                                                     \
  F(PMIx_Finalize)                                                                                 \
  F(PMIx_Get)                                                                                      \
  F(PMIx_Put)                                                                                      \
  F(PMIx_Commit)                                                                                   \
  F(PMIx_Error_string)
#define ONE_MORE(F) F(PMIx_Fence_nb)
#endif

#define NUMBER(name) number_of_##name,
#define NAME(name) #name,
enum { FUNCTIONS(NUMBER) ONE_MORE(NUMBER) COUNT };
static const char *const names[] = {FUNCTIONS(NAME) ONE_MORE(NAME)};
/* Named by the stand-ins alone. */
void *stand_in_real[COUNT];
long stand_in_result(int number);

/* Its plugins find it by its name, which is this one's. */
__attribute__((constructor)) static void open_real(void) {
  void *library = dlopen(REAL, RTLD_NOW | RTLD_GLOBAL);
  for (int i = 0; i < COUNT; i++)
    if (library == NULL || (stand_in_real[i] = dlsym(library, names[i])) == NULL) abort();
}

static long calls[COUNT]; /* [atomic] */

__attribute__((destructor)) static void print_count(void) {
  const char *counted = getenv("NODES_COUNT");
  for (int i = 0; counted != NULL && i < COUNT; i++)
    if (strcmp(names[i], counted) == 0) fprintf(stderr, "%ld calls of %s\n", calls[i], counted);
}

/* @return what the call returns; 0: it is handed on. */
long stand_in_result(int number) {
  __atomic_add_fetch(&calls[number], 1, __ATOMIC_RELAXED);
  return stand_in_fails(names[number]) ? FAILURE : 0;
}

/* Arguments are in registers, and one more may be on the stack. */
#define STAND_IN(name)                                                                             \
  void name(void);                                                                                 \
  __attribute__((naked)) void name(void) {                                                         \
    __asm__(                                                                                       \
        "push %%rdi; push %%rsi; push %%rdx; push %%rcx; push %%r8; push %%r9; sub $8, %%rsp;"     \
        "mov %0, %%edi; call stand_in_result@PLT; add $8, %%rsp;"                                  \
        "pop %%r9; pop %%r8; pop %%rcx; pop %%rdx; pop %%rsi; pop %%rdi;"                          \
        "test %%rax, %%rax; jnz 1f;"                                                               \
        "mov stand_in_real@GOTPCREL(%%rip), %%r11; jmp *8 * %c0(%%r11);"                           \
        "1: ret" ::"i"(number_of_##name));                                                         \
  }
FUNCTIONS(STAND_IN)

#ifndef STANDS_IN_FOR_UCX
enum { PARTIAL_SUCCESS = -52 }; /* PMIX_ERR_PARTIAL_SUCCESS */
typedef void fence_end(int status, void *data);
typedef int fence(const void *procs, size_t count, const void *info, size_t infos, fence_end *end,
                  void *data);
fence PMIx_Fence_nb;

static struct {
  fence_end *end;
  void *data;
  int others_have_come; /* [atomic] */
} late;

/* What starts node 1 writes that it has ended (nodes.py). */
static bool node_1_has_ended(void) {
  char path[4096], text[4096];
  snprintf(path, sizeof path, "%s/1", getenv("NODE_ERRORS"));
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return strstr(text, "ended with") != NULL;
}

static void note_others(int status, void *data) {
  (void)status, (void)data;
  __atomic_store_n(&late.others_have_come, 1, __ATOMIC_RELEASE);
}

static void *end_fence(void *unused) {
  while (__atomic_load_n(&late.others_have_come, __ATOMIC_ACQUIRE) == 0 || !node_1_has_ended())
    usleep(1000);
  late.end(PARTIAL_SUCCESS, late.data);
  return unused;
}

/* To the first fence node 1 comes, too, and it is gone when the fence ends. */
int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos, fence_end *end,
                  void *data) {
  static int fences;
  pthread_t thread;
  fence *real;
  *(void **)&real = stand_in_real[number_of_PMIx_Fence_nb];
  long result = stand_in_result(number_of_PMIx_Fence_nb);
  if (result != 0) return (int)result;
  if (++fences != stand_in_late_fence()) return real(procs, count, info, infos, end, data);
  late.end = end;
  late.data = data;
  late.others_have_come = fences > 1;
  if (pthread_create(&thread, NULL, end_fence, NULL) != 0) abort();
  pthread_detach(thread);
  return fences > 1 ? 0 : real(procs, count, info, infos, note_others, NULL);
}
#endif
