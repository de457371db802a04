# SPDX-License-Identifier: Apache-2.0
"""Values of constant expressions."""
import operator
import re

from lark import Token, Tree

from output import words

SIZES = {"char": 1, "short": 2, "": 4, "long": 8, "long long": 8, "float": 4, "double": 8, "bool": 1, "_Bool": 1}
BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
          "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, ">": operator.gt,
          "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
UNARY = {"+": operator.pos, "-": operator.neg, "~": operator.invert, "!": operator.not_}
ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8, "f": 12, "v": 11}


def literal(token):
    """The value of a number or a character, or None."""
    text = str(token)
    if text in ("true", "false"):
        return int(text == "true")
    if text.startswith("'"):
        inner = text[1:-1]
        return ord(inner) if len(inner) == 1 else ESCAPES.get(inner[1:]) if len(inner) == 2 else None
    match = re.fullmatch(r"(0[xX][\da-fA-F]+|\d+)[uUlL]*", text)
    if not match:
        return None
    digits = match[1]
    if digits.lower().startswith("0x"):
        return int(digits, 16)
    return int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits)


def evaluate(node, value_of):
    """The integer that an expression is, or None. value_of tells that of a name."""
    if isinstance(node, Token):
        return literal(node)
    parts = node.children
    if node.data == "name":
        return value_of(parts[0])
    if node.data == "parens":
        return evaluate(parts[1], value_of)
    if node.data == "bits":
        return int(str(parts[0]).lower().rstrip("ub"), 2)
    if node.data in ("initializer", "map_argument") and len(parts) == 1:
        return evaluate(parts[0], value_of)
    if node.data != "plain":
        return None
    if len(parts) == 1:
        return evaluate(parts[0], value_of)
    if str(parts[0]) == "sizeof":
        named = " ".join(words(part) for part in parts[2:-1]).split()
        return SIZES.get(" ".join(word for word in named if word not in ("int", "signed", "unsigned")))
    if str(parts[0]) == "(" and len(parts) == 4:  # a cast
        return evaluate(parts[3], value_of)
    return _operation(parts, value_of)


def _operation(parts, value_of):
    values = [evaluate(part, value_of) for part in parts if isinstance(part, Tree)]
    if None in values:
        return None
    if len(parts) == 2 and str(parts[0]) in UNARY:
        return int(UNARY[str(parts[0])](values[0]))
    if len(parts) == 5 and str(parts[1]) == "?":
        return values[1] if values[0] else values[2]
    if len(parts) != 3:
        return None
    if str(parts[1]) in ("/", "%") and values[1] != 0:
        quotient = abs(values[0]) // abs(values[1]) * (1 if (values[0] < 0) == (values[1] < 0) else -1)
        return quotient if str(parts[1]) == "/" else values[0] - quotient * values[1]
    return int(BINARY[str(parts[1])](*values)) if str(parts[1]) in BINARY else None
