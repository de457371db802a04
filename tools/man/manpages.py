#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the man pages from the docstrings of the public headers.

One page per function, mltp_create(3) and so on, an overview mltp(7) from the comment of mltp.h,
and mltp-options(7) from what `mltp options` prints.
"""
import argparse
import pathlib
import re
import sys

import docstrings

REFERENCE = re.compile(r"\b(mltp_\w+)\(\)|\b((?:mltp[\w-]*|specc))\((\d)\)")
# Headers that mltp.h does not include.
APART = {"alternatives.h", "sim.h", "thesis.h"}
# One option, as `mltp options` prints it where nothing is set.
OPTION = re.compile(r"^(\w+) +\(unset\) +default (\S+) +(.*)\n +\[(.*)\]\n", re.M)
# A bullet, with the lines of it that are indented.
ITEM = re.compile(r"^ *- (.*(?:\n(?! *- ) +\S.*)*)", re.M)


def escape(text):
    """Text as roff: no backslash, hyphen or leading dot means anything."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=['.])", r"\\&", text, flags=re.M)


def references(text, own):
    """Pages a text speaks of, as (name, section), without its own."""
    found = {(m[1] or m[2], m[3] or "3") for m in REFERENCE.finditer(text)}
    return {page for page in found if page[0] not in own}


def inline(text):
    """Running text as roff, with the functions and pages it names in bold."""
    text = escape(" ".join(text.split()))
    text = re.sub(r"\*(\w+)\*", r"\\fI\1\\fR", text)
    return re.sub(r"\b(mltp(?:_\w+|\\-options)?|specc)\((\d?)\)",
                  lambda m: f"\\fB{m[1]}\\fR({m[2] or 3})", text)


def prose(text):
    """Paragraphs and bullets as roff."""
    lines = []
    for paragraph in re.split(r"\n\s*\n", text):
        head, *items = ITEM.split(paragraph)
        if head.strip():
            lines += [".PP", inline(head)]
        for item in items:
            if item.strip():
                lines += [".IP \\(bu 2", inline(item)]
    return "\n".join(lines[1:] if lines[:1] == [".PP"] else lines)


def code(text):
    return f".nf\n{escape(text.strip())}\n.fi"


def see_also(pages):
    pages = sorted(pages, key=lambda page: (page[1], page[0]))
    return ",\n".join(f".BR {escape(name)} ({section})" for name, section in pages)


def first_sentence(text):
    sentence = re.split(r"(?<=\w|\))[.:;]\s", " ".join(text.split()) + " ", maxsplit=1)[0]
    return re.sub(r"\s*\([^()]*\)$", "", sentence).rstrip(". ")


def summary(function):
    if function.text:
        return first_sentence(function.text)
    return "returns " + function.returns.split(". ")[0].rstrip(".").replace("\n", " ")


def page(names, section, about, date, sections):
    """A whole page; sections without a body are left out."""
    about = about[:1].lower() + about[1:]
    parts = [f'.\\" Made from the docstrings of the headers.\n.TH {escape(names[0].upper())} '
             f'{section} {date} MLTP "MLTP Manual"',
             f".SH NAME\n{escape(', '.join(names))} \\- {escape(about)}"]
    parts += [f".SH {title}\n{body}" for title, body in sections if body]
    return "\n".join(parts) + "\n"


def types_of(function, types):
    """The open structures and enumerations a function's prototype names."""
    named = set(re.findall(r"\bmltp_\w+_t\b", function.prototype))
    for comment, text in types:
        is_open = text.startswith("typedef") and not re.search(r"\w_;", text)
        if is_open and named & set(re.findall(r"\bmltp_\w+\b", text.splitlines()[-1])):
            yield f"{prose(comment)}\n.PP\n{code(text)}"


def function_page(function, aliases, types, include, date):
    names = [function.name, *(alias.name for alias in aliases)]
    prototypes = "\n".join([function.prototype, *(alias.prototype for alias in aliases)])
    about = summary(function)
    description = prose(function.text) or inline(f"{about[:1].upper()}{about[1:]}.")
    for name, meaning in function.params:
        description += f"\n.TP\n.I {escape(name)}\n{inline(meaning)}"
    everything = " ".join([function.text, function.returns, *function.notes.values(),
                           *(meaning for _, meaning in function.params)])
    pages = references(everything, own=names)
    return page(names, 3, about, date, [
        ("SYNOPSIS", f".nf\n.B #include <mltp/{include}>\n.PP\n{escape(prototypes)}\n.fi"),
        ("DESCRIPTION", description),
        ("TYPES", "\n.PP\n".join(types_of(function, types))),
        ("RETURN VALUE", inline(function.returns)),
        ("BLOCKS", inline(function.notes.get("Blocks", ""))),
        ("CONTEXT", inline(function.notes.get("Context", ""))),
        ("SEE ALSO", see_also({*pages, ("mltp", "7")})),
    ])


def overview_page(headers, date):
    first, _, rest = headers["mltp.h"].comment.partition("\n")
    functions = []
    for name, header in headers.items():
        if header.functions:
            functions.append(f".SS {escape(name)}\n{prose(header.comment)}")
        functions += [f".TP\n.BR {function.name} (3)\n{escape(summary(function))}"
                      for function in header.functions if not function.alias]
    return page(["mltp"], 7, first.removeprefix("MLTP: ").partition(".")[0], date, [
        ("SYNOPSIS", ".B #include <mltp/mltp.h>\n.PP\n.B cc program.c $(pkg\\-config "
                     "\\-\\-cflags \\-\\-libs mltp)"),
        ("DESCRIPTION", prose(rest)),
        ("FUNCTIONS", "\n".join(functions)),
        ("SEE ALSO", see_also([("mltp-limits", "7"), ("mltp-options", "7"),
                               ("mltp-signals", "7"), ("mltp-threads", "7")])),
    ])


def options_page(table, date):
    rows = OPTION.findall(table)
    if not rows or OPTION.sub("", table).strip():
        sys.exit("manpages: cannot make mltp-options(7): `mltp options` prints what is no option"
                 " (see OPTION)")
    entries = [f".TP\n.B {variable}\n{inline(meaning)}.\n.br\nIt is {inline(allowed)};"
               f" unless set: {inline(default)}." for variable, default, meaning, allowed in rows]
    return page(["mltp-options"], 7, "environment variables MLTP reads at its start", date, [
        ("DESCRIPTION", "\\fBmltp options\\fR shows these with their values in the environment."),
        ("ENVIRONMENT", "\n".join(entries)),
        ("SEE ALSO", see_also([("mltp", "7"), ("mltp_init", "3")])),
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--include", type=pathlib.Path, required=True, help="folder of the headers")
    parser.add_argument("--options", type=pathlib.Path, help="output of `mltp options`")
    parser.add_argument("--date", required=True, help="date to print, YYYY-MM-DD")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder to write to")
    args = parser.parse_args()

    headers = {path.name: docstrings.read(path.read_text())
               for path in sorted(args.include.glob("*.h"))}
    types = [entry for header in headers.values() for entry in header.types]
    pages = {"man7/mltp.7": overview_page(headers, args.date)}
    if args.options:
        pages["man7/mltp-options.7"] = options_page(args.options.read_text(), args.date)
    for name, header in headers.items():
        include = name if name in APART else "mltp.h"
        for function in header.functions:
            aliases = [other for other in header.functions if other.alias == function.name]
            if not function.alias:
                text = function_page(function, aliases, types, include, args.date)
                pages |= {f"man3/{name.name}.3": text for name in (function, *aliases)}
    for name, text in pages.items():
        path = args.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
