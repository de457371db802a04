/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file probes.h
 * Static probes for perf, bpftrace and SystemTap: mltp-probes(7) lists them. Where
 * <sys/sdt.h> exists each is a nop and a note of where its arguments are; otherwise
 * nothing. Arguments are given as they lie, pointers in registers and fields in memory,
 * so that none is loaded for a probe nobody watches. A compiler takes a probe for a large
 * piece of code: the paths that matter are always_inline, and were counted.
 */
#ifndef MT_INSTRUMENT_PROBES_H
#define MT_INSTRUMENT_PROBES_H

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define MT_SDT 1
#endif
#endif

#if defined(MT_SDT)
#define MT_PROBE1(name, a) DTRACE_PROBE1(mltp, name, a)
#define MT_PROBE2(name, a, b) DTRACE_PROBE2(mltp, name, a, b)
#define MT_PROBE3(name, a, b, c) DTRACE_PROBE3(mltp, name, a, b, c)
#else
#define MT_PROBE1(name, a) ((void)(a))
#define MT_PROBE2(name, a, b) ((void)(a), (void)(b))
#define MT_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

#endif
