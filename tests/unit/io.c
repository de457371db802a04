/* SPDX-License-Identifier: Apache-2.0 */
/* Input and output for every kind of thread: data arrives whole, a wait ends for each of its
 * reasons, and only the caller waits. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <mltp/io.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/byte.h"
#include "support/support.h"

#define MS 1000000ull

/* ---- data */

enum { MUCH = 1 << 20 };

static unsigned char byte_at(size_t i) { return (unsigned char)(i * 7 + i / 251); }

/* More than a socket takes at once, in parts of odd sizes. */
static void *write_much(void *p0) {
  int fd = *(int *)p0;
  unsigned char *data = malloc(MUCH);
  for (size_t i = 0; i < MUCH; i++) data[i] = byte_at(i);
  struct iovec parts[3] = {{data, 1}, {data + 1, MUCH / 2}, {data + 1 + MUCH / 2, 0}};
  size_t count, rest = (size_t)MUCH / 2 + 1;
  CHECK_EQUAL(mltp_io_writev(fd, parts, 3, &count), 0);
  CHECK_EQUAL(count, rest);
  CHECK_EQUAL(mltp_io_write(fd, data + rest, MUCH - rest, NULL), 0);
  free(data);
  return NULL;
}

static void *read_much(void *p0) {
  int fd = *(int *)p0;
  unsigned char some[1000];
  size_t total = 0, wrong = 0, count;
  while (total < MUCH) {
    struct iovec parts[2] = {{some, 100}, {some + 100, sizeof some - 100}};
    int error = total % 2 ? mltp_io_read(fd, some, sizeof some, &count)
                          : mltp_io_readv(fd, parts, 2, &count);
    CHECK_EQUAL(error, 0);
    if (error != 0 || count == 0) break;
    for (size_t i = 0; i < count; i++) wrong += some[i] != byte_at(total + i);
    total += count;
  }
  CHECK_EQUAL(total, MUCH);
  CHECK_EQUAL(wrong, 0);
  return NULL;
}

static void mltp_io_moves_all_bytes(void) {
  for (int kind = 0; kind < MIXED; kind++)
    for (int socket = 0; socket < 2; socket++) {
      check_case("%s, %s", kind_names[kind], socket ? "socket" : "pipe");
      int ends[2];
      CHECK_EQUAL(socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), 0);
      struct worker reader, writer;
      worker_start(&reader, (enum kind)kind, read_much, &ends[0]);
      worker_start(&writer, (enum kind)kind, write_much, &ends[1]);
      worker_join(&writer);
      worker_join(&reader);
      close_both(ends);
    }
}

static void mltp_io_read_returns_0_at_the_end(void) {
  int ends[2];
  char byte;
  size_t count = 1;
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(mltp_io_close(ends[1]), 0);
  CHECK_EQUAL(mltp_io_read(ends[0], &byte, 1, &count), 0);
  CHECK_EQUAL(count, 0);
  CHECK_EQUAL(mltp_io_close(ends[0]), 0);
  CHECK_EQUAL(mltp_io_close(ends[0]), EBADF);
  CHECK_EQUAL(mltp_io_read(ends[0], &byte, 1, &count), EBADF);
  CHECK_EQUAL(mltp_io_read(-1, &byte, 1, &count), EBADF);
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  CHECK_EQUAL(mltp_io_close(ends[1]), 0);
  CHECK_EQUAL(mltp_io_write(ends[0], "x", 1, &count), EPIPE);
  CHECK_EQUAL(mltp_io_close(ends[0]), 0);
}

/* ---- only the caller waits */

/* On one VP: the writer runs although the reader waits. */
static void mltp_io_read_blocks_only_its_thread(void) {
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  mltp_t *reader = spawn(read_one, &ends[0]);
  for (int i = 0; i < 10; i++) mltp_yield();
  CHECK_EQUAL(mltp_join_try(reader, NULL), EBUSY);
  CHECK_EQUAL(mltp_io_write(ends[1], "x", 1, NULL), 0);
  CHECK_EQUAL(mltp_join(reader, NULL), 0);
  close_both(ends);
}

static atomic_int done;

static void *read_and_count(void *p0) {
  read_one(p0);
  atomic_fetch_add(&done, 1);
  return NULL;
}

/* VPs that always have a thread to run look for events, too. */
static void mltp_io_events_arrive_while_threads_yield(void) {
  int ends[2];
  atomic_store(&done, 0);
  CHECK_EQUAL(pipe(ends), 0);
  mltp_t *reader = spawn(read_and_count, &ends[0]);
  mltp_sleep(2 * MS);
  CHECK_EQUAL(mltp_io_write(ends[1], "x", 1, NULL), 0);
  while (atomic_load(&done) == 0) mltp_yield(); /* else this hangs */
  CHECK_EQUAL(mltp_join(reader, NULL), 0);
  close_both(ends);
}

/* Every VP sleeps; what wakes them comes from outside. */
static void mltp_io_read_is_no_deadlock(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    int ends[2];
    pthread_t outside;
    struct worker reader;
    CHECK_EQUAL(pipe(ends), 0);
    worker_start(&reader, (enum kind)kind, read_one, &ends[0]);
    CHECK_EQUAL(pthread_create(&outside, NULL, write_late, &ends[1]), 0);
    worker_join(&reader);
    CHECK_EQUAL(pthread_join(outside, NULL), 0);
    close_both(ends);
  }
}

/* ---- ends of a wait */

static void *read_timed(void *p0) {
  char byte;
  size_t count = 7;
  uint64_t deadline = mltp_after(3 * MS);
  CHECK_EQUAL(mltp_io_read_timed(*(int *)p0, &byte, 1, &count, deadline), ETIMEDOUT);
  CHECK_EQUAL(count, 0);
  CHECK(mltp_now() >= deadline);
  CHECK_EQUAL(mltp_io_read_timed(*(int *)p0, &byte, 1, &count, 0), ETIMEDOUT);
  return NULL;
}

static void mltp_io_read_timed_times_out_and_not_early(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    workers_run(3, (enum kind)kind, read_timed, &ends[0]);
    close_both(ends);
  }
}

struct expectation {
  int fd, error;
};

static void *read_in_vain(void *p0) {
  const struct expectation *expected = p0;
  char byte;
  size_t count;
  CHECK_EQUAL(mltp_io_read(expected->fd, &byte, 1, &count), expected->error);
  return NULL;
}

static void mltp_cancel_ends_a_read(void) {
  for (int bound = 0; bound < 2; bound++) {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    struct expectation expected = {ends[0], ECANCELED};
    mltp_t *reader = (bound ? spawn_bound : spawn)(read_in_vain, &expected);
    mltp_sleep(2 * MS);
    CHECK_EQUAL(mltp_cancel(reader), 0);
    CHECK_EQUAL(mltp_join(reader, NULL), 0);
    close_both(ends);
  }
}

/* @return whether the number stands for that file: another kernel thread may use it again. */
static int is_open(int fd, const struct stat *file) {
  struct stat now;
  return fstat(fd, &now) == 0 && now.st_dev == file->st_dev && now.st_ino == file->st_ino;
}

/* Its number may be used again at once. */
static void mltp_io_close_wakes_waiters(void) {
  enum { WAITERS = 5 };
  for (int round = 0; round < scaled(50); round++) {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    struct expectation expected = {ends[0], EBADF};
    struct stat pipe_file;
    CHECK_EQUAL(fstat(ends[1], &pipe_file), 0);
    struct worker readers[WAITERS];
    for (int i = 0; i < WAITERS; i++)
      worker_start(&readers[i], (enum kind)(i % MIXED), read_in_vain, &expected);
    mltp_sleep(round % 3 * MS / 2);
    CHECK_EQUAL(mltp_io_close(ends[0]), 0);
    for (int i = 0; i < WAITERS; i++) worker_join(&readers[i]);
    CHECK(!is_open(ends[0], &pipe_file));
    CHECK_EQUAL(mltp_io_close(ends[1]), 0);
  }
  mltp_io_read_blocks_only_its_thread();
}

/* ---- connections */

enum { CLIENTS = 24, ROUNDS = 20 };

static struct {
  int listener;
  struct sockaddr_in address;
} server;

static void *echo(void *p0) {
  int fd = (int)(intptr_t)p0;
  char data[512];
  size_t count;
  while (mltp_io_read(fd, data, sizeof data, &count) == 0 && count != 0)
    CHECK_EQUAL(mltp_io_write(fd, data, count, NULL), 0);
  CHECK_EQUAL(mltp_io_close(fd), 0);
  return NULL;
}

static void *serve(void *p0) {
  mltp_t *threads[CLIENTS];
  (void)p0;
  for (int i = 0; i < CLIENTS; i++) {
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    int connection = -1;
    CHECK_EQUAL(mltp_io_accept(server.listener, (struct sockaddr *)&peer, &length, &connection), 0);
    CHECK_EQUAL(peer.sin_family, AF_INET);
    threads[i] = spawn(echo, (void *)(intptr_t)connection);
  }
  for (int i = 0; i < CLIENTS; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
  return NULL;
}

static void *call_server(void *p0) {
  (void)p0;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK_EQUAL(mltp_io_connect(fd, (struct sockaddr *)&server.address, sizeof server.address), 0);
  for (int i = 0; i < ROUNDS; i++) {
    char out[300], in[300] = "";
    size_t got = 0, count = 1;
    memset(out, 'a' + (fd + i) % 26, sizeof out);
    CHECK_EQUAL(mltp_io_send(fd, out, sizeof out, 0, NULL), 0);
    while (got < sizeof in && count != 0) {
      if (mltp_io_recv(fd, in + got, sizeof in - got, 0, &count) != 0) break;
      got += count;
    }
    CHECK_EQUAL(memcmp(in, out, sizeof in), 0);
  }
  CHECK_EQUAL(mltp_io_close(fd), 0);
  return NULL;
}

static int new_socket(int domain) {
  int fd = socket(domain, SOCK_STREAM, 0);
  if (fd >= 0) return fd;
  perror("io.c: no socket");
  exit(1);
}

static void listen_on_loopback(void) {
  socklen_t length = sizeof server.address;
  server.address = (struct sockaddr_in){.sin_family = AF_INET};
  server.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  server.listener = new_socket(AF_INET);
  CHECK_EQUAL(bind(server.listener, (struct sockaddr *)&server.address, length), 0);
  CHECK_EQUAL(getsockname(server.listener, (struct sockaddr *)&server.address, &length), 0);
  CHECK_EQUAL(listen(server.listener, CLIENTS), 0);
}

static void mltp_io_serves_connections(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    listen_on_loopback();
    mltp_t *acceptor = spawn(serve, NULL);
    workers_run(CLIENTS, (enum kind)kind, call_server, NULL);
    CHECK_EQUAL(mltp_join(acceptor, NULL), 0);
    CHECK_EQUAL(mltp_io_close(server.listener), 0);
  }
}

/* Two bytes, and the end at once: the kernel may report all of it together. */
static void *send_and_close(void *p0) {
  int fd = *(int *)p0;
  for (int i = 0; i < 2; i++) {
    mltp_sleep(MS / 10);
    CHECK_EQUAL(mltp_io_send(fd, "x", 1, 0, NULL), 0);
  }
  CHECK_EQUAL(mltp_io_close(fd), 0);
  return NULL;
}

/* A read that took less than its room leaves the connection empty, unless it has ended. */
static void mltp_io_read_sees_an_end_behind_data(void) {
  listen_on_loopback();
  for (int round = 0; round < scaled(100); round++) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), connection = -1, bytes = 0;
    char data[16];
    size_t count = 1;
    CHECK_EQUAL(mltp_io_connect(fd, (struct sockaddr *)&server.address, sizeof server.address), 0);
    CHECK_EQUAL(mltp_io_accept(server.listener, NULL, NULL, &connection), 0);
    mltp_t *sender = spawn(send_and_close, &fd);
    while (count != 0 && mltp_io_read(connection, data, sizeof data, &count) == 0)
      bytes += (int)count;
    CHECK_EQUAL(bytes, 2);
    CHECK_EQUAL(mltp_join(sender, NULL), 0);
    CHECK_EQUAL(mltp_io_close(connection), 0);
  }
  CHECK_EQUAL(mltp_io_close(server.listener), 0);
}

static void mltp_io_connect_says_why_not(void) {
  listen_on_loopback();
  CHECK_EQUAL(mltp_io_close(server.listener), 0);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK_EQUAL(mltp_io_connect(fd, (struct sockaddr *)&server.address, sizeof server.address),
              ECONNREFUSED);
  CHECK_EQUAL(mltp_io_close(fd), 0);
}

static void mltp_io_connect_does_not_wait_for_a_full_queue(void) {
  enum { MOST = 64 };
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fds[MOST], count = 0, error = 0, listener = new_socket(AF_UNIX);
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "mltp-io-%d", getpid());
  CHECK_EQUAL(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
  CHECK_EQUAL(listen(listener, 1), 0);
  while (error == 0 && count < MOST) {
    fds[count] = socket(AF_UNIX, SOCK_STREAM, 0);
    error = mltp_io_connect(fds[count++], (struct sockaddr *)&address, sizeof address);
  }
  CHECK_EQUAL(error, EAGAIN);
  while (count > 0) CHECK_EQUAL(mltp_io_close(fds[--count]), 0);
  CHECK_EQUAL(mltp_io_close(listener), 0);
}

static void mltp_io_accept_timed_times_out(void) {
  int connection = -1;
  listen_on_loopback();
  CHECK_EQUAL(mltp_io_accept_timed(server.listener, NULL, NULL, &connection, mltp_after(2 * MS)),
              ETIMEDOUT);
  CHECK_EQUAL(connection, -1);
  CHECK_EQUAL(mltp_io_close(server.listener), 0);
}

/* A message keeps its bounds and its descriptor. */
static void mltp_io_sendmsg_passes_messages(void) {
  int ends[2], pipe_ends[2];
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control = {{0}}, got = {{0}};
  char in[8];
  size_t count;
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
  CHECK_EQUAL(pipe(pipe_ends), 0);
  struct iovec out = {(void *)(uintptr_t)"abc", 3}, into = {in, sizeof in};
  struct msghdr sent = {.msg_iov = &out,
                        .msg_iovlen = 1,
                        .msg_control = control.bytes,
                        .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&sent);
  *header = (struct cmsghdr){
      .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
  memcpy(CMSG_DATA(header), &pipe_ends[1], sizeof(int));
  CHECK_EQUAL(mltp_io_sendmsg(ends[0], &sent, 0, &count), 0);
  struct msghdr message = {
      .msg_iov = &into, .msg_iovlen = 1, .msg_control = got.bytes, .msg_controllen = sizeof got};
  CHECK_EQUAL(mltp_io_recvmsg(ends[1], &message, 0, &count), 0);
  CHECK_EQUAL(count, 3);
  int passed = -1;
  if (CMSG_FIRSTHDR(&message) != NULL)
    memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof passed);
  CHECK(passed >= 0);
  CHECK_EQUAL(mltp_io_recvmsg_timed(ends[1], &message, 0, &count, mltp_after(MS)), ETIMEDOUT);
  CHECK_EQUAL(mltp_io_close(passed), 0);
  close_both(ends);
  close_both(pipe_ends);
}

/* ---- readiness of several */

enum { PIPES = 12 };

static void *write_to_some(void *p0) {
  int(*pipes)[2] = p0;
  for (int i = 0; i < PIPES; i++) {
    mltp_sleep(MS / 4);
    CHECK_EQUAL(mltp_io_write(pipes[i * 5 % PIPES][1], "x", 1, NULL), 0);
  }
  return NULL;
}

static void mltp_io_poll_sees_every_descriptor(void) {
  int pipes[PIPES][2], ready, total = 0;
  struct pollfd fds[PIPES];
  for (int i = 0; i < PIPES; i++) {
    CHECK_EQUAL(pipe(pipes[i]), 0);
    fds[i] = (struct pollfd){.fd = pipes[i][0], .events = POLLIN};
  }
  CHECK_EQUAL(mltp_io_poll_timed(fds, PIPES, &ready, 0), ETIMEDOUT);
  CHECK_EQUAL(mltp_io_poll_timed(fds, PIPES, &ready, mltp_after(2 * MS)), ETIMEDOUT);
  mltp_t *writer = spawn(write_to_some, pipes);
  while (total < PIPES) {
    CHECK_EQUAL(mltp_io_poll(fds, PIPES, &ready), 0);
    int seen = 0;
    for (int i = 0; i < PIPES; i++)
      if (fds[i].revents & POLLIN) {
        read_one(&fds[i].fd);
        seen++;
      }
    CHECK_EQUAL(seen, ready);
    if (seen == 0) break;
    total += seen;
  }
  CHECK_EQUAL(total, PIPES);
  CHECK_EQUAL(mltp_join(writer, NULL), 0);
  for (int i = 0; i < PIPES; i++) close_both(pipes[i]);
}

static void *poll_briefly(void *p0) {
  struct pollfd fd = {.fd = *(int *)p0, .events = POLLIN};
  int ready = 0;
  CHECK_EQUAL(mltp_io_poll_timed(&fd, 1, &ready, mltp_after(MS)), ETIMEDOUT);
  return NULL;
}

/* Threads that poll one descriptor leave in any order. */
static void mltp_io_poll_of_several_threads(void) {
  int ends[2], ready;
  CHECK_EQUAL(pipe(ends), 0);
  mltp_t *first = spawn(poll_briefly, &ends[0]);
  mltp_t *second = spawn(poll_briefly, &ends[0]);
  mltp_yield();
  struct pollfd fd = {.fd = ends[0], .events = POLLIN};
  CHECK_EQUAL(mltp_io_poll_timed(&fd, 1, &ready, mltp_after(4 * MS)), ETIMEDOUT);
  CHECK_EQUAL(mltp_join(first, NULL), 0);
  CHECK_EQUAL(mltp_join(second, NULL), 0);
  close_both(ends);
}

static void *poll_in_vain(void *p0) {
  struct pollfd fd = {.fd = *(int *)p0, .events = POLLIN};
  int ready = 0;
  CHECK_EQUAL(mltp_io_poll(&fd, 1, &ready), 0);
  CHECK_EQUAL(ready, 1);
  CHECK_EQUAL(fd.revents, POLLNVAL);
  return NULL;
}

static void mltp_io_close_ends_a_poll(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    int ends[2];
    struct worker poller;
    CHECK_EQUAL(pipe(ends), 0);
    worker_start(&poller, (enum kind)kind, poll_in_vain, &ends[0]);
    mltp_sleep(3 * MS);
    CHECK_EQUAL(mltp_io_close(ends[0]), 0);
    worker_join(&poller);
    CHECK_EQUAL(mltp_io_close(ends[1]), 0);
  }
}

/* The kernel keeps the registration of what stays open by another number. */
static void a_number_is_the_same_file_again(void) {
  int ends[2], kept = -1;
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  for (int round = 0; round < 3; round++) {
    mltp_t *reader = spawn(read_one, &ends[0]);
    mltp_sleep(2 * MS); /* else it need not wait, and registers nothing */
    CHECK_EQUAL(mltp_io_write(ends[1], "x", 1, NULL), 0);
    CHECK_EQUAL(mltp_join(reader, NULL), 0);
    if (kept < 0) kept = dup(ends[0]);
    CHECK_EQUAL(mltp_io_close(ends[0]), 0);
    CHECK(kept >= 0 && dup2(kept, ends[0]) == ends[0]);
  }
  close(kept);
  close_both(ends);
}

/* ---- reports and processes */

static void dumps_name_the_descriptor(void) {
  int ends[2], file = memfd_create("dump", 0);
  char text[8192] = "", line[64];
  CHECK_EQUAL(pipe(ends), 0);
  mltp_t *reader = spawn(read_one, &ends[0]);
  snprintf(line, sizeof line, "waits for descriptor %d to be readable", ends[0]);
  while (strstr(text, line) == NULL) { /* else this hangs */
    mltp_sleep(MS);
    CHECK_EQUAL(lseek(file, 0, SEEK_SET), 0);
    mltp_dump(file);
    CHECK(pread(file, text, sizeof text - 1, 0) > 0);
  }
  CHECK_EQUAL(mltp_io_write(ends[1], "x", 1, NULL), 0);
  CHECK_EQUAL(mltp_join(reader, NULL), 0);
  close(file);
  close_both(ends);
}

/* The child has an instance of epoll of its own, and leaves its parent's alone. */
static void child_of_fork_does_io(void) {
  int ends[2], status = 1;
  CHECK_EQUAL(pipe(ends), 0);
  mltp_t *reader = spawn(read_one, &ends[0]);
  mltp_sleep(2 * MS);
  pid_t child = fork();
  if (child == 0) {
    /* neither ThreadSanitizer nor qemu's user mode lets a child of fork() start threads */
    if (THREAD_SANITIZED || EMULATED) _exit(0);
    if (mltp_init(0) != 0) _exit(2);
    mltp_io_read_blocks_only_its_thread();
    _exit(mltp_finalize() != 0);
  }
  mltp_blocking_begin();
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  mltp_blocking_end();
  CHECK_EQUAL(status, 0);
  CHECK_EQUAL(mltp_io_write(ends[1], "x", 1, NULL), 0);
  CHECK_EQUAL(mltp_join(reader, NULL), 0);
  close_both(ends);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_io_moves_all_bytes),
      TEST(mltp_io_read_returns_0_at_the_end),
      TEST(mltp_io_read_blocks_only_its_thread),
      TEST(mltp_io_events_arrive_while_threads_yield),
      TEST(mltp_io_read_is_no_deadlock),
      TEST(mltp_io_read_timed_times_out_and_not_early),
      TEST(mltp_cancel_ends_a_read),
      TEST(mltp_io_close_wakes_waiters),
      TEST(mltp_io_serves_connections),
      TEST(mltp_io_read_sees_an_end_behind_data),
      TEST(mltp_io_connect_says_why_not),
      TEST(mltp_io_connect_does_not_wait_for_a_full_queue),
      TEST(mltp_io_accept_timed_times_out),
      TEST(mltp_io_sendmsg_passes_messages),
      TEST(mltp_io_poll_sees_every_descriptor),
      TEST(mltp_io_poll_of_several_threads),
      TEST(mltp_io_close_ends_a_poll),
      TEST(a_number_is_the_same_file_again),
      TEST(dumps_name_the_descriptor),
      TEST(child_of_fork_does_io),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
