# SPDX-License-Identifier: Apache-2.0
"""Reads declarations and classes out of the tree, and refuses what is not in the subset."""
from lark import Tree

from model import Class, Declared, declared_token, find, has_storage, innermost, specs_of
from output import words
from source import Error

NOT_YET = {"signal": "signals", "note": "annotations ('note')"}


class Collector:
    """The classes and global names of a text so far."""

    def __init__(self, text):
        self._text = text
        self.classes = {}
        self.globals = {}  # name -> Declared

    def error(self, token, message):
        return Error(self._text.place(token.line, token.column, str(token)), message)

    def class_of(self, specs):
        """The class that declaration specifiers name, or None."""
        for reference in specs_of(specs, "type_name_ref"):
            return self.classes.get(words(reference))
        return None

    # ---- declarations

    def declarations(self, tree):
        """The names of a declaration, each with what it is."""
        specs = tree.children[0]
        self.refuse_specs(specs)
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
        if has_storage(specs, "typedef"):
            one.kind = "type"
        elif shape == "instance" and (type_class is None or type_class.kind == "interface"):
            raise self.error(token, f"'{token}': only behaviors and channels are mapped to names")
        elif shape == "function":
            one.kind = "function"
        elif type_class is not None:
            self._class_typed(one, type_class, shape)
        elif specs_of(specs, "event_type"):
            if shape not in ("declared", "array") or initial is not None:
                raise self.error(token, f"'{token}': an event is neither a pointer nor initialised")
            one.kind = "event"
        else:
            self._variable(one, shape)
        return one

    def _class_typed(self, one, type_class, shape):
        if shape not in ("declared", "instance") or one.initial is not None:
            raise self.error(one.token, f"'{one.token}': arrays and pointers of behaviors, channels "
                                        "and interfaces are not supported")
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
        if "buffered" in storages:
            if shape != "declared" or one.delay:
                raise self.error(one.token, f"'{one.token}': only single variables are buffered")
            one.kind = "buffered"

    def refuse_specs(self, specs):
        """What may be written there in SpecC, but is not translated."""
        for storage in specs_of(specs, "storage"):
            if words(storage) in NOT_YET:
                raise self.error(storage.children[0], f"{NOT_YET[words(storage)]} are not supported")
        for bit in specs_of(specs, "bit_type"):
            raise self.error(bit.children[0], "bit vectors are not supported")

    # ---- classes

    def interface(self, tree):
        """An interface, or its announcement."""
        made = self._new(tree.children[1].children[0], "interface")
        for part in tree.children:
            if isinstance(part, Tree) and part.data == "interface_method":
                method = self.declared(part.children[0], part.children[1])
                if method.kind != "function":
                    raise self.error(method.token, f"'{method.token}': an interface has methods only")
                self._add(made, made.methods, method)
        made.defined = any(str(part) == "{" for part in tree.children)
        return made

    def class_def(self, tree):
        """A behavior or a channel, without its bodies' insides."""
        kind = words(tree.children[0])
        made = self._new(tree.children[1].children[0], kind)
        parts = {part.data: part for part in tree.children[2:] if isinstance(part, Tree)}
        if "ports" in parts:
            for port in parts["ports"].children:
                if isinstance(port, Tree):
                    self._add(made, made.ports, self._port(port))
        if "implements" in parts:
            made.implements = [self._interface_named(name.children[0], kind)
                               for name in parts["implements"].children
                               if isinstance(name, Tree)]
        made.defined = "class_body" in parts
        for member in parts["class_body"].children if made.defined else []:
            if isinstance(member, Tree):
                self._member(made, member)
        return made

    def _new(self, token, kind):
        old = self.classes.get(str(token))
        if old is not None and (old.defined or old.kind != kind):
            raise self.error(token, f"'{token}' is defined again")
        made = self.classes[str(token)] = Class(kind, token)
        return made

    def _interface_named(self, token, kind):
        interface = self.classes.get(str(token))
        if interface is None or interface.kind != "interface" or not interface.defined:
            raise self.error(token, f"a {kind} implements interfaces; '{token}' is none")
        return interface

    def _add(self, made, where, part):
        if made.find(part.name) is not None:
            raise self.error(part.token, f"'{part.token}' is declared again in {made.kind} '{made.name}'")
        where.append(part)

    def _port(self, tree):
        has_direction = tree.children[0].data == "direction"
        specs, declarator = tree.children[-2], tree.children[-1]
        self.refuse_specs(specs)
        port = self.declared(specs, declarator)
        if port.kind not in ("variable", "event", "interface"):
            raise self.error(port.token, f"port '{port.token}': a port is a variable, an event or an interface")
        if port.kind == "event" and innermost(declarator) != "declared":
            raise self.error(port.token, f"port '{port.token}': arrays of events are no ports")
        port.direction = words(tree.children[0]) if has_direction else "inout"
        if port.kind == "interface" and has_direction:
            raise self.error(port.token, f"port '{port.token}': an interface has no direction")
        return port

    def _member(self, made, tree):
        if tree.data == "function_def":
            method = self.declared(tree.children[0], tree.children[1])
            if method.kind != "function":
                raise self.error(method.token, f"'{method.token}' has a body, but is no method")
            self.refuse_specs(tree.children[0])
            self._add(made, made.methods, method)
            made.bodies[method.name] = tree.children[2]
            return
        for member in self.declarations(tree):
            self._refuse_member(made, member, tree)
            if member.kind != "function":  # a method announced is one that follows
                self._add(made, made.members, member)

    def _refuse_member(self, made, member, tree):
        for word in ("static", "extern", "typedef", "auto", "register"):
            if has_storage(tree.children[0], word):
                raise self.error(member.token, f"'{member.token}': '{word}' is not possible in a {made.kind}")
        if member.kind == "interface":
            raise self.error(member.token, f"'{member.token}': an interface is a port, not a member")
        if member.kind == "instance" and not member.type.defined:
            raise self.error(member.token, f"'{member.token}': {member.type.kind} '{member.type.name}' "
                                           "is only announced here")
        if made.kind == "channel" and member.kind == "instance" and member.type.kind == "behavior":
            raise self.error(member.token, f"'{member.token}': a channel contains no behaviors")
        if member.kind == "piped" and member.initial is not None and innermost(member.declarator) != "declared":
            raise self.error(member.token, f"'{member.token}': a piped array is not initialised")
