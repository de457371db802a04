/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the system calls that a thread may wait in for long. */
#include <stddef.h>
#include <sys/syscall.h>

#include "os/os.h"

static const struct {
  long number;
  const char *name;
} calls[] = {
#ifdef SYS_accept
    {SYS_accept, "accept"},
#endif
    {SYS_accept4, "accept4"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_connect, "connect"},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, "epoll_wait"},
#endif
    {SYS_epoll_pwait, "epoll_pwait"},
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, "epoll_pwait2"},
#endif
    {SYS_fallocate, "fallocate"},
    {SYS_fcntl, "fcntl"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_fsync, "fsync"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_futex, "futex"},
    {SYS_getdents64, "getdents64"},
    {SYS_getrandom, "getrandom"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_io_uring_enter, "io_uring_enter"},
    {SYS_mmap, "mmap"},
    {SYS_mq_timedreceive, "mq_timedreceive"},
    {SYS_mq_timedsend, "mq_timedsend"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_msgsnd, "msgsnd"},
    {SYS_msync, "msync"},
    {SYS_munmap, "munmap"},
    {SYS_nanosleep, "nanosleep"},
#ifdef SYS_open
    {SYS_open, "open"},
#endif
    {SYS_openat, "openat"},
#ifdef SYS_pause
    {SYS_pause, "pause"},
#endif
#ifdef SYS_poll
    {SYS_poll, "poll"},
#endif
    {SYS_ppoll, "ppoll"},
    {SYS_pread64, "pread64"},
    {SYS_preadv, "preadv"},
    {SYS_preadv2, "preadv2"},
    {SYS_pselect6, "pselect6"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_pwritev, "pwritev"},
    {SYS_pwritev2, "pwritev2"},
    {SYS_read, "read"},
    {SYS_readv, "readv"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmmsg, "recvmmsg"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
#ifdef SYS_select
    {SYS_select, "select"},
#endif
    {SYS_semop, "semop"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_sendfile, "sendfile"},
    {SYS_sendmmsg, "sendmmsg"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_sendto, "sendto"},
    {SYS_splice, "splice"},
    {SYS_sync, "sync"},
    {SYS_sync_file_range, "sync_file_range"},
    {SYS_syncfs, "syncfs"},
    {SYS_tee, "tee"},
    {SYS_vmsplice, "vmsplice"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_write, "write"},
    {SYS_writev, "writev"},
};

const char *os_call_name(long number) {
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (calls[i].number == number) return calls[i].name;
  return NULL;
}
