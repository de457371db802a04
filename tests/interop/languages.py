#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples in other languages, over the shared library, on 1, 2 and 8 VPs.

usage: languages.py SOURCE_DIR LIBRARY_DIR
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, LIBRARY = "", ""
PYTHON = "C functions on VPs: 1000\nPython functions on bound threads: 285 45\n"
RUST = "1 + ... + 1000 = 500500 after 1000 yields\n"


class Languages(unittest.TestCase):
    def expect(self, command, output):
        for vps in ("1", "2", "8"):
            with self.subTest(vps=vps):
                result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=550,
                                        env={**os.environ, "LD_LIBRARY_PATH": LIBRARY, "MLTP_VPS": vps,
                                             "MLTP_OVERSUBSCRIBE": "1"})
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, output, ""))

    def test_python(self):
        self.expect([sys.executable, "-B", f"{SOURCE}/examples/python/threads.py"], PYTHON)

    def test_rust(self):
        if shutil.which("rustc") is None:
            self.skipTest("no rustc here")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["rustc", "--edition", "2021", "-O", "-D", "warnings", f"{SOURCE}/examples/rust/threads.rs", "-o",
                            f"{folder}/threads", "-L", LIBRARY, "-l", "mltp"], check=True)
            self.expect([f"{folder}/threads"], RUST)


if __name__ == "__main__":
    SOURCE, LIBRARY = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
