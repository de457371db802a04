/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file proto.h
 * What a program and the daemon mltpd say to each other.
 *
 * A program connects to a Unix socket of type SOCK_SEQPACKET and sends a HELLO. The answer is a
 * WELCOME with two pages of shared memory (memfd):
 *
 *   grant   written by the daemon, sealed against every other writer: how many VPs may be active.
 *           TMPI-2 (section 3): "places the resource allocation information on a shared memory page
 *           that can be read by all the applications"; here each program has a page of its own.
 *   report  written by the program: how many VPs it could keep busy.
 *
 * Afterwards numbers travel by these pages. The socket only rings: a program sends a BELL when its
 * demand changes and the grant page asks for that (`bell`). So a program alone on the machine sends
 * nothing, and an idle daemon sleeps.
 *
 * Grants are leases: a grant below what the program would run without a daemon counts while `lease`
 * changes at least every MT_PROTO_LEASE_NS. The daemon changes it while it lives.
 *
 * An observer (`mltp ps`) sends LIST and gets one ENTRY for each program, then an END.
 *
 * Both sides run on one machine, so numbers have its byte order. A message of unknown kind,
 * version or size ends the connection.
 */
#ifndef MT_COORD_PROTO_H
#define MT_COORD_PROTO_H

#include <stdint.h>

enum {
  MT_PROTO_MAGIC = 0x4d4c5450, /* "MLTP" */
  MT_PROTO_VERSION = 1,
  MT_PROTO_NAME = 32,
  MT_PROTO_PAGE = 4096,          /**< bytes of each page, whatever the processor's pages are */
  MT_PROTO_LEASE_NS = 2000000000 /**< a grant counts that long without a renewal */
};

enum mt_proto_kind {
  MT_PROTO_HELLO = 1,
  MT_PROTO_WELCOME,
  MT_PROTO_REFUSED, /**< `error` says why */
  MT_PROTO_BELL,
  MT_PROTO_LIST,
  MT_PROTO_ENTRY,
  MT_PROTO_END
};

/** What a program is. */
enum mt_proto_role {
  MT_PROTO_LIBMLTP, /**< has VPs */
  MT_PROTO_JOBS,    /**< `mltp jobs`: a jobserver */
  MT_PROTO_TEAMS,   /**< `mltp run`: sizes of teams of OpenMP and BLAS */
  MT_PROTO_GROUP,   /**< `mltp run --cgroup`: the quota of a control group */
  MT_PROTO_ROLES
};

/** HELLO, WELCOME, REFUSED, BELL, LIST and END; what a kind has no use for is 0. */
struct mt_proto_message {
  uint32_t magic, version, kind;
  uint32_t role;   /**< HELLO: enum mt_proto_role */
  uint32_t most;   /**< HELLO: VPs it can run; WELCOME: CPUs the daemon divides; END: CPUs */
  uint32_t weight; /**< HELLO: relative to other programs of the user */
  int32_t error;   /**< REFUSED: a positive errno */
  char name[MT_PROTO_NAME]; /**< HELLO: of the program, ends with a zero */
};

/** ENTRY: one program. */
struct mt_proto_entry {
  uint32_t magic, version, kind;
  int32_t pid;
  uint32_t uid;
  uint32_t role;
  uint32_t most, demand, active, granted, share; /**< as in mt_policy_program; VPs active now */
  uint64_t switches;                             /**< scheduling points since it joined */
  uint64_t since;                                /**< when it joined, CLOCK_MONOTONIC ns */
  char name[MT_PROTO_NAME];
};

/** Bits of `bell`: what the daemon wants to hear of. */
enum {
  MT_BELL_MORE = 1, /**< the program could use more than before */
  MT_BELL_LESS = 2  /**< the program needs less than before */
};

/** The page that the daemon writes. */
struct mt_grant {
  uint32_t granted; /**< [atomic] VPs that may be active; the word that a scheduling point reads */
  uint32_t share;   /**< [atomic] thousandths of a CPU */
  uint64_t lease;   /**< [atomic] until when, by the daemon's CLOCK_MONOTONIC; another number at
                         each renewal */
  uint32_t first;   /**< [atomic] as in mt_policy_program, of the CPUs that the daemon divides; a
                         hint, which a program with another affinity mask reads as its own CPUs */
};

/** The page that the program writes. The daemon believes nothing in it beyond its own limits. */
struct mt_report {
  uint32_t demand; /**< [atomic] VPs it could keep busy */
  uint32_t active; /**< [atomic] VPs that are awake */
  uint32_t bell;   /**< [atomic] MT_BELL_*: set by the daemon, cleared by the program that rings */
  uint64_t switches; /**< [atomic] scheduling points so far */
};

#endif
