/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of x86-64: a processor's plain stores wait in its store buffer, first
 * in, first out, and reach memory whenever they like. A processor sees its own
 * stores at once (LOAD looks into the buffer first). A locked instruction empties
 * the own buffer; membarrier(2) empties all of them, one after the other.
 *
 * The model defines CPUS and WORDS before it includes this file. Variables that
 * only locked instructions write need no place in mem[]: plain globals will do.
 *
 * -DFULL_FENCES explores MLTP_MEMBARRIER=off, where both fences are the processor's.
 */
#ifndef ENTRIES
#define ENTRIES 2
#endif
byte used[CPUS]; /* entries in the store buffer; the older one is the first */
byte word1[CPUS], value1[CPUS];
byte word2[CPUS], value2[CPUS];
byte mem[WORDS];

#define LOAD(cpu, w)                                                                               \
  (used[cpu] == 2 && word2[cpu] == (w)                                                             \
       -> value2[cpu]                                                                              \
       : (used[cpu] >= 1 && word1[cpu] == (w) -> value1[cpu] : mem[w]))

/* A plain store. Executable when there is room. */
inline store(cpu, w, x) {
  d_step {
    used[cpu] < ENTRIES ->
    if
    :: used[cpu] == 0 -> word1[cpu] = w; value1[cpu] = x
    :: else -> word2[cpu] = w; value2[cpu] = x
    fi;
    used[cpu]++
  }
}

inline oldest_out(cpu) {
  mem[word1[cpu]] = value1[cpu];
  word1[cpu] = word2[cpu];
  value1[cpu] = value2[cpu];
  word2[cpu] = 0;
  value2[cpu] = 0;
  used[cpu]--
}

/* What a locked instruction begins with; to be used inside an atomic block with it. */
inline drain(cpu) {
  d_step {
    if
    :: used[cpu] == 0
    :: used[cpu] == 1 -> oldest_out(cpu)
    :: used[cpu] == 2 -> oldest_out(cpu); oldest_out(cpu)
    fi
  }
}

inline light_fence(cpu) {
#ifdef FULL_FENCES
  drain(cpu)
#else
  skip
#endif
}

inline heavy_fence(cpu) {
#ifdef FULL_FENCES
  drain(cpu)
#else
  drain(0);
  drain(1)
#if CPUS > 2
  ;
  drain(2)
#endif
#endif
}

active proctype store_buffers() {
end:
  do
  :: d_step { used[0] > 0 -> oldest_out(0) }
  :: d_step { used[1] > 0 -> oldest_out(1) }
#if CPUS > 2
  :: d_step { used[2] > 0 -> oldest_out(2) }
#endif
  od
}
