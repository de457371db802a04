/* SPDX-License-Identifier: Apache-2.0 */
/* When the packer looks at threads, how it starts and ends, and a child of fork() (pack_steps.h).
 */
#include "pack_steps.h"

/* ---- passes */

/* A thread that has been parked for long, with the topmost page of its stack. */
static struct mltp_thread *make_cold(int stack) {
  struct mltp_thread *t = &world.threads[world.thread_count++];
  has_pages(stack, 1, 'a');
  t->kind = MT_UNBOUND;
  t->stack_class = CLASS;
  t->stack = (struct mt_stack *)(top_of(stack) + MT_PAGE - MT_CACHE_LINE);
  t->parked_at = 0;
  mt_set_where(t, MT_PARKED, 0);
  return t;
}

static void pages_are_moved_between_forks(const char *word) {
  if (strncmp(word, "take", 4) == 0) CHECK_EQUAL(moves, 1);
}

static void cold_stacks_are_taken(void) {
  begin();
  const uint32_t age = mt_clock((uint64_t)100 * MS), now = mt_clock(world.now);
  make_cold(0)->parked_at = now - age;
  make_cold(1)->parked_at = now - age + 1;
  make_cold(2)->parked_at = now + 1; /* by the clock of another VP */
  mt_set_where(make_cold(3), MT_RUNNING, 0);
  make_cold(4)->kind = MT_BOUND;
  make_cold(5)->stack = NULL;
  make_cold(6)->stack_class = MT_STACK_CLASS_MIN - 1;
  make_cold(7)->stack_class = MT_STACK_CLASS_MAX + 1;
  pack_stacks(8, 1);
  make_cold(8);
  make_cold(9);
  world.visit_ns = 1000;
  at_note = pages_are_moved_between_forks;
  CHECK_EQUAL(pass(), 1000);
  at_note = NULL;
  TRACE("watch:0:64 take:3 take:39");
  CHECK_EQUAL(pack.counts.pages, 3);
  CHECK_EQUAL(pack.counts.bytes, mt_store_bytes());
  CHECK_EQUAL(pack.chosen.count, 0);
  CHECK_EQUAL(moves, 0);
  pack.ends = 1;
  make_cold(10);
  CHECK_EQUAL(pass(), 1000);
  TRACE("");
}

/* What was chosen for an earlier pass is forgotten. */
static void a_thread_that_has_run_keeps_its_stack(void) {
  begin();
  make_cold(0);
  struct mltp_thread *runs = make_cold(1);
  pass();
  touch(0);
  touch(1);
  trace[0] = '\0';
  mt_set_where(runs, MT_RUNNING, 0);
  pass();
  TRACE("take:3");
}

static void faults_are_served_between_batches(void) {
  begin();
  for (int i = 0; i < BATCH + 1; i++) make_cold(i);
  pack_stacks(100, 1);
  world.touched[0] = top_of(100);
  world.touched_count = 1;
  world.visit_ns = 3;
  CHECK_EQUAL(pass(), 3); /* without the time for pages */
  CHECK_EQUAL(world.wait_count, 1);
  CHECK_EQUAL(world.waits[0], 0);
  CHECK_EQUAL(pack.counts.packed, BATCH + 1);
  CHECK_EQUAL(pack.counts.back, 1);
  CHECK_EQUAL(pack.moving_ns, (BATCH + 1) * 5 + 7);
}

static void no_page_is_taken_during_a_fork(void) {
  begin();
  make_cold(0);
  before_fork();
  CHECK_EQUAL(world.naps, 0);
  CHECK_EQUAL(pass(), 0);
  TRACE("");
  CHECK_EQUAL(pack.chosen.count, 0);
  after_fork();
  CHECK_EQUAL(pass(), 0);
  TRACE("watch:0:64 take:3");
  moves = 1; /* until the packer has finished */
  before_fork();
  CHECK_EQUAL(world.naps, 1);
  CHECK_EQUAL(forks, 1);
  after_fork();
  CHECK_EQUAL(forks, 0);
}

static void passes_come_twice_in_the_time_of_a_cold_thread(void) {
  static const struct {
    int64_t pack_ms;
    uint64_t pass_us;
  } rows[] = {{0, 1000}, {2, 1000}, {3, 1500}, {100, 50000}, {2000, 1000000}, {2001, 1000000}};
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check_case("%ld ms", (long)rows[i].pack_ms);
    mt_options.pack_ms = rows[i].pack_ms;
    CHECK_EQUAL(pass_ns(), rows[i].pass_us * 1000);
  }
}

/* Of each wait: milliseconds after the one before. */
static void check_waits(const int *expected, int count) {
  uint64_t before = (uint64_t)1000 << MT_CLOCK_SHIFT;
  world.wait_most = count;
  work();
  CHECK_EQUAL(world.wait_count, count);
  for (int i = 0; i < count; i++) {
    check_case("wait %d", i);
    CHECK_EQUAL((world.waits[i] - before) / MS, expected[i]);
    before = world.waits[i];
  }
}

static void the_packer_rests_longer_while_it_finds_nothing(void) {
  static const int idle[] = {50, 100, 200, 400, 800, 800}, moving[] = {50, 50, 100},
                   early[] = {50, 0, 100}, looking[] = {50, 8 * 40, 8 * 40};
  begin();
  check_waits(idle, 6);
  begin();
  make_cold(0);
  check_waits(moving, 3);
  begin();
  world.early = 1; /* it was woken for faults */
  check_waits(early, 3);
  begin();
  world.visit_ns = (uint64_t)40 * MS;
  check_waits(looking, 3);
}

/* ---- start and end */

static void it_starts_and_stops(void) {
  if (MT_SANITIZER_SWITCHES) return;
  begin();
  starts.hooks = ENOMEM;
  CHECK_EQUAL(mt_pack_start(), EINVAL);
  TRACE("hooks message");
  CHECK_TEXT(message,
             "MLTP_PACK_MS: stacks cannot be packed: no memory for handlers of fork() (unset "
             "MLTP_PACK_MS)");
  for (int i = 0; i < 2; i++) {
    begin();
    starts.limit = i == 0 ? SIZE_MAX : (size_t)4096 * MIB;
    world.wait_most = 1;
    CHECK_EQUAL(mt_pack_start(), 0);
    TRACE(i == 0 ? "hooks priority:5 no signals open trim:1 trim:1 store:65536 wakes close"
                 : "priority:5 no signals open trim:1 trim:1 store:512 wakes close");
    CHECK_EQUAL(mt_pack_tasks(), 1);
    CHECK_EQUAL(world.wait_count, 1);
    pack_stacks(0, 1);
    pack.ends = 0; /* it works on */
    pack.faults.fd = 9;
    mt_pack_stop();
    TRACE("join close release");
    CHECK(pack.stage == NULL);
    CHECK_EQUAL(mt_pack_tasks() + mt_store_count() + mt_store_bytes(), 0);
    mt_pack_stop();
    TRACE("");
  }
}

static void it_does_not_start_where_it_has_nothing_to_do(void) {
  begin();
  mt_options.pack_ms = MT_PACK_OFF;
  CHECK_EQUAL(mt_pack_start(), 0);
  mt_options.pack_ms = 0;
  mt_options.backend = MT_BACKEND_KERNEL;
  CHECK_EQUAL(mt_pack_start(), 0);
  TRACE("");
  mt_options.backend = MT_BACKEND_ANNOUNCED;
  CHECK_EQUAL(mt_pack_start(), EINVAL);
  TRACE("message");
  CHECK(strstr(message, "a sanitizer stops all kernel threads") != NULL);
  if (MT_SANITIZER_SWITCHES) return;
  begin();
  starts.page_size = 2 * MT_PAGE;
  CHECK_EQUAL(mt_pack_start(), EINVAL);
  TRACE("message");
  CHECK(strstr(message, "pages are not of 4096 bytes") != NULL);
  begin();
  starts.thread = EAGAIN;
  CHECK_EQUAL(mt_pack_start(), EINVAL);
  TRACE("priority:5 message");
  char why[128];
  os_thread_refusal(EAGAIN, why, sizeof why);
  CHECK(strstr(message, "MLTP_PACK_MS: stacks cannot be packed: ") == message);
  CHECK(strstr(message, why) != NULL);
  CHECK_EQUAL(mt_pack_tasks(), 0);
}

static void a_refusal_says_which_call_and_what_to_do(void) {
  static const char root[] = "run as root, give the capability SYS_PTRACE,",
                    later[] = "needs Linux 6.8", off[] = "unset MLTP_PACK_MS)";
  const struct {
    int open, commit, watch, move, second_move, store;
    bool no_memory, moves_nothing;
    const char *what;
    int error;
    const char *remedy;
  } rows[] = {
      {.open = EPERM, .what = "userfaultfd", .error = EPERM, .remedy = root},
      {.open = EACCES, .what = "userfaultfd", .error = EACCES, .remedy = root},
      {.open = ENOSYS, .what = "userfaultfd", .error = ENOSYS, .remedy = later},
      {.open = EOPNOTSUPP, .what = "userfaultfd", .error = EOPNOTSUPP, .remedy = later},
      {.open = EMFILE, .what = "userfaultfd", .error = EMFILE, .remedy = off},
      {.no_memory = true, .what = "mmap", .error = ENOMEM, .remedy = off},
      {.commit = EACCES, .what = "mmap", .error = ENOMEM, .remedy = off},
      {.watch = EINVAL, .what = "ioctl(UFFDIO_REGISTER)", .error = EINVAL, .remedy = off},
      {.move = EINVAL, .what = "ioctl(UFFDIO_MOVE)", .error = EINVAL, .remedy = off},
      {.moves_nothing = true, .what = "ioctl(UFFDIO_MOVE)", .error = EIO, .remedy = off},
      {.second_move = EEXIST,
       .what = "madvise(MADV_DONTNEED) of locked memory",
       .error = EBUSY,
       .remedy = off},
      {.store = ENOMEM, .what = "mmap", .error = ENOMEM, .remedy = off},
  };
  if (MT_SANITIZER_SWITCHES) return;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char expected[160];
    check_case("row %zu", i);
    begin();
    starts.open = rows[i].open;
    starts.commit = rows[i].commit;
    starts.watch = rows[i].watch;
    starts.move = rows[i].move;
    starts.second_move = rows[i].second_move;
    starts.store = rows[i].store;
    starts.no_memory = rows[i].no_memory;
    starts.moves_nothing = rows[i].moves_nothing;
    CHECK_EQUAL(mt_pack_start(), EINVAL);
    snprintf(expected, sizeof expected, "MLTP_PACK_MS: stacks cannot be packed: %s: %s (%s",
             rows[i].what, strerror(rows[i].error), rows[i].remedy);
    CHECK(strncmp(message, expected, strlen(expected)) == 0);
    CHECK_EQUAL(mt_pack_tasks(), 0);
    CHECK(pack.stage == NULL);
    CHECK(rows[i].open != 0 || strstr(trace, "close join message") != NULL);
    CHECK_EQUAL(strstr(trace, "release") != NULL, rows[i].open == 0 && !rows[i].no_memory);
  }
}

/* A page that the kernel had not copied yet when the packer gave it back has both: it is whole. */
static void a_child_has_all_pages(void) {
  static alignas(MT_PAGE) uint64_t memory[3][MT_PAGE / sizeof(uint64_t)];
  uint8_t code[MT_PAGE_CODE_MOST];
  begin();
  forks = 5;
  mt_pack_child(); /* without a packer */
  TRACE("");
  CHECK_EQUAL(forks, 0);
  pack.runs = 1;
  forks = 1;
  memset(memory, 0, sizeof memory);
  memory[0][0] = 7;
  memory[0][511] = 9;
  size_t size = mt_page_encode(code, memory[0]);
  memset(memory, 0, sizeof memory);
  for (int i = 0; i < 3; i++) CHECK(mt_store_put((uintptr_t)memory[i], CLASS, code, size));
  memory[1][511] = 1;
  memory[2][0] = 1;
  mt_pack_child();
  TRACE("release"); /* the descriptors were the packer's */
  CHECK(memory[0][0] == 7 && memory[0][511] == 9);
  CHECK(memory[1][0] == 0 && memory[1][511] == 1);
  CHECK(memory[2][0] == 1 && memory[2][511] == 0);
  CHECK_EQUAL(forks + mt_pack_tasks(), 0);
}

static void counters_are_copied(void) {
  struct mt_pack_counts counts;
  begin();
  pack.counts = (struct mt_pack_counts){1, 2, 3, 4, 5, 6, 7};
  mt_pack_counts(&counts);
  CHECK(memcmp(&counts, &pack.counts, sizeof counts) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(it_starts_and_stops), /* first: handlers of fork() are set once */
      TEST_BARE(it_does_not_start_where_it_has_nothing_to_do),
      TEST_BARE(a_refusal_says_which_call_and_what_to_do),
      TEST_BARE(cold_stacks_are_taken),
      TEST_BARE(a_thread_that_has_run_keeps_its_stack),
      TEST_BARE(faults_are_served_between_batches),
      TEST_BARE(no_page_is_taken_during_a_fork),
      TEST_BARE(passes_come_twice_in_the_time_of_a_cold_thread),
      TEST_BARE(the_packer_rests_longer_while_it_finds_nothing),
      TEST_BARE(a_child_has_all_pages),
      TEST_BARE(counters_are_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
