# SPDX-License-Identifier: Apache-2.0
"""Translates SpecC's own statements: what runs, waits and notifies."""
from lark import Token, Tree

from model import innermost, specs_of
from output import pieces, words


def subtrees(node, *kinds):
    return [c for c in node.children if isinstance(c, Tree) and c.data in kinds]


class Constructs:
    """A part of Body."""

    @staticmethod
    def method_name(cls, name):
        return f"{cls.name}__{name}"

    # ---- what runs

    def _instance(self, run):
        """The behavior instance that a run names, as its token."""
        if run.data != "run":
            raise self.error(pieces(run)[0], f"'{pieces(run)[0]}': only behaviors run here: name; or name.main();")
        token = run.children[0]
        part = self.part(token)
        if part is None or part.kind != "instance" or part.type.kind != "behavior":
            raise self.error(token, f"'{token}' is no behavior of this one")
        name = words(run.children[2]) if len(run.children) > 2 else "main"
        main = part.type.method("main")
        if name != "main" or main is None:
            raise self.error(token, f"behavior '{part.type.name}' has no such main method to run ('{name}')")
        if [words(c) for c in main.specs.children] != ["void"] or innermost(main.declarator) != "function":
            raise self.error(token, f"main of behavior '{part.type.name}' returns a value: it cannot run here")
        return token

    def _runs(self, node):
        runs = subtrees(node, "run", "compound", "par_statement", "pipe_statement")
        return [self._instance(run) for run in runs]

    def _child(self, token):
        cls = self.part(token).type
        return ["{", self.method_name(cls, "main"), ", &sc_self->", token, ", sc_self->", token, ".sc_name },"]

    def _direct(self, token):
        return [self.method_name(self.part(token).type, "main"), "( &sc_self->", token, ");"]

    def do_run(self, node):
        return self._direct(self._instance(node))

    def do_expr_statement(self, node):
        """`name;` of a behavior runs it."""
        if len(node.children) == 2 and node.children[0].data == "name":
            part = self.part(node.children[0].children[0])
            if part is not None and part.kind == "instance":
                return self._direct(self._instance(Tree("run", node.children[0].children)))
        return [self.translate(child) for child in node.children]

    def do_par_statement(self, node):
        tokens = self._runs(node.children[1])
        if not tokens:
            return [node.children[0].update(value=";")]
        children = [self._child(token) for token in tokens]
        start = node.children[0].update(value="mltp_sim_par")
        return [start, "((const mltp_sim_child_t[]){", children, "},", str(len(tokens)), ");"]

    def do_pipe_statement(self, node):
        tokens = self._runs(subtrees(node, "runs")[0])
        parts = [[], [], []]
        at = -1
        for child in node.children[1:-1]:  # "(" expr? ";" expr? ";" expr? ")"
            if isinstance(child, Token) and str(child) in "(;)":
                at += 1
            else:
                parts[at] = self.translate(child)
        first, condition, step = parts
        stages = str(len(tokens))
        start = node.children[0].update(value="{")
        shift = [f"{self.cls.name}__shift(sc_self);"] if self.cls else []
        return [start, "const mltp_sim_child_t sc_stages[] = {", [self._child(token) for token in tokens], "};",
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
                raise self.error(token, f"state '{token}' is there twice")
            result += [prefix + str(token), ": __attribute__((unused));", self._direct(self._instance(Tree("run", [token])))]
            result += [self._transition(t, prefix, names) for t in subtrees(state, "transition")]
        return [*result, f"goto {prefix}; {prefix}: ;", "}"]

    def _transition(self, node, prefix, names):
        where = subtrees(node, "fsm_goto", "fsm_break")[0]
        target = ""
        if where.data == "fsm_goto":
            target = str(where.children[1])
            if target not in names:
                raise self.error(where.children[1], f"no state '{target}' in this fsm")
        conditions = [c for c in node.children if isinstance(c, Tree) and c is not where]
        test = ["if (", self.translate(conditions[0]), ")"] if conditions else []
        return [test, "goto", prefix + target, ";"]

    # ---- exceptions

    def _outline(self, runs):
        """A function of the class that runs these one after the other, and its name."""
        self.outlined.append([])
        name = f"{self.cls.name}__part{len(self.outlined)}"
        text = ["static void", name, "(void *sc_this) {", f"struct {self.cls.name} *sc_self = sc_this; (void)sc_self;",
                [self._direct(token) for token in self._runs(runs)], "}"]
        self.outlined[-1] = text
        return name

    def do_try_statement(self, node):
        if self.cls is None:
            raise self.error(node.children[0], "'try' is for behaviors")
        body = self._outline(subtrees(node, "runs")[0])
        rows = []
        for handler in subtrees(node, "handler"):
            events, how = self._events(handler.children[1])
            if how == "and":
                raise self.error(handler.children[0], f"'{handler.children[0]}' has a list with ',' or '||'")
            name = self._outline(handler.children[2])
            kind = "1" if str(handler.children[0]) == "interrupt" else "0"
            rows += [["{", event, ",", kind, ",", name, ", sc_self },"] for event in events]
        start = node.children[0].update(value="(void)mltp_sim_try")
        return [start, "(&(const mltp_sim_child_t){", body, ", sc_self, sc_self->sc_name },",
                "(const mltp_sim_handler_t[]){", rows or "{0}", "},", str(len(rows)), ");"]

    # ---- events

    def _event(self, reference):
        """An event as a pointer."""
        token = reference.children[0]
        index = ["[", self.translate(reference.children[2]), "]"] if len(reference.children) > 1 else []
        part = self.part(token)
        if part is None and not self.is_local(token):
            known = self.collector.globals.get(str(token))
            if known is not None and known.kind == "event":
                return ["&", token, index]
        if part is None or part.kind != "event":
            raise self.error(token, f"'{token}' is no event")
        if bool(index) != (innermost(part.declarator) == "array"):
            raise self.error(token, f"'{token}': one event is meant, of an array one with its index")
        return ["sc_self->" if part in self.cls.ports else "&sc_self->", token, index]

    def _events(self, event_list):
        events = subtrees(event_list, "events")[0]
        inner = events.children[0]
        if inner.data == "event_ref":
            return [self._event(inner)], "or"
        references = subtrees(inner, "event_ref")
        return [self._event(r) for r in references], "and" if inner.data == "and_events" else "or"

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
        if how == "and":
            raise self.error(word, f"'{word}' has a list with ','")
        call = "mltp_sim_notify" if str(word) == "notify" else "mltp_sim_notify_one"
        return ["{", [[word.update(value=call), "(", event, ");"] for event in events], "}"]

    def do_waitfor_statement(self, node):
        again = "sc_ordered();" if self.cls is not None and self.cls.kind == "channel" else ""
        return ["{", node.children[0].update(value="sc_waitfor"), "(", self.translate(node.children[1]),
                ");", again, "}"]

    def do_timing_statement(self, node):
        raise self.error(node.children[0], "timing constraints ('do ... timing') are not supported")
