# SPDX-License-Identifier: Apache-2.0
"""Maps ports to bits of variables and signals, and to several joined by '@'.

A port is a pointer otherwise. One that an instance somewhere maps to bits is spread in all instances: it has a list
of the places that its bits are in, from the first one, and is read and changed by it (specc_spread.h).
"""
from lark import Tree

from model import without_parens


def whole_at(port, at, name):
    """Connects a port with a variable or a signal of its own type."""
    if not port.spread:
        return [at, f"&{name}.sc_signal;" if port.kind == "signal" else f"(void *)&{name};"]
    one, signal, value = port.c_type, "0", name
    if port.kind == "signal":
        signal, value = f"&{name}.sc_signal", f"{name}.now"
    steps = [at, "sc_spread_new(); sc_spread_add(", at[:-1], f", {signal}, &{value}, sizeof {value}, {one.width}, "
             f"{int(one.signed)}, 0, {one.width});"]
    return [*steps, _watched(port, at[:-1], f'"{port.name}"')]


def _watched(port, at, name):
    return ["sc_spread_watch(", at, ",", name, ");"] if port.kind == "signal" else []


def view_at(part, token):
    """The events of a port of signals' bits, up to the name of one; None: it is no such port."""
    return ["sc_self->", token, "->view."] if part.spread else None


class Spread:
    """The map of one port."""

    def __init__(self, body, check, port, at, name):
        self._body, self._check, self._port, self._at = body, check, port, at
        self._width, self._name = 0, name

    def mapped(self, expression):
        """The statements that connect the port; None: it gets a constant."""
        if not self._is_variable(expression):
            return None
        steps = self._add(expression)
        if self._width != self._port.c_type.width:
            raise self._body.error(next(expression.scan_values(lambda _: True)), f"port '{self._port.name}' has "
                                   f"{self._port.c_type.width} bits, and {self._width} are mapped (map as many)")
        return [self._at, "= sc_spread_new();", steps, _watched(self._port, self._at, f'sc_path(sc_name, "{self._name}")')]

    def _is_variable(self, expression):
        name = next(expression.find_data("name"), None)
        return name is not None and self._given(name) is not None

    def _given(self, name):
        """The variable or port that a name means, or None for a constant."""
        known = self._body.declared(name.children[0])
        return known if known is not None and known.kind != "function" and known.value is None else None

    def _add(self, expression):
        expression = without_parens(expression)
        if expression.data == "concat":
            return [self._add(expression.children[0]), self._add(expression.children[2])]
        body = self._body
        of_bits = expression.data in ("slice", "index") and body._slice_at(expression) is not None
        whole = without_parens(expression.children[0]) if of_bits else expression
        base = without_parens(whole.children[0]) if whole.data == "index" else whole
        token = next(expression.scan_values(lambda _: True))
        given = self._given(base) if base.data == "name" else None
        one = body.type_of(whole)
        if given is None or one.kind not in ("bits", "integer"):
            raise body.error(token, f"port '{self._port.name}' is mapped to what is no bit vector here (name variables, bits "
                                    "and slices of them, and join them by '@')")
        self._check(body.cls, self._port, given, base.children[0], True)
        last, width = self._bits(expression) if of_bits else ("0", one.width)
        self._width += width
        if given.spread:
            return ["sc_spread_cut(", self._at, ", sc_self->", base.children[0], f", {last}, {width});"]
        place = body.translate(whole)
        signal = ["(struct sm_signal *)&", body.signal_at(given, base.children[0]), "buffered"] if given.kind == "signal" else "0"
        return ["sc_spread_add(", self._at, ",", signal, ", (void *)&(", place, "), sizeof(", place,
                f"), {one.width}, {int(one.signed)}, {last}, {width});"]

    def _bits(self, expression):
        """Where the bits end that a slice or an index names, and how many they are."""
        body, token = self._body, expression.children[1]
        if expression.data == "index" and body.value(expression.children[2]) is None:
            raise body.error(token, "a port is mapped to the same bit always (the number is a constant)")
        base, last, width, reverse = body._slice_at(expression)
        if reverse:
            raise body.error(token, f"a port is mapped to bits in their order (write [{base.left}:{base.right}])")
        if expression.data == "index":
            bit = body.value(expression.children[2])
            return str(abs(bit - base.right)), width
        return last[0], width
