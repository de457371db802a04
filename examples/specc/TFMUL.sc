// SPDX-License-Identifier: Apache-2.0
// TFMUL.sc: threads that do almost nothing, after listing 2 of the ContextThreads report (2013).
//
// Repaired: the text of the report is damaged by scanning. 100,000 rounds of 100 threads make 10 million. Each
// behavior multiplies in its first run only: i is a part of it and keeps its value.

#include <stdio.h>
#include <stdlib.h>
#include <sim.sh>

// number of multiplications per unit
#define MAXLOOP 1000

// number of rounds
#ifndef MAXTHREAD
#define MAXTHREAD 100000
#endif

// type of floating-point numbers
typedef double float_type;

behavior Fmul
{
  int i = 0;
  float_type f = 1.2;

  void main()
  {
    while (i < MAXLOOP)
    {
      f *= 1.1;
      i++;
    }
  }
};

behavior Main
{
  Fmul fmul0, fmul1, fmul2, fmul3, fmul4, fmul5, fmul6, fmul7, fmul8, fmul9;

  int main(void)
  {
    int i;
    char *ptr47, *ptr53, *ptr73, *ptr89;
    printf("Fmul[%d,%d] starting...\n", MAXTHREAD, MAXLOOP);
    for (i = 0; i < MAXTHREAD; i++)
    {
      par { fmul0; }
      ptr47 = (char *)malloc(47);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; fmul5; fmul6; }
      ptr73 = (char *)malloc(73);
      free(ptr47);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; fmul5; fmul6; fmul7; fmul8; }
      ptr53 = (char *)malloc(53);
      free(ptr73);
      par { fmul0; fmul1; fmul2; }
      ptr89 = (char *)malloc(89);
      free(ptr53);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; fmul5; fmul6; fmul7; }
      ptr73 = (char *)malloc(73);
      free(ptr89);
      par { fmul0; fmul1; fmul2; fmul3; }
      ptr47 = (char *)malloc(47);
      free(ptr73);
      par { fmul0; fmul1; }
      ptr89 = (char *)malloc(89);
      free(ptr47);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; }
      ptr53 = (char *)malloc(53);
      free(ptr89);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; fmul5; }
      ptr73 = (char *)malloc(73);
      free(ptr53);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; fmul5; fmul6; fmul7; fmul8; fmul9; }
      ptr89 = (char *)malloc(89);
      free(ptr73);
      par { fmul0; }
      ptr47 = (char *)malloc(47);
      free(ptr89);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; fmul5; fmul6; }
      ptr73 = (char *)malloc(73);
      free(ptr47);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; fmul5; fmul6; fmul7; fmul8; }
      ptr53 = (char *)malloc(53);
      free(ptr73);
      par { fmul0; fmul1; fmul2; }
      ptr89 = (char *)malloc(89);
      free(ptr53);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; fmul5; fmul6; fmul7; }
      ptr73 = (char *)malloc(73);
      free(ptr89);
      par { fmul0; fmul1; fmul2; fmul3; }
      ptr47 = (char *)malloc(47);
      free(ptr73);
      par { fmul0; fmul1; }
      ptr89 = (char *)malloc(89);
      free(ptr47);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; }
      ptr53 = (char *)malloc(53);
      free(ptr89);
      par { fmul0; fmul1; fmul2; fmul3; fmul4; fmul5; }
      ptr73 = (char *)malloc(73);
      free(ptr53);
      free(ptr73);
    }
    printf("Done!\n");
    return (0);
  }
};

// EOF TFMUL.sc
