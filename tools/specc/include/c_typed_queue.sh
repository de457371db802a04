/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of data of one type: DEFINE_C_TYPED_QUEUE(int, int) defines channel c_int_queue, for at most as many as
 * it is mapped to. Its interfaces have to be defined before: i_typed.sh. */
#ifndef C_TYPED_QUEUE_SH
#define C_TYPED_QUEUE_SH

#include <i_typed.sh>
#include <stdlib.h>

#define DEFINE_C_TYPED_QUEUE(typename, type)                                                       \
  channel c_##typename##_queue(in const unsigned long size) implements i_##typename##_sender,      \
      i_##typename##_receiver, i_##typename##_tranceiver {                                         \
    event room, filled;                                                                            \
    type *values = 0;                                                                              \
    unsigned long first = 0, used = 0;                                                             \
    void send(type data) {                                                                         \
      if (values == 0) values = (type *)malloc(size * sizeof(type));                               \
      if (values == 0) abort();                                                                    \
      while (used >= size) wait(room);                                                             \
      values[(first + used) % size] = data;                                                        \
      used++;                                                                                      \
      notify(filled);                                                                              \
    }                                                                                              \
    void receive(type *data) {                                                                     \
      while (used == 0) wait(filled);                                                              \
      *data = values[first];                                                                       \
      first = (first + 1) % size;                                                                  \
      used--;                                                                                      \
      notify(room);                                                                                \
    }                                                                                              \
  };

/* With its interfaces. */
#define DEFINE_IC_TYPED_QUEUE(typename, type)                                                      \
  DEFINE_I_TYPED_SENDER(typename, type)                                                            \
  DEFINE_I_TYPED_RECEIVER(typename, type)                                                          \
  DEFINE_I_TYPED_TRANCEIVER(typename, type)                                                        \
  DEFINE_C_TYPED_QUEUE(typename, type)

#endif
