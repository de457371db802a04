/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions of x86-64 have an operand in memory that other threads may see
 * (src/gate/step_decode.c): each kind of opcode with an operand by rax, and its neighbours without
 * one; then each form of an address. */
#include "gate/step_decode.c"

#include <stdio.h>

static const struct row {
  bool is_shared;
  const char *code; /* zeroes follow, which are an operand at (%rax) */
} rows[] = {
    /* prefixes, each before mov (%rax),%eax */
    {true, "\x66\x8b"},
    {true, "\x67\x8b"},
    {true, "\xf0\x8b"},
    {true, "\xf2\x8b"},
    {true, "\xf3\x8b"},
    {true, "\x2e\x8b"},
    {true, "\x36\x8b"},
    {true, "\x3e\x8b"},
    {true, "\x26\x8b"},
    {true, "\x64\x8b"},
    {true, "\x65\x8b"},
    {true, "\x66\xf3\x48\x8b"}, /* several, and REX */
    /* opcodes of one byte */
    {true, "\x03"},
    {false, "\x04"}, /* an immediate operand */
    {true, "\x3b"},
    {false, "\x3c"},
    {false, "\x50"}, /* push */
    {false, "\x61"},
    {true, "\x63"},
    {false, "\x68"}, /* push of an immediate operand */
    {true, "\x69"},
    {false, "\x6a"},
    {true, "\x6b"},
    {false, "\x7f"}, /* a jump */
    {true, "\x80"},
    {true, "\x8b"},
    {false, "\x8d"}, /* lea */
    {true, "\x8f"},
    {false, "\x90"},
    {false, "\xb8"},
    {true, "\xc0"},
    {true, "\xc1"},
    {false, "\xc2"}, /* ret */
    {true, "\xc6"},
    {true, "\xc7"},
    {false, "\xcc"},
    {true, "\xd0"},
    {true, "\xd3"},
    {false, "\xd4"},
    {true, "\xd8"},
    {true, "\xdf"},
    {false, "\xe8"}, /* call */
    {false, "\xf4"},
    {true, "\xf6"},
    {true, "\xf7"},
    {false, "\xf8"},
    {true, "\xfe"},
    {true, "\xff"},
    /* string instructions */
    {false, "\xa3"},
    {true, "\xa4"},
    {true, "\xa5"},
    {true, "\xa6"},
    {true, "\xa7"},
    {false, "\xa8"}, /* test of an immediate operand */
    {false, "\xa9"},
    {true, "\xaa"},
    {true, "\xac"},
    {true, "\xaf"},
    {true, "\xf3\x48\xab"},
    {false, "\xb0"},
    /* behind 0f */
    {false, "\x0f\x05"}, /* syscall */
    {false, "\x0f\x0b"},
    {true, "\x0f\x10"},
    {false, "\x0f\x18"}, /* prefetch */
    {false, "\x0f\x1f"},
    {true, "\x0f\x28"},
    {false, "\x0f\x31"},
    {true, "\x0f\x6f"},
    {false, "\x0f\x77"},
    {true, "\x0f\x7f"},
    {false, "\x0f\x80"}, /* a jump */
    {false, "\x0f\x8f"},
    {true, "\x0f\x90"},
    {false, "\x0f\xa0"},
    {false, "\x0f\xa1"},
    {false, "\x0f\xa2"},
    {true, "\x0f\xa3"},
    {false, "\x0f\xa8"},
    {false, "\x0f\xa9"},
    {true, "\x0f\xb0"}, /* cmpxchg */
    {true, "\x0f\xc7"},
    {false, "\x0f\xc8"}, /* bswap */
    {false, "\x0f\xcf"},
    {true, "\x0f\xd0"},
    {true, "\x0f\x38\xf0"},
    {false, "\x0f\x38\xf0\xc0"},
    {true, "\x0f\x3a\x0f"},
    {false, "\x0f\x3a\x0f\xc0"},
    /* addresses */
    {false, "\x8b\xc0"},             /* a register */
    {false, "\x0f\xb6\xc0"},         /* a register */
    {true, "\x8b\x40\x08"},          /* 8(%rax) */
    {true, "\x8b\x80\x01\x01"},      /* 257(%rax) */
    {false, "\x8b\x45\xf8"},         /* -8(%rbp) */
    {false, "\x8b\x85\x01\x01"},     /* 257(%rbp) */
    {false, "\x8b\x04\x24"},         /* (%rsp) */
    {false, "\x8b\x44\x24\x08"},     /* 8(%rsp) */
    {false, "\x8b\x84\x24\x01\x01"}, /* 257(%rsp) */
    {true, "\x8b\x04\x08"},          /* (%rax,%rcx) */
    {false, "\x8b\x44\x0d\x08"},     /* 8(%rbp,%rcx) */
    {true, "\x8b\x05"},              /* relative to rip */
    {true, "\x8b\x04\x25"},          /* an absolute address */
    {false, "\x48\x8b\x45\xf8"},     /* -8(%rbp) to a wide register */
    {false, "\x4e\x8b\x45\xf8"},     /* the same, with all that is not the base */
    {true, "\x41\x8b\x04\x24"},      /* (%r12) */
    {true, "\x49\x8b\x45\x08"},      /* 8(%r13) */
    {true, "\x4f\x8b"},              /* (%r8) */
    {false, "\x41\x8b\xc0"},         /* a register */
};

int main(void) {
  int failed = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint8_t code[16] = {0};
    size_t length = 0;
    while (rows[i].code[length] != '\0') length++;
    for (size_t byte = 0; byte < length; byte++) code[byte] = (uint8_t)rows[i].code[byte];
    if (gt_step_is_shared(code) == rows[i].is_shared) continue;
    fprintf(stderr, "decode.c: row %zu:", i);
    for (size_t byte = 0; byte < length; byte++) fprintf(stderr, " %02x", code[byte]);
    fprintf(stderr, rows[i].is_shared ? " is shared\n" : " is not shared\n");
    failed = 1;
  }
  return failed;
}
