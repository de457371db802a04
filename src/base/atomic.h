/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file atomic.h
 * Atomic operations with the memory order in the name. They work on plain
 * integers and pointers (not _Atomic), so that public structures stay C++-clean.
 *
 * Every use that is not relaxed carries a label and names its partner,
 * e.g. RQ-2 release: publishes the chain; pairs RQ-5. tools/lint checks it.
 */
#ifndef MT_BASE_ATOMIC_H
#define MT_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define mt_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define mt_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define mt_load_seq_cst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)

#define mt_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define mt_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define mt_store_seq_cst(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)

#define mt_swap_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define mt_swap_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)

#define mt_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define mt_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define mt_add_seq_cst(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define mt_sub_seq_cst(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_SEQ_CST)
#define mt_or_seq_cst(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define mt_or_relaxed(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define mt_and_relaxed(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELAXED)
#define mt_and_seq_cst(p, v) __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)

/* Compare and swap, strong; *expected is updated on failure (then: relaxed). */
#define mt_cas_relaxed(p, expected, v)                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define mt_cas_acquire(p, expected, v)                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define mt_cas_release(p, expected, v)                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define mt_cas_acq_rel(p, expected, v)                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
#define mt_cas_seq_cst(p, expected, v)                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)

/* A counter with one writer, read by others: no locked instruction needed. */
#define mt_count_owner(p) mt_store_relaxed((p), mt_load_relaxed(p) + 1)

#define mt_likely(x) __builtin_expect(!!(x), 1)
#define mt_unlikely(x) __builtin_expect(!!(x), 0)

#endif
