# SPDX-License-Identifier: Apache-2.0
"""tools/man makes pages of docstrings and loses nothing of them."""
import unittest

import tree  # noqa: F401  (finds the modules below)

import docstrings
import manpages

HEADER = """
/** How to do it. */
typedef enum mltp_way {
  MLTP_WAY_SLOW, /**< with care */
} mltp_way_t;

/**
 * Does it at once (thesis 3.1). It is like mltp_other(), but
 * -fast, and knows '\\n'.
 * @param way   how to do it,
 *              in two lines
 * @param[out] done what was done
 * @return 0; EINVAL: no such way.
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_do(mltp_way_t way,
                     int *done);
MLTP_API int mltp_redo(void); /**< see mltp_do() */

MLTP_API void mltp_mute(void);
"""


class Pages(unittest.TestCase):
    def setUp(self):
        self.header = docstrings.read(HEADER)
        self.do, self.redo, self.mute = self.header.functions

    def test_docstring_is_taken_apart(self):
        self.assertEqual(self.do.params, [("way", "how to do it, in two lines"),
                                          ("done", "what was done")])
        self.assertEqual(self.do.returns, "0; EINVAL: no such way.")
        self.assertEqual(self.do.notes, {"Blocks": "thread.", "Context": "any."})

    def test_docstring_serves_the_declarations_after_it(self):
        self.assertEqual(self.redo.alias, "mltp_do")
        self.assertTrue(self.redo.documented)
        self.assertFalse(self.mute.documented)

    def test_page(self):
        page = manpages.function_page(self.do, [self.redo], self.header.types, "mltp.h", "2026-01-01")
        self.assertIn(".SH NAME\nmltp_do, mltp_redo \\- does it at once\n", page)
        self.assertIn("int mltp_do(mltp_way_t way,\n", page)
        self.assertIn("int mltp_redo(void);", page)
        self.assertIn("\\fBmltp_other\\fR(3), but \\-fast, and knows '\\en'.", page)
        self.assertIn(".TP\n.I done\nwhat was done", page)
        self.assertIn("MLTP_WAY_SLOW, /**< with care */", page)
        self.assertIn(".SH CONTEXT\nany.", page)
        self.assertIn(".BR mltp_other (3),\n.BR mltp (7)", page)

    def test_options(self):
        page = manpages.options_page("MLTP_VPS  (unset)  default cpus  processors at start\n"
                                     "                   [a number or cpus]\n", "2026-01-01")
        self.assertIn(".B MLTP_VPS\nprocessors at start.\n.br\n"
                      "It is a number or cpus; unless set: cpus.", page)
        with self.assertRaises(SystemExit):
            manpages.options_page("MLTP_VPS is 3\n", "2026-01-01")

    def test_lines_that_roff_would_take_for_requests(self):
        self.assertEqual(manpages.code(".so far\n'tis"), ".nf\n\\&.so far\n\\&'tis\n.fi")
