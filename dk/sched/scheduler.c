/* SPDX-License-Identifier: Apache-2.0 */
#include "sched.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char warning[512];
static bool all_warnings;

/* Keeps libbpf's last warning; the rest of what it says is for its developers. */
static int keep_warning(enum libbpf_print_level level, const char *format, va_list arguments) {
  if (level == LIBBPF_WARN && all_warnings) {
    return vfprintf(stderr, format, arguments);
  }
  if (level == LIBBPF_WARN) {
    vsnprintf(warning, sizeof(warning), format, arguments);
    warning[strcspn(warning, "\n")] = 0;
  }
  return 0;
}

void show_warnings(void) { all_warnings = true; }

const char *last_warning(void) { return warning; }

static int role_of(const char *text, size_t length) {
  static const char *const names[] = {"any", "user", "kernel", "off"};
  for (int i = 0; i < 4; i++) {
    if (strlen(names[i]) == length && !strncmp(names[i], text, length)) {
      return i;
    }
  }
  return -1;
}

/* Reads "0=user,1=kernel" into an array of roles. */
static int parse_roles(const char *text, unsigned cpus, unsigned char *role) {
  memset(role, DK_ANY, DK_MAX_CPUS);
  while (text && *text) {
    char *end;
    unsigned long cpu = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end != '=' || cpu >= cpus) {
      return EINVAL;
    }
    size_t length = strcspn(end + 1, ",");
    int found = role_of(end + 1, length);
    if (found < 0) {
      return EINVAL;
    }
    role[cpu] = (unsigned char)found;
    text = end + 1 + length;
    text += *text == ',';
  }
  return 0;
}

/* Reads "0,1" into an array of flags. */
static int parse_epochs(const char *text, unsigned cpus, unsigned char *epochs) {
  memset(epochs, 0, DK_MAX_CPUS);
  while (text && *text) {
    char *end;
    unsigned long cpu = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || (*end && *end != ',') || cpu >= cpus) {
      return EINVAL;
    }
    epochs[cpu] = 1;
    text = end + (*end == ',');
  }
  return 0;
}

/* The lowest CPU that shares the last cache with a CPU, or its package where sysfs shows no cache.
 */
static unsigned first_of_domain(unsigned cpu) {
  static const char *const files[] = {"cache/index3/shared_cpu_list", "topology/package_cpus_list"};
  for (int i = 0; i < 2; i++) {
    char path[128];
    unsigned first;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/%s", cpu, files[i]);
    FILE *file = fopen(path, "re");
    if (file) {
      bool read = fscanf(file, "%u", &first) == 1;
      fclose(file);
      if (read && first < DK_MAX_CPUS) {
        return first;
      }
    }
  }
  return 0;
}

/* Numbers the machine's domains. Beyond DK_MAX_DOMAINS they share numbers, which costs locality and
 * nothing else. */
static void find_domains(struct dk_shared *shared) {
  int number[DK_MAX_CPUS];
  memset(number, -1, sizeof(number));
  unsigned count = 0;
  for (unsigned cpu = 0; cpu < shared->cpus; cpu++) {
    unsigned first = first_of_domain(cpu);
    if (number[first] < 0) {
      number[first] = (int)count++;
    }
    shared->domain[cpu] = (unsigned char)(number[first] % DK_MAX_DOMAINS);
  }
  shared->domains = count < DK_MAX_DOMAINS ? count : DK_MAX_DOMAINS;
}

/* The object lies beside this program. */
static int object_path(char *path, size_t size) {
  ssize_t length = readlink("/proc/self/exe", path, size - sizeof("dk.bpf.o"));
  if (length < 0) {
    return errno;
  }
  path[length] = 0;
  strcpy(strrchr(path, '/') + 1, "dk.bpf.o");
  return 0;
}

/* The first value of the memory that both sides share, before the object is loaded. */
static struct dk_shared *initial_shared(struct bpf_object *object) {
  size_t size;
  struct bpf_map *map = bpf_object__find_map_by_name(object, ".data.shared");
  struct dk_shared *shared = map ? bpf_map__initial_value(map, &size) : NULL;
  return shared && size >= sizeof(*shared) ? shared : NULL;
}

/* The shared memory itself, after the object was loaded: the map's, not libbpf's copy of its first
 * value. */
static struct dk_shared *mapped_shared(struct bpf_object *object) {
  int fd = bpf_object__find_map_fd_by_name(object, ".data.shared");
  void *memory = mmap(NULL, sizeof(struct dk_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static int program_fd(struct bpf_object *object, const char *name) {
  struct bpf_program *program = bpf_object__find_program_by_name(object, name);
  return program ? bpf_program__fd(program) : -1;
}

int scheduler_load(struct scheduler *scheduler, const char *roles, const char *epochs,
                   bool class_is_mm, bool stall) {
  char path[PATH_MAX];
  *scheduler = (struct scheduler){0};
  libbpf_set_print(keep_warning);
  int error = object_path(path, sizeof(path));
  scheduler->object = error ? NULL : bpf_object__open_file(path, NULL);
  if (!scheduler->object) {
    return error ? error : errno;
  }
  struct dk_shared *shared = initial_shared(scheduler->object);
  long cpus = sysconf(_SC_NPROCESSORS_CONF);
  if (!shared || cpus < 1 || cpus > DK_MAX_CPUS) {
    return ENOTSUP;
  }
  shared->cpus = (unsigned)cpus;
  shared->online = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
  shared->class_is_mm = class_is_mm;
  shared->fault_stall = stall;
  find_domains(shared);
  error = parse_roles(roles, shared->cpus, shared->role);
  error = error ? error : parse_epochs(epochs, shared->cpus, shared->epochs);
  if (error) {
    return error;
  }
  error = -bpf_object__load(scheduler->object);
  if (error) {
    return error;
  }
  scheduler->shared = mapped_shared(scheduler->object);
  scheduler->kick_fd = program_fd(scheduler->object, "dk_kick");
  scheduler->prefer_fd = bpf_object__find_map_fd_by_name(scheduler->object, "prefer");
  return scheduler->shared && scheduler->kick_fd >= 0 && scheduler->prefer_fd >= 0 ? 0 : ENOTSUP;
}

int scheduler_start(struct scheduler *scheduler) {
  struct bpf_map *ops = bpf_object__find_map_by_name(scheduler->object, "dk_ops");
  scheduler->link = ops ? bpf_map__attach_struct_ops(ops) : NULL;
  return scheduler->link ? 0 : errno;
}

void scheduler_stop(struct scheduler *scheduler) {
  bpf_link__destroy(scheduler->link);
  if (scheduler->shared) {
    munmap(scheduler->shared, sizeof(*scheduler->shared));
  }
  bpf_object__close(scheduler->object);
  *scheduler = (struct scheduler){0};
}

static void kick(const struct scheduler *scheduler) {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  bpf_prog_test_run_opts(scheduler->kick_fd,
                         &options); /* where it fails, CPUs look at the end of a slice */
}

int scheduler_flip(struct scheduler *scheduler, const char *roles, const char *epochs) {
  struct dk_shared *shared = scheduler->shared;
  unsigned char role[DK_MAX_CPUS], alternate[DK_MAX_CPUS];
  if (parse_roles(roles, shared->cpus, role) || parse_epochs(epochs, shared->cpus, alternate)) {
    return EINVAL;
  }
  memcpy(shared->epochs, alternate, sizeof(alternate));
  memcpy(shared->role, role, sizeof(role));
  kick(scheduler);
  return 0;
}

void scheduler_epoch(struct scheduler *scheduler, bool smt) {
  scheduler->shared->smt_epoch = smt;
  kick(scheduler);
}

/* Every thread of the process has the same tgid, so one entry does. */
int scheduler_prefer(struct scheduler *scheduler, unsigned pid, enum dk_prefer wanted) {
  unsigned value = wanted;
  return bpf_map_update_elem(scheduler->prefer_fd, &pid, &value, BPF_ANY) ? errno : 0;
}

bool scheduler_ejected(const struct scheduler *scheduler) {
  return *(const volatile int *)&scheduler->shared->exit_kind;
}
