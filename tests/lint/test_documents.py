# SPDX-License-Identifier: Apache-2.0
"""tools/lint/documents.py finds documents that grow, and names of files that are gone."""
from tree import ROOT, TreeTest

import documents

ANSWER = "| {} | Where is the run queue? | `core/sched/runq.c` |\n"


class Documents(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("src/core/sched/runq.c", "")
        self.write("docs/reading-test.md", "".join(map(ANSWER.format, range(documents.QUESTIONS))))

    def errors(self, **files):
        for name, text in files.items():
            self.write(f"{name}.md", text)
        return documents.check(self.tree)

    def test_a_good_document_passes(self):
        text = "[a note](docs/reading-test.md#x), `core/sched/runq.c`, `src/core/sched/runq.c`, `core/runq.*`, `sync/lock_NAME.c`\n"
        self.assert_errors(self.errors(README=text))

    def test_a_long_document_is_found(self):
        self.assert_errors(self.errors(README="line\n" * 121), "longer than 120 lines")

    def test_a_dead_link_is_found(self):
        self.assert_errors(self.errors(HACKING="See [a note](docs/gone.md)."), "no file docs/gone.md")

    def test_a_renamed_file_is_found(self):
        self.assert_errors(self.errors(HACKING="See `core/queue.c`."), "no file core/queue.c")

    def test_an_answer_in_three_files_is_found(self):
        self.write("docs/reading-test.md", "".join(map(ANSWER.format, range(documents.QUESTIONS)))
                   + "| 41 | What? | `core/sched/runq.c`, `core/sched/runq.c`, `core/sched/runq.c` |\n")
        self.assert_errors(documents.check(self.tree), "names 3 files")

    def test_missing_questions_are_found(self):
        self.write("docs/reading-test.md", ANSWER.format(1))
        self.assert_errors(documents.check(self.tree), "has 1 questions")

    def test_contributors_are_asked_for_the_reason_of_a_commit(self):
        self.assertRegex((ROOT / "CONTRIBUTING.md").read_text(), r"A commit does one thing, .* its body says why\.")
