/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread does at a breakpoint and behind each step of a seeded run (src/gate/step.c): its
 * program is some bytes of the test's, and no signal comes.
 */
#include "gate/step.c"

#include "support/plain.h"

struct gt_gate gt_gate;
__thread struct gt_thread gt_me;
static uint32_t granted;
struct mt_client_view mt_client_view = {.granted = &granted};

#if defined(__x86_64__)

enum { PAGE = 4096, PAGES = 4, LOW = PAGE + 100, SIZE = 5000, AT = 200, NONE = 0x90 };

static uint8_t memory[PAGES * PAGE] __attribute__((aligned(PAGE)));
static uint8_t *const program = memory + LOW;

/* ---- what the kernel and the seed are asked for */

static struct {
  bool no_memory, no_rights;
  int no_signal;
  size_t mapped;
  bool may_write;
  size_t size;
} kernel;

static bool is_shared;
static uintptr_t asked_for; /* the instruction */
static int points;

size_t os_page_size(void) { return PAGE; }

int os_signal_install(int signo, os_handler *handler, struct sigaction *old) {
  CHECK(signo == SIGTRAP && handler == on_trap && old != NULL && text.size == 0);
  return kernel.no_signal;
}

void *__real_mmap(void *at, size_t length, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t length, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t length, int rights, int flags, int fd, off_t offset) {
  kernel.mapped = length;
  CHECK(at == NULL && rights == (PROT_READ | PROT_WRITE) && fd == -1 && offset == 0);
  return kernel.no_memory ? MAP_FAILED : __real_mmap(at, length, rights, flags, fd, offset);
}

int __wrap_mprotect(void *at, size_t length, int rights);
int __wrap_mprotect(void *at, size_t length, int rights) {
  CHECK(at == memory + PAGE && length == kernel.mapped);
  EQUAL(rights, PROT_READ | PROT_WRITE | PROT_EXEC);
  errno = EACCES;
  return kernel.no_rights ? -1 : 0;
}

/* The first object: only one of its parts is code. */
int __wrap_dl_iterate_phdr(int (*look)(struct dl_phdr_info *, size_t, void *), void *data);
int __wrap_dl_iterate_phdr(int (*look)(struct dl_phdr_info *, size_t, void *), void *data) {
  const ElfW(Phdr) parts[] = {
      {.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 1, .p_memsz = 2},
      {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = LOW, .p_memsz = kernel.size},
      {.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_X, .p_vaddr = 3, .p_memsz = 4},
      {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = 5, .p_memsz = 6}};
  struct dl_phdr_info info = {.dlpi_addr = (uintptr_t)memory, .dlpi_phdr = parts, .dlpi_phnum = 4};
  EQUAL(look(&info, sizeof info, data), 1);
  return 1;
}

bool gt_step_is_shared(const uint8_t *code) {
  asked_for = (uintptr_t)(code - text.original);
  return is_shared;
}

void gt_attend(struct gt_thread *me, const char *call) {
  CHECK(me == &gt_me && strcmp(call, "access") == 0 && out == NULL);
  points++;
  errno = EPERM;
}

/* ---- start */

/* Some code without calls; the program may have a breakpoint itself. */
static void write_program(void) {
  memset(memory, NONE, sizeof memory);
  for (int i = 0; i < SIZE; i += 7) program[i] = (uint8_t)(i % 100);
}

static int start(void) {
  memset(&text, 0, sizeof text);
  out = NULL;
  write_program();
  return gt_step_start();
}

static void the_text_is_prepared(void) {
  kernel.size = SIZE;
  EQUAL(start(), 0);
  CHECK(gt_step_is_on() && text.low == (uintptr_t)program && text.size == SIZE);
  CHECK(memcmp(text.original, program, SIZE) == 0);
  EQUAL(kernel.mapped, 2 * PAGE);
  kernel.size = 2 * PAGE - 100; /* up to the end of a page, and one byte more */
  EQUAL(start(), 0);
  EQUAL(kernel.mapped, 2 * PAGE);
  kernel.size++;
  EQUAL(start(), 0);
  EQUAL(kernel.mapped, 3 * PAGE);
  kernel.size = SIZE;
  kernel.no_memory = true;
  EQUAL(start(), ENOMEM);
  CHECK(!gt_step_is_on());
  kernel.no_memory = false;
  kernel.no_rights = true;
  EQUAL(start(), EACCES);
  CHECK(!gt_step_is_on());
  kernel.no_rights = false;
  kernel.no_signal = EINVAL;
  EQUAL(start(), EINVAL);
  CHECK(!gt_step_is_on());
  gt_step_at((uintptr_t)program + AT); /* it is off */
  EQUAL(program[AT], NONE);
  kernel.no_signal = 0;
  EQUAL(start(), 0);
}

static void functions_of_the_program_get_breakpoints(void) {
  EQUAL(start(), 0);
  gt_step_at((uintptr_t)program - 1);
  gt_step_at((uintptr_t)program + SIZE);
  CHECK(program[-1] == NONE && program[SIZE] == NONE);
  gt_step_at((uintptr_t)program);
  gt_step_at((uintptr_t)program + SIZE - 1);
  CHECK(program[0] == BREAKPOINT && program[SIZE - 1] == BREAKPOINT);
  CHECK(text.original[0] != BREAKPOINT && text.original[SIZE - 1] != BREAKPOINT);
}

/* ---- traps */

static ucontext_t context;
static uintptr_t stack[1];

/* The thread has come to an address. */
static void trap(int code, uintptr_t at, int flags) {
  greg_t *registers = context.uc_mcontext.gregs;
  siginfo_t info = {.si_code = code};
  registers[REG_RIP] = (greg_t)at;
  registers[REG_RSP] = (greg_t)stack;
  registers[REG_EFL] = flags;
  errno = EDOM;
  on_trap(SIGTRAP, &info, &context);
  EQUAL(errno, EDOM);
}

static void check_registers(uintptr_t at, int flags) {
  EQUAL(context.uc_mcontext.gregs[REG_RIP], at);
  EQUAL(context.uc_mcontext.gregs[REG_EFL], flags);
}

static void stage(void) {
  EQUAL(start(), 0);
  gt_gate.attend = 1;
  gt_me = (struct gt_thread){.open = 1};
  is_shared = true;
  points = 0;
}

static void a_breakpoint_is_out_for_one_step(void) {
  uintptr_t at = (uintptr_t)program + AT;
  stage();
  gt_step_at(at);
  trap(SI_KERNEL, at + 1, 2);
  check_registers(at, 2 | TRAP_FLAG);
  EQUAL(points, 1);
  EQUAL(asked_for, AT);
  CHECK(out == program + AT && program[AT] == NONE);
  trap(TRAP_TRACE, at + 3, 2 | TRAP_FLAG);
  check_registers(at + 3, 2 | TRAP_FLAG);
  EQUAL(points, 2);
  EQUAL(asked_for, AT + 3);
  CHECK(out == NULL && program[AT] == BREAKPOINT);
  trap(TRAP_TRACE, at + 1, 2 | TRAP_FLAG); /* a step behind it, and no breakpoint */
  check_registers(at + 1, 2 | TRAP_FLAG);
  EQUAL(asked_for, AT + 1);
  CHECK(out == NULL);
}

/* The first and the last byte of the text, and a breakpoint of the program's own. */
static void breakpoints_at_the_edges(void) {
  uintptr_t low = (uintptr_t)program;
  stage();
  trap(SI_KERNEL, low + 1, 0);
  check_registers(low, TRAP_FLAG);
  trap(SI_KERNEL, low + SIZE, 0);
  check_registers(low + SIZE - 1, TRAP_FLAG);
  out = NULL;
  points = 0;
  trap(SI_KERNEL, low, 0); /* before the text is another's */
  check_registers(low, 0);
  EQUAL(points, 1);
  EQUAL(asked_for, 0);
  text.original[AT] = BREAKPOINT;
  trap(SI_KERNEL, low + AT + 1, 0);
  check_registers(low + AT + 1, 0);
  EQUAL(asked_for, AT + 1);
  CHECK(out == NULL);
}

static void only_shared_accesses_of_threads_that_run_are_points(void) {
  static const struct {
    uint32_t open, state;
    bool locked, shared;
    int points;
  } rows[] = {{1, GT_RUNS, false, true, 1},   {1, GT_RUNS, false, false, 0},
              {0, GT_CAUGHT, false, true, 1}, {0, GT_CAUGHT, true, true, 0},
              {0, GT_CALL, false, true, 0},   {0, GT_CAUGHT, false, false, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    stage();
    gt_me.open = rows[i].open;
    gt_me.state = rows[i].state;
    gt_me.locked = rows[i].locked;
    is_shared = rows[i].shared;
    trap(TRAP_TRACE, (uintptr_t)program + AT, TRAP_FLAG);
    EQUAL(points, rows[i].points);
  }
}

/* ---- calls of libraries */

/* Bytes before a return address, and whether they are a call. */
static const struct {
  uint8_t code[6];
  int size;
  bool is_call;
} before[] = {
    {{0xe8, 1, 2, 3, 4}, 5, true},
    {{0xe9, 1, 2, 3, 4}, 5, false}, /* a jump */
    {{0xff, 0xd0}, 2, true},
    {{0xff, 0xe0}, 2, false},
    {{0xfe, 0xd0}, 2, false},
    {{0xff, 0x50, 8}, 3, true},
    {{0xff, 0x60, 8}, 3, false},
    {{0xfe, 0x50, 8}, 3, false},
    {{0xff, 0x90, 1, 2, 3, 4}, 6, true},
    {{0xff, 0xa0, 1, 2, 3, 4}, 6, false},
    {{0xfe, 0x90, 1, 2, 3, 4}, 6, false},
    {{0, 0, 0, 0, 0, 0}, 6, false},
};

static bool plants(uintptr_t back) {
  stack[0] = back;
  trap(TRAP_TRACE, (uintptr_t)program + SIZE, 2 | TRAP_FLAG);
  check_registers((uintptr_t)program + SIZE, 2);
  EQUAL(points, 0);
  return *(const uint8_t *)back == BREAKPOINT;
}

static void returns_from_libraries_are_awaited(void) {
  static const int starts[] = {0, 64}; /* also as the first instruction */
  for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
    for (int j = 0; j < 2; j++) {
      stage();
      if (j == 0 && !before[i].is_call) continue; /* what is before the text is not read */
      memset(text.original, 0, SIZE);
      memcpy(text.original + starts[j], before[i].code, (size_t)before[i].size);
      EQUAL(plants((uintptr_t)program + (uintptr_t)(starts[j] + before[i].size)),
            before[i].is_call);
    }
  stage();
  CHECK(!plants((uintptr_t)(memory + 8))); /* another library's */
}

int main(void) {
  the_text_is_prepared();
  functions_of_the_program_get_breakpoints();
  a_breakpoint_is_out_for_one_step();
  breakpoints_at_the_edges();
  only_shared_accesses_of_threads_that_run_are_points();
  returns_from_libraries_are_awaited();
}

#else

int main(void) {
  EQUAL(gt_step_start(), ENOTSUP);
  gt_step_at((uintptr_t)&granted);
  CHECK(!gt_step_is_on());
}

#endif
