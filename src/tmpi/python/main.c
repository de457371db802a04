/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in the place of a Python that has a fixed address, as that of Debian has: the same
 * interpreter from its library, of which each rank has a copy. tmpirun names the library
 * (run/python.c).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "tmpi/run/python.h"

typedef int python_main(int argc, char **argv);

int main(int argc, char **argv) {
  const char *library = getenv(TM_PYTHON);
  void *python = library != NULL ? dlopen(library, RTLD_NOW | RTLD_GLOBAL) : NULL;
  python_main *run = python != NULL ? (python_main *)dlsym(python, "Py_BytesMain") : NULL;
  if (run != NULL) return run(argc, argv);
  fprintf(stderr,
          "tmpirun: cannot run '%s': %s (start Python by tmpirun, and install its library)\n",
          argv[0], library == NULL ? TM_PYTHON " is not set" : dlerror());
  return 1;
}
