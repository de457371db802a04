/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of the kernel that dk.bpf.c uses. Fields are found by name in the running kernel's BTF
 * when the object is loaded, so the structures name only what is needed, in any order. */
#pragma once

typedef unsigned char u8;
typedef signed int s32;
typedef unsigned int u32;
typedef signed long long s64;
typedef unsigned long long u64;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef unsigned char __u8;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

enum bpf_map_type { BPF_MAP_TYPE_HASH = 1 };

struct bpf_iter_num {
  __u64 opaque[1];
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct;

/* Its size in the kernel does not matter: only the kernel looks inside. */
struct cpumask {
  unsigned long bits[1];
};

struct sched_ext_entity {
  u32 flags;
  u32 weight;
  u64 slice;
  u64 dsq_vtime;
};

struct task_struct {
  unsigned int flags;
  int pid;
  int tgid;
  int nr_cpus_allowed;
  const struct cpumask *cpus_ptr;
  struct mm_struct *mm;
  struct task_struct *real_parent;
  struct sched_ext_entity scx;
};

struct scx_init_task_args {
  bool fork;
};

struct scx_exit_task_args;

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
  enum scx_exit_kind kind;
  const char *reason;
  char *msg;
};

#pragma clang attribute pop

/* Members are matched by name with the kernel's; missing ones are zero. */
struct sched_ext_ops {
  s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
  void (*enqueue)(struct task_struct *p, u64 enq_flags);
  void (*dispatch)(s32 cpu, struct task_struct *prev);
  void (*running)(struct task_struct *p);
  void (*stopping)(struct task_struct *p, bool runnable);
  void (*enable)(struct task_struct *p);
  s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
  void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
  s32 (*init)(void);
  void (*exit)(struct scx_exit_info *info);
  u64 flags;
  u32 timeout_ms;
  char name[128];
};

#define PF_KTHREAD 0x00200000
#define SCX_TASK_QUEUED 1u
#define SCX_DSQ_LOCAL ((1ULL << 63) | 2)
#define SCX_DSQ_LOCAL_ON ((1ULL << 63) | (1ULL << 62))
#define SCX_KICK_IDLE 1ULL
#define SCX_KICK_PREEMPT 2ULL
#define SCX_OPS_KEEP_BUILTIN_IDLE 1ULL
#define SCX_OPS_ENQ_LAST 2ULL
#define SCX_ENQ_LAST (1ULL << 41)

extern s32 scx_bpf_create_dsq(u64 dsq, s32 node) __ksym;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags) __ksym;
extern void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime,
                                     u64 enq_flags) __ksym;
extern bool scx_bpf_dsq_move_to_local(u64 dsq) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
extern bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;
