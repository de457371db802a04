#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian that load plug-ins, unmodified: each rank prints what the program prints alone.

usage: programs.py TMPIRUN
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TMPIRUN = ""
RANKS = 4


def run(*command, **settings):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          timeout=550, **settings)


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def alike(self, name, *arguments):
        """Compares what each rank prints with what the program prints alone."""
        program = shutil.which(name)
        if program is None:
            self.skipTest(f"no {name}")
        alone = run(program, *arguments, cwd=self.folder)
        if alone.returncode != 0:
            self.skipTest(f"{name} does not work alone: {alone.stderr}")
        ranks = run(TMPIRUN, "-n", RANKS, f"--output={self.folder}/out", program, *arguments, cwd=self.folder)
        self.assertEqual(ranks.returncode, 0, ranks)
        self.assertNotEqual(alone.stdout, "")
        for rank in range(RANKS):
            self.assertIn(alone.stdout, (self.folder / f"out.{rank}").read_text(), f"rank {rank}: {ranks.stderr}")

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_lua(self):
        """Modules in C."""
        self.alike("lua5.4", "-e", "local json, lpeg = require 'cjson', require 'lpeg'"
                   " print(json.encode({1, 2}), lpeg.match(lpeg.R('az') ^ 1, 'abc1'))")

    def test_tcl(self):
        self.alike("tclsh", self.script("a.tcl", "package require http\nputs [http::config -useragent]\nputs [expr sqrt(2)]\n"))

    def test_ruby(self):
        """Extensions in C; a garbage collector that reads the stack."""
        self.alike("ruby", "-e", "require 'json'; require 'digest'; require 'zlib'; puts JSON.generate([1, 2]);"
                   " puts Digest::SHA256.hexdigest(Zlib.inflate(Zlib.deflate('a' * 1000)));"
                   " a = (1..5000).map { |i| \"s#{i}\" }; 5.times { GC.start }; puts a.sum { |s| s.size };"
                   " def f(n) n == 0 ? 0 : 1 + f(n + 1) end; begin; f(1); rescue SystemStackError; puts 'caught' end")

    def test_guile(self):
        """Boehm's garbage collector, which looks for the end of the stack itself; threads."""
        self.alike("guile", "--no-auto-compile", "-c", """
            (use-modules (ice-9 threads))
            (define (f n) (if (= n 0) '() (cons (make-string 100 #\\a) (f (- n 1)))))
            (do ((i 0 (+ i 1))) ((= i 10)) (f 3000))
            (gc)
            (display (list (length (f 1000)) (par-map (lambda (x) (* x x)) (iota 5))))
            (newline)""")

    def test_guile_threads(self):
        """The collector stops all threads by signals, the rank's own among them, on their own stacks."""
        self.alike("guile", "--no-auto-compile", "-c", """
            (define (work n)
              (let loop ((i 0) (l '()))
                (if (= i n) (length l) (loop (+ i 1) (if (= 0 (modulo i 1000)) '() (cons (make-string 50 #\\a) l))))))
            (use-modules (ice-9 threads))
            (display (apply + (map join-thread (map (lambda (k) (call-with-new-thread (lambda () (work 100000)))) (iota 6)))))
            (newline)""")

    def test_graphviz(self):
        """Plug-ins with dozens of libraries, some of them linked for pages of 2 MiB."""
        self.alike("dot", "-Tsvg", self.script("a.dot", "digraph { a -> b; b -> c; a -> c }"))

    def test_imagemagick(self):
        """A coder for each format; OpenMP."""
        self.alike("convert-im6.q16", "-size", "50x50", "gradient:red-blue", "-resize", "3x3", "txt:-")

    def test_sox(self):
        self.alike("sox", "-n", "-t", "dat", "-r", "8000", "-", "synth", "0.01", "sine", "440")

    def test_gstreamer(self):
        """A registry of plug-ins, made by a process of its own; modules of glib."""
        self.alike("gst-inspect-1.0", "audiotestsrc")

    def test_php(self):
        self.alike("php", "-r", "echo json_encode([1, sqrt(2)]), \"\\n\", hash('sha256', 'a'), \"\\n\";"
                   " $a = []; for ($i = 0; $i < 10000; $i++) $a[] = \"x$i\"; echo count($a), \"\\n\";")

    def test_vim(self):
        self.alike("vim.basic", "-es", "-u", "NONE", "-c", "put =sqrt(2.0)", "-c", "print", "-c", "q!")

    def test_sqlite(self):
        self.alike("sqlite3", ":memory:", "create table t(x); insert into t values (1), (2); select sum(x), sqrt(2) from t")

    def test_prolog(self):
        """Libraries in C, threads, a collector of garbage that moves terms."""
        self.alike("swipl", self.script("a.pl", """
            :- use_module(library(clpfd)).
            :- use_module(library(thread)).
            :- use_module(library(sort)).
            queens(N, Q) :- length(Q, N), Q ins 1..N, safe(Q), labeling([ff], Q).
            safe([]).
            safe([Q|R]) :- apart(Q, R, 1), safe(R).
            apart(_, [], _).
            apart(Q, [R|S], D) :- Q #\\= R, abs(Q - R) #\\= D, E is D + 1, apart(Q, S, E).
            work :- queens(6, Q), print(Q), nl, numlist(1, 20000, L), garbage_collect, sum_list(L, S), print(S), nl,
                concurrent_maplist([A, B]>>(B is A ** 20), [1, 2, 3, 4], M), print(M), nl,
                catch(atom_length(_, _), error(E, _), (print(E), nl)).
            :- initialization((work, halt)).
            """))

    def test_gnuplot(self):
        self.alike("gnuplot", self.script("a.plt", "set terminal svg\nf(x) = sin(x) / x\nset print '-'\n"
                                          "do for [i=1:5] { print i * f(i) }\nplot f(x), cos(x)\n"))

    def test_ngspice(self):
        """Models as plug-ins; the circuit and its interpreter are globals."""
        self.alike("ngspice", "-b", self.script("a.cir", """a filter and a digital inverter
            v1 1 0 dc 0 ac 1 sin(0 1 1k)
            r1 1 2 1k
            c1 2 0 100n
            a1 [2] [3] bridge
            .model bridge adc_bridge(in_low=0.1 in_high=0.3)
            a2 3 4 inverter
            .model inverter d_inverter(rise_delay=1n fall_delay=1n)
            a3 [4] [5] back
            .model back dac_bridge(out_low=0 out_high=3)
            r2 5 0 1k
            .control
            set norefvalue
            tran 20u 3m
            meas tran highest max v(2)
            meas tran digital avg v(5)
            ac dec 5 10 100k
            meas ac gain find vdb(2) at=1k
            quit
            .endc
            .end
            """))

    def test_python(self):
        missing = re.search(r"\(install (libpython\S+)\)", run(TMPIRUN, "-n", 1, "/usr/bin/python3", "-c", "").stderr)
        if missing:
            self.skipTest(f"no {missing[1]}")
        self.alike("/usr/bin/python3", "-c", "import ctypes, decimal, hashlib, json, sqlite3, zlib;"
                   " print(hashlib.sha256(zlib.compress(b'a')).hexdigest(), sqlite3.connect(':memory:').execute('select 1 + 1')"
                   ".fetchone(), decimal.Decimal(2).sqrt(), ctypes.CDLL(None).abs(-3))")


if __name__ == "__main__":
    TMPIRUN = pathlib.Path(sys.argv[1]).resolve()
    result = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2, exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if len(result.skipped) == result.testsRun else 0)
