/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file os.h
 * The whole contract with the operating system. No other room makes a system
 * call or uses libc's threads (so that a later library can put our threads under
 * the pthread names without calling itself). Functions return 0 or a positive
 * errno value and leave errno as it was.
 */
#ifndef MT_OS_OS_H
#define MT_OS_OS_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* ---- time (clock.c): nanoseconds of CLOCK_MONOTONIC */
uint64_t os_now(void);
/** @return nanoseconds of CPU time that the process has had. */
uint64_t os_cpu_time(void);
/** @return the same of the calling kernel thread. */
uint64_t os_thread_cpu_time(void);
/** @return how often another took the CPU of the calling kernel thread. */
uint64_t os_thread_taken(void);

/* ---- waiting in the kernel (futex.c) */

/** Sleeps while *word == expected, until woken or the absolute deadline.
 * @return 0 (also when woken for no reason) or ETIMEDOUT. */
int os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline);
void os_futex_wake(uint32_t *word, int count);
void os_yield(void);
/** Sleeps about ns nanoseconds. */
void os_nap(uint64_t ns);

/* ---- memory (memory.c); sizes are multiples of the page size */
size_t os_page_size(void);
/** Bytes of address space the process may have (RLIMIT_AS); SIZE_MAX: no limit. */
size_t os_address_space_limit(void);
/** Bytes that the first stack of a process may have (RLIMIT_STACK); SIZE_MAX: no limit. */
size_t os_stack_limit(void);
/** Address space without memory behind it; NULL when refused. */
void *os_reserve(size_t size);
/** Makes reserved space usable; memory appears as it is touched. */
int os_commit(void *address, size_t size);
/** The two halves of it, for space of which parts stay unusable; a core has what is shown in it. */
int os_enable(void *address, size_t size, bool executable);
void os_show_in_cores(void *address, size_t size);
void os_release(void *address, size_t size);
/** Brings memory that is about to be written to, with less work than a page fault for each page
 * (MADV_POPULATE_WRITE, Linux 5.14). */
void os_touch(void *address, size_t size);
/** Gives the memory back, not the address space: it reads as zeroes afterwards. */
void os_trim(void *address, size_t size);
/** Makes [address, address + size) fault without splitting the mapping
 * (MADV_GUARD_INSTALL, Linux 6.13). @return 0, or EINVAL: the kernel has it not. */
int os_guard_light(void *address, size_t size);
/** @return whether madvise() refuses what it does not know; an emulator that ignores all
 * advice would call a page guarded that is not. */
bool os_advice_is_checked(void *address, size_t size);
/** The same by mprotect, at the price of mappings. @return 0 or ENOMEM. */
int os_guard_mprotect(void *address, size_t size);
/** @return whether an object of the process asks for executable stacks (PT_GNU_STACK), as code does
 * that passes on the address of a function within a function. */
bool os_wants_executable_stacks(void);
/** @return vm.max_map_count when first asked, or its default when it cannot be read. */
long os_max_mappings(void);
/** @return bytes of memory that can be had without swapping; 0: the kernel does not say. */
size_t os_memory_available(void);

/* ---- memory that may not be there (peek.c): async-signal-safe */

/** Copies from any address without a fault. @return how many bytes were copied: fewer
 * than size where no readable memory follows. */
size_t os_peek(void *to, const void *from, size_t size);

/* ---- processors (cpus.c) */

/** CPUs this process may use: affinity mask and cgroup CPU quota, at least 1. */
int os_cpus(void);
/** CPUs that the quotas of the cgroups are worth, at least 1; INT_MAX: no quota. All processes of
 * the cgroup share them, whatever their affinity masks. */
int os_cpu_quota(void);

/* ---- places (place.c) */

/** The CPU and the NUMA node the caller runs on just now; 0 when the kernel does not say. */
void os_here(unsigned *cpu, unsigned *node);
/** @return the first of the CPUs that share their last cache with this one; 0 when the
 * kernel does not say. Reads a file. */
unsigned os_cache_group(unsigned cpu);

/* ---- where a kernel thread wakes up (affinity.c)
 * The kernel prefers to put a woken thread on the CPU of its waker, expecting the waker
 * to sleep soon. A VP that wakes another continues to run, and the other would wait for
 * milliseconds beside idle CPUs. */

struct os_affinity {
  cpu_set_t cpus; /**< where a narrowed thread might run */
  bool narrowed;  /**< a CPU was taken away */
};

/** Keeps a thread that sleeps off the caller's CPU when it wakes up. */
void os_affinity_avoid_here(struct os_affinity *affinity, pid_t tid);
/** The same for a thread that is to be created with attr. */
void os_affinity_start_elsewhere(struct os_affinity *affinity, pthread_attr_t *attr);
/** Lets the calling thread run where it might before. */
void os_affinity_restore(struct os_affinity *affinity);

/** Moves the calling thread, which is not narrowed, to some of the CPUs that it may use: count of
 * them from number first on, in the order of their numbers. It stays there while the kernel sees no
 * reason to move it. Nothing happens when it is there already, or when these are all or none.
 * Three system calls at most. */
void os_affinity_visit(uint32_t first, uint32_t count);

/* ---- kernel threads (kthread.c) */

/** @return the calling process; a child of fork() is another one. */
uint32_t os_process(void);
/** Makes a word that is 1. In each child it is 0, however the child was forked, unless it shares
 * the memory of the process (vfork). @return NULL: the kernel has no such memory (before
 * Linux 4.14). */
uint32_t *os_process_mark(void);

/** Starts a joinable kernel thread, if wanted on another CPU than the caller's; it calls
 * os_affinity_restore() when it runs. @return 0; EAGAIN: a limit; what a filter says. */
int os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                    void *(*func)(void *), void *arg);
/** Starts a kernel thread nobody joins. @return as os_thread_start(). */
int os_thread_start_detached(size_t stack_size, void *(*func)(void *), void *arg);
/** The same, and it gets no signals: not even before its first line. */
int os_thread_start_quiet(size_t stack_size, void *(*func)(void *), void *arg);
/** Says in words which limit was met when these returned an error (refusal.c). */
void os_thread_refusal(int error, char *text, size_t size);
/** What a kernel thread hands down to the ones it creates. */
struct os_manner {
  sigset_t signals; /**< that it does not get */
  int policy, priority;
};

/** Notes the caller's manner. */
void os_manner_note(struct os_manner *manner);
/** Gives it to the calling kernel thread, whose creator has another one. */
void os_manner_take(const struct os_manner *manner);
void os_thread_join(pthread_t thread);
/** Bounds of the calling kernel thread's stack, the guard not included; NULL and 0
 * when libc cannot tell. */
void os_thread_stack(char **low, size_t *size);
/** Number of kernel threads of this process; 0 when /proc cannot be read. */
int os_task_count(void);
/** Runs func(value) at the end of each kernel thread that has set a value. */
int os_thread_exit_hook(pthread_key_t *key, void (*func)(void *));
int os_thread_exit_value(pthread_key_t key, void *value);
/** Runs a function in each child of fork(), on its one kernel thread. @return 0 or ENOMEM. */
int os_fork_hook(void (*in_child)(void));
/** Runs functions in each process that forks, before and after it. @return 0 or ENOMEM. */
int os_fork_hooks(void (*before)(void), void (*after)(void));

/* ---- real-time priorities (real_time.c) */

/** Raises the calling kernel thread's real-time priority by one, if it has one. A kernel thread
 * that it creates then runs before others of the process, which may never give up their CPUs.
 * @return the priority before, for os_priority_restore(); 0: it stays as it is. */
int os_priority_raise(void);
void os_priority_restore(int before);
/** @return the calling kernel thread's real-time priority; 0: it has none. */
int os_priority(void);

enum { OS_REAL_TIME_MAX = 1024 };

/** The kernel threads that have lost a real-time priority, and which it was. */
struct os_real_time {
  int count;
  struct {
    pid_t tid;
    int policy, priority;
  } threads[OS_REAL_TIME_MAX];
};

/** Takes the real-time priority from the other kernel threads of the process, from OS_REAL_TIME_MAX
 * at most, so that each that holds a lock gets a CPU. Never waits for a lock. Nothing happens where
 * /proc cannot be read or the kernel refuses. */
void os_real_time_take(struct os_real_time *taken);
/** Gives those priorities back. @return 0; an errno value: the kernel refuses one (EPERM: the
 * process has lost the privilege). */
int os_real_time_return(const struct os_real_time *taken);

/* ---- what a kernel thread of this process does (task.c) */

struct os_task {
  pid_t tid; /**< 0: not known yet */
  clockid_t cpu_clock;
  bool has_clock;
};

enum os_task_state {
  OS_TASK_UNKNOWN, /**< /proc cannot be read */
  OS_TASK_RUNS,    /**< or waits for a CPU */
  OS_TASK_SLEEPS   /**< in a system call or a page fault */
};

/** Fills in the calling kernel thread. */
void os_task_self(struct os_task *task);
/** @return the kernel thread of this process with that number. */
struct os_task os_task_of(pid_t tid);
/** @return whether this process has a kernel thread with that number. */
bool os_task_is_here(pid_t tid);

/** Gives the calling kernel thread a working directory, root directory and umask of its own, which
 * are those it has. @return 0 or an errno value. */
int os_unshare_files(void);
/** @return nanoseconds of CPU time that the kernel thread has had; 0: the kernel does not say. */
uint64_t os_task_cpu_time(const struct os_task *task);
/** @return whether it sleeps in the kernel. Reads a file. */
enum os_task_state os_task_state(const struct os_task *task);
/** @return the number of the system call that it is in; -1: in none, or the kernel does not say. */
long os_task_call(const struct os_task *task);
/** @return whether it waits for a word of this process's memory, without a time: without a signal
 * only another kernel thread of the process can wake it. false, too: the kernel does not say.
 * *switches: how often it had waited in the kernel before the look, this wait counted. */
bool os_task_waits_forever(const struct os_task *task, uint64_t *switches);
/** Calls visit() for each kernel thread of the process, until that returns false.
 * @return whether it returned true each time. false, too: /proc cannot be read. */
bool os_tasks_visit(bool (*visit)(const struct os_task *task, void *context), void *context);
/** @return the name of a system call that may wait for long; NULL: another (calls.c). */
const char *os_call_name(long number);

/* ---- descriptors (descriptor.c) */

/** Moves a descriptor of ours above the descriptors of the program; it is closed at exec.
 * @return the new descriptor, or fd itself if there is no free one so high. */
int os_descriptor_raise(int fd);

/** Fills those numbers from 0 to 2 that are closed: otherwise the next descriptor of ours gets such
 * a number, and the program reads from it or writes to it. As with a closed one, to read from 0 and
 * to write to 1 and 2 fails with EBADF. Programs that are started have them closed. For the first
 * line of main(). */
void os_descriptors_fill(void);

/* ---- a time that others move (alarm.c) */

struct os_alarm {
  int fd; /**< -1: there is none */
};

/** Makes an alarm that is not set. Without a descriptor it cannot be set. */
void os_alarm_make(struct os_alarm *alarm);
/** Sets the time at which the owner wakes, in nanoseconds from now; 0: never. Any thread.
 * @return false: there is no alarm, or the program has closed it. */
bool os_alarm_set(const struct os_alarm *alarm, uint64_t ns);
/** Sleeps until then. It returns at once until the next os_alarm_set().
 * @return false: the kernel refuses to sleep so (no memory). */
bool os_alarm_wait(const struct os_alarm *alarm);
void os_alarm_free(struct os_alarm *alarm);

/* ---- readiness of descriptors (poller.c) */

/** An instance of epoll, and a descriptor by which others end a wait. */
struct os_poller {
  int epoll;
  int wake; /**< an eventfd */
};

/** The event of os_poller_interrupt() has this as its data; no descriptor's has. */
#define OS_POLLER_WAKE UINT64_MAX

/** @return 0, EMFILE, ENFILE, ENOMEM, or what a filter says. */
int os_poller_make(struct os_poller *poller);
void os_poller_free(struct os_poller *poller);
/** Reports each change of a descriptor's readiness once, from now on, with that data; what is ready
 * now is a change. @return 0; EPERM: it is a file, which is always ready; ENOMEM, ENOSPC; EBADF. */
int os_poller_add(const struct os_poller *poller, int fd, uint64_t data);
/** Reports no more of it. */
void os_poller_remove(const struct os_poller *poller, int fd);
/** Waits for events until the absolute deadline; 0: does not wait.
 * @return how many events there are; 0: it is late, or a signal came. */
int os_poller_wait(const struct os_poller *poller, struct epoll_event *events, int most,
                   uint64_t deadline);
/** Ends the wait of one that waits, or the next wait, until os_poller_reset(). */
void os_poller_interrupt(const struct os_poller *poller);
void os_poller_reset(const struct os_poller *poller);

/* ---- input and output (io.c). Each makes one attempt and repeats it after a signal. @return 0;
 * EAGAIN: it would have to wait; another errno value. *count: bytes. */

enum os_fd_kind { OS_FD_FILE, OS_FD_STREAM, OS_FD_SOCKET, OS_FD_TCP /**< also a socket */ };

/** Sets O_NONBLOCK, but of a file. @return 0 or EBADF. */
int os_fd_prepare(int fd, enum os_fd_kind *kind);
int os_fd_close(int fd);
int os_readv(int fd, const struct iovec *parts, int number, size_t *count);
int os_writev(int fd, const struct iovec *parts, int number, size_t *count);
int os_preadv(int fd, const struct iovec *part, off_t offset, size_t *count);
int os_pwritev(int fd, const struct iovec *part, off_t offset, size_t *count);
/** What is in the page cache; EAGAIN: the rest has to come from the device. */
int os_pread_cached(int fd, const struct iovec *part, off_t offset, size_t *count);
/** Sockets: without SIGPIPE. */
int os_recvmsg(int fd, struct msghdr *message, int flags, size_t *count);
int os_sendmsg(int fd, const struct msghdr *message, int flags, size_t *count);
/** The connection does not block, and is closed by exec. */
int os_accept(int fd, struct sockaddr *address, socklen_t *length, int *connection);
/** EINPROGRESS: os_connected() says how it ended, once the socket is writable. EAGAIN: the queue of
 * a local socket is full. */
int os_connect(int fd, const struct sockaddr *address, socklen_t length);
int os_connected(int fd);
int os_sendfile(int to, int from, off_t *offset, size_t size, size_t *count);
struct pollfd;
/** Looks without waiting. */
int os_poll_now(struct pollfd *fds, size_t number, int *ready);
/** These two wait for the device. */
int os_open(const char *path, int flags, mode_t mode, int *fd);
int os_fsync(int fd);

/* ---- symbols (symbol.c) */

/** @return the address of a symbol that the program, or a library that was loaded for all, has;
 * NULL: nobody has it now. */
void *os_symbol(const char *name);
/** @return the address of a symbol that this library defines, too, in a library after it; NULL:
 * there is none. */
void *os_next_symbol(const char *name);

/* ---- memory barriers on other processors (membarrier.c) */

/** @return true when os_membarrier() can be used from now on. */
bool os_membarrier_register(void);
/** A full barrier on every processor that runs a thread of this process. */
void os_membarrier(void);

/* ---- signals (signals.c) */

typedef void(os_handler)(int signo, siginfo_t *info, void *context);

/** Gives the calling kernel thread a signal stack, unless it has one or there is no
 * memory for it. */
void os_sigstack_make(void);
/** Takes it away again; one that the program installed stays. */
void os_sigstack_free(void);
/** Installs a handler that runs on the signal stack; *old gets the one before. */
int os_signal_install(int signo, os_handler *handler, struct sigaction *old);
/** The same for one that runs where it interrupts the thread, unless on_stack. @return 0 or an
 * errno value. */
int os_signal_handle(int signo, os_handler *handler, bool on_stack);
/** Sends a signal with its info to a kernel thread of the process. @return 0 or an errno value. */
int os_signal_send(int task, int signo, siginfo_t *info);
/** Puts *old back, unless another handler has replaced ours since. */
void os_signal_restore(int signo, os_handler *handler, const struct sigaction *old);
/** The calling kernel thread gets no signals from now on: others of the process do. */
void os_signals_off(void);
/** In a handler: does what would have been done without it. */
void os_signal_forward(int signo, siginfo_t *info, void *context, const struct sigaction *to);
void os_signal_default(int signo);

/** @return whether a timer of the process's will send it SIGALRM. */
bool os_alarm_is_set(void);

/* ---- files (read.c) */

/** Reads a file of fewer than size bytes and ends the text with a null byte. Not by a stream: a
 * thread that flushes all streams holds libc's list of them for as long as another reads one.
 * @return 0; EFBIG: it is longer, the text is its beginning; another errno value: it cannot be
 * read. */
int os_read_text(const char *path, char *text, size_t size);

/* ---- output (write.c): async-signal-safe */

/** Survives short writes and waits for a slow reader. @return 0, or the errno value with which it
 * gave up, without a signal: EPIPE when there is no reader. */
int os_write(int fd, const char *text, size_t length);

/** Waits until the reader of a pipe has read all that is in it, for at most ns. Other files have no
 * reader to wait for. */
void os_wait_read(int fd, uint64_t ns);

/** Writes what the C library still holds of standard output, unless a thread has that locked. Not
 * async-signal-safe. */
void os_flush_output(void);
/** Opens a file to append to, made when absent. @return descriptor, or -1. */
int os_open_log(const char *path);
void os_close(int fd);
/** Before a message with which the process ends. Returns to one kernel thread; another one that
 * fails meanwhile waits here until the process has ended, or for a minute. Async-signal-safe. */
void os_report_alone(void);
/** Says that the kernel refused what the library cannot do without, and aborts. */
void os_fatal(const char *call, int error, const char *remedy) __attribute__((noreturn));

#endif
