/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file specc_bits.h
 * Bit vectors of more than 128 bits.
 *
 * Such a vector is a structure of words, the lowest first. Its value always fits: above its width
 * are zeros, or copies of the sign. `width` and `is_signed` are those of the result unless they
 * follow an operand. A result is never one of the operands; each function returns it.
 */
#ifndef SPECC_BITS_H
#define SPECC_BITS_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long sc_word;
enum { SC_WORD = 64 };

static inline int sc_words(int width) { return (width + SC_WORD - 1) / SC_WORD; }

/** Copies bits between values in memory, of any size. Both processors are little-endian. Where it
 * was inlined, gcc warned of a byte behind the value that is not read. */
__attribute__((noinline, unused)) static void sc_bits_move(void *to, int to_last, const void *from,
                                                           int from_last, int count) {
  unsigned char *target = to;
  const unsigned char *source = from;
  while (count > 0) {
    int at = to_last & 7, room = 8 - at, now = count < room ? count : room;
    int shift = from_last & 7;
    unsigned bits = source[from_last >> 3] >> shift;
    if (shift + now > 8) bits |= (unsigned)source[(from_last >> 3) + 1] << (8 - shift);
    unsigned mask = ((1U << now) - 1) << at;
    target[to_last >> 3] = (unsigned char)((target[to_last >> 3] & ~mask) | (bits << at & mask));
    to_last += now;
    from_last += now;
    count -= now;
  }
}

/** Makes the bits above the width copies of the sign, or zeros. */
static inline void *sc_bits_fit(void *value, size_t size, int width, int is_signed) {
  unsigned char *bytes = value;
  int last = (width - 1) / 8, spare = 7 - (width - 1) % 8;
  int negative = is_signed && bytes[last] >> (7 - spare) & 1;
  unsigned above = 0xffU << (8 - spare) & 0xffU;
  bytes[last] = (unsigned char)(negative ? bytes[last] | above : bytes[last] & ~above);
  memset(bytes + last + 1, negative ? 0xff : 0, size - (size_t)last - 1);
  return value;
}

static inline sc_word *sc_bits_fitted(sc_word *to, int width, int is_signed) {
  return sc_bits_fit(to, (size_t)sc_words(width) * sizeof *to, width, is_signed);
}

static inline int sc_bits_negative(const sc_word *value, int width, int is_signed) {
  return is_signed && value[sc_words(width) - 1] >> (SC_WORD - 1);
}

/** A vector of an integer's value. */
static inline sc_word *sc_bits_of(sc_word *to, int width, int is_signed, unsigned __int128 value,
                                  int value_signed) {
  sc_word above = value_signed && value >> 127 ? ~0ULL : 0;
  to[0] = (sc_word)value;
  to[1] = (sc_word)(value >> SC_WORD);
  for (int i = 2; i < sc_words(width); i++) to[i] = above;
  return sc_bits_fitted(to, width, is_signed);
}

/** A vector of another one's value. */
static inline sc_word *sc_bits_from(sc_word *to, int width, int is_signed, const sc_word *from,
                                    int from_width, int from_signed) {
  int count = sc_words(width), given = sc_words(from_width);
  sc_word above = sc_bits_negative(from, from_width, from_signed) ? ~0ULL : 0;
  for (int i = 0; i < count; i++) to[i] = i < given ? from[i] : above;
  return sc_bits_fitted(to, width, is_signed);
}

/** The lowest 128 bits. */
static inline unsigned __int128 sc_bits_low(const sc_word *value) {
  return (unsigned __int128)value[1] << SC_WORD | value[0];
}

static inline int sc_bits_any(const sc_word *value, int width) {
  for (int i = 0; i < sc_words(width); i++)
    if (value[i] != 0) return 1;
  return 0;
}

/** Ends the program if a vector has no such bits. */
static inline void sc_bits_check(long long last, int count, int width) {
  if (last >= 0 && last + count <= width) return;
  fflush(stdout);
  fprintf(stderr, "specc: a bit vector of %d bits has no bit %lld from its last one\n", width,
          last < 0 ? last : last + count - 1);
  abort();
}

/** Reverses the order of a vector's bits. */
static inline void sc_bits_reverse(void *value, int width) {
  for (int low = 0, high = width - 1; low < high; low++, high--) {
    unsigned char one = 0, other = 0;
    sc_bits_move(&one, 0, value, low, 1);
    sc_bits_move(&other, 0, value, high, 1);
    sc_bits_move(value, low, &other, 0, 1);
    sc_bits_move(value, high, &one, 0, 1);
  }
}

/** Some bits of a vector, at most 128. */
static inline unsigned __int128 sc_bits_get(const sc_word *from, int from_width, long long last,
                                            int count) {
  unsigned __int128 value = 0;
  sc_bits_check(last, count, from_width);
  sc_bits_move(&value, 0, from, (int)last, count);
  return value;
}

/** More than 128 bits of a vector. */
static inline sc_word *sc_bits_cut(sc_word *to, int width, int is_signed, const sc_word *from,
                                   int from_width, long long last, int reverse) {
  sc_bits_check(last, width, from_width);
  sc_bits_move(to, 0, from, (int)last, width);
  sc_bits_fitted(to, width, is_signed);
  if (reverse) sc_bits_reverse(to, width);
  return to;
}

/** Changes some bits of a vector; those beside them stay. */
static inline void sc_bits_put(sc_word *to, int width, int is_signed, long long last, int count,
                               const void *bits) {
  sc_bits_check(last, count, width);
  sc_bits_move(to, (int)last, bits, 0, count);
  sc_bits_fitted(to, width, is_signed);
}

/** A vector of two, the first one above. */
static inline sc_word *sc_bits_join(sc_word *to, int width, int is_signed, const void *high,
                                    int high_width, const void *low, int low_width) {
  sc_bits_move(to, 0, low, 0, low_width);
  sc_bits_move(to, low_width, high, 0, high_width);
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_and(sc_word *to, int width, int is_signed, const sc_word *a,
                                   const sc_word *b) {
  for (int i = 0; i < sc_words(width); i++) to[i] = a[i] & b[i];
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_or(sc_word *to, int width, int is_signed, const sc_word *a,
                                  const sc_word *b) {
  for (int i = 0; i < sc_words(width); i++) to[i] = a[i] | b[i];
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_xor(sc_word *to, int width, int is_signed, const sc_word *a,
                                   const sc_word *b) {
  for (int i = 0; i < sc_words(width); i++) to[i] = a[i] ^ b[i];
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_not(sc_word *to, int width, int is_signed, const sc_word *a) {
  for (int i = 0; i < sc_words(width); i++) to[i] = ~a[i];
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_add(sc_word *to, int width, int is_signed, const sc_word *a,
                                   const sc_word *b) {
  unsigned __int128 sum = 0;
  for (int i = 0; i < sc_words(width); i++) {
    sum += (unsigned __int128)a[i] + b[i];
    to[i] = (sc_word)sum;
    sum >>= SC_WORD;
  }
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_sub(sc_word *to, int width, int is_signed, const sc_word *a,
                                   const sc_word *b) {
  sc_word borrow = 0;
  for (int i = 0; i < sc_words(width); i++) {
    unsigned __int128 difference = (unsigned __int128)a[i] - b[i] - borrow;
    to[i] = (sc_word)difference;
    borrow = (sc_word)(difference >> SC_WORD) & 1;
  }
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_neg(sc_word *to, int width, int is_signed, const sc_word *a) {
  sc_word carry = 1;
  for (int i = 0; i < sc_words(width); i++) {
    to[i] = ~a[i] + carry;
    carry = carry && to[i] == 0;
  }
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_mul(sc_word *to, int width, int is_signed, const sc_word *a,
                                   const sc_word *b) {
  int count = sc_words(width);
  memset(to, 0, (size_t)count * sizeof *to);
  for (int i = 0; i < count; i++) {
    unsigned __int128 sum = 0;
    for (int k = 0; i + k < count; k++) {
      sum += (unsigned __int128)a[i] * b[k] + to[i + k];
      to[i + k] = (sc_word)sum;
      sum >>= SC_WORD;
    }
  }
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_shl(sc_word *to, int width, int is_signed, const sc_word *a,
                                   unsigned long long by) {
  memset(to, 0, (size_t)sc_words(width) * sizeof *to);
  if (by < (unsigned long long)width) sc_bits_move(to, (int)by, a, 0, width - (int)by);
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_shr(sc_word *to, int width, int is_signed, const sc_word *a,
                                   unsigned long long by) {
  memset(to, sc_bits_negative(a, width, is_signed) ? 0xff : 0,
         (size_t)sc_words(width) * sizeof *to);
  if (by < (unsigned long long)width) sc_bits_move(to, 0, a, (int)by, width - (int)by);
  return sc_bits_fitted(to, width, is_signed);
}

/** @return less than, equal to or greater than 0, as a is to b. */
static inline int sc_bits_compare(const sc_word *a, const sc_word *b, int width, int is_signed) {
  int a_negative = sc_bits_negative(a, width, is_signed);
  int b_negative = sc_bits_negative(b, width, is_signed);
  if (a_negative != b_negative) return b_negative - a_negative;
  for (int i = sc_words(width) - 1; i >= 0; i--)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

/** Divides without signs, bit by bit: the dividend becomes the quotient. rest: zero before. */
static inline void sc_bits_divide(sc_word *quotient, sc_word *rest, const sc_word *by, int count) {
  for (int bit = count * SC_WORD - 1; bit >= 0; bit--) {
    sc_word next = quotient[bit / SC_WORD] >> (bit % SC_WORD) & 1, over = rest[count - 1] >> 63;
    for (int i = count - 1; i > 0; i--) rest[i] = rest[i] << 1 | rest[i - 1] >> 63;
    rest[0] = rest[0] << 1 | next;
    int fits = over || sc_bits_compare(rest, by, count * SC_WORD, 0) >= 0;
    quotient[bit / SC_WORD] &= ~(1ULL << (bit % SC_WORD));
    quotient[bit / SC_WORD] |= (sc_word)fits << (bit % SC_WORD);
    sc_word borrow = 0;
    for (int i = 0; fits && i < count; i++) {
      unsigned __int128 difference = (unsigned __int128)rest[i] - by[i] - borrow;
      rest[i] = (sc_word)difference;
      borrow = (sc_word)(difference >> SC_WORD) & 1;
    }
  }
}

static inline void sc_bits_absolute(sc_word *to, const sc_word *from, int width, int negative) {
  if (negative)
    sc_bits_neg(to, sc_words(width) * SC_WORD, 0, from);
  else
    memcpy(to, from, (size_t)sc_words(width) * sizeof *to);
}

/** The quotient, or the rest; as in C it is rounded to zero. */
static inline sc_word *sc_bits_quotient(sc_word *to, int width, int is_signed, const sc_word *a,
                                        const sc_word *b, int wants_rest) {
  int count = sc_words(width);
  int a_negative = sc_bits_negative(a, width, is_signed);
  int b_negative = sc_bits_negative(b, width, is_signed);
  sc_word parts[3][count];
  if (!sc_bits_any(b, width)) {
    raise(SIGFPE);
    abort();
  }
  memset(parts, 0, sizeof parts);
  sc_bits_absolute(parts[0], a, width, a_negative);
  sc_bits_absolute(parts[1], b, width, b_negative);
  sc_bits_divide(parts[0], parts[2], parts[1], count);
  sc_bits_absolute(to, parts[wants_rest ? 2 : 0], width,
                   wants_rest ? a_negative : a_negative != b_negative);
  return sc_bits_fitted(to, width, is_signed);
}

static inline sc_word *sc_bits_div(sc_word *to, int width, int is_signed, const sc_word *a,
                                   const sc_word *b) {
  return sc_bits_quotient(to, width, is_signed, a, b, 0);
}

static inline sc_word *sc_bits_mod(sc_word *to, int width, int is_signed, const sc_word *a,
                                   const sc_word *b) {
  return sc_bits_quotient(to, width, is_signed, a, b, 1);
}

#endif
