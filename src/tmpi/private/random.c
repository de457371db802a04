/* SPDX-License-Identifier: Apache-2.0 */
/* Generators of random numbers: the same numbers as libc's, from a state of the rank's own. */
#include <stdlib.h>

/* tmpirun's: it reports ranks with the same seed, if that is made of the process number. */
#pragma weak tm_seed_given
void tm_seed_given(long seed);

static void tell(long seed) {
  if (tm_seed_given != NULL) tm_seed_given(seed);
}

static char first_state[128]; /* as large as libc's own */
static struct random_data state;

static struct random_data *started(void) {
  if (state.state == NULL) initstate_r(1, first_state, sizeof first_state, &state);
  return &state;
}

long random(void) {
  int32_t value;
  random_r(started(), &value);
  return value;
}

int rand(void) { return (int)random(); }
void srandom(unsigned seed) {
  tell(seed);
  srandom_r(seed, started());
}
void srand(unsigned seed) { srandom(seed); }

char *setstate(char *new) {
  char *old = (char *)started()->state - sizeof(int32_t); /* a word before it tells its type */
  return setstate_r(new, &state) == 0 ? old : NULL;
}

char *initstate(unsigned seed, char *new, size_t size) {
  char *old = (char *)started()->state - sizeof(int32_t);
  return initstate_r(seed, new, size, &state) == 0 ? old : NULL;
}

/* ---- 48 bits */

static struct drand48_data bits;

double drand48(void) {
  double value;
  drand48_r(&bits, &value);
  return value;
}

double erand48(unsigned short from[3]) {
  double value;
  erand48_r(from, &bits, &value);
  return value;
}

long lrand48(void) {
  long value;
  lrand48_r(&bits, &value);
  return value;
}

long nrand48(unsigned short from[3]) {
  long value;
  nrand48_r(from, &bits, &value);
  return value;
}

long mrand48(void) {
  long value;
  mrand48_r(&bits, &value);
  return value;
}

long jrand48(unsigned short from[3]) {
  long value;
  jrand48_r(from, &bits, &value);
  return value;
}

void srand48(long seed) {
  tell(seed);
  srand48_r(seed, &bits);
}

unsigned short *seed48(unsigned short seed[3]) {
  static unsigned short old[3];
  struct drand48_data before = bits;
  seed48_r(seed, &bits);
  for (int i = 0; i < 3; i++) old[i] = before.__x[i];
  return old;
}

void lcong48(unsigned short parameters[7]) { lcong48_r(parameters, &bits); }
