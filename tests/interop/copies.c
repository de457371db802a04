/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in has a copy of the library in itself, and the program that opens it has the shared
 * library. The dynamic linker gives both the program's, so there is one runtime. Compiled twice:
 * with PLUGIN it is the plug-in. */
#include <dlfcn.h>
#include <errno.h>
#include <mltp/mltp.h>
#include <stdio.h>

enum { THREADS = 50 };

#ifdef PLUGIN
static mltp_lock_t lock = MLTP_LOCK_INIT;
static int ran; /* under the lock */

static void *run(void *unused) {
  (void)unused;
  for (int i = 0; i < 10; i++) mltp_yield();
  mltp_lock(&lock);
  ran++;
  mltp_unlock(&lock);
  return NULL;
}

int plug(void);

int plug(void) {
  mltp_t *threads[THREADS];
  ran = 0;
  if (mltp_init(0) != EALREADY) return -1; /* the program's runtime */
  for (int i = 0; i < THREADS; i++)
    if (mltp_create(&threads[i], NULL, run, NULL) != 0) return -2;
  for (int i = 0; i < THREADS; i++)
    if (mltp_join(threads[i], NULL) != 0) return -3;
  return ran;
}
#else
static int (*plug)(void);

static void *call(void *result) {
  *(int *)result = plug();
  return NULL;
}

int main(int argc, char **argv) {
  mltp_t *thread;
  int by_thread = 0;
  void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (plugin == NULL) {
    fprintf(stderr, "copies: no plug-in: %s\n", argc == 2 ? dlerror() : "usage: copies PLUGIN");
    return 2;
  }
  *(void **)&plug = dlsym(plugin, "plug");
  if (mltp_init(0) != 0 || mltp_create(&thread, NULL, call, &by_thread) != 0) return 3;
  mltp_join(thread, NULL);
  int by_main = plug();
  mltp_finalize();
  if (by_thread == THREADS && by_main == THREADS) return 0;
  fprintf(stderr, "copies: the plug-in says %d and %d, not %d\n", by_thread, by_main, THREADS);
  return 1;
}
#endif
