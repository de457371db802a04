/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file log.h
 * Messages. All go to stderr as `mltp: what failed: why (what to do)`, in one
 * write, from any context (signal handlers included: no allocation, no stdio).
 */
#ifndef MT_BASE_LOG_H
#define MT_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Formats into a buffer on the stack (at most 1000 bytes) and writes it to fd. */
void mt_print(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Text on its way to fd. Without room each text is written at once. */
struct mt_printer {
  int fd;
  char *room; /**< NULL: none */
  size_t size, used;
};

/** As mt_print(), but the text is written only when the room is full, or by mt_printer_flush(). */
void mt_printer_add(struct mt_printer *printer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mt_printer_flush(struct mt_printer *printer);

/** A line on stderr, with "mltp: " before it. */
void mt_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** In deterministic mode: a line on stderr with the settings that replay this run. */
void mt_print_replay(void);

/** [const after init] What mt_panic() does before it aborts; may be NULL. */
extern void (*mt_panic_hook)(void);

/** Reports an impossible state: prints the message, dumps all threads, aborts. */
void mt_panic(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/**
 * A wrong call by the program: message, then abort, or with MLTP_MISUSE=error
 * return of the error for the call to return.
 * @param call    the function's name
 * @param id,name the calling thread; id 0: none yet
 */
int mt_misuse(int error, const char *call, uint64_t id, const char *name, const char *format, ...)
    __attribute__((format(printf, 5, 6), cold));

#if MLTP_CHECKED
#define MT_ASSERT(condition)                                                                       \
  ((condition) ? (void)0 : mt_panic("%s:%d: broken invariant: %s", __FILE__, __LINE__, #condition))
#else
#define MT_ASSERT(condition) ((void)sizeof(condition))
#endif

#endif
