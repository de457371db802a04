/* SPDX-License-Identifier: Apache-2.0 */
/* dk-sched: holds the BPF scheduler of mode switching for as long as it runs, and takes orders by a
 * socket.
 *
 * main.c has the options and the loop, scheduler.c the BPF side, orders.c the socket. When dk-sched
 * ends, by whatever cause, the kernel returns all tasks to its own scheduler. */
#pragma once
#include "../bpf/shared.h"

#include <stdbool.h>
#include <stddef.h>

/** A loaded scheduler; `shared` is the memory that it and the kernel's side both see. */
struct scheduler {
  struct bpf_object *object;
  struct bpf_link *link;
  struct dk_shared *shared;
  int kick_fd, prefer_fd;
};

/**
 * Opens and verifies the BPF object, without starting it.
 * @param roles  of each CPU, as in "0=user,1=kernel"; CPUs that are not named are `any`.
 * @param epochs  CPUs whose roles hold in every second epoch, as in "0,1"; NULL: none.
 * @return 0; EINVAL: a role or CPU is wrong; another positive errno: the kernel refuses
 * (last_warning() says why).
 */
int scheduler_load(struct scheduler *scheduler, const char *roles, const char *epochs,
                   bool class_is_mm, bool stall);

/** Makes it the kernel's scheduler. @return 0; a positive errno. */
int scheduler_start(struct scheduler *scheduler);

/** Returns tasks to the kernel's own scheduler, and frees everything. */
void scheduler_stop(struct scheduler *scheduler);

/** Stores roles and has every CPU look at them. @return 0; EINVAL: nothing is changed. */
int scheduler_flip(struct scheduler *scheduler, const char *roles, const char *epochs);

/** Begins an epoch of mode smt or dk. */
void scheduler_epoch(struct scheduler *scheduler, bool smt);

/** Notes what a process prefers; its children inherit it. @return 0; a positive errno. */
int scheduler_prefer(struct scheduler *scheduler, unsigned pid, enum dk_prefer wanted);

/** True if the kernel has ejected the scheduler. */
bool scheduler_ejected(const struct scheduler *scheduler);

/** Has libbpf's warnings printed, the verifier's log among them. */
void show_warnings(void);

/** The last warning of libbpf, or "". */
const char *last_warning(void);

/** Makes the socket that orders come by. @return a descriptor, or a negative errno. */
int orders_open(const char *path);

/** Answers one connection. @return true: the order is to stop. Blocks: a second at most. */
bool orders_take(int door, struct scheduler *scheduler);
