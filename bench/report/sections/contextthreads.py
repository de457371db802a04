# SPDX-License-Identifier: Apache-2.0
"""The ContextThreads report: two SpecC models on three backends, Tables 1 and 2."""
import blocks
import plots
from blocks import quantity
from results import paper

MODELS = (  # number, model, operation, what it is, operations of the report's run
    (1, "prodcons", "wait", "a producer and a consumer", 80e6),
    (2, "TFMUL", "thread", "threads that do almost nothing", 10e6),
)
ROLES = {"native": "QuickThreads", "ucontext": "ContextThreads", "kernel": "PosixThreads"}
HOSTS = ("mu", "xi")


def of_paper(model, library, operations):
    """CPU nanoseconds for each operation on the report's two machines."""
    return [1e9 * (row["user"] + row["system"]) / operations
            for host in HOSTS for row in paper("contextthreads", model=model, host=host, library=library)]


def sentence_of(model, operation, medians):
    if len(medians) < len(ROLES):
        return f"{model}: not all backends were measured."
    native, ucontext, kernel = (medians[name] for name in ROLES)
    order = "in the report's order" if native < ucontext < kernel else "not in the report's order"
    return (f"A {operation} takes {quantity(native)} ns on the native backend, {quantity(ucontext)} on ucontext and "
            f"{quantity(kernel)} on kernel threads: {order}.")


def figure(results, number, model, operation, about, operations):
    title, key = f"Table {number}: {model}, {about}", f"contextthreads-{number}"
    caption = (f"CPU time of each {operation}, beside the report's on its two machines (mu, xi), whose times "
               f"are divided by the {quantity(operations)} {operation}s of its run.")
    rows = {row["impl"]: row for row in results.select(experiment="sim", model=model, metric="each")}
    if not rows:
        return blocks.Figure(key, title, caption, None, f"sim: {results.missing('sim')}.")
    picture, axes = plots.panels(1)
    for place, name in enumerate(ROLES):
        theirs = of_paper(model, ROLES[name], operations)
        axes[0].bar(place - 0.2, rows[name]["median"] if name in rows else 0, 0.38, color="C0",
                    label="here" if place == 0 else None)
        axes[0].bar(place + 0.2, min(theirs), 0.38, color="C1", label="the report's faster machine" if place == 0 else None)
    axes[0].set_xticks(range(len(ROLES)), [f"{name}\n({role})" for name, role in ROLES.items()])
    axes[0].set_yscale("log")
    axes[0].set_ylabel(f"ns of CPU time for each {operation}")
    axes[0].legend()
    times = {metric: {row["impl"]: row for row in results.select(experiment="sim", model=model, metric=metric)}
             for metric in ("user", "system", "elapsed")}
    table = blocks.Table(["backend", f"{operation}s", "user s", "system s", "elapsed s", "min ns", "median ns", "max ns",
                          "report, mu ns", "report, xi ns"],
                         [[name, quantity(row["operations"]),
                           *(quantity(times[metric][name]["median"]) for metric in times),
                           *blocks.spread(row), *map(quantity, of_paper(model, ROLES[name], operations))]
                          for name, row in rows.items()])
    medians = {name: row["median"] for name, row in rows.items()}
    return blocks.Figure(key, title, caption, picture, sentence_of(model, operation, medians), table)


def section(results):
    return blocks.Section(
        "contextthreads", "Simulation", "ContextThreads report, Tables 1 and 2",
        "The report's two SpecC models, compiled by specc. The native backend has the part of QuickThreads, ucontext "
        "that of ContextThreads, kernel that of PosixThreads. Where the backend is native a thread that ends before it "
        "waits runs on its parent's stack.", [figure(results, *each) for each in MODELS])
