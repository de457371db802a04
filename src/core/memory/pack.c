/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packer; pack.h explains it.
 *
 * Relaxed: what is read of descriptors is only a hint; counters are for reports; `ends` is read
 * again after each wait; `runs` changes while the runtime starts and ends.
 */
#include "core/memory/pack.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "core/memory/descriptor.h"
#include "core/memory/page_code.h"
#include "core/memory/page_store.h"
#include "core/memory/stack.h"
#include "os/faults.h"

enum {
  STAGE = 64,           /* pages that are moved before their memory goes back */
  BATCH = 64,           /* stacks from one look at faults to the next */
  FAULTS = 64,          /* faults that are served at a time */
  CODE_MOST = 3072,     /* a page with a longer code stays */
  AHEAD_MOST = 64,      /* stacks that are brought back before they are touched */
  PASS_NS = 1000000000, /* from one pass to the next, at most, while there is something to pack */
  PASS_LEAST_NS = 1000000,
  REST_MOST = 16,    /* times as long, after passes that found nothing */
  LOOK_SHARE = 8,    /* looking at descriptors takes at most a ninth of a CPU's time */
  PATIENT_MS = 5000, /* for memory for a page that is touched */
  NAP_NS = 20000
};

static const size_t CHUNK = (size_t)64 << 20; /* watched at a time: each is a mapping, at most */
static const size_t STORE_MOST = (size_t)64 << 30;

enum { CHUNKS = 17 * 1024 + 1 }; /* of a part of 1 TiB, with the pages between small stacks */

enum state { STARTING, RUNS, REFUSED };

static struct {
  struct os_faults faults; /* [owner] the packer */
  pthread_t thread;        /* [const while it runs] */
  uint32_t state;          /* [atomic] enum state, a futex word */
  int error;               /* why it was refused, and in which call */
  const char *what;        /* likewise */
  uint32_t runs;           /* [atomic] there is a packer */
  uint32_t ends;           /* [atomic] it has to end */
  char *stage;             /* [const] STAGE pages, then the bell, then a page that is not watched */
  size_t staged;           /* [owner] pages of the stage that are in use */
  struct {
    uint64_t pages[BATCH]; /* [owner] topmost pages of stacks that are to be packed */
    uint8_t classes[BATCH];
    size_t count;
  } chosen;
  struct {
    uintptr_t last; /* [owner] the page that was touched last */
    size_t window;  /* stacks to bring back at the next touch in the same direction */
  } ahead;
  struct {
    uintptr_t next; /* [owner] where the next stack that is new is expected to be touched */
    size_t window;  /* new stacks to fill then */
  } fresh;
  uint64_t moving_ns;                              /* [owner] CPU time that was spent on pages */
  struct mt_pack_counts counts;                    /* [atomic] the packer writes */
  uint8_t watched[MT_STACK_PARTS][CHUNKS / 8 + 1]; /* [owner] a bit for each chunk */
} pack;

static uint32_t forks; /* [atomic] threads that are in fork() */
static uint32_t moves; /* [atomic] 1: the packer takes pages from stacks */

static char *bell(void) { return pack.stage + (size_t)STAGE * MT_PAGE; }

static void add(uint64_t *counter) { mt_count_owner(counter); }

static void note_store(void) {
  mt_store_relaxed(&pack.counts.pages, mt_store_count());
  mt_store_relaxed(&pack.counts.bytes, mt_store_bytes());
}

/* ---- pages that are touched */

static void fill(uintptr_t page, const void *content) {
  for (int ms = 0; ms < PATIENT_MS; ms++) {
    int error = os_faults_fill(&pack.faults, (void *)page, content, MT_PAGE);
    if (error == 0) return;
    if (error != ENOMEM || ms == PATIENT_MS - 1)
      os_faults_fatal("ioctl(UFFDIO_COPY)", error, "give the process more memory");
    os_nap(1000000);
  }
}

/* @return the content of a page that is packed, until the next call; NULL: it is not. */
static const char *unpacked(uintptr_t page, unsigned *class_log2) {
  static alignas(MT_PAGE) char content[MT_PAGE];
  const uint8_t *code = mt_store_find(page, class_log2);
  if (code == NULL) return NULL;
  mt_page_decode(content, code);
  return content;
}

/* The page is there; now its code goes: a child of fork() has one of the two. */
static void note_back(uintptr_t page) {
  mt_store_drop(page);
  add(&pack.counts.back);
}

/* Threads that are woken in the order in which they were created touch stack after stack. Each
 * touch costs a sleep of the VP, so more and more stacks come back at a time, as in files that are
 * read in order. */
static void bring_ahead(uintptr_t page, unsigned class_log2) {
  size_t stride = mt_stack_stride((int)class_log2), most = 2 * AHEAD_MOST * stride;
  bool up = page > pack.ahead.last;
  size_t distance = up ? page - pack.ahead.last : pack.ahead.last - page;
  pack.ahead.last = page;
  size_t window = distance > most ? 0 : pack.ahead.window == 0 ? 1 : 2 * pack.ahead.window;
  pack.ahead.window = window < AHEAD_MOST ? window : AHEAD_MOST;
  for (size_t i = 1; i <= pack.ahead.window; i++) {
    unsigned other;
    uintptr_t next = up ? page + i * stride : page - i * stride;
    const char *content = unpacked(next, &other);
    if (content == NULL) continue;
    /* without memory it stays packed, and can wait for some when it is touched */
    if (os_faults_fill(&pack.faults, (void *)next, content, MT_PAGE) != 0) return;
    note_back(next);
    add(&pack.counts.ahead);
  }
}

/* @return the end of the chunk that a page is in. */
static uintptr_t chunk_end(uintptr_t page) {
  uintptr_t base;
  size_t size;
  if (mt_stacks_part(page, &base, &size) < 0) return page + MT_PAGE;
  uintptr_t end = base + ((page - base) / CHUNK + 1) * CHUNK;
  return end < base + size ? end : base + size;
}

/* New threads touch one new stack after the other, which lie in a row, and on a busy machine a
 * creator that sleeps at each waits for a CPU each time. So more and more of the following ones get
 * their topmost page. A page that is there already stays. */
static void fill_ahead(uintptr_t page) {
  static alignas(MT_PAGE) char zeroes[MT_PAGE];
  size_t stride = mt_stack_stride(mt_rt.stack_class), window = 1;
  if (page == pack.fresh.next) window = 2 * pack.fresh.window;
  pack.fresh.window = window < AHEAD_MOST ? window : AHEAD_MOST;
  uintptr_t end = chunk_end(page);
  unsigned class_log2;
  size_t i = 1;
  for (; i <= pack.fresh.window && page + i * stride < end; i++) {
    void *next = (void *)(page + i * stride);
    if (mt_store_find((uintptr_t)next, &class_log2) == NULL &&
        os_faults_fill(&pack.faults, next, zeroes, MT_PAGE) != 0)
      break;
  }
  pack.fresh.next = page + i * stride;
}

static void serve_one(uintptr_t address) {
  static alignas(MT_PAGE) char zeroes[MT_PAGE];
  uintptr_t page = address & ~(uintptr_t)(MT_PAGE - 1);
  unsigned class_log2;
  const char *content = unpacked(page, &class_log2);
  if (content != NULL) {
    fill(page, content);
    note_back(page);
    bring_ahead(page, class_log2);
    return;
  }
  fill(page, zeroes);
  fill_ahead(page);
  add(&pack.counts.touched);
}

/* Serves what there is; if nothing, waits until the deadline. 0: does not wait. */
static void serve(uint64_t deadline) {
  uintptr_t addresses[FAULTS];
  size_t count = os_faults_wait(&pack.faults, addresses, FAULTS, deadline);
  for (size_t i = 0; i < count; i++) serve_one(addresses[i]);
  if (count != 0) note_store();
}

/* ---- pages that are taken */

/* The page is on the stage, and there is no place for its code. */
static void put_back(uintptr_t page, char *staged) {
  int error = os_faults_move(&pack.faults, (void *)page, staged, MT_PAGE);
  if (error != 0) fill(page, staged);
}

/* The topmost page has a byte that nobody else writes, so one that a child of fork() shares can be
 * made this process's own. Other pages are when their thread has written to them. */
static int move_out(char *staged, uintptr_t page, bool is_top) {
  int error = os_faults_move(&pack.faults, staged, (void *)page, MT_PAGE);
  if (error != EBUSY || !is_top) return error;
  const struct mt_stack *stack = (const struct mt_stack *)(page + MT_PAGE - MT_CACHE_LINE);
  os_faults_own(&pack.faults, &stack->zero);
  return os_faults_move(&pack.faults, staged, (void *)page, MT_PAGE);
}

/* @return false: it is absent or has to stay. */
static bool take_page(uintptr_t page, unsigned class_log2, bool is_top) {
  static uint8_t code[MT_PAGE_CODE_MOST];
  char *staged = pack.stage + pack.staged * MT_PAGE;
  int error = move_out(staged, page, is_top);
  if (error != 0) {
    if (error != ENOENT) add(&pack.counts.kept);
    return false;
  }
  size_t size = mt_page_encode(code, staged);
  bool stored = size == MT_PAGE_CODE_EMPTY || /* an absent page reads as zeroes */
                (size <= CODE_MOST && mt_store_put(page, class_log2, code, size));
  if (stored)
    add(&pack.counts.packed);
  else
    add(&pack.counts.kept);
  if (!stored) put_back(page, staged);
  if (++pack.staged == STAGE) {
    os_trim(pack.stage, (size_t)STAGE * MT_PAGE);
    pack.staged = 0;
  }
  return stored;
}

/* @return false: not all of the slot can be watched. Chunks are those of a part, which is reserved
 * as a whole. */
static bool watch(uintptr_t low, uintptr_t end) {
  uintptr_t base;
  size_t size;
  int part = mt_stacks_part(low, &base, &size);
  if (part < 0 || end - base > size) return false;
  for (size_t i = (low - base) / CHUNK; i <= (end - 1 - base) / CHUNK; i++) {
    uint8_t *byte = &pack.watched[part][i / 8], bit = (uint8_t)(1u << i % 8);
    if (*byte & bit) continue;
    size_t left = size - i * CHUNK;
    if (os_faults_watch(&pack.faults, (void *)(base + i * CHUNK), left < CHUNK ? left : CHUNK) != 0)
      return false;
    *byte |= bit;
  }
  return true;
}

static void take_stack(uintptr_t top, unsigned class_log2) {
  size_t size = (size_t)1 << class_log2;
  uintptr_t end = top + MT_PAGE, low = end - size;
  if (!watch(low, end)) return;
  uintptr_t last = low + mt_stack_guard(size, MT_PAGE);
  for (uintptr_t page = top; page >= last && take_page(page, class_log2, page == top);)
    page -= MT_PAGE;
}

/* Takes what has been chosen, unless a thread is in fork(). */
static void take_chosen(void) {
  uint64_t begin = os_thread_cpu_time();
  mt_store_seq_cst(&moves, 1); /* PA-3 seq_cst: before the look; pairs PA-6 */
  /* PA-4 seq_cst: after PA-3; pairs PA-5 PA-10 */
  if (mt_load_seq_cst(&forks) == 0)
    for (size_t i = 0; i < pack.chosen.count; i++)
      take_stack(pack.chosen.pages[i], pack.chosen.classes[i]);
  mt_store_release(&moves, 0); /* PA-7 release: store and stage are whole; pairs PA-6 */
  pack.chosen.count = 0;
  note_store();
  pack.moving_ns += os_thread_cpu_time() - begin;
}

/* ---- passes */

/* A clock of 4.2 ms; a VP's may be ahead of this one or behind it. */
static bool is_cold(const struct mltp_thread *t, uint32_t clock) {
  if (mt_state(t) != MT_PARKED || t->kind != MT_UNBOUND) return false;
  int32_t age = (int32_t)(clock - mt_load_relaxed(&t->parked_at));
  return age >= (int32_t)mt_clock((uint64_t)mt_options.pack_ms * 1000000);
}

static void look_at(const struct mltp_thread *t, void *clock) {
  unsigned class_log2 = t->stack_class;
  if (mt_load_relaxed(&pack.ends) || !is_cold(t, *(const uint32_t *)clock)) return;
  uintptr_t stack = (uintptr_t)mt_load_relaxed(&t->stack);
  uintptr_t top = stack & ~(uintptr_t)(MT_PAGE - 1);
  if (stack == 0 || class_log2 < MT_STACK_CLASS_MIN || class_log2 > MT_STACK_CLASS_MAX) return;
  unsigned known;
  if (mt_store_find(top, &known) != NULL) return;
  pack.chosen.pages[pack.chosen.count] = top;
  pack.chosen.classes[pack.chosen.count++] = (uint8_t)class_log2;
  if (pack.chosen.count < BATCH) return;
  take_chosen();
  uint64_t begin = os_thread_cpu_time();
  serve(0);
  pack.moving_ns += os_thread_cpu_time() - begin;
}

/* @return the CPU time that looking at the descriptors took. Others may have had the CPU for much
 * longer meanwhile, and the packer would rest for a multiple of that. */
static uint64_t pass(void) {
  uint64_t begin = os_thread_cpu_time();
  uint32_t clock = mt_clock(os_now());
  pack.moving_ns = 0;
  mt_descriptors_visit(look_at, &clock);
  if (pack.chosen.count != 0) take_chosen();
  return os_thread_cpu_time() - begin - pack.moving_ns;
}

static uint64_t pass_ns(void) {
  uint64_t ns = (uint64_t)mt_options.pack_ms * 1000000 / 2;
  if (ns > PASS_NS) ns = PASS_NS;
  return ns > PASS_LEAST_NS ? ns : PASS_LEAST_NS;
}

static void work(void) {
  uint64_t rest = 1, before = 0, next = os_now() + pass_ns();
  while (!mt_load_relaxed(&pack.ends)) {
    serve(next);
    if (os_now() < next) continue;
    uint64_t looking_ns = pass(), ns, moved = pack.counts.packed + pack.counts.back;
    rest = moved != before ? 1 : rest < REST_MOST ? 2 * rest : REST_MOST;
    before = moved; /* what came back may be cold again */
    ns = rest * pass_ns();
    next = os_now() + (ns > LOOK_SHARE * looking_ns ? ns : LOOK_SHARE * looking_ns);
  }
}

/* ---- start and end */

static int refuse(int error, const char *what) {
  pack.what = what;
  return error;
}

/* Moves a page twice, which shows that the kernel moves pages and gives the memory back. */
static int try_it(void) {
  char *plain = bell() + MT_PAGE;
  for (int i = 0; i < 2; i++) {
    plain[0] = 'p';
    int error = os_faults_move(&pack.faults, pack.stage, plain, MT_PAGE);
    if (error == 0 && pack.stage[0] != 'p') error = EIO;
    if (error == EEXIST) return refuse(EBUSY, "madvise(MADV_DONTNEED) of locked memory");
    if (error != 0) return refuse(error, "ioctl(UFFDIO_MOVE)");
    os_trim(pack.stage, MT_PAGE);
  }
  return 0;
}

static int open_all(void) {
  size_t size = (size_t)(STAGE + 2) * MT_PAGE, limit = os_address_space_limit();
  int error = os_faults_open(&pack.faults, "mltp-packer");
  if (error != 0) return refuse(error, "userfaultfd");
  pack.stage = os_reserve(size);
  if (pack.stage == NULL || mt_stacks_commit(pack.stage, size) != 0) return refuse(ENOMEM, "mmap");
  error = os_faults_watch(&pack.faults, pack.stage, size - MT_PAGE);
  if (error != 0) return refuse(error, "ioctl(UFFDIO_REGISTER)");
  error = try_it();
  if (error != 0) return error;
  error = mt_store_init(limit / 8 < STORE_MOST ? limit / 8 : STORE_MOST);
  return error != 0 ? refuse(error, "mmap") : 0;
}

static void close_all(void) {
  os_faults_close(&pack.faults);
  if (pack.stage != NULL) os_release(pack.stage, (size_t)(STAGE + 2) * MT_PAGE);
  mt_store_free();
  memset(&pack, 0, sizeof pack);
}

static void *packer(void *unused) {
  os_signals_off();
  pack.error = open_all();
  /* PA-8 release: error, what; pairs PA-9 */
  mt_store_release(&pack.state, pack.error == 0 ? RUNS : REFUSED);
  os_futex_wake(&pack.state, 1);
  if (pack.error == 0) work();
  os_faults_close(&pack.faults);
  return unused;
}

/* Before fork(): the child is to have each page in its stack or in the store. */
static void before_fork(void) {
  mt_add_seq_cst(&forks, 1); /* PA-5 seq_cst: before the look; pairs PA-4 */
  /* PA-6 seq_cst: after PA-5; pairs PA-3 PA-7 */
  while (mt_load_seq_cst(&moves)) os_nap(NAP_NS);
}

static void after_fork(void) {
  mt_sub_seq_cst(&forks, 1); /* PA-10 seq_cst: after the fork; pairs PA-4 */
}

static int report_refusal(void) {
  int error = pack.error;
  const char *remedy = "unset MLTP_PACK_MS";
  if (error == EPERM || error == EACCES)
    remedy =
        "run as root, give the capability SYS_PTRACE, set vm.unprivileged_userfaultfd=1, or allow "
        "userfaultfd(2) in the seccomp filter; or unset MLTP_PACK_MS";
  else if (error == ENOSYS || error == EOPNOTSUPP)
    remedy = "needs Linux 6.8 with CONFIG_USERFAULTFD; or unset MLTP_PACK_MS";
  mt_message("MLTP_PACK_MS: stacks cannot be packed: %s: %s (%s)", pack.what, strerror(error),
             remedy);
  return EINVAL;
}

static int refuse_here(const char *why) {
  mt_message("MLTP_PACK_MS: stacks cannot be packed: %s (unset MLTP_PACK_MS)", why);
  return EINVAL;
}

int mt_pack_start(void) {
  static bool hooked; /* [const] under the lock of mltp_init() */
  if (mt_options.pack_ms == MT_PACK_OFF || mt_options.backend == MT_BACKEND_KERNEL) return 0;
  if (MT_SANITIZER_SWITCHES || mt_options.backend == MT_BACKEND_ANNOUNCED)
    return refuse_here("a sanitizer stops all kernel threads and looks at stacks");
  if (os_page_size() != MT_PAGE) return refuse_here("pages are not of 4096 bytes");
  if (!hooked && os_fork_hooks(before_fork, after_fork) != 0)
    return refuse_here("no memory for handlers of fork()");
  hooked = true;
  memset(&pack, 0, sizeof pack);
  struct os_affinity affinity = {0};
  int priority = os_priority_raise();
  int error = os_thread_start(&pack.thread, &affinity, false, packer, NULL);
  os_priority_restore(priority);
  if (error != 0) {
    char why[128];
    os_thread_refusal(error, why, sizeof why);
    return refuse_here(why);
  }
  /* PA-9 acquire: error, what; pairs PA-8 */
  while (mt_load_acquire(&pack.state) == STARTING) os_futex_wait(&pack.state, STARTING, UINT64_MAX);
  mt_store_relaxed(&pack.runs, pack.state == RUNS);
  if (pack.state == RUNS) return 0;
  os_thread_join(pack.thread);
  error = report_refusal();
  close_all();
  return error;
}

void mt_pack_stop(void) {
  if (!mt_load_relaxed(&pack.runs)) return;
  mt_store_relaxed(&pack.ends, 1);
  (void)mt_load_relaxed(bell()); /* absent and watched, so the packer wakes up */
  os_thread_join(pack.thread);
  close_all();
}

static void restore(uintptr_t page, const uint8_t *code) {
  const uint64_t *words = (const uint64_t *)page;
  for (size_t i = 0; i < MT_PAGE / sizeof words[0]; i++)
    if (words[i] != 0) return; /* it came back while the kernel copied the memory */
  mt_page_decode((void *)page, code);
}

void mt_pack_child(void) {
  mt_store_relaxed(&forks, 0);
  if (!mt_load_relaxed(&pack.runs)) return;
  pack.faults = (struct os_faults){-1, -1}; /* of the packer, which the child does not have */
  mt_store_visit(restore);
  close_all();
}

uint32_t mt_pack_tasks(void) { return mt_load_relaxed(&pack.runs); }

void mt_pack_counts(struct mt_pack_counts *counts) {
  uint64_t *to = (uint64_t *)counts, *from = (uint64_t *)&pack.counts;
  for (size_t i = 0; i < sizeof *counts / sizeof *to; i++) to[i] = mt_load_relaxed(&from[i]);
}
