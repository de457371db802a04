/* SPDX-License-Identifier: Apache-2.0 */
/* Frames are followed by their pointers, which this library has: the program need not. */
#include "tmpi/report/location.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/internal/process.h"
#include "tmpi/bindings/code_note.h"

enum { FRAMES_MAX = 64 };

/* What a function pushes first. */
struct frame {
  const void *caller;
  const void *return_address;
};

/* ---- without tmpirun */

struct asked {
  uintptr_t address;
  bool in_bindings;
};

/* Looks for the subroutines for Fortran in the object that has the address. */
static int look_in(struct dl_phdr_info *info, size_t size, void *data) {
  struct asked *asked = data;
  size_t offset = asked->address - info->dlpi_addr, start, end;
  bool has = false;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    has |= p->p_type == PT_LOAD && offset - p->p_vaddr < p->p_memsz;
  }
  for (int i = 0; i < info->dlpi_phnum && has; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_NOTE &&
        tmf_code_find((const char *)info->dlpi_addr, p->p_vaddr, p->p_filesz, &start, &end))
      asked->in_bindings = offset >= start && offset < end;
  }
  return has; /* then no other has it */
}

static bool is_not_ours(const void *return_address) {
  Dl_info there, here;
  struct asked asked = {.address = (uintptr_t)return_address - 1}; /* of the call */
  if (dladdr(return_address, &there) == 0 ||
      dladdr((const void *)(uintptr_t)tm_location_call_site, &here) == 0 ||
      there.dli_fbase == here.dli_fbase)
    return false;
  dl_iterate_phdr(look_in, &asked);
  return !asked.in_bindings;
}

static void name_symbol(char *text, size_t size, const void *address) {
  Dl_info info;
  if (dladdr(address, &info) == 0)
    snprintf(text, size, "%p", address);
  else
    snprintf(text, size, "%s+0x%lx%s%s%s", info.dli_fname,
             (unsigned long)((uintptr_t)address - (uintptr_t)info.dli_fbase),
             info.dli_sname != NULL ? " (" : "", info.dli_sname != NULL ? info.dli_sname : "",
             info.dli_sname != NULL ? ")" : "");
}

static void trace_pointers(const void *at, int most) {
  struct frame frame;
  char text[256];
  for (int i = 0; i < FRAMES_MAX && at != NULL && mti_peek(&frame, at, sizeof frame); i++) {
    if (frame.return_address == NULL) return;
    if (i == most) {
      fputs("    ...\n", stderr);
      return;
    }
    name_symbol(text, sizeof text, frame.return_address);
    fprintf(stderr, "    #%-2d %s\n", i, text);
    at = (uintptr_t)frame.caller > (uintptr_t)at ? frame.caller : NULL;
  }
}

static const struct tm_locations by_linker = {is_not_ours, name_symbol, trace_pointers, NULL};

/* ---- the source of locations */

static const struct tm_locations *places = &by_linker;

void tm_locations_set(const struct tm_locations *who) { places = who; }

const void *tm_location_call_site(const void *at) {
  struct frame frame;
  for (int i = 0; i < FRAMES_MAX && at != NULL && mti_peek(&frame, at, sizeof frame); i++) {
    if (places->is_program(frame.return_address)) return frame.return_address;
    at = (uintptr_t)frame.caller > (uintptr_t)at ? frame.caller : NULL;
  }
  return NULL;
}

const void *tm_location_caller(const void *site, const void *frame) {
  if (places->is_program(site)) return site;
  const void *found = tm_location_call_site(frame);
  return found != NULL ? found : site;
}

void tm_location_name(char *text, size_t size, const void *address) {
  places->name(text, size, address);
}

void tm_location_trace(const void *frame, int most) { places->trace(frame, most); }

const void *tm_location_find(const struct mltp_thread *thread, char *callee, size_t size) {
  callee[0] = '\0';
  return places->find != NULL ? places->find(thread, callee, size) : NULL;
}
