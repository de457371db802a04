# SPDX-License-Identifier: Apache-2.0
"""The report as Markdown pages, docs/measurements: what documents link to instead of having figures."""
import blocks

NOTICE = "<!-- Written by ./dev report --measurements. Measure again instead of editing. -->"
LICENCE = "<!-- SPDX-License-Identifier: Apache-2.0 -->"


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ")


def table(content):
    """A Markdown table, with its caption behind it."""
    lines = ["| " + " | ".join(map(cell, row)) + " |" for row in [content.heads, *content.rows]]
    lines.insert(1, "| " + " | ".join("---" for _ in content.heads) + " |")
    return "\n".join(lines) + (f"\n\n{content.caption}" if content.caption else "")


def block(content):
    if isinstance(content, blocks.Table):
        return table(content)
    parts = [f"## {content.title}", content.caption, content.sentence]
    if content.table:
        parts.append(table(content.table))
    return "\n\n".join(part for part in parts if part)


def page(section, environment):
    """One section, with the machine and the commit that it comes from."""
    parts = [f"# {section.title}", section.source, section.intro, *map(block, section.blocks),
             "## Measured on", table(environment)]
    return document(parts)


def overview(made, kept, others, environment, steps):
    """README.md: the machine, the pages, the pages of other commands, and what became of each step."""
    pages = [f"- [{section.title}]({section.key}.md)" + (", of an earlier run" if section.key in kept else "")
             for section in made]
    pages += [f"- [{title}]({name}), by another command" for name, title in others]
    return document(["# Measurements",
                     "`./dev bench` measures, and `./dev report --measurements` writes these pages from its results. "
                     "Compare only figures of one run on one machine: a minimum is what the code can do there, and "
                     "other work on the machine raises the rest. The page of what was not measured in the last run is "
                     "left as an earlier one wrote it; each page names its machine and commit.",
                     table(environment), "\n".join(pages), "## Steps", table(steps)])


def document(parts):
    text = "\n\n".join(part for part in parts if part)
    return f"{LICENCE}\n{NOTICE}\n{text}\n"


def write(folder, made, environment_of, steps):
    """Writes the pages. Those of sections that are gone are removed. Pages stay that other commands wrote, and those of
    sections for which too little was measured. environment_of: a table, of these steps or of all."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {section.key for section in made if not section.is_measured() and (folder / f"{section.key}.md").exists()}
    texts = {f"{section.key}.md": page(section, environment_of(section.steps)) for section in made
             if section.key not in kept}
    others = []
    for old in sorted(folder.glob("*.md")):
        text = old.read_text(encoding="utf-8")
        if NOTICE not in text:
            others.append((old.name, next((line[2:] for line in text.splitlines() if line.startswith("# ")), old.stem)))
        elif old.name not in texts and old.stem not in kept:
            old.unlink()
    texts["README.md"] = overview(made, kept, others, environment_of(), steps)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
