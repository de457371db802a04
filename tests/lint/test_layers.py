# SPDX-License-Identifier: Apache-2.0
"""tools/lint/layers.py finds what points upwards."""
from tree import TreeTest

import layers


class Layers(TreeTest):
    def setUp(self):
        super().setUp()
        for header in ("arch/arch.h", "os/os.h", "base/list.h", "core/wait/park.h", "debug/report.h",
                       "debug/dump.h"):
            self.write(header, "")

    def test_downward_includes_pass(self):
        self.write("core/wait/park.c", '#include <mltp/mltp.h>\n#include <time.h>\n'
                                  '#include "arch/arch.h"\n#include "base/list.h"\n'
                                  '#include "core/wait/park.h"\n#include "debug/report.h"\n')
        self.assert_errors(layers.check(self.tree))

    def test_upward_include_is_found_with_its_line(self):
        self.write("base/list.c", '\n#include "core/wait/park.h"\n')
        self.assert_errors(layers.check(self.tree), "list.c:2: base must not include core/wait/park.h")

    def test_a_single_header_opens_no_room(self):
        self.write("core/wait/park.c", '#include "debug/dump.h"\n')
        self.assert_errors(layers.check(self.tree), "core must not include debug/dump.h")

    def test_include_without_room_is_found(self):
        self.write("core/wait/park.c", '#include "park.h"\n')
        self.assert_errors(layers.check(self.tree), "no header src/park.h")

    def test_unknown_room_is_found(self):
        self.write("attic/old.c", "")
        self.assert_errors(layers.check(self.tree), "room 'attic' has no arrows")
