/* SPDX-License-Identifier: Apache-2.0 */
/* What reports are made of: messages of any length, texts that wait for one write, and backtraces
 * of stacks that are made here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "debug/backtrace.h"
#include "support/support.h"

enum { TEXT_MAX = 4096, MESSAGE_MOST = 999 /* bytes of a message, with its end of line */ };

/* @return all that was written to a file. */
static const char *written(int fd) {
  static char text[TEXT_MAX];
  ssize_t length = pread(fd, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = '\0';
  return text;
}

/* ---- messages */

static char long_text[2 * TEXT_MAX];

static const char *xs(int count) {
  memset(long_text, 'x', (size_t)count);
  long_text[count] = '\0';
  return long_text;
}

static int length_of_message;

static void say(void) { mt_message("%s", xs(length_of_message)); }

/* What does not fit is cut off; the end of the line stays. */
static void long_messages_are_cut(void) {
  static const char *const settings[] = {NULL};
  static struct outcome outcome;
  static char expected[sizeof long_text + sizeof "mltp: \n"];
  const int fits = MESSAGE_MOST - (int)strlen("mltp: \n");
  for (int length = fits - 1; length <= fits + 2; length++) {
    check_case("%d", length);
    length_of_message = length;
    run_child(&outcome, say, settings);
    snprintf(expected, sizeof expected, "mltp: %s\n", xs(length < fits ? length : fits));
    CHECK_TEXT(outcome.said, expected);
  }
}

/* ---- mistakes, broken invariants, and how to see them again */

struct settings {
  int64_t seed;
  const char *schedule;
};

static const struct replay {
  struct settings settings;
  const char *said;
} replays[] = {
    {{0, NULL}, ""},
    {{0, "random"}, ""},
    {{1, NULL}, "mltp: the same run again: MLTP_SEED=1\n"},
    {{7, "random"}, "mltp: the same run again: MLTP_SEED=7\n"},
    {{0, "fifo"}, "mltp: the same run again: MLTP_SCHEDULE=fifo\n"},
    {{9, "40:1"}, "mltp: the same run again: MLTP_SEED=9 MLTP_SCHEDULE=40:1\n"},
};

static const struct replay *replay;

static void set_replay(void) {
  mt_options.seed = replay->settings.seed;
  mt_options.schedule = replay->settings.schedule;
}

static void print_replay(void) {
  set_replay();
  mt_print_replay();
}

static void misuse_it(void) {
  set_replay();
  mt_options.misuse = MT_MISUSE_ERROR;
  if (mt_misuse(EBUSY, "mltp_call", 0, "", "%s %d", "refused", 1) != EBUSY) _exit(1);
  if (mt_misuse(EPERM, "mltp_call", 1, "one", "%s %d", "refused", 2) != EPERM) _exit(2);
  mt_misuse(EPERM, "mltp_call", 4, xs(300), ": refused");
  mt_options.misuse = MT_MISUSE_ABORT;
  mt_misuse(EPERM, "mltp_call", 5, "five", "refused");
  _exit(3);
}

static void panic_again(void) {
  mt_print(2, "hook\n");
  mt_panic("%s", "second");
}

static void panic_with_hook(void) {
  set_replay();
  mt_panic_hook = panic_again;
  mt_panic("first %d", 1);
}

static void panic_without_hook(void) {
  set_replay();
  mt_panic_hook = NULL;
  mt_panic("first %d", 1);
}

static void check_end(void (*body)(void), int aborts, const char *said) {
  static const char *const settings[] = {NULL};
  static struct outcome outcome;
  run_child(&outcome, body, settings);
  char *of_qemu = EMULATED ? strstr(outcome.said, "qemu: uncaught target signal") : NULL;
  if (of_qemu != NULL) *of_qemu = '\0';
  CHECK_TEXT(outcome.said, said);
  if (aborts)
    CHECK(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGABRT);
  else
    CHECK_EQUAL(outcome.status, 0);
}

static void mistakes_are_reported_with_the_run(void) {
  enum { PREFIX_MOST = 199 };
  static char expected[TEXT_MAX], prefix[PREFIX_MOST + 1] = "mltp: mltp_call: thread 4 '";
  memset(prefix + strlen(prefix), 'x', PREFIX_MOST - strlen(prefix));
  prefix[PREFIX_MOST] = '\0';
  for (size_t i = 0; i < sizeof replays / sizeof replays[0]; i++) {
    replay = &replays[i];
    check_case("replay %zu", i);
    check_end(print_replay, 0, replay->said);
    snprintf(expected, sizeof expected,
             "mltp: mltp_call: refused 1\nmltp: mltp_call: thread 1 'one': refused 2\n%s: refused\n"
             "mltp: mltp_call: thread 5 'five': refused\n%s",
             prefix, replay->said);
    check_end(misuse_it, 1, expected);
    snprintf(expected, sizeof expected, "mltp: panic: first 1\n%shook\nmltp: panic: second\n%s",
             replay->said, replay->said);
    check_end(panic_with_hook, 1, expected);
    snprintf(expected, sizeof expected, "mltp: panic: first 1\n%s", replay->said);
    check_end(panic_without_hook, 1, expected);
  }
}

/* ---- texts that wait */

static void texts_wait_until_the_room_is_full(void) {
  char room[8];
  int fd = memfd_create("texts", 0);
  struct mt_printer printer = {.fd = fd, .room = room, .size = sizeof room};
  mt_printer_flush(&printer);
  mt_printer_add(&printer, "%s", "abcde");
  mt_printer_add(&printer, "%d", 678);
  CHECK_TEXT(written(fd), "");
  CHECK_EQUAL(printer.used, sizeof room);
  mt_printer_add(&printer, "f");
  CHECK_TEXT(written(fd), "abcde678");
  CHECK_EQUAL(printer.used, 1);
  mt_printer_add(&printer, "ghijklmn"); /* as long as the room */
  CHECK_TEXT(written(fd), "abcde678f");
  CHECK_EQUAL(printer.used, sizeof room);
  mt_printer_add(&printer, "opqrstuvw"); /* longer */
  CHECK_TEXT(written(fd), "abcde678fghijklmnopqrstuvw");
  CHECK_EQUAL(printer.used, 0);
  mt_printer_add(&printer, "x");
  mt_printer_flush(&printer);
  mt_printer_flush(&printer);
  CHECK_TEXT(written(fd), "abcde678fghijklmnopqrstuvwx");
  CHECK_EQUAL(printer.used, 0);
  close(fd);
}

static void texts_without_room_are_written_at_once(void) {
  int fd = memfd_create("texts", 0);
  struct mt_printer printer = {.fd = fd};
  mt_printer_add(&printer, "ab");
  CHECK_TEXT(written(fd), "ab");
  mt_print(fd, "%s", "cd");
  CHECK_TEXT(written(fd), "abcd");
  mt_printer_add(&printer, "%s", xs(TEXT_MAX)); /* cut, as a message */
  CHECK_EQUAL(lseek(fd, 0, SEEK_END), (int)strlen("abcd") + MESSAGE_MOST);
  close(fd);
}

/* ---- following frames */

struct frame {
  const void *caller;
  const void *return_address;
};

enum { FRAMES = MT_FRAMES_MAX + 4 };

static struct frame frames[FRAMES];

static const void *number(uintptr_t n) { return (const void *)n; }

/* A chain from the lowest frame to the highest: it returns to 101, 102 and so on. */
static void link_frames(void) {
  for (int i = 0; i < FRAMES; i++)
    frames[i] = (struct frame){i + 1 < FRAMES ? &frames[i + 1] : NULL, number(101 + (uintptr_t)i)};
}

/* Follows the chain from a frame with this number. @return how many were found, which are those of
 * the chain. */
static int follow_from(int first, const void *bp, const void *low, size_t size) {
  struct mt_backtrace b = {.count = 77};
  const uintptr_t ip = 100 + (uintptr_t)first;
  mt_backtrace_take(&b, number(ip), bp, low, size);
  CHECK(b.count >= 1 && b.count <= MT_FRAMES_MAX);
  for (int i = 0; i < b.count; i++) CHECK(b.ips[i] == number(ip + (uintptr_t)i));
  return b.count;
}

static int follow(const void *bp, const void *low, size_t size) {
  return follow_from(0, bp, low, size);
}

static void frames_are_followed_to_their_end(void) {
  struct mt_backtrace none;
  link_frames();
  const char *low = (const char *)frames;
  CHECK_EQUAL(follow(frames, low, sizeof frames), MT_FRAMES_MAX);
  CHECK_EQUAL(follow_from(FRAMES - 3, &frames[FRAMES - 3], low, sizeof frames), 4);
  mt_backtrace_take(&none, NULL, frames, low, sizeof frames);
  CHECK_EQUAL(none.count, 0);
  frames[2].return_address = NULL;
  CHECK_EQUAL(follow(frames, low, sizeof frames), 3);
  link_frames();
  frames[2].caller = NULL;
  CHECK_EQUAL(follow(frames, low, sizeof frames), 4);
  frames[2].caller = &frames[2]; /* no way up */
  CHECK_EQUAL(follow(frames, low, sizeof frames), 4);
  frames[2].caller = &frames[1];
  CHECK_EQUAL(follow(frames, low, sizeof frames), 4);
}

static void frames_are_followed_on_the_stack_alone(void) {
  link_frames();
  const char *low = (const char *)&frames[1];
  const size_t three = 3 * sizeof frames[0];
  CHECK_EQUAL(follow_from(1, &frames[1], low, three), 4); /* the last one is at the very end */
  CHECK_EQUAL(follow_from(1, &frames[1], low, three - 1), 3);
  CHECK_EQUAL(follow(&frames[0], low, three), 1); /* below it */
  CHECK_EQUAL(follow(&frames[4], low, three), 1); /* above it */
  CHECK_EQUAL(follow(low + 1, low, three), 1);    /* between two words */
  CHECK_EQUAL(follow(NULL, low, three), 1);
}

static void frames_that_cannot_be_read_end_a_backtrace(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  struct frame *last = (struct frame *)(pages + page) - 1;
  *last = (struct frame){last + 1, number(101)};
  CHECK_EQUAL(mprotect(pages + page, page, PROT_NONE), 0);
  CHECK_EQUAL(follow(last, pages, 2 * page), 2);
  CHECK_EQUAL(munmap(pages, 2 * page), 0);
}

/* ---- printing them */

static const char *printed(const void *ip, bool names) {
  int fd = memfd_create("backtrace", 0);
  struct mt_printer printer = {.fd = fd};
  struct mt_backtrace b = {.ips = {ip, ip}, .count = 2};
  mt_backtrace_print(&b, &printer, names);
  const char *text = written(fd);
  close(fd);
  return text;
}

/* The line of an address, twice. */
static void check_printed(const void *ip, bool names, const char *what) {
  char expected[512];
  snprintf(expected, sizeof expected, "    #0  %s\n    #1  %s\n", what, what);
  CHECK_TEXT(printed(ip, names), expected);
}

/* The first object is the program. */
static int note_base(struct dl_phdr_info *info, size_t size, void *base) {
  (void)size;
  *(uintptr_t *)base = info->dlpi_addr;
  return 1;
}

static void addresses_are_printed_by_name_or_by_offset(void) {
  char what[256];
  Dl_info info;
  uintptr_t base = 0;
  dl_iterate_phdr(note_base, &base);
  check_printed(number(64), true, "0x40"); /* of no object */
  check_printed(number(64), false, "0x40");
  snprintf(what, sizeof what, "%s+0x%lx", program_invocation_short_name,
           (unsigned long)((uintptr_t)note_base - base));
  check_printed((const void *)note_base, false, what);
  check_printed((const void *)note_base, true, what); /* static: it has no name */
  const char *in_libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  int found = in_libc != NULL && dladdr(in_libc, &info) != 0;
  CHECK(found);
  if (!found) return;
  const char *file = strrchr(info.dli_fname, '/') + 1;
  snprintf(what, sizeof what, "%s+0x2 (%s)", info.dli_sname, file);
  check_printed(in_libc + 2, true, what);
  snprintf(what, sizeof what, "%s+0x%lx", file,
           (unsigned long)(in_libc + 2 - (const char *)info.dli_fbase));
  check_printed(in_libc + 2, false, what);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(long_messages_are_cut),
      TEST_BARE(mistakes_are_reported_with_the_run),
      TEST_BARE(texts_wait_until_the_room_is_full),
      TEST_BARE(texts_without_room_are_written_at_once),
      TEST_BARE(frames_are_followed_to_their_end),
      TEST_BARE(frames_are_followed_on_the_stack_alone),
      TEST_BARE(frames_that_cannot_be_read_end_a_backtrace),
      TEST_BARE(addresses_are_printed_by_name_or_by_offset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
