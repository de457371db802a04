/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces to send and receive data of one type: DEFINE_I_TYPED_SENDER(int, int) defines
 * i_int_sender. */
#ifndef I_TYPED_SH
#define I_TYPED_SH

#define DEFINE_I_TYPED_SENDER(typename, type)                                                      \
  interface i_##typename##_sender {                                                                \
    void send(type data);                                                                          \
  };

#define DEFINE_I_TYPED_RECEIVER(typename, type)                                                    \
  interface i_##typename##_receiver {                                                              \
    void receive(type *data);                                                                      \
  };

#define DEFINE_I_TYPED_TRANCEIVER(typename, type)                                                  \
  interface i_##typename##_tranceiver {                                                            \
    void send(type data);                                                                          \
    void receive(type *data);                                                                      \
  };

#endif
