# SPDX-License-Identifier: Apache-2.0
"""Translates what stands in functions and methods: names, expressions, C's statements.

Names are looked up as in C, then among the parts of the behavior or channel. Where several threads
may meet, at ports, channels, globals and functions of C, sc_ordered() comes first: it keeps the
order of one VP on several (mltp_sim_ordered()).
"""
from lark import Token, Tree

import constant
import wide
from bits import Bits, fit
from constructs import Constructs
from model import declared_token, find, has_storage, heading, is_const, parameter_count, parameters_of, specs_of
from output import flat, words
from types_of import PLAIN, Types

SELF = "sc_self->"
GLOBAL = "sc_global"
MOST_TWICE = 40  # words
AS_CONST = "/* const */"  # behind an array that is read here, and whose elements nothing may change by a pointer


class Body(Constructs, Bits):
    """Translates the body of one function; `cls` is the class of a method, or None."""

    def __init__(self, collector, cls, functions, outlined):
        self.collector, self.cls = collector, cls
        self.functions = functions  # names of functions that the text defines
        self.outlined = outlined  # functions made of what stands here; written before this one
        self.scopes = [{}]  # name -> Declared, or None for what has no value and no type of its own
        self.labels = 0
        self.returns = PLAIN  # the function's type
        self.types = Types(collector, self.value)
        self.whole = None  # the spread port that is changed just now, in a copy
        self.timed = []  # the labels that timing constraints name, of the blocks around

    def error(self, token, message):
        return self.collector.error(token, message)

    def translate(self, node):
        """A tree or a word as a list of words."""
        if isinstance(node, Token):
            return [node]
        handler = getattr(self, "do_" + str(node.data), None)
        return handler(node) if handler else [self.translate(child) for child in node.children]

    def scalar(self, node):
        """An expression where C wants a number, or what has no bits."""
        return wide.integer(self.translate(node), self.type_of(node))

    def truth(self, node):
        """An expression where C asks whether it is zero."""
        return wide.truth(self.translate(node), self.type_of(node))

    def as_type(self, one, node):
        """An expression as a value of a type."""
        return fit(one, self.translate(node), self.type_of(node)) if one.kind == "bits" else self.scalar(node)

    def operand(self, node):
        """An expression as a function of bits takes it: the place of its words if it is wide."""
        one, value = self.type_of(node), self.translate(node)
        if not one.is_wide:
            return value
        while node.data == "parens":
            node = node.children[1]
        return ["(", value, ").word"] if node.data in ("name", "index", "dot", "arrow") else wide.at(one, value)

    # ---- names

    def declare(self, name, declared=None):
        self.scopes[-1][str(name)] = declared

    def local(self, name):
        """What is declared here under that name: (whether, Declared or None)."""
        for scope in reversed(self.scopes):
            if str(name) in scope:
                return True, scope[str(name)]
        return False, None

    def is_local(self, name):
        return self.local(name)[0]

    def part(self, name):
        """The part of the class that a name means here, or a global signal, or None."""
        if self.is_local(name):
            return None
        part = self.cls.find(str(name)) if self.cls is not None else None
        known = self.collector.globals.get(str(name)) if part is None else None
        return known if known is not None and known.kind == "signal" else part

    def is_port(self, part):
        return self.cls is not None and part in self.cls.ports

    def declared(self, name):
        """What a name means: a local name, a part of the class, or a global one; None: unknown."""
        here, known = self.local(name)
        return known if here else self.part(name) or self.collector.globals.get(str(name))

    # ---- values and types

    def value_of_name(self, name):
        known = self.declared(name)
        if known is not None or self.is_local(name):
            return known.value if known is not None else None
        return self.collector.constants.get(str(name))

    def value(self, node):
        """The value of a constant expression, or None."""
        return constant.evaluate(node, self.value_of_name)

    def type_of(self, node):
        return self.types.of(node, self)

    def type_of_name(self, name):
        known = self.declared(name)
        return known.c_type if known is not None else None

    def type_of_call(self, node):
        method = self._method_of(node.children[0])
        if method is None or method.c_type is None or method.c_type.kind != "function":
            return None
        return method.c_type.of

    def _method_of(self, called):
        """The method or function that is called, or None."""
        if called.data == "name":
            return self.declared(called.children[0])
        if called.data == "dot":
            cls = self.class_of(called.children[0])
            return cls.method(words(called.children[2])) if cls is not None else None
        return None

    def class_of(self, node):
        """The class of a port, an instance or a parameter that an expression names, or None."""
        base = node.children[0] if node.data == "index" else node
        known = self.declared(base.children[0]) if base.data == "name" else None
        return known.type if known is not None else None

    def do_name(self, node):
        token = node.children[0]
        part = self.part(token)
        if part is not None:
            return self._member(token, part)
        known = None if self.is_local(token) else self.collector.globals.get(str(token))
        if known is not None and known.kind == "variable" and not is_const(known):
            return ["(*(sc_ordered(), &", token, "))"]
        if known is not None and known.kind == "event":
            raise self.error(token, f"event '{token}' is only for wait, notify, trap and interrupt")
        if token == "this" or not self.is_local(token) and str(token) in self.collector.classes:
            raise self.error(token, f"'{token}' is a class, not a value")
        return [token]

    def _member(self, token, part):
        if part.spread and self.whole is part:
            return ["sc_whole"]
        if part.spread:
            return self._spread_value(part, token, 0)
        if part.kind == "variable" and self.is_port(part):
            return ["(*(sc_ordered(),", SELF, token, "))"]
        if part.kind == "variable":
            return [SELF, token]
        if part.kind == "buffered" and part.c_type.kind == "array":
            return ["(*(const __typeof__(", SELF, token, f".now) *)&", SELF, token, f".now) {AS_CONST}"]
        if part.kind == "buffered":
            return [SELF, token, ".now"]
        if part.kind == "signal":
            const, mark = ("const", AS_CONST) if part.c_type.kind == "array" else ("", "")
            return [f"(*({const} {self._signal_type(part)} *)", self.signal_at(part, token), f"buffered.current_) {mark}"]
        if part.kind == "piped":
            raise self.error(token, f"piped variable '{token}' is only for ports of a pipe's behaviors")
        if part.kind == "function":
            raise self.error(token, f"method '{token}' must be called (write {token}())")
        uses = {"event": "wait, notify, trap and interrupt", "instance": "calls of its methods",
                "interface": "calls of its methods"}
        raise self.error(token, f"{part.kind} '{token}' is only for {uses[part.kind]}")

    @staticmethod
    def _spread_value(part, token, following):
        """The bits of a spread port; following: those to come."""
        one = part.c_type
        if one.is_wide:
            return wide.spread(one, [SELF, token], following)
        return fit(one, ["sc_spread_get(", SELF, token, f", {following})"])

    # ---- what is assigned

    def _target(self, node):
        """The part of the class that an expression changes, if it is one as a whole; not one that is in a copy."""
        inner = node
        while inner.data in ("parens", "index", "dot", "slice"):
            inner = inner.children[1] if inner.data == "parens" else inner.children[0]
        part = self.part(inner.children[0]) if inner.data == "name" else None
        return (part, inner.children[0]) if part is not None and part is not self.whole else (None, None)

    def _check_change(self, node):
        part, token = self._target(node)
        if part is not None and self.is_port(part) and part.direction == "in":
            raise self.error(token, f"port '{token}' is 'in': it cannot be changed (declare it 'inout')")
        if part is not None and part.kind in ("buffered", "signal") and node.data == "dot":
            raise self.error(token, f"'{token}' is {part.kind}: it changes as a whole (assign all of it)")
        return part, token

    def signal_at(self, part, token):
        """A signal, up to the name of its field."""
        if self.is_global(part):
            return ["(*(sc_ordered(), &", token, ".sc_signal))."]
        return ["(sc_ordered(),", SELF, token, ")->"] if self.is_port(part) else [SELF, token, ".sc_signal."]

    def is_global(self, part):
        return self.collector.globals.get(part.name) is part

    def _signal_type(self, part):
        return f"{GLOBAL if self.is_global(part) else self.cls.name}__sc_{part.name}_t"

    def written(self, part, token, value):
        """Assigns to a buffered variable or a signal."""
        return ["(", self._new_value(part, token), "=", value, ")"]

    def _buffer(self, part, token):
        """What the simulation knows of a buffered variable or a signal."""
        if part.kind == "signal":
            return [self.signal_at(part, token), "buffered"]
        return [SELF, token, ".sc_clocked.buffered"]

    def _new_value(self, part, token):
        """The value that a buffered variable or a signal gets, and that is kept where nothing else is stored."""
        one = [self._signal_type(part)] if part.kind == "signal" else ["__typeof__(", SELF, token, ".now)"]
        return ["(*(", one, "*)mltp_sim_write(&", self._buffer(part, token), "))"]

    def new_part(self, node):
        """What an assignment changes, as an lvalue: of what is buffered or a signal in the value that it gets."""
        part, token = self._target(node)
        if part is None or part.kind not in ("buffered", "signal"):
            return self.translate(node)
        if node.data == "name":
            return self._new_value(part, token)
        inner = next(at for at, child in enumerate(node.children) if isinstance(child, Tree))
        return [self.new_part(child) if at == inner else self.translate(child) for at, child in enumerate(node.children)]

    def _changed_part(self, left, change):
        """Changes an element of what is buffered or a signal; change: the new value, from the words of the one now."""
        part, token = self._target(left)
        now = ["(*(__typeof__(sc_at))sc_now(&", self._buffer(part, token), ", sc_at))"]
        return ["({ __typeof__(", self.new_part(left), ") *sc_at = &(", self.new_part(left), ");", change(now), "; })"]

    def do_assign(self, node):
        left, operator, right = node.children[0], words(node.children[1]), self.translate(node.children[2])
        part, token = self._check_change(left)
        given = self.type_of(node.children[2])
        if part is not None and part.spread:
            return self._in_copy(part, token, left, ["__auto_type sc_right =", right, ";"],
                                 lambda: self.assign_bits(left, operator, ["sc_right"], given))
        of_bits = self.assign_bits(left, operator, right, given)
        if of_bits is not None:
            return of_bits
        right = wide.integer(right, given)
        if part is not None and part.kind in ("buffered", "signal"):
            return self._assign_later(left, operator, right, node)
        if operator == "=" and self.type_of(left).kind == "array":
            return self._assign_array(left, node.children[2], right)
        return [self.translate(left), operator, right]

    def _in_copy(self, part, token, target, before, change):
        """Changes a spread port: gets its bits, changes them, and puts them back. What is assigned is known before:
        it may wait, and other bits may change meanwhile. Of a signal a part changes what is to come."""
        self.whole, outer = part, self.whole
        changed = change()
        self.whole = outer
        following = int(target.data in ("slice", "index"))
        return ["({", before, f"{part.c_type.storage} sc_whole =", self._spread_value(part, token, following),
                "; __auto_type sc_result =", changed, "; sc_spread_set(", SELF, token, ", &sc_whole); sc_result; })"]

    def _assign_later(self, left, operator, right, node):
        """Assigns to what is buffered or a signal, or to an element of it."""
        part, token = self._target(left)
        if operator == "=" and self.type_of(left).kind == "array":
            return self._assign_array(left, node.children[2], right)
        if left.data not in ("name", "parens") and operator != "=":
            return self._changed_part(left, lambda now: ["*sc_at =", now, operator[:-1], "(", right, ")"])
        if operator != "=":
            return self.written(part, token, [self.translate(left), operator[:-1], "(", right, ")"])
        return ["(", self.new_part(left), "=", right, ")"]

    def _assign_array(self, left, right_node, right):
        target = self.new_part(left)
        if self.type_of(right_node).kind not in ("array", "pointer"):
            raise self.error(next(left.scan_values(lambda _: True)), "an array is assigned another array")
        same = ["(void)sizeof(struct { _Static_assert(sizeof(", target, ") == sizeof(", right,
                '), "an array is assigned one of another size"); int sc_none; }),'] \
            if self.type_of(right_node).kind == "array" else []
        return ["(", same, "__builtin_memmove(", target, ",", right, ", sizeof(", target, ")))"]

    def do_step(self, node):
        target = node.children[0] if isinstance(node.children[0], Tree) else node.children[1]
        part, token = self._check_change(target)
        if part is not None and part.spread:
            return self._in_copy(part, token, target, [], lambda: self.do_step(node))
        if part is not None and part.kind in ("buffered", "signal"):
            return self._step_later(node, part, token, target)
        return self.step_bits(node) or [self.translate(child) for child in node.children]

    def _step_later(self, node, part, token, target):
        """++ or -- of what has its new value later: the expression's value is the one before, or the one to come."""
        prefix = isinstance(node.children[0], Token)
        step = f"{str(node.children[0] if prefix else node.children[1])[0]} 1"
        if target.data == "index" and self._slice_at(target) is None:
            result = ["*sc_at"] if prefix else ["sc_old"]
            return self._changed_part(target, lambda now: ["__typeof__(*sc_at) sc_old =", now, "; *sc_at =",
                                                           self._stepped(self.type_of(target), step), ";", result])
        if target.data != "name":
            raise self.error(token, f"'{token}' is {part.kind} (assign the new value to all of it)")
        stored = self.written(part, token, self._stepped(part.c_type, step))
        now = self.translate(target)
        return ["({ __typeof__(", now, ") sc_old =", now, ";", stored, ";" if prefix else "; sc_old;", "})"]

    def _stepped(self, one, step):
        """The value of sc_old after a step."""
        if one.kind != "bits":
            return ["sc_old", step]
        return self._operated(one, ["sc_old"], f"{step[0]}=", ["1"], PLAIN)

    def do_plain(self, node):
        parts = node.children
        if str(parts[0]) == "return" and len(parts) == 3:
            return [parts[0], self.as_type(self.returns, parts[1]), ";"]
        if str(parts[0]) == "case":
            return [self._fixed(c) if isinstance(c, Tree) and c is not parts[-1] else self.translate(c) for c in parts]
        return self.operate_on_bits(parts) or [self.translate(child) for child in parts]

    def do_address(self, node):
        target = node.children[1]
        part, token = self._target(target) if isinstance(target, Tree) else (None, None)
        if part is not None and part.kind in ("buffered", "signal"):
            raise self.error(token, f"'{token}' is {part.kind} and has no address (copy it to a variable)")
        if part is not None and part.spread:
            raise self.error(token, f"port '{token}' is mapped to bits of a variable and has no address (copy it to a variable)")
        if isinstance(target, Tree) and target.data in ("slice", "index") and self._slice_at(target) is not None:
            raise self.error(node.children[0], "a part of a bit vector has no address (copy it to a variable)")
        return [self.translate(child) for child in node.children]

    # ---- calls

    def do_call(self, node):
        called = node.children[0]
        method = self._method_of(called)
        arguments = self._arguments(node, method)
        if called.data == "dot" and self.class_of(called.children[0]) is not None:
            self._check_count(called.children[2].children[0], method, self.class_of(called.children[0]), node)
            return self._method_call(called, arguments)
        if called.data != "name":
            return ["(sc_ordered(),", self.translate(called), "(", arguments, "))"]
        token = called.children[0]
        part = self.part(token)
        if part is not None and part.kind == "function":
            self._check_count(token, part, self.cls, node)
            comma = "," if arguments else ""
            return [self.method_name(self.cls, token), "( sc_self", comma, arguments, ")"]
        plain = str(token) in self.functions or str(token).startswith("__builtin_")
        if plain and part is None:
            return [token, "(", arguments, ")"]
        return ["(sc_ordered(),", self.translate(called), "(", arguments, "))"]

    def _check_count(self, token, method, cls, node):
        """Refuses a call of a method with too many or too few arguments."""
        takes = parameter_count(method.declarator) if method is not None else None
        given = [c for c in node.children[2:-1] if isinstance(c, Tree)]
        count = (len(given[0].children) + 1) // 2 if given else 0
        if takes is not None and takes != count:
            raise self.error(token, f"method '{token}' of {cls.kind} '{cls.name}' takes {takes} argument{'s' * (takes != 1)}, "
                                    f"and {count} {'is' if count == 1 else 'are'} given (it is declared as "
                                    f"{heading(method.declarator)})")

    def _arguments(self, node, method):
        """The arguments of a call; where the parameter is an interface, as one."""
        given = [c for c in node.children[2:-1] if isinstance(c, Tree)]
        given = given[0].children if given else []
        wanted = parameters_of(method.declarator) if method is not None and method.kind == "function" else None
        classes = [self.collector.class_of(p.children[0]) for p in wanted.children
                   if isinstance(p, Tree)] if wanted is not None else []
        result, at = [], 0
        for child in given:
            if str(child) == "," and isinstance(child, Token):
                at += 1
                result.append(child)
            elif at < len(classes) and classes[at] is not None:
                result.append(self.as_interface(child, classes[at]))
            else:
                result.append(self._argument(child, wanted, at))
        return result

    def _argument(self, node, wanted, at):
        """A value as the argument of that number; wanted: the parameters, if they are known."""
        given = self.type_of(node)
        parameters = [c for c in wanted.children if isinstance(c, Tree)] if wanted is not None else []
        parameter = parameters[at] if at < len(parameters) else None
        one = PLAIN
        if parameter is not None and (len(parameter.children) == 1 or parameter.children[1].data == "declarator"):
            one = self.types.of_parameter(*parameter.children[:2]) if len(parameter.children) > 1 \
                else self.types.of_specs(parameter.children[0])
        if one.is_wide:
            return fit(one, self.translate(node), given)
        if given.is_wide and parameter is None:
            raise self.error(next(node.scan_values(lambda _: True)), f"a bit vector of {given.width} bits is no argument here "
                                                                     "(convert it, as in (int)x, or take 64 bits at a time)")
        return self.scalar(node)

    def as_interface(self, node, interface):
        """An expression as an interface: this, an instance, a port, or a parameter."""
        token = next(node.scan_values(lambda _: True))
        cls = self.cls if node.data == "this" else self.class_of(node)
        if cls is None or cls is not interface and interface not in cls.implements:
            raise self.error(token, f"'{token}' does not implement interface '{interface.name}' (name a channel or "
                                    "behavior that does, or 'this')")
        if cls is interface:
            return [SELF if self.part(token) is not None else "", token]
        at = ["sc_self"] if node.data == "this" else ["&", self.instance_at(node)]
        return [f"(struct {interface.name}){{ &{cls.name}__sc_as_{interface.name},", at, "}"]

    def instance_at(self, node):
        """An instance that an expression names, as C."""
        if node.data == "index":
            return [self.instance_at(node.children[0]), "[", self.translate(node.children[2]), "]"]
        return [SELF, node.children[0]]

    def _method_call(self, called, arguments):
        base, name = called.children[0], called.children[2].children[0]
        token = (base.children[0] if base.data == "index" else base).children[0]
        known = self.declared(token)
        cls = known.type
        if cls.method(str(name)) is None:
            offers = ", ".join(method.name for method in cls.methods) or "none"
            raise self.error(name, f"{cls.kind} '{cls.name}' has no method '{name}' (it has {offers})")
        comma = "," if arguments else ""
        if known.kind == "interface" and known in (self.cls.ports if self.cls else []):
            given = ["(", SELF, token, ".object", comma, arguments, ")"]
            call = self._foreseen(known, token, name, given) + [SELF, token, ".methods->", name, given]
        elif known.kind == "interface":
            call = [token, ".methods->", name, "(", token, ".object", comma, arguments, ")"]
        elif cls.kind == "behavior" and str(name) == "main":
            return self.run_instance(base)
        else:
            call = [self.method_name(cls, name), "( &", self.instance_at(base), comma, arguments, ")"]
        if known.kind == "instance" and cls.kind == "behavior":
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
        table = f"{channels[0].name}__sc_as_{port.type.name}"
        return ["__builtin_expect(", SELF, token, f".methods == &{table}, 1) ?",
                self.method_name(channels[0], name), given, ":"]

    def do_dot(self, node):
        if isinstance(node.children[0], Tree) and node.children[0].data in ("name", "index"):
            cls = self.class_of(node.children[0])
            if cls is not None:
                name = node.children[2].children[0]
                raise self.error(name, f"'{name}' of {cls.kind} '{cls.name}' can only be a method, and must be called "
                                       "(other behaviors reach data by ports)")
        return [self.translate(child) for child in node.children]

    # ---- declarations and blocks

    def do_compound(self, node):
        self.scopes.append({})
        result = [self.translate(child) for child in node.children]
        self.scopes.pop()
        return result

    def do_for_statement(self, node):
        self.scopes.append({})
        result, at = [], 0
        for child in node.children:
            result.append(self.truth(child) if isinstance(child, Tree) and at == 1 else self.translate(child))
            at += str(child) == ";" if isinstance(child, Token) else child.data == "declaration"
        self.scopes.pop()
        return result

    def do_declaration(self, node):
        specs = node.children[0]
        self.collector.body = self  # constants of this function count
        declared = self.collector.declarations(node)
        self.collector.body = None
        for one in declared:
            if one.kind not in ("variable", "function", "type"):
                raise self.error(one.token, f"'{one.token}': {one.kind}s are parts of behaviors and channels, "
                                            "not of functions (declare it there)")
        result = [self.translate(specs)]
        for child in node.children[1:]:
            if not (isinstance(child, Tree) and child.data == "init_declarator"):
                result.append(self.translate(child))
                continue
            one = declared.pop(0)
            self.declare(one.token, one)
            result.append(self._initialised(one, child, has_storage(specs, "static")))
        return result

    def _initialised(self, one, node, fixed):
        """A declarator with its initial value."""
        parts = [self._fixed(c) if fixed else self.translate(c) for c in node.children]
        if one.initial is not None:
            parts[-1] = self.first_value(one.c_type, one.initial, fixed)
        return parts

    def first_value(self, one, node, fixed):
        """What a variable of a type begins with; fixed: C wants a constant."""
        if len(node.children) == 1:
            return self.fixed_as(one, node) if fixed else self.as_type(one, node)
        inner = one
        while inner.kind in ("array", "pointer"):
            inner = inner.of
        members = list(one.members.values())
        result, at = [], 0
        for item in node.children:
            if isinstance(item, Token):
                result.append(item)
                continue
            value, designator = item.children[-1], item.children[:-1]
            if one.kind == "struct" and designator:
                names = [words(c) for c in designator if isinstance(c, Tree)]
                at = list(one.members).index(names[0][2:]) if len(names) == 1 and names[0][2:] in one.members else len(members)
            part = members[at] if at < len(members) else PLAIN
            at += 1
            if one.kind == "array":
                part = one.of if len(value.children) > 1 or one.of.kind == "struct" else inner
            result += [[self._fixed(c) for c in designator], self.first_value(part, value, fixed)]
        return result

    def fixed_as(self, one, node):
        """A constant as a value of a type, where C wants one that its compiler knows."""
        if not one.is_wide:
            return fit(one, self._fixed(node)) if one.kind == "bits" else self._fixed(node)
        value = self.value(node)
        if value is None:
            raise self.error(next(node.scan_values(lambda _: True)), f"a bit vector of {one.width} bits begins here with a "
                                                                     "constant (assign the value later)")
        return wide.constant(one, value)

    def do_array(self, node):
        """An array's size; names of constants are not constants in C."""
        return [self.translate(node.children[0]), *(self._fixed(c) for c in node.children[1:])]

    def do_struct_declarator(self, node):
        return [self.translate(c) if isinstance(c, Tree) and c.data == "declarator" else self._fixed(c)
                for c in node.children]

    def do_note(self, node):
        return []

    def _fixed(self, node):
        """An initialiser that C wants constant: addresses of globals are."""
        if isinstance(node, Token):
            return [node]
        if node.data in ("decl_specs", "bits"):
            return self.translate(node)
        if node.data == "name":
            value = self.value_of_name(node.children[0])
            if value is not None and str(node.children[0]) not in self.collector.constants:
                return [node.children[0].update(value=f"({value})")]
            return [node.children[0]] if self.part(node.children[0]) is None else self.translate(node)
        return [self._fixed(child) for child in node.children]

    def do_enumerator(self, node):
        self.declare(node.children[0])
        return [node.children[0], *(self._fixed(child) for child in node.children[1:])]

    def do_any_name(self, node):
        return [node.children[0]]

    def do_declared(self, node):
        return [node.children[0]]

    def do_instance(self, node):
        raise self.error(find(node, "declared").children[0], "a function's parameters have types (write them)")

    def do_this(self, node):
        raise self.error(node.children[0], "'this' is only an argument where a parameter is an interface (the parts of "
                                           "the own class are reached by their names)")

    def do_decl_specs(self, node):
        if specs_of(node, "event_type"):
            raise self.error(specs_of(node, "event_type")[0].children[0],
                             "an event is a part of a behavior or channel, or global (declare it there)")
        type_class = self.collector.class_of(node)
        if type_class is not None:
            token = specs_of(node, "type_name_ref")[0].children[0]
            if type_class.kind == "interface":
                return ["struct", token]
            raise self.error(token, f"'{token}' is a {type_class.kind}: it has instances in classes only (a parameter "
                                    "is an interface that it implements)")
        bit = specs_of(node, "bit_type")
        if bit:
            storage = self.types.of_specs(node).storage
            return [bit[0].children[0].update(value=storage) if child is bit[0] else self.translate(child)
                    for child in node.children
                    if not (isinstance(child, Tree) and (child.data == "basic_type" or child.data == "storage"
                                                         and words(child) == "signal"))]
        return [self.translate(child) for child in node.children
                if not (isinstance(child, Tree) and child.data == "storage" and words(child) == "signal")]
