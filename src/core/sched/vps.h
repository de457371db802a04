/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file vps.h
 * Creating and ending virtual processors.
 */
#ifndef MT_CORE_SCHED_VPS_H
#define MT_CORE_SCHED_VPS_H

struct mt_vp;
struct os_manner;

/** Makes VP 0 of the calling kernel thread. @return 0 or ENOMEM. */
int mt_vp_first(void);

/** Starts VP 0 on a kernel thread of its own. @return 0; EAGAIN. */
int mt_vp_first_apart(void);

/** Makes one more VP, asleep. @return 0 or EAGAIN. */
int mt_vp_spawn(void);

/** The same for a caller with another manner than VPs have. */
int mt_vp_spawn_as(const struct os_manner *manner);

/** Makes VPs until there are count. @return 0 or EAGAIN. */
int mt_vp_spawn_to(int count);

/** Joins the kernel threads of all VPs but the first and frees all VPs. */
void mt_vps_free(void);

/** Reads what this kernel thread's libc and C++ runtime keep per thread. */
void mt_vp_adopt_kernel_thread(struct mt_vp *vp);

#endif
