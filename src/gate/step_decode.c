/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions of x86-64 touch memory that other threads may touch: by the addressing mode
 * alone. Operands relative to rsp and rbp count as the frame; string instructions count as shared.
 */
#include "gate/step.h"

enum { LEA = 0x8d, NOP = 0x1f, MODE_REGISTER = 3, BY_SIB = 4, RSP = 4, RBP = 5 };

static bool is_prefix(uint8_t byte) {
  return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
         byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
         byte == 0x65;
}

/* Opcodes of one byte that a ModRM byte follows. */
static bool has_operand(uint8_t op) {
  if (op < 0x40) return (op & 7) < 4;
  return op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op <= 0x8f && op != LEA) ||
         op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) ||
         (op >= 0xd8 && op <= 0xdf) || op == 0xf6 || op == 0xf7 || op == 0xfe || op == 0xff;
}

/* The same behind 0f. */
static bool has_operand_0f(uint8_t op) {
  bool none = op == 0x05 || op == 0x0b || op == 0x31 || op == 0x77 || op == 0xa2 ||
              (op >= 0x80 && op <= 0x8f) || (op >= 0xc8 && op <= 0xcf) ||
              (op >= 0x18 && op <= NOP) || (op >= 0xa0 && op <= 0xa1) || (op >= 0xa8 && op <= 0xa9);
  return !none;
}

static bool is_string(uint8_t op) {
  return op == 0xa4 || op == 0xa5 || op == 0xa6 || op == 0xa7 || (op >= 0xaa && op <= 0xaf);
}

bool gt_step_is_shared(const uint8_t *code) {
  while (is_prefix(*code)) code++;
  bool wide_base = (*code & 0xf1) == 0x41; /* REX.B: another register than rsp and rbp */
  if ((*code & 0xf0) == 0x40) code++;
  if (is_string(*code)) return true;
  if (*code == 0x0f) {
    code++;
    if (*code == 0x38 || *code == 0x3a)
      code++;
    else if (!has_operand_0f(*code))
      return false;
  } else if (!has_operand(*code)) {
    return false;
  }
  uint8_t mode = code[1] >> 6, base = code[1] & 7;
  if (mode == MODE_REGISTER) return false;
  if (base == BY_SIB) base = code[2] & 7;
  if (base == RBP && mode == 0) return true; /* relative to rip, or an absolute address */
  return wide_base || (base != RSP && base != RBP);
}
