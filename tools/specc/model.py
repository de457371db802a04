# SPDX-License-Identifier: Apache-2.0
"""What a model consists of: interfaces, behaviors, channels, and their parts."""
import re
from dataclasses import dataclass, field

from lark import Token, Tree

from output import words


@dataclass
class Declared:
    """One name of a declaration."""

    token: Token
    specs: Tree  # decl_specs
    declarator: Tree
    kind: str = "variable"  # variable, function, event, instance, piped, buffered, signal, interface, type
    initial: Tree = None
    type: object = None  # the Class of an instance or an interface port
    arguments: list = None  # an instance's map
    direction: str = ""  # a port's
    said: bool = False  # the direction is written
    delay: int = 0  # of a piped variable
    clock: Tree = None  # the events that update a buffered variable; None: the end of each delta
    value: int = None  # a constant's
    c_type: object = None  # its Type
    spread: bool = False  # a port that is mapped to bits of a variable somewhere: it has no address

    @property
    def name(self):
        return str(self.token)


@dataclass
class Class:
    """An interface, a behavior or a channel."""

    kind: str
    token: Token
    ports: list = field(default_factory=list)
    implements: list = field(default_factory=list)
    members: list = field(default_factory=list)  # Declared, in their order
    methods: list = field(default_factory=list)  # Declared
    bodies: dict = field(default_factory=dict)  # a method's name -> its compound
    outside: list = field(default_factory=list)  # declarations of types
    defined: bool = False

    @property
    def name(self):
        return str(self.token)

    def find(self, name):
        """The part of that name, or None."""
        for part in [*self.ports, *self.members, *self.methods]:
            if part.name == name:
                return part
        return None

    def method(self, name):
        return next((method for method in self.methods if method.name == name), None)


def find(node, data):
    """The first subtree of a kind, from the outside; of one that is not in parameters."""
    if not isinstance(node, Tree):
        return None
    if node.data == data:
        return node
    for child in node.children:
        if isinstance(child, Tree) and child.data not in ("parameters", "struct_spec", "enum_spec"):
            found = find(child, data)
            if found is not None:
                return found
    return None


def parameters_of(declarator):
    """The parameters of the function that a declarator declares, or None."""
    node, found = declarator, None
    while node.data != "declared":
        inner = [c for c in node.children if isinstance(c, Tree) and c.data != "pointer"]
        if node.data == "function":
            found = next((c for c in inner if c.data == "parameters"), None)
        node = inner[0]
    return found


def parameter_count(declarator):
    """How many parameters a function has; None: it does not say."""
    parameters = parameters_of(declarator)
    if parameters is None or "..." in words(parameters):
        return None
    return 0 if words(parameters) == "void" else len([c for c in parameters.children if isinstance(c, Tree)])


def heading(declarator):
    """A function's name and parameters as one writes them."""
    return re.sub(r" ?([(),*]) ?", r"\1", words(declarator)).replace(",", ", ").replace("*", " *")


def declared_token(declarator):
    """The name a declarator declares."""
    return find(declarator, "declared").children[0]


def specs_of(specs, data):
    """The direct parts of declaration specifiers of one kind."""
    return [child for child in specs.children if isinstance(child, Tree) and child.data == data]


def has_storage(specs, word):
    return any(words(storage) == word for storage in specs_of(specs, "storage"))


def innermost(declarator):
    """What the name itself is: 'declared', 'array', 'function' or 'instance'."""
    node = declarator
    kind = "declared"
    while node.data != "declared":
        if node.data == "declarator":
            pointer = [c for c in node.children if isinstance(c, Tree) and c.data == "pointer"]
            node = [c for c in node.children if isinstance(c, Tree) and c.data != "pointer"][0]
            kind = "pointer" if pointer else kind
        else:
            kind = node.data if node.data != "nested" else kind
            node = [c for c in node.children if isinstance(c, Tree)][0]
    return kind


def type_words(declared):
    """The type as words in a fixed order, and whether that says all: a typedef's name does not."""
    one = declared.c_type
    if one is not None and one.kind == "bits":
        return (("unsigned " * (not one.signed) + f"bit[{one.width}]",), ""), True
    specs = sorted(word for part in declared.specs.children
                   if not (isinstance(part, Tree) and part.data == "buffered")
                   for word in words(part).split() if word not in ("const", "volatile", "int", "signed", "extern",
                                                                   "static", "piped", "signal"))
    if not specs:
        specs = ["int"]
    known = not specs_of(declared.specs, "type_name_ref") and not specs_of(declared.specs, "typeof")
    shape = words(declared.declarator).replace(declared.name, "", 1)
    known = known and not any(word.isidentifier() for word in shape.split())  # a size with a name
    if declared.kind == "instance":
        shape = ""
    return (tuple(specs), shape.strip()), known


def is_const(declared):
    return any(words(q) == "const" for q in specs_of(declared.specs, "qualifier"))


def without_parens(expression):
    while expression.data == "parens":
        expression = expression.children[1]
    return expression
