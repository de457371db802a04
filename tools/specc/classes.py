# SPDX-License-Identifier: Apache-2.0
"""Writes classes as C: a structure for each, its methods as functions, and how ports are connected."""
from lark import Tree

from body import Body
from model import innermost, specs_of, type_words
from output import words


WAITS = ("wait_statement", "waitfor_statement", "dot")


class Classes:
    """Translates the class definitions of a text."""

    def __init__(self, collector, functions, returns_by_jump):
        self.collector, self.functions, self.returns_by_jump = collector, functions, returns_by_jump

    # ---- interfaces

    def interface(self, cls):
        rows = []
        if not cls.defined:
            return ["struct", f"{cls.name}_methods", ";"]
        for method in cls.methods:
            rows += [self._head(cls, method, ["(*", method.token, ")"]), ";"]
        return [f"struct {cls.name}_methods {{", rows, "char sc_none; };",
                f"struct {cls.name} {{ const struct {cls.name}_methods *methods; void *object; }};"]

    def _head(self, cls, method, name, body=None):
        """A method's declaration as that of a function whose first argument is the object."""
        body = body or Body(self.collector, cls, self.functions, [])
        return [self._specs(body, method), self._declarator(body, method.declarator, name, True)]

    @staticmethod
    def _specs(body, declared):
        return [body.translate(c) for c in declared.specs.children
                if not (isinstance(c, Tree) and c.data == "storage" and words(c) in ("piped", "buffered"))]

    def _declarator(self, body, node, name, is_method=False):
        """A declarator with something else in the place of its name."""
        if not isinstance(node, Tree):
            return [node]
        if node.data == "declared":
            return name
        if node.data == "function" and is_method and node.children[0].data == "declared":
            parameters = [c for c in node.children if isinstance(c, Tree) and c.data == "parameters"]
            rest = []
            if parameters and words(parameters[0]) != "void":
                rest = [",", self._parameters(body, parameters[0])]
            return [name, "( void *sc_this", rest, ")"]
        if node.data in ("declarator", "array", "function", "nested"):
            return [self._declarator(body, c, name, is_method) for c in node.children]
        return body.translate(node)

    @staticmethod
    def _parameters(body, node):
        for parameter in node.children:
            if isinstance(parameter, Tree):
                for declarator in parameter.children:
                    if isinstance(declarator, Tree) and declarator.data == "declarator":
                        body.declare(body.collector.declared(parameter.children[0], declarator).token)
        return body.translate(node)

    # ---- behaviors and channels

    def structure(self, cls):
        """The structure, and the declarations of the methods."""
        body = Body(self.collector, cls, self.functions, [])
        fields = [[self._port(body, port), ";"] for port in cls.ports]
        fields += [[self._field(body, member), ";"] for member in cls.members]
        heads = [["static", self._head(cls, m, [f"{cls.name}__{m.name}"]), ";"] for m in cls.methods]
        return [f"struct {cls.name} {{ const char *sc_name;", fields, "};", heads]

    def _port(self, body, port):
        if port.kind == "interface":
            return ["struct", port.type.name, port.token]
        if port.kind == "event":
            return ["mltp_sim_event_t *", port.token]
        return [self._specs(body, port), self._declarator(body, port.declarator, ["( *", port.token, ")"])]

    def _field(self, body, member):
        if member.kind == "instance":
            return ["struct", member.type.name, member.token]
        if member.kind == "event":
            return ["mltp_sim_event_t", self._declarator(body, member.declarator, [member.token])]
        if member.kind == "buffered":
            return ["struct {", self._specs(body, member), "now, next; mltp_sim_buffered_t sc_buffer; }", member.token]
        name = [member.token]
        if member.kind == "piped":
            name = [member.token, f"[{member.delay + 1}]"]
        return [self._specs(body, member), self._declarator(body, member.declarator, name)]

    def methods(self, cls):
        """The bodies of the methods, and the tables for the interfaces."""
        parts = []
        outlined = []
        for method in cls.methods:
            body = Body(self.collector, cls, self.functions, outlined)
            head = self._head(cls, method, [f"{cls.name}__{method.name}"], body)
            text = body.translate(cls.bodies[method.name])
            inline = "inline" if cls.kind == "channel" else ""  # where its channel is known
            parts.append(["static", inline, self._by_jump(cls.bodies[method.name]), head, "{",
                          f"struct {cls.name} *sc_self = sc_this; (void)sc_self;", text, "}"])
        tables = [self._table(cls, interface) for interface in cls.implements]
        return [self._shift(cls), outlined, parts, tables]

    def _by_jump(self, body):
        """The attribute of a method that waits, or calls what may (specc_runtime.h)."""
        waits = any(True for _ in body.find_pred(lambda node: node.data in WAITS))
        return '__attribute__((function_return("thunk-extern")))' if self.returns_by_jump and waits else ""

    def _shift(self, cls):
        """Piped variables move on by one."""
        moves = [["__builtin_memmove(&sc_self->", m.token, "[1], &sc_self->", m.token, "[0],",
                  str(m.delay), "* sizeof sc_self->", m.token, "[0]);"]
                 for m in cls.members if m.kind == "piped"]
        return [f"__attribute__((unused)) static void {cls.name}__shift(struct {cls.name} *sc_self) {{ (void)sc_self;",
                moves, "}"]

    def _table(self, cls, interface):
        rows = []
        for wanted in interface.methods:
            method = cls.method(wanted.name)
            if method is None:
                raise self.collector.error(cls.token, f"{cls.kind} '{cls.name}' implements '{interface.name}', "
                                                      f"but has no method '{wanted.name}'")
            rows.append([f".{wanted.name} = {cls.name}__{wanted.name},"])
        return [f"static const struct {interface.name}_methods {cls.name}__as_{interface.name} = {{", rows, "};"]

    # ---- connections

    def connect(self, cls):
        """The function that initialises an instance and what it contains."""
        body = Body(self.collector, cls, self.functions, [])
        steps = []
        for member in cls.members:
            if member.kind == "event":
                steps.append(self._init_event(member))
            elif member.kind == "instance":
                steps.append(self._init_instance(body, cls, member))
            else:
                steps.append(self._init_variable(body, member))
        return [f"static void {cls.name}__init(struct {cls.name} *sc_self, const char *sc_name) {{",
                "sc_self->sc_name = sc_name;", steps, "}"]

    @staticmethod
    def _init_event(member):
        path = f'sc_path(sc_name, "{member.name}")'
        if innermost(member.declarator) == "array":
            return ["sc_events((mltp_sim_event_t *)&sc_self->", member.token, ", sizeof sc_self->", member.token, ",", path, ");"]
        return ["sc_events(&sc_self->", member.token, ", sizeof(mltp_sim_event_t),", path, ");"]

    def _init_variable(self, body, member):
        steps = []
        if member.initial is not None:
            target = {"piped": "[0]", "buffered": ".now"}.get(member.kind, "")
            const = "" if any(words(q) == "const" for q in specs_of(member.specs, "qualifier")) else "const"
            value = ["{ static", const, self._specs(body, member), self._declarator(body, member.declarator, [member.token]),
                     "=", body.translate(member.initial), ";"]
            copies = member.delay + 1 if member.kind == "piped" else 1
            for copy in range(copies):
                place = f"[{copy}]" if member.kind == "piped" else target
                value += ["__builtin_memcpy((void *)&sc_self->", member.token, place, ", &", member.token,
                          ", sizeof", member.token, ");"]
            steps = [value, "}"]
        if member.kind == "buffered":
            steps += ["sc_buffer(&sc_self->", member.token, ".sc_buffer, &sc_self->", member.token, ".now, &sc_self->",
                      member.token, ".next, sizeof sc_self->", member.token, ".now);"]
        return steps

    def _init_instance(self, body, cls, member):
        child, given = member.type, member.arguments
        if len(given) != len(child.ports):
            raise self.collector.error(member.token, f"'{member.token}': {child.kind} '{child.name}' has "
                                                     f"{len(child.ports)} ports, and {len(given)} are mapped")
        steps = [self._map(body, cls, member, port, argument) for port, argument in zip(child.ports, given)]
        path = f'sc_path(sc_name, "{member.name}")'
        return [steps, f"{child.name}__init(&sc_self->", member.token, f", {path});"]

    def _map(self, body, cls, member, port, argument):
        at = ["sc_self->", member.token, ".", port.name, "="]
        token = argument.children[0]
        if argument.data == "map_constant":
            if port.kind != "variable" or port.direction != "in":
                raise self.collector.error(token, f"a constant can only be mapped to an 'in' port; '{port.name}' is none")
            declaration = [self._specs(body, port), self._declarator(body, port.declarator, ["sc_constant"])]
            return ["{ static", declaration, "=", [body.translate(c) for c in argument.children], ";", at,
                    "&sc_constant; }"]
        given = cls.find(str(token))
        self._check_map(cls, port, given, token)
        if port.kind == "interface":
            if given.kind == "interface":
                return [at, "sc_self->", token, ";"]
            return [at, f"(struct {port.type.name}){{ &{given.type.name}__as_{port.type.name}, &sc_self->", token, "};"]
        if given in cls.ports:
            return [at, "sc_self->", token, ";"]
        if given.kind == "piped":
            place = "[0]" if port.direction == "out" else f"[{given.delay}]"
            return [at, "&sc_self->", token, place, ";"]
        return [at, "&sc_self->", token, "" if given.kind != "buffered" else ".now", ";"]

    def _check_map(self, cls, port, given, token):
        def wrong(why):
            return self.collector.error(token, f"'{token}' cannot be mapped to port '{port.name}': {why}")
        if given is None or given.kind == "function":
            raise wrong(f"{cls.kind} '{cls.name}' has nothing of that name to map")
        if port.kind == "interface":
            offers = [given.type] if given.kind == "interface" else \
                given.type.implements if given.kind == "instance" else []
            if port.type not in offers:
                raise wrong(f"it does not implement interface '{port.type.name}'")
            return
        if (port.kind == "event") != (given.kind == "event") or given.type is not None:
            raise wrong(f"the port is {'an event' if port.kind == 'event' else 'a variable'}, and it is none")
        if given in cls.ports and given.direction == "in" and port.direction != "in":
            raise wrong(f"the port is '{port.direction}', and '{token}' is 'in'")
        if given.kind == "buffered" and port.direction != "in":
            raise wrong("buffered variables are mapped to 'in' ports only")
        if given.kind == "piped" and port.direction == "inout":
            raise wrong("piped variables are mapped to 'in' or 'out' ports")
        (theirs, known), (ours, known_too) = type_words(given), type_words(port)
        if port.kind == "variable" and known and known_too and theirs != ours:
            raise wrong(f"the types differ: {self._type(given)} and {self._type(port)}")

    @staticmethod
    def _type(declared):
        return "'" + " ".join(part for part in [*map(words, declared.specs.children),
                                                type_words(declared)[0][1]] if part not in ("piped", "buffered", "")) + "'"
