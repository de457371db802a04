/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and checking an ELF file. */
#include "tmpi/loader/image.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/program.h"
#include "base/atomic.h"
#include "os/map.h"

enum { PAGE = 4096 };

static size_t page_up(size_t value) { return (value + PAGE - 1) / PAGE * PAGE; }
static size_t page_down(size_t value) { return value / PAGE * PAGE; }

static char *refusal; /* [lock: of open.c] NULL: to stderr */

void tm_refuse_into(char *text) { refusal = text; }

bool tm_refuse(const char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (refusal != NULL) {
    int length = snprintf(refusal, TM_REFUSAL, "%s: ", path);
    if (length < TM_REFUSAL)
      vsnprintf(refusal + length, (size_t)(TM_REFUSAL - length), format, arguments);
    va_end(arguments);
    return false;
  }
  fprintf(stderr, "tmpirun: cannot run '%s': ", path);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  return false;
}

bool tm_image_inside(const struct tm_image *image, size_t offset, size_t size) {
  return offset <= image->span && size <= image->span - offset;
}

bool tm_image_in_file(const struct tm_image *image, size_t offset, size_t size) {
  for (int i = 0; i < image->segment_count; i++) {
    const struct tm_segment *s = &image->segments[i];
    if (offset >= s->start && offset <= s->file_end && size <= s->file_end - offset) return true;
  }
  return false;
}

bool tm_image_writable(const struct tm_image *image, size_t offset, size_t size) {
  for (int i = 0; i < image->segment_count; i++) {
    const struct tm_segment *s = &image->segments[i];
    if (s->writable && offset >= s->start && offset < s->end && size <= s->end - offset)
      return true;
  }
  return false;
}

const char *tm_image_string(const struct tm_image *image, size_t offset) {
  /* a string that is not ended ends in the page of zeroes */
  return offset < image->strings.size ? image->pristine + image->strings.at + offset : "";
}

/* ---- headers */

static bool check_header(const char *path, const Elf64_Ehdr *header, size_t size) {
  if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return tm_refuse(path,
                     "it is no ELF file (name a program built by tmpicc, tmpicxx or "
                     "tmpifort)");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != MT_ARCH_ELF_MACHINE)
    return tm_refuse(path, "it is not for this processor (build it for " MT_ARCH_ELF_NAME ")");
  if (header->e_type == ET_EXEC)
    return tm_refuse(path,
                     "it has a fixed address, and each rank needs a copy of its own (build "
                     "it by tmpicc, or with -fPIE -pie)");
  if (header->e_type != ET_DYN) return tm_refuse(path, "it is not linked (link it by tmpicc)");
  return true;
}

bool tm_damaged(const char *path, const char *what) {
  return tm_refuse(path, "the file is damaged: %s (build it again)", what);
}

static bool add_segment(struct tm_image *image, const Elf64_Phdr *p, size_t file_size) {
  size_t before = image->segment_count > 0 ? image->segments[image->segment_count - 1].end : 0;
  size_t limit = (size_t)1 << 40;
  if (image->segment_count == TM_SEGMENTS_MAX) return tm_damaged(image->path, "too many segments");
  size_t align = p->p_align > PAGE ? p->p_align : PAGE;
  if ((align & (align - 1)) != 0 || align > limit)
    return tm_damaged(image->path, "its alignment makes no sense");
  if (align > image->align) image->align = align; /* the first one sets it */
  if (p->p_filesz > p->p_memsz || p->p_offset > file_size ||
      p->p_filesz > file_size - p->p_offset || p->p_vaddr >= limit || p->p_memsz >= limit ||
      page_down(p->p_vaddr) < page_up(before) || p->p_vaddr % PAGE != p->p_offset % PAGE)
    return tm_damaged(image->path, "a segment lies outside of it");
  if (image->segment_count == 0 && page_down(p->p_vaddr) != 0)
    return tm_refuse(image->path, "it was linked for a fixed address (link it by tmpicc)");
  image->segments[image->segment_count++] =
      (struct tm_segment){p->p_vaddr,  p->p_vaddr + p->p_filesz, p->p_vaddr + p->p_memsz,
                          p->p_offset, (p->p_flags & PF_W) != 0, (p->p_flags & PF_X) != 0};
  image->span = page_up(p->p_vaddr + p->p_memsz);
  return true;
}

/* Reads a writable segment into the pristine image; maps any other. */
static bool show_segment(const struct tm_image *image, const struct tm_segment *s) {
  size_t lead = s->start - page_down(s->start), size = s->file_end - s->start;
  if (size == 0) return true;
  int error = s->writable
                  ? os_file_read(image->fd, image->pristine + s->start, size, (off_t)s->file_offset)
                  : os_map_file(image->pristine + s->start - lead, page_up(lead + size), image->fd,
                                (off_t)(s->file_offset - lead), false);
  if (error == ENOMEM) return tm_refuse(image->path, "no memory to read it (free some)");
  return error == 0 ? true : tm_damaged(image->path, "a segment cannot be read");
}

/* Older linkers align segments to the largest page that a processor may have, 2 MiB here. What the
 * sections need decides then, where the file has their headers: an object that is opened has to fit
 * into the slots that there are. */
static void lower_align(struct tm_image *image, const Elf64_Ehdr *header, size_t file_size) {
  size_t align = PAGE, at = header->e_shoff;
  Elf64_Shdr section;
  if (image->align == PAGE || header->e_shnum == 0 || header->e_shentsize != sizeof section ||
      at > file_size || header->e_shnum > (file_size - at) / sizeof section)
    return;
  for (int i = 0; i < header->e_shnum; i++, at += sizeof section) {
    if (os_file_read(image->fd, &section, sizeof section, (off_t)at) != 0) return;
    if ((section.sh_flags & SHF_ALLOC) != 0 && section.sh_addralign > align)
      align = section.sh_addralign;
  }
  if (align < image->align && (align & (align - 1)) == 0) image->align = align;
}

static bool read_segments(struct tm_image *image, const Elf64_Ehdr *header, size_t file_size) {
  Elf64_Phdr headers[64];
  size_t count = header->e_phnum;
  if (header->e_phentsize != sizeof headers[0] || count > sizeof headers / sizeof headers[0] ||
      os_file_read(image->fd, headers, count * sizeof headers[0], (off_t)header->e_phoff) != 0)
    return tm_damaged(image->path, "its program headers cannot be read");
  for (size_t i = 0; i < count; i++)
    if (headers[i].p_type == PT_LOAD && !add_segment(image, &headers[i], file_size)) return false;
  if (image->span == 0) return tm_damaged(image->path, "it has nothing to load");
  lower_align(image, header, file_size);
  image->pristine = os_map_memory(image->span + PAGE);
  if (image->pristine == NULL)
    return tm_refuse(image->path, "no address space for its %zu KiB (a higher ulimit -v)",
                     image->span / 1024);
  for (int i = 0; i < image->segment_count; i++)
    if (!show_segment(image, &image->segments[i])) return false;
  for (size_t i = 0; i < count; i++) {
    const Elf64_Phdr *p = &headers[i];
    bool used = p->p_type == PT_DYNAMIC || p->p_type == PT_TLS || p->p_type == PT_GNU_EH_FRAME;
    if (used && !tm_image_inside(image, p->p_vaddr, p->p_filesz))
      return tm_damaged(image->path, "a table lies outside of it");
    if (p->p_type == PT_INTERP) image->is_executable = true;
    if (p->p_type == PT_GNU_STACK) image->runs_code_on_stack = (p->p_flags & PF_X) != 0;
    if (p->p_type == PT_GNU_EH_FRAME) image->unwind = p->p_vaddr;
    if (p->p_type == PT_NOTE) tm_image_read_notes(image, p->p_vaddr, p->p_filesz);
    if (p->p_type == PT_DYNAMIC) {
      image->dynamic = (const Elf64_Dyn *)(image->pristine + p->p_vaddr);
      image->dynamic_count = p->p_filesz / sizeof(Elf64_Dyn);
      if (p->p_vaddr % sizeof(void *) != 0)
        return tm_damaged(image->path, "a table is not aligned");
    }
    if (p->p_type == PT_TLS) {
      image->tls_start = p->p_vaddr;
      image->tls_file_size = p->p_filesz;
      image->tls_size = p->p_memsz;
      image->tls_align = p->p_align > 0 ? p->p_align : 1;
      if (p->p_memsz < p->p_filesz || p->p_memsz > (size_t)1 << 32 ||
          (image->tls_align & (image->tls_align - 1)) != 0 || image->tls_align > (size_t)1 << 30)
        return tm_damaged(image->path, "its thread-locals make no sense");
    }
  }
  image->entry = header->e_entry;
  image->headers = header->e_phoff; /* in the first segment, as linkers have it */
  image->header_count = count;
  if (image->dynamic == NULL)
    return tm_refuse(image->path, "it is statically linked (link it by tmpicc)");
  return tm_image_inside(image, image->headers, count * sizeof headers[0]) &&
                 tm_image_inside(image, image->entry, 1)
             ? true
             : tm_damaged(image->path, "its entry lies outside of it");
}

/* ---- the dynamic section */

size_t tm_image_dynamic(const struct tm_image *image, Elf64_Sxword tag) {
  for (size_t i = 0; i < image->dynamic_count && image->dynamic[i].d_tag != DT_NULL; i++)
    if (image->dynamic[i].d_tag == tag) return image->dynamic[i].d_un.d_val;
  return 0;
}

const char *tm_image_dynamic_string(const struct tm_image *image, Elf64_Sxword tag) {
  for (size_t i = 0; i < image->dynamic_count && image->dynamic[i].d_tag != DT_NULL; i++)
    if (image->dynamic[i].d_tag == tag) return tm_image_string(image, image->dynamic[i].d_un.d_val);
  return NULL;
}

bool tm_image_is_loaded(const struct tm_image *image, int rank) {
  /* OB-3 acquire: the opener has placed the copy; pairs OB-4 */
  return image->opened == NULL || mt_load_acquire(&image->opened[rank]) != 0;
}

bool tm_image_has_static_tls(const struct tm_image *image) {
  return (tm_image_dynamic(image, DT_FLAGS) & DF_STATIC_TLS) != 0;
}

static bool read_table(struct tm_image *image, struct tm_table *table, Elf64_Sxword at,
                       Elf64_Sxword size) {
  table->at = tm_image_dynamic(image, at);
  table->size = table->at != 0 ? tm_image_dynamic(image, size) : 0;
  bool aligned = at == DT_STRTAB || table->at % sizeof(uint64_t) == 0;
  if (table->size == 0 || (tm_image_in_file(image, table->at, table->size) && aligned)) return true;
  return tm_damaged(image->path, "a table lies outside of it");
}

static bool read_dynamic(struct tm_image *image) {
  if (tm_image_dynamic(image, DT_TEXTREL) != 0 || (tm_image_dynamic(image, DT_FLAGS) & DF_TEXTREL))
    return tm_refuse(image->path,
                     "its code has to be changed to run at another address (compile "
                     "all of it by tmpicc, or with -fPIC)");
  image->init = tm_image_dynamic(image, DT_INIT);
  image->fini = tm_image_dynamic(image, DT_FINI);
  if (!read_table(image, &image->strings, DT_STRTAB, DT_STRSZ) ||
      !read_table(image, &image->relocations, DT_RELA, DT_RELASZ) ||
      !read_table(image, &image->plt_relocations, DT_JMPREL, DT_PLTRELSZ) ||
      !read_table(image, &image->relative, DT_RELR, DT_RELRSZ) ||
      !read_table(image, &image->preinit_array, DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ) ||
      !read_table(image, &image->init_array, DT_INIT_ARRAY, DT_INIT_ARRAYSZ) ||
      !read_table(image, &image->fini_array, DT_FINI_ARRAY, DT_FINI_ARRAYSZ))
    return false;
  if (!tm_image_inside(image, image->init, 1) || !tm_image_inside(image, image->fini, 1))
    return tm_damaged(image->path, "a table lies outside of it");
  return tm_image_read_symbols(image);
}

struct tm_image *tm_image_drop(struct tm_image *image) {
  if (image->fd >= 0) os_file_close(image->fd);
  if (image->pristine != NULL) os_unmap(image->pristine, image->span + PAGE);
  free(image->exports);
  free(image->buckets);
  free(image->version_names);
  free(image->needs);
  free(image->maps);
  free(image->opened);
  free(image->name);
  free(image->path);
  free(image);
  return NULL;
}

static const char *remedy(int error) {
  switch (error) {
    case EACCES: return "ranks are loaded by reading the file: chmod +r";
    case EMFILE: return "a higher ulimit -n";
    case ENFILE: return "a higher fs.file-max by sysctl";
    default: return "check the name";
  }
}

static bool open_image(struct tm_image *image, size_t *size, Elf64_Ehdr *header) {
  int error = os_file_open(image->path, &image->fd, size);
  if (error != 0) {
    image->fd = -1;
    return tm_refuse(image->path, "%s (%s)",
                     error == EISDIR ? "it is no plain file" : strerror(error), remedy(error));
  }
  size_t header_size = *size < sizeof *header ? *size : sizeof *header;
  if (os_file_identity(image->fd, &image->device, &image->inode) != 0 ||
      os_file_read(image->fd, header, header_size, 0) != 0)
    return tm_damaged(image->path, "it cannot be read");
  image->stamp = os_file_stamp(image->fd);
  return true;
}

bool tm_image_has_changed(const struct tm_image *image) {
  return os_file_stamp(image->fd) != image->stamp;
}

static struct tm_image *kept; /* [main] read already, and nobody has it; NULL: none */

void tm_image_keep(struct tm_image *image) {
  if (kept != NULL) tm_image_drop(kept);
  kept = image;
}

struct tm_image *tm_image_read(const char *path) {
  size_t size;
  if (kept != NULL && strcmp(kept->path, path) == 0) {
    struct tm_image *image = kept;
    kept = NULL;
    return image;
  }
  Elf64_Ehdr header = {0};
  struct tm_image *image = calloc(1, sizeof *image);
  if (image == NULL) {
    tm_refuse(path, "no memory (free some)");
    return NULL;
  }
  image->fd = -1;
  image->path = strdup(path);
  if (image->path == NULL) {
    tm_refuse(path, "no memory (free some)");
    return tm_image_drop(image);
  }
  if (!open_image(image, &size, &header) || !check_header(path, &header, size) ||
      !read_segments(image, &header, size) || !read_dynamic(image))
    return tm_image_drop(image);
  image->is_symbolic = (tm_image_dynamic(image, DT_FLAGS) & DF_SYMBOLIC) != 0 ||
                       tm_image_dynamic_string(image, DT_SYMBOLIC) != NULL;
  return image;
}
