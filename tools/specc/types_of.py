# SPDX-License-Identifier: Apache-2.0
"""Types, as far as SpecC needs them: bit vectors, arrays, signals, interfaces, and what leads to them.

What C's compiler knows better is `PLAIN`: translated text keeps C's own types there.
"""
from dataclasses import dataclass, field

from lark import Token, Tree

from model import declared_token, specs_of
from output import words

NARROW = 128  # bits of the widest integer of the C compiler; a wider vector is a structure (specc_bits.h)
WIDEST = 1 << 20


@dataclass
class Type:
    """kind: plain, integer (of C), bits, array, pointer, function, struct, class."""

    kind: str
    of: object = None  # what an array holds, a pointer points to, a function returns; a class
    left: int = 0  # a bit vector's indices
    right: int = 0
    signed: bool = False
    members: dict = field(default_factory=dict)  # a struct's

    @property
    def width(self):
        return abs(self.left - self.right) + 1

    @property
    def storage(self):
        """The C type that holds a bit vector."""
        if self.is_wide:
            return f"struct sc_{'s' if self.signed else 'u'}bits_{self.width}"
        name = next(name for bits, name in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"),
                                            (NARROW, "__int128")) if self.width <= bits)
        return f"{'signed' if self.signed else 'unsigned'} {name}"

    @property
    def is_wide(self):
        return self.kind == "bits" and self.width > NARROW

    @property
    def fills_storage(self):
        return self.is_wide or self.width in (8, 16, 32, 64, NARROW)

    def position(self, index):
        """Which bit an index means, counted from the last one, as C text."""
        return f"(({index}) - {self.right})" if self.left >= self.right else f"({self.right} - ({index}))"


PLAIN = Type("plain")
INTEGERS = frozenset(("char", "short", "int", "long", "signed", "unsigned"))


def bits(width, signed=False):
    return Type("bits", left=width - 1, right=0, signed=signed)


class Types:
    """Tells the type of declarations and expressions. `scope` finds names: see Body."""

    def __init__(self, collector, constant):
        self.collector, self._constant = collector, constant

    def of_specs(self, specs):
        """The type that declaration specifiers mean."""
        for bit in specs_of(specs, "bit_type"):
            return self._bit_type(bit, "unsigned" not in [words(c) for c in specs.children])
        for reference in specs_of(specs, "type_name_ref"):
            name = words(reference)
            cls = self.collector.classes.get(name)
            return Type("class", cls) if cls is not None else self.collector.typedefs.get(name, PLAIN)
        for struct in specs_of(specs, "struct_spec"):
            return self._struct(struct)
        return self._integer_type([words(basic) for basic in specs_of(specs, "basic_type")])

    @staticmethod
    def _integer_type(names):
        """An integer of C, whose bits slices take; other types of C are plain."""
        if not names or not INTEGERS.issuperset(names):
            return PLAIN
        width = next((width for name, width in (("char", 8), ("short", 16), ("long", 64)) if name in names), 32)
        return Type("integer", left=width - 1, right=0, signed="unsigned" not in names)

    def _bit_type(self, node, signed):
        bounds = [self._constant(child) for child in node.children if isinstance(child, Tree)]
        if None in bounds:
            raise self.collector.error(node.children[0], "the bounds of a bit vector are constants (write numbers, or "
                                                         "names of const variables with constant values)")
        left, right = bounds if len(bounds) == 2 else (bounds[0] - 1, 0)
        made = Type("bits", left=left, right=right, signed=signed)
        if made.width > WIDEST or len(bounds) == 1 and bounds[0] < 1:
            raise self.collector.error(node.children[0], f"a bit vector has 1 to {WIDEST} bits here, and this one "
                                                         f"{made.width if bounds[0] > 0 else bounds[0]} (split it)")
        return made

    def _struct(self, node):
        tags = [c for c in node.children if isinstance(c, Tree) and c.data == "any_name"]
        tag = words(tags[0]) if tags else None
        if not any(str(c) == "{" for c in node.children):
            return self.collector.structs.get(tag, PLAIN)
        made = Type("struct")
        for member in node.children:
            if isinstance(member, Tree) and member.data == "struct_member" and member.children[0].data == "decl_specs":
                for one in member.children[1:]:
                    if isinstance(one, Tree) and isinstance(one.children[0], Tree):
                        name = str(declared_token(one.children[0]))
                        made.members[name] = self.of_declarator(self.of_specs(member.children[0]), one.children[0])
        if tag is not None:
            self.collector.structs[tag] = made
        return made

    def of_declarator(self, base, node):
        """The type of what a declarator declares, from that of its specifiers."""
        inner = [c for c in node.children if isinstance(c, Tree)]
        if node.data == "declared":
            return base
        if node.data == "declarator":
            if inner[0].data == "pointer":
                for _ in (word for word in inner[0].children if str(word) == "*"):
                    base = Type("pointer", base)
                inner = inner[1:]
            return self.of_declarator(base, inner[0])
        if node.data in ("array", "function"):
            return self.of_declarator(Type("array" if node.data == "array" else "function", base), inner[0])
        return self.of_declarator(base, inner[0]) if inner else base

    def of_declared(self, specs, declarator):
        return self.of_declarator(self.of_specs(specs), declarator)

    def of_parameter(self, specs, declarator):
        """An array as a parameter is a pointer."""
        made = self.of_declared(specs, declarator)
        return Type("pointer", made.of) if made.kind == "array" else made

    # ---- expressions

    def of(self, node, scope):
        """The type of an expression; scope.type_of_name() and scope.type_of_call() know the names."""
        handler = getattr(self, "_of_" + str(node.data), None) if isinstance(node, Tree) else None
        return (handler(node, scope) if handler else None) or PLAIN

    @staticmethod
    def _of_name(node, scope):
        return scope.type_of_name(node.children[0])

    def _of_parens(self, node, scope):
        return self.of(node.children[1], scope)

    def _of_index(self, node, scope):
        base = self.of(node.children[0], scope)
        return bits(1) if base.kind == "bits" else base.of if base.kind in ("array", "pointer") else PLAIN

    def _of_slice(self, node, scope):
        left, right = self._constant(node.children[2]), self._constant(node.children[4])
        return bits(abs(left - right) + 1) if None not in (left, right) else PLAIN

    def _of_concat(self, node, scope):
        parts = [self.of(node.children[0], scope), self.of(node.children[2], scope)]
        return bits(sum(part.width for part in parts)) if all(part.kind == "bits" for part in parts) else PLAIN

    @staticmethod
    def _of_bits(node, scope):
        text = str(node.children[0]).lower()
        return bits(len(text.rstrip("ub")), "u" not in text)

    def _of_dot(self, node, scope):
        return self.of(node.children[0], scope).members.get(words(node.children[2]), PLAIN)

    def _of_arrow(self, node, scope):
        base = self.of(node.children[0], scope)
        return base.of.members.get(words(node.children[2]), PLAIN) if base.kind == "pointer" else PLAIN

    def _of_address(self, node, scope):
        return Type("pointer", self.of(node.children[1], scope))

    @staticmethod
    def _of_call(node, scope):
        return scope.type_of_call(node)

    def _of_assign(self, node, scope):
        return self.of(node.children[0], scope)

    def _of_step(self, node, scope):
        return self.of(next(c for c in node.children if isinstance(c, Tree)), scope)

    def _of_plain(self, node, scope):
        parts = node.children
        if len(parts) == 2 and str(parts[0]) == "*":
            inner = self.of(parts[1], scope)
            return inner.of if inner.kind in ("pointer", "array") else PLAIN
        if len(parts) == 2 and str(parts[0]) in ("~", "-", "+"):
            inner = self.of(parts[1], scope)
            return inner if inner.kind == "bits" else PLAIN
        if len(parts) == 4 and str(parts[0]) == "(" and isinstance(parts[1], Tree) and parts[1].data == "type_name":
            return self.of_specs(parts[1].children[0]) if len(parts[1].children) == 1 else PLAIN
        if len(parts) == 5 and str(parts[1]) == "?":
            return self.common(self.of(parts[2], scope), self.of(parts[4], scope))
        if len(parts) == 3 and isinstance(parts[1], Token) and str(parts[1]) in ("+", "-", "*", "/", "%", "&", "|", "^"):
            return self.common(self.of(parts[0], scope), self.of(parts[2], scope))
        if len(parts) == 3 and isinstance(parts[1], Token) and str(parts[1]) in ("<<", ">>"):
            left = self.of(parts[0], scope)
            return left if left.kind == "bits" else PLAIN
        return PLAIN

    @staticmethod
    def common(one, other):
        """Two bit vectors become as wide as the wider one, and signed if both are. An integer of C is narrower than
        a wide one."""
        if one.kind == "bits" and other.kind == "bits":
            return bits(max(one.width, other.width), one.signed and other.signed)
        return next((wide for wide in (one, other) if wide.is_wide), PLAIN)
