# SPDX-License-Identifier: Apache-2.0
"""From the tree of a whole text to C."""
from lark import Tree

from body import Body
from classes import Classes
from collect import Collector
from model import innermost
from output import Writer, words
from source import Error


class Translator:
    """Translates one text."""

    def __init__(self, text, tree):
        self._text, self._tree = text, tree
        self._collector = Collector(text)
        functions = {str(c.children[1].scan_values(lambda v: v.type == "NAME").__next__())
                     for c in tree.children if isinstance(c, Tree) and c.data == "function_def"}
        self._classes = Classes(self._collector, functions, any("sc_returns_by_jump" in one for one in text.system))
        self._functions = functions
        self._globals = []  # events of the whole model

    def translate(self):
        """The C text."""
        writer = Writer(self._text)
        for part in self._tree.children:
            writer.write(self._external(part))
        writer.write(self._main())
        return writer.result()

    def _external(self, part):
        handler = getattr(self, "_" + part.data) if isinstance(part, Tree) else None
        return handler(part) if handler else [part]

    @staticmethod
    def _system(part):
        return [part.children[0]]

    def _import_unknown(self, part):
        name = part.children[1]
        raise self._collector.error(name, f"import {name}: no such file in the search path (-P)")

    def _interface_def(self, part):
        return self._classes.interface(self._collector.interface(part))

    def _class_def(self, part):
        cls = self._collector.class_def(part)
        if not cls.defined:
            return [f"struct {cls.name};"]
        return [self._classes.structure(cls), self._classes.methods(cls), self._classes.connect(cls)]

    def _function_def(self, part):
        specs, declarator, compound = part.children
        self._collector.refuse_specs(specs)
        one = self._collector.declared(specs, declarator)
        self._collector.globals[one.name] = one
        body = Body(self._collector, None, self._functions, [])
        head = [body.translate(specs), self._classes._declarator(body, declarator, [one.token])]
        for parameters in declarator.find_data("parameters"):
            self._classes._parameters(body, parameters)
        return [head, body.translate(compound)]

    def _declaration(self, part):
        body = Body(self._collector, None, self._functions, [])
        for one in self._collector.declarations(part):
            if one.kind == "event":
                return self._global_events(part)
            if one.kind not in ("variable", "function", "type"):
                raise self._collector.error(one.token, f"'{one.token}': {one.kind}s are parts of behaviors and "
                                                       "channels")
            self._collector.globals[one.name] = one
        return [body._fixed(child) if isinstance(child, Tree) else [child] for child in part.children]

    def _global_events(self, part):
        result = []
        for one in self._collector.declarations(part):
            if innermost(one.declarator) != "declared" or words(part.children[0]) != "event":
                raise self._collector.error(one.token, f"'{one.token}': global events are single ones")
            self._collector.globals[one.name] = one
            result.append(["mltp_sim_event_t", one.token, f'= MLTP_SIM_EVENT_INIT("{one.name}");'])
        return result

    def _main(self):
        cls = self._collector.classes.get("Main")
        main = cls.method("main") if cls is not None and cls.kind == "behavior" else None
        if main is None:
            raise Error(self._text.place(self._text.text.count("\n")),
                        "the model has no behavior 'Main' with a method 'main'")
        if cls.ports:
            raise self._collector.error(cls.token, "behavior 'Main' has no ports")
        if "main" in self._functions:
            raise self._collector.error(cls.token, "a model's main function is that of behavior 'Main'")
        returns = [words(c) for c in main.specs.children] == ["int"]
        if not returns and [words(c) for c in main.specs.children] != ["void"]:
            raise self._collector.error(main.token, "Main's main returns int or void")
        parameters = [words(p) for p in main.declarator.find_data("parameters")]
        takes = parameters and parameters != ["void"]
        call = f"Main__main(&sc_main{', sc_argc, sc_argv' if takes else ''});"
        return ["static struct Main sc_main; static int sc_argc, sc_status; static char **sc_argv;",
                "static void sc_first(void *sc_arg) { (void)sc_arg; (void)sc_argc; (void)sc_argv;",
                "sc_status =" if returns else "", call, "}",
                "int main(int sc_count, char **sc_arguments) { sc_argc = sc_count; sc_argv = sc_arguments;",
                'Main__init(&sc_main, "Main"); return sc_simulate(sc_first, &sc_status); }']
