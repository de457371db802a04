# SPDX-License-Identifier: Apache-2.0
"""Translates what bit vectors do: slices, concatenation, operators, assignment.

A bit vector is an integer of C whose value always fits: signed ones are kept sign-extended, others with zeros
above. `fit` makes a value so. Of two operands the narrower one is extended, and the result has the width of the
wider one. Vectors of more than 128 bits are in wide.py.
"""
from lark import Token, Tree

import wide
from types_of import NARROW as NARROW_BITS, PLAIN, WIDEST, bits

NARROW, WIDE = "unsigned long long", "unsigned __int128"
OVERFLOWING = ("+", "-", "*", "<<")
COMPARING = ("==", "!=", "<", ">", "<=", ">=")


def word_of(width):
    return NARROW if width <= 64 else WIDE


def fit(one, value, given=PLAIN):
    """A value as one of a bit vector's type; given: the type that the value has."""
    if one.is_wide:
        return wide.converted(one, value, given)
    value = wide.integer(value, given)
    if one.fills_storage:
        return [f"(({one.storage})(", value, "))"]
    word, size = (NARROW, 64) if one.width <= 64 else (WIDE, 128)
    if one.signed:
        spare = size - one.width
        signed = word.replace("unsigned ", "")
        return [f"(({one.storage})(({signed})(({word})(", value, f") << {spare}) >> {spare}))"]
    return [f"(({one.storage})(({word})(", value, f") & ((({word})1 << {one.width}) - 1)))"]


def literal(text):
    """A bit vector's literal as C."""
    digits = text.lower().rstrip("ub")
    value = int(digits, 2)
    signed = "u" not in text.lower()
    if signed and digits[0] == "1":
        value -= 1 << len(digits)
    if len(digits) > NARROW_BITS:
        return wide.constant(bits(len(digits), signed), value)
    if len(digits) < 64:
        return f"({value}{'LL' if len(digits) > 31 else ''})"
    return f"((__int128)((({WIDE}){(value >> 64) & (2**64 - 1)}ULL << 64) | {value & (2**64 - 1)}ULL))"


class Bits:
    """A part of Body."""

    def do_bits(self, node):
        return [node.children[0].update(value=literal(str(node.children[0])))]

    def _slice_at(self, node):
        """Of a slice or a single bit: the type of the whole, the last position as C, the width, and whether it
        runs the other way; None for what is no bit vector."""
        base = self.type_of(node.children[0])
        if base.kind != "bits" and (base.kind != "integer" or node.data != "slice"):
            if node.data == "slice":
                raise self.error(node.children[1], "only bit vectors and integers have slices (declare it as "
                                                   "bit[LEFT:RIGHT])")
            return None
        if node.data == "index":
            constant = self.value(node.children[2])
            if constant is not None and not min(base.left, base.right) <= constant <= max(base.left, base.right):
                raise self.error(node.children[1], f"a bit vector [{base.left}:{base.right}] has no bit {constant}")
            return base, ["(", *base.position("\0").split("\0", 1)[:1], self.translate(node.children[2]),
                          *base.position("\0").split("\0", 1)[1:], ")"], 1, False
        left, right = self.value(node.children[2]), self.value(node.children[4])
        if None in (left, right):
            raise self.error(node.children[1], "the bounds of a slice are constants (shift and mask instead)")
        for bound in (left, right):
            if not min(base.left, base.right) <= bound <= max(base.left, base.right):
                raise self.error(node.children[1], f"a bit vector [{base.left}:{base.right}] has no bit {bound}")
        sign = 1 if base.left >= base.right else -1
        first, last = (left - base.right) * sign, (right - base.right) * sign
        return base, [str(min(first, last))], abs(first - last) + 1, first < last

    def do_slice(self, node):
        base, last, width, reverse = self._slice_at(node)
        return self._sliced(base, self.operand(node.children[0]), last, width, reverse)

    @staticmethod
    def _sliced(base, value, last, width, reverse):
        if base.is_wide:
            return wide.cut(base, value, last, width, reverse)
        word = word_of(base.width)
        cut = [f"(({word})(", value, ") >>", last, ")"]
        result = bits(width)
        return fit(result, [f"sc_reversed({width},", cut, ")"] if reverse else cut)

    def do_index(self, node):
        found = self._slice_at(node)
        if found is None:
            return [self.translate(child) for child in node.children]
        base, last, width, reverse = found
        return self._sliced(base, self.operand(node.children[0]), last, width, reverse)

    def do_concat(self, node):
        parts = [self.type_of(node.children[0]), self.type_of(node.children[2])]
        for part, child in zip(parts, (node.children[0], node.children[2])):
            if part.kind != "bits":
                raise self.error(node.children[1], "'@' joins bit vectors (write (bit[8])x for another value)")
        whole = bits(parts[0].width + parts[1].width)
        if whole.width > WIDEST:
            raise self.error(node.children[1], f"'@' makes a bit vector of {whole.width} bits; {WIDEST} is the most")
        if whole.is_wide:
            return wide.joined(whole, *((part, self.operand(child)) for part, child in zip(parts, node.children[::2])))
        word = word_of(whole.width)
        return fit(whole, [f"(({word})", fit(bits(parts[0].width), self.translate(node.children[0])),
                           f"<< {parts[1].width}) |", fit(bits(parts[1].width), self.translate(node.children[2]))])

    # ---- assignment

    def _stored(self, node, value):
        """Assigns to an expression; value: made of the words of what it is before."""
        part, token = self._target(node)
        if part is not None and part.kind in ("buffered", "signal"):
            if node.data in ("name", "parens"):
                return self.written(part, token, value(self.translate(node)))
            return self._changed_part(node, lambda now: ["*sc_at =", value(now)])
        return ["({ __typeof__(", self.translate(node), ") *sc_at = &(", self.translate(node), "); *sc_at =",
                value(["*sc_at"]), "; })"]

    def assign_bits(self, left, operator, right, given):
        """An assignment to a bit vector or a part of one, or None; given: the type of what is right."""
        while left.data == "parens":
            left = left.children[1]
        if left.data == "concat":
            raise self.error(left.children[1], "'@' cannot be assigned to (assign to each part)")
        if left.data in ("slice", "index"):
            found = self._slice_at(left)
            if found is not None:
                return self._assign_slice(left.children[0], found, operator, right, given)
        one = self.type_of(left)
        if one.kind != "bits":
            return None
        if operator == "=":
            part, token = self._target(left) if left.data == "name" else (None, None)
            if part is not None and part.kind in ("buffered", "signal"):
                return self.written(part, token, fit(one, right, given))
            return [self.new_part(left), "=", fit(one, right, given)]
        return self._stored(left, lambda old: self._operated(one, old, operator, right, given))

    @staticmethod
    def _operated(one, old, operator, right, given):
        """The value after an assignment with an operator."""
        if one.is_wide or given.is_wide:
            return fit(one, *wide.operated(operator[:-1], old, one, right, given))
        return fit(one, [old, operator[:-1], "(", right, ")"])

    def _assign_slice(self, base_node, found, operator, right, given):
        """Assigns to some bits of an expression; the others stay, also the bits assigned before in this delta. The
        new bits are known first: what is assigned may wait."""
        base, last, width, reverse = found
        part = bits(width)
        old = self._sliced(base, ["sc_at->word" if base.is_wide else "*sc_at"], last, width, reverse)
        new = fit(part, right, given) if operator == "=" else self._operated(part, old, operator, right, given)
        put = wide.put(base, last, part, reverse) if base.is_wide else self._put(base, last, width, reverse)
        return ["({ __typeof__(", self.new_part(base_node), ") *sc_at = &(", self.new_part(base_node), ");", part.storage, "sc_new =",
                new, ";", put, "sc_new;" if part.is_wide else "sc_new += 0;", "})"]  # clang calls 'sc_new;' unused

    @staticmethod
    def _put(base, last, width, reverse):
        """Changes some bits of *sc_at to those of sc_new."""
        word = word_of(base.width)
        mask = f"((({word})1 << {width}) - 1)" if width < 64 or word == WIDE and width < 128 else f"(~({word})0)"
        new = f"sc_reversed({width}, sc_new)" if reverse else f"(sc_new & {mask})"
        return ["*sc_at =", fit(base, [f"(({word})*sc_at & ~({mask} <<", last, f")) | (({word}){new} <<", last, ")"]), ";"]

    def step_bits(self, node):
        """++ or -- of a bit vector, or None."""
        prefix = isinstance(node.children[0], Token)
        operator, target = (node.children[0], node.children[1]) if prefix else (node.children[1], node.children[0])
        one = self.type_of(target)
        if one.kind != "bits" or one.fills_storage and not one.is_wide:
            return None
        store = ["*sc_at =", self._operated(one, ["*sc_at"], f"{str(operator)[0]}=", ["1"], PLAIN), ";"]
        at = ["({ __typeof__(", self.translate(target), ") *sc_at = &(", self.translate(target), ");"]
        return [at, store, "})"] if prefix else [at, f"{one.storage} sc_old = *sc_at;", store, "sc_old; })"]

    # ---- operators

    def operate_on_bits(self, parts):
        """An expression with an operator, or None if C's own meaning is right."""
        wider = wide.operation(self, parts)
        if wider is not None:
            return wider
        if len(parts) == 2 and str(parts[0]) in ("~", "-") and isinstance(parts[1], Tree):
            one = self.type_of(parts[1])
            return fit(one, [parts[0], self.translate(parts[1])]) if one.kind == "bits" else None
        if len(parts) == 4 and str(parts[0]) == "(" and isinstance(parts[1], Tree) and parts[1].data == "type_name":
            one = self.type_of(Tree("plain", parts))
            return fit(one, self.translate(parts[3])) if one.kind == "bits" else None
        if len(parts) != 3 or not isinstance(parts[1], Token) or not isinstance(parts[0], Tree):
            return None
        left, right, operator = self.type_of(parts[0]), self.type_of(parts[2]), str(parts[1])
        if operator == "<<" and left.kind == "bits":
            return fit(left, [self.translate(parts[0]), parts[1], self.translate(parts[2])])
        common = self.types.common(left, right)
        if common.kind != "bits":
            return None
        values = [self.translate(parts[0]), self.translate(parts[2])]
        if left.signed != right.signed:
            values = [fit(common, value) for value in values]
        whole = [values[0], parts[1], values[1]]
        return whole if operator in COMPARING or operator not in OVERFLOWING else fit(common, whole)
