/* SPDX-License-Identifier: Apache-2.0 */
/* How a program begins and ends: main(), exit() and variants, and the handlers they call. */
#include <dlfcn.h>
#include <err.h>
#include <error.h>
#include <obstack.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

/* ---- ending */

TM_EXPORTED void exit(int status) {
  struct tm_process *process = tm_process_self();
  if (process != NULL) tm_process_exit(process, status, TM_ORDERLY);
  void (*libc)(int);
  *(void **)&libc = dlsym(RTLD_NEXT, "exit");
  libc(status);
  __builtin_unreachable();
}

/* Not exported, as what follows: our own libraries end the process by libc's. */
static void exit_at_once(int status) {
  struct tm_process *process = tm_process_self();
  if (process != NULL) tm_process_exit(process, status, TM_AT_ONCE);
  _exit(status);
}

static void exit_quickly(int status) {
  struct tm_process *process = tm_process_self();
  if (process != NULL) tm_process_exit(process, status, TM_QUICK);
  quick_exit(status);
}

/* crash.c says which rank. */
static void abort_rank(void) {
  tm_job_flush();
  abort();
}

/* ---- what ends a program after a message: inside of libc it is another exit() */

static void verr_rank(int status, const char *format, va_list arguments) {
  vwarn(format, arguments);
  exit(status);
}

static void verrx_rank(int status, const char *format, va_list arguments) {
  vwarnx(format, arguments);
  exit(status);
}

static void err_rank(int status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  verr_rank(status, format, arguments);
  va_end(arguments);
}

static void errx_rank(int status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  verrx_rank(status, format, arguments);
  va_end(arguments);
}

/* file: NULL of error(), which names no line. */
static void error_at(int status, int number, const char *file, unsigned line, const char *format,
                     va_list arguments) {
  char *text;
  if (vasprintf(&text, format, arguments) < 0) text = NULL;
  const char *said = text != NULL ? text : format;
  if (file != NULL)
    error_at_line(0, number, file, line, "%s", said);
  else
    error(0, number, "%s", said);
  free(text);
  if (status != 0) exit(status);
}

static void error_rank(int status, int number, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  error_at(status, number, NULL, 0, format, arguments);
  va_end(arguments);
}

static void error_at_line_rank(int status, int number, const char *file, unsigned line,
                               const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  error_at(status, number, file, line, format, arguments);
  va_end(arguments);
}

/* ---- an obstack without memory: libc calls this */

void *tm_process_variable(const struct tm_process *process, const char *name) {
  struct tm_wanted wanted = tm_want(name, NULL);
  const char *slot = tm_the_program->arena + (size_t)process->number * tm_the_program->slot;
  for (int i = 0; i < tm_the_program->start_count; i++) {
    const struct tm_image *image = tm_the_program->images[i];
    const Elf64_Sym *symbol = tm_image_find(image, &wanted);
    if (symbol != NULL) return (void *)(uintptr_t)(slot + image->place + symbol->st_value);
  }
  return NULL;
}

static void (*libc_handler)(void); /* [const after tm_obstacks_heed()] */

static void call_handler_of_rank(void) {
  struct tm_process *process = tm_process_self();
  void (**own)(void) =
      process != NULL ? tm_process_variable(process, "obstack_alloc_failed_handler") : NULL;
  (own != NULL ? *own : libc_handler)();
}

void tm_obstacks_heed(void) {
  libc_handler = obstack_alloc_failed_handler;
  obstack_alloc_failed_handler = call_handler_of_rank;
}

/* ---- handlers */

/* atexit() and at_quick_exit() are in the program, and call these.
 *
 * of: anything in the object that registers it. What shared libraries register, even when a rank
 * calls them, is the process's. */
static int register_exit(void (*function)(void *), void *argument, void *of) {
  static int (*libc)(void (*)(void *), void *, void *);
  struct tm_process *process = tm_process_self();
  if (process != NULL && tm_program_rank_of(tm_the_program, of) >= 0)
    return tm_handler_push(&process->at_exit, function, argument);
  if (libc == NULL) *(void **)&libc = dlsym(RTLD_DEFAULT, "__cxa_atexit");
  return libc(function, argument, of);
}

static int register_on_exit(void (*function)(int, void *), void *argument) {
  struct tm_process *process = tm_process_self();
  return process != NULL ? tm_handler_push_status(&process->at_exit, function, argument)
                         : on_exit(function, argument);
}

static int register_quick(void (*function)(void *), void *of) {
  (void)of;
  struct tm_process *process = tm_process_here();
  return process != NULL ? tm_handler_push(&process->at_quick_exit, function, NULL) : -1;
}

/* An image's own: tm_process_exit() has called all handlers of the rank before. */
static void finalize_object(void *of) { (void)of; }

/* ---- starting: what a program's first instructions call */

static int start_main(int (*main)(int, char **, char **), int argc, char **argv,
                      void (*init)(int, char **, char **), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
  (void)fini, (void)rtld_fini, (void)stack_end;
  struct tm_process *process = tm_process_self();
  tm_program_construct_libraries(tm_the_program, process->number, argc, argv, process->environment);
  char **environment = tm_process_environment(process);
  if (init != NULL) /* linked for a libc before 2.34: it calls its own constructors */
    init(argc, argv, environment);
  else
    tm_program_construct(tm_the_program, process->number, argc, argv, environment);
  exit(main(argc, argv, environment));
}

const struct tm_override tm_override_ending[] = {
    {"exit", (tm_any *)exit},
    {"_exit", (tm_any *)exit_at_once},
    {"_Exit", (tm_any *)exit_at_once},
    {"quick_exit", (tm_any *)exit_quickly},
    {"abort", (tm_any *)abort_rank},
    {"err", (tm_any *)err_rank},
    {"errx", (tm_any *)errx_rank},
    {"verr", (tm_any *)verr_rank},
    {"verrx", (tm_any *)verrx_rank},
    {"error", (tm_any *)error_rank},
    {"error_at_line", (tm_any *)error_at_line_rank},
    {"__cxa_atexit", (tm_any *)register_exit},
    {"on_exit", (tm_any *)register_on_exit},
    {"__cxa_at_quick_exit", (tm_any *)register_quick},
    {"__cxa_finalize", (tm_any *)finalize_object},
    {"__libc_start_main", (tm_any *)start_main},
    {NULL, NULL},
};
