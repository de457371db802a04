# SPDX-License-Identifier: Apache-2.0
"""tools/lint/words.py finds names that use retired words."""
from tree import TreeTest

import words


class Words(TreeTest):
    def errors(self, line, name="src/core/a.c"):
        self.write(name, f"/* A comment about the crew, which the prose linter reads. */\n{line}\n")
        return words.check(self.tree)

    def test_todays_words_pass(self):
        self.assert_errors(self.errors("int report_wished(int guard, const char *story); /* say_hello() */"))

    def test_a_retired_part_of_a_name_is_found(self):
        self.assert_errors(self.errors("static int mt_wish_new(void);"), "a.c:2: mt_wish_new: wish is retired")

    def test_a_retired_macro_is_found(self):
        self.assert_errors(self.errors("#define X\nint KEEPER_NS;"), "keeper is retired (write watchdog)")

    def test_a_retired_verb_is_found(self):
        self.assert_errors(self.errors("tell_name(fd);"), "tell_ is retired")
        self.assert_errors(self.errors("static void say_why(void) {"), "say_ is retired")

    def test_an_internal_lock_is_no_guard(self):
        self.assert_errors(self.errors("mti_lock(&keys->guard);"), "write ilock")
        self.assert_errors(self.errors("int used; /* [guard] */"), "write ilock")

    def test_a_retired_pair_of_words_is_found(self):
        self.assert_errors(self.errors("mt_lie_down(vp);"), "lie_down is retired")

    def test_all_folders_are_read(self):
        self.assert_errors(self.errors("int crew;", "tools/lint/a.py"))
        self.assert_errors(self.errors("crew = 1", "tools/x.py"), "tools/x.py:2")

    def test_tests_and_benchmarks_are_read(self):
        for number, name in enumerate(("tests/unit/a.c", "bench/a.h", "examples/a.c", "model/a.py", "dk/a.c", "tests/models/a.pml"), start=1):
            self.assertEqual(len(self.errors("int crew;", name)), number)

    def test_texts_are_no_names(self):
        self.assert_errors(self.errors('puts("told");'))
