/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank looks up (src/tmpi/private/lookups.c) where libc's functions refuse, or memory is
 * short. mpi.as_libc compares the results.
 */
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "counted_realloc.h"

/* ---- libc's functions: each try */

static size_t wanted;   /* bytes of a result */
static int wrong;       /* what a try with enough room returns */
static bool is_there;   /* what is looked for */
static int host_error;  /* of a host that is not there */
static size_t rooms[8]; /* of the tries */
static int tries;

static int answer(size_t room, void *value, void **found) {
  rooms[tries++] = room;
  *found = is_there && wrong == 0 && room >= wanted ? value : NULL;
  return room < wanted ? ERANGE : wrong;
}

#define ANSWER(value)                                                                              \
  void *what;                                                                                      \
  int error = answer(size, value, &what);                                                          \
  *found = what;                                                                                   \
  return error

int getpwnam_r(const char *name, struct passwd *user, char *text, size_t size,
               struct passwd **found) {
  assert_string_equal(name, "name");
  assert_non_null(text);
  ANSWER(user);
}

int getpwuid_r(uid_t id, struct passwd *user, char *text, size_t size, struct passwd **found) {
  assert_int_equal(id, 5);
  assert_non_null(text);
  ANSWER(user);
}

int getgrnam_r(const char *name, struct group *group, char *text, size_t size,
               struct group **found) {
  assert_string_equal(name, "name");
  assert_non_null(text);
  ANSWER(group);
}

int getgrgid_r(gid_t id, struct group *group, char *text, size_t size, struct group **found) {
  assert_int_equal(id, 5);
  assert_non_null(text);
  ANSWER(group);
}

int gethostbyname_r(const char *name, struct hostent *host, char *text, size_t size,
                    struct hostent **found, int *host_wrong) {
  assert_string_equal(name, "name");
  assert_non_null(text);
  *host_wrong = host_error;
  ANSWER(host);
}

int gethostbyaddr_r(const void *address, socklen_t length, int family, struct hostent *host,
                    char *text, size_t size, struct hostent **found, int *host_wrong) {
  assert_string_equal(address, "adr");
  assert_true(length == 4 && family == AF_INET && text != NULL);
  *host_wrong = host_error;
  ANSWER(host);
}

int getservbyname_r(const char *name, const char *protocol, struct servent *service, char *text,
                    size_t size, struct servent **found) {
  assert_string_equal(name, "name");
  assert_string_equal(protocol, "tcp");
  assert_non_null(text);
  ANSWER(service);
}

int getservbyport_r(int port, const char *protocol, struct servent *service, char *text,
                    size_t size, struct servent **found) {
  assert_int_equal(port, 5);
  assert_string_equal(protocol, "tcp");
  assert_non_null(text);
  ANSWER(service);
}

int ttyname_r(int fd, char *text, size_t size) {
  void *found;
  assert_int_equal(fd, 5);
  int error = answer(size, text, &found);
  return error == 0 && found == NULL ? ENOTTY : error;
}

/* ---- the lookups */

static const void *user_by_name(void) { return getpwnam("name"); }
static const void *user_by_number(void) { return getpwuid(5); }
static const void *group_by_name(void) { return getgrnam("name"); }
static const void *group_by_number(void) { return getgrgid(5); }
static const void *host_by_name(void) { return gethostbyname("name"); }
static const void *host_by_address(void) { return gethostbyaddr("adr", 4, AF_INET); }
static const void *service_by_name(void) { return getservbyname("name", "tcp"); }
static const void *service_by_port(void) { return getservbyport(5, "tcp"); }
static const void *terminal(void) { return ttyname(5); }

static const struct lookup {
  const void *(*look)(void);
  bool has_buffer; /* the one before has the same buffer */
  bool sets_errno;
  bool is_of_host;
} lookups[] = {{user_by_name, false, true, false},     {user_by_number, true, true, false},
               {group_by_name, false, true, false},    {group_by_number, true, true, false},
               {host_by_name, false, false, true},     {host_by_address, true, false, true},
               {service_by_name, false, false, false}, {service_by_port, true, false, false},
               {terminal, false, true, false}};

enum { COUNT = sizeof lookups / sizeof lookups[0], KEPT = 77 /* an errno value of before */ };

static const void *look(const struct lookup *lookup, bool there, size_t bytes, int error) {
  tries = 0;
  is_there = there;
  wanted = bytes;
  wrong = error;
  host_error = there ? NETDB_SUCCESS : bytes > 3000 ? NETDB_INTERNAL : HOST_NOT_FOUND;
  errno = h_errno = KEPT;
  return lookup->look();
}

static void check_codes(const struct lookup *lookup, int error, int error_of_host) {
  assert_int_equal(errno, lookup->sets_errno ? error : KEPT);
  assert_int_equal(h_errno, lookup->is_of_host ? error_of_host : KEPT);
}

/* ---- tests, in this order: buffers stay as large as they became */

static void without_memory_nothing_is_tried(void **state) {
  (void)state;
  memory_is_out = true;
  for (int i = 0; i < COUNT; i++) {
    assert_null(look(&lookups[i], true, 1, 0));
    assert_int_equal(tries, 0);
    check_codes(&lookups[i], ENOMEM, NETDB_INTERNAL);
  }
  memory_is_out = false;
}

static void a_result_for_which_there_is_no_memory_is_not_found(void **state) {
  (void)state;
  for (int i = 0; i < COUNT; i++) {
    allocations_left = lookups[i].has_buffer ? 0 : 1;
    assert_null(look(&lookups[i], false, 3001, 0));
    assert_int_equal(tries, 1);
    assert_int_equal(rooms[0], 1024);
    check_codes(&lookups[i], ENOMEM, NETDB_INTERNAL);
  }
  allocations_left = -1;
}

static void a_buffer_doubles_until_the_result_fits(void **state) {
  (void)state;
  for (int i = 0; i < COUNT; i++) {
    assert_non_null(look(&lookups[i], true, 4096, 0));
    assert_int_equal(tries, lookups[i].has_buffer ? 1 : 3);
    assert_int_equal(rooms[0], lookups[i].has_buffer ? 4096 : 1024);
    assert_int_equal(rooms[tries - 1], 4096);
    check_codes(&lookups[i], KEPT, KEPT);
  }
}

static void a_large_buffer_is_used_again(void **state) {
  (void)state;
  memory_is_out = true;
  for (int i = 0; i < COUNT; i++) {
    assert_non_null(look(&lookups[i], true, 1, 0));
    assert_int_equal(tries, 1);
    assert_int_equal(rooms[0], 4096);
  }
  memory_is_out = false;
}

static void what_is_not_there_is_no_error_but_of_hosts_and_terminals(void **state) {
  (void)state;
  for (int i = 0; i < COUNT; i++) {
    assert_null(look(&lookups[i], false, 1, 0));
    check_codes(&lookups[i], lookups[i].look == terminal ? ENOTTY : KEPT, HOST_NOT_FOUND);
  }
}

static void an_error_is_handed_on(void **state) {
  (void)state;
  for (int i = 0; i < COUNT; i++) {
    assert_null(look(&lookups[i], false, 1, EIO));
    assert_int_equal(tries, 1);
    check_codes(&lookups[i], EIO, HOST_NOT_FOUND);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_memory_nothing_is_tried),
      cmocka_unit_test(a_result_for_which_there_is_no_memory_is_not_found),
      cmocka_unit_test(a_buffer_doubles_until_the_result_fits),
      cmocka_unit_test(a_large_buffer_is_used_again),
      cmocka_unit_test(what_is_not_there_is_no_error_but_of_hosts_and_terminals),
      cmocka_unit_test(an_error_is_handed_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
