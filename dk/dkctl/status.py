# SPDX-License-Identifier: Apache-2.0
"""dkctl status: what is in force, what could not be moved, and why the last scheduler left."""
import json

from . import roles as roles_module, sched
from .refusal import Refusal


def cores_of(session, roles):
    """Each core's CPUs with their roles, and the mode these make."""
    by_cpu = dict(roles.by_cpu)
    lines = []
    for core in session.topology.cores:
        pairs = [(cpu, by_cpu[cpu]) for cpu in core]
        mode = "hybrid" if set(core) & roles.epochs else roles_module.mode_of(pairs)
        lines.append({"cpus": list(core), "roles": [role for _, role in pairs], "mode": mode})
    return lines


def facts(session):
    """All that status says, as a dict."""
    trouble = None
    try:
        session.load()
    except Refusal as refusal:
        trouble = str(refusal)
    kept = session.journal.session if session.journal else {}
    answer = session.scheduler.ask("status")
    why = None if answer else sched.missing(session.host, session.program, session.topology.smt)
    backend = kept.get("backend", "none")
    if backend == "scx" and not answer:
        backend = "none: the scheduler left, settings wait for dkctl restore"
    return {"smt": session.topology.smt, "backend": backend, "cores": cores_of(session, session.base_roles()),
            "sched_ext": "running" if answer else "usable" if why is None else why[0],
            "scheduler": answer, "last_exit": session.scheduler.last_exit(), "journal": trouble,
            "journaled": len(session.journal.entries) if session.journal else 0,
            "refused": kept.get("refused", []), "not_moved": kept.get("fixed", []),
            "explicit": kept.get("explicit", 0)}


def show(session, as_json):
    """Prints the status. Returns the exit status: 1 if the journal cannot be used."""
    found = facts(session)
    if as_json:
        print(json.dumps(found, indent=1))
        return 1 if found["journal"] else 0
    print(f"backend: {found['backend']}")
    print(f"sched_ext: {found['sched_ext']}")
    if not found["smt"]:
        print("SMT: none here; two CPUs can be a user/kernel pair (dkctl mode dk --pair 0,1)")
    for core in found["cores"]:
        print(f"core of CPU {core['cpus'][0]}: {core['mode']} ("
              + ", ".join(f"{cpu} {role}" for cpu, role in zip(core["cpus"], core["roles"])) + ")")
    for name, value in (found["scheduler"] or {}).items():
        print(f"scheduler {name}: {value}")
    print(f"journal: {found['journal'] or str(found['journaled']) + ' settings to put back'}")
    for text in found["refused"]:
        print(f"refused by the kernel: {text}")
    for text in found["not_moved"]:
        print(f"not moved: {text}")
    if found["explicit"]:
        print(f"kept their own affinity: {found['explicit']}")
    if found["last_exit"]:
        print(f"last scheduler: {found['last_exit']}")
    return 1 if found["journal"] else 0
