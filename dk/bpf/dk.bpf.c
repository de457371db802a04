/* SPDX-License-Identifier: GPL-2.0-only */
/* The thesis's scheduler (3.1, 3.2.1, 5.1.1, 5.1.2) for stock kernels with sched_ext.
 *
 * Each CPU has a role: any, user, kernel, off. Tasks wait in queues by class and by domain (CPUs
 * that share a cache). A CPU takes tasks from the queues that its role lets it serve, its own
 * domain first; a CPU of role any takes turns between kernel and user tasks. Within a queue tasks
 * are ordered by virtual time, as weights say.
 *
 * A task's own affinity wins: it waits in a queue of one CPU of that affinity, which serves it
 * whatever its role. If no CPU of the affinity serves the task's class, the task is counted.
 *
 * A flip is a store to the role array, then dk_kick: every CPU looks again, and a task that its CPU
 * no longer serves goes back to a queue. Tasks that a CPU already had in its local queue run there
 * once more.
 *
 * In mode hybrid the roles of some CPUs hold in every second epoch, and all of these CPUs are `any`
 * in the others. Programs that prefer dk or smt have queues of their own, which those CPUs serve in
 * epochs of that mode only.
 */
#include "scx.h"
#include "shared.h"

char LICENSE[] SEC("license") = "GPL";

struct dk_shared shared SEC(".data.shared");

enum queue { KERN, USER, USER_DK, USER_SMT, QUEUES };

#define SLICE_NS 5000000ULL

/* What a program prefers, by its process id. Children get their parent's entry when they are made.
 */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, u32);
  __type(value, u32);
} prefer SEC(".maps");

/* The virtual time of each queue kind, and what a CPU tries first; hints, so races do no harm. */
static u64 vtime_now[QUEUES];
static u8 first_source[DK_MAX_CPUS];

static bool is_kernel(const struct task_struct *p) {
  return shared.class_is_mm ? !p->mm : p->flags & PF_KTHREAD;
}

static u32 queue_of(const struct task_struct *p) {
  if (is_kernel(p)) {
    return KERN;
  }
  u32 tgid = p->tgid, *wanted = bpf_map_lookup_elem(&prefer, &tgid);
  return wanted && *wanted == DK_PREFER_DK    ? USER_DK
         : wanted && *wanted == DK_PREFER_SMT ? USER_SMT
                                              : USER;
}

/* True if a CPU takes tasks of a queue now. */
static bool serves(u32 cpu, u32 queue) {
  if (cpu >= DK_MAX_CPUS) {
    return false;
  }
  u8 role = shared.role[cpu];
  if (shared.epochs[cpu]) {
    if (queue == USER_DK && shared.smt_epoch || queue == USER_SMT && !shared.smt_epoch) {
      return false;
    }
    if (shared.smt_epoch) {
      return true;
    }
  }
  return role == DK_ANY || role == (queue == KERN ? DK_KERNEL : DK_USER);
}

static u64 slice_of(u32 queue) {
  return queue >= USER_DK ? 2 * SLICE_NS
                          : SLICE_NS; /* thesis 5.1.2: twice the slice, every second epoch */
}

static u64 queue_id(u32 domain, u32 queue) { return (u64)domain * QUEUES + queue; }

static u64 own_queue_id(u32 cpu) { return (u64)DK_MAX_DOMAINS * QUEUES + cpu; }

#define STALLED_QUEUE ((u64)DK_MAX_DOMAINS * QUEUES + DK_MAX_CPUS)

/* When a task that has slept may run: at most one slice before tasks that did not sleep. */
static u64 vtime_of(const struct task_struct *p, u32 queue) {
  u64 earliest = vtime_now[queue & 3] - SLICE_NS;
  return (s64)(p->scx.dsq_vtime - earliest) < 0 ? earliest : p->scx.dsq_vtime;
}

static bool may_run(const struct task_struct *p, u32 cpu) {
  return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* True if the task has an affinity of its own. Such a task waits in a queue of one CPU, which
 * serves it whatever its role: in a shared queue it could be left behind by a flip, with no CPU
 * that both serves and may run it. */
static bool restricted(const struct task_struct *p) {
  return p->nr_cpus_allowed < (int)shared.online;
}

/* The CPU whose own queue a restricted task joins: one that serves its class, the last one first;
 * if its affinity has none, the affinity wins over roles, and is counted. */
static s32 own_queue_cpu(const struct task_struct *p, u32 queue) {
  s32 last = scx_bpf_task_cpu(p), allowed = -1;
  u32 i;
  bpf_for(i, 0, shared.cpus) {
    u32 cpu = (u32)last + i;
    cpu = cpu >= shared.cpus ? cpu - shared.cpus : cpu;
    if (!may_run(p, cpu)) {
      continue;
    }
    if (serves(cpu, queue)) {
      return cpu;
    }
    allowed = allowed < 0 ? (s32)cpu : allowed;
  }
  __sync_fetch_and_add(&shared.explicit_tasks, 1);
  return allowed < 0 ? last : allowed;
}

/* Claims an idle CPU that serves the task, the nearest first; -1: there is none. */
static s32 claim_idle(const struct task_struct *p, u32 queue, s32 near) {
  u32 i;
  bpf_for(i, 0, shared.cpus) {
    u32 cpu = (u32)near + i;
    cpu = cpu >= shared.cpus ? cpu - shared.cpus : cpu;
    if (serves(cpu, queue) && may_run(p, cpu) && scx_bpf_test_and_clear_cpu_idle(cpu)) {
      return cpu;
    }
  }
  return -1;
}

SEC("struct_ops/dk_select_cpu")
s32 BPF_PROG(dk_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags) {
  u32 queue = queue_of(p);
  s32 cpu = shared.fault_stall ? -1 : claim_idle(p, queue, prev_cpu);
  if (cpu < 0) {
    return prev_cpu;
  }
  scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_of(queue), 0);
  return cpu;
}

static void enqueue_restricted(struct task_struct *p, u32 queue, u64 enq_flags) {
  s32 cpu = own_queue_cpu(p, queue);
  scx_bpf_dsq_insert_vtime(p, own_queue_id(cpu), SLICE_NS, vtime_of(p, queue), enq_flags);
  scx_bpf_kick_cpu(cpu, enq_flags & SCX_ENQ_LAST ? 0 : SCX_KICK_IDLE);
}

SEC("struct_ops/dk_enqueue")
void BPF_PROG(dk_enqueue, struct task_struct *p, u64 enq_flags) {
  u32 queue = queue_of(p);
  s32 cpu = scx_bpf_task_cpu(p);
  if (shared.fault_stall && queue != KERN) {
    scx_bpf_dsq_insert(p, STALLED_QUEUE, SLICE_NS, enq_flags);
    return;
  }
  if (restricted(p)) {
    enqueue_restricted(p, queue, enq_flags);
    return;
  }
  u32 domain =
      shared
          .domain[(u32)cpu % DK_MAX_CPUS]; /* the verifier wants to see that the index is inside */
  scx_bpf_dsq_insert_vtime(p, queue_id(domain, queue), slice_of(queue), vtime_of(p, queue),
                           enq_flags);
  if (enq_flags & SCX_ENQ_LAST && serves(cpu, queue)) {
    scx_bpf_kick_cpu(cpu, 0); /* nothing else would make this CPU look again */
    return;
  }
  s32 idle = claim_idle(p, queue, cpu);
  if (idle >= 0) {
    scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
  }
}

/* Moves a task of a queue to this CPU, own domain first. */
static bool take(u32 cpu, u32 queue) {
  u32 i, own = shared.domain[cpu];
  if (!serves(cpu, queue)) {
    return false;
  }
  bpf_for(i, 0, shared.domains) {
    u32 domain = own + i;
    domain = domain >= shared.domains ? domain - shared.domains : domain;
    if (scx_bpf_dsq_move_to_local(queue_id(domain, queue))) {
      return true;
    }
  }
  return false;
}

static bool take_kernel(u32 cpu) {
  if (!take(cpu, KERN)) {
    return false;
  }
  __sync_fetch_and_add(&shared.kernel_dispatched, 1);
  return true;
}

static bool take_user(u32 cpu) {
  u32 first = shared.smt_epoch ? USER_SMT : USER_DK;
  if (!take(cpu, first) && !take(cpu, USER) && !take(cpu, USER_DK + USER_SMT - first)) {
    return false;
  }
  __sync_fetch_and_add(&shared.user_dispatched, 1);
  return true;
}

/* Takes a task from one of the three sources of a CPU. */
static bool take_from(u32 cpu, u32 source) {
  switch (source % 3) {
    case 0: return scx_bpf_dsq_move_to_local(own_queue_id(cpu));
    case 1: return take_kernel(cpu);
    default: return take_user(cpu);
  }
}

SEC("struct_ops/dk_dispatch")
void BPF_PROG(dk_dispatch, s32 cpu, struct task_struct *prev) {
  if (cpu < 0 || cpu >= DK_MAX_CPUS) {
    return;
  }
  u32 first = first_source[cpu]; /* each source comes first in turn, so none can starve another */
  first_source[cpu] = first >= 2 ? 0 : first + 1;
  if (take_from(cpu, first) || take_from(cpu, first + 1) || take_from(cpu, first + 2)) {
    return;
  }
  if (prev && prev->scx.flags & SCX_TASK_QUEUED && !shared.fault_stall) {
    u32 queue = queue_of(prev);
    if (serves(cpu, queue) || restricted(prev)) {
      prev->scx.slice = slice_of(queue);
    }
  }
}

SEC("struct_ops/dk_running")
void BPF_PROG(dk_running, struct task_struct *p) {
  u32 queue = queue_of(p) & 3;
  if ((s64)(p->scx.dsq_vtime - vtime_now[queue]) > 0) {
    vtime_now[queue] = p->scx.dsq_vtime;
  }
}

SEC("struct_ops/dk_stopping")
void BPF_PROG(dk_stopping, struct task_struct *p, bool runnable) {
  u64 slice = slice_of(queue_of(p)), left = p->scx.slice;
  u64 used = left < slice ? slice - left : 0;
  p->scx.dsq_vtime += used * 100 / (p->scx.weight ? p->scx.weight : 100);
}

SEC("struct_ops/dk_enable")
void BPF_PROG(dk_enable, struct task_struct *p) { p->scx.dsq_vtime = vtime_now[queue_of(p) & 3]; }

SEC("struct_ops/dk_init_task")
s32 BPF_PROG(dk_init_task, struct task_struct *p, struct scx_init_task_args *args) {
  struct task_struct *parent = bpf_get_current_task_btf();
  u32 mine = p->tgid, theirs = parent->tgid, *wanted = bpf_map_lookup_elem(&prefer, &theirs);
  if (args->fork && wanted && mine != theirs) {
    u32 value = *wanted;
    bpf_map_update_elem(&prefer, &mine, &value,
                        0); /* a full map loses a preference, nothing else */
  }
  return 0;
}

SEC("struct_ops/dk_exit_task")
void BPF_PROG(dk_exit_task, struct task_struct *p, struct scx_exit_task_args *args) {
  u32 tgid = p->tgid;
  if (p->pid == p->tgid) {
    bpf_map_delete_elem(&prefer, &tgid);
  }
}

SEC("struct_ops.s/dk_init")
s32 BPF_PROG(dk_init) {
  u32 i;
  s32 error = 0;
  bpf_for(i, 0, shared.domains * QUEUES) { error = error ? error : scx_bpf_create_dsq(i, -1); }
  bpf_for(i, 0, shared.cpus) { error = error ? error : scx_bpf_create_dsq(own_queue_id(i), -1); }
  return error || !shared.fault_stall ? error : scx_bpf_create_dsq(STALLED_QUEUE, -1);
}

SEC("struct_ops/dk_exit")
void BPF_PROG(dk_exit, struct scx_exit_info *info) {
  bpf_probe_read_kernel_str(shared.exit_reason, DK_TEXT, info->reason);
  bpf_probe_read_kernel_str(shared.exit_message, DK_TEXT, info->msg);
  shared.exit_kind = info->kind; /* last: dk-sched polls it */
}

/* dk-sched runs this after a flip: every CPU looks at its role again. */
SEC("syscall")
int dk_kick(void *context) {
  u32 cpu;
  bpf_for(cpu, 0, shared.cpus) { scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT); }
  return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops dk_ops = {
    .select_cpu = (void *)dk_select_cpu,
    .enqueue = (void *)dk_enqueue,
    .dispatch = (void *)dk_dispatch,
    .running = (void *)dk_running,
    .stopping = (void *)dk_stopping,
    .enable = (void *)dk_enable,
    .init_task = (void *)dk_init_task,
    .exit_task = (void *)dk_exit_task,
    .init = (void *)dk_init,
    .exit = (void *)dk_exit,
    .flags = SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_LAST,
    .timeout_ms = 5000,
    .name = "dk",
};
