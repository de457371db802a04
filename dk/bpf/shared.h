/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What the BPF scheduler and dk-sched share: one block of memory, mapped by both. */
#pragma once

enum {
  DK_MAX_CPUS = 1024,
  DK_MAX_DOMAINS = 64,
  DK_TEXT = 128,
};

/* What a CPU runs. */
enum dk_role { DK_ANY, DK_USER, DK_KERNEL, DK_OFF };

/* What a program prefers, in mode hybrid. */
enum dk_prefer { DK_PREFER_NONE, DK_PREFER_DK, DK_PREFER_SMT };

/* dk-sched writes a role and then has the CPU kicked; the scheduler only reads. Single bytes and
 * words, so no reader sees half of one. A reader that is late by one decision is what the kick
 * repairs. */
struct dk_shared {
  unsigned char role[DK_MAX_CPUS];   /* [dk-sched] enum dk_role */
  unsigned char epochs[DK_MAX_CPUS]; /* [dk-sched] 1: the CPU's role holds in dk epochs only */
  unsigned char domain[DK_MAX_CPUS]; /* [const] CPUs that share a cache */
  unsigned int domains;              /* [const] how many */
  unsigned int cpus;                 /* [const] CPU numbers are below this */
  unsigned int online;      /* [const] how many CPUs a task without an affinity of its own has */
  unsigned int class_is_mm; /* [const] 1: kernel tasks are those without an mm (thesis 3.2.1) */
  unsigned int
      fault_stall;        /* [const] 1: queue tasks where nobody takes them, to test the watchdog */
  unsigned int smt_epoch; /* [dk-sched] 1: this epoch is one of mode smt */
  unsigned long long explicit_tasks;    /* [scheduler] times that an affinity won over roles */
  unsigned long long user_dispatched;   /* [scheduler] user tasks taken from a queue */
  unsigned long long kernel_dispatched; /* [scheduler] kernel tasks taken from a queue */
  int exit_kind;                        /* [scheduler] enum scx_exit_kind; 0 while it runs */
  char exit_reason[DK_TEXT];            /* [scheduler] the kernel's words */
  char exit_message[DK_TEXT];           /* [scheduler] */
};
