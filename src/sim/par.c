/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children. They live in an array of their parent, which waits until all have ended.
 */
#include "sim/effects.h"

enum { CHILDREN_ON_STACK = 16 };

static inline void born(struct sim_thread *t, struct sim_thread *parent,
                        const mltp_sim_child_t *child) {
  t->host = NULL;
  t->parent = parent;
  t->node.thread = t;
  t->body = child->body;
  t->arg = child->arg;
  t->name = child->name;
  t->scope = parent->scope;
  t->children = 0;
  sm_do(SM_SPAWN, t);
}

static void run_all(struct sim_thread *self, struct sim_thread *threads,
                    const mltp_sim_child_t *children, size_t count) {
  self->children = (uint32_t)count;
  for (size_t i = 0; i < count; i++) born(&threads[i], self, &children[i]);
  self->state = SM_JOINING;
  sm_switch(sm_give_way(self));
}

static void run_few(struct sim_thread *self, const mltp_sim_child_t *children, size_t count) {
  struct sim_thread threads[CHILDREN_ON_STACK];
  run_all(self, threads, children, count);
}

void mltp_sim_par(const mltp_sim_child_t *children, size_t count) {
  struct sim_thread *self = sm_self("mltp_sim_par");
  if (count == 0) return;
  if (SM_LIKELY(count <= CHILDREN_ON_STACK)) {
    run_few(self, children, count);
    return;
  }
  static const char what[] = "the children of mltp_sim_par()";
  size_t size;
  if (__builtin_mul_overflow(count, sizeof(struct sim_thread), &size)) sm_no_memory(what);
  run_all(self, sm_block_new(self, size, what), children, count);
  sm_block_free(self);
}
