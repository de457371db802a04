/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the library of PMIx or of UCX (nodes.py): hands each call on to the one at REAL,
 * but for the one that NODES_FAIL names (stand_in.h). That call fails for want of memory.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "stand_in.h"

#ifdef STANDS_IN_FOR_UCX
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
  F(PMIx_Fence_nb)                                                                                 \
  F(PMIx_Error_string)
#endif

#define NUMBER(name) number_of_##name,
#define NAME(name) #name,
enum { FUNCTIONS(NUMBER) COUNT };
static const char *const names[] = {FUNCTIONS(NAME)};
/* Named by the stand-ins alone. */
void *stand_in_real[COUNT];
long stand_in_result(int number);

/* Its plugins find it by its name, which is this one's. */
__attribute__((constructor)) static void open_real(void) {
  void *library = dlopen(REAL, RTLD_NOW | RTLD_GLOBAL);
  for (int i = 0; i < COUNT; i++)
    if (library == NULL || (stand_in_real[i] = dlsym(library, names[i])) == NULL) abort();
}

/* @return what the call returns; 0: it is handed on. */
long stand_in_result(int number) { return stand_in_fails(names[number]) ? FAILURE : 0; }

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
