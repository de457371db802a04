/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that the packer takes from stacks, and gives back when they are touched (pack_steps.h). */
#include "pack_steps.h"

/* ---- pages that are touched */

static void a_packed_page_comes_back_with_its_content(void) {
  begin();
  has_pages(0, 1, 'a');
  take_stack(top_of(0), CLASS);
  TRACE("watch:0:64 take:3");
  CHECK(is_packed(top_of(0)));
  CHECK_EQUAL(touch(0), 1);
  TRACE("fill:3=a");
  CHECK(!is_packed(top_of(0)));
  CHECK_EQUAL(pack.counts.packed, 1);
  CHECK_EQUAL(pack.counts.back, 1);
  CHECK_EQUAL(pack.counts.ahead + pack.counts.touched + pack.counts.kept + pack.counts.pages, 0);
  pack_stacks(200, 1);
  pack_stacks(400, 1);
  world.touched[0] = top_of(200);
  world.touched[1] = top_of(400) + MT_PAGE - 1;
  world.touched_count = 2;
  serve(77);
  TRACE("fill:803=c fill:1603=c");
  CHECK_EQUAL(world.waits[1], 77);
}

static void stacks_in_order_come_back_ahead(void) {
  static const struct {
    int stack, pages;
  } up[] = {{10, 1},  {11, 2},  {13, 3},  {16, 5},   {21, 9},
            {30, 17}, {47, 33}, {80, 65}, {145, 65}, {145 + 128, 27 /* to the last */}},
    down[] = {{200, 1}, {199, 2}, {197, 3}, {194, 5}};
  begin();
  pack_stacks(0, 300);
  for (size_t i = 0; i < sizeof up / sizeof up[0]; i++) {
    check_case("up, %d", up[i].stack);
    uint64_t ahead = pack.counts.ahead;
    CHECK_EQUAL(touch(up[i].stack), up[i].pages);
    CHECK_EQUAL(pack.counts.ahead - ahead, up[i].pages - 1);
  }
  CHECK(is_packed(top_of(9)) && is_packed(top_of(210)) && !is_packed(top_of(209)));
  CHECK_EQUAL(pack.counts.pages, mt_store_count());
  begin();
  pack_stacks(0, 300);
  for (size_t i = 0; i < sizeof down / sizeof down[0]; i++) {
    check_case("down, %d", down[i].stack);
    CHECK_EQUAL(touch(down[i].stack), down[i].pages);
  }
  CHECK(is_packed(top_of(189)) && !is_packed(top_of(190)) && is_packed(top_of(201)));
  begin();
  pack_stacks(0, 300);
  CHECK_EQUAL(touch(10), 1);
  CHECK_EQUAL(touch(10 + 129), 1); /* too far */
  CHECK_EQUAL(touch(140), 2);
}

static void stacks_ahead_may_be_missing(void) {
  begin();
  pack_stacks(20, 2);
  pack_stacks(23, 1);
  pack_stacks(25, 1);
  CHECK_EQUAL(touch(20), 1);
  CHECK_EQUAL(touch(21), 1);
  trace[0] = '\0';
  CHECK_EQUAL(touch(23), 2);
  TRACE("fill:95=c fill:103=c");
  begin(); /* without memory they wait until they are touched */
  pack_stacks(0, 4);
  touch(0);
  world.fills_left = 1;
  world.fill_error = ENOMEM;
  CHECK_EQUAL(touch(1), 1);
  CHECK(!is_packed(top_of(1)) && is_packed(top_of(2)));
  CHECK_EQUAL(pack.counts.ahead, 0);
}

static void new_stacks_in_a_row_get_pages_ahead(void) {
  static const struct {
    int stack, pages;
  } rows[] = {{0, 2},   {2, 3},    {5, 5},    {10, 9},  {19, 17}, {36, 33},
              {69, 65}, {134, 65}, {199, 65}, {500, 2}, {502, 3}};
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check_case("%d", rows[i].stack);
    CHECK_EQUAL(touch(rows[i].stack), rows[i].pages);
  }
  CHECK_EQUAL(pack.counts.touched, sizeof rows / sizeof rows[0]);
  CHECK_EQUAL(pack.counts.back, 0);
  begin();
  pack_stacks(1, 1); /* which has a content */
  CHECK_EQUAL(touch(0), 1);
  CHECK_EQUAL(touch(2), 3);
  CHECK(is_packed(top_of(1)));
  begin();
  world.fills_left = 1;
  world.fill_error = ENOMEM;
  CHECK_EQUAL(touch(0), 1);
  world.fills_left = INT32_MAX;
  CHECK_EQUAL(touch(1), 3); /* that is the next one */
}

/* A chunk is watched as a whole, the next one perhaps not. */
static void pages_ahead_are_in_the_same_chunk(void) {
  begin();
  trace[0] = '\0';
  CHECK_EQUAL(touch(CHUNK_STACKS - 2), 2);
  CHECK_EQUAL(touch(CHUNK_STACKS), 3);
  CHECK_EQUAL(touch(2 * CHUNK_STACKS - 1), 1);
  CHECK_EQUAL(touch(2 * CHUNK_STACKS), 3); /* in the row */
  CHECK_EQUAL(touch((int)(PART_SIZE / STRIDE) - 1), 1);
  trace[0] = '\0';
  world.touched[0] = (uintptr_t)bell();
  world.touched_count = 1;
  world.fills = 0;
  serve(0);
  CHECK_EQUAL(world.fills, 1); /* it is in no part */
}

static void a_page_that_is_touched_waits_for_memory(void) {
  begin();
  world.fills_left = 0;
  world.fill_error = ENOMEM;
  if (setjmp(fatal) == 0) fill(top_of(0), stage);
  TRACE("ioctl(UFFDIO_COPY):12");
  CHECK_EQUAL(world.naps, PATIENT_MS - 1);
  world.naps = 0;
  world.fill_error = EINVAL;
  if (setjmp(fatal) == 0) fill(top_of(0), stage);
  TRACE("ioctl(UFFDIO_COPY):22");
  CHECK_EQUAL(world.naps, 0);
}

/* ---- pages that are taken */

static void a_stack_is_taken_down_to_the_first_page_that_is_absent(void) {
  begin();
  has_pages(0, 2, 'a');
  has_pages(1, STACK_PAGES, 'b'); /* the lowest one is the guard */
  page_at(top_of(2) - MT_PAGE)->there = true;
  for (int i = 0; i < 3; i++) take_stack(top_of(i), CLASS);
  TRACE("watch:0:64 take:3 take:2 take:7 take:6 take:5");
  CHECK_EQUAL(pack.counts.packed, 5);
  CHECK_EQUAL(pack.counts.kept, 0);
  CHECK(!is_packed(top_of(1) - (uintptr_t)3 * MT_PAGE));
}

static void pages_that_the_kernel_refuses_stay(void) {
  begin();
  has_pages(0, 3, 'a');
  has_pages(1, 3, 'b');
  page_at(top_of(0))->refusal = EBUSY; /* a child of fork() has it, too */
  page_at(top_of(0) - MT_PAGE)->refusal = EBUSY;
  page_at(top_of(1))->refusal = EINVAL;
  take_stack(top_of(0), CLASS);
  TRACE("watch:0:64 own:3 take:3");
  CHECK_EQUAL(pack.counts.packed, 1);
  CHECK_EQUAL(pack.counts.kept, 1);
  take_stack(top_of(1), CLASS);
  TRACE("");
  CHECK_EQUAL(pack.counts.kept, 2);
}

static void pages_without_a_short_code_go_back(void) {
  begin();
  has_pages(0, 2, LONG);
  has_pages(1, 2, 0); /* pages of zeroes need no code */
  take_stack(top_of(0), CLASS);
  TRACE("watch:0:64 take:3 put:3");
  CHECK(page_at(top_of(0))->there && !is_packed(top_of(0)));
  world.put_error = EEXIST;
  take_stack(top_of(0), CLASS);
  TRACE("take:3 fill:3=l");
  CHECK_EQUAL(pack.counts.kept, 2);
  take_stack(top_of(1), CLASS);
  TRACE("take:7 take:6");
  CHECK_EQUAL(pack.counts.packed, 2);
  CHECK_EQUAL(mt_store_count(), 0);
}

static void the_stage_gives_its_memory_back_when_it_is_full(void) {
  begin();
  for (int i = 0; i < 22; i++) has_pages(i, 3, 'a');
  for (int i = 0; i < 21; i++) take_stack(top_of(i), CLASS);
  CHECK_EQUAL(pack.staged, 63);
  trace[0] = '\0';
  take_stack(top_of(21), CLASS);
  TRACE("take:87 trim:64 take:86 take:85");
  CHECK_EQUAL(pack.staged, 2);
  CHECK_EQUAL(pack.counts.packed, 66);
}

static void a_slot_is_watched_before_its_pages_go(void) {
  const uintptr_t chunk = (uintptr_t)64 * MIB;
  begin();
  take_stack(BASE + 2 * chunk - MT_PAGE, 27);
  TRACE("watch:0:64 watch:1:64");
  take_stack(BASE + 2 * chunk - MT_PAGE, 26);
  TRACE("");
  take_stack(BASE + PART_SIZE - MT_PAGE, CLASS);
  TRACE("watch:9:32");
  for (int i = 0; i < 2; i++) {
    take_stack(BASE + 9 * chunk - MT_PAGE, CLASS);
    TRACE(i == 0 ? "watch:8:64" : "");
  }
  take_stack(BASE + 3 * chunk - MT_PAGE, CLASS);
  TRACE("watch:2:64");
  begin();
  has_pages(0, 1, 'a');
  world.watch_error = EINVAL;
  for (int i = 0; i < 2; i++) {
    take_stack(top_of(0), CLASS);
    TRACE("watch:0:64");
  }
  take_stack(BASE + PART_SIZE + STRIDE - MT_PAGE, CLASS); /* in no part */
  take_stack(BASE + 12 * chunk - MT_PAGE, 28);            /* above the end of its part */
  TRACE("");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_packed_page_comes_back_with_its_content),
      TEST_BARE(stacks_in_order_come_back_ahead),
      TEST_BARE(stacks_ahead_may_be_missing),
      TEST_BARE(new_stacks_in_a_row_get_pages_ahead),
      TEST_BARE(pages_ahead_are_in_the_same_chunk),
      TEST_BARE(a_page_that_is_touched_waits_for_memory),
      TEST_BARE(a_stack_is_taken_down_to_the_first_page_that_is_absent),
      TEST_BARE(pages_that_the_kernel_refuses_stay),
      TEST_BARE(pages_without_a_short_code_go_back),
      TEST_BARE(the_stage_gives_its_memory_back_when_it_is_full),
      TEST_BARE(a_slot_is_watched_before_its_pages_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
