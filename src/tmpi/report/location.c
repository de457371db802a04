/* SPDX-License-Identifier: Apache-2.0 */
/* Frames are followed by their pointers, which this library has: the program need not. */
#include "tmpi/report/location.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/internal/process.h"

enum { FRAMES_MAX = 64 };

/* What a function pushes first. */
struct frame {
  const void *caller;
  const void *return_address;
};

/* ---- without tmpirun */

static bool is_not_ours(const void *address) {
  Dl_info there, here;
  return dladdr(address, &there) != 0 &&
         dladdr((const void *)(uintptr_t)tm_location_call_site, &here) != 0 &&
         there.dli_fbase != here.dli_fbase;
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
