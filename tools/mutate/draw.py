# SPDX-License-Identifier: Apache-2.0
"""A random choice of mutants, which stays the same while the code does: those that change nothing are left out."""
import concurrent.futures
import dataclasses
import hashlib
import json
import pathlib

import sites
import weave


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A site with a number, which its text in the build has."""
    number: int
    name: str
    file: str
    site: sites.Site


def found(path, entry, source, file):
    """For a worker: the sites of a file with their names."""
    made = sites.find(path, entry, source)
    return [dataclasses.astuple(site) for site in made], sites.names(made, source, file)


class Draw:
    """Draws from the files of a lab."""

    def __init__(self, place, folder, seed, below):
        self.place, self.seed = place, seed
        self.commands = {name: entry for name, entry in sorted(place.commands().items()) if pathlib.Path(name).is_relative_to(below)}
        self.texts = {name: (place.root / name).read_bytes() for name in self.commands}
        self.file = folder / "sites.json"
        self.before = {}

    def sites(self):
        """All sites with their names: (name, file, site). Raises RuntimeError where clang lacks a header that a build makes."""
        kept = json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {}
        keys = {name: hashlib.sha256(text).hexdigest() for name, text in self.texts.items()}
        with concurrent.futures.ProcessPoolExecutor(self.place.jobs) as pool:
            tasks = {name: pool.submit(found, entry["file"], entry, self.texts[name], name)
                     for name, entry in self.commands.items() if kept.get(name, {}).get("key") != keys[name]}
            kept |= {name: {"key": keys[name], "found": task.result()} for name, task in tasks.items()}
        self.file.write_text(json.dumps(kept), encoding="utf-8")
        return [(made, name, sites.Site(*values)) for name in self.commands
                for values, made in zip(*kept[name]["found"], strict=True)]

    def order(self):
        """Random, and each site's place in it depends on nothing but the site."""
        return sorted(self.sites(), key=lambda item: hashlib.sha256(f"{self.seed} {item[0]}".encode()).digest())

    def kind(self, file, site):
        """Whether a mutant can count: "", "equivalent" or "does not compile"."""
        entry, source = self.commands[file], self.texts[file]
        if file not in self.before:
            self.before[file] = self.place.object_of(entry, source)
        after = self.place.object_of(entry, site.apply(source))
        return "does not compile" if after is None else "equivalent" if after == self.before[file] else ""

    def choose(self, count, known):
        """The first mutants that count, and the others that were drawn: (name, file, site, kind).
        known: kinds of mutants, by name."""
        chosen, others = [], []
        order = self.order()
        with concurrent.futures.ThreadPoolExecutor(self.place.jobs) as pool:
            while len(chosen) < count and order:
                part, order = order[:count - len(chosen)], order[count - len(chosen):]
                kinds = pool.map(lambda item: known.get(item[0]) if item[0] in known else self.kind(item[1], item[2]), part)
                for (name, file, site), kind in zip(part, kinds, strict=True):
                    if kind == "":
                        chosen.append(Mutant(len(chosen) + 1, name, file, site))
                    else:
                        others.append((name, file, site, kind))
        return chosen, others

    def named(self, names, first):
        """The mutants of these names which the code still has, numbered from first."""
        there = [(name, file, site) for name, file, site in self.sites() if name in names]
        return [Mutant(number, *item) for number, item in enumerate(there, start=first)]

    def weave(self, mutants):
        """The texts of files with these mutants, and the numbers of mutants that need a build of their own."""
        files = {}
        for mutant in mutants:
            files.setdefault(mutant.file, []).append((mutant.number, mutant.site))

        def fit(item):
            file, items = item
            return file, *weave.fit(self.texts[file], items, lambda text: self.place.object_of(self.commands[file], text) is not None)
        with concurrent.futures.ThreadPoolExecutor(self.place.jobs) as pool:
            made = list(pool.map(fit, files.items()))
        return {file: text for file, text, _ in made}, {number for _, _, alone in made for number, _ in alone}
