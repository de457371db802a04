# SPDX-License-Identifier: Apache-2.0
"""Reads declarations and classes out of the tree, and refuses what SpecC has not."""
from lark import Tree

import constant
from model import Class, Declared, declared_token, find, has_storage, innermost, is_const, parameters_of, specs_of
from output import words
from source import Error
from types_of import Types


class Collector:
    """The classes and global names of a text so far."""

    def __init__(self, text, spread):
        self._text = text
        self.spread = set(spread)  # ports that are mapped to bits: names of class and port
        self.classes = {}
        self.globals = {}  # name -> Declared
        self.typedefs, self.structs = {}, {}  # name -> Type
        self.constants = {}  # names of enumerators -> value
        self.inside, self.body = None, None  # the class and the Body whose declarations are being read
        self.types = Types(self, self.value)

    def error(self, token, message):
        return Error(self.place(token), message)

    def place(self, token):
        """Where a word of the text is in its source."""
        return self._text.place(token.line, token.column, str(token))

    def class_of(self, specs):
        """The class that declaration specifiers name, or None."""
        for reference in specs_of(specs, "type_name_ref"):
            return self.classes.get(words(reference))
        return None

    def value(self, node):
        """The value of a constant expression outside of functions, or None."""
        return constant.evaluate(node, self.value_of_name)

    def value_of_name(self, name):
        if self.body is not None:
            return self.body.value_of_name(name)
        part = self.inside.find(str(name)) if self.inside is not None else None
        if part is None:
            part = self.globals.get(str(name))
        return part.value if part is not None else self.constants.get(str(name))

    def enumerators(self, tree):
        """Notes the values of the enumerators that a tree declares."""
        for spec in tree.find_data("enum_spec"):
            following = 0
            for one in spec.children:
                if isinstance(one, Tree) and one.data == "enumerator":
                    if len(one.children) > 2:
                        following = self.value(one.children[2])
                    self.constants[str(one.children[0])] = following
                    following = None if following is None else following + 1

    # ---- declarations

    def declarations(self, tree):
        """The names of a declaration, each with what it is."""
        specs = tree.children[0]
        self.enumerators(specs)
        self.types.of_specs(specs)  # a struct's members are known from its first declaration on
        found = []
        for child in tree.children[1:]:
            if isinstance(child, Tree) and child.data == "init_declarator":
                initial = [c for c in child.children if isinstance(c, Tree) and c.data == "initializer"]
                found.append(self.declared(specs, child.children[0], initial[0] if initial else None))
        return found

    def declared(self, specs, declarator, initial=None):
        """One name: its kind follows from the specifiers and the declarator."""
        token = declared_token(declarator)
        one = Declared(token, specs, declarator, initial=initial)
        shape = innermost(declarator)
        type_class = self.class_of(specs)
        one.c_type = self.types.of_declared(specs, declarator)
        if initial is not None and is_const(one) and shape == "declared":
            one.value = self.value(initial)
        if type_class is not None and type_class.kind != "interface" and shape == "function":
            shape = "instance" if parameters_of(declarator) is None else shape  # B b(); has no ports
        if has_storage(specs, "typedef"):
            one.kind = "type"
            self.typedefs[one.name] = one.c_type
        elif shape == "instance" and (type_class is None or type_class.kind == "interface"):
            raise self.error(token, f"'{token}': only behaviors and channels are mapped to names "
                                    "(a variable's first value follows '=')")
        elif shape == "function":
            one.kind = "function"
        elif type_class is not None:
            self._class_typed(one, type_class, shape)
        elif specs_of(specs, "event_type"):
            if shape not in ("declared", "array") or initial is not None:
                raise self.error(token, f"'{token}': an event is neither a pointer nor initialised (write event {token};)")
            one.kind = "event"
        else:
            self._variable(one, shape)
        return one

    def _class_typed(self, one, type_class, shape):
        arrays = type_class.kind != "interface" and not find(one.declarator, "pointer")
        if shape not in ("declared", "instance", *(["array", "function"] if arrays else [])) or one.initial is not None:
            raise self.error(one.token, f"'{one.token}': a {type_class.kind} has no pointers and no initial value "
                                        f"(write {type_class.name} {one.token}; or {one.token}[4];)")
        one.type = type_class
        one.kind = "interface" if type_class.kind == "interface" else "instance"
        one.arguments = []
        instance = find(one.declarator, "instance")
        if instance is not None:
            one.arguments = [c for c in instance.children[1:] if isinstance(c, Tree)]

    def _variable(self, one, shape):
        storages = [words(storage) for storage in specs_of(one.specs, "storage")]
        one.delay = storages.count("piped")
        if one.delay:
            one.kind = "piped"
        buffered = specs_of(one.specs, "buffered")
        for kind in ["buffered"] * bool(buffered) + ["signal"] * ("signal" in storages):
            if one.delay or buffered and "signal" in storages:
                raise self.error(one.token, f"'{one.token}' is {kind}, and cannot be {'piped' if one.delay else 'a signal'}, "
                                            "too (leave one out)")
            if one.c_type.kind == "array" and one.initial is not None and len(one.initial.children) == 1:
                raise self.error(one.token, f"'{one.token}': an array's first value has braces (write = {{ ... }})")
            one.kind = kind
        if buffered:
            one.clock = next((c for c in buffered[0].children if isinstance(c, Tree)), None)

    # ---- classes

    def interface(self, tree):
        """An interface, or its announcement."""
        made = self._new(tree.children[1].children[0], "interface")
        for part in tree.children:
            if isinstance(part, Tree) and part.data == "interface_method":
                method = self.declared(part.children[0], part.children[1])
                if method.kind != "function":
                    raise self.error(method.token, f"'{method.token}': an interface has methods only "
                                                   "(put it into the channels that implement it)")
                self._add(made, made.methods, method)
        made.defined = any(str(part) == "{" for part in tree.children)
        return made

    def class_def(self, tree):
        """A behavior or a channel, without its bodies' insides."""
        kind = words(tree.children[0])
        made = self.inside = self._new(tree.children[1].children[0], kind)
        parts = {part.data: part for part in tree.children[2:] if isinstance(part, Tree)}
        if "class_body" not in parts:
            self.inside = None
            return made  # announced: what it has follows
        if "ports" in parts:
            for port in parts["ports"].children:
                if isinstance(port, Tree):
                    self._add(made, made.ports, self._port(port))
        if "implements" in parts:
            made.implements = [self._interface_named(name.children[0], kind)
                               for name in parts["implements"].children
                               if isinstance(name, Tree)]
        made.defined = True
        for member in parts["class_body"].children:
            if isinstance(member, Tree) and member.data != "note":
                self._member(made, member)
        self.inside = None
        return made

    def announce(self, token, kind):
        """A class that is defined later."""
        return self._new(token, kind)

    def _new(self, token, kind):
        old = self.classes.get(str(token))
        if old is not None and (old.defined or old.kind != kind):
            raise self.error(token, f"'{token}' is defined again (rename one)")
        if old is not None:
            return old
        made = self.classes[str(token)] = Class(kind, token)
        return made

    def _interface_named(self, token, kind):
        interface = self.classes.get(str(token))
        if interface is None or interface.kind != "interface" or not interface.defined:
            raise self.error(token, f"a {kind} implements interfaces; '{token}' is none (define it before)")
        return interface

    def _add(self, made, where, part):
        if made.find(part.name) is not None:
            raise self.error(part.token, f"'{part.token}' is declared again in {made.kind} '{made.name}' (rename one)")
        where.append(part)

    def _port(self, tree):
        has_direction = tree.children[0].data == "direction"
        specs, declarator = tree.children[-2], tree.children[-1]
        port = self.declared(specs, declarator)
        if port.kind not in ("variable", "event", "interface", "signal"):
            raise self.error(port.token, f"port '{port.token}': a port is a variable, a signal, an event or an interface "
                                         "(implement an interface, and have it here)")
        if port.kind == "event" and innermost(declarator) != "declared":
            raise self.error(port.token, f"port '{port.token}': arrays of events are no ports (have a port for each)")
        port.spread = (str(self.inside.token), port.name) in self.spread
        port.direction, port.said = words(tree.children[0]) if has_direction else "inout", has_direction
        if port.kind == "interface" and has_direction:
            raise self.error(port.token, f"port '{port.token}': an interface has no direction (leave it out)")
        return port

    def _member(self, made, tree):
        if tree.data == "function_def":
            method = self.declared(tree.children[0], tree.children[1])
            if method.kind != "function":
                raise self.error(method.token, f"'{method.token}' has a body, but is no method")
            if made.method(method.name) is not None and method.name not in made.bodies:
                made.methods.remove(made.method(method.name))  # announced before
            self._add(made, made.methods, method)
            made.bodies[method.name] = tree.children[2]
            return
        declared = self.declarations(tree)
        if not declared or declared[0].kind == "type":
            made.outside.append(tree)  # a type: C has those outside of structures
            return
        for member in declared:
            self._refuse_member(made, member, tree)
            if member.kind != "function":
                self._add(made, made.members, member)
            elif made.find(member.name) is None:
                made.methods.append(member)  # announced: it follows

    def _refuse_member(self, made, member, tree):
        for word in ("static", "extern", "auto", "register"):
            if has_storage(tree.children[0], word):
                raise self.error(member.token, f"'{member.token}': '{word}' is not possible in a {made.kind} "
                                               "(leave it out: members live as long as the model)")
        if member.kind == "interface":
            raise self.error(member.token, f"'{member.token}': an interface is a port, not a member "
                                           "(a member is a channel that implements it)")
        if member.kind == "instance" and member.type is made:
            raise self.error(member.token, f"'{member.token}': {made.kind} '{made.name}' contains itself (an instance of "
                                           "another class may stand here)")
        if made.kind == "channel" and member.kind == "instance" and member.type.kind == "behavior":
            raise self.error(member.token, f"'{member.token}': a channel contains no behaviors (put it beside the channel)")
        if member.kind == "piped" and member.initial is not None and innermost(member.declarator) != "declared":
            raise self.error(member.token, f"'{member.token}': a piped array is not initialised (assign to it)")
