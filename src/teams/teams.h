/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file teams.h
 * What the parts of libmltp-teams share: the program's share of the machine, and the functions that
 * theirs stand in front of.
 */
#ifndef MT_TEAMS_TEAMS_H
#define MT_TEAMS_TEAMS_H

#include <stdbool.h>

#define EXPORT __attribute__((visibility("default")))

/** The program's code that called, of a function that the program calls. */
#define CALLER __builtin_return_address(0)

/** Begins and ends work of a team: the demand is the whole machine in between. Any thread. */
void mt_team_begin(void);
void mt_team_end(void);

/** @return whether the calling thread's work is the only work of teams. A hint: others may begin.
 */
bool mt_team_is_alone(void);

/** @return the CPUs that the program may use when it is alone. */
unsigned mt_team_most(void);
/** @return the CPUs that the program may use now. */
unsigned mt_team_grant(void);

/** @return the size of a team of OpenMP for which the program asks for a size; 0: it leaves the
 * choice to its library. Inner regions stay as they are, because their threads are part of a team
 * that has the grant. */
unsigned mt_team_size(unsigned asked, const void *caller);

/** @return the function of a name that the program would call without us. Ends the program with a
 * message if there is none. */
void *mt_team_find(const char *name, const void *caller);
/** The same. @return NULL: there is none. */
void *mt_team_find_any(const char *name, const void *caller);

#endif
