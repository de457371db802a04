// SPDX-License-Identifier: Apache-2.0
// One sender and one receiver meet: each waits for the other, then the data is handed over, and
// both continue in the same delta. The receiver waits for the event it has notified itself: what is
// notified reaches all that wait when the delta ends, whichever side came first.
#include <string.h>
import "i_sender";
import "i_receiver";
import "i_tranceiver";

channel c_double_handshake(void) implements i_sender, i_receiver, i_tranceiver
{
  event offered, taken;
  bool offer = false;
  const void *from = 0;
  unsigned long size = 0;

  void send(const void *data, unsigned long length)
  {
    from = data;
    size = length;
    offer = true;
    notify(offered);
    wait(taken);
  }

  void receive(void *data, unsigned long length)
  {
    if (!offer) wait(offered);
    offer = false;
    memcpy(data, from, length < size ? length : size);
    notify(taken);
    wait(taken);
  }
};
