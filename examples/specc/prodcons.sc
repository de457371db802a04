// SPDX-License-Identifier: Apache-2.0
// prodcons.sc: a producer and a consumer, after listing 1 of the ContextThreads report (2013).
//
// Repaired: the text of the report is damaged by scanning, and its listing calls print_time()
// without defining it. As there, nothing is printed unless VERBOSE is defined, and each of the ITERATIONS sends a
// char, a short, an int and a long long through double handshakes (20 million in all). The monitor
// ends the program when the consumer has told it to; exit() says that all values were right.

#include <stdio.h>
#include <stdlib.h>
#include <sim.sh>

#include <c_typed_double_handshake.sh>

#define DATA 42

#ifndef ITERATIONS
#define ITERATIONS 5000000
#endif

#define EXIT_ON_HANDSHAKE // to exit on handshake

#ifndef VERBOSE
#define printf nop // eliminate printing messages
#endif

#ifdef USE_FLOATING_POINT
#define FDATA 42.5e0
#endif

#ifndef MAXTHREAD
#define MAXTHREAD 1
#endif

DEFINE_I_TYPED_SENDER(char, char)            // interface i_char_sender
DEFINE_I_TYPED_RECEIVER(char, char)          // interface i_char_receiver
DEFINE_I_TYPED_TRANCEIVER(char, char)        // interface i_char_tranceiver
DEFINE_C_TYPED_DOUBLE_HANDSHAKE(char, char)  // channel c_char_double_handshake

DEFINE_I_TYPED_SENDER(short, short)
DEFINE_I_TYPED_RECEIVER(short, short)
DEFINE_I_TYPED_TRANCEIVER(short, short)
DEFINE_C_TYPED_DOUBLE_HANDSHAKE(short, short)

DEFINE_I_TYPED_SENDER(int, int)
DEFINE_I_TYPED_RECEIVER(int, int)
DEFINE_I_TYPED_TRANCEIVER(int, int)
DEFINE_C_TYPED_DOUBLE_HANDSHAKE(int, int)

DEFINE_I_TYPED_SENDER(llong, long long)
DEFINE_I_TYPED_RECEIVER(llong, long long)
DEFINE_I_TYPED_TRANCEIVER(llong, long long)
DEFINE_C_TYPED_DOUBLE_HANDSHAKE(llong, long long)

#ifdef USE_FLOATING_POINT
DEFINE_I_TYPED_SENDER(float, float)
DEFINE_I_TYPED_RECEIVER(float, float)
DEFINE_I_TYPED_TRANCEIVER(float, float)
DEFINE_C_TYPED_DOUBLE_HANDSHAKE(float, float)

DEFINE_I_TYPED_SENDER(double, double)
DEFINE_I_TYPED_RECEIVER(double, double)
DEFINE_I_TYPED_TRANCEIVER(double, double)
DEFINE_C_TYPED_DOUBLE_HANDSHAKE(double, double)

DEFINE_I_TYPED_SENDER(ldouble, long double)
DEFINE_I_TYPED_RECEIVER(ldouble, long double)
DEFINE_I_TYPED_TRANCEIVER(ldouble, long double)
DEFINE_C_TYPED_DOUBLE_HANDSHAKE(ldouble, long double)
#endif

void nop(const char *format, ...)
{
  /* do nothing */
}

void print_time(void) { printf("%3llu: ", now()); }

import "c_handshake";

behavior producer(
#ifdef USE_FLOATING_POINT
    i_float_sender pF, i_double_sender pD, i_ldouble_sender pL,
#endif
    i_char_sender pc, i_short_sender ps, i_int_sender pi, i_llong_sender pl)
{
  void main(void)
  {
    char c = DATA;
    short s = DATA;
    int i = DATA;
    long long l = DATA;
#ifdef USE_FLOATING_POINT
    float F = FDATA;
    double D = FDATA;
    long double L = FDATA;
#endif
    int n;

    print_time();
    if (((char *)&s)[0] == DATA)
    { printf("Producer: appears to be LITTLE endian\n");
    }
    else if (((char *)&s)[1] == DATA)
    { printf("Producer: appears to be BIG endian\n");
    }
    else
    { printf("Producer: appears to be UNKNOWN endian\n");
    }
    for (n = 0; n < ITERATIONS; n++)
    {
      waitfor(10);
      print_time();
      printf("Producer: sending char c = %d (0x%02x)\n", c, c);
      pc.send(c);
      c++;
      waitfor(10);
      print_time();
      printf("Producer: sending short s = %d (0x%04x)\n", s, s);
      ps.send(s);
      s++;
      waitfor(10);
      print_time();
      printf("Producer: sending int i = %d (0x%08x)\n", i, i);
      pi.send(i);
      i++;
      waitfor(10);
      print_time();
      printf("Producer: sending llong l = %lld (0x%016llx)\n", l, l);
      pl.send(l);
      l++;
#ifdef USE_FLOATING_POINT
      waitfor(10);
      print_time();
      printf("Producer: sending float F = %g\n", F);
      pF.send(F);
      F += .5;
      waitfor(10);
      print_time();
      printf("Producer: sending double D = %g\n", D);
      pD.send(D);
      D += .5;
      waitfor(10);
      print_time();
      printf("Producer: sending ldouble L = %Lg\n", L);
      pL.send(L);
      L += .5;
#endif
    }
    print_time();
    printf("Producer: done.\n");
  }
};

behavior consumer(
#ifdef USE_FLOATING_POINT
    i_float_receiver pF, i_double_receiver pD, i_ldouble_receiver pL,
#endif
    i_char_receiver pc, i_short_receiver ps, i_int_receiver pi, i_llong_receiver pl
#ifdef EXIT_ON_HANDSHAKE
    , i_send pdone
#endif
)
{
  void main(void)
  {
    char c;
    short s = DATA;
    int i;
    long long l;
#ifdef USE_FLOATING_POINT
    float F = FDATA;
    double D = FDATA;
    long double L = FDATA;
#endif
    int n;

    print_time();
    if (((char *)&s)[0] == DATA)
    { printf("Consumer: appears to be LITTLE endian\n");
    }
    else if (((char *)&s)[1] == DATA)
    { printf("Consumer: appears to be BIG endian\n");
    }
    else
    { printf("Consumer: appears to be UNKNOWN endian\n");
    }
    s = 0;
    for (n = 0; n < ITERATIONS; n++)
    {
      pc.receive(&c);
      print_time();
      printf("Consumer: received char c = %d (0x%02x)\n", c, c);
      ps.receive(&s);
      print_time();
      printf("Consumer: received short s = %d (0x%04x)\n", s, s);
      pi.receive(&i);
      print_time();
      printf("Consumer: received int i = %d (0x%08x)\n", i, i);
      pl.receive(&l);
      print_time();
      printf("Consumer: received llong l = %lld (0x%016llx)\n", l, l);
      if (c != (char)(DATA + n) || s != (short)(DATA + n) || i != DATA + n || l != DATA + n)
        exit(1); // added: what was received is what was sent
#ifdef USE_FLOATING_POINT
      pF.receive(&F);
      print_time();
      printf("Consumer: received float F = %g\n", F);
      pD.receive(&D);
      print_time();
      printf("Consumer: received double D = %g\n", D);
      pL.receive(&L);
      print_time();
      printf("Consumer: received ldouble L = %Lg\n", L);
#endif
    }
    print_time();
    printf("Consumer: done.\n");
#ifdef EXIT_ON_HANDSHAKE
    pdone.send();
#endif
  }
};

behavior monitor
#ifdef EXIT_ON_HANDSHAKE
    (i_receive pdone)
#endif
{
  void main(void)
  {
#ifdef EXIT_ON_TIME
    waitfor(EXIT_ON_TIME);
#endif
#ifdef EXIT_ON_HANDSHAKE
    pdone.receive();
#endif
    print_time();
    printf("Monitor: Done, exiting...\n");
    exit(0);
  }
};

behavior DUT
{
  c_char_double_handshake cc;
  c_short_double_handshake cs;
  c_int_double_handshake ci;
  c_llong_double_handshake cl;
#ifdef USE_FLOATING_POINT
  c_float_double_handshake cF;
  c_double_double_handshake cD;
  c_ldouble_double_handshake cL;
#endif
#ifdef EXIT_ON_HANDSHAKE
  c_handshake cend;
#endif
  producer prod(
#ifdef USE_FLOATING_POINT
      cF, cD, cL,
#endif
      cc, cs, ci, cl);
  consumer cons(
#ifdef USE_FLOATING_POINT
      cF, cD, cL,
#endif
      cc, cs, ci, cl
#ifdef EXIT_ON_HANDSHAKE
      , cend
#endif
  );
  monitor mon
#ifdef EXIT_ON_HANDSHAKE
      (cend)
#endif
      ;

  void main(void)
  {
    int i;
    for (i = 0; i < MAXTHREAD; i++)
      par { prod.main();
            cons.main();
            mon.main();
      }
  }
};

behavior Main
{
  DUT top;

  int main(void)
  {
    print_time();
    printf("Main: starting...\n");
    top.main();
    print_time();
    printf("Main: done.\n");
    return 0;
  }
};

// EOF prodcons.sc
