#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every probe is in the library with its arguments, and in the manual; the hot ones cost a nop.

usage: probes.py LIBRARY MANPAGE TYPES_H
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

LIBRARY, MANPAGE, TYPES = sys.argv[1:4]
del sys.argv[1:]

# Name -> sizes of the arguments, in bytes.
PROBES = {
    "create": (8, 8, 8),
    "start": (8, 8),
    "end": (8, 8),
    "switch": (8, 8),
    "park": (8, 4, 8),
    "unpark": (8,),
    "steal": (4, 4),
    "vp_sleep": (4,),
    "vp_wake": (4,),
}


def probes_of(library):
    """@return name -> the arguments of each place, as texts like 8@%rbx."""
    notes = subprocess.run(["readelf", "-n", library], check=True, capture_output=True,
                           text=True).stdout
    found = {}
    for name, arguments in re.findall(r"Provider: mltp\n\s+Name: (\w+)\n.*\n\s+Arguments:(.*)", notes):
        found.setdefault(name, []).append(arguments.split())
    return found


class Probes(unittest.TestCase):

    def test_each_is_there_with_its_arguments(self):
        found = probes_of(LIBRARY)
        self.assertEqual(set(found), set(PROBES))
        for name, places in found.items():
            for arguments in places:
                with self.subTest(name):
                    sizes = tuple(abs(int(argument.partition("@")[0])) for argument in arguments)
                    self.assertEqual(sizes, PROBES[name])

    def test_a_switch_finds_its_arguments_where_they_are(self):
        # in a register or in its stack slot: nothing is computed for the probe
        for arguments in probes_of(LIBRARY)["switch"]:
            for argument in arguments:
                self.assertRegex(argument, r"^8@(%?\w+|-?\d+\(%\w+\))$")

    def test_the_manual_describes_each(self):
        manual = pathlib.Path(MANPAGE).read_text(encoding="ascii")
        self.assertEqual(re.findall(r"^\.BI (\w+)\(", manual, re.M), list(PROBES))

    def test_the_manual_knows_the_reasons_to_park(self):
        manual = pathlib.Path(MANPAGE).read_text(encoding="ascii")
        types = pathlib.Path(TYPES).read_text(encoding="utf-8")
        reasons = [name.lower() for name in re.findall(r"^  MT_WHY_([A-Z]+)", types, re.M)]
        words = dict(re.findall(r"\b(\d+) (\w+)", manual.partition("what it waits for:")[2]))
        self.assertGreater(len(reasons), 8)
        for number, reason in enumerate(reasons[1:], start=1):
            self.assertTrue(words.get(str(number), "").startswith(reason), (number, reason, words))


if __name__ == "__main__":
    if shutil.which("readelf") is None:
        print("skipped: no readelf here (binutils)")
        sys.exit(77)
    unittest.main()
