# SPDX-License-Identifier: Apache-2.0
"""The C compiler's messages in the model's words.

They name functions and fields that specc makes: `c__send` is method `send` of channel `c`, and the object is the
first argument. A call by a port stands twice in the text where only one channel fits, so its mistakes come twice.
"""
import re

OBJECT = re.compile(r"(?<![\w.])(?:\(\*\s*)?sc_self->")
BY_PORT = re.compile(r"\b(\w+)\.methods->(\w+)")
METHOD = re.compile(r"(?<!\w)([A-Za-z]\w*?)__(?!sc_)([A-Za-z]\w*)")
ARGUMENT = re.compile(r"(passing argument )(\d+)( (?:of|to parameter).*)")
TABLE = re.compile(r"near initialization for .(\w+?)__sc_as_(\w+)\.(\w+)")
PLACE = re.compile(r"^(.*?:\d+): (?:error|warning): (.*)")
OURS = (": In function ", "In file included from <stdin>", "some warnings being treated as errors")


def of_model(text):
    """The messages without what only our text has."""
    lines = [line for line in text.splitlines() if not any(words in line for words in OURS)]
    said, seen, repeated = [], set(), False
    for number, line in enumerate(lines):
        table = TABLE.search(lines[number + 1]) if number + 1 < len(lines) else None
        place = PLACE.match(line)
        if table and place:
            line = (f"{place[1]}: error: method '{table[3]}' of '{table[1]}' has another type than interface '{table[2]}' "
                    "declares (write it as there)")
        elif TABLE.search(line):
            continue
        else:
            line = _named(line)
            mistake = re.sub(r"(?<=of )\S+", "", line)
            repeated = bool(mistake in seen and ARGUMENT.search(line) or repeated and not place)
            seen.add(mistake)
        if not repeated:
            said.append(line)
    return "".join(f"{line}\n" for line in said)


def _named(line):
    """A line with the names of the model."""
    method = METHOD.search(line) or BY_PORT.search(line)
    line = METHOD.sub(r"\1.\2", BY_PORT.sub(r"\1.\2", OBJECT.sub("", line)))
    if method:
        line = ARGUMENT.sub(lambda match: f"{match[1]}{int(match[2]) - 1}{match[3]}", line)
    return re.sub(r" \[-Werror[=,][^]]*\]$", "", line)
