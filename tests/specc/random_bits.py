# SPDX-License-Identifier: Apache-2.0
"""Random statements with bit vectors of up to 300 bits do what Python's integers do: random_bits.py [SEED]."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

STATEMENTS, VARIABLES = 40, 8
OPERATORS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "&": int.__and__, "|": int.__or__, "^": int.__xor__,
             "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
             "%": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1)}
COMPARING = {"==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, ">": int.__gt__, "<=": int.__le__, ">=": int.__ge__}


def fit(width, signed, value):
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def named(width, signed):
    return f"{'' if signed else 'unsigned '}bit[{width}]"


class Expression:
    """Its text, its value, and the type of a bit vector, or width 0: an int."""

    def __init__(self, text, value, width=0, signed=True):
        self.text, self.width, self.signed = text, width, signed
        self.value = fit(width, signed, value) if width else value

    def cast(self, width, signed):
        return Expression(f"({named(width, signed)})({self.text})", self.value, width, signed)


class Model:
    """Statements, and what the variables hold after them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.declared, self.lines, self.variables = [], [], []
        for number in range(VARIABLES):
            width = self.random.choice((5, 40, 64, 100, 128, 129, 160, 192, 200, 300))
            first = self.random.randrange(-9, 9)
            self.variables.append(Expression(f"v{number}", first, width, self.random.random() < .5))
            self.declared.append(f"  {named(width, self.variables[-1].signed)} v{number} = {first};")

    def wide(self, depth):
        """An expression of more than 128 bits."""
        made = self.any(depth)
        return made if made.width > 128 else made.cast(self.random.choice((129, 150, 256, 290)), self.random.random() < .5)

    def any(self, depth):
        pick = self.random.randrange(9 if depth else 2)
        if pick == 0:
            return self.random.choice(self.variables)
        if pick == 1:
            value = self.random.randrange(1 << 31)
            return Expression(str(value), value)
        left = self.wide(depth - 1)
        if pick == 2:
            high, low = sorted(self.random.sample(range(left.width), 2), reverse=True)
            bits = (left.value >> low) & ((1 << (high - low + 1)) - 1)
            if self.random.random() < .2:
                return Expression(f"({left.text})[{low}:{high}]", int(f"{bits:0{high - low + 1}b}"[::-1], 2), high - low + 1, False)
            return Expression(f"({left.text})[{high}:{low}]", bits, high - low + 1, False)
        if pick == 3:
            operator = self.random.choice("~-")
            return Expression(f"({operator}({left.text}))", ~left.value if operator == "~" else -left.value, left.width, left.signed)
        if pick == 4:
            by = self.random.choice((0, 1, 63, 64, 65, 128, left.width - 1, left.width, 310))
            if self.random.random() < .5:
                return Expression(f"(({left.text}) << {by})", left.value << by, left.width, left.signed)
            return Expression(f"(({left.text}) >> {by})", left.value >> by, left.width, left.signed)
        return self.two(pick, left, self.any(depth - 1))

    def two(self, pick, left, right):
        if pick == 5 and right.width:
            mask = (1 << right.width) - 1
            return Expression(f"(({left.text}) @ ({right.text}))", left.value << right.width | right.value & mask,
                              left.width + right.width, False)
        width, signed = max(left.width, right.width), left.signed and (right.signed or not right.width)
        a, b = fit(width, signed, left.value), fit(width, signed, right.value)
        if pick == 6:
            operator = self.random.choice(list(COMPARING))
            return Expression(f"(({left.text}) {operator} ({right.text}))", int(COMPARING[operator](a, b)))
        operator = self.random.choice(list(OPERATORS))
        text = f"({right.text})"
        if operator in "/%":
            b |= 1
            text = f"((({named(width, signed)})({right.text})) | 1)"
        return Expression(f"(({left.text}) {operator} {text})", OPERATORS[operator](a, b), width, signed)

    def statement(self):
        at = self.random.randrange(VARIABLES)
        one, value = self.variables[at], self.wide(2)
        pick = self.random.randrange(4)
        if pick == 0:
            high, low = sorted((self.random.randrange(one.width), self.random.randrange(one.width)), reverse=True)
            mask = (1 << (high - low + 1)) - 1
            new = one.value & ~(mask << low) | (value.value & mask) << low
            line = f"{one.text}[{high}:{low}] = {value.text};"
        elif pick == 1:
            operator = self.random.choice("+-*&|^")
            width, signed = max(one.width, value.width), one.signed and value.signed
            new = OPERATORS[operator](fit(width, signed, one.value), fit(width, signed, value.value))
            line = f"{one.text} {operator}= {value.text};"
        elif pick == 2:
            new, line = one.value + 1, f"{one.text}++;"
        else:
            new, line = value.value, f"{one.text} = {value.text};"
        self.lines.append(f"    {line}")
        self.variables[at] = Expression(one.text, new, one.width, one.signed)
        self.lines.append(f"    {self.printed(one)}")
        return self.shown(self.variables[at])

    @staticmethod
    def printed(one):
        return "".join(f'printf("%llx ", (unsigned long long)((unsigned bit[320]){one.text})[{low + 63}:{low}]);'
                       for low in range(0, 320, 64)) + 'printf("\\n");'

    @staticmethod
    def shown(one):
        return "".join(f"{one.value >> low & (2**64 - 1):x} " for low in range(0, 320, 64)) + "\n"

    def program(self):
        """The text, and what it prints."""
        prints = "".join(self.statement() for _ in range(STATEMENTS))
        lines = ["#include <stdio.h>", "behavior Main {", *self.declared, "  int main(void) {", *self.lines, "    return 0;", "  }", "};"]
        return "\n".join(lines) + "\n", prints


def main(seed):
    text, prints = Model(seed).program()
    with tempfile.TemporaryDirectory() as made:
        path = pathlib.Path(made, "wide.sc")
        path.write_text(text)
        subprocess.run([os.environ["SPECC"], "-O0", "-w", path, "-o", f"{made}/wide"], check=True)
        run = subprocess.run([f"{made}/wide"], capture_output=True, text=True, check=False)
    for number, (got, wanted) in enumerate(zip(run.stdout.splitlines(), prints.splitlines())):
        if got != wanted:
            statement = [line for line in text.splitlines() if line.startswith("    ")][2 * number]
            sys.exit(f"seed {seed}, statement {number}:{statement}\nprinted {got}\nwanted  {wanted}")
    if run.returncode != 0 or run.stdout != prints:
        sys.exit(f"seed {seed}: exit status {run.returncode}\n{run.stderr}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(10**6))
