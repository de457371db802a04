/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file captured.h
 * What a test without ranks prints on stderr, children included.
 */
#ifndef TESTS_MPI_CAPTURED_H
#define TESTS_MPI_CAPTURED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct captured {
  int stderr_before, file;
};

/** From now on stderr is a file. */
static inline struct captured captured_begin(void) {
  fflush(NULL);
  struct captured captured = {dup(STDERR_FILENO), memfd_create("captured", MFD_CLOEXEC)};
  if (captured.stderr_before < 0 || captured.file < 0) abort();
  if (dup2(captured.file, STDERR_FILENO) < 0) abort();
  return captured;
}

/** Writes what was printed since to `text`. */
static inline void captured_end(const struct captured *captured, char *text, size_t room) {
  fflush(stderr);
  if (dup2(captured->stderr_before, STDERR_FILENO) < 0) abort();
  ssize_t length = pread(captured->file, text, room - 1, 0);
  if (length < 0) abort();
  text[length] = '\0';
  close(captured->file);
  close(captured->stderr_before);
}

/** Calls a function in a child of fork(), where all static variables are as before, and writes what
 * it prints on stderr to `text`. @return whether the function has returned. */
static inline bool captured_in_child(void (*acts)(const void *), const void *argument, char *text,
                                     size_t room) {
  enum { RETURNED = 77 };
  int status = 0;
  struct captured captured = captured_begin();
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    acts(argument);
    fflush(NULL);
    _exit(RETURNED);
  }
  if (waitpid(child, &status, 0) != child) abort();
  captured_end(&captured, text, room);
  return WIFEXITED(status) && WEXITSTATUS(status) == RETURNED;
}

#endif
