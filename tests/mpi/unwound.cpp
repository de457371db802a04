/* SPDX-License-Identifier: Apache-2.0 */
/* pthread_exit() of a rank's own thread unwinds its stack: destructors run, and handlers for all
 * exceptions, which pass it on. Ranks wait for each other meanwhile. With an argument: one that
 * does not pass it on ends the job. */
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <mpi.h>

static std::string order;

struct Note {
  char letter;
  ~Note() {
    MPI_Barrier(MPI_COMM_WORLD);
    order += letter;
  }
};

struct Last {
  ~Last() { order += 't'; }
};

static thread_local Last last;

static void note_handler(void *letter) { order += *static_cast<char *>(letter); }

[[gnu::noinline]] static void leave() {
  Note a{'a'};
  pthread_exit(nullptr);
}

[[gnu::noinline]] static void descend(bool swallow) {
  static char handler = 'h';
  Note b{'b'};
  pthread_cleanup_push(note_handler, &handler);
  try {
    leave();
  } catch (...) {
    order += 'c';
    if (!swallow) throw;
  }
  pthread_cleanup_pop(0);
}

/* An exception of the rank's own in a destructor that unwinding has called. */
struct Throws {
  ~Throws() {
    try {
      throw 'x';
    } catch (char letter) {
      order += letter;
    }
  }
};

struct End {
  ~End() {
    order += 'e';
    MPI_Finalize();
  }
};

static void look() {
  if (order == "achbxet") return;
  std::fprintf(stderr, "order: %s\n", order.c_str());
  std::_Exit(1);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (std::atexit(look) != 0) return 1;
  static_cast<void>(&last);  // it is made when it is first used
  End end;
  Throws throws;
  descend(argc > 1);
  return 1;
}
