#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs MPICH's test suite from sources that a user has, and writes a page of the results.

PATH is a checkout of MPICH, or its folder test/mpi. The sources are copied, configured and built in --work with
tmpicc and its siblings. They are built again when one of these, a header or what is linked in has changed. Then the
suite's own runtests runs each folder that its lists name, each entry at its own number of ranks. Folders that are done
are not run again, so an interrupted run continues.

Entries that the suite skips (for memory, or since the program says so) count as not passed. So do programs that
ask whether they may spawn and then print "No Errors" without a test, as long as they may not.

--nodes runs the programs on several nodes of this machine instead, which Open MPI's mpirun starts, and each that fails
there on one node, with as many ranks. What has met its limit runs once more, alone, since a busy machine may be the
reason. A page of its own says what differs, and the status is 1 if any fails on several nodes only.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import datetime
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTICE = "<!-- Written by ./dev conformance. Run it again instead of editing. -->"
RESULT = re.compile(r"(?P<verdict>ok|not ok) \d+ - (?:\./)?(?P<path>\S+) (?P<ranks>\d+)(?P<rest>.*)")
NOTE = re.compile(r"# (?P<kind>SKIP|TODO) (?P<why>.*?)\s*(?:# time=.*)?$")
CAUSE = re.compile(r"(error:|Error: |undefined reference|cannot find -l)")
PLAN = re.compile(r"1\.\.(\d+)$")
ASKS = re.compile("MTestSpawnPossible", re.I)
UNIVERSE = """#include <mpi.h>
int main(int argc, char **argv) {
  int *size, flag;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &size, &flag);
  int status = flag && *size > 1 ? 0 : 1;
  if (argc > 1) /* that it names the function makes tmpirun keep room */
    MPI_Comm_spawn(argv[1], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &(MPI_Comm){MPI_COMM_NULL}, &status);
  MPI_Finalize();
  return status;
}
"""
LONGEST = 150  # characters of a last line
LIMIT = 180  # seconds: the suite's
LIMIT_MET = re.compile(r"not done in|no verdict, status 124$")  # suite.py's words


@dataclasses.dataclass
class Entry:
    """A line of a list that was run, or skipped."""
    path: str
    ranks: int
    verdict: str  # pass, fail, skip
    why: str = ""  # it was skipped, or the suite expects that it fails
    output: list = dataclasses.field(default_factory=list)

    @property
    def last(self):
        """The last line it printed, or the compiler's first error."""
        lines = [line.strip() for line in self.output if line.strip()]
        if lines and lines[0].startswith("Failed to build"):
            return "not built: " + next(filter(CAUSE.search, lines), lines[-1])
        if "uptime:" in lines:  # runtests adds two lines when a program took too long
            lines = lines[:lines.index("uptime:")]
        return lines[-1] if lines else "(printed nothing)"


def read_tap(text):
    """@return the entries of what runtests writes by -tapfile, and whether it got to its end."""
    entries, complete = [], False
    for line in text.splitlines():
        if match := RESULT.match(line):
            note = NOTE.search(match["rest"])
            verdict = "pass" if match["verdict"] == "ok" else "fail"
            if note and note["kind"] == "SKIP":
                verdict = "skip"
            entries.append(Entry(match["path"], int(match["ranks"]), verdict, note["why"] if note else ""))
        elif line.startswith("## ") and entries and not line.startswith("## Test output (expected"):
            entries[-1].output.append(line[3:])
        elif match := PLAN.match(line):
            complete = int(match[1]) == len(entries)
    return entries, complete


def listed(programs, sources, folder=""):
    """Yields the folders with entries that a list names, and those named in the lists of these."""
    path = next((at / folder / "testlist" for at in (programs, sources) if (at / folder / "testlist").exists()), None)
    words = [line.split("#")[0].split() for line in path.read_text().splitlines()] if path else []
    names = [line[0] for line in words if line]
    inner = [name for name in names if (programs / folder / name).is_dir()]
    if len(inner) < len(names):
        yield folder  # runtests descends from here by itself
        return
    for name in inner:
        yield from listed(programs, sources, f"{folder}/{name}" if folder else name)


def without_spawning(sources, entries):
    """Counts as skipped what printed "No Errors" although it spawned nothing: such a program asks first."""
    for entry in entries:
        if entry.verdict == "pass" and any(
                ASKS.search(path.read_text(errors="replace")) for path in sources.glob(f"{entry.path}.*")
                if path.suffix in (".c", ".cxx", ".f", ".f90")):
            entry.verdict, entry.why = "skip", "asks whether it may spawn, and tests nothing, since it may not"


def can_spawn(options, environment):
    """@return whether MPI_UNIVERSE_SIZE leaves room, which the suite's programs ask."""
    source, program = options.work / "universe.c", options.work / "universe"
    source.write_text(UNIVERSE, encoding="ascii")
    log = options.work / "build.log"
    must(["tmpicc", source, "-o", program], log, env=environment)
    return call(["tmpirun", "-n", "1", program], log, env=environment) == 0


def cell(text):
    """Text of a program for a table's cell."""
    text = re.sub(r"(?<![\w.])/\S*/", "", text)[:LONGEST]
    return "`` " + text.replace("|", "\\|").replace("``", "''") + " ``"


def page(results, facts):
    """@param results lists of entries by folder, None for one that did not end @return the page's text."""
    lines = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", NOTICE, "# MPICH's test suite", "",
             "`./dev conformance PATH` builds MPICH's test suite with `tmpicc`, `tmpicxx` and `tmpifort`, runs it with "
             "`tmpirun`, and writes this page. Each entry of the suite's lists runs at its own number of ranks, "
             "those that the suite expects to fail, too. The share is that of all entries, skipped ones included.", "",
             "| run on |  |", "| --- | --- |"]
    lines += [f"| {key} | {value} |" for key, value in facts.items()]
    lines += ["", "| folder | passed | of | failed | skipped |", "| --- | --- | --- | --- | --- |"]
    total = collections.Counter()
    for folder, entries in results.items():
        if entries is None:
            lines.append(f"| {folder} | not run to its end |  |  |  |")
            continue
        count = collections.Counter(entry.verdict for entry in entries)
        total += count
        lines.append(f"| {folder} | {count['pass']} | {len(entries)} | {count['fail']} | {count['skip']} |")
    lines.append(f"| all | {total['pass']} | {total.total()} | {total['fail']} | {total['skip']} |")
    if total.total():
        some = " of the folders that ran" if None in results.values() else ""
        lines += ["", f"{100 * total['pass'] / total.total():.1f} % pass{some}."]
    every = [entry for entries in results.values() for entry in entries or []]
    failed = [entry for entry in every if entry.verdict == "fail"]
    skipped = [entry for entry in every if entry.verdict == "skip"]
    if failed:
        lines += ["", "## What failed", "", "| test | ranks | last line |", "| --- | --- | --- |"]
        for entry in failed:
            expected = f" (the suite expects this: {cell(entry.why)})" if entry.why else ""
            lines.append(f"| `{entry.path}` | {entry.ranks} | {cell(entry.last)}{expected} |")
    if skipped:
        lines += ["", "## What was skipped", "", "| test | ranks | why |", "| --- | --- | --- |"]
        lines += [f"| `{entry.path}` | {entry.ranks} | {cell(entry.why)} |" for entry in skipped]
    return "\n".join(lines) + "\n"


def call(command, log, **options):
    """Runs a command, its output in a file. @return its status."""
    with log.open("ab") as out:
        return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT, check=False, **options).returncode


def must(command, log, **options):
    """As call(), but ends the program if the command fails."""
    if call(command, log, **options) != 0:
        sys.exit(f"conformance: '{command[0]}' failed: see {log}")


def prepare(options, environment):
    """Copies, configures and builds the suite. @return the folders of its sources and programs."""
    given = options.path / "test/mpi" if (options.path / "test/mpi/runtests").exists() else options.path
    if not (given / "runtests").exists():
        sys.exit(f"conformance: no suite in {options.path} (give a checkout of MPICH, or its test/mpi)")
    sources, programs = options.work / "suite", options.work / "programs"
    log = options.work / "build.log"
    if not (programs / "config.status").exists():
        for old in (sources, programs):
            shutil.rmtree(old, ignore_errors=True)
        print("conformance: copying and configuring the suite", flush=True)
        shutil.copytree(given, sources, symlinks=True)
        if not (sources / "configure").exists():
            above = given.parents[1]
            for name, origin in (("confdb", above / "confdb"), ("version.m4", above / "maint/version.m4")):
                if not (sources / name).exists() and not origin.exists():
                    sys.exit(f"conformance: test/mpi has no configure, and {origin} is not there to make it")
                if not (sources / name).exists():
                    (shutil.copytree if origin.is_dir() else shutil.copy)(origin, sources / name)
            if not (sources / "dtpools/confdb").exists():
                shutil.copytree(sources / "confdb", sources / "dtpools/confdb")
            must(["./autogen.sh"], log, cwd=sources, env=environment)
        programs.mkdir()
        wrappers = ["CC=tmpicc", "CXX=tmpicxx", "FC=tmpifort", "F77=tmpifort", "MPICC=tmpicc", "MPICXX=tmpicxx",
                    "MPIFC=tmpifort", "MPIF77=tmpifort", "MPIEXEC=tmpirun"]
        must([sources / "configure", *wrappers, "--enable-strictmpi", "--enable-fortran", "--enable-xfail"], log,
             cwd=programs, env=environment)
    kept, wanted = programs / "built-by", fingerprint(options.bin)
    if not options.report and not (kept.exists() and kept.read_text(encoding="ascii") == wanted):
        print("conformance: building the suite", flush=True)
        call(["make", "-k", f"-j{options.jobs}"], log, cwd=programs, env=environment)  # runtests reports what fails
        kept.write_text(wanted, encoding="ascii")
    return sources, programs


def fingerprint(folder):
    """@return a number of what programs are built with: tmpicc and its siblings, headers and what is linked in. make takes
    minutes to find that nothing has changed, and tries each time to build what cannot be built."""
    above, digest = folder.resolve().parent, hashlib.sha256()
    for path in [*sorted(folder.glob("tmpi[cf]*")), *sorted(above.glob("include/tmpi/*")), *sorted(above.glob("lib/tmpi/*.a"))]:
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def run_folder(options, environment, sources, programs, folder):
    """Runs one folder, unless it is done. @return its entries."""
    tap = options.work / "results" / (folder.replace("/", ".") + ".tap")
    if tap.exists():
        entries, complete = read_tap(tap.read_text(errors="replace"))
        if complete:
            return entries
    if options.report:
        return None
    status = call([sources / "runtests", f"-srcdir={sources}", "-tests=testlist", f"-testdirs={folder}",
                   "-mpiexec=tmpirun", "-timelimitarg=--timeout %d", "-runxfail", f"-tapfile={tap}"],
                  tap.with_suffix(".log"), cwd=programs, env=environment)
    entries, complete = read_tap(tap.read_text(errors="replace")) if tap.exists() else ([], False)
    stopped = "Terminating test because" in tap.with_suffix(".log").read_text(errors="replace")
    if not complete or stopped:
        entries.append(Entry(folder, 0, "fail", output=[f"runtests stopped before its end, status {status}"]))
    tap.with_suffix(".commit").write_text(commit_of(pathlib.Path(__file__).parent), encoding="utf-8")
    passed = sum(entry.verdict == "pass" for entry in entries)
    print(f"{folder}: {passed} of {len(entries)}", flush=True)
    return entries


def run_over_nodes(options, environment, sources, programs, folders):
    """Runs the folders on several nodes, by suite.py. @return its status."""
    nodes, each = options.nodes
    launch = f"mpirun.openmpi --allow-run-as-root --oversubscribe -n {nodes} tmpirun --timeout {{s}} -n {{n}}"
    limit = str(options.limit or LIMIT)
    command = [sys.executable, "-B", pathlib.Path(__file__).with_name("suite.py"), sources, programs, "--launch", launch,
               "--reference", "tmpirun --timeout {s} -n {n}", "--reference-programs", programs, "--folders", *folders,
               "--ranks", str(nodes * each), "--memory", str(memory_of(options) / options.jobs),
               "--results", nodes_results(options), "--limit", limit, "--reference-limit", limit]
    for jobs in [options.jobs, 1]:
        status = subprocess.run([*command, "--jobs", str(jobs)], env=environment | {"UCX_TLS": "tcp"}, check=False).returncode
        if not forget_limits(nodes_results(options)):
            break
    return status


def nodes_results(options):
    nodes, each = options.nodes
    return options.work / f"results/nodes-{nodes}x{each}.json"


def forget_limits(results):
    """Takes the programs that have met their limit, for the first time, out of the results. @return whether there are any."""
    rows, kept = json.loads(results.read_text(encoding="utf-8")), results.with_suffix(".limits")
    before = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    late = [key for key, row in rows.items() if LIMIT_MET.match(row["verdict"]) and key not in before]
    kept.write_text("".join(f"{key}\n" for key in [*before, *late]), encoding="utf-8")
    results.write_text(json.dumps({key: row for key, row in rows.items() if key not in late}, indent=1), encoding="utf-8")
    return late != []


def nodes_page(options, rows, facts):
    """@param rows suite.py's results @return the text of a page that compares several nodes with one."""
    nodes, each = options.nodes
    groups = {"pass": [], "fails on one node, too": [], "fails on several nodes only": [], "not built, or not run": []}
    for key, row in rows.items():
        there = row.get("reference", {}).get("verdict")
        group = ("pass" if row["verdict"] == "pass" else "not built, or not run" if "seconds" not in row else
                 "fails on several nodes only" if there == "pass" else "fails on one node, too")
        groups[group].append((key, row["folder"], row["verdict"], there))
    lines = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", NOTICE, f"# MPICH's test suite on {nodes} nodes of {each} ranks", "",
             f"`./dev conformance PATH --nodes {nodes}x{each}` runs each program of the suite on {nodes} nodes of {each} ranks, "
             "whatever number its list says, and writes this page. The nodes are processes of one machine, which Open MPI's "
             "mpirun starts and UCX joins by TCP. What fails runs on one node with as many ranks, too. What has met its limit "
             "has run once more, alone.", "", "| run on |  |", "| --- | --- |"]
    lines += [f"| {key} | {value} |" for key, value in facts.items()]
    lines += ["", f"| folder | {' | '.join(groups)} |", "| --- " * (len(groups) + 1) + "|"]
    for folder in sorted({row["folder"] for row in rows.values()}):
        lines.append(" | ".join([f"| {folder}", *(str(sum(row[1] == folder for row in group)) for group in groups.values())]) + " |")
    lines.append(" | ".join(["| all", *(str(len(group)) for group in groups.values())]) + " |")
    for name in ["fails on several nodes only", "fails on one node, too"]:
        if groups[name]:
            lines += ["", f"## What {name}", "", "| test, and its words | several nodes | one node |", "| --- | --- | --- |"]
            lines += [f"| `{key}` | {cell(verdict)} | {cell(there or 'not run')} |" for key, _, verdict, there in groups[name]]
    return "\n".join(lines) + "\n"


def over_nodes(options, environment, sources, programs, folders):
    """Runs the folders on several nodes, and writes the page. @return suite.py's status."""
    commits = nodes_results(options).with_suffix(".commits")
    status = 0
    if not options.report:
        with commits.open("a", encoding="utf-8") as out:
            out.write(commit_of(pathlib.Path(__file__).parent) + "\n")
        status = run_over_nodes(options, environment, sources, programs, folders)
    facts = facts_of(options, ", ".join(dict.fromkeys(commits.read_text(encoding="utf-8").split())))
    rows = json.loads(nodes_results(options).read_text(encoding="utf-8"))
    nodes, each = options.nodes
    write_page(options, f"conformance-nodes-{nodes}x{each}.md", nodes_page(options, rows, facts))
    return status


def nodes_and_ranks(text):
    """@return both numbers of a word as 2x4."""
    match = re.fullmatch("([1-9][0-9]*)x([1-9][0-9]*)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not NODESxRANKS, as 2x4")
    return int(match[1]), int(match[2])


def git(folder, *words):
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit_of(folder):
    return git(folder, "describe", "--always", "--dirty", "--exclude", "*") or "unknown"


def commits_of(options, folders):
    """@return the commit that the folders ran with: the newest, and which ran with others before an interruption."""
    by_commit, here = {}, commit_of(pathlib.Path(__file__).parent)
    for folder in folders:
        kept = options.work / "results" / (folder.replace("/", ".") + ".commit")
        by_commit.setdefault(kept.read_text(encoding="utf-8") if kept.exists() else here, []).append(folder)
    if len(by_commit) < 2:
        return next(iter(by_commit), here)
    most = max(by_commit, key=lambda commit: len(by_commit[commit]))
    return "; ".join([most, *(f"{commit} for {', '.join(those)}" for commit, those in by_commit.items() if commit != most)])


def memory_of(options):
    """@return GiB that an entry may want. The suite runs entries one at a time that together may want more."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return options.memory or max(1, physical)


def facts_of(options, commit):
    """@return what a page says of this machine and of the sources."""
    info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    model = re.search(r"^model name\s*: (.*)$", info, re.M)
    return {
        "processor": f"{model[1] if model else platform.machine()}, {os.cpu_count()} CPUs",
        "kernel": f"{platform.system()} {platform.release()}",
        "commit": commit,
        "entry's limit": f"{options.limit} s" if options.limit else f"the suite's: {LIMIT} s, or what the entry says",
        "entries that want more than": f"{memory_of(options)} GiB were skipped",
        "suite": git(options.path, "rev-parse", "--short=10", "HEAD") or "an archive, not a checkout",
        f"{'programs' if options.nodes else 'folders'} at a time": f"{options.jobs}, load at the end {os.getloadavg()[0]:.1f}",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def write_page(options, name, text):
    target = options.page or (options.work if options.folders else ROOT / "docs/measurements") / name
    target.write_text(text, encoding="utf-8")
    print(f"conformance: {target}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of tmpicc and tmpirun")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/conformance")
    parser.add_argument("--page", type=pathlib.Path, help="default: docs/measurements/conformance.md, "
                        "or conformance-nodes-NODESxRANKS.md; in the --work folder when only some folders ran")
    parser.add_argument("--folders", nargs="+", help="only these, as attr or f08/coll")
    parser.add_argument("--report", action="store_true", help="run nothing: write the page of what is there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="folders at a time")
    parser.add_argument("--limit", type=int, help="seconds for an entry that sets no limit (default: the suite's)")
    parser.add_argument("--memory", type=int, help="GiB: entries that want more are skipped (default: this machine's)")
    parser.add_argument("--nodes", type=nodes_and_ranks, metavar="NODESxRANKS", help="as 2x4: several nodes beside one")
    options = parser.parse_args()
    options.path, options.work = options.path.resolve(), options.work.resolve()
    (options.work / "results").mkdir(parents=True, exist_ok=True)
    environment = os.environ | {
        "PATH": f"{options.bin.resolve()}:{os.environ['PATH']}", "MPITEST_RUN_INDIVIDUAL": "1", "LC_ALL": "C",
        "MPITEST_MEMORY_TOTAL": str(memory_of(options)), "MPITEST_MEMORY_MULTIPLIER": str(options.jobs)}
    if options.limit:
        environment["MPITEST_TIMEOUT"] = str(options.limit)
    sources, programs = prepare(options, environment)
    folders = [folder for folder in listed(programs, sources)
               if not options.folders or any(f"{folder}/".startswith(f"{word.rstrip('/')}/") for word in options.folders)]
    if options.nodes:
        return over_nodes(options, environment, sources, programs, folders)
    files = [folder for folder in folders if "io" in folder.split("/")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def run(folder):
            return run_folder(options, environment, sources, programs, folder)
        others = {folder: pool.submit(run, folder) for folder in folders if folder not in files}
        done = {folder: future.result() for folder, future in others.items()}
    done |= {folder: run(folder) for folder in files}  # they share files: one at a time, alone
    results = {folder: done[folder] for folder in folders}
    if not can_spawn(options, environment):
        for entries in results.values():
            without_spawning(sources, entries or [])
    kept = options.work / "results/facts.json"  # of the last run, for --report
    facts = json.loads(kept.read_text(encoding="utf-8")) if options.report and kept.exists() else facts_of(options, commits_of(options, folders))
    kept.write_text(json.dumps(facts), encoding="utf-8")
    write_page(options, "conformance.md", page(results, facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
