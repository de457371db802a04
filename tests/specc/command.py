# SPDX-License-Identifier: Apache-2.0
"""The specc command: its options, its exit status, where messages point."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SPECC = os.environ["SPECC"]
MODEL = "behavior Main { int main(void) { return STATUS; } };\n"


class Command(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def specc(self, *arguments, text=None, compiler=None):
        """Runs specc on m.sc in a folder of its own; returns status and both outputs."""
        environment = os.environ | ({"CC": compiler} if compiler else {})
        if text is not None:
            (self.folder / "m.sc").write_text(text)
        run = subprocess.run([SPECC, *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
                             env=environment)
        return run.returncode, run.stdout, run.stderr

    def test_makes_a_program_with_the_models_exit_status(self):
        self.assertEqual(self.specc("m.sc", "-DSTATUS=3", text=MODEL), (0, "", ""))
        self.assertEqual(subprocess.run([self.folder / "m"], check=False).returncode, 3)

    def test_any_compiler_makes_it_and_points_at_the_model(self):
        for compiler in filter(shutil.which, ("gcc", "clang", "clang-19")):
            with self.subTest(compiler):
                self.assertEqual(self.specc("m.sc", "-DSTATUS=0", text=MODEL, compiler=compiler), (0, "", ""))
                status, _, err = self.specc("m.sc", "-DSTATUS=unknown", text=MODEL, compiler=compiler)
                self.assertEqual(status, 1)
                self.assertIn("m.sc:1: error:", err)
                self.assertNotIn("^", err)

    def test_writes_c(self):
        status, out, _ = self.specc("-C", "m.sc", "-DSTATUS=0", text=MODEL)
        self.assertEqual(status, 0)
        self.assertIn("Main__main", out)
        self.assertFalse((self.folder / "m").exists())

    def test_says_file_line_and_column(self):
        status, _, err = self.specc("m.sc", text="behavior Main {\n  int main(void) { return this; }\n};\n")
        self.assertEqual(status, 1)
        self.assertTrue(err.startswith("m.sc:2:27: error: 'this' is only an argument"), err)

    def test_compilers_errors_have_the_models_lines(self):
        status, _, err = self.specc("m.sc", text="behavior Main {\n  int main(void) {\n    return unknown;\n  }\n};\n")
        self.assertEqual(status, 1)
        self.assertIn("m.sc:3: error:", err)

    def test_types_of_ports_behind_typedefs_are_the_compilers_to_compare(self):
        text = ("typedef char letter;\nbehavior B(in int p) { void main(void) {} };\n"
                "behavior Main { letter l; B b(l); int main(void) { return 0; } };\n")
        status, _, err = self.specc("m.sc", text=text)
        self.assertEqual(status, 1)
        self.assertIn("m.sc:3: error:", err)

    def refused_by_compiler(self, text):
        """What is said of a model that specc translates and gcc refuses, with plain quotes."""
        if shutil.which("gcc") is None:
            self.skipTest("no gcc")
        status, _, err = self.specc("m.sc", text=text, compiler="gcc")
        self.assertEqual(status, 1)
        return err.replace("\u2018", "'").replace("\u2019", "'")

    def test_compilers_errors_name_methods_as_the_model_does(self):
        text = ("interface i { void send(char *x); };\nchannel c implements i { void send(char *x) {} };\n"
                "behavior B(i p) {\n int n;\n void main(void) {\n  n = 1;\n  p.send(n);\n }\n};\n"
                "behavior Main { c x; B b(x); int main(void) { b; return 0; } };\n")
        err = self.refused_by_compiler(text)
        self.assertRegex(err, r"^m.sc:7: error: passing argument 1 of '[cp].send' makes pointer from integer")
        self.assertEqual(err.count("error:"), 1, err)
        self.assertNotIn("sc_", err)

    def test_methods_of_another_type_than_the_interfaces(self):
        text = ("interface i { void send(int x); };\nchannel c implements i {\n int send(int x) { return x; }\n};\n" + MODEL)
        err = self.refused_by_compiler(text.replace("STATUS", "0"))
        self.assertEqual(err, "m.sc:3: error: method 'send' of 'c' has another type than interface 'i' declares (write it "
                              "as there)\n")

    def test_preprocessors_errors_end_it(self):
        status, _, err = self.specc("m.sc", text='#include "absent.h"\n')
        self.assertEqual(status, 1)
        self.assertIn("absent.h", err)

    def test_a_model_is_not_overwritten_by_its_program(self):
        (self.folder / "model").write_text(MODEL)
        status, _, err = self.specc("model", "-DSTATUS=0")
        self.assertEqual(status, 1)
        self.assertIn("name it with -o", err)

    def test_help_version_and_wrong_usage(self):
        self.assertEqual(self.specc("--help")[0], 0)
        self.assertRegex(self.specc("--version")[1], r"^specc \(mltp\) \d+\.\d+\.\d+\n$")
        self.assertEqual(self.specc()[0], 2)
        self.assertEqual(self.specc("--unknown", "m.sc")[0], 2)
        self.assertEqual(self.specc("absent.sc"), (1, "", "specc: absent.sc: no such file\n"))

    def test_imports_are_found_beside_the_model_and_by_option_and_once(self):
        (self.folder / "more").mkdir()
        (self.folder / "more" / "i_x.sc").write_text("interface i_x { void f(void); };\n")
        (self.folder / "c_x.sc").write_text('import "i_x";\nchannel c_x implements i_x { void f(void) {} };\n')
        text = 'import "c_x";\nimport "i_x";\n' + MODEL
        self.assertEqual(self.specc("m.sc", "-DSTATUS=0", "-P", "more", text=text), (0, "", ""))
        self.assertEqual(self.specc("m.sc", "-DSTATUS=0", text=text)[0], 1)


if __name__ == "__main__":
    unittest.main()
