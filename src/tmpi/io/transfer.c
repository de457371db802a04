/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers: pieces of the file that lie together, one after the other. Data that do not lie
 * together in memory go through a small buffer. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tmpi/datatype/external.h"
#include "tmpi/io/file.h"

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

/* All data are converted in memory of their own. */
static int perform_external(const struct tm_transfer *t, size_t *bytes) {
  size_t inside = t->type->size, outside = tm_external_size(t->type), moved = 0;
  unsigned char *packed = malloc(t->count * inside + 1);
  unsigned char *converted = malloc(t->count * outside + 1);
  int error = packed != NULL && converted != NULL ? 0 : ENOMEM;
  if (error == 0 && t->writes) {
    tm_type_pack(packed, t->buffer, t->type, 0, t->count * inside);
    tm_external_convert(packed, converted, t->type, t->count, true);
  }
  if (error == 0) error = move_all(t, (char *)converted, t->count * outside, NULL, &moved);
  size_t elements = outside > 0 ? moved / outside : 0;
  if (!t->writes && packed != NULL && converted != NULL) {
    tm_external_convert(packed, converted, t->type, elements, false);
    tm_type_unpack(t->buffer, t->type, 0, packed, elements * inside);
  }
  *bytes = elements * inside;
  free(packed);
  free(converted);
  return error;
}

size_t tm_transfer_visible(const struct tm_transfer *t) {
  return t->count * (t->view->external ? tm_external_size(t->type) : t->type->size);
}

int tm_transfer_perform(const struct tm_transfer *t, size_t *bytes) {
  *bytes = 0;
  if (tm_transfer_visible(t) == 0 || t->view->filetype->size == 0) return 0;
  if (t->atomic) mltp_lock(&t->common->transfers);
  bool locks = t->atomic && t->common->spans;
  int error = locks ? tm_file_lock(t->common, t->writes) : 0;
  if (error == 0) {
    if (t->background) mltp_blocking_begin(); /* the disk may take its time; others run meanwhile */
    error = t->view->external ? perform_external(t, bytes) : perform_native(t, bytes);
    if (t->background) mltp_blocking_end();
    if (locks) tm_file_unlock(t->common);
  }
  if (t->atomic) mltp_unlock(&t->common->transfers);
  return error;
}
