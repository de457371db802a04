/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers: pieces of the file that lie together, one after the other. Data that do not lie
 * together in memory go through a small buffer. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tmpi/datatype/external.h"
#include "tmpi/io/file.h"
#include "tmpi/io/representation.h"

enum { BOUNCE = 65536 /* bytes */ };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Reads or writes all of it, unless the file ends or there is an error. *done counts up. */
static int move(int fd, bool writes, char *memory, size_t bytes, MPI_Offset at, size_t *done) {
  for (size_t moved = 0; moved < bytes;) {
    ssize_t some = writes ? pwrite(fd, memory + moved, bytes - moved, at + (MPI_Offset)moved)
                          : pread(fd, memory + moved, bytes - moved, at + (MPI_Offset)moved);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return errno;
    if (some == 0) return writes ? ENOSPC : 0;
    moved += (size_t)some;
    *done += (size_t)some;
  }
  return 0;
}

/* Data of any type. packed NULL: they lie together at `direct`. */
static int move_all(const struct tm_transfer *t, char *direct, size_t bytes, char *packed,
                    size_t *done) {
  struct tm_view_cursor c = tm_view_start(t->view, t->position);
  int error = 0;
  while (error == 0 && *done < bytes) {
    MPI_Offset at;
    size_t piece = tm_view_segment(&c, bytes - *done, &at), before = *done;
    if (packed != NULL) piece = least(piece, BOUNCE);
    if (packed != NULL && t->writes) tm_type_pack(packed, t->buffer, t->type, before, piece);
    error =
        move(t->common->fd, t->writes, packed != NULL ? packed : direct + before, piece, at, done);
    size_t moved = *done - before;
    if (packed != NULL && !t->writes) tm_type_unpack(t->buffer, t->type, before, packed, moved);
    if (moved < piece) break; /* the end of the file */
    tm_view_advance(&c, piece);
  }
  return error;
}

static int perform_native(const struct tm_transfer *t, size_t *bytes) {
  size_t all = t->count * t->type->size;
  if (t->type->dense)
    return move_all(t, (char *)t->buffer + t->type->blocks[0].at, all, NULL, bytes);
  char *packed = malloc(BOUNCE);
  if (packed == NULL) return ENOMEM;
  int error = move_all(t, NULL, all, packed, bytes);
  free(packed);
  return error;
}

/* Counts what lies in the first `bytes` of the file's buffer as a whole: basic elements for
 * functions of the program, else elements of the type. @return 0 or an errno. */
static int count_items(const struct tm_transfer *t, size_t bytes, struct tm_items *items) {
  const struct tm_representation *own = t->view->representation;
  if (own != NULL && !tm_representation_whole(own, t->type, t->count, bytes, items))
    return TM_NOT_CONVERTED;
  if (own == NULL) {
    items->count = bytes / t->element;
    items->inside = items->count * t->type->size;
  }
  return 0;
}

static int convert(const struct tm_transfer *t, const struct tm_items *items, unsigned char *file) {
  const struct tm_representation *own = t->view->representation;
  if (items->count == 0) return 0;
  if (own != NULL)
    return tm_representation_convert(own, t->writes, t->buffer, t->type, items->count, file)
               ? 0
               : TM_NOT_CONVERTED;
  unsigned char *packed = malloc(items->inside + 1);
  if (packed == NULL) return ENOMEM;
  if (t->writes) tm_type_pack(packed, t->buffer, t->type, 0, items->inside);
  tm_external_convert(packed, file, t->type, items->count, t->writes);
  if (!t->writes) tm_type_unpack(t->buffer, t->type, 0, packed, items->inside);
  free(packed);
  return 0;
}

/* All data are converted, in memory of their own. */
static int perform_converted(const struct tm_transfer *t, size_t *bytes) {
  size_t all = tm_transfer_visible(t), moved = 0;
  struct tm_items items = {0};
  unsigned char *file = malloc(all + 1);
  if (file == NULL) return ENOMEM;
  int error = t->writes ? count_items(t, all, &items) : 0;
  if (error == 0 && t->writes) error = convert(t, &items, file);
  if (error == 0) error = move_all(t, (char *)file, all, NULL, &moved);
  int failed = count_items(t, moved, &items);
  if (failed == 0 && !t->writes) failed = convert(t, &items, file);
  if (failed == 0) *bytes = items.inside;
  free(file);
  return error != 0 ? error : failed;
}

int tm_transfer_perform(const struct tm_transfer *t, size_t *bytes) {
  *bytes = 0;
  if (tm_transfer_visible(t) == 0 || t->view->filetype->size == 0) return 0;
  if (t->atomic) mltp_lock(&t->common->transfers);
  bool locks = t->atomic && t->common->spans;
  const struct tm_representation *own = t->view->representation;
  bool converts = t->view->external || (own != NULL && tm_representation_converts(own, t->writes));
  int error = locks ? tm_file_lock(t->common, t->writes) : 0;
  if (error == 0) {
    if (t->background) mltp_blocking_begin(); /* the disk may take its time; others run meanwhile */
    error = converts ? perform_converted(t, bytes) : perform_native(t, bytes);
    if (t->background) mltp_blocking_end();
    if (locks) tm_file_unlock(t->common);
  }
  if (t->atomic) mltp_unlock(&t->common->transfers);
  return error;
}
