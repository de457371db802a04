# SPDX-License-Identifier: Apache-2.0
"""The journal: what the machine looked like before dkctl changed it, on disk before the first change.

It holds one entry for each write target: the old text, and what gets it back. A second plan on top of the
first adds entries and never replaces one, so the journal always leads back to the very first state. It is
written to a new file that replaces the old one at once, and carries a checksum and the boot it belongs to.
"""
import fcntl
import hashlib
import json
import os
import pathlib

from .refusal import Refusal

FORMAT = 1


class Journal:
    """Entries in the order of their writes: (target, old, undo, new)."""

    def __init__(self, path, boot):
        self.path, self.boot = pathlib.Path(path), boot
        self.entries, self.session = [], {}

    def old(self):
        """The old text of each target."""
        return {target: old for target, old, _, _ in self.entries}

    def add(self, writes):
        """Notes writes that are about to be made; a known target keeps its old text."""
        known = {entry[0]: entry for entry in self.entries}
        for write in writes:
            if write.target in known:
                known[write.target][3] = write.new
            else:
                self.entries.append([write.target, write.old, write.undo, write.new])

    def save(self):
        """Puts the journal on disk, at once or not at all."""
        body = json.dumps({"format": FORMAT, "boot": self.boot, "session": self.session,
                           "entries": self.entries}, indent=0)
        text = json.dumps({"sha256": hashlib.sha256(body.encode()).hexdigest(), "body": body})
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = self.path.with_suffix(".new")
        with open(new, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def remove(self):
        """Forgets everything."""
        self.path.unlink(missing_ok=True)


def load(path, boot):
    """Reads the journal; a new one if there is none. Refuses one of another boot, and a damaged one."""
    path = pathlib.Path(path)
    journal = Journal(path, boot)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return journal
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"journal {path}", f"it cannot be read: {error}", "run as root") from None
    what, forget = f"journal {path}", "dkctl restore --forget removes it"
    try:
        outer = json.loads(text)
        body = outer["body"]
        if hashlib.sha256(body.encode()).hexdigest() != outer["sha256"]:
            raise ValueError("its checksum is wrong")
        inner = json.loads(body)
        if inner["format"] != FORMAT:
            raise ValueError(f"its format is {inner['format']}")
        journal.entries, journal.session = inner["entries"], inner["session"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refusal(what, f"it is damaged: {error}",
                      f"compare the machine with dkctl plan by hand, then {forget}") from None
    if inner["boot"] != boot:
        raise Refusal(what, "it is of another boot, whose settings ended with it", forget)
    return journal


def lock(state):
    """Takes the lock of a state folder, and returns the file that holds it. Refuses while another dkctl works."""
    folder = pathlib.Path(state)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = open(folder / "lock", "w", encoding="utf-8")  # closed by its owner, or with the process
    except OSError as error:
        raise Refusal(f"state folder {folder}", error.strerror, "run as root, or choose another: --state") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise Refusal(f"state folder {folder}", "another dkctl is changing the machine", "wait for it") from None
    return file
