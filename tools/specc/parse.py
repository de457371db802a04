# SPDX-License-Identifier: Apache-2.0
"""From text to a tree. The grammar is specc.lark, the parser lark's."""
import pathlib
import re

import lark

from source import Error

# After one of these a name is what is declared, even if a type has it.
TYPE_WORDS = {"VOID", "CHAR", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "SIGNED", "UNSIGNED", "BOOL", "_BOOL",
              "BASIC_GNU", "TYPE_NAME", "EVENT"}
TAGS = {"STRUCT", "UNION", "ENUM"}
CLASS_WORDS = {"INTERFACE", "BEHAVIOR", "CHANNEL"}
# What is said where a name would have to be a type's: keywords that need something else behind them.
INSTEAD = {"import": "'import' has the name of a file in quotes (write import \"{}\";)",
           "bit": "'bit' has a number of bits (write bit[1])"}
OPEN, CLOSE = {"LPAR", "LBRACE", "LSQB"}, {"RPAR", "RBRACE", "RSQB"}


class TypeNames:
    """Tells the names of types from others, which C's grammar needs, while the words come by.

    A name is a type from its typedef or class on. Where it is declared as something else, it is that until the
    block ends.
    """

    always_accept = ()

    def __init__(self):
        self._of_system = {}  # the names in a header's text: most texts include the same ones
        self.begin([], None)

    def begin(self, system, lex):
        self.names = {"__builtin_va_list"}
        self._system, self._lex = system, lex

    def _take_system(self, chunk):
        if chunk not in self._of_system:
            known, self.names = self.names, set()
            for _ in self._mark(self._lex(chunk)):
                pass
            self._of_system[chunk], self.names = self.names, known
        self.names |= self._of_system[chunk]

    def process(self, stream):
        """The stream, with TYPE_NAME in the place of NAME where that is one."""
        yield from self._mark(stream)

    def _mark(self, stream):
        depth, typedef_at, candidate = 0, None, None
        before, previous = None, None  # the two kinds of words before this one
        hidden = []  # (depth, name): types whose names mean something else there
        for token in stream:
            if token.type == "SYSTEM":
                self._take_system(self._system[int(token[1:])])
            if token.type in OPEN:
                depth += 1
            elif token.type in CLOSE:
                depth -= 1
            if hidden and token.type in ("RBRACE", "SEMICOLON"):
                hidden = self._unhide(hidden, depth, token.type)
            if token.type == "NAME":
                declares = previous in TYPE_WORDS or before in TAGS and previous == "NAME" or typedef_at is not None and (
                    typedef_at == depth and previous in ("RBRACE", "COMMA") or previous == "STAR" and candidate is None)
                if token in self.names and previous not in ("DOT", "ARROW", *TAGS, *CLASS_WORDS) and not declares:
                    token.type = "TYPE_NAME"
                elif previous in CLASS_WORDS:
                    self.names.add(str(token))
                elif typedef_at is not None and (depth == typedef_at or previous == "STAR"):
                    if depth == typedef_at or candidate is None:
                        candidate = str(token)
                elif token in self.names and declares:
                    self.names.discard(str(token))
                    hidden.append((depth, str(token)))
            if token.type == "TYPEDEF":
                typedef_at, candidate = depth, None
            elif typedef_at is not None and depth == typedef_at and token.type in ("SEMICOLON", "COMMA"):
                if candidate is not None:
                    self.names.add(candidate)
                candidate = None
                if token.type == "SEMICOLON":
                    typedef_at = None
            before, previous = previous, token.type
            yield token

    def _unhide(self, hidden, depth, word):
        """Types whose names mean themselves again, after a block or a declaration with parameters."""
        still = []
        for level, name in hidden:
            if depth < level and (word == "RBRACE" or depth == level - 1) and level > 0:
                self.names.add(name)
            else:
                still.append((level, name))
        return still


class Parser:
    """Parses preprocessed text."""

    def __init__(self):
        self._types = TypeNames()
        grammar = pathlib.Path(__file__).with_name("specc.lark").read_text()
        self._lark = lark.Lark(grammar, parser="lalr", lexer="basic", postlex=self._types,
                               propagate_positions=True, keep_all_tokens=True,
                               maybe_placeholders=False)

    def parse(self, text):
        """The tree of a source.Text."""
        self._types.begin(text.system, self._lex)
        try:
            return self._typed(self._lark.parse(text.text))
        except lark.exceptions.UnexpectedToken as error:
            raise self._unexpected(text, error) from None
        except lark.exceptions.UnexpectedCharacters as error:
            raise self._strange(text, error) from None

    @staticmethod
    def _typed(tree):
        """Gives each function that says no type that of C."""
        for part in tree.children:
            if isinstance(part, lark.Tree) and part.data == "untyped_def":
                first = next(part.scan_values(lambda _: True))
                part.data = "function_def"
                part.children.insert(0, lark.Tree("decl_specs", [
                    lark.Tree("basic_type", [lark.Token.new_borrow_pos("INT", "int", first)])]))
        return tree

    def _lex(self, chunk):
        text = "".join(line for line in chunk.splitlines(True) if not line.startswith("#"))
        try:
            yield from self._lark._build_lexer().lex(  # lark's own lex() would call our postlex
                lark.lexer.LexerState(text), None)
        except lark.exceptions.UnexpectedCharacters:
            return

    @staticmethod
    def _unexpected(text, error):
        token = error.token
        if token.type == "NAME":
            before = re.search(r"([A-Za-z_]\w*)[\s*]+$", text.text.split("\n")[token.line - 1][:token.column - 1])
            unknown, column = (before[1], before.start() + 1) if before and "TYPE_NAME" not in error.expected else \
                (token, token.column)
            if str(unknown) in INSTEAD:
                return Error(text.place(token.line, column, str(unknown)), INSTEAD[str(unknown)].format(token))
            if "TYPE_NAME" in error.expected or before:
                return Error(text.place(token.line, column, str(unknown)),
                             f"'{unknown}' is no type or class here (declare it before, or import what does)")
        if token.type == "$END":
            last = text.text.rstrip("\n").count("\n") + 1
            return Error(text.place(last), "the text ends in the middle of a construct")
        return Error(text.place(token.line, token.column, str(token)), Parser._why(text, error))

    @staticmethod
    def _why(text, error):
        """What a message says of an unexpected word: that and the ones before it tell the mistake."""
        token, accepted = error.token, error.accepts or set()
        before = re.search(r"(\w*)\s*\(?\s*$", text.text[:token.start_pos])[1]
        if before == "wait" and token.type == "NUMBER":
            return f"'wait' is for events; '{token}' is none (write waitfor {token})"
        if token.type == "DOT" and "NAME" in accepted and before:
            return (f"'{before}' is a type or a class, and what stands before '.' is a value or an instance (name one of "
                    "that type)")
        if token.type in ("SEMICOLON", "RPAR", "RSQB", "COMMA") and "NUMBER" in accepted:
            return f"an expression is missing before '{token}'"
        return f"unexpected '{token}'" + " (is a ';' missing before it?)" * ("SEMICOLON" in accepted)

    @staticmethod
    def _strange(text, error):
        place = text.place(error.line, error.column, error.char)
        return Error(place, f"unexpected character {error.char!r}")
