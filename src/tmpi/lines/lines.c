/* SPDX-License-Identifier: Apache-2.0 */
/* One Dwfl for all: see lines.h. Not for two threads at a time. */
#include "tmpi/lines/lines.h"

#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static Dwfl *dwfl;
static bool can_unwind;
static const struct tm_lines_start *start;

/* ---- unwinding: the thread that is asked about is the only one there is */

static pid_t next_thread(Dwfl *of, void *arg, void **thread) {
  (void)of, (void)arg, (void)thread;
  return 0;
}

static bool get_thread(Dwfl *of, pid_t tid, void *arg, void **thread) {
  (void)of, (void)tid, (void)arg;
  *thread = NULL;
  return true;
}

static bool read_memory(Dwfl *of, Dwarf_Addr address, Dwarf_Word *word, void *arg) {
  (void)of, (void)arg;
  uintptr_t value;
  if (!start->read(address, &value)) return false;
  *word = value;
  return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg) {
  enum { BP = 6, SP = 7 /* DWARF's numbers for x86-64 */ };
  (void)arg;
  Dwarf_Word bp = start->bp, sp = start->sp;
  dwfl_thread_state_register_pc(thread, start->ip);
  return dwfl_thread_state_registers(thread, BP, 1, &bp) &&
         dwfl_thread_state_registers(thread, SP, 1, &sp);
}

struct trace {
  uintptr_t *frames;
  int count, most;
};

static int note_frame(Dwfl_Frame *frame, void *arg) {
  struct trace *trace = arg;
  Dwarf_Addr pc;
  if (trace->count == trace->most || !dwfl_frame_pc(frame, &pc, NULL) || pc == 0)
    return DWARF_CB_ABORT;
  trace->frames[trace->count++] = pc;
  return DWARF_CB_OK;
}

static int unwind(const struct tm_lines_start *from, uintptr_t *frames, int most) {
  struct trace trace = {frames, 0, most};
  start = from;
  if (can_unwind) dwfl_getthread_frames(dwfl, getpid(), note_frame, &trace);
  return trace.count;
}

/* ---- files */

static bool open_files(const struct tm_lines_file *files, size_t count) {
  static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                           .find_debuginfo = dwfl_standard_find_debuginfo};
  static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
                                                .get_thread = get_thread,
                                                .memory_read = read_memory,
                                                .set_initial_registers = set_registers};
  dwfl = dwfl_begin(&callbacks);
  if (dwfl == NULL) return false;
  for (size_t i = 0; i < count; i++) /* a file that is gone is a file not known */
    dwfl_report_elf(dwfl, files[i].path, files[i].path, -1, files[i].base, true);
  dwfl_report_end(dwfl, NULL, NULL);
  can_unwind = dwfl_attach_state(dwfl, NULL, getpid(), &threads, NULL);
  return true;
}

/* ---- names */

/* clang writes no table of which unit holds which address, so each has to be asked. */
static const char *find_line(Dwfl_Module *module, Dwarf_Addr address, int *line) {
  Dwfl_Line *found = dwfl_module_getsrc(module, address);
  if (found != NULL) return dwfl_lineinfo(found, NULL, line, NULL, NULL, NULL);
  Dwarf_Addr bias;
  for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias)) != NULL;) {
    if (dwarf_haspc(unit, address - bias) <= 0) continue;
    Dwarf_Line *there = dwarf_getsrc_die(unit, address - bias);
    if (there == NULL || dwarf_lineno(there, line) != 0) return NULL;
    return dwarf_linesrc(there, NULL, NULL);
  }
  return NULL;
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static bool name(uintptr_t address, char *text, size_t size) {
  int line = 0;
  Dwarf_Addr base, at = address - 1; /* in the call */
  Dwfl_Module *module = dwfl_addrmodule(dwfl, at);
  if (module == NULL) return false;
  const char *function = dwfl_module_addrname(module, at), *file = find_line(module, at, &line);
  const char *path = dwfl_module_info(module, NULL, &base, NULL, NULL, NULL, NULL, NULL);
  const char *what = function != NULL ? function : "?";
  if (file != NULL)
    snprintf(text, size, "%s:%d (%s)", last_part(file), line, what);
  else
    snprintf(text, size, "%s+0x%lx (%s)", last_part(path), (unsigned long)(address - base), what);
  return true;
}

const struct tm_lines tm_lines = {open_files, name, unwind};
