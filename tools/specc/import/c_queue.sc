// SPDX-License-Identifier: Apache-2.0
// A queue of at most `size` bytes. Senders and receivers may be many, and send and receive any
// number of bytes up to that; each wait is for room or data enough.
#include <stdlib.h>
#include <string.h>
import "i_sender";
import "i_receiver";
import "i_tranceiver";

channel c_queue(in const unsigned long size) implements i_sender, i_receiver, i_tranceiver
{
  event changed;
  char *bytes = 0;
  unsigned long first = 0, used = 0;

  void send(const void *data, unsigned long length)
  {
    unsigned long i;
    if (length > size) abort(); // it would wait forever
    if (bytes == 0) bytes = (char *)malloc(size);
    if (bytes == 0) abort();
    while (size - used < length) wait(changed);
    for (i = 0; i < length; i++) bytes[(first + used + i) % size] = ((const char *)data)[i];
    used += length;
    notify(changed);
  }

  void receive(void *data, unsigned long length)
  {
    unsigned long i;
    if (length > size) abort(); // likewise
    while (used < length) wait(changed);
    for (i = 0; i < length; i++) ((char *)data)[i] = bytes[(first + i) % size];
    first = (first + length) % size;
    used -= length;
    notify(changed);
  }
};
