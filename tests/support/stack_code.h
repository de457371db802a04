/* SPDX-License-Identifier: Apache-2.0 */
/* Code on the stack, as compilers put it there for the address of a function within a function. A
 * program that calls it is linked with -z execstack. */
#ifndef SUPPORT_STACK_CODE_H
#define SUPPORT_STACK_CODE_H

#include <stdint.h>
#include <string.h>

/* @return 42, from a function on the caller's stack. */
static int call_code_on_stack(void) {
#if defined __x86_64__
  static const uint8_t code[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov $42, %eax; ret */
#elif defined __aarch64__
  static const uint32_t code[] = {0x52800540, 0xd65f03c0}; /* mov w0, #42; ret */
#else
#error "write the same for this processor"
#endif
  _Alignas(16) char room[16];
  memcpy(room, code, sizeof code);
  __builtin___clear_cache(room, room + sizeof room);
  int (*function)(void);
  *(void **)&function = room;
  return function();
}

#endif
