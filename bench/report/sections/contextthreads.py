# SPDX-License-Identifier: Apache-2.0
"""The ContextThreads report: two SpecC models on three backends, Tables 1 and 2; the same in SystemC."""
import blocks
import plots
from blocks import quantity
from results import paper

MODELS = (  # number, model, operation, what it is, operations of the report's run
    (1, "prodcons", "wait", "a producer and a consumer", 80e6),
    (2, "TFMUL", "thread", "threads that do almost nothing", 10e6),
)
ROLES = {"native": "QuickThreads", "ucontext": "ContextThreads", "kernel": "PosixThreads"}
SYSTEMC = {"systemc": "as it is", "mltp-systemc": "our package"}
HOSTS = ("mu", "xi")


def of_paper(model, library, operations):
    """CPU nanoseconds for each operation on the report's two machines; none for what it has not."""
    if library is None:
        return [None] * len(HOSTS)
    return [1e9 * (row["user"] + row["system"]) / operations
            for host in HOSTS for row in paper("contextthreads", model=model, host=host, library=library)]


def sentence_of(model, operation, medians):
    if not all(name in medians for name in ROLES):
        return f"{model}: not all backends were measured."
    native, ucontext, kernel = (medians[name] for name in ROLES)
    order = "in the report's order" if native < ucontext < kernel else "not in the report's order"
    said = (f"A {operation} takes {quantity(native)} ns on the native backend, {quantity(ucontext)} on ucontext and "
            f"{quantity(kernel)} on kernel threads: {order}.")
    if not all(name in medians for name in SYSTEMC):
        return f"{said} SystemC was not measured."
    stock, ours = (medians[name] for name in SYSTEMC)
    return (f"{said} In SystemC a {operation} of the same model takes {quantity(stock)} ns, and {quantity(ours)} ns "
            "with our coroutine package preloaded.")


def bars(axes, rows, model, operations):
    """The three backends, each beside its part in the report; then SystemC, which the report has not."""
    labels = [f"{name}\n({role})" for name, role in ROLES.items()]
    labels += [f"SystemC,\n{way}" for name, way in SYSTEMC.items() if name in rows]
    for place, name in enumerate([*ROLES, *(name for name in SYSTEMC if name in rows)]):
        beside = name in ROLES
        axes.bar(place - 0.2 * beside, rows[name]["median"] if name in rows else 0, 0.38, color="C0",
                 label="here" if place == 0 else None)
        if beside:
            axes.bar(place + 0.2, min(of_paper(model, ROLES[name], operations)), 0.38, color="C1",
                     label="the report's faster machine" if place == 0 else None)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yscale("log")


def figure(results, number, model, operation, about, operations):
    title, key = f"Table {number}: {model}, {about}", f"contextthreads-{number}"
    caption = (f"CPU time of each {operation}, beside the report's on its two machines (mu, xi), whose times "
               f"are divided by the {quantity(operations)} {operation}s of its run; and of the same model in SystemC, "
               "as it is and with our coroutine package preloaded.")
    rows = {row["impl"]: row for row in results.select(experiment="sim", model=model, metric="each")}
    if not rows:
        return blocks.Figure(key, title, caption, None, f"sim: {results.missing('sim')}.")
    picture, axes = plots.panels(1)
    bars(axes[0], rows, model, operations)
    axes[0].set_ylabel(f"ns of CPU time for each {operation}")
    axes[0].legend()
    times = {metric: {row["impl"]: row for row in results.select(experiment="sim", model=model, metric=metric)}
             for metric in ("user", "system", "elapsed")}
    table = blocks.Table(["backend", f"{operation}s", "user s", "system s", "elapsed s", "min ns", "median ns", "max ns",
                          "report, mu ns", "report, xi ns"],
                         [[name, quantity(row["operations"]),
                           *(quantity(times[metric][name]["median"]) for metric in times),
                           *blocks.spread(row), *map(quantity, of_paper(model, ROLES.get(name), operations))]
                          for name, row in rows.items()])
    medians = {name: row["median"] for name, row in rows.items()}
    return blocks.Figure(key, title, caption, picture, sentence_of(model, operation, medians), table)


def section(results):
    return blocks.Section(
        "contextthreads", "Simulation", "ContextThreads report, Tables 1 and 2",
        "The report's two SpecC models, compiled by specc. The native backend has the part of QuickThreads, ucontext "
        "that of ContextThreads, kernel that of PosixThreads. Where the backend is native a thread that ends before it "
        "waits runs on its parent's stack. Beside them are the same models in SystemC, run on the same machine in turn.", [figure(results, *each) for each in MODELS])
