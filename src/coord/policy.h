/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file policy.h
 * How the CPUs of one machine are divided between programs: a pure function.
 *
 * The central monitor of TMPI-2 (Shen, Tang and Yang 1999, section 3) "decides how to partition
 * processors among applications". This is that decision, without clocks, sockets or memory of its
 * own, so that tests can run it on any history (tests/coord/policy.py).
 *
 * Two levels, each by weighted max-min fairness: first users share the CPUs, then the programs of
 * each user share what the user got. What one cannot use goes to the others.
 *
 * Properties:
 *   bounded          shares add up to the CPUs at most
 *   never starved    a program gets at least one VP; where programs outnumber the CPUs of their
 *                    user, each runs one VP and the kernel shares the CPUs between them
 *   work-conserving  shares of hungry programs add up to all CPUs, or each gets what it asks for
 *   settled          the same programs get the same answer again
 *   placed           programs that need not share a CPU with another get CPUs of their own
 *
 * CPUs that nobody asks for are granted in advance to the programs that could use them, so that a
 * program with the machine to itself never has to ask.
 *
 * Rejected: proportional shares (not work-conserving); gang scheduling, which stops whole programs
 * in turn (a stopped program holds its locks, and the paper cites better response without it);
 * fewer CPUs beside load of programs that are not registered: the kernel divides CPUs between
 * kernel threads, so registered programs have given way to that load already by having few.
 */
#ifndef MT_COORD_POLICY_H
#define MT_COORD_POLICY_H

#include <stdint.h>

enum { MT_POLICY_CPUS_MAX = 4096, MT_POLICY_WEIGHT_MAX = 1000 };

/** One program, as the policy sees it. */
struct mt_policy_program {
  uint32_t user;   /**< programs of one user share that user's part */
  uint32_t weight; /**< 1 to MT_POLICY_WEIGHT_MAX, relative to other programs of the user */
  uint32_t most;   /**< VPs that it can run at most; at least 1 */
  uint32_t demand; /**< VPs that it could keep busy now; 0: idle; more than most counts as most */

  uint32_t granted; /**< in: VPs it was granted before, 0: none yet; out: VPs it may run */
  uint32_t share;   /**< in: before, 0: none; out: thousandths of a CPU that it is entitled to,
                         0 when idle */
  uint32_t first;   /**< out: its CPUs are this one, counted from 1, and the granted - 1 after it;
                         0: any, for it shares them, or has spare ones */
};

/**
 * Divides CPUs between programs.
 * Does not block and calls nothing but malloc(). Any thread.
 * @param cpus how many there are, 1 to MT_POLICY_CPUS_MAX
 * @return 0, EINVAL when a number is out of range, or ENOMEM; on error grants stay as they were.
 */
int mt_policy_divide(uint32_t cpus, struct mt_policy_program *programs, uint32_t count);

#endif
