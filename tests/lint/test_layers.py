# SPDX-License-Identifier: Apache-2.0
"""tools/lint/layers.py finds what points upward, and circles."""
from tree import TreeTest

import house
import layers


class Layers(TreeTest):
    def setUp(self):
        super().setUp()
        for header in ("arch/arch.h", "os/os.h", "base/list.h", "base/heap.h", "core/vp/vp.h",
                       "core/wait/park.h", "debug/dump.h"):
            self.write(header, "")

    def test_downward_includes_pass(self):
        self.write("core/wait/park.c", '#include <mltp/mltp.h>\n#include <time.h>\n'
                                       '#include "arch/arch.h"\n#include "base/list.h"\n'
                                       '#include "core/wait/park.h"\n#include "core/vp/vp.h"\n')
        self.assert_errors(layers.check(self.tree))

    def test_upward_include_is_found_with_its_line(self):
        self.write("base/list.c", '\n#include "core/wait/park.h"\n')
        self.assert_errors(layers.check(self.tree), "list.c:2: base must not include core/wait/park.h")

    def test_upward_include_between_rooms_of_the_core_is_found(self):
        self.write("core/vp/vp.c", '#include "core/wait/park.h"\n')
        self.assert_errors(layers.check(self.tree), "vp.c:1: core/vp must not include core/wait/park.h")

    def test_the_core_must_not_include_debug(self):
        self.write("core/wait/park.c", '#include "debug/dump.h"\n')
        self.assert_errors(layers.check(self.tree), "core/wait must not include debug/dump.h")

    def test_a_single_header_opens_no_room(self):
        self.write("os/map.h", "")
        self.write("os/other.h", "")
        self.write("tmpi/loader/maps.c", '#include "os/map.h"\n')
        self.write("tmpi/loader/wrong.c", '#include "os/other.h"\n')
        self.assert_errors(layers.check(self.tree), "wrong.c:1: tmpi must not include os/other.h")

    def test_circle_inside_a_room_is_found(self):
        self.write("base/list.c", '#include "base/list.h"\n#include "base/heap.h"\n')
        self.write("base/heap.c", '#include "base/list.h"\n')
        self.assert_errors(layers.check(self.tree), "circle: base/heap -> base/list -> base/heap")

    def test_circle_in_a_room_of_several_folders_is_found(self):
        self.write("tmpi/run/a.h", '#include "tmpi/loader/b.h"\n')
        self.write("tmpi/loader/b.h", '#include "tmpi/run/a.h"\n')
        self.assert_errors(layers.check(self.tree), "circle: tmpi/loader/b -> tmpi/run/a -> tmpi/loader/b")

    def test_the_drawing_has_floors_and_circles(self):
        self.write("base/list.c", '#include "base/heap.h"\n#include "os/os.h"\n')
        self.write("base/heap.h", '#include "base/list.h"\nvoid mt_reached(void);\n')
        self.write("debug/dump.c", "void mt_reached(void) {\n}\n")
        drawing = "\n".join(house.draw(self.tree))
        self.assertIn("floor  2  base: os", drawing)
        self.assertIn("1 circles of files; 2: base/heap, base/list", drawing)
        self.assertIn("declared in base, defined in debug: mt_reached", drawing)

    def test_a_header_and_its_c_file_are_one(self):
        self.write("base/list.c", '#include "base/list.h"\n#include "base/heap.h"\n')
        self.assert_errors(layers.check(self.tree))

    def test_arrow_that_runs_upward_in_the_table_is_found(self):
        self.assert_errors(layers.check_table({"low": ["high"], "high": []}, {}),
                           "the arrow from low to high runs upward")
        self.assert_errors(layers.check_table({"low": [], "high": ["low", "low/one.h"]}, {}))

    def test_too_many_pairs_are_found(self):
        pairs = {(f"a{i}", f"b{i}"): "why" for i in range(6)}
        self.assert_errors(layers.check_table({}, pairs), "more than 5 pairs")

    def test_include_without_room_is_found(self):
        self.write("core/wait/park.c", '#include "park.h"\n')
        self.assert_errors(layers.check(self.tree), "no header src/park.h")

    def test_unknown_room_is_found(self):
        self.write("attic/old.c", "")
        self.assert_errors(layers.check(self.tree), "room 'attic' has no arrows")
