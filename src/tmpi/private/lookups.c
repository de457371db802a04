/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that look something up and leave it in a variable of libc's: users, groups, hosts,
 * services, terminals, addresses as text. And lgamma(), which leaves the sign in signgam.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <netdb.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* What the texts of a result lie in; it grows. */
struct buffer {
  char *text;
  size_t size;
};

enum { FIRST = 1024 /* bytes, enough for most results */, NOT_TRIED = -1 };

/* Called before each try. error: of the try before, which is made again in a larger buffer where
 * its result did not fit; ENOMEM: there is none. @return whether to try. */
static bool has_room(struct buffer *buffer, int *error) {
  if (*error == NOT_TRIED && buffer->size > 0) return true;
  if (*error != NOT_TRIED && *error != ERANGE) return false;
  size_t size = buffer->size == 0 ? FIRST : 2 * buffer->size;
  char *larger = realloc(buffer->text, size);
  if (larger == NULL) {
    *error = ENOMEM;
    return false;
  }
  *buffer = (struct buffer){larger, size};
  return true;
}

/* ---- users and groups */

static struct passwd user;
static struct buffer user_text;
static struct group group;
static struct buffer group_text;

struct passwd *getpwnam(const char *name) {
  struct passwd *found = NULL;
  int error = NOT_TRIED;
  while (has_room(&user_text, &error))
    error = getpwnam_r(name, &user, user_text.text, user_text.size, &found);
  if (error != 0) errno = error;
  return found;
}

struct passwd *getpwuid(uid_t id) {
  struct passwd *found = NULL;
  int error = NOT_TRIED;
  while (has_room(&user_text, &error))
    error = getpwuid_r(id, &user, user_text.text, user_text.size, &found);
  if (error != 0) errno = error;
  return found;
}

struct group *getgrnam(const char *name) {
  struct group *found = NULL;
  int error = NOT_TRIED;
  while (has_room(&group_text, &error))
    error = getgrnam_r(name, &group, group_text.text, group_text.size, &found);
  if (error != 0) errno = error;
  return found;
}

struct group *getgrgid(gid_t id) {
  struct group *found = NULL;
  int error = NOT_TRIED;
  while (has_room(&group_text, &error))
    error = getgrgid_r(id, &group, group_text.text, group_text.size, &found);
  if (error != 0) errno = error;
  return found;
}

/* ---- hosts and services */

static struct hostent host;
static struct buffer host_text;
static struct servent service;
static struct buffer service_text;

struct hostent *gethostbyname(const char *name) {
  struct hostent *found = NULL;
  int h_error = NETDB_INTERNAL; /* no memory */
  int error = NOT_TRIED;
  while (has_room(&host_text, &error))
    error = gethostbyname_r(name, &host, host_text.text, host_text.size, &found, &h_error);
  if (found == NULL) h_errno = h_error;
  return found;
}

struct hostent *gethostbyaddr(const void *address, socklen_t size, int family) {
  struct hostent *found = NULL;
  int h_error = NETDB_INTERNAL; /* no memory */
  int error = NOT_TRIED;
  while (has_room(&host_text, &error))
    error = gethostbyaddr_r(address, size, family, &host, host_text.text, host_text.size, &found,
                            &h_error);
  if (found == NULL) h_errno = h_error;
  return found;
}

struct servent *getservbyname(const char *name, const char *protocol) {
  struct servent *found = NULL;
  int error = NOT_TRIED;
  while (has_room(&service_text, &error))
    error = getservbyname_r(name, protocol, &service, service_text.text, service_text.size, &found);
  return found;
}

struct servent *getservbyport(int port, const char *protocol) {
  struct servent *found = NULL;
  int error = NOT_TRIED;
  while (has_room(&service_text, &error))
    error = getservbyport_r(port, protocol, &service, service_text.text, service_text.size, &found);
  return found;
}

char *inet_ntoa(struct in_addr address) {
  static char text[INET_ADDRSTRLEN];
  return (char *)(uintptr_t)inet_ntop(AF_INET, &address, text, sizeof text);
}

/* ---- terminals */

char *ttyname(int fd) {
  static struct buffer name;
  int error = NOT_TRIED;
  while (has_room(&name, &error)) error = ttyname_r(fd, name.text, name.size);
  if (error == 0) return name.text;
  errno = error;
  return NULL;
}

/* ---- the gamma function: a program that calls it has libm, others need not */

#pragma weak lgamma_r
#pragma weak lgammaf_r
#pragma weak lgammal_r

int signgam;

double lgamma(double x) { return lgamma_r(x, &signgam); }
float lgammaf(float x) { return lgammaf_r(x, &signgam); }
long double lgammal(long double x) { return lgammal_r(x, &signgam); }
