# SPDX-License-Identifier: Apache-2.0
"""Puts many mutants into one text, of which a process chooses one when it starts (mutant.h)."""
import pathlib

HEADER = pathlib.Path(__file__).resolve().parent / "mutant.h"
TRUTHS = ("negate", "never", "compare")


def flat(text):
    """In one line, so that the text around keeps its line numbers."""
    return text.replace(b"\n", b" ")


def chosen(number, site, source, whole):
    """An expression with a mutant in it. Of a condition both forms are 0 or 1, so that they are of one type."""
    if site.operator == "drop":
        return b"(mutant_is(%d) ? (void)0 : (void)(%s))" % (number, whole)
    form = b"(mutant_is(%d) ? !!(%s) : !!(%s))" if site.operator in TRUTHS else b"(mutant_is(%d) ? (%s) : (%s))"
    return form % (number, flat(site.mutated(source)), whole)


def range_woven(source, first, last, items):
    """Bytes first to last with the mutants in them, of which inner ones are in the outer ones' unchanged form.
    Raises ValueError where two overlap."""
    made, at = b"", first
    items = sorted(items, key=lambda item: (item[1].start, -item[1].end, item[0]))
    while items:
        (number, site), others = items[0], items[1:]
        inner = [item for item in others if item[1].start < site.end]
        if site.start < at or any(item[1].end > site.end for item in inner):
            raise ValueError(f"{site.file}:{site.line}: mutants overlap")
        whole = range_woven(source, site.start, site.end, inner)
        made += source[at:site.start] + chosen(number, site, source, whole)
        at, items = site.end, others[len(inner):]
    return made + source[at:last]


def woven(source, items, alone=()):
    """A file with its mutants: (number, site). Of those in alone only the function notes that it was reached.
    Raises ValueError where two overlap."""
    places = {site.body: b"" for _, site in alone}
    for number, site in alone:
        places[site.body] += b" (void)mutant_is(%d);" % number
    made, at = b"", 0
    for body in sorted(places):
        made += range_woven(source, at, body, [item for item in items if at <= item[1].start < body]) + places[body]
        at = body
    made += range_woven(source, at, len(source), [item for item in items if item[1].start >= at])
    return b'#include "%s"\n#line 1\n' % str(HEADER).encode() + made


def fit(source, items, compiles):
    """The text of a file with these mutants, and the mutants which cannot be chosen at run time, such as constants.
    compiles() judges a text."""
    def text(kept, alone=()):
        try:
            return woven(source, kept, alone)
        except ValueError:
            return None

    def good(made):
        return made is not None and compiles(made)

    if good(text(items)):
        return text(items), []
    kept = []
    for item in items:
        if good(text([*kept, item])):
            kept.append(item)
    alone = [item for item in items if item not in kept]
    for noted in (alone, []):
        if good(text(kept, noted)):
            return text(kept, noted), alone
    return source, items
