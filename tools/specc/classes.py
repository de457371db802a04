# SPDX-License-Identifier: Apache-2.0
"""Writes classes as C: a structure for each, its methods as functions, and how ports are connected."""
from lark import Tree

from bits import fit
from body import Body
from model import heading, innermost, is_const, parameter_count, type_words, without_parens
from output import words
from spread import Spread, view_at, whole_at


WAITS = ("wait_statement", "waitfor_statement", "dot")


class Classes:
    """Translates the class definitions of a text."""

    def __init__(self, collector, functions, said, returns_by_jump):
        self.collector, self.functions, self.returns_by_jump = collector, functions, returns_by_jump
        self._said = said  # the declarations so far, as words: a class may repeat a type

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
        specs = Tree("decl_specs", [c for c in declared.specs.children if not (isinstance(c, Tree) and (
            c.data == "buffered" or c.data == "storage" and words(c) in ("piped", "signal")))])
        return body.translate(specs)

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
        if node.data == "array":
            return [self._declarator(body, node.children[0], name, is_method),
                    *(body._fixed(c) for c in node.children[1:])]
        if node.data in ("declarator", "function", "nested"):
            return [self._declarator(body, c, name, is_method) for c in node.children]
        return body.translate(node)

    @staticmethod
    def _parameters(body, node):
        """The parameters, which the body knows then."""
        for parameter in node.children:
            if isinstance(parameter, Tree):
                for declarator in parameter.children:
                    if isinstance(declarator, Tree) and declarator.data == "declarator":
                        one = body.collector.declared(parameter.children[0], declarator)
                        one.c_type = body.types.of_parameter(parameter.children[0], declarator)
                        body.declare(one.token, one)
        return body.translate(node)

    @staticmethod
    def narrowed(body):
        """Cuts the values that a function gets for its bit vectors."""
        return [[one.token, "=", fit(one.c_type, [one.token]), ";"] for one in body.scopes[0].values()
                if one is not None and one.c_type.kind == "bits" and not one.c_type.fills_storage and not is_const(one)]

    # ---- behaviors and channels

    def structure(self, cls):
        """The structure, and the declarations of the methods."""
        body = Body(self.collector, cls, self.functions, [])
        fields = [[self._port(body, port), ";"] for port in cls.ports]
        fields += [[self._field(body, cls, member), ";"] for member in cls.members]
        types = [body.translate(tree) for tree in cls.outside if words(tree) not in self._said]
        self._said.update(words(tree) for tree in cls.outside)
        types += [["typedef", self._specs(body, one), self._declarator(body, one.declarator, [f"{cls.name}__sc_{one.name}_t"]),
                   ";"] for one in [*cls.ports, *cls.members] if one.kind == "signal"]
        types += [self._open_array(body, cls, one) for one in cls.members if self._is_open(one)]
        heads = [["static", self._head(cls, m, [f"{cls.name}__{m.name}"]), ";"] for m in cls.methods]
        tables = [f"static const struct {interface.name}_methods {cls.name}__sc_as_{interface.name};"
                  for interface in cls.implements]
        return [types, f"struct {cls.name} {{ const char *sc_name;", fields, "};", tables, heads]

    @staticmethod
    def _is_open(member):
        """An array whose first value tells its size."""
        node = member.declarator.children[-1]
        while node.data == "array" and node.children[0].data == "array":
            node = node.children[0]
        return member.kind == "variable" and member.initial is not None and node.data == "array" and len(node.children) == 3

    def _open_array(self, body, cls, member):
        return ["static", self._specs(body, member), self._declarator(body, member.declarator, [f"{cls.name}__sc_{member.name}_v"]),
                "=", body.first_value(member.c_type, member.initial, True), ";"]

    def _port(self, body, port):
        if port.kind == "interface":
            return ["struct", port.type.name, port.token]
        if port.kind == "event":
            return ["mltp_sim_event_t *", port.token]
        if port.spread:
            return ["struct sc_spread *", port.token]
        if port.kind == "signal":
            return ["struct sm_signal *", port.token]
        return [self._specs(body, port), self._declarator(body, port.declarator, ["( *", port.token, ")"])]

    def _field(self, body, cls, member):
        if member.kind == "instance":
            shape = member.declarator.children[-1]
            size = shape.children[1:] if shape.data == "array" else []
            return ["struct", member.type.name, member.token, [body._fixed(word) for word in size]]
        if self._is_open(member):
            return [f"__typeof__({cls.name}__sc_{member.name}_v)", member.token]
        if member.kind == "signal":
            return [f"struct {{ struct sm_signal sc_signal; {cls.name}__sc_{member.name}_t now, next; }}", member.token]
        if member.kind == "event":
            return ["mltp_sim_event_t", self._declarator(body, member.declarator, [member.token])]
        if member.kind == "buffered":
            return ["struct {", self._specs(body, member), self._declarator(body, member.declarator, ["now"]), ",",
                    self._declarator(body, member.declarator, ["next"]), "; struct sm_clocked sc_clocked; }", member.token]
        name = [member.token]
        if member.kind == "piped":
            name = [member.token, f"[{member.delay + 1}]"]
        return [self._specs(body, member), self._declarator(body, member.declarator, name)]

    def methods(self, cls):
        """The bodies of the methods, and the tables for the interfaces."""
        parts = []
        outlined = []
        for method in cls.methods:
            if method.name not in cls.bodies:
                raise self.collector.error(method.token, f"method '{method.name}' has no body (write it in the {cls.kind})")
            body = Body(self.collector, cls, self.functions, outlined)
            body.returns = method.c_type.of
            head = self._head(cls, method, [f"{cls.name}__{method.name}"], body)
            text = body.translate(cls.bodies[method.name])
            inline = "inline" if cls.kind == "channel" else ""  # where its channel is known
            parts.append(["static", inline, self._by_jump(cls.bodies[method.name]), head, "{",
                          f"struct {cls.name} *sc_self = sc_this; (void)sc_self;", self.narrowed(body), text, "}"])
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
        return [f"__attribute__((unused)) static void {cls.name}__sc_shift(struct {cls.name} *sc_self) {{ (void)sc_self;",
                moves, "}"]

    def _table(self, cls, interface):
        rows = []
        for wanted in interface.methods:
            method = cls.method(wanted.name)
            if method is None:
                raise self.collector.error(cls.token, f"{cls.kind} '{cls.name}' implements '{interface.name}', "
                                                      f"but has no method '{wanted.name}' (write it)")
            takes, has = parameter_count(method.declarator), parameter_count(wanted.declarator)
            if None not in (takes, has) and takes != has:
                raise self.collector.error(method.token, f"method '{method.name}' of {cls.kind} '{cls.name}' takes {takes} "
                                           f"argument{'s' * (takes != 1)}, and interface '{interface.name}' has {has} "
                                           f"(declare it as {heading(wanted.declarator)})")
            rows.append([f".{wanted.name} = {cls.name}__{wanted.name},"])
        return [f"static const struct {interface.name}_methods {cls.name}__sc_as_{interface.name} = {{", rows, "};"]

    # ---- connections

    def connect(self, cls):
        """The function that initialises an instance and what it contains."""
        body = Body(self.collector, cls, self.functions, [])
        steps, instances = [], []  # an instance may be mapped to a signal that stands behind it
        for member in cls.members:
            if member.kind == "event":
                steps.append(self._init_event(member))
            elif member.kind == "instance":
                instances.append(self._init_instance(body, cls, member))
            else:
                steps.append(self._init_variable(body, member))
        return [f"static void {cls.name}__sc_init(struct {cls.name} *sc_self, const char *sc_name) {{",
                "sc_self->sc_name = sc_name;", steps, instances, "}"]

    @staticmethod
    def _init_event(member):
        path = f'sc_path(sc_name, "{member.name}")'
        if innermost(member.declarator) == "array":
            return ["sc_events((mltp_sim_event_t *)&sc_self->", member.token, ", sizeof sc_self->", member.token, ",", path, ");"]
        return ["sc_events(&sc_self->", member.token, ", sizeof(mltp_sim_event_t),", path, ");"]

    def _init_variable(self, body, member):
        steps = []
        if member.initial is not None and self._is_open(member):
            cls = body.cls
            steps = [f"__builtin_memcpy((void *)&sc_self->{member.name}, {cls.name}__sc_{member.name}_v, "
                     f"sizeof {cls.name}__sc_{member.name}_v);"]
        elif member.initial is not None:
            steps = self._first_value(body, member)
        if member.kind == "buffered":
            clocks = body.clocks(member.clock) if member.clock is not None else []
            if len(clocks) > 1:
                raise self.collector.error(member.token, f"'{member.token}': one event updates a buffered variable")
            steps += ["sm_clocked_init(&sc_self->", member.token, ".sc_clocked, &sc_self->", member.token, ".now, &sc_self->",
                      member.token, ".next, sizeof sc_self->", member.token, ".now,", clocks[0] if clocks else "0", ");"]
        if member.kind == "signal":
            steps += ["sm_signal_init(&sc_self->", member.token, ".sc_signal, &sc_self->", member.token, ".now, &sc_self->",
                      member.token, ".next, sizeof sc_self->", member.token, f'.now, sc_path(sc_name, "{member.name}"));']
        return steps

    def _first_value(self, body, member):
        """Assigns a member's first value. That of a single one may be any expression."""
        targets = {"piped": [f"[{copy}]" for copy in range(member.delay + 1)], "buffered": [".now"],
                   "signal": [".now"]}.get(member.kind, [""])
        single = len(member.initial.children) == 1 and member.c_type.kind != "array"
        const = "" if is_const(member) or single else "static const"
        steps = ["{", const, self._specs(body, member), self._declarator(body, member.declarator, ["sc_value"]), "=",
                 self._single_value(body, member) if single else body.first_value(member.c_type, member.initial, True), ";"]
        for target in targets:
            steps += ["__builtin_memcpy((void *)&sc_self->", member.token, target, ", &sc_value, sizeof sc_value);"]
        return [*steps, "}"]

    @staticmethod
    def _single_value(body, member):
        one = member.c_type
        if one.is_wide:
            return body.as_type(one, member.initial)
        value = body._fixed(member.initial)
        return fit(one, value) if one.kind == "bits" else value

    def _init_instance(self, body, cls, member):
        child, given = member.type, member.arguments
        if len(given) != len(child.ports):
            names = ", ".join(port.name for port in child.ports)
            raise self.collector.error(member.token, f"'{member.token}': {child.kind} '{child.name}' has {len(child.ports)} "
                                                     f"ports, and {len(given)} are mapped" + f" (map {names})" * bool(names))
        path = f'sc_path(sc_name, "{member.name}")'
        if innermost(member.declarator) == "array":
            if child.ports:
                raise self.collector.error(member.token, f"'{member.token}': an array of a {child.kind} with ports has no "
                                                         "map (write one instance for each)")
            return [f"for (size_t sc_i = 0; sc_i < sizeof sc_self->{member.name} / sizeof sc_self->{member.name}[0]; sc_i++)",
                    f'{child.name}__sc_init(&sc_self->{member.name}[sc_i], sc_path_at({path}, sc_i));']
        steps = [self._map(body, cls, member, port, argument) for port, argument in zip(child.ports, given)]
        return [steps, f"{child.name}__sc_init(&sc_self->", member.token, f", {path});"]

    def _map(self, body, cls, member, port, argument):
        at = ["sc_self->", member.token, ".", port.name, "="]
        if argument.data == "open_port":
            return self._map_nothing(body, member, port, at)
        expression = without_parens(argument.children[0])
        if port.kind in ("variable", "signal") and port.c_type.kind == "bits" and (
                port.spread or self._is_spread(body, expression)):
            spread = Spread(body, self._check_map, port, at[:-1], f"{member.name}.{port.name}").mapped(expression)
            if spread is not None:
                self.collector.spread.add((member.type.name, port.name))
                return spread
        base = expression.children[0] if expression.data == "index" else expression
        given = cls.find(str(base.children[0])) if base.data == "name" else None
        index = [body.translate(c) for c in expression.children[1:]] if base is not expression else []
        if given is None or given.kind == "function" or index and innermost(given.declarator) != "array":
            return self._map_value(body, port, expression, at)
        token = base.children[0]
        self._check_map(cls, port, given, token, bool(index))
        if port.kind == "interface":
            if given.kind == "interface":
                return [at, "sc_self->", token, ";"]
            return [at, f"(struct {port.type.name}){{ &{given.type.name}__sc_as_{port.type.name}, &sc_self->", token, index,
                    "};"]
        if index:
            return [at, "&", "(*" * (given in cls.ports), "sc_self->", token, ")" * (given in cls.ports), index, ";"]
        if given.kind == "signal" and port.kind != "signal":
            if port.kind == "event":
                return [at, "&", view_at(given, token) or body.signal_at(given, token), "changed;"]
            return [at, body.signal_at(given, token), "buffered.current_", ";"]
        if given in cls.ports:
            return [at, "sc_self->", token, ";"]
        if given.kind == "piped":
            place = "[0]" if port.direction == "out" else f"[{given.delay}]"
            return [at, "&sc_self->", token, place, ";"]
        return [at, "&sc_self->", token, {"buffered": ".now", "signal": ".sc_signal"}.get(given.kind, ""), ";"]

    @staticmethod
    def _is_spread(body, expression):
        """Whether a map names bits of a variable, or a port that is mapped to such."""
        if expression.data == "name":
            part = body.part(expression.children[0])
            return part is not None and part.spread
        return expression.data in ("concat", "slice") or expression.data == "index" and body.type_of(
            expression.children[0]).kind == "bits"

    def _map_nothing(self, body, member, port, at):
        """An open port gets what nothing reads."""
        if port.kind not in ("variable", "signal") or port.direction != "out":
            raise self.collector.error(member.token, f"'{member.token}': only 'out' ports of variables and signals stay open; "
                                                     f"'{port.name}' is none (map something to it)")
        def declared(name):
            return [self._specs(body, port), self._declarator(body, port.declarator, [name]), ";"]
        if port.kind == "variable":
            return ["{ static", declared("sc_open"), whole_at(port, at, "sc_open"), "}"]
        return self._map_signal(port, at, declared, [])

    @staticmethod
    def _map_signal(port, at, declared, value):
        """A port gets a signal of its own."""
        return ["{ static struct { struct sm_signal sc_signal;", declared("now"), declared("next"), "} sc_open", value, ";",
                "sm_signal_init(&sc_open.sc_signal, &sc_open.now, &sc_open.next, sizeof sc_open.now,", f'"{port.name}");',
                whole_at(port, at, "sc_open"), "}"]

    def _map_value(self, body, port, expression, at):
        """A port gets a constant, or a global variable."""
        token = next(expression.scan_values(lambda _: True))
        known = self.collector.globals.get(str(token)) if expression.data == "name" else None
        if known is not None and port.kind == "event" and known.kind == "event":
            return [at, "&", token, ";"]
        if known is not None and known.kind == "signal":
            self._check_map(body.cls, port, known, token, False)
            field = {"event": "changed", "variable": "buffered.current_"}.get(port.kind)
            return [at, "&" if field != "buffered.current_" else "", token, ".sc_signal", "." + field if field else "", ";"]
        if known is not None and port.kind == "variable" and known.kind == "variable" and known.value is None:
            return [at, "&", token, ";"]
        names = [name.children[0] for name in expression.find_data("name")]
        if expression.data in ("concat", "slice") or expression.data == "index" and names and body.type_of(
                expression.children[0]).kind == "bits":
            raise self.collector.error(token, f"port '{port.name}' is mapped to a whole variable (copy the bits to one)")
        for name in names:
            if body.value_of_name(name) is None:
                raise self.collector.error(name, f"'{name}' cannot be mapped to port '{port.name}': neither {body.cls.kind} "
                                                 f"'{body.cls.name}' nor the file has a variable or constant of that name")
        if port.kind not in ("variable", "signal") or port.direction not in ("in", "inout") or port.direction == "inout" and port.said:
            raise self.collector.error(token, f"a constant can only be mapped to an 'in' port; '{port.name}' is none")
        def declared(name):
            return [self._specs(body, port), self._declarator(body, port.declarator, [name]), ";"]
        value = ["=", body.fixed_as(port.c_type, expression)]
        if port.kind == "signal":
            return self._map_signal(port, at, declared, ["= { .now", value, "}"])
        return ["{ static", declared("sc_constant")[:-1], value, ";", whole_at(port, at, "sc_constant"), "}"]

    def _check_map(self, cls, port, given, token, indexed):
        def wrong(why):
            return self.collector.error(token, f"'{token}' cannot be mapped to port '{port.name}': {why}")
        if port.kind == "interface":
            offers = [given.type] if given.kind == "interface" else \
                given.type.implements if given.kind == "instance" else []
            if port.type not in offers:
                raise wrong(f"it does not implement interface '{port.type.name}' (name a channel that does)")
            return
        kinds = {"event": ("event", "signal"), "signal": ("signal",)}.get(
            port.kind, ("variable", "piped", "buffered", *(["signal"] if port.direction == "in" else [])))
        if given.kind not in kinds or given.type is not None:
            raise wrong(f"the port is {'an' if port.kind == 'event' else 'a'} {port.kind}, and it is none")
        if given in cls.ports and given.direction == "in" and port.direction != "in":
            raise wrong(f"the port is '{port.direction}', and '{token}' is 'in'")
        if given.kind == "buffered" and port.direction != "in":
            raise wrong("buffered variables are mapped to 'in' ports only (use a signal)")
        if given.kind == "piped" and port.direction == "inout":
            raise wrong("piped variables are mapped to 'in' or 'out' ports (say which)")
        (theirs, known), (ours, known_too) = type_words(given), type_words(port)
        if port.kind in ("variable", "signal") and known and known_too and theirs != ours and not indexed:
            raise wrong(f"the types differ: {self._type(given)} and {self._type(port)}")

    @staticmethod
    def _type(declared):
        if declared.c_type.kind == "bits":
            return "'" + type_words(declared)[0][0][0] + "'"
        return "'" + " ".join(part for part in [*map(words, declared.specs.children),
                                                type_words(declared)[0][1]] if part not in ("piped", "signal", "")) + "'"
