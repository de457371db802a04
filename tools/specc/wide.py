# SPDX-License-Identifier: Apache-2.0
"""Translates what bit vectors of more than 128 bits do.

C has no integer for them: each type is a structure of words, and functions of specc_bits.h work on the words. C's
compiler refuses a structure where an integer stands, so what is not translated here does not compile.
"""
import re

from lark import Token, Tree

from output import flat
from types_of import PLAIN, bits

FUNCTIONS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "&": "and", "|": "or", "^": "xor"}
SHIFTS = {"<<": "shl", ">>": "shr"}
COMPARING = ("==", "!=", "<", ">", "<=", ">=")
STRUCTURE = re.compile(r"struct (sc_[su]bits_(\d+))")


def definitions(text):
    """The structures that a C text names."""
    return "".join(f"struct {name} {{ unsigned long long word[{(int(width) + 63) // 64}]; }};\n"
                   for name, width in sorted(set(STRUCTURE.findall(text))))


def at(one, value):
    """The words of a value, which any expression is."""
    return [f"((({one.storage}[1]){{", value, "})->word)"]


def _made(one, function, *operands):
    """A value of one's type by a function."""
    return [f"(*({one.storage} *)sc_bits_{function}((({one.storage}[1]){{{{{{0}}}}}})->word, {one.width}, {int(one.signed)},",
            *([",", operand] if number else operand for number, operand in enumerate(operands)), "))"]


def constant(one, value):
    """A number as a value that C's compiler knows."""
    value &= (1 << one.width) - 1
    if one.signed and value >> (one.width - 1):
        value |= -1 << one.width
    words = [f"{value >> at & (2**64 - 1)}ULL" for at in range(0, one.width, 64)]
    while len(words) > 1 and words[-1] == "0ULL":
        words.pop()
    return f"(({one.storage}){{{{{', '.join(words)}}}}})"


def converted(one, value, given):
    """A value of another type as one of a wide one."""
    if given.is_wide:
        same = (given.width, given.signed) == (one.width, one.signed)
        return value if same else _made(one, "from", at(given, value), str(given.width), str(int(given.signed)))
    if given.kind == "bits":
        return _made(one, "of", ["(unsigned __int128)(", value, ")"], str(int(given.signed)))
    return _made(one, "of", ["(", _checked(value), "(unsigned __int128)(__int128)(", value, "))"], "1")


def _checked(value):
    """Has C's compiler refuse a floating-point number: one that does not fit would become anything."""
    if all(str(word).isdigit() for word in flat(value)):
        return []
    return ["(void)sizeof(struct { _Static_assert(_Generic((", value, "), float: 0, double: 0, long double: 0, default: 1), "
            '"a floating-point number becomes a bit vector of more than 128 bits by an integer (write (long long)x)"); '
            "int sc_none; }),"]


def integer(value, given):
    """A value as an integer of C: its lowest 128 bits if it is wide."""
    if not given.is_wide:
        return value
    return [f"(({'' if given.signed else 'unsigned '}__int128)sc_bits_low(", at(given, value), "))"]


def truth(value, given):
    """A value where C asks whether it is zero."""
    return ["sc_bits_any(", at(given, value), f", {given.width})"] if given.is_wide else value


def cut(base, place, last, width, reverse):
    """Some bits of a vector whose words are at a place."""
    part = bits(width)
    if part.is_wide:
        return _made(part, "cut", place, str(base.width), last, str(int(reverse)))
    got = ["sc_bits_get(", place, f", {base.width},", last, f", {width})"]
    return [f"(({part.storage})", [f"sc_reversed({width},", got, ")"] if reverse else got, ")"]


def spread(one, port, following):
    """The bits of a port that is mapped to bits of variables."""
    return [f"(*({one.storage} *)sc_spread_get_wide((({one.storage}[1]){{{{{{0}}}}}})->word, {one.width}, {int(one.signed)},", port,
            f", {following}))"]


def put(base, last, part, reverse):
    """Changes some bits of *sc_at to those of sc_new."""
    turned = [f"{part.storage} sc_turned = sc_new; sc_bits_reverse(&sc_turned, {part.width});"] if reverse else []
    return [turned, f"sc_bits_put(sc_at->word, {base.width}, {int(base.signed)},", last,
            f", {part.width}, &{'sc_turned' if reverse else 'sc_new'});"]


def joined(whole, *parts):
    """A vector of two."""
    rows = [operand for part, value in parts for operand in (
        value if part.is_wide else [f"&({part.storage}){{", value, "}"], str(part.width))]
    return _made(whole, "join", *rows)


def operated(operator, left, left_type, right, right_type):
    """What an operator makes of two values of which one is wide at least, and its type."""
    if operator in SHIFTS:
        right = integer(right, right_type)
        if not left_type.is_wide:
            return [left, operator, right], left_type
        return _made(left_type, SHIFTS[operator], at(left_type, left), ["(unsigned long long)(", right, ")"]), left_type
    if operator in ("&&", "||"):
        return [truth(left, left_type), operator, truth(right, right_type)], PLAIN
    both = [one for one in (left_type, right_type) if one.kind == "bits"]
    common = next(one for one in both if one.width == max(other.width for other in both))
    common = bits(common.width, all(one.signed for one in both))
    operands = [at(common, converted(common, left, left_type)), at(common, converted(common, right, right_type))]
    if operator in COMPARING:
        return ["(sc_bits_compare(", operands[0], ",", operands[1], f", {common.width}, {int(common.signed)})", operator, "0)"], PLAIN
    return _made(common, FUNCTIONS[operator], *operands), common


def operation(body, parts):
    """An expression or a statement of which a part is wide, or None."""
    types = [body.type_of(part) if isinstance(part, Tree) else PLAIN for part in parts]
    is_cast = len(parts) == 4 and str(parts[0]) == "(" and isinstance(parts[1], Tree) and parts[1].data == "type_name"
    target = body.type_of(Tree("plain", parts)) if is_cast else PLAIN
    if not any(one.is_wide for one in (*types, target)):
        return None
    if is_cast:
        return _cast(body, parts, types[3], target)
    if len(parts) == 2 and isinstance(parts[0], Token):
        return _unary(body, str(parts[0]), parts[1], types[1])
    if len(parts) == 3 and isinstance(parts[0], Tree) and str(parts[1]) in (*FUNCTIONS, *SHIFTS, *COMPARING, "&&", "||"):
        return operated(str(parts[1]), body.translate(parts[0]), types[0], body.translate(parts[2]), types[2])[0]
    if len(parts) == 5 and str(parts[1]) == "?":
        return _choice(body, parts, types)
    if str(parts[0]) in ("if", "while", "do"):
        return [body.translate(part) if isinstance(part, Token) else truth(body.translate(part), one)
                for part, one in zip(parts, types)]
    return None


def _cast(body, parts, given, target):
    value = body.translate(parts[3])
    if target.is_wide:
        return converted(target, value, given)
    if target.kind == "bits":
        return None
    return ["(", body.translate(parts[1]), ")", integer(value, given)]


def _unary(body, operator, node, one):
    if operator == "!":
        return ["(!", truth(body.translate(node), one), ")"]
    if operator == "+":
        return body.translate(node)
    if operator in ("~", "-"):
        return _made(one, "not" if operator == "~" else "neg", body.operand(node))
    return None


def _choice(body, parts, types):
    common = body.types.common(types[2], types[4])
    values = [converted(common, body.translate(parts[at]), types[at]) if common.is_wide else body.translate(parts[at])
              for at in (2, 4)]
    return [truth(body.translate(parts[0]), types[0]), "?", values[0], ":", values[1]]
