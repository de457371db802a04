# SPDX-License-Identifier: Apache-2.0
"""./dev explains the options of a verb without a build."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from tree import ROOT


class Help(unittest.TestCase):
    def test_nothing_is_built(self):
        usage = subprocess.run([ROOT / "dev"], capture_output=True, text=True, check=True).stdout
        parts = re.split(r"(?m)^  (?=\S)", usage)[1:]
        verbs = [part.split()[0] for part in parts if "--help" in part]
        self.assertGreater(len(verbs), 5)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("cmake", "dpkg-query", "apt-get", "sudo"):
                pathlib.Path(folder, name).write_text("#!/bin/sh\necho $0 $* >&2; exit 9\n", encoding="ascii")
                os.chmod(pathlib.Path(folder, name), 0o755)
            environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
            for verb in verbs:
                with self.subTest(verb):
                    said = subprocess.run([ROOT / "dev", verb, "--help"], capture_output=True, text=True, check=False, env=environment)
                    self.assertEqual((said.returncode, said.stderr), (0, ""), said)
                    self.assertTrue(said.stdout.startswith("usage: "), said)


if __name__ == "__main__":
    unittest.main()
