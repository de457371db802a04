/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file daemon.h
 * The daemon mltpd: one loop, one kernel thread. proto.h has what it says to programs, policy.h how
 * it decides.
 *
 * It sleeps until a program joins, leaves or rings. Only while a program is held below what it
 * could use, or is silent, does it wake up by itself, to renew leases and to see which programs
 * compute.
 *
 *   socket.c   the listening socket: systemd's, or its own
 *   clients.c  one program: HELLO, pages, bells, limits
 *   round.c    reads demands, divides, publishes grants
 *   list.c     what `mltp ps` gets
 *   main.c     command line, the loop
 */
#ifndef TOOLS_MLTPD_DAEMON_H
#define TOOLS_MLTPD_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "coord/policy.h"
#include "coord/proto.h"

enum {
  ROUND_NS = 4000000,     /* bells of one program are heard that often; falls count after that */
  RENEW_NS = 500000000,   /* between two renewals of leases */
  USE_LEAST = 100,        /* a program that computes for less than this part of a time is silent */
  BELLS_MAX = 2000,       /* a program that rings more often in a second is cut off */
  SPARE_DESCRIPTORS = 64, /* never used for programs */
};

/** A connection; a program once it has sent HELLO. */
struct client {
  uint32_t slot;   /* where it is in the table */
  uint32_t number; /* of the connection: an event of an older one in this slot is not for it */
  int socket;
  int process; /* pidfd; -1: the kernel has none */
  pid_t pid;
  uid_t uid;
  bool joined;
  uint32_t role;
  char name[MT_PROTO_NAME];
  uint64_t since;
  struct mt_grant *grant;
  struct mt_report *report;
  uint32_t asked; /* VPs it would run without us */
  uint32_t most, weight;
  uint32_t demand;    /* the input of the policy */
  uint64_t low_since; /* its report has been below that since then; 0: it is not */
  uint32_t granted, share;
  uint32_t bells;   /* in this window */
  uint64_t window;  /* when it began */
  bool silent;      /* says that it could use CPUs, and does not compute */
  uint64_t used;    /* CPU time of its process, as read last */
  uint64_t used_at; /* when that was; 0: not read */
};

struct daemon {
  int epoll, listener, timer, signals;
  uint32_t cpus;
  bool any_user; /* programs of other users may join */
  uint32_t per_user, clients_max;
  struct client **clients;            /* clients_max slots; NULL: free */
  uint32_t count, slots;              /* in use; beyond slots all are free */
  uint64_t round_at, renew_at;        /* when the loop has to look; UINT64_MAX: not by itself */
  struct mt_policy_program *programs; /* room for clients_max */
  uint32_t connections;               /* so far */
  uint64_t refused_at;                /* when a message about that was written; 0: never */
};

/** A line on stderr: mltpd: what failed: why (what to do). */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t clock_now(void);

/* ---- socket.c */

/** @param path where to listen, unless systemd has passed a socket.
 * @return a listening descriptor, or -1 after a message. */
int listen_at(const char *path, bool any_user, bool *activated);

/** @param path shorter than a socket's name may be. @return whether a daemon listens there. */
bool listens_at(const char *path);

/* ---- clients.c */

/** Accepts all that wait. */
void clients_accept(struct daemon *d);
/** Something happened on a client's socket or process: event is epoll's number of it. */
void client_event(struct daemon *d, uint64_t event, uint32_t events);
/** A program has shown that it is not silent. */
void client_lives(struct client *c);
/** Ends a connection; its share is free. */
void client_drop(struct daemon *d, struct client *c);

/* ---- round.c */

/** Reads all demands, divides, publishes. */
void round_run(struct daemon *d, uint64_t now);
/** The timer went off: bells may ring again. */
void round_timer(struct daemon *d, uint64_t now);
/** Sets the timer for what is due next. */
void round_plan(struct daemon *d, uint64_t now);

/* ---- list.c */

/** Answers LIST: some entries from a slot on, then END, which says where to continue. @return
 * false: the observer does not read. */
bool list_send(struct daemon *d, int socket, uint32_t from);

#endif
