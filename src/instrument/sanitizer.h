/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sanitizer.h
 * Calls that announce stacks and switches to AddressSanitizer, ThreadSanitizer and valgrind.
 * All of them are empty when these tools are off. valgrind's client requests cost a few
 * instructions and are compiled in where its header exists.
 */
#ifndef MT_INSTRUMENT_SANITIZER_H
#define MT_INSTRUMENT_SANITIZER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define MT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define MT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define MT_TSAN 1
#endif

#if defined(MT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(MT_TSAN)
#include <sanitizer/tsan_interface.h>
void AnnotateIgnoreReadsBegin(const char *file, int line); /* no header of gcc's has them */
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

/** Kernel threads the sanitizer's own runtime has in every process. */
#if defined(MT_TSAN)
enum { MT_SANITIZER_TASKS = 1 };
#else
enum { MT_SANITIZER_TASKS = 0 };
#endif

/** Whether each switch must be announced. */
#if defined(MT_ASAN) || defined(MT_TSAN)
enum { MT_SANITIZER_SWITCHES = 1 };
#else
enum { MT_SANITIZER_SWITCHES = 0 };
#endif

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define MT_VALGRIND 1
#endif
#endif

/** A new stack exists: valgrind takes a jump to it for a switch, not for a huge
 * frame. Its slot stays a stack as long as the runtime lives. */
static inline void mt_sanitizer_new_stack(const char *low, size_t size) {
#if defined(MT_VALGRIND)
  (void)VALGRIND_STACK_REGISTER(low, low + size - 1);
#endif
  (void)low, (void)size;
}

/** libc has left frames without a return, perhaps from another stack to this one: AddressSanitizer
 * still has the marks of frames that were below the caller's. */
static inline void mt_sanitizer_frames_left(void) {
#if defined(MT_ASAN)
  enum { BYTES = 1 << 16 };
  __asan_unpoison_memory_region((char *)__builtin_frame_address(0) - BYTES, BYTES);
#endif
}

/** What pointers in this memory lead to is no leak: LeakSanitizer looks at libraries, the heap and
 * the kernel's stacks by itself. A program may exit while threads live. */
static inline void mt_sanitizer_roots(const void *start, size_t size) {
#if defined(MT_ASAN)
  __lsan_register_root_region(start, size);
#endif
  (void)start, (void)size;
}

/** Before memory announced by mt_sanitizer_roots() is given back. */
static inline void mt_sanitizer_no_roots(const void *start, size_t size) {
#if defined(MT_ASAN)
  __lsan_unregister_root_region(start, size);
#endif
  (void)start, (void)size;
}

/** A child of fork() begins to change what threads of its parent used. They do not exist in it, but
 * ThreadSanitizer compares the child's accesses with theirs. */
static inline void mt_sanitizer_child_begin(void) {
#if defined(MT_TSAN)
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

/** The child has no more to change. */
static inline void mt_sanitizer_child_end(void) {
#if defined(MT_TSAN)
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

/** Part of every thread's descriptor. */
struct mt_sanitizer {
#if defined(MT_ASAN)
  void *fake_stack;   /* of a thread that does not run */
  const void *bottom; /* of the stack it runs on */
  size_t size;
#endif
#if defined(MT_TSAN)
  void *fiber;
#endif
  char empty_[0];
};

/** The thread runs on this stack. */
static inline void mt_sanitizer_stack(struct mt_sanitizer *s, const void *bottom, size_t size) {
#if defined(MT_ASAN)
  s->bottom = bottom;
  s->size = size;
#endif
  (void)s, (void)bottom, (void)size;
}

/** A fresh stack gets a context of its own. */
static inline void mt_sanitizer_begin(struct mt_sanitizer *s) {
#if defined(MT_TSAN)
  s->fiber = __tsan_create_fiber(0);
#endif
  (void)s;
}

/** The context of the calling kernel thread itself. */
static inline void mt_sanitizer_adopt(struct mt_sanitizer *s) {
#if defined(MT_TSAN)
  s->fiber = __tsan_get_current_fiber();
#endif
  (void)s;
}

/** The context made by mt_sanitizer_begin() is never entered again. Frames that never returned
 * (mltp_exit, the last ones of each thread) left marks on its stack. This memory may become
 * another's before it is a stack again: GCC 12's AddressSanitizer takes the marks off a new kernel
 * thread's stack, but not off its thread-local variables. */
static inline void mt_sanitizer_end(struct mt_sanitizer *s) {
#if defined(MT_ASAN)
  __asan_unpoison_memory_region((void *)(uintptr_t)s->bottom, s->size);
#endif
#if defined(MT_TSAN)
  __tsan_destroy_fiber(s->fiber);
  s->fiber = NULL;
#endif
  (void)s;
}

/** A thread that ends leaves its context to the next thread, which destroys it. */
static inline void mt_sanitizer_dying(const struct mt_sanitizer *s, struct mt_sanitizer *dead) {
  *dead = *s;
}

/** Immediately before the switch. dying: from is never resumed. */
static inline void mt_sanitizer_leave(struct mt_sanitizer *from, struct mt_sanitizer *to,
                                      int dying) {
#if defined(MT_ASAN)
  __sanitizer_start_switch_fiber(dying ? NULL : &from->fake_stack, to->bottom, to->size);
#endif
#if defined(MT_TSAN)
  __tsan_switch_to_fiber(to->fiber, 0);
#endif
  (void)from, (void)to, (void)dying;
}

/** Immediately after the switch, on the stack of s. */
static inline void mt_sanitizer_arrive(struct mt_sanitizer *s) {
#if defined(MT_ASAN)
  __sanitizer_finish_switch_fiber(s->fake_stack, NULL, NULL);
  s->fake_stack = NULL;
#endif
  (void)s;
}

#endif
