# SPDX-License-Identifier: Apache-2.0
"""Damaged models end in a message, never in a traceback: fuzz.py SECONDS.

Words of the examples are left out, doubled, exchanged and replaced by others, by hypothesis, which
shortens what it finds. What is still accepted must be words that the compiler can at least read.
"""
import os
import pathlib
import re
import sys
import tempfile
import time

try:
    from hypothesis import HealthCheck, Phase, given, seed, settings, strategies
except ImportError:
    print("fuzz.py: no hypothesis here (install python3-hypothesis): skipped")
    sys.exit(77)

FOLDER = pathlib.Path(os.environ["SPECC_FOLDER"])
sys.path.insert(0, str(FOLDER))
import parse  # noqa: E402  (found through the line above)
import source  # noqa: E402
import translate  # noqa: E402

PARSER = parse.Parser()
WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|\w+|\s+|//[^\n]*|/\*.*?\*/|[^\w\s]', re.S)
MODELS = [[word for word in WORD.findall(path.read_text()) if not word.startswith(("//", "/*"))]
          for path in sorted((FOLDER / "../../examples/specc").resolve().glob("*.sc"))
          if path.stat().st_size < 4000]
MODELS += [WORD.findall(path.read_text()) for path in sorted((FOLDER / "import").glob("c_*.sc"))]
WORDS = sorted({word for model in MODELS for word in model if not word.isspace()}
               | {"signal", "bit", "note", "this", "piped", "buffered", "timing", "0101b", "typedef", "static",
                  "extern", "struct", "union", "enum", "sizeof", "goto", "case", "...", "->", "[", "]", "\x01", "$",
                  "\\", '"', "'", "#", "\u00e4", "\0"})


@strategies.composite
def damaged(draw):
    """A model with some words changed."""
    words = list(draw(strategies.sampled_from(MODELS)))
    for _ in range(draw(strategies.integers(1, 4))):
        at = draw(strategies.integers(0, len(words) - 1))
        other = draw(strategies.integers(0, len(words) - 1))
        change = draw(strategies.sampled_from(["drop", "double", "exchange", "replace", "insert", "cut"]))
        if change == "drop":
            del words[at]
        elif change == "double":
            words.insert(at, words[at])
        elif change == "exchange":
            words[at], words[other] = words[other], words[at]
        elif change == "replace":
            words[at] = draw(strategies.sampled_from(WORDS))
        elif change == "insert":
            words.insert(at, draw(strategies.sampled_from(WORDS)))
        else:
            del words[min(at, other):max(at, other)]
        words = words or [" "]
    return "".join(words)


counts = {"refused": 0, "accepted": 0}


def check(text):
    """Translates; anything but source.Error gets out."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "m.sc")
        path.write_text(text, errors="surrogateescape")
        try:
            flags = [f"-I{FOLDER / 'include'}", "-isystem", str(FOLDER / "runtime"), "-isystem",
                     str(FOLDER / "../../include"), "-include", "specc_runtime.h"]
            modules = source.Modules(lambda file: source.preprocess(["cc"], file, flags)[0], [FOLDER / "import"])
            whole = source.Text(modules.load(path))
            assert isinstance(translate.Translator(whole, PARSER.parse(whole)).translate(), str)
            counts["accepted"] += 1
        except source.Error as error:
            assert error.message and (error.place is None or error.place.line > 0)
            counts["refused"] += 1


def main(seconds):
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1
        run = seed(number)(given(damaged())(check))
        run = settings(max_examples=100, deadline=None, database=None, phases=[Phase.generate, Phase.shrink],
                       suppress_health_check=list(HealthCheck))(run)
        run()
    print(f"fuzz.py: {counts['refused']} damaged models were refused, {counts['accepted']} accepted (seeds 1 to {number})")


if __name__ == "__main__":
    main(float(sys.argv[1]))
