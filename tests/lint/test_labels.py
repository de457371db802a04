# SPDX-License-Identifier: Apache-2.0
"""tools/lint/labels.py finds ordering that nobody explains."""
from tree import TreeTest

import labels

ATOMIC_H = """
#define mt_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define mt_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define mt_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
"""
PAIR = """
mt_store_release(&slot, item); /* RQ-1 release: publishes the item; pairs RQ-2 */
/* RQ-2 acquire: sees the item;
 * pairs RQ-1 */
item = mt_load_acquire(&slot);
"""


class Labels(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("base/atomic.h", ATOMIC_H)

    def errors(self, code):
        self.write("core/queue.c", code)
        return labels.check(self.tree)

    def test_a_pair_passes(self):
        self.assert_errors(self.errors(PAIR))

    def test_a_pair_across_files_passes(self):
        first, second = PAIR.split(" */\n/*")
        self.write("base/other.c", f"/*{second}")
        self.assert_errors(self.errors(f"{first} */\n"))

    def test_comment_above_a_statement_of_several_lines(self):
        loop = PAIR.replace("item = mt_load", "while (ready &&\n  mt_load")
        self.assert_errors(self.errors(loop))

    def test_several_partners(self):
        self.assert_errors(self.errors(PAIR.replace("pairs RQ-2", "pairs RQ-2, RQ-3 and RQ-4")
                                       + "/* RQ-3 kernel: the futex call; pairs RQ-1 */\n"
                                       + "/* RQ-4 asm: the jump; pairs RQ-1 */\n"))

    def test_operation_without_label(self):
        self.assert_errors(self.errors(PAIR + "\nmt_store_release(&slot, 0);\n"),
                           "mt_store_release has no release label")

    def test_label_of_the_neighbour_does_not_count(self):
        self.assert_errors(self.errors(PAIR + "item = mt_load_acquire(&slot);\n"),
                           "mt_load_acquire has no acquire label")

    def test_label_of_another_order(self):
        self.assert_errors(self.errors(PAIR.replace("RQ-1 release", "RQ-1 acquire")),
                           "mt_store_release has no release label", "RQ-1 labels no acquire")

    def test_builtin_without_label(self):
        self.assert_errors(self.errors("__atomic_store_n(&x, 1, __ATOMIC_SEQ_CST);"),
                           "__ATOMIC_SEQ_CST has no seq_cst label")

    def test_fence_without_label(self):
        self.assert_errors(self.errors("mt_fence_light();"), "mt_fence_light has no light fence")
        self.assert_errors(self.errors("mt_fence_light(); /* ID-1 light fence: a; pairs ID-2 */\n"
                                       "mt_fence_heavy(); /* ID-2 heavy fence: b; pairs ID-1 */"))

    def test_missing_partner(self):
        self.assert_errors(self.errors("mt_store_release(&x, 1); /* AB-1 release: pairs AB-2 */"),
                           "AB-1 pairs AB-2, which does not exist")

    def test_no_partner_named(self):
        self.assert_errors(self.errors("mt_store_release(&x, 1); /* AB-1 release: x */"),
                           "AB-1 names no partner")

    def test_one_sided_pair(self):
        self.assert_errors(self.errors(
            PAIR + "mt_store_release(&x, 1); /* RQ-3 release: x; pairs RQ-2 */"),
            "RQ-3 pairs RQ-2, which does not name RQ-3")

    def test_label_written_twice(self):
        self.assert_errors(self.errors(PAIR + PAIR.splitlines()[1]), "label RQ-1 is taken")

    def test_label_without_operation(self):
        self.assert_errors(self.errors(PAIR.replace("mt_load_acquire(&slot)", "slot")),
                           "RQ-2 labels no acquire operation")

    def test_relaxed_needs_a_reason(self):
        self.assert_errors(self.errors("x = mt_load_relaxed(&y);"), "why does relaxed suffice?")
        self.assert_errors(self.errors("x = mt_load_relaxed(&y); /* relaxed: only a hint */"))
        self.assert_errors(self.errors("/* Queue.\n * Relaxed: counts. */\nmt_load_relaxed(&y);"))

    def test_code_in_comments_is_no_code(self):
        self.assert_errors(self.errors("/* mt_load_acquire(&x) would do */\nint x;"))
