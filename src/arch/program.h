/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file program.h
 * What the loader of programs has to know of the processor: its relocations, and how a program
 * is entered.
 */
#ifndef MT_ARCH_PROGRAM_H
#define MT_ARCH_PROGRAM_H

#include <elf.h>
#include <stdint.h>

/** What a relocation asks for. */
enum mt_arch_reloc {
  MT_RELOC_NONE,
  MT_RELOC_RELATIVE,       /**< the image's base plus the addend */
  MT_RELOC_SYMBOL,         /**< a symbol's address plus the addend */
  MT_RELOC_COPY,           /**< a shared library's initial value of a variable */
  MT_RELOC_INDIRECT,       /**< what the function at base plus addend returns */
  MT_RELOC_TLS_MODULE,     /**< names the image that has a thread-local variable */
  MT_RELOC_TLS_OFFSET,     /**< and where in the block it is */
  MT_RELOC_TLS_STATIC,     /**< its place relative to the thread pointer: nobody else may have it */
  MT_RELOC_TLS_DESCRIPTOR, /**< a function that gives this distance; callers may keep it */
  MT_RELOC_UNKNOWN
};

#if defined(__x86_64__)
#include "arch/x86_64/program_impl.h"
#else
#error "no program_impl.h for this processor"
#endif

#endif
