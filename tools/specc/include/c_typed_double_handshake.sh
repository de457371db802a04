/* SPDX-License-Identifier: Apache-2.0 */
/* c_double_handshake for data of one type: DEFINE_C_TYPED_DOUBLE_HANDSHAKE(int, int) defines channel
 * c_int_double_handshake. Its interfaces have to be defined before: i_typed.sh. */
#ifndef C_TYPED_DOUBLE_HANDSHAKE_SH
#define C_TYPED_DOUBLE_HANDSHAKE_SH

#include <i_typed.sh>

#define DEFINE_C_TYPED_DOUBLE_HANDSHAKE(typename, type)                                            \
  channel c_##typename##_double_handshake(void) implements i_##typename##_sender,                  \
      i_##typename##_receiver, i_##typename##_tranceiver {                                         \
    event offered, taken;                                                                          \
    bool offer = false;                                                                            \
    type value;                                                                                    \
    void send(type data) {                                                                         \
      value = data;                                                                                \
      offer = true;                                                                                \
      notify(offered);                                                                             \
      wait(taken);                                                                                 \
    }                                                                                              \
    void receive(type *data) {                                                                     \
      if (!offer) wait(offered);                                                                   \
      offer = false;                                                                               \
      *data = value;                                                                               \
      notify(taken);                                                                               \
      wait(taken);                                                                                 \
    }                                                                                              \
  };

/* With its interfaces. */
#define DEFINE_IC_TYPED_DOUBLE_HANDSHAKE(typename, type)                                           \
  DEFINE_I_TYPED_SENDER(typename, type)                                                            \
  DEFINE_I_TYPED_RECEIVER(typename, type)                                                          \
  DEFINE_I_TYPED_TRANCEIVER(typename, type)                                                        \
  DEFINE_C_TYPED_DOUBLE_HANDSHAKE(typename, type)

#endif
