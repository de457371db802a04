/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file prefetch.h
 * Cache lines are fetched before they are needed.
 */
#ifndef MT_ARCH_PREFETCH_H
#define MT_ARCH_PREFETCH_H

/** Fetches a line that is going to be written, and takes it from other processors' caches. On
 * x86-64 the builtin leaves it there, unless the compiler may assume PREFETCHW. Old processors
 * execute that instruction as one that does nothing. */
static inline void mt_arch_prefetch_own(void *address) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
  __builtin_prefetch(address, 1);
#endif
}

#endif
