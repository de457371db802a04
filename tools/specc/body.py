# SPDX-License-Identifier: Apache-2.0
"""Translates what stands in functions and methods: names, expressions, C's statements.

Names are looked up as in C, then among the parts of the behavior or channel. Where several threads
may meet, at ports, channels, globals and functions of C, sc_ordered() comes first: it keeps the
order of one VP on several (mltp_sim_ordered()).
"""
from lark import Token, Tree

from constructs import Constructs
from model import declared_token, find, has_storage, specs_of
from output import flat, words

SELF = "sc_self->"
MOST_TWICE = 40  # words


class Body(Constructs):
    """Translates the body of one function; `cls` is the class of a method, or None."""

    def __init__(self, collector, cls, functions, outlined):
        self.collector, self.cls = collector, cls
        self.functions = functions  # names of functions that the text defines
        self.outlined = outlined  # functions made of what stands here; written before this one
        self.scopes = [set()]
        self.labels = 0

    def error(self, token, message):
        return self.collector.error(token, message)

    def translate(self, node):
        """A tree or a word as a list of words."""
        if isinstance(node, Token):
            return [node]
        handler = getattr(self, "do_" + str(node.data), None)
        return handler(node) if handler else [self.translate(child) for child in node.children]

    # ---- names

    def declare(self, name):
        self.scopes[-1].add(str(name))

    def is_local(self, name):
        return any(str(name) in scope for scope in self.scopes)

    def part(self, name):
        """The part of the class that a name means here, or None."""
        if self.cls is None or self.is_local(name):
            return None
        return self.cls.find(str(name))

    def do_name(self, node):
        token = node.children[0]
        part = self.part(token)
        if part is not None:
            return self._member(token, part)
        known = None if self.is_local(token) else self.collector.globals.get(str(token))
        if known is not None and known.kind == "variable":
            return ["(*(sc_ordered(), &", token, "))"]
        if known is not None and known.kind == "event":
            raise self.error(token, f"event '{token}' is only for wait, notify, trap and interrupt")
        if not self.is_local(token) and str(token) in self.collector.classes:
            raise self.error(token, f"'{token}' is a class, not a value")
        return [token]

    def _member(self, token, part):
        is_port = part in self.cls.ports
        if part.kind == "variable" and is_port:
            return ["(*(sc_ordered(),", SELF, token, "))"]
        if part.kind == "variable":
            return [SELF, token]
        if part.kind == "buffered":
            return [SELF, token, ".now"]
        if part.kind == "piped":
            raise self.error(token, f"piped variable '{token}' is only for ports of a pipe's behaviors")
        if part.kind == "function":
            raise self.error(token, f"method '{token}' must be called")
        uses = {"event": "wait, notify, trap and interrupt", "instance": "calls of its methods",
                "interface": "calls of its methods"}
        raise self.error(token, f"{part.kind} '{token}' is only for {uses[part.kind]}")

    # ---- what is assigned

    def _target(self, node):
        """The part of the class that an expression changes, if it is one as a whole."""
        inner = node
        while inner.data in ("parens", "index", "dot"):
            inner = inner.children[1] if inner.data == "parens" else inner.children[0]
        return (self.part(inner.children[0]), inner.children[0]) if inner.data == "name" else (None, None)

    def _check_change(self, node):
        part, token = self._target(node)
        if part is not None and part in self.cls.ports and part.direction == "in":
            raise self.error(token, f"port '{token}' is 'in': it cannot be changed")
        return part, token

    def do_assign(self, node):
        left, operator, right = node.children
        part, token = self._check_change(left)
        if part is None or part.kind != "buffered":
            return [self.translate(left), words(operator), self.translate(right)]
        store = ["(*(__typeof__(", SELF, token, ".now) *)mltp_sim_write(&", SELF, token, ".sc_buffer)) ="]
        value = self.translate(right)
        if words(operator) != "=":
            value = [SELF, token, ".now", words(operator)[:-1], "(", value, ")"]
        return [store, value]

    def do_step(self, node):
        target = node.children[0] if isinstance(node.children[0], Tree) else node.children[1]
        part, token = self._check_change(target)
        if part is not None and part.kind == "buffered":
            raise self.error(token, f"'{token}' is buffered: write {token} = {token} + 1")
        return [self.translate(child) for child in node.children]

    def do_address(self, node):
        target = node.children[1]
        part, token = self._target(target) if isinstance(target, Tree) else (None, None)
        if part is not None and part.kind == "buffered":
            raise self.error(token, f"'{token}' is buffered and has no address")
        return [self.translate(child) for child in node.children]

    # ---- calls

    def do_call(self, node):
        called = node.children[0]
        arguments = [self.translate(child) for child in node.children[2:-1]]
        if called.data == "dot" and called.children[0].data == "name":
            part = self.part(called.children[0].children[0])
            if part is not None and part.type is not None:
                return self._method_call(part, called, arguments)
        if called.data != "name":
            return ["(sc_ordered(),", self.translate(called), "(", arguments, "))"]
        token = called.children[0]
        part = self.part(token)
        if part is not None and part.kind == "function":
            comma = "," if arguments else ""
            return [self.method_name(self.cls, token), "( sc_self", comma, arguments, ")"]
        plain = str(token) in self.functions or str(token).startswith("__builtin_")
        if plain and part is None:
            return [token, "(", arguments, ")"]
        return ["(sc_ordered(),", self.translate(called), "(", arguments, "))"]

    def _method_call(self, part, called, arguments):
        token, name = called.children[0].children[0], called.children[2].children[0]
        if part.type.method(str(name)) is None:
            raise self.error(name, f"{part.type.kind} '{part.type.name}' has no method '{name}'")
        comma = "," if arguments else ""
        if part.kind == "interface":
            given = ["(", SELF, token, ".object", comma, arguments, ")"]
            call = self._foreseen(part, token, name, given) + [SELF, token, ".methods->", name, given]
        else:
            call = [self.method_name(part.type, name), "( &", SELF, token, comma, arguments, ")"]
        if part.kind == "instance" and part.type.kind == "behavior":
            return call
        return ["(sc_ordered(),", call, ")"]

    def _foreseen(self, port, token, name, given):
        """What goes before a call by a port when only one channel so far has its interface: if the port's is that,
        the call is one that C's compiler knows, and may put in place. What is long, or may have labels, is
        not written twice."""
        channels = [c for c in self.collector.classes.values() if port.type in c.implements and c is not self.cls]
        arguments = list(flat(given))
        if len(channels) != 1 or len(arguments) > MOST_TWICE or any("{" in word for word in arguments):
            return []
        table = f"{channels[0].name}__as_{port.type.name}"
        return ["__builtin_expect(", SELF, token, f".methods == &{table}, 1) ?",
                self.method_name(channels[0], name), given, ":"]

    def do_dot(self, node):
        if isinstance(node.children[0], Tree) and node.children[0].data == "name":
            part = self.part(node.children[0].children[0])
            if part is not None and part.type is not None:
                name = node.children[2].children[0]
                raise self.error(name, f"'{name}' of {part.type.kind} '{part.type.name}' can only be a method, "
                                       "and must be called")
        return [self.translate(child) for child in node.children]

    # ---- declarations and blocks

    def do_compound(self, node):
        self.scopes.append(set())
        result = [self.translate(child) for child in node.children]
        self.scopes.pop()
        return result

    def do_for_statement(self, node):
        self.scopes.append(set())
        result = [self.translate(child) for child in node.children]
        self.scopes.pop()
        return result

    def do_declaration(self, node):
        specs = node.children[0]
        for one in self.collector.declarations(node):
            if one.kind not in ("variable", "function", "type"):
                raise self.error(one.token, f"'{one.token}': {one.kind}s are parts of behaviors and channels, "
                                            "not of functions")
        result = [self.translate(specs)]
        for child in node.children[1:]:
            if isinstance(child, Tree) and child.data == "init_declarator":
                self.declare(declared_token(child.children[0]))
                fixed = has_storage(specs, "static")
                result.append([self._fixed(c) if fixed else self.translate(c) for c in child.children])
            else:
                result.append(self.translate(child))
        return result

    def _fixed(self, node):
        """An initialiser that C wants constant: addresses of globals are."""
        if isinstance(node, Token):
            return [node]
        if node.data == "name" and self.part(node.children[0]) is None:
            return [node.children[0]]
        if node.data == "name":
            return self.translate(node)
        return [self._fixed(child) for child in node.children]

    def do_enumerator(self, node):
        self.declare(node.children[0])
        return [self.translate(child) for child in node.children]

    def do_any_name(self, node):
        return [node.children[0]]

    def do_declared(self, node):
        return [node.children[0]]

    def do_instance(self, node):
        raise self.error(find(node, "declared").children[0], "a function's parameters have types")

    def do_bits(self, node):
        raise self.error(node.children[0], f"bit vector '{node.children[0]}': bit vectors are not supported")

    def do_this(self, node):
        raise self.error(node.children[0], "'this' is not supported")

    def do_decl_specs(self, node):
        self.collector.refuse_specs(node)
        if specs_of(node, "event_type"):
            raise self.error(specs_of(node, "event_type")[0].children[0],
                             "an event is a part of a behavior or channel, or global")
        type_class = self.collector.class_of(node)
        if type_class is not None:
            token = specs_of(node, "type_name_ref")[0].children[0]
            raise self.error(token, f"'{token}' is a {type_class.kind}: it has instances in classes only")
        return [self.translate(child) for child in node.children]
