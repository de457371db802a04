/* SPDX-License-Identifier: Apache-2.0 */
/* Looks every relocation up, once for all ranks. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "arch/program.h"
#include "tmpi/loader/program.h"

/* Where a symbol is. */
struct found {
  const struct tm_image *image; /* NULL: shared by all ranks, at address */
  const Elf64_Sym *symbol;
  uintptr_t address;
};

/* libc takes a version whose hash is 0, as that of "" is, for one of a symbol without any, and
 * crashes. */
static bool has_hash(const char *version) {
  uint32_t hash = 0;
  for (; *version != '\0'; version++) {
    hash = (hash << 4) + (unsigned char)*version;
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  return hash != 0;
}

/* The version asked for, unless a library that was loaded earlier stands before it: one that was
 * preloaded, or a sanitizer's, has no versions. */
static uintptr_t find_shared(const struct tm_image *image, size_t index, const char *name) {
  const char *version = tm_image_version(image, index);
  if (version != NULL && !has_hash(version)) version = NULL;
  void *versioned = version != NULL ? dlvsym(RTLD_DEFAULT, name, version) : NULL;
  void *first = dlsym(RTLD_DEFAULT, name);
  if (first == versioned) return (uintptr_t)first; /* mostly; dladdr() looks at all symbols */
  Dl_info a, b;
  bool same_library = versioned != NULL && first != NULL && dladdr(first, &a) != 0 &&
                      dladdr(versioned, &b) != 0 && a.dli_fbase == b.dli_fbase;
  return (uintptr_t)(first == NULL || same_library ? versioned : first);
}

static bool find_private(const struct tm_bindings *to, const struct tm_wanted *wanted, int from,
                         struct found *found) {
  for (int i = from; i < to->scope_count; i++) {
    found->image = to->scope[i];
    found->symbol = tm_image_find(found->image, wanted);
    if (found->symbol != NULL) return true;
  }
  found->image = NULL;
  return false;
}

static bool check_symbol(const struct tm_image *image, size_t index) {
  if (index < image->symbol_count) return true;
  return tm_refuse(image->path, "the file is damaged: no symbol %zu (build it again)", index);
}

/* @return false after a message. A weak symbol nobody has is at address 0. */
static bool find(const struct tm_bindings *to, const struct tm_image *image, size_t index,
                 struct found *found) {
  *found = (struct found){NULL, NULL, 0};
  if (!check_symbol(image, index)) return false;
  const Elf64_Sym *symbol = (const Elf64_Sym *)(image->pristine + image->symbols.at) + index;
  const char *name = tm_image_string(image, symbol->st_name);
  bool own =
      symbol->st_shndx != SHN_UNDEF && (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ||
                                        ELF64_ST_VISIBILITY(symbol->st_other) != STV_DEFAULT);
  if (own || index == 0) {
    found->image = image;
    found->symbol = symbol;
    return true;
  }
  /* what the program or its libraries define stands before what we and libc have */
  struct tm_wanted wanted = tm_want(name, tm_image_version(image, index));
  if (image->is_symbolic) {
    found->image = image;
    found->symbol = tm_image_find(image, &wanted);
    if (found->symbol != NULL) return true;
  }
  if (find_private(to, &wanted, 0, found)) return true;
  if (to->override != NULL) found->address = (uintptr_t)to->override(name);
  if (found->address != 0) return true;
  found->address = find_shared(image, index, name);
  if (found->address != 0 || ELF64_ST_BIND(symbol->st_info) == STB_WEAK) return true;
  bool is_mpi = strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0;
  if (is_mpi && to->missing != NULL) {
    found->address = (uintptr_t)to->missing;
    (*to->missing_count)++;
    return true;
  }
  const char *why = is_mpi ? "tmpi does not have it yet" : "no library has it";
  return tm_refuse(image->path, "it needs '%s': %s (link the library it is in)", name, why);
}

/* Makes room for count elements. @return false after a message. */
static bool grow(void **array, size_t count, size_t size) {
  void *larger = realloc(*array, count * size);
  if (larger == NULL) return tm_refuse("the program", "no memory for its relocations (free some)");
  *array = larger;
  return true;
}

static bool add_record(struct tm_bindings *to, size_t at, size_t value) {
  if (to->record_count == to->record_room) {
    to->record_room = to->record_room * 2 + 1024;
    if (!grow((void **)&to->records, to->record_room, sizeof *to->records)) return false;
  }
  to->records[to->record_count++] = (struct tm_record){at, value};
  return true;
}

/* @return how many bytes a variable of a shared library has. */
static size_t shared_size(const void *address) {
  Dl_info info;
  const Elf64_Sym *symbol = NULL;
  bool known = address != NULL && dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0;
  return known && symbol != NULL ? symbol->st_size : 0;
}

static bool add_copy(struct tm_bindings *to, const struct tm_image *image, size_t index,
                     size_t at) {
  const Elf64_Sym *symbol = (const Elf64_Sym *)(image->pristine + image->symbols.at) + index;
  const char *name = tm_image_string(image, symbol->st_name);
  struct tm_copy copy = {image->place + at, symbol->st_size, NULL, 0};
  struct found found;
  size_t size; /* of what is copied: it may be less than there is room for */
  struct tm_wanted wanted = tm_want(name, tm_image_version(image, index));
  if (find_private(to, &wanted, 1, &found)) {
    copy.private_from = found.image->place + found.symbol->st_value;
    size = found.symbol->st_size;
  } else {
    copy.from = (const void *)find_shared(image, index, name);
    size = shared_size(copy.from);
  }
  if (copy.from == NULL && found.image == NULL)
    return tm_refuse(image->path, "it needs '%s': no library has it (link the library it is in)",
                     name);
  if (size < copy.size) copy.size = size;
  if (!tm_image_writable(image, at, copy.size) ||
      (found.image != NULL && !tm_image_inside(found.image, found.symbol->st_value, size)))
    return tm_refuse(image->path, "the file is damaged: '%s' lies outside (build it again)", name);
  if (!grow((void **)&to->copies, to->copy_count + 1, sizeof copy)) return false;
  to->copies[to->copy_count++] = copy;
  return true;
}

static bool add_choice(struct tm_bindings *to, size_t at, size_t function) {
  if (!grow((void **)&to->choices, to->choice_count + 1, sizeof *to->choices)) return false;
  to->choices[to->choice_count++] = (struct tm_choice){.at = at, .function = function};
  return true;
}

/* The value of a symbol goes where the relocation says. */
static bool relocate_symbol(struct tm_bindings *to, const struct tm_image *image, size_t at,
                            const struct found *found, size_t addend) {
  if (found->image == NULL) {
    uintptr_t value = found->address != 0 ? found->address + addend : 0;
    memcpy(image->pristine + at, &value, sizeof value);
    return true;
  }
  size_t value = found->image->place + found->symbol->st_value + addend;
  if (ELF64_ST_TYPE(found->symbol->st_info) == STT_GNU_IFUNC)
    return add_choice(to, image->place + at, value);
  return add_record(to, image->place + at, value);
}

static bool relocate_tls(struct tm_bindings *to, const struct tm_image *image, size_t at,
                         const struct found *found, enum mt_arch_reloc kind, size_t addend) {
  if (found->image == NULL)
    return tm_refuse(image->path,
                     "it uses a thread-local variable of a library that all ranks "
                     "share (build that library with the program)");
  if (kind == MT_RELOC_TLS_MODULE)
    return add_record(to, image->place + at, found->image->tls_place);
  size_t offset = found->symbol->st_value + addend;
  memcpy(image->pristine + at, &offset, sizeof offset);
  return true;
}

static bool relocate(struct tm_bindings *to, const struct tm_image *image, const Elf64_Rela *rela) {
  struct found found;
  enum mt_arch_reloc kind = mt_arch_reloc(ELF64_R_TYPE(rela->r_info));
  size_t index = ELF64_R_SYM(rela->r_info), at = rela->r_offset, addend = (size_t)rela->r_addend;
  if (kind == MT_RELOC_NONE) return true;
  if (!tm_image_writable(image, at, sizeof(void *)))
    return tm_refuse(image->path,
                     "the file is damaged: a relocation lies outside (build it again)");
  switch (kind) {
    case MT_RELOC_RELATIVE: return add_record(to, image->place + at, image->place + addend);
    case MT_RELOC_INDIRECT: return add_choice(to, image->place + at, image->place + addend);
    case MT_RELOC_COPY: return check_symbol(image, index) && add_copy(to, image, index, at);
    case MT_RELOC_SYMBOL:
      return find(to, image, index, &found) && relocate_symbol(to, image, at, &found, addend);
    case MT_RELOC_TLS_MODULE:
    case MT_RELOC_TLS_OFFSET:
      return find(to, image, index, &found) && relocate_tls(to, image, at, &found, kind, addend);
    case MT_RELOC_TLS_STATIC:
      return tm_refuse(image->path,
                       "its thread-local variables are at fixed places (compile all "
                       "of it by tmpicc, or with -ftls-model=global-dynamic)");
    case MT_RELOC_TLS_DESCRIPTOR:
      return tm_refuse(
          image->path,
          "it keeps distances of thread-local variables from the thread pointer, which "
          "change when a rank moves (compile without -mtls-dialect=gnu2)");
    default:
      return tm_refuse(image->path, "relocations of type %u are not known (build it by tmpicc)",
                       (unsigned)ELF64_R_TYPE(rela->r_info));
  }
}

static bool relocate_table(struct tm_bindings *to, const struct tm_image *image,
                           const struct tm_table *table) {
  const Elf64_Rela *relas = (const Elf64_Rela *)(image->pristine + table->at);
  for (size_t i = 0; i < table->size / sizeof *relas; i++)
    if (!relocate(to, image, &relas[i])) return false;
  return true;
}

static bool relocate_word(struct tm_bindings *to, const struct tm_image *image, size_t at) {
  size_t addend;
  if (!tm_image_writable(image, at, sizeof addend))
    return tm_refuse(image->path,
                     "the file is damaged: a relocation lies outside (build it again)");
  memcpy(&addend, image->pristine + at, sizeof addend);
  return add_record(to, image->place + at, image->place + addend);
}

/* DT_RELR: an even word is an address; an odd one a bitmap of the 63 words that follow. */
static bool relocate_relative(struct tm_bindings *to, const struct tm_image *image) {
  const uint64_t *words = (const uint64_t *)(image->pristine + image->relative.at);
  size_t next = 0;
  for (size_t i = 0; i < image->relative.size / sizeof *words; i++) {
    if (words[i] % 2 == 0) {
      if (!relocate_word(to, image, words[i])) return false;
      next = words[i] + 8;
      continue;
    }
    for (unsigned bit = 1; bit < 64; bit++)
      if ((words[i] >> bit & 1) != 0 && !relocate_word(to, image, next + (bit - 1) * 8))
        return false;
    next += (size_t)63 * 8;
  }
  return true;
}

/* @return whether the application reaches its thread-locals through its tables, which each rank
 * has: tmpicc links so. A stock PIE has them at fixed distances from the thread pointer. */
static bool has_own_blocks(const struct tm_image *application) {
  struct tm_wanted mark = tm_want("tmpi_program", NULL);
  return tm_image_find(application, &mark) != NULL &&
         (tm_image_dynamic(application, DT_FLAGS_1) & DF_1_PIE) == 0;
}

bool tm_bind_image(struct tm_bindings *to, const struct tm_image *image) {
  return relocate_relative(to, image) && relocate_table(to, image, &image->relocations) &&
         relocate_table(to, image, &image->plt_relocations);
}

void tm_bindings_drop(struct tm_bindings *bindings) {
  free(bindings->records);
  free(bindings->copies);
  free(bindings->choices);
}

static bool has_own_heap(const struct tm_image *image) {
  struct tm_wanted allocate = tm_want("malloc", NULL), release = tm_want("free", NULL);
  return tm_image_find(image, &allocate) != NULL && tm_image_find(image, &release) != NULL;
}

bool tm_program_relocate(struct tm_program *program) {
  program->bindings.scope = program->images;
  program->bindings.scope_count = program->image_count;
  program->bindings.override = program->override;
  for (int i = 0; i < program->image_count; i++) {
    const struct tm_image *image = program->images[i];
    bool fixed_tls = i == 0 && image->tls_size != 0 && !has_own_blocks(image);
    if (fixed_tls)
      return tm_refuse(image->path,
                       "it has thread-local variables and was not linked by tmpicc: "
                       "ranks would share them (link it by tmpicc)");
    if (has_own_heap(image))
      return tm_refuse(image->path,
                       "it has a malloc() of its own, but ranks share libc, which uses another: "
                       "free() of what libc has allocated would fail (link without it)");
    if (!tm_bind_image(&program->bindings, image)) return false;
  }
  return true;
}
