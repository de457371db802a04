/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libgomp, libomp, oneTBB, OpenBLAS and BLIS that libmltp-teams stands before;
 * with MODULE defined, MKL's. */
#include "adjusted.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(MODULE)

int MKL_Get_Max_Threads(void);
void MKL_Set_Num_Threads(int threads);
int only_in_module(void);
caller_in_module module_caller;

int MKL_Get_Max_Threads(void) { return (int)noted.mkl; }

void MKL_Set_Num_Threads(int threads) {
  noted.mkl = threads;
  noted.blas_sets++;
}

int only_in_module(void) { return 1; }

const void *module_caller(void) { return (const void *)(uintptr_t)only_in_module; }

#else

struct noted noted = {.max = 8};

typedef void region(void *data);
typedef void parallel(region *f, void *data, unsigned threads, unsigned flags);
typedef void chunked(region *f, void *data, unsigned threads, long start, long end, long step,
                     long chunk, unsigned flags);
typedef void plain(region *f, void *data, unsigned threads, long start, long end, long step,
                   unsigned flags);

static void note(const char *name, int count, const long *arguments, region *f, void *data) {
  noted.name = name;
  memset(noted.arguments, 0, sizeof noted.arguments);
  memcpy(noted.arguments, arguments, (size_t)count * sizeof *arguments);
  noted.calls++;
  f(data);
}

#define NOTE(...)                                                                                  \
  note(__func__, sizeof(long[]){__VA_ARGS__} / sizeof(long), (long[]){__VA_ARGS__}, f, data)

/* ---- libgomp */

parallel GOMP_parallel;
unsigned GOMP_parallel_reductions(region *f, void *data, unsigned threads, unsigned flags);
void GOMP_parallel_sections(region *f, void *data, unsigned threads, unsigned count,
                            unsigned flags);

void GOMP_parallel(region *f, void *data, unsigned threads, unsigned flags) {
  NOTE(threads, flags);
}

unsigned GOMP_parallel_reductions(region *f, void *data, unsigned threads, unsigned flags) {
  NOTE(threads, flags);
  return 41;
}

void GOMP_parallel_sections(region *f, void *data, unsigned threads, unsigned count,
                            unsigned flags) {
  NOTE(threads, count, flags);
}

#define CHUNKED(name)                                                                              \
  chunked name;                                                                                    \
  void name(region *f, void *data, unsigned threads, long start, long end, long step, long chunk,  \
            unsigned flags) {                                                                      \
    NOTE(threads, start, end, step, chunk, flags);                                                 \
  }
#define PLAIN(name)                                                                                \
  plain name;                                                                                      \
  void name(region *f, void *data, unsigned threads, long start, long end, long step,              \
            unsigned flags) {                                                                      \
    NOTE(threads, start, end, step, flags);                                                        \
  }
CHUNKED(GOMP_parallel_loop_dynamic)
CHUNKED(GOMP_parallel_loop_guided)
CHUNKED(GOMP_parallel_loop_nonmonotonic_dynamic)
CHUNKED(GOMP_parallel_loop_nonmonotonic_guided)
PLAIN(GOMP_parallel_loop_runtime)
PLAIN(GOMP_parallel_loop_nonmonotonic_runtime)
PLAIN(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

int omp_get_max_threads(void);
int omp_get_level(void);

int omp_get_max_threads(void) { return noted.max; }

int omp_get_level(void) { return noted.level; }

/* ---- libomp */

typedef void shared_region(int *, int *, ...);
void __kmpc_push_num_threads(void *location, int thread, int threads);
int __kmpc_global_thread_num(void *location);
void __kmpc_fork_call(void *location, int count, shared_region *f, ...);
void __kmpc_fork_call_if(void *location, int count, shared_region *f, int condition, void *shared);

void __kmpc_push_num_threads(void *location, int thread, int threads) {
  noted.pushes++;
  noted.pushed = threads;
  noted.arguments[6] = (long)(intptr_t)location;
  noted.arguments[7] = thread;
}

int __kmpc_global_thread_num(void *location) { return location != NULL ? 6 : -1; }

void __kmpc_fork_call(void *location, int count, shared_region *f, ...) {
  va_list arguments;
  va_start(arguments, f);
  for (int i = 0; i < count; i++) noted.passed[i] = va_arg(arguments, void *);
  va_end(arguments);
  noted.name = __func__;
  noted.arguments[0] = (long)(intptr_t)location;
  noted.arguments[1] = count;
  noted.calls++;
  f(NULL, NULL);
}

void __kmpc_fork_call_if(void *location, int count, shared_region *f, int condition, void *shared) {
  noted.name = __func__;
  noted.arguments[0] = (long)(intptr_t)location;
  noted.arguments[1] = count;
  noted.arguments[2] = condition;
  noted.arguments[3] = (long)(intptr_t)shared;
  noted.calls++;
  f(NULL, NULL);
}

/* ---- oneTBB */

struct control {
  size_t value;
  intptr_t reserved;
  int parameter;
};

static void add_control(char sign, const struct control *control) {
  size_t length = strlen(noted.controls);
  snprintf(noted.controls + length, sizeof noted.controls - length, "%c%zu%s", sign, control->value,
           control->reserved == 0 && control->parameter == 0 ? "" : "?");
}

void _ZN3tbb6detail2r16createERNS0_2d114global_controlE(struct control *control);
void _ZN3tbb6detail2r17destroyERNS0_2d114global_controlE(struct control *control);
void _ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
    region *f, void *data, void *work, void *context);
void _ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(region *f,
                                                                              void *data);
void _ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE(
    region *f, size_t tokens, void *data);

void _ZN3tbb6detail2r16createERNS0_2d114global_controlE(struct control *control) {
  add_control('+', control);
}

void _ZN3tbb6detail2r17destroyERNS0_2d114global_controlE(struct control *control) {
  add_control('-', control);
}

void _ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
    region *f, void *data, void *work, void *context) {
  NOTE((long)(intptr_t)work, (long)(intptr_t)context);
}

void _ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(region *f,
                                                                              void *data) {
  NOTE(0);
}

void _ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE(
    region *f, size_t tokens, void *data) {
  NOTE((long)tokens);
}

/* ---- BLAS */

int some_get_num_threads(void);
void some_set_num_threads(int threads);
int64_t bli_thread_get_num_threads(void);
void bli_thread_set_num_threads(int64_t threads);

int some_get_num_threads(void) {
  noted.blas_gets++;
  return (int)noted.blas;
}

void some_set_num_threads(int threads) {
  noted.blas = threads;
  noted.blas_sets++;
}

int64_t bli_thread_get_num_threads(void) {
  noted.blas_gets++;
  return noted.wide;
}

void bli_thread_set_num_threads(int64_t threads) {
  noted.wide = threads;
  noted.blas_sets++;
}

#endif
