# SPDX-License-Identifier: Apache-2.0
"""Translates SpecC's own statements: what runs, waits and notifies."""
from lark import Token, Tree

from model import innermost, parameters_of
from output import words
from source import quoted
from spread import view_at


def subtrees(node, *kinds):
    return [c for c in node.children if isinstance(c, Tree) and c.data in kinds]


NEVER = "18446744073709551615ULL"  # SC_NEVER of specc_runtime.h
STAGES_MAX = 64  # SC_STAGES_MAX of specc_runtime.h


class Constructs:
    """A part of Body."""

    @staticmethod
    def method_name(cls, name):
        return f"{cls.name}__{name}"

    # ---- what runs

    def _instance_of(self, node):
        """The instance whose main an expression runs, `name` or `name.main()`, as its tree; None: it runs none."""
        if node.data == "call" and len(node.children) == 3 and node.children[0].data == "dot":
            if words(node.children[0].children[2]) == "main":
                return self._instance_of(node.children[0].children[0])
        base = node.children[0] if node.data == "index" else node
        part = self.part(base.children[0]) if base.data == "name" else None
        if part is None or part.kind != "instance" or part.type.kind != "behavior":
            return None
        if (node.data == "index") != (innermost(part.declarator) == "array"):
            raise self.error(base.children[0], f"'{base.children[0]}': one behavior runs, of an array one with its "
                                               "index (write " f"{base.children[0]}[0];)")
        return node

    def _main_of(self, node):
        """The class whose main an instance runs."""
        token = (node.children[0] if node.data == "index" else node).children[0]
        cls = self.part(token).type
        main = cls.method("main")
        if main is None or words(parameters_of(main.declarator) or "void") != "void":
            raise self.error(token, f"behavior '{cls.name}' has no method 'void main(void)' to run")
        return cls

    def run_instance(self, node):
        """A behavior runs like a function; while it does, the thread has its name."""
        name = self.method_name(self._main_of(node), "main")
        at = self.instance_at(node)
        return ["({ const char *sc_outer = sm_rename(", at, f".sc_name); {name}(&", at, "); sm_rename(sc_outer); (void)0; })"]

    def _children(self, statement):
        """The threads that a statement after par, pipe or try makes, as entries of a table."""
        if statement.data != "compound":
            return [self._child(statement)]
        children = []
        for item in statement.children[1:-1]:
            if item.data == "declaration":
                raise self.error(next(item.scan_values(lambda _: True)), "no declarations stand here (declare it in "
                                                                         "the behavior)")
            if item.data != "note" and not (item.data == "expr_statement" and len(item.children) == 1):
                children.append(self._child(item))
        return children

    def _child(self, statement):
        instance = self._instance_of(statement.children[0]) \
            if statement.data == "expr_statement" and len(statement.children) == 2 else None
        if instance is None:
            return ["{", self._outline([statement]), ", sc_self, sc_self->sc_name },"]
        at = self.instance_at(instance)
        main = self._main_of(instance).method("main")
        if [words(c) for c in main.specs.children] != ["void"]:
            raise self.error(next(instance.scan_values(lambda _: True)), f"main of behavior '{self._main_of(instance).name}' "
                                                                         "returns a value (write void main(void))")
        return ["{", self.method_name(self._main_of(instance), "main"), ", &", at, ",", at, ".sc_name },"]

    def do_expr_statement(self, node):
        """`name;` of a behavior runs it."""
        if len(node.children) == 2:
            instance = self._instance_of(node.children[0])
            if instance is not None:
                return [self.run_instance(instance), node.children[1]]
        return [self.translate(child) for child in node.children]

    def do_par_statement(self, node):
        if len(node.children) > 2:
            raise self.error(node.children[0], "'par' has no loop (name each behavior: par { b[0]; b[1]; })")
        children = self._children(node.children[-1])
        if not children:
            return [node.children[0].update(value=";")]
        start = node.children[0].update(value="mltp_sim_par")
        return [start, "((const mltp_sim_child_t[]){", children, "},", str(len(children)), ");"]

    def do_pipe_statement(self, node):
        children = self._children(node.children[-1])
        if not children:
            raise self.error(node.children[0], "a pipe has stages (name behaviors: pipe { a; b; })")
        if len(children) > STAGES_MAX:
            raise self.error(node.children[0], f"a pipe has at most {STAGES_MAX} stages (make two pipes)")
        parts = [[], [], []]
        at = -1
        for child in node.children[1:-1]:  # "(" expr? ";" expr? ";" expr? ")"
            if isinstance(child, Token) and str(child) in "(;)":
                at += 1
            else:
                parts[at] = self.truth(child) if at == 1 else self.translate(child)
        first, condition, step = parts
        stages = str(len(children))
        start = node.children[0].update(value="{")
        shift = [f"{self.cls.name}__sc_shift(sc_self);"] if self.cls else []
        return [start, "const mltp_sim_child_t sc_stages[] = {", children, "};",
                f"unsigned char sc_on[{stages}] = {{0}}; int sc_more = 1;", first,
                "; do { if (sc_more) sc_more = (", condition or "1", ") != 0;",
                f"if (!sc_pipe(sc_stages, sc_on, {stages}, sc_more)) break;", shift,
                "if (sc_more) {", step, "; } } while (1); }"]

    # ---- states

    def do_fsm_statement(self, node):
        self.labels += 1
        prefix = f"sc_{self.labels}_"
        states = subtrees(node, "fsm_state")
        names = [str(state.children[0]) for state in states]
        result = [node.children[0].update(value="{")]
        for state in states:
            token = state.children[0]
            if names.count(str(token)) > 1:
                raise self.error(token, f"state '{token}' is there twice (a behavior is one state)")
            instance = self._instance_of(Tree("name", [token]))
            if instance is None:
                raise self.error(token, f"state '{token}' is no behavior of this one (declare it as a member)")
            result += [prefix + str(token), ": __attribute__((unused));", self.run_instance(instance), ";"]
            result += [self._transition(c, prefix, names) for c in state.children[2:]]
        return [*result, f"goto {prefix}; {prefix}: ;", "}"]

    def _transition(self, node, prefix, names):
        if isinstance(node, Token):
            return [node]
        if node.data == "fsm_break":
            return ["goto", prefix, ";"]
        if node.data == "fsm_goto":
            if str(node.children[1]) not in names:
                raise self.error(node.children[1], f"no state '{node.children[1]}' in this fsm (states are the names "
                                                   "before the colons)")
            return ["goto", prefix + str(node.children[1]), ";"]
        if node.data == "fsm_if":
            return [*node.children[:2], self.truth(node.children[2]),
                    [self._transition(c, prefix, names) for c in node.children[3:]]]
        return [self._transition(c, prefix, names) for c in node.children] if len(node.children) > 1 else ["{ }"]

    # ---- exceptions

    def _outline(self, statements):
        """A function of the class that does these one after the other, and its name."""
        if self.cls is None:
            raise self.error(next(statements[0].scan_values(lambda _: True)), "this is for behaviors (move it into one)")
        for name in (name for one in statements for name in one.find_data("name")):
            if self.local(name.children[0])[0]:
                raise self.error(name.children[0], f"'{name.children[0]}' is a variable of this function, and another "
                                                   "thread uses it here (make it a member of the behavior)")
        self.outlined.append([])
        name = f"{self.cls.name}__sc_part{len(self.outlined)}"
        place = len(self.outlined) - 1
        inner = type(self)(self.collector, self.cls, self.functions, self.outlined)
        text = ["static void", name, "(void *sc_this) {", f"struct {self.cls.name} *sc_self = sc_this; (void)sc_self;",
                [inner.translate(one) for one in statements], "}"]
        self.outlined[place] = text
        return name

    def do_try_statement(self, node):
        body = self._outline([node.children[1]])
        rows = []
        for handler in subtrees(node, "handler"):
            events, how = self._events(handler.children[1])
            if how == "and":
                raise self.error(handler.children[0], f"'{handler.children[0]}' has a list with ',' or '||' (not '&&')")
            name = self._outline([handler.children[2]])
            kind = "1" if str(handler.children[0]) == "interrupt" else "0"
            rows += [["{", event, ",", kind, ",", name, ", sc_self },"] for event in events]
        start = node.children[0].update(value="(void)mltp_sim_try")
        return [start, "(&(const mltp_sim_child_t){", body, ", sc_self, sc_self->sc_name },",
                "(const mltp_sim_handler_t[]){", rows or "{0}", "},", str(len(rows)), ");"]

    # ---- events

    def _event(self, reference):
        """An event as a pointer."""
        edge = next((str(c) for c in reference.children if isinstance(c, Token) and c.type == "EDGE"), None)
        token = next(c for c in reference.children if isinstance(c, Token) and c.type == "NAME")
        expressions = [c for c in reference.children if isinstance(c, Tree)]
        index = ["[", self.translate(expressions[0]), "]"] if expressions else []
        part = self.part(token)
        if part is not None and part.kind == "signal":
            return ["&", view_at(part, token) or self.signal_at(part, token), edge or "changed"]
        if edge is not None:
            raise self.error(token, f"'{edge}' is for signals; '{token}' is none (declare it as a signal)")
        if part is None and not self.is_local(token):
            known = self.collector.globals.get(str(token))
            if known is not None and known.kind == "event":
                return ["&", token, index]
        if part is None or part.kind != "event":
            raise self.error(token, f"'{token}' is no event (declare it as event or signal)")
        if bool(index) != (innermost(part.declarator) == "array"):
            raise self.error(token, f"'{token}': one event is meant, of an array one with its index (write {token}[0])")
        return ["sc_self->" if part in self.cls.ports else "&sc_self->", token, index]

    def _events(self, event_list):
        events = subtrees(event_list, "events")[0]
        inner = events.children[0]
        if inner.data == "event_ref":
            return [self._event(inner)], "or"
        references = subtrees(inner, "event_ref")
        return [self._event(r) for r in references], "and" if inner.data == "and_events" else "or"

    def clocks(self, events):
        """The events that update a buffered variable, as pointers."""
        return self._events(Tree("event_list", [events]))[0]

    def do_wait_statement(self, node):
        events, how = self._events(node.children[1])
        again = "sc_ordered();" if self.cls is not None and self.cls.kind == "channel" else ""
        word = node.children[0]
        if len(events) == 1:
            return ["{", word.update(value="sc_wait"), "(", events[0], ");", again, "}"]
        call = word.update(value="mltp_sim_wait_all" if how == "and" else "mltp_sim_wait_any")
        listed = [[event, ","] for event in events]
        return ["{", call, "((mltp_sim_event_t *const[]){", listed, "},", str(len(events)), ");", again, "}"]

    def do_notify_statement(self, node):
        events, how = self._events(node.children[1])
        word = node.children[0]
        for name in (c for c in node.scan_values(lambda c: c.type == "NAME")):
            part = self.part(name)
            if part is not None and part.kind == "signal":
                raise self.error(name, f"'{name}' is a signal: it is notified when its value changes (assign to it)")
        if how == "and":
            raise self.error(word, f"'{word}' has a list with ',' (not '&&')")
        call = "mltp_sim_notify" if str(word) == "notify" else "mltp_sim_notify_one"
        return ["{", [[word.update(value=call), "(", event, ");"] for event in events], "}"]

    def do_waitfor_statement(self, node):
        again = "sc_ordered();" if self.cls is not None and self.cls.kind == "channel" else ""
        return ["{", node.children[0].update(value="sc_waitfor"), "(", self.translate(node.children[1]),
                ");", again, "}"]

    # ---- timing constraints

    def do_timing_statement(self, node):
        """Each label notes the time; what is between two of them is compared at the end."""
        ranges = subtrees(node, "timing_range")
        labels = sorted({str(label) for one in ranges for label in (one.children[2], one.children[4])})
        known = {str(one.children[0]) for one in node.children[1].find_data("labelled")}
        for one in ranges:
            if str(one.children[0]) != "range":
                raise self.error(one.children[0], f"'{one.children[0]}': a timing constraint is range(LABEL; LABEL; "
                                                  "SHORTEST; LONGEST);")
            for label in (one.children[2], one.children[4]):
                if str(label) not in known:
                    raise self.error(label, f"no label '{label}' in the statement before 'timing'")
        self.timed.append(labels)
        body = self.translate(node.children[1])
        self.timed.pop()
        times = [f"mltp_sim_time_t sc_at_{label} = {NEVER};" for label in labels]
        return [node.children[0].update(value="{"), times, body, [self._range(one) for one in ranges], "}"]

    def _range(self, node):
        first, second = str(node.children[2]), str(node.children[4])
        at, bounds = -2, [["0"], [NEVER]]
        for child in node.children[2:-2]:
            if isinstance(child, Token) and str(child) == ";":
                at += 1
            elif at >= 0:
                bounds[at] = self.translate(child)
        place = self.collector.place(node.children[0])
        return [node.children[0].update(value="sc_range"), f'((struct sc_range){{ "{quoted(place.file)}", {place.line}, '
                f'"{first}", "{second}", sc_at_{first}, sc_at_{second},', bounds[0], ",", bounds[1], "});"]

    def do_labelled(self, node):
        label = str(node.children[0])
        timed = [f"sc_at_{label} = mltp_sim_now();"] if any(label in labels for labels in self.timed) else []
        unused = ["__attribute__((unused));"] if timed else []
        return [node.children[0], ":", unused, timed, self.translate(node.children[2])]
