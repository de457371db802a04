# SPDX-License-Identifier: Apache-2.0
"""tools/lint/prose.sh finds a bad sentence wherever we write sentences. Needs vale, which ./dev lint builds."""
import os
import pathlib
import re
import subprocess
import unittest

from tree import ROOT, TreeTest

SCRIPT = ROOT / "tools/lint/prose.sh"
VERSION = re.search(r"^vale_version=(\S+)", SCRIPT.read_text(), re.MULTILINE)[1]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
BAD = "The thread is resumed by who holds the lock."
GOOD = "The holder resumes the thread."
PLACES = {
    "note.md": "# A title\n\n- {}\n",
    "block.c": "/* First line.\n * {} */\nint x;\n",
    "line.h": "int x; // {}\n",
    "message.c": 'void f(void) {{ report("{}"); }}\n',
    "type.hpp": "/// {}\nclass type;\n",
    "switch.S": "/* {} */\n\tret\n",
    "docstring.py": 'def f():\n    """{}"""\n',
    "comment.py": "x = 1  # {}\n",
    "script.sh": "true # {}\n",
    "rules.cmake": "# {}\nset(x 1)\n",
    "CMakeLists.txt": "# {}\nset(x 1)\n",
    "model.pml": "/* {} */\nint x;\n",
    "model.sc": "// {}\nbehavior Main {{}};\n",
    "page.7": ".SH NAME\n{}\n",
}


@unittest.skipUnless((CACHE / f"mltp/vale-{VERSION}").exists(), "no vale here: ./dev lint builds it")
class Prose(TreeTest):
    def lint(self, name, sentence):
        path = self.write(name, PLACES[name].format(sentence))
        return subprocess.run([SCRIPT, path], capture_output=True, text=True, check=False)

    def test_a_bad_sentence_is_found_in_each_kind_of_file(self):
        for name in PLACES:
            with self.subTest(name):
                result = self.lint(name, BAD)
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertIn("MLTP.Actor", result.stdout)

    def test_a_good_sentence_passes_in_each_kind_of_file(self):
        for name in PLACES:
            with self.subTest(name):
                result = self.lint(name, GOOD)
                self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)


if __name__ == "__main__":
    unittest.main()
