# SPDX-License-Identifier: Apache-2.0
"""What sections are made of. A section is a module with a function section(results)."""
import dataclasses


@dataclasses.dataclass
class Table:
    heads: list
    rows: list
    caption: str = ""


@dataclasses.dataclass
class Figure:
    """A picture with its caption, a sentence that says what it shows, and the numbers in it."""
    key: str  # of its files
    title: str
    caption: str
    picture: object  # a matplotlib figure, or None
    sentence: str
    table: Table = None


@dataclasses.dataclass
class Section:
    key: str
    title: str
    source: str
    intro: str
    blocks: list
    needs: set = frozenset()  # steps of ./dev bench without which it would show little
    steps: set = None  # those whose results it shows

    def is_measured(self):
        return bool(self.steps) and self.needs <= self.steps


def quantity(value):
    """A number as people read it: three digits that count."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", "\N{NO-BREAK SPACE}")
    return f"{value:.3g}"


def opened(text):
    """A sentence with its first letter made a capital."""
    return text[:1].upper() + text[1:]


def spread(row, scale=1):
    """Minimum, median and maximum of a row."""
    return [quantity(row[key] * scale) for key in ("min", "median", "max")]
