/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file played.h
 * A program's side of mltpd and of make's jobserver (src/coord/client.c, jobserver.c, place.c) in a
 * program of its own: the daemon, the kernel and the clock are the test's.
 */
#ifndef TESTS_COORD_PLAYED_H
#define TESTS_COORD_PLAYED_H

#include "coord/client.c"

#include "coord/jobserver.c"
#include "coord/place.c"
#include "support/plain.h"

enum { MS = 1000000, SENT = 20, FIFO = 50, FIRST = 60, SECOND = 61 };

static struct mt_grant grant_page;
static struct mt_report report_page;

/* What the kernel and the daemon answer, and what they were asked. */
static struct {
  uint64_t now;
  int connect_errors[2], connects;
  char paths[2][MT_SOCKET_PATH];
  int send_error, sent_count;
  struct mt_proto_message sent[SENT];
  int receive_errors[2], receives, waits[2]; /* the last error counts for all that follow */
  struct mt_proto_message answer;
  size_t size;
  int fds[OS_DESCRIPTORS];
  int closed_fds[4], closed_count, sockets_closed;
  int attach_errors[2], attaches;
  int open_error, reopen_error, give_error;
  char fifo_path[200];
  int take_fd, give_fd;
  char tokens[2000];
  int token_count, tokens_taken, gives_left;
} os;

uint64_t __wrap_os_now(void);
uint64_t __wrap_os_now(void) { return os.now; }

int __wrap_os_unix_connect(const char *path, struct os_socket *to);
int __wrap_os_unix_connect(const char *path, struct os_socket *to) {
  CHECK(os.connects < 2 && client.lock == 1);
  strcpy(os.paths[os.connects], path);
  int error = os.connect_errors[os.connects++];
  if (error == 0) to->fd = 33;
  return error;
}

int __wrap_os_unix_send(const struct os_socket *to, const void *message, size_t size);
int __wrap_os_unix_send(const struct os_socket *to, const void *message, size_t size) {
  EQUAL(to->fd, 33);
  EQUAL(client.lock, 1);
  EQUAL(size, sizeof os.sent[0]);
  memcpy(&os.sent[os.sent_count++], message, size);
  return os.send_error;
}

int __wrap_os_unix_receive(const struct os_socket *from, void *message, size_t size, int wait_ms,
                           int fds[OS_DESCRIPTORS]);
int __wrap_os_unix_receive(const struct os_socket *from, void *message, size_t size, int wait_ms,
                           int fds[OS_DESCRIPTORS]) {
  EQUAL(from->fd, 33);
  EQUAL(client.lock, 1);
  os.size = size;
  int which = os.receives++ < 1 ? 0 : 1, error = os.receive_errors[which];
  os.waits[which] = wait_ms;
  CHECK(fds[0] == -1 && fds[1] == -1);
  if (error == 0 || error == EPROTO) memcpy(fds, os.fds, sizeof os.fds);
  if (error == 0) memcpy(message, &os.answer, size);
  return error;
}

void __wrap_os_unix_close(struct os_socket *s);
void __wrap_os_unix_close(struct os_socket *s) {
  CHECK(s != &client.socket || client.lock == 1);
  os.sockets_closed += s->fd >= 0;
  s->fd = -1;
}

void __wrap_os_close(int fd);
void __wrap_os_close(int fd) { os.closed_fds[os.closed_count++] = fd; }

int __wrap_os_page_attach(int fd, size_t size, bool writable, void **page);
int __wrap_os_page_attach(int fd, size_t size, bool writable, void **page) {
  EQUAL(size, 4096);
  EQUAL(fd, os.fds[os.attaches]);
  EQUAL(writable, os.attaches == 1);
  *page = writable ? (void *)&report_page : (void *)&grant_page;
  return os.attach_errors[os.attaches++];
}

void __wrap_os_program_name(char *name, size_t size);
void __wrap_os_program_name(char *name, size_t size) { snprintf(name, size, "tested"); }

int __wrap_os_fifo_open(const char *path, struct os_socket *fifo);
int __wrap_os_fifo_open(const char *path, struct os_socket *fifo) {
  snprintf(os.fifo_path, sizeof os.fifo_path, "%s", path);
  if (os.open_error == 0) fifo->fd = FIFO;
  return os.open_error;
}

int __wrap_os_fifo_reopen(int take, int give, struct os_socket *fifo);
int __wrap_os_fifo_reopen(int take, int give, struct os_socket *fifo) {
  os.take_fd = take;
  os.give_fd = give;
  if (os.reopen_error == 0) fifo->fd = FIFO;
  return os.reopen_error;
}

int __wrap_os_fifo_take(const struct os_socket *fifo, char *byte);
int __wrap_os_fifo_take(const struct os_socket *fifo, char *byte) {
  EQUAL(fifo->fd, FIFO);
  if (os.token_count == 0) return EAGAIN;
  *byte = os.tokens[--os.token_count];
  os.tokens_taken++;
  return 0;
}

int __wrap_os_fifo_give(const struct os_socket *fifo, char byte);
int __wrap_os_fifo_give(const struct os_socket *fifo, char byte) {
  EQUAL(fifo->fd, FIFO);
  if (os.give_error != 0 && os.gives_left-- == 0) return os.give_error;
  os.tokens[os.token_count++] = byte;
  return 0;
}

static struct mt_client_program program = {.role = MT_PROTO_LIBMLTP, .most = 4};

/* As at the start, with a daemon that welcomes. */
static inline void begin(void) {
  memset(&os, 0, sizeof os);
  memset(&client, 0, sizeof client);
  memset(&jobs, 0, sizeof jobs);
  memset(&grant_page, 0, sizeof grant_page);
  memset(&report_page, 0, sizeof report_page);
  client.socket.fd = jobs.pipe.fd = -1;
  client.look_at = UINT64_MAX;
  mt_client_view.granted = &any_number;
  mt_client_view.seen = UINT32_MAX;
  os.now = (uint64_t)5000 * MS;
  os.answer = message_of(MT_PROTO_WELCOME);
  os.fds[0] = FIRST;
  os.fds[1] = SECOND;
  grant_page.granted = 2;
  program.role = MT_PROTO_LIBMLTP;
  unsetenv("MAKEFLAGS");
  unsetenv("XDG_RUNTIME_DIR");
}

static inline void joined(void) {
  begin();
  EQUAL(mt_client_join("/place", &program), 0);
  EQUAL(client.state, JOINED);
}

static inline void check_off(void) {
  EQUAL(client.state, OFF);
  EQUAL(client.lock, 0);
  EQUAL(client.socket.fd, -1);
  CHECK(!mt_client_is_joined() && client.writes == NULL && client.look_at == UINT64_MAX);
  EQUAL(mt_client_follow(), UINT32_MAX);
}

#endif
