/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pack.h
 * Stacks of threads that have been parked for MLTP_PACK_MS give their pages back, and keep what is
 * not zero in them in a store (page_store.h). docs/design/042-packed-stacks.md has the figures.
 *
 * A kernel thread, the *packer*, looks at all descriptors from time to time. It moves the pages of
 * such a stack, from the topmost down to the first that is absent, out of the stack (UFFDIO_MOVE).
 * From that moment on any access to such a page waits in the kernel: by the thread itself when a VP
 * switches to it, by another thread through a pointer, or by a system call that copies. The kernel
 * reports the access to the packer (os/faults.h), which gives the page its content again.
 *
 * So nothing else knows of it. The content of a page is the same at each access, so it does not
 * matter which thread was chosen or what it does meanwhile: state, stack and time of a descriptor
 * are only hints. That a page leaves the stack in one step replaces all protocols with wakers:
 *   - an access before the step finds the page, and an access after it waits;
 *   - a page that a device writes to (O_DIRECT, RDMA) is pinned, and the kernel refuses to move it;
 *   - a page that fork() shares with another process is refused, too, until it is written to.
 *
 * Rules that follow. The packer must not wait for anything that another thread may hold while it
 * touches a stack: it takes no internal lock, calls no malloc(), and reads descriptors alone. It
 * moves a page only when the whole slot is watched; the kernel would give zeroes otherwise. It must
 * live as long as any thread may touch a stack.
 *
 * In a watched range the packer also gives each page that is touched for the first time. The
 * library's own trimming is such a case: what is trimmed is absent, and reads as zeroes, or as what
 * it was before where the store still has it. A free stack's content has no meaning.
 *
 * fork(): a child has no packer, and its memory is not watched. While any thread forks, no page is
 * moved, so the child has each page in the stack or in its copy of the store (labels PA-n). It
 * brings all back before it does anything else. A page may come back in the parent while the kernel
 * copies its memory. The packer fills it first and forgets its code then, and filling waits until
 * the copy of that mapping is complete. So the child has the page, the code, or both. It has both
 * if the page is not all zero, and keeps the page then.
 *
 * Rejected:
 *   - to write-protect a page, copy it, and drop it (UFFDIO_WRITEPROTECT, MADV_DONTNEED): works on
 *     older kernels, but loses what a device writes to a pinned page;
 *   - to keep the bytes above the stack pointer alone: a parked thread may not have saved its
 *     registers yet, so each such thread would need the lock of the queue in which it waits;
 *   - madvise(MADV_PAGEOUT): needs a swap device, or zram, which only the machine's owner sets up;
 *   - a hook where a thread is resumed: others have pointers to its stack.
 */
#ifndef MT_CORE_MEMORY_PACK_H
#define MT_CORE_MEMORY_PACK_H

#include <stdint.h>

/** Starts the packer if MLTP_PACK_MS asks for it. @return 0; EINVAL after a message that says why
 * not. */
int mt_pack_start(void);

/** Ends it. No thread has a stack any more. */
void mt_pack_stop(void);

/** In a child of fork(), before anything else: gives all pages their content. */
void mt_pack_child(void);

/** @return how many kernel threads it takes. */
uint32_t mt_pack_tasks(void);

/** What the packer has done; for reports and tests. */
struct mt_pack_counts {
  uint64_t packed;  /**< pages that were taken from stacks */
  uint64_t back;    /**< pages that got their content again */
  uint64_t ahead;   /**< of these, before they were touched */
  uint64_t touched; /**< pages that were touched for the first time */
  uint64_t kept;    /**< pages that stayed: pinned, shared, without a short code, no memory */
  uint64_t pages;   /**< pages that have a code now */
  uint64_t bytes;   /**< bytes of memory that codes and index take now */
};

/** Fills in what has been counted since mt_pack_start(); numbers may be of different moments. */
void mt_pack_counts(struct mt_pack_counts *counts);

#endif
