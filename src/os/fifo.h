/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fifo.h
 * Pipes and FIFOs that hold the tokens of a jobserver.
 * As in os.h, functions return 0 or a positive errno value and leave errno as it was.
 */
#ifndef MT_OS_FIFO_H
#define MT_OS_FIFO_H

#include "os/unix.h"

/** Opens a FIFO by its name, to read and to write without waiting. @return 0; EINVAL: it is none;
 * or what open(2) said. */
int os_fifo_open(const char *path, struct os_socket *fifo);

/** Opens the pipe that two inherited descriptors belong to once more, so that flags set here are
 * not the other processes'. @return 0; EBADF: they are not the two ends of one pipe, or they are
 * the program's standard input, output or messages. */
int os_fifo_reopen(int take, int give, struct os_socket *fifo);

/** Takes a byte out. @return 0; EAGAIN: there is none; EBADF: the program has closed the pipe. */
int os_fifo_take(const struct os_socket *fifo, char *byte);

/** Puts a byte in. @return as os_fifo_take(). */
int os_fifo_give(const struct os_socket *fifo, char byte);

#endif
