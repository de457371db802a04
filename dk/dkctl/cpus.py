# SPDX-License-Identifier: Apache-2.0
"""Sets of CPUs, in the two notations of the kernel: lists ("0-3,8") and masks ("0000000f,00000000")."""


def number(text):
    """Returns a number of decimal digits alone. ValueError: the text is none. int() takes spaces, signs and underscores,
    so a typing error would be another number."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"'{text}' is no number")
    return int(text)


def parse_list(text):
    """Returns the CPUs of a list such as "0-3,8". ValueError: the text is no such list."""
    found = set()
    for part in text.strip().split(","):
        if not part.strip():
            continue
        first, dash, last = part.partition("-")
        low, high = number(first), number(last if dash else first)
        if high < low:
            raise ValueError(f"'{part}' is no range of CPUs")
        found.update(range(low, high + 1))
    return frozenset(found)


def format_list(cpus):
    """Returns CPUs as a list: "0-3,8"."""
    parts, ordered = [], sorted(cpus)
    start = 0
    for i, cpu in enumerate(ordered):
        if i + 1 == len(ordered) or ordered[i + 1] != cpu + 1:
            first = ordered[start]
            parts.append(str(cpu) if first == cpu else f"{first}-{cpu}")
            start = i + 1
    return ",".join(parts)


def parse_mask(text):
    """Returns the CPUs of a mask of hexadecimal digits, in groups of 32 bits. ValueError: it is none."""
    bits = int(text.strip().replace(",", "") or "0", 16)
    return frozenset(i for i in range(bits.bit_length()) if bits >> i & 1)


def format_mask(cpus, like="0"):
    """Returns CPUs as a mask with as many digits as another mask has, or more if they are needed."""
    digits = sum(c != "," for c in like.strip())
    text = f"{sum(1 << cpu for cpu in cpus):0{digits}x}"
    groups = []
    while text:
        groups.insert(0, text[-8:])
        text = text[:-8]
    return ",".join(groups)
