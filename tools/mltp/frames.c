/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding. Kernel threads are left to libdwfl's own access to processes. A suspended
 * thread is shown to it as one more "kernel thread", whose number is its place in the
 * list, and whose registers are those of its descriptor: a second Dwfl for these. */
#include "frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copies.h"
#include "message.h"

enum { FRAMES_MAX = 64 };

/* ---- the modules */

static pid_t files_of; /* the one process this command looks at */

/* The files as the process sees them: it may be in a container. */
static int find_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                    char **file, Elf **elf) {
  if (name[0] == '/' && asprintf(file, "/proc/%d/root%s", (int)files_of, name) > 0) {
    int fd = open(*file, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) return fd;
    free(*file);
    *file = NULL;
  }
  return dwfl_linux_proc_find_elf(module, user, name, base, file, elf);
}

Dwfl *frames_open(pid_t pid) {
  static const Dwfl_Callbacks callbacks = {
      .find_elf = find_elf,
      .find_debuginfo = dwfl_standard_find_debuginfo,
  };
  files_of = pid;
  Dwfl *dwfl = dwfl_begin(&callbacks);
  if (dwfl != NULL && dwfl_linux_proc_report(dwfl, pid) == 0 &&
      dwfl_report_end(dwfl, NULL, NULL) == 0)
    return dwfl;
  message("cannot read the mappings of process %d: %s (has it ended?)", (int)pid, dwfl_errmsg(-1));
  dwfl_end(dwfl);
  return NULL;
}

/* ---- backtraces */

struct trace {
  uint64_t frames[FRAMES_MAX];
  size_t count;
  int sp_number; /* DWARF number of the stack pointer */
  Dwarf_Word sp; /* in the innermost frame */
};

static int note_frame(Dwfl_Frame *frame, void *arg) {
  struct trace *trace = arg;
  Dwarf_Addr pc;
  if (trace->count == FRAMES_MAX || !dwfl_frame_pc(frame, &pc, NULL) || pc == 0)
    return DWARF_CB_ABORT;
  if (trace->count == 0 && dwfl_frame_reg(frame, (unsigned)trace->sp_number, &trace->sp) != 0)
    trace->sp = 0;
  trace->frames[trace->count++] = pc;
  return DWARF_CB_OK;
}

static void keep(struct thread *thread, const struct trace *trace) {
  if (trace->count == 0) return;
  thread->frames = malloc(trace->count * sizeof *thread->frames);
  if (thread->frames == NULL) return;
  memcpy(thread->frames, trace->frames, trace->count * sizeof *thread->frames);
  thread->frame_count = trace->count;
}

/* The thread on whose stack a kernel thread is. */
static struct thread *who_is_at(struct threads *threads, uint64_t sp) {
  for (size_t i = 0; i < threads->count; i++) {
    struct thread *t = &threads->list[i];
    if (t->context == 0 && sp - t->stack_low < t->stack_size) return t;
  }
  return NULL;
}

static void read_running(struct threads *threads, int sp_number, const struct process *process) {
  Dwfl *dwfl = frames_open(process->pid);
  if (dwfl == NULL) return;
  if (dwfl_linux_proc_attach(dwfl, process->pid, true) == 0) {
    for (size_t i = 0; i < process->task_count; i++) {
      struct trace trace = {.sp_number = sp_number};
      dwfl_getthread_frames(dwfl, process->tasks[i].tid, note_frame, &trace);
      struct thread *thread = who_is_at(threads, trace.sp);
      if (thread == NULL || thread->tid != 0) continue;
      thread->tid = process->tasks[i].tid;
      keep(thread, &trace);
    }
  }
  dwfl_end(dwfl);
}

/* ---- of suspended threads: what libdwfl asks us */

struct suspended {
  struct threads *threads;
  struct process *process;
  const struct mt_layout_row *registers; /* the last is the program counter */
  size_t register_count;
};

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread) {
  const struct suspended *s = arg;
  (void)dwfl;
  *thread = &s->threads->list[tid - 1];
  return true;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread) {
  (void)dwfl, (void)arg, (void)thread;
  return 0; /* we ask for each by its number */
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *arg) {
  (void)dwfl;
  if (!process_read_word(((struct suspended *)arg)->process, address, word)) return false;
  *word = copies_first(*word);
  return true;
}

static const struct suspended *asked; /* set_registers() has no argument for it */

static bool set_registers(Dwfl_Thread *dwfl_thread, void *arg) {
  const struct thread *thread = arg;
  for (size_t i = 0; i < asked->register_count; i++) {
    const struct mt_layout_row *row = &asked->registers[i];
    Dwarf_Word value;
    if (!process_read_word(asked->process, thread->context + row->value, &value)) return false;
    if (i + 1 == asked->register_count)
      dwfl_thread_state_register_pc(dwfl_thread, copies_first(value));
    else if (!dwfl_thread_state_registers(dwfl_thread, (int)row->more, 1, &value))
      return false;
  }
  return true;
}

static void read_suspended(const struct suspended *s, Dwfl *dwfl) {
  static const Dwfl_Thread_Callbacks callbacks = {
      .next_thread = next_thread,
      .get_thread = get_thread,
      .memory_read = read_memory,
      .set_initial_registers = set_registers,
  };
  if (!dwfl_attach_state(dwfl, NULL, s->process->pid, &callbacks, (void *)(uintptr_t)s)) return;
  asked = s;
  for (size_t i = 0; i < s->threads->count; i++) {
    struct trace trace = {.sp_number = (int)s->registers[0].more};
    if (s->threads->list[i].context == 0) continue;
    dwfl_getthread_frames(dwfl, (pid_t)i + 1, note_frame, &trace);
    keep(&s->threads->list[i], &trace);
  }
  asked = NULL;
}

void frames_read(struct threads *threads, const struct layout *layout, struct process *process,
                 Dwfl *dwfl) {
  static const char prefix[] = "register.";
  struct suspended s = {.threads = threads, .process = process};
  for (size_t i = 0; i < layout->row_count; i++) {
    if (strncmp(layout->rows[i].name, prefix, sizeof prefix - 1) != 0) continue;
    if (s.registers == NULL) s.registers = &layout->rows[i]; /* the stack pointer comes first */
    s.register_count++;
  }
  if (s.registers == NULL) return;
  read_running(threads, (int)s.registers[0].more, process);
  read_suspended(&s, dwfl);
}

/* ---- what is where */

/* clang writes no table of which unit holds which address, so each has to be asked. */
static Dwarf_Line *line_by_unit(Dwfl_Module *module, uint64_t address) {
  Dwarf_Addr bias;
  Dwarf_Die *unit = NULL;
  while ((unit = dwfl_module_nextcu(module, unit, &bias)) != NULL)
    if (dwarf_haspc(unit, address - bias) > 0) return dwarf_getsrc_die(unit, address - bias);
  return NULL;
}

static void find_source(Dwfl_Module *module, uint64_t address, struct place *place) {
  Dwfl_Line *line = dwfl_module_getsrc(module, address);
  if (line != NULL) {
    place->file = dwfl_lineinfo(line, NULL, &place->line, NULL, NULL, NULL);
    return;
  }
  Dwarf_Line *unit_line = line_by_unit(module, address);
  if (unit_line == NULL) return;
  place->file = dwarf_linesrc(unit_line, NULL, NULL);
  dwarf_lineno(unit_line, &place->line);
}

static struct place find_place(Dwfl *dwfl, uint64_t address, uint64_t at) {
  struct place place = {.offset = address};
  Dwfl_Module *module = dwfl_addrmodule(dwfl, at);
  if (module == NULL) return place;
  Dwarf_Addr start;
  place.module = dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
  place.offset = address - start;
  place.function = dwfl_module_addrname(module, at);
  find_source(module, at, &place);
  return place;
}

/* Many threads stand at few places: each is searched once, and replaced by another that has the
 * same slot. */
static struct found {
  uint64_t address, at; /* at is 0 in an empty slot */
  struct place place;
} found[1024];

struct place frames_place(Dwfl *dwfl, uint64_t address, bool innermost) {
  address = copies_first(address);
  uint64_t at = innermost ? address : address - 1; /* in the call */
  size_t slot = (at * 0x9e3779b97f4a7c15u) >> 54;
  struct found *f = &found[slot];
  if (at == 0) return find_place(dwfl, address, at);
  if (f->at != at || f->address != address)
    *f = (struct found){address, at, find_place(dwfl, address, at)};
  return f->place;
}
