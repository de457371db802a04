/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file program.h
 * A program and its own libraries, once for each rank.
 *
 * The arena has a slot of the same size for each rank; an address therefore tells its rank by a
 * division. A slot holds the images, one behind the other, and the thread-locals of all of them:
 *
 *   [application | library | ... | thread-locals] [application | ...
 *
 * Code and constants are mapped from the file, so that all ranks share them through the page
 * cache; the rest is anonymous memory, filled from the pristine image. Relocations are looked up
 * once: those with the same value in all ranks are written into the pristine image; the others
 * become records, offsets in the slot, which each rank's copy gets.
 *
 * Libraries are private, too, except for the ones that ranks may or must share (policy.h). So is a
 * library of our own with state that libc keeps for a process (src/tmpi/private), if the program
 * uses any of it.
 *
 * Rejected: copying the file for each rank and dlopen() (10 to 100 times slower), dlmopen() (a
 * dozen at most), saving and restoring globals at each switch (a cost for every switch).
 */
#ifndef TM_LOADER_PROGRAM_H
#define TM_LOADER_PROGRAM_H

#include <link.h>

#include "tmpi/loader/image.h"

/** The word at `at` is the address of `value`; both offsets in the slot. */
struct tm_record {
  size_t at, value;
};

/** A variable that starts as a copy of another: of a shared library (from), or private. */
struct tm_copy {
  size_t at, size;
  const void *from; /* NULL: at private_from in the slot */
  size_t private_from;
};

/** A word that a function chooses; the first rank asks it. */
struct tm_choice {
  size_t at, function;
  size_t value; /* an offset in the slot, or an address outside of all slots */
  bool in_slot, known;
};

/** A library that all ranks share, and why. */
struct tm_shared {
  const char *name, *why;
};

/** What the relocations of images ask for, looked up once. */
struct tm_bindings {
  struct tm_image **scope; /* images that are searched for symbols, in this order */
  int scope_count;
  const void *(*override)(const char *name); /* functions that take the place of libc's */
  const void
      *missing; /* is called in the place of functions of MPI that nobody has; NULL: refused */
  size_t *missing_count; /* such functions */
  struct tm_record *records;
  size_t record_count, record_room;
  struct tm_copy *copies;
  size_t copy_count;
  struct tm_choice *choices;
  size_t choice_count;
};

struct tm_program {
  struct tm_image **images; /* 0: the application; then breadth first; then what ranks open */
  int image_count, image_room;
  int start_count;   /* images that all ranks have from the start */
  int visible_count; /* [atomic] images that others than their loader may look at */
  int *order;        /* of constructors: each image behind all that it needs; program.c */
  struct tm_shared *shared;
  int shared_count;
  bool walk_again; /* libraries.c */
  struct tm_bindings bindings;
  char *arena;
  size_t slot;         /* bytes */
  size_t align;        /* of a slot */
  size_t locals_place; /* of the thread-locals, in a slot */
  size_t locals_size;  /* with room for those of objects that ranks open */
  size_t locals_align;
  size_t open_place; /* of objects that ranks open, in a slot; to its end. No room: at its end */
  struct tm_opened *opened; /* by rank; NULL: the program opens none; open.h */
  int ranks;                /* [const] slots */
  int first_ranks;          /* [const] ranks that the job begins with */
  int mapped;               /* the slots of ranks below it have code and constants */
  const void *(*override)(const char *name);
};

/** How many ranks there are. */
struct tm_ranks {
  int first;  /* the job begins with them */
  int spare;  /* a program that calls MPI_Comm_spawn() may add them */
  bool fixed; /* any program has room for the spare ones */
};

/** Reads a program and its libraries, and prepares slots for ranks. override may be NULL.
 * @return it, or NULL after a message. Once in a process. */
struct tm_program *tm_program_read(const char *path, const struct tm_ranks *ranks,
                                   const void *(*override)(const char *name));

/** Fills the slots of `count` ranks. more: the rank behind them is placed next. @return false after
 * a message. One caller at a time. */
bool tm_program_place(struct tm_program *program, int first, int count, bool more);

/** Runs the constructors of a rank's libraries, each behind those of what it needs. */
void tm_program_construct_libraries(const struct tm_program *program, int rank, int argc,
                                    char **argv, char **environment);

/** Runs the constructors of a rank's application. */
void tm_program_construct(const struct tm_program *program, int rank, int argc, char **argv,
                          char **environment);

/** Runs the destructors. */
void tm_program_destruct(const struct tm_program *program, int rank);

/** @return the first instruction of a rank's copy. */
const void *tm_program_entry(const struct tm_program *program, int rank);

/** @return the rank whose slot an address lies in; -1: none. */
int tm_program_rank_of(const struct tm_program *program, const void *address);

/** @return a rank's thread-locals. */
char *tm_program_locals(const struct tm_program *program, int rank);

/** Makes thread-locals for one more thread of a rank. *copy: NULL if there are none.
 * @return 0 or ENOMEM. */
int tm_program_copy_locals(const struct tm_program *program, int rank, char **copy);

/** Frees them; NULL: nothing. */
void tm_program_free_locals(char *copy);

/** locals.c: gives the thread-locals of an image their first values in all threads of a rank. */
void tm_program_start_locals(const struct tm_program *program, const struct tm_image *image,
                             int rank);

/** @return whether the call that returns to an address is one of the subroutines for Fortran, which
 * are linked into the program. */
bool tm_program_in_bindings(const struct tm_program *program, const void *return_address);

/** @return the image an address of a rank's lies in, and where; NULL: none. */
const struct tm_image *tm_program_image_at(const struct tm_program *program, const void *address,
                                           size_t *offset);

/** The program that was read last; NULL: none. */
extern struct tm_program *tm_the_program;

/** Gives its images and their thread-locals their places in a slot. */
void tm_program_lay_out(struct tm_program *program);

/** @return the number of segments from s on that can be mapped as one: read-only, and as far from
 * each other in the file as in memory. Each mapping counts against vm.max_map_count. */
int tm_program_mapped_together(const struct tm_image *image, int s);

/** room.c: @return false, after a message: the ranks need more mappings or memory than there is.
 * present: how many of them have their copies. */
bool tm_program_fits(const struct tm_program *program, int ranks, int present);

/** @return the bytes of memory that a rank's copy of an image takes when it is made. */
size_t tm_program_memory_of(const struct tm_image *image);

/* relocate.c: each returns false after a message. */
bool tm_program_relocate(struct tm_program *program);
bool tm_bind_image(struct tm_bindings *to, const struct tm_image *image);
void tm_bindings_drop(struct tm_bindings *bindings);

/** Places an image in a rank's slot, as yet without its relocations. @return false after a message.
 */
bool tm_program_place_image(const struct tm_program *program, const struct tm_image *image,
                            int rank);
/** Does in a rank's slot what bindings say. */
void tm_program_apply(const struct tm_program *program, struct tm_bindings *bindings, int rank);
/** Gives the thread-locals of an image their first values, in one thread's block. */
void tm_program_fill_locals(const struct tm_program *program, const struct tm_image *image,
                            int rank, char *locals);
/** Runs the constructors of one image of a rank; its destructors. */
void tm_program_construct_image(const struct tm_program *program, const struct tm_image *image,
                                int rank, int argc, char **argv, char **environment);
void tm_program_destruct_image(const struct tm_program *program, const struct tm_image *image,
                               int rank);

/* maps.c: lists of the copies, one entry for each image of each rank. */
struct link_map *tm_program_map(const struct tm_program *program, int rank, int image);
/** @return false: no memory. */
bool tm_program_make_maps(struct tm_program *program);
/** Makes the entries of one image for `ranks` ranks; tm_program_list_map() shows that of a rank. */
bool tm_program_make_maps_of(const struct tm_program *program, struct tm_image *image, int ranks);
/** Makes and lists those of a rank that is added. */
void tm_program_add_maps(const struct tm_program *program, int rank);
void tm_program_list_map(struct link_map *map);
/** Shows debuggers where the copies are. now: one that watches is to look at once. */
void tm_program_publish(const struct tm_program *program, bool now);
/** @return whether a debugger runs this process. */
bool tm_program_is_watched(void);

/* libraries.c: each returns false after a message. */
bool tm_program_find_libraries(struct tm_program *program);
bool tm_program_find_needs(struct tm_program *program, struct tm_image *image);
bool tm_program_add(struct tm_program *program, struct tm_image *image);
/** Finds a library that an image needs and adds it, unless it is there. */
bool tm_program_add_private(struct tm_program *program, struct tm_image *from, const char *name,
                            struct tm_need *need);
/** preloaded.c: adds the tools of MPI that LD_PRELOAD names. */
bool tm_program_add_preloaded(struct tm_program *program);
/** @return the library that is known by a name; NULL: none. */
struct tm_image *tm_program_find_image(const struct tm_program *program, const char *name);
/** @return whether the program, or a library of it, calls dlopen(). */
bool tm_program_opens(const struct tm_program *program);

/** @return whether an image of the program asks for executable stacks. */
bool tm_program_runs_code_on_stack(const struct tm_program *program);

#endif
