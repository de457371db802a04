/* SPDX-License-Identifier: Apache-2.0 */
/* A web server for the files of a folder: `http PORT FOLDER`, on any free port if PORT is 0. A
 * client that says nothing for ten seconds is disconnected. `http` alone only starts and ends. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <mltp/io.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECOND = 1000000000 };

/* Reads up to the empty line that ends a request. Returns false at the end of the connection. */
static int read_request(int fd, char *text, size_t size) {
  size_t used = 0, count;
  do {
    if (used + 1 == size) return 0;
    uint64_t deadline = mltp_after(10ull * SECOND);
    if (mltp_io_read_timed(fd, text + used, size - 1 - used, &count, deadline) != 0) return 0;
    if (count == 0) return 0;
    used += count;
    text[used] = '\0';
  } while (strstr(text, "\r\n\r\n") == NULL);
  return 1;
}

/* Returns false if the connection has to end. */
static int answer(int fd, const char *status, int file, size_t size) {
  char head[128];
  int length =
      snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", status, size);
  if (mltp_io_write(fd, head, (size_t)length, NULL) != 0) return 0;
  size_t sent = 0;
  return size == 0 || (mltp_io_sendfile(fd, file, NULL, size, &sent) == 0 && sent == size);
}

static int answer_get(int fd, const char *path) {
  struct stat status;
  int file;
  /* No path leads out of the folder. */
  if (strstr(path, "..") != NULL ||
      mltp_io_open(*path != '\0' ? path : ".", O_RDONLY, 0, &file) != 0)
    return answer(fd, "404 Not Found", -1, 0);
  int found = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  int goes_on = found ? answer(fd, "200 OK", file, (size_t)status.st_size)
                      : answer(fd, "404 Not Found", -1, 0);
  mltp_io_close(file);
  return goes_on;
}

static void *serve(void *arg) {
  int connection = (int)(intptr_t)arg, goes_on = 1;
  char request[4096], path[1024];
  while (goes_on && read_request(connection, request, sizeof request)) {
    int is_get = strncmp(request, "GET /", 5) == 0;
    if (!is_get || sscanf(request + 5, "%1023[^ ]", path) != 1) path[0] = '\0';
    goes_on = is_get ? answer_get(connection, path)
                     : answer(connection, "405 Method Not Allowed", -1, 0) && 0;
  }
  mltp_io_close(connection);
  return NULL;
}

int main(int count, char **arguments) {
  const mltp_attr_t detached = {.size = sizeof(mltp_attr_t), .detached = 1};
  const int port = count > 1 ? atoi(arguments[1]) : 0, on = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  socklen_t length = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0), connection;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
      listen(listener, 1024) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
      (count > 2 && chdir(arguments[2]) != 0)) {
    perror("http: cannot serve");
    return 1;
  }
  printf("http://127.0.0.1:%d/\n", ntohs(address.sin_port));
  fflush(stdout);
  if (mltp_init(0) != 0) return 1;
  while (count > 1 && mltp_io_accept(listener, NULL, NULL, &connection) == 0)
    if (mltp_create(NULL, &detached, serve, (void *)(intptr_t)connection) != 0)
      mltp_io_close(connection);
  mltp_io_close(listener);
  return mltp_finalize();
}
