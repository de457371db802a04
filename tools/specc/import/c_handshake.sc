// SPDX-License-Identifier: Apache-2.0
// A signal that is not lost: send() never waits, receive() waits until something was sent since
// the last one. For one receiver.
import "i_send";
import "i_receive";

channel c_handshake(void) implements i_send, i_receive
{
  event sent;
  bool pending = false;

  void receive(void)
  {
    if (!pending) wait(sent);
    pending = false;
  }

  void send(void)
  {
    pending = true;
    notify(sent);
  }
};
