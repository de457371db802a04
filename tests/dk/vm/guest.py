# SPDX-License-Identifier: Apache-2.0
"""The checks that run inside of the virtual machine: one line each, "ok NAME" or "not ok NAME: why"."""
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

sys.path.insert(0, "/dk")
from dkctl import cpus, host as host_module  # noqa: E402  (found through the line above)

LOAD = "/usr/libexec/mltp/dk-load"
SCHED = "/usr/libexec/mltp/dk-sched"
SCX = pathlib.Path("/sys/kernel/sched_ext")
GRACE = 0.5  # seconds that tasks have after a flip to get where they belong
SAMPLES = 60
host = host_module.Host()


class Failed(Exception):
    """A check did not hold."""


def must(condition, text):
    if not condition:
        raise Failed(text)


def dkctl(*words, status=0):
    """Runs dkctl; returns its stdout."""
    done = subprocess.run(["dkctl", *words], capture_output=True, text=True, check=False)
    must(done.returncode == status, f"dkctl {' '.join(words)}: status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def settings():
    """Every setting that a plan may touch, bit for bit."""
    found = {}
    for pattern in ("proc/irq/*/smp_affinity_list", "proc/irq/default_smp_affinity", "sys/class/net/*/threaded",
                    "sys/class/net/*/queues/rx-*/rps_cpus", "sys/devices/virtual/workqueue/cpumask",
                    "sys/devices/virtual/workqueue/*/cpumask", "sys/fs/cgroup/cgroup.subtree_control",
                    "sys/fs/cgroup/*/cpuset.cpus"):
        for path in pathlib.Path("/").glob(pattern):
            found[str(path)] = path.read_text()
    return found


def affinities():
    """The affinity of each thread that is not this program's."""
    return {(t.tid, t.start): sorted(t.affinity) for t in host.tasks() if t.pid != os.getpid()}


def unchanged(before, after, what):
    """Checks that settings are what they were; threads and interrupts of devices may have come and gone."""
    differ = {k: (before[k], after[k]) for k in before.keys() & after.keys() if before[k] != after[k]}
    must(not differ, f"{what}: changed: {dict(list(differ.items())[:3])}")


def stock(seconds=10):
    """Waits until the kernel is back at its own scheduler."""
    deadline = time.monotonic() + seconds
    while (SCX / "state").read_text().strip() != "disabled":
        must(time.monotonic() < deadline, "the kernel did not return to its stock scheduler")
        time.sleep(0.05)


@contextlib.contextmanager
def spinners(count, command=(LOAD, "integer", "1000000"), **more):
    """User loops, for as long as the context lasts; nice ones, because an emulated machine has to run dkctl too."""
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.nice(19), **more)
               for _ in range(count)]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


@contextlib.contextmanager
def network_load():
    """A flood over a pair of virtual devices, whose polling is done by kernel threads that nothing pins."""
    ip = lambda *words: subprocess.run(["ip", *words], check=True, capture_output=True)  # noqa: E731
    ip("netns", "add", "far")
    ip("link", "add", "near0", "type", "veth", "peer", "name", "far0", "netns", "far")
    for space, device, address in ((), "near0", "198.18.0.1"), (("-n", "far"), "far0", "198.18.0.2"):
        ip(*space, "address", "add", address + "/30", "dev", device)
        ip(*space, "link", "set", device, "up")
    subprocess.run(["busybox", "ethtool", "-K", "near0", "gro", "on"], check=False, capture_output=True)
    try:
        with spinners(1, ("ip", "netns", "exec", "far", LOAD, "flood", "198.18.0.1")):
            yield
    finally:
        ip("link", "delete", "near0")
        ip("netns", "delete", "far")


def stat_of(tid):
    """(state, CPU) of a thread."""
    text = pathlib.Path(f"/proc/{tid}/stat").read_text()
    rest = text[text.rindex(")") + 2:].split()
    return rest[0], int(rest[36])


def switches(tid):
    """How often a thread has run."""
    text = pathlib.Path(f"/proc/{tid}/status").read_text()
    return sum(int(line.split()[1]) for line in text.split("\n") if "ctxt_switches" in line)


def kernel_threads():
    """The kernel threads that no one pins: neither the kernel nor an affinity."""
    return [t for t in host.tasks() if t.kthread and not t.pinned and t.affinity == {0, 1, 2, 3}]


def watch(processes, user, kernel):
    """Samples where user loops run, and kernel threads that run. Returns the CPUs seen: (user's, kernel's)."""
    time.sleep(GRACE)
    seen, theirs = collections.Counter(), collections.Counter()
    before = {}
    for task in kernel_threads():
        with contextlib.suppress(OSError):
            before[task.tid] = switches(task.tid)
    for _ in range(SAMPLES):
        for process in processes:
            state, cpu = stat_of(process.pid)
            if state == "R":
                seen[cpu] += 1
        for tid, count in before.items():
            with contextlib.suppress(OSError):
                if switches(tid) > count:
                    theirs[stat_of(tid)[1]] += 1
        time.sleep(0.01)
    must(seen, "no user loop ran")
    must(set(seen) <= user, f"user loops ran on CPUs {dict(seen)}, allowed are {sorted(user)}")
    must(set(theirs) <= kernel, f"kernel threads ran on CPUs {dict(theirs)}, allowed are {sorted(kernel)}")
    return seen, theirs


CASES = {"smt": (["smt"], {0, 1, 2, 3}, {0, 1, 2, 3}),
         "up": (["up"], {0, 2}, {0, 2}),
         "dk": (["dk"], {0, 2}, {1, 3}),
         "mixed": (["--role", "0=user,1=kernel,2=any,3=any"], {0, 2, 3}, {1, 2, 3}),
         "mixed-up-dk": (["--role", "0=any,1=off,2=user,3=kernel"], {0, 2}, {0, 3})}


def check_topology():
    """The machine is what the checks are for."""
    siblings = {(pathlib.Path(f"/sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list")).read_text().strip()
                for n in range(4)}
    must(siblings == {"0-1", "2-3"}, f"siblings are {siblings}")
    loaded = subprocess.run([SCHED, "--check", "--verbose"], capture_output=True, text=True, check=False)
    print("\n".join(loaded.stderr.splitlines()[-60:]), flush=True)
    must(loaded.returncode == 0, "the kernel refuses the BPF scheduler (see the console)")
    must("sched_ext: usable" in dkctl("status"), dkctl("status"))


def check_modes():
    """Each mode confines user loops and kernel threads, under load and from one mode to the next."""
    before = settings()
    kernel_ran = 0
    with spinners(5) as loops, network_load():
        for name, (words, user, kernel) in CASES.items():
            dkctl("mode", *words, "--backend", "scx", "--threaded-napi")
            must((SCX / "state").read_text().strip() == "enabled", f"{name}: sched_ext is not enabled")
            seen, theirs = watch(loops, user, kernel)
            kernel_ran += sum(theirs.values())
            counts = json.loads(dkctl("status", "--json"))["scheduler"]
            must(counts["user"] > 0 and counts["kernel"] > 0, f"{name}: the scheduler counts no tasks: {counts}")
            print(f"# {name}: user loops on {dict(seen)}, kernel threads on {dict(theirs)}", flush=True)
            if name == "smt":
                must(len(seen) == 4, f"mode smt leaves CPUs idle: {dict(seen)}")
            if name.startswith("mixed"):
                dkctl("restore")
        must(kernel_ran, "no kernel thread ran, so nothing was shown about them")
        dkctl("mode", "smt")
        dkctl("restore")
        stock()
    unchanged(before, settings(), "modes")


def check_flips():
    """Flips under load: forty, after which the last mode holds and the scheduler is still there."""
    with spinners(5) as loops, network_load():
        dkctl("mode", "dk", "--backend", "scx")
        sys.path.insert(0, "/dk")
        from dkctl import sched
        scheduler = sched.Scheduler("/run/dkctl", "dk-sched")
        for _ in range(20):
            for roles in ("0=any,1=any,2=any,3=any -", "0=any,1=off,2=any,3=off -", "0=user,1=kernel,2=user,3=kernel -"):
                scheduler.tell(f"roles {roles}")
                time.sleep(0.02)
        watch(loops, {0, 2}, {1, 3})
        dkctl("restore")
    stock()


def check_run():
    """dkctl run holds a mode for a command, and returns to the mode before."""
    before = settings()
    for mode, wanted in (("dk", "dk"), ("up", "up")):
        out = dkctl("run", "--mode", mode, "--backend", "scx", "--", "dkctl", "status")
        must(f"core of CPU 2: {wanted}" in out and "sched_ext: running" in out, out)
        stock()
    unchanged(before, settings(), "run")
    dkctl("mode", "dk", "--cores", "0", "--backend", "scx")
    between = settings()
    out = dkctl("run", "--mode", "up", "--", "dkctl", "status")
    must("core of CPU 0: up" in out, out)
    must("core of CPU 0: dk" in dkctl("status"), "run did not return to the mode before")
    unchanged(between, settings(), "run inside a mode")
    dkctl("run", "--mode", "smt", "--", "sh", "-c", "exit 9", status=9)
    dkctl("restore")
    stock()
    unchanged(before, settings(), "after run")


def cpu_ticks(pid):
    """CPU time of a process, in clock ticks."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    rest = text[text.rindex(")") + 2:].split()
    return int(rest[11]) + int(rest[12])


def check_epochs():
    """Mode hybrid alternates: what prefers dk never runs on a kernel CPU, what prefers smt does; both get time."""
    dkctl("mode", "hybrid", "--backend", "scx", "--epoch-ms", "100")
    from dkctl import sched
    scheduler = sched.Scheduler("/run/dkctl", "dk-sched")
    with spinners(4) as smt, spinners(2) as dk, spinners(2) as plain:
        for group, mode in ((smt, "smt"), (dk, "dk")):
            for process in group:
                scheduler.tell(f"prefer {process.pid} {mode}")
        time.sleep(GRACE)
        seen, epochs = collections.defaultdict(collections.Counter), collections.Counter()
        began = {process.pid: cpu_ticks(process.pid) for group in (smt, dk, plain) for process in group}
        for i in range(200):
            if i % 10 == 0:
                epochs[scheduler.tell("status")["epoch"]] += 1
            for name, group in (("smt", smt), ("dk", dk), ("plain", plain)):
                for process in group:
                    state, cpu = stat_of(process.pid)
                    if state == "R":
                        seen[name][cpu] += 1
            time.sleep(0.02)
        ticks = {name: [cpu_ticks(p.pid) - began[p.pid] for p in group]
                 for name, group in (("smt", smt), ("dk", dk), ("plain", plain))}
        print(f"# epochs {dict(epochs)}, CPUs { {k: dict(v) for k, v in seen.items()} }, ticks {ticks}", flush=True)
        must(len(epochs) == 2, f"epochs seen: {dict(epochs)}")
        must(set(seen["dk"]) <= {0, 2}, f"what prefers dk ran on {dict(seen['dk'])}")
        must(set(seen["smt"]) & {1, 3}, f"what prefers smt never ran on a kernel CPU: {dict(seen['smt'])}")
        must(all(min(values) > 0 for values in ticks.values()), f"a program got no time: {ticks}")
    out = dkctl("run", "--mode", "hybrid", "--prefer", "dk", "--", "sh", "-c", f"{LOAD} fp 1")
    must(out.startswith("fp "), out)
    dkctl("restore")
    stock()


def pid_of_scheduler():
    return json.loads(dkctl("status", "--json"))["scheduler"]["pid"]


def leave(how, name, restored_by_itself):
    """A scheduler that leaves by `how`: tasks return to the stock scheduler, settings can be put back."""
    before = settings()
    with spinners(4) as loops:
        dkctl("mode", "dk", "--backend", "scx")
        pid = pid_of_scheduler()
        must(settings() != before, "mode dk changed no setting")
        how(pid)
        stock(30)
        state, _ = stat_of(loops[0].pid)
        must(state == "R", f"a user loop is in state {state}")
        deadline = time.monotonic() + 30
        while restored_by_itself and settings() != before and time.monotonic() < deadline:
            time.sleep(0.2)
        if restored_by_itself:
            unchanged(before, settings(), f"{name}, by itself")
            while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            out = dkctl("status")
            must("last scheduler: " in out, out)
            print(f"# {name}: {out[out.index('last scheduler'):].strip()}", flush=True)
        else:
            dkctl("restore")
        unchanged(before, settings(), name)
        watch(loops, {0, 1, 2, 3}, {0, 1, 2, 3})
    dkctl("mode", "dk", "--backend", "scx")  # a successor starts
    dkctl("restore")
    stock()
    unchanged(before, settings(), f"{name}, successor")


def check_normal_exit():
    leave(lambda _: dkctl("restore"), "restore", False)


def check_sigterm():
    leave(lambda pid: os.kill(pid, signal.SIGTERM), "SIGTERM", False)


def check_sigkill():
    leave(lambda pid: os.kill(pid, signal.SIGKILL), "SIGKILL", False)


def check_sysrq_s():
    leave(lambda _: pathlib.Path("/proc/sysrq-trigger").write_text("S"), "SysRq-S", True)


def check_stall():
    """A scheduler that lets tasks wait is ejected by the kernel; dk-sched puts the settings back."""
    before = settings()
    from dkctl import sched
    loop = subprocess.Popen([LOAD, "integer", "1000000"], stdout=subprocess.DEVNULL)
    try:
        subprocess.Popen(["dkctl", "mode", "dk", "--backend", "scx", "--fault", "stall"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL).wait()
        stock(60)
        deadline = time.monotonic() + 30
        while "stall" not in (sched.Scheduler("/run/dkctl", "").last_exit() or "") and time.monotonic() < deadline:
            time.sleep(0.2)
        text = sched.Scheduler("/run/dkctl", "").last_exit() or ""
        print(f"# stalled scheduler: {text}", flush=True)
        must("stall" in text, f"the scheduler left because of '{text}'")
        time.sleep(2)
        dkctl("restore")
        unchanged(before, settings(), "stall")
        must(stat_of(loop.pid)[0] == "R", "the loop does not run")
    finally:
        loop.kill()
        loop.wait()


def check_killed_dkctl():
    """dkctl dies while it changes the machine; restore puts everything back."""
    before = settings()
    for delay in (0.3, 0.6, 0.9, 1.2, 1.5, 2.0):
        process = subprocess.Popen(["dkctl", "mode", "dk"], stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.kill()
        process.wait()
        dkctl("restore")
        stock()
        unchanged(before, settings(), f"dkctl killed after {delay} s")


def check_explicit_affinity():
    """An affinity that a user chose wins over roles, and is counted."""
    with spinners(1, ("busybox", "taskset", "2", LOAD, "integer", "1000000")) as loops:
        dkctl("mode", "dk", "--backend", "scx")
        seen, _ = watch(loops, {1}, {1, 3})
        must(json.loads(dkctl("status", "--json"))["scheduler"]["explicit"] > 0, "nothing was counted")
        must(seen[1] > SAMPLES / 2, f"the pinned loop hardly ran: {seen}")
    dkctl("restore")
    stock()


def check_refusals():
    """A second scheduler is refused, and what is in force stays."""
    dkctl("mode", "dk", "--backend", "scx")
    dkctl("--state", "/run/other", "mode", "up", "--backend", "scx", status=1)
    must("core of CPU 0: dk" in dkctl("status"), "the refusal changed the mode")
    dkctl("mode", "dk", "--backend", "fallback", status=1)
    dkctl("restore")
    stock()


def check_fallback():
    """Without sched_ext, CPU sets and affinities confine user loops and kernel threads, and are put back."""
    for name in ("system.slice", "user.slice"):
        pathlib.Path(f"/sys/fs/cgroup/{name}").mkdir(exist_ok=True)
    before, tasks = settings(), affinities()
    with spinners(3) as loose, spinners(3) as grouped:
        for process in grouped:
            pathlib.Path("/sys/fs/cgroup/user.slice/cgroup.procs").write_text(str(process.pid))
        for words, user, kernel in (["dk"], {0, 2}, {1, 3}), (["up"], {0, 2}, {0, 2}), \
                (["--role", "0+1=any,2=user,3=kernel"], {0, 1, 2}, {0, 1, 3}):
            dkctl("mode", *words, "--backend", "fallback")
            must((SCX / "state").read_text().strip() == "disabled", "sched_ext is enabled")
            watch(loose + grouped, user, kernel)
            with spinners(1) as later:
                watch(later, user, kernel)
        dkctl("restore")
        unchanged(before, settings(), "fallback")
        unchanged(tasks, affinities(), "affinities")
        time.sleep(GRACE)
        must(len(watch(loose + grouped, {0, 1, 2, 3}, {0, 1, 2, 3})[0]) == 4, "loops stay confined after restore")


def check_hotplug():
    """A CPU leaves in the middle; restore puts back what is left."""
    before = settings()
    dkctl("mode", "dk", "--backend", "fallback")
    pathlib.Path("/sys/devices/system/cpu/cpu3/online").write_text("0")
    try:
        done = subprocess.run(["dkctl", "restore"], capture_output=True, text=True, check=False)
    finally:
        pathlib.Path("/sys/devices/system/cpu/cpu3/online").write_text("1")
    if done.returncode:
        dkctl("restore")
    unchanged(before, settings(), "hotplug")


OTHERS = {"xz": "busybox seq 1 60000 | xz -T 4 -1 --block-size=64KiB | busybox sha1sum",
          "sqlite3": "sqlite3 :memory: 'create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n"
                     " where i < 20000) insert into t select i, i * 7919 % 10007 from n; create index x on t(b);"
                     " select count(*), sum(a), sum(b) from t where b > 5000'",
          "python3": "cd /tmp; busybox cp /usr/lib/python3.13/json/[a-z]*.py .; python3 -m compileall -q -f -j 4"
                     " --invalidation-mode unchecked-hash . && busybox sha1sum __pycache__/*.pyc"}


def cpus_of(name, ran):
    """CPUs on which threads of programs of this name have run since the last look; neither dkctl nor this program
    counts. ran: the CPU time of each, as seen last. One that waits for its first turn has a CPU, too, and was on none."""
    found = collections.Counter()
    for path in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            words = (path / "cmdline").read_bytes()
            if (path / "comm").read_text().strip() != name or not words or b"/dk" in words:
                continue
            before, ran[path.name] = ran.get(path.name, 0), int((path / "schedstat").read_text().split()[0])
            state, cpu = stat_of(path.name)
            found[cpu] += state == "R" and ran[path.name] > before
    return +found


def check_programs_of_others():
    """Programs that know nothing of dkctl give the same answers under `dkctl run`, on the CPUs of their mode."""
    for name, command in OTHERS.items():
        plain = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
        for words, allowed in (["--mode", "dk"], {0, 2}), (["--mode", "up"], {0, 2}), \
                (["--mode", "hybrid", "--prefer", "dk"], {0, 2}), (["--mode", "smt"], {0, 1, 2, 3}):
            seen, ran = collections.Counter(), {}
            with subprocess.Popen(["dkctl", "run", *words, "--backend", "scx", "--", "sh", "-c", command], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                while process.poll() is None:
                    seen += cpus_of(name, ran)
                    time.sleep(0.02)
                out, err = process.communicate()
            must((process.returncode, out) == (0, plain), f"{name}, {words}: status {process.returncode}: {out} {err[-300:]}")
            must(seen and set(seen) <= allowed, f"{name}, {words}: ran on {dict(seen)}")
            stock()
        print(f"# {name}: {plain.splitlines()[0]}", flush=True)


def check_control_groups():
    """`mltp run --cgroup` holds a program to its grant: tests/coord/cgroup.py, where the kernel lets groups do that."""
    done = subprocess.run(["python3", "/coord/cgroup.py", "/usr/bin/mltpd", "/usr/bin/mltp"], capture_output=True, text=True,
                          check=False)
    must(done.returncode == 0 and "refusals only" not in done.stdout, done.stdout + done.stderr)


def explain():
    """Prints what may explain a failed check: the status, and what the kernel says of schedulers."""
    said = subprocess.run(["busybox", "dmesg"], capture_output=True, text=True, check=False).stdout.splitlines()
    words = [line for line in said if "sched_ext" in line or "scx" in line][-8:]
    words += subprocess.run(["dkctl", "status"], capture_output=True, text=True, check=False).stdout.splitlines()[:12]
    print("\n".join(f"#   {line}" for line in words), flush=True)


def main(only):
    print("\n# checks begin", flush=True)
    checks = [(name[6:], value) for name, value in globals().items() if name.startswith("check_")]
    for name, function in checks:
        if only and not any(part in name for part in only.split(",")):
            continue
        began = time.monotonic()
        try:
            function()
            print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Failed as failed:
            print(f"not ok {name}: {failed}".replace("\n", " | "), flush=True)
            explain()
            subprocess.run(["dkctl", "restore"], capture_output=True, check=False)
        except Exception:  # any other end of a check is a failed one, and the next ones run
            print(f"not ok {name}: " + traceback.format_exc().replace("\n", " | "), flush=True)
            subprocess.run(["dkctl", "restore"], capture_output=True, check=False)
    print("# end of checks", flush=True)


if __name__ == "__main__":
    main("".join(sys.argv[1:]))
