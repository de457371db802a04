# SPDX-License-Identifier: Apache-2.0
"""From the tree of a whole text to C."""
from lark import Tree

import wide
from body import Body, GLOBAL
from classes import Classes
from collect import Collector
from model import declared_token, has_storage, innermost, parameters_of
from output import Writer, pieces, words
from source import Error
from types_of import PLAIN

# Functions of C's library that take sizes. specc_runtime.h declares them, and models of machines of 32 bits declare
# them with 'unsigned int' in that place.
TAKES_SIZES = frozenset("malloc calloc realloc memcpy memmove memset memcmp memchr strncpy strncat strncmp fread fwrite "
                        "qsort bsearch snprintf".split())


class Translator:
    """Translates one text."""

    def __init__(self, text, tree, spread=frozenset()):
        self._text, self._tree = text, tree
        self._spread, self._collector = spread, Collector(text, spread)
        functions = {str(c.children[1].scan_values(lambda v: v.type == "NAME").__next__())
                     for c in tree.children if isinstance(c, Tree) and c.data == "function_def"}
        self._said = set()  # the declarations so far, as words
        self._classes = Classes(self._collector, functions, self._said,
                                any("sc_returns_by_jump" in one for one in text.system))
        self._functions = functions
        self._signals = []  # statements that initialise the global ones
        self._waiting = []  # class definitions that wait for those of their parts

    def translate(self):
        """The C text."""
        writer = Writer(self._text)
        for part in self._tree.children:
            writer.write(self._new_external(part))
            writer.write(self._waiting_classes())
        if self._waiting:
            self._refuse_waiting()
        writer.write(self._main())
        if self._collector.spread != self._spread:  # a map that comes behind a class tells how its ports are read
            return Translator(self._text, self._tree, frozenset(self._collector.spread)).translate()
        text = writer.result()
        return wide.definitions(text) + text

    def _new_external(self, part):
        """A declaration that came before in another module says nothing new."""
        if not isinstance(part, Tree) or part.data == "system":
            return self._external(part)
        said = " ".join(pieces(part))
        if part.data in ("class_def", "function_def"):  # the same text in two files defines two things
            said += str(self._collector.place(pieces(part)[0]))
        if said in self._said:
            return []
        self._said.add(said)
        return self._external(part)

    # ---- classes whose parts are only announced before them

    def _missing(self, part):
        """The words of a class definition that name classes which are not defined yet."""
        for child in part.children:
            if isinstance(child, Tree) and child.data == "class_body":
                for member in child.children:
                    if isinstance(member, Tree) and member.data == "declaration":
                        cls = self._collector.class_of(member.children[0])
                        if cls is not None and cls.kind != "interface" and not cls.defined:
                            yield next(member.children[0].find_data("type_name_ref")).children[0]

    def _waiting_classes(self):
        """The classes that had to wait, and have all parts now."""
        ready = [part for part in self._waiting if not any(True for _ in self._missing(part))]
        self._waiting = [part for part in self._waiting if part not in ready]
        result = [self._class_def(part) for part in ready]
        return [result, self._waiting_classes()] if ready else result

    def _refuse_waiting(self):
        waiting = {str(part.children[1].children[0]) for part in self._waiting}
        missing = [(part, next(name for name in self._missing(part))) for part in self._waiting]
        for _, name in missing:
            if str(name) not in waiting:
                raise self._collector.error(name, f"'{name}' is announced and never defined (write its body)")
        part, name = missing[0]
        raise self._collector.error(name, f"'{name}' and '{part.children[1].children[0]}' contain each other (one of them must "
                                          "do without the other)")

    def _external(self, part):
        handler = getattr(self, "_" + part.data) if isinstance(part, Tree) else None
        return handler(part) if handler else [part]

    @staticmethod
    def _system(part):
        return [part.children[0]]

    def _import_unknown(self, part):
        name = part.children[1]
        if name.strip('"').endswith((".sh", ".h", ".hh")):
            raise self._collector.error(name, f"import {name}: a header is included, not imported (write #include {name})")
        raise self._collector.error(name, f"import {name}: no such file in the search path (-P)")

    def _interface_def(self, part):
        return self._classes.interface(self._collector.interface(part))

    def _class_def(self, part):
        if any(True for _ in self._missing(part)):
            self._waiting.append(part)
            name = part.children[1].children[0]
            if str(name) not in self._collector.classes:
                self._collector.announce(name, words(part.children[0]))
            return [f"struct {name};"]
        cls = self._collector.class_def(part)
        if not cls.defined:
            return [f"struct {cls.name};"]
        return [self._classes.structure(cls), self._classes.methods(cls), self._classes.connect(cls)]

    def _function_def(self, part):
        specs, declarator, compound = part.children
        one = self._collector.declared(specs, declarator)
        self._collector.globals[one.name] = one
        body = Body(self._collector, None, self._functions, [])
        body.returns = one.c_type.of
        head = [body.translate(specs), self._classes._declarator(body, declarator, [one.token])]
        if parameters_of(declarator) is not None:
            self._classes._parameters(body, parameters_of(declarator))
        return [head, "{", self._classes.narrowed(body), body.translate(compound), "}"]

    @staticmethod
    def _note(part):
        return []

    def _declaration(self, part):
        body = Body(self._collector, None, self._functions, [])
        declared = self._collector.declarations(part)
        for one in declared:
            if one.kind == "event":
                return self._global_events(part)
            if one.kind == "signal":
                return self._global_signals(part, body, declared)
            if one.kind not in ("variable", "function", "type"):
                kind = f"{one.kind} variables" if one.kind in ("buffered", "piped") else f"{one.kind}s"
                raise self._collector.error(one.token, f"'{one.token}': {kind} are parts of behaviors and channels (declare it "
                                                       "in Main)")
            self._collector.globals[one.name] = one
        if declared and all(one.kind == "function" and one.name in TAKES_SIZES - self._functions for one in declared):
            return []
        return [self._fixed(body, child) if isinstance(child, Tree) else [child] for child in part.children]

    def _fixed(self, body, child):
        """Specifiers, or a declarator with its first value."""
        if child.data != "init_declarator":
            return body.translate(child)
        one = self._collector.globals.get(str(declared_token(child.children[0])))
        return [body.first_value(one.c_type if one is not None else PLAIN, c, True)
                if isinstance(c, Tree) and c.data == "initializer" else body.translate(c) for c in child.children]

    def _global_events(self, part):
        result = []
        for one in self._collector.declarations(part):
            if innermost(one.declarator) != "declared" or words(part.children[0]) != "event":
                raise self._collector.error(one.token, f"'{one.token}': global events are single ones (declare an array in a "
                                                       "behavior)")
            self._collector.globals[one.name] = one
            result.append(["mltp_sim_event_t", one.token, f'= {{ .name_ = "{one.name}" }};'])
        return result

    def _global_signals(self, part, body, declared):
        """A structure for each signal, as in a class; the main function initialises them."""
        result = []
        for one in declared:
            self._collector.globals[one.name] = one
            if has_storage(one.specs, "extern"):
                raise self._collector.error(one.token, f"'{one.token}': a global signal has no 'extern' (import the file "
                                                       "that has it)")
            self._signals.append(f"sm_signal_init(&{one.name}.sc_signal, &{one.name}.now, &{one.name}.next, "
                                 f'sizeof {one.name}.now, "{one.name}");')
            of = f"{GLOBAL}__sc_{one.name}_t"
            value = body.first_value(one.c_type, one.initial, True) if one.initial is not None else []
            result.append(["typedef", self._classes._specs(body, one), self._classes._declarator(body, one.declarator, [of]),
                           f"; static struct {{ struct sm_signal sc_signal; {of} now, next; }}", one.token,
                           ["= { .now =", value, "}"] if value else [], ";"])
        return result

    def _main(self):
        cls = self._collector.classes.get("Main")
        main = cls.method("main") if cls is not None and cls.kind == "behavior" else None
        if "main" in self._functions and all(other.kind == "interface" for other in self._collector.classes.values()):
            return []  # a program of C
        if main is None:
            raise Error(self._text.place(self._text.text.count("\n")),
                        "the model has no behavior 'Main' with a method 'main' (write it, or name the file that has it)")
        if cls.ports:
            raise self._collector.error(cls.token, "behavior 'Main' has no ports (make them members)")
        if "main" in self._functions:
            raise self._collector.error(cls.token, "a model's main function is that of behavior 'Main' (rename the other)")
        returns = [words(c) for c in main.specs.children] == ["int"]
        if not returns and [words(c) for c in main.specs.children] != ["void"]:
            raise self._collector.error(main.token, "Main's main returns int or void (write int main(void))")
        takes = words(parameters_of(main.declarator) or "void") != "void"
        call = f"Main__main(&sc_main{', sc_argc, sc_argv' if takes else ''});"
        return ["static struct Main sc_main; static int sc_argc, sc_status; static char **sc_argv;",
                "static void sc_first(void *sc_arg) { (void)sc_arg; (void)sc_argc; (void)sc_argv;",
                "sc_status =" if returns else "", call, "}",
                "int main(int sc_count, char **sc_arguments) { sc_argc = sc_count; sc_argv = sc_arguments;",
                *self._signals, 'Main__sc_init(&sc_main, "Main"); return sc_simulate(sc_first, &sc_status); }']
