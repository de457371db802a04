# SPDX-License-Identifier: Apache-2.0
"""tools/lint/headers.py finds headers and files that leave their readers alone."""
from tree import TreeTest

import headers

GOOD = """/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#define MLTP_API
/** Does it. Blocks: no. Context: any. */
MLTP_API int mltp_do(size_t n);
"""


class Headers(TreeTest):
    def errors(self, text):
        return headers.check(self.tree, [self.write("include/mltp/do.h", text)])

    def test_a_good_header_passes(self):
        self.assert_errors(self.errors(GOOD))

    def test_header_that_needs_another_first(self):
        self.assert_errors(self.errors(GOOD.replace("#include <stddef.h>", "")),
                           "does not compile alone with cc", "does not compile alone with c++")

    def test_public_header_that_is_no_cxx(self):
        self.assert_errors(self.errors(GOOD + "typedef int class;\n"),
                           "does not compile alone with c++")

    def test_cxx_header_that_needs_another_first(self):
        self.write("include/mltp/two.hpp", "inline std::size_t two() { return 2; }\n")
        self.assert_errors(self.errors(GOOD), "two.hpp:1: does not compile alone with c++")

    def test_private_header_that_needs_another_first(self):
        self.write("src/core/wait/park.h", "static inline size_t two(void) { return 2; }\n")
        self.assert_errors(self.errors(GOOD), "park.h:1: does not compile alone with cc")

    def test_function_without_docstring(self):
        self.assert_errors(self.errors(GOOD + "\nMLTP_API void mltp_mute(void);\n"),
                           "mltp_mute has no docstring")

    def test_docstring_without_context(self):
        self.assert_errors(self.errors(GOOD.replace("Context: any.", "")),
                           "mltp_do says no context")

    def test_file_without_licence(self):
        self.assert_errors(headers.check_text(self.write("a.c", "int a;\n")), "no SPDX")

    def test_home_folder(self):
        home = "/" + "home/somebody"
        path = self.write("a.py", f"# SPDX-License-Identifier: Apache-2.0\nx = '{home}'\n")
        self.assert_errors(headers.check_text(path), "a.py:2: names a home folder")
