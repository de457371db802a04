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
    ("", "1: the model has no behavior 'Main' with a method 'main' (write it, or name the file that has it)"),
    ("behavior Main { int main(void) { return 0 } };", "1:43: unexpected '}' (is a ';' missing before it?)"),
    ("behavior B { void main(void) {} }\n" + MAIN, "2:1: unexpected 'behavior' (is a ';' missing before it?)"),
    ('import "c_queue"\n' + MAIN, "2:1: unexpected 'behavior' (is a ';' missing before it?)"),
    ("import c_queue;\n" + MAIN, "1:1: 'import' has the name of a file in quotes (write import \"c_queue\";)"),
    ("behavior Main { int main(void) { wait 10; return 0; } };", "1:39: 'wait' is for events; '10' is none (write waitfor 10)"),
    ("behavior Main { int main(void) { waitfor; return 0; } };", "1:41: an expression is missing before ';'"),
    ("behavior Main { bit x; int main(void) { return 0; } };", "1:17: 'bit' has a number of bits (write bit[1])"),
    ("behavior B { void main(void) {} };\nbehavior Main { B b; int main(void) { B.main(); return 0; } };",
     "2:40: 'B' is a type or a class, and what stands before '.' is a value or an instance (name one of that type)"),
    ("behavior Main { int main(void) { return 0;", "1: the text ends in the middle of a construct"),
    ("int x = @;", "1:9: unexpected '@'"),
    ('import "no_such";\n' + MAIN, "1:8: import \"no_such\": no such file in the search path (-P)"),
    ('import "sizes.sh";\n' + MAIN,
     '1:8: import "sizes.sh": a header is included, not imported (write #include "sizes.sh")'),
    ("behavior Main(in int p) { int main(void) { return 0; } };", "1:10: behavior 'Main' has no ports (make them members)"),
    ("behavior Main { char main(void) { return 0; } };", "1:22: Main's main returns int or void (write int main(void))"),
    ("int main(void) { return 0; }\nbehavior B { void main(void) {} };",
     "3: the model has no behavior 'Main' with a method 'main' (write it, or name the file that has it)"),
    ("int main(void) { return 0; }\n" + MAIN, "2:10: a model's main function is that of behavior 'Main' (rename the other)"),
    ("interface i { int x; };\n" + MAIN, "1:19: 'x': an interface has methods only (put it into the channels that implement it)"),
    (MAIN + MAIN, "2:10: 'Main' is defined again (rename one)"),
    # what SpecC has not, or a bit vector cannot
    ("behavior Main { bit[2000000] x; int main(void) { return 0; } };",
     "1:17: a bit vector has 1 to 1048576 bits here, and this one 2000000 (split it)"),
    ("int take();\nbehavior Main { bit[129] x; int main(void) { return take(x); } };",
     "2:58: a bit vector of 129 bits is no argument here (convert it, as in (int)x, or take 64 bits at a time)"),
    ("int one(void);\nbehavior Main { int main(void) { static bit[129] x = one(); return 0; } };",
     "2:54: a bit vector of 129 bits begins here with a constant (assign the value later)"),
    ("behavior Main { int n; bit[n] x; int main(void) { return 0; } };",
     "1:24: the bounds of a bit vector are constants (write numbers, or names of const variables with constant values)"),
    ("behavior Main { float x; int main(void) { return x[3:0]; } };",
     "1:51: only bit vectors and integers have slices (declare it as bit[LEFT:RIGHT])"),
    ("behavior Main { short x; int main(void) { return x[16:3]; } };", "1:51: a bit vector [15:0] has no bit 16"),
    ("behavior Main { bit[7:0] x; int main(void) { return x[8]; } };", "1:54: a bit vector [7:0] has no bit 8"),
    ("behavior Main { int x; int main(void) { return x @ 01b; } };",
     "1:50: '@' joins bit vectors (write (bit[8])x for another value)"),
    ("behavior B(in bit[4] p) { void main(void) {} };\nbehavior Main { bit[7:0] x; B b(x[4:0]); int main(void) { return 0; } };",
     "2:33: port 'p' has 4 bits, and 5 are mapped (map as many)"),
    ("behavior B(in bit[4] p) { void main(void) {} };\nbehavior Main { bit[7:0] x; B b(x[0:3]); int main(void) { return 0; } };",
     "2:34: a port is mapped to bits in their order (write [7:0])"),
    ("behavior B(in bit[1] p) { void main(void) {} };\nbehavior Main { bit[7:0] x; int i; B b(x[i]); int main(void) { return 0; } };",
     "2:41: a port is mapped to the same bit always (the number is a constant)"),
    ("behavior B(in bit[5] p) { void main(void) {} };\nbehavior Main { bit[4] x; B b(x @ 0b); int main(void) { return 0; } };",
     "2:35: port 'p' is mapped to what is no bit vector here (name variables, bits and slices of them, and join them by '@')"),
    ("behavior B(out bit[4] p) { void main(void) { bit[4] *q = &p; } };\nbehavior Main { bit[7:0] x; B b(x[3:0]); int main(void) { "
     "return 0; } };", "1:59: port 'p' is mapped to bits of a variable and has no address (copy it to a variable)"),
    ("behavior B(out bit[4] p) { void main(void) {} };\nbehavior A(in bit[8] q) { B b(q[3:0]); void main(void) {} };\n" + MAIN,
     "2:31: 'q' cannot be mapped to port 'p': the port is 'out', and 'q' is 'in'"),
    ("behavior B { void main(void) {} };\nbehavior Main { B b; int main(void) { int i; par (i = 0; i < 2; i++) { b; } return 0; } };",
     "2:46: 'par' has no loop (name each behavior: par { b[0]; b[1]; })"),
    ("behavior Main { int main(void) { int x; par { x = 1; } return 0; } };",
     "1:47: 'x' is a variable of this function, and another thread uses it here (make it a member of the behavior)"),
    ("behavior Main { signal int x; int main(void) { notify x; return 0; } };",
     "1:55: 'x' is a signal: it is notified when its value changes (assign to it)"),
    ("behavior Main { signal int x[2] = 3; int main(void) { return 0; } };",
     "1:28: 'x': an array's first value has braces (write = { ... })"),
    ("behavior Main { buffered piped int x; int main(void) { return 0; } };",
     "1:36: 'x' is buffered, and cannot be piped, too (leave one out)"),
    ("behavior Main { event e; int main(void) { wait rising e; return 0; } };",
     "1:55: 'rising' is for signals; 'e' is none (declare it as a signal)"),
    ("behavior Main { int main(void) { do { a: ; } timing { range(a; b; 1; 2); } return 0; } };",
     "1:64: no label 'b' in the statement before 'timing'"),
    ("behavior Main { Sub s; int main(void) { return 0; } };",
     "1:17: 'Sub' is no type or class here (declare it before, or import what does)"),
    ("behavior B;\nbehavior Main { B b; int main(void) { return 0; } };", "2:17: 'B' is announced and never defined (write its body)"),
    ("behavior Main { int main(void) { return this; } };", "1:41: 'this' is only an argument where a parameter is an interface (the parts of the own class are reached by their names)"),
    ("behavior Main { static int x; int main(void) { return 0; } };", "1:28: 'x': 'static' is not possible in a behavior (leave it out: members live as long as the model)"),
    ("behavior Main { int main(void) { event e; return 0; } };", "1:40: 'e': events are parts of behaviors and "
     "channels, not of functions (declare it there)"),
    ("behavior B { void main(void) {} };\nvoid f(B b) {}\n" + MAIN, "2:8: 'B' is a behavior: it has instances in classes only (a parameter is an interface that it implements)"),
    # ports and their directions
    ("behavior Main { int main(void) { return 0; } };\nbehavior B(in int p) { void main(void) { p = 1; } };",
     "2:42: port 'p' is 'in': it cannot be changed (declare it 'inout')"),
    ("behavior B(in int p) { void main(void) { p++; } };\n" + MAIN, "1:42: port 'p' is 'in': it cannot be changed (declare it 'inout')"),
    ("behavior B(in int p[2]) { void main(void) { p[1] += 2; } };\n" + MAIN, "1:45: port 'p' is 'in': it cannot be changed (declare it 'inout')"),
    ("behavior B(out int p) { void main(void) {} };\nbehavior C(in int q) { B b(q); void main(void) {} };\n" + MAIN,
     "2:28: 'q' cannot be mapped to port 'p': the port is 'out', and 'q' is 'in'"),
    ("behavior B(in int p) { void main(void) {} };\nbehavior Main { B b; int main(void) { return 0; } };",
     "2:19: 'b': behavior 'B' has 1 ports, and 0 are mapped (map p)"),
    ("behavior B(in int p) { void main(void) {} };\nbehavior Main { char c; B b(c); int main(void) { return 0; } };",
     "2:29: 'c' cannot be mapped to port 'p': the types differ: 'char' and 'int'"),
    ("behavior B(in int p) { void main(void) {} };\nbehavior Main { int c[3]; B b(c); int main(void) { return 0; } };",
     "2:31: 'c' cannot be mapped to port 'p': the types differ: 'int [ 3 ]' and 'int'"),
    ("behavior B(in int p) { void main(void) {} };\nbehavior Main { B b(x); int main(void) { return 0; } };",
     "2:21: 'x' cannot be mapped to port 'p': neither behavior 'Main' nor the file has a variable or constant of that name"),
    ("behavior B(out int p) { void main(void) {} };\nbehavior Main { B b(3); int main(void) { return 0; } };",
     "2:21: a constant can only be mapped to an 'in' port; 'p' is none"),
    ("behavior B(in event e) { void main(void) {} };\nbehavior Main { int x; B b(x); int main(void) { return 0; } };",
     "2:28: 'x' cannot be mapped to port 'e': the port is an event, and it is none"),
    (HEAD + "channel c { void send(int x) {} };\nbehavior B(i_s p) { void main(void) {} };\n"
     "behavior Main { c x; B b(x); int main(void) { return 0; } };",
     "4:26: 'x' cannot be mapped to port 'p': it does not implement interface 'i_s' (name a channel that does)"),
    (HEAD + "channel c implements i_s { int x; };\n" + MAIN, "2:9: channel 'c' implements 'i_s', but has no method 'send' (write it)"),
    (HEAD + "behavior B(in i_s p) { void main(void) {} };\n" + MAIN, "2:19: port 'p': an interface has no direction (leave it out)"),
    ("channel c implements nothing { int x; };\n" + MAIN, "1:22: a channel implements interfaces; 'nothing' is none (define it before)"),
    ("behavior B(in int p) { void main(void) {} };\nbehavior Main { B b( , ); int main(void) { return 0; } };",
     "2:19: 'b': behavior 'B' has 1 ports, and 2 are mapped (map p)"),
    ("behavior B(in int p, in int q) { void main(void) {} };\nbehavior Main { int x; B b(x, ); int main(void) { return 0; } };",
     "2:26: 'b': only 'out' ports of variables and signals stay open; 'q' is none (map something to it)"),
    ("behavior Main { int x; Main m; int main(void) { return 0; } };",
     "1:29: 'm': behavior 'Main' contains itself (an instance of another class may stand here)"),
    ("behavior A;\nbehavior B { A a; void main(void) {} };\nbehavior A { B b; void main(void) {} };\n" + MAIN,
     "2:14: 'A' and 'B' contain each other (one of them must do without the other)"),
    # what runs, waits and notifies
    (HEAD + "behavior B(i_s p) { void main(void) { p.send(); } };\n" + MAIN,
     "2:41: method 'send' of interface 'i_s' takes 1 argument, and 0 are given (it is declared as send(int x))"),
    (HEAD + "behavior B(i_s p) { void main(void) { p.send(1, 2); } };\n" + MAIN,
     "2:41: method 'send' of interface 'i_s' takes 1 argument, and 2 are given (it is declared as send(int x))"),
    ("channel c { int get(void) { return 1; } };\nbehavior Main { c x; int main(void) { return x.get(1); } };",
     "2:48: method 'get' of channel 'c' takes 0 arguments, and 1 is given (it is declared as get(void))"),
    (HEAD + "channel c implements i_s { void send(void) {} };\n" + MAIN,
     "2:33: method 'send' of channel 'c' takes 0 arguments, and interface 'i_s' has 1 (declare it as send(int x))"),    (HEAD + "behavior B(i_s p) { void main(void) { p.receive(); } };\n" + MAIN, "2:41: interface 'i_s' has no method 'receive' (it has send)"),
    (HEAD + "behavior B(i_s p) { void main(void) { p = 0; } };\n" + MAIN, "2:39: interface 'p' is only for calls of its methods"),
    ("behavior B { int main(void) { return 0; } };\nbehavior Main { B b; int main(void) { par { b; } return 0; } };",
     "2:45: main of behavior 'B' returns a value (write void main(void))"),
    ("behavior Main { int x; int main(void) { wait(x); return 0; } };", "1:46: 'x' is no event (declare it as event or signal)"),
    ("behavior Main { event e; int main(void) { return e; } };",
     "1:50: event 'e' is only for wait, notify, trap and interrupt"),
    ("behavior Main { event e, f; int main(void) { notify(e && f); return 0; } };", "1:46: 'notify' has a list with ',' (not '&&')"),
    ("behavior Main { event e[2]; int main(void) { wait(e); return 0; } };",
     "1:51: 'e': one event is meant, of an array one with its index (write e[0])"),
    ("behavior B { void main(void) {} };\nbehavior Main { B a, b; int main(void) { fsm { a: { goto c; } b: } return 0; } };",
     "2:58: no state 'c' in this fsm (states are the names before the colons)"),
    ("behavior B { void main(void) {} };\nbehavior Main { B a; int main(void) { fsm { a: a: } return 0; } };",
     "2:45: state 'a' is there twice (a behavior is one state)"),
    ("behavior Main { buffered bit[4] x; int main(void) { x[1]++; return 0; } };",
     "1:53: 'x' is buffered (assign the new value to all of it)"),
    ("buffered int x;\n" + MAIN, "1:14: 'x': buffered variables are parts of behaviors and channels (declare it in Main)"),
    ("extern signal int x;\n" + MAIN, "1:19: 'x': a global signal has no 'extern' (import the file that has it)"),
    ("behavior Main { piped int x; int main(void) { return x; } };",
     "1:54: piped variable 'x' is only for ports of a pipe's behaviors"),
    # places: after a macro, a comment, and in an included line
    ("#define ONE 1 +\nbehavior Main { int main(void) { return /* a word */ ONE   this; } };", "2:60: 'this' is only an argument where a parameter is an interface (the parts of the own class are reached by their names)"),
]


class Refused(unittest.TestCase):
    def message(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "m.sc")
            path.write_text(text + "\n" if text else text)
            modules = source.Modules(lambda file: source.preprocess(["cc"], file, [])[0], [])
            whole = source.Text(modules.load(path))
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
