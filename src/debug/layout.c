/* SPDX-License-Identifier: Apache-2.0 */
/* The description of the library's structures for debuggers; layout.h explains it. */
#include "debug/layout.h"

#include "core/memory/descriptor.h"
#include "core/memory/stack.h"
#include "core/thread/thread.h"
#include "core/vp/vp.h"
#include "mltp/mltp.h"
#include "sync/lock.h"

#define FIELD(name, type, field) {name, offsetof(type, field), sizeof(((type *)NULL)->field)}
#define THREAD(field) FIELD("thread." #field, struct mltp_thread, field)

/* Objects that threads wait for, called as in mt_reason_texts: where they have the queue
 * that thread.waitq points to, and the name. */
#define QUEUE(reason, type) FIELD(reason ".queue", type, queue_)
#define NAME(reason, type) FIELD(reason ".name", type, name_)

/* NOLINTBEGIN(bugprone-sizeof-expression): sizes of pointers are meant */
static const struct mt_layout_row rows[] = {
    {"thread", sizeof(struct mltp_thread), 0},
    THREAD(context),
    THREAD(id),
    THREAD(kind),
    THREAD(where),
    THREAD(why),
    THREAD(special),
    {"special.fresh", MT_FRESH, 0}, /* of thread.special: never run */
    THREAD(waitq),
    THREAD(named),
    THREAD(name),
    THREAD(stack),
    THREAD(stack_low),
    THREAD(stack_size),
    THREAD(parked_at),
    {"where.state_bits", MT_STATE_BITS, 0}, /* of thread.where; above them, the VP's index */
    {"parked_at.shift", MT_CLOCK_SHIFT, 0}, /* its unit is 2^shift ns of CLOCK_MONOTONIC */
    MT_ARCH_REGISTERS,                      /* offset in thread.context, DWARF number */
    FIELD("stack.low", struct mt_stack, low),
    FIELD("stack.class_log2", struct mt_stack, class_log2), /* log2 of its size in bytes */
    FIELD("runtime.running", struct mt_runtime, running),
    FIELD("runtime.main", struct mt_runtime, main),
    FIELD("runtime.main_low", struct mt_runtime, main_low), /* its thread.stack_low */
    FIELD("runtime.main_size", struct mt_runtime, main_size),
    FIELD("runtime.awake", struct mt_runtime, idle.awake),
    FIELD("runtime.vp_count", struct mt_runtime, vp_count),
    FIELD("runtime.vps", struct mt_runtime, vps),
    FIELD("vp.idle", struct mt_vp, idle), /* a struct mltp_thread */
    {"slab", sizeof(struct mt_slab), 0},
    {"slab.per_chunk", MT_SLAB_PER_CHUNK, 0},
    FIELD("slab.used", struct mt_slab, used),
    FIELD("slab.chunks", struct mt_slab, chunks),
    QUEUE("lock", mltp_lock_t),
    NAME("lock", mltp_lock_t),
    {"lock.holder", offsetof(mltp_lock_t, word_), MT_LOCK_WAITERS}, /* bits that are not its */
    QUEUE("condition", mltp_cond_t),
    NAME("condition", mltp_cond_t),
    QUEUE("barrier", mltp_barrier_t),
    NAME("barrier", mltp_barrier_t),
    QUEUE("semaphore", mltp_sem_t),
    NAME("semaphore", mltp_sem_t),
    QUEUE("latch", mltp_latch_t),
    NAME("latch", mltp_latch_t),
    FIELD("wait group.queue", mltp_waitgroup_t, latch_.queue_),
    FIELD("wait group.name", mltp_waitgroup_t, latch_.name_),
    QUEUE("once", mltp_once_t),
    QUEUE("lock to read", mltp_rwlock_t),
    NAME("lock to read", mltp_rwlock_t),
    QUEUE("lock to write", mltp_rwlock_t),
    NAME("lock to write", mltp_rwlock_t),
    {"join of thread.thread", 0, 0},                        /* thread.waitq points to a thread */
    FIELD("message.text", struct mltp_thread, waiting_for), /* the call that waits */
};
/* NOLINTEND(bugprone-sizeof-expression) */

const struct mt_layout mt_layout = {
    .version = MT_LAYOUT_VERSION,
    .row_count = sizeof rows / sizeof rows[0],
    .runtime = &mt_rt,
    .slabs = mt_slabs,
    .kinds = &mt_kind_texts,
    .states = &mt_state_texts,
    .reasons = &mt_reason_texts,
    .rows = rows,
};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* The note: sizes of owner and descriptor, type, owner, descriptor. */
__asm__(".pushsection " MT_LAYOUT_SECTION ", \"a\", %note\n"
        ".balign 4\n"
        ".long 5, 4, " TEXT(MT_LAYOUT_VERSION) "\n"
        ".asciz \"" MT_LAYOUT_OWNER "\"\n"
        ".balign 4\n"
        ".long mt_layout - .\n"
        ".popsection");
