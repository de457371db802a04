/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C that calls MPI in its library in Fortran alone, and there once too often. */
void located_part_(void);

int main(void) {
  located_part_();
  located_part_();
  return 0;
}
