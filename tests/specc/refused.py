# SPDX-License-Identifier: Apache-2.0
"""What is no model, or is not in the subset, is refused with its place and a reason."""
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.environ["SPECC_FOLDER"])
import parse  # noqa: E402  (found through the line above)
import source  # noqa: E402
import translate  # noqa: E402

PARSER = parse.Parser()
HEAD = "interface i_s { void send(int x); };\n"
MAIN = "behavior Main { int main(void) { return 0; } };\n"

# The text, and what is said of it. A place in the first line, where nothing else is said.
REFUSED = [
    ("", "1: the model has no behavior 'Main' with a method 'main'"),
    ("behavior Main { int main(void) { return 0 } };", "1:43: unexpected '}'"),
    ("behavior Main { int main(void) { return 0;", "1: the text ends in the middle of a construct"),
    ("int x = @;", "1:9: unexpected character '@'"),
    ('import "no_such";\n' + MAIN, "1:8: import \"no_such\": no such file in the search path (-P)"),
    ("behavior Main(in int p) { int main(void) { return 0; } };", "1:10: behavior 'Main' has no ports"),
    ("behavior Main { char main(void) { return 0; } };", "1:22: Main's main returns int or void"),
    ("int main(void) { return 0; }\n" + MAIN, "2:10: a model's main function is that of behavior 'Main'"),
    ("interface i { int x; };\n" + MAIN, "1:19: 'x': an interface has methods only"),
    (MAIN + MAIN, "2:10: 'Main' is defined again"),
    # what is not in the subset
    ("behavior Main { int main(void) { return 0101b; } };", "1:41: bit vector '0101b': bit vectors are not supported"),
    ("behavior Main { bit[7:0] x; int main(void) { return 0; } };", "1:17: bit vectors are not supported"),
    ("behavior Main { signal int x; int main(void) { return 0; } };", "1:17: signals are not supported"),
    ("behavior Main { note int x; int main(void) { return 0; } };", "1:17: annotations ('note') are not supported"),
    ("behavior Main { int main(void) { return this; } };", "1:41: 'this' is not supported"),
    ("behavior Main { int main(void) { timing { } return 0; } };",
     "1:34: timing constraints ('do ... timing') are not supported"),
    ("behavior Main { static int x; int main(void) { return 0; } };", "1:28: 'x': 'static' is not possible in a behavior"),
    ("behavior B { void main(void) {} };\nbehavior Main { B b[2]; int main(void) { return 0; } };",
     "2:19: 'b': arrays and pointers of behaviors, channels and interfaces are not supported"),
    ("behavior Main { int main(void) { event e; return 0; } };", "1:40: 'e': events are parts of behaviors and "
     "channels, not of functions"),
    ("behavior B { void main(void) {} };\nvoid f(B b) {}\n" + MAIN, "2:8: 'B' is a behavior: it has instances in classes only"),
    # ports and their directions
    ("behavior Main { int main(void) { return 0; } };\nbehavior B(in int p) { void main(void) { p = 1; } };",
     "2:42: port 'p' is 'in': it cannot be changed"),
    ("behavior B(in int p) { void main(void) { p++; } };\n" + MAIN, "1:42: port 'p' is 'in': it cannot be changed"),
    ("behavior B(in int p[2]) { void main(void) { p[1] += 2; } };\n" + MAIN, "1:45: port 'p' is 'in': it cannot be changed"),
    ("behavior B(out int p) { void main(void) {} };\nbehavior C(in int q) { B b(q); void main(void) {} };\n" + MAIN,
     "2:28: 'q' cannot be mapped to port 'p': the port is 'out', and 'q' is 'in'"),
    ("behavior B(in int p) { void main(void) {} };\nbehavior Main { B b; int main(void) { return 0; } };",
     "2:19: 'b': behavior 'B' has 1 ports, and 0 are mapped"),
    ("behavior B(in int p) { void main(void) {} };\nbehavior Main { char c; B b(c); int main(void) { return 0; } };",
     "2:29: 'c' cannot be mapped to port 'p': the types differ: 'char' and 'int'"),
    ("behavior B(in int p) { void main(void) {} };\nbehavior Main { int c[3]; B b(c); int main(void) { return 0; } };",
     "2:31: 'c' cannot be mapped to port 'p': the types differ: 'int [ 3 ]' and 'int'"),
    ("behavior B(in int p) { void main(void) {} };\nbehavior Main { B b(x); int main(void) { return 0; } };",
     "2:21: 'x' cannot be mapped to port 'p': behavior 'Main' has nothing of that name to map"),
    ("behavior B(out int p) { void main(void) {} };\nbehavior Main { B b(3); int main(void) { return 0; } };",
     "2:21: a constant can only be mapped to an 'in' port; 'p' is none"),
    ("behavior B(in event e) { void main(void) {} };\nbehavior Main { int x; B b(x); int main(void) { return 0; } };",
     "2:28: 'x' cannot be mapped to port 'e': the port is an event, and it is none"),
    (HEAD + "channel c { void send(int x) {} };\nbehavior B(i_s p) { void main(void) {} };\n"
     "behavior Main { c x; B b(x); int main(void) { return 0; } };",
     "4:26: 'x' cannot be mapped to port 'p': it does not implement interface 'i_s'"),
    (HEAD + "channel c implements i_s { int x; };\n" + MAIN, "2:9: channel 'c' implements 'i_s', but has no method 'send'"),
    (HEAD + "behavior B(in i_s p) { void main(void) {} };\n" + MAIN, "2:19: port 'p': an interface has no direction"),
    ("channel c implements nothing { int x; };\n" + MAIN, "1:22: a channel implements interfaces; 'nothing' is none"),
    # what runs, waits and notifies
    (HEAD + "behavior B(i_s p) { void main(void) { p.receive(); } };\n" + MAIN, "2:41: interface 'i_s' has no method 'receive'"),
    (HEAD + "behavior B(i_s p) { void main(void) { p = 0; } };\n" + MAIN, "2:39: interface 'p' is only for calls of its methods"),
    ("behavior Main { int x; int main(void) { par { x; } return 0; } };", "1:47: 'x' is no behavior of this one"),
    ("behavior B { int main(void) { return 0; } };\nbehavior Main { B b; int main(void) { par { b; } return 0; } };",
     "2:45: main of behavior 'B' returns a value: it cannot run here"),
    ("behavior Main { int x; int main(void) { wait(x); return 0; } };", "1:46: 'x' is no event"),
    ("behavior Main { event e; int main(void) { return e; } };",
     "1:50: event 'e' is only for wait, notify, trap and interrupt"),
    ("behavior Main { event e, f; int main(void) { notify(e && f); return 0; } };", "1:46: 'notify' has a list with ','"),
    ("behavior Main { event e[2]; int main(void) { wait(e); return 0; } };",
     "1:51: 'e': one event is meant, of an array one with its index"),
    ("behavior B { void main(void) {} };\nbehavior Main { B a, b; int main(void) { fsm { a: { goto c; } b: } return 0; } };",
     "2:58: no state 'c' in this fsm"),
    ("behavior B { void main(void) {} };\nbehavior Main { B a; int main(void) { fsm { a: a: } return 0; } };",
     "2:45: state 'a' is there twice"),
    ("behavior Main { buffered int x; int main(void) { x++; return 0; } };", "1:50: 'x' is buffered: write x = x + 1"),
    ("behavior Main { piped int x; int main(void) { return x; } };",
     "1:54: piped variable 'x' is only for ports of a pipe's behaviors"),
    # places: after a macro, a comment, and in an included line
    ("#define ONE 1 +\nbehavior Main { int main(void) { return /* a word */ ONE   this; } };", "2:60: 'this' is not supported"),
]


class Refused(unittest.TestCase):
    def message(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "m.sc")
            path.write_text(text + "\n" if text else text)
            made = pathlib.Path(folder, "made")
            made.mkdir()
            imports = source.Imports(made, [])
            preprocessed, _ = source.preprocess(["cc"], imports.copy(path), [])
            whole = source.Text(preprocessed)
            try:
                translate.Translator(whole, PARSER.parse(whole)).translate()
            except source.Error as error:
                column = f":{error.place.column}" if error.place.column else ""
                return f"{error.place.line}{column}: {error.message}"
        return "nothing"

    def test_is_refused_with_place_and_reason(self):
        for text, said in REFUSED:
            with self.subTest(text=text):
                self.assertEqual(self.message(text), said)

    def test_a_small_model_is_not_refused(self):
        self.assertEqual(self.message(MAIN), "nothing")


if __name__ == "__main__":
    unittest.main()
