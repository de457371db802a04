# SPDX-License-Identifier: Apache-2.0
"""Echo servers over numbers of connections."""
import blocks
import plots
from blocks import quantity
from plots import name_of

SERVERS = ("mltp", "go", "asio", "pthreads")
COST = "requests_per_cpu_second"
METRICS = {COST: "requests for each CPU second", "requests_per_second": "requests for each second", "latency_p50": "latency, 50 %",
           "latency_p99": "latency, 99 %", "latency_p999": "latency, 99.9 %"}


def drawn(rows):
    """Requests for each CPU second over the number of connections."""
    picture, (axes,) = plots.panels(1)
    for server in SERVERS:
        here = [row for row in rows if row["impl"] == server and row["metric"] == COST]
        if here:
            plots.line(axes, here, "connections", **plots.style_of(server))
    axes.set_xscale("log")
    axes.set_xlabel("connections")
    plots.value_axis(axes, METRICS[COST], [row["median"] for row in rows if row["metric"] == COST])
    return picture


def ratios(rows, peer):
    """How many requests for each CPU second ours served for one of a peer's, at each number of connections."""
    parts = []
    for connections in sorted({row["connections"] for row in rows}):
        here = {row["impl"]: row for row in rows if row["connections"] == connections and row["metric"] == COST}
        if {"mltp", peer} <= set(here):
            best, median = (here["mltp"][key] / here[peer][key] for key in ("max", "median"))
            parts.append(f"{best:.2f} ({median:.2f}) at {connections}")
    return parts


def sentence_of(rows):
    text = []
    for peer in SERVERS[1:]:
        parts = ratios(rows, peer)
        if parts:
            text.append(f"over {name_of(peer)} {', '.join(parts)}")
    return (f"Requests for each CPU second of MLTP's server, by the best runs (by medians), at numbers of connections: {'; '.join(text)}."
            if text else "There is nothing to compare with.")


def numbers(rows):
    rows = sorted(rows, key=lambda row: (row["connections"], list(METRICS).index(row["metric"]), SERVERS.index(row["impl"])))
    return blocks.Table(["connections", "what", "server", "min", "median", "max", "unit", "runs"],
                        [[row["connections"], METRICS[row["metric"]], name_of(row["impl"]), *blocks.spread(row), row["unit"],
                          row["runs"]] for row in rows])


def figure(results):
    key, title = "echo-servers", "Echo servers"
    caption = ("Each connection always has one request of 64 bytes under way, and each answer is compared. Servers of a thread for "
               "each connection on MLTP, Go's net and pthreads, and of callbacks on Boost.Asio, with the same client; they take "
               "turns, run by run. CPU time is the server's.")
    rows = results.select(experiment="io")
    if not rows:
        return blocks.Figure(key, title, caption, None, f"io: {results.missing('io')}.")
    return blocks.Figure(key, title, caption, drawn(rows), sentence_of(rows), numbers(rows))


def section(results):
    return blocks.Section(
        "echo", "Input and output: echo servers", "what a request costs a server, over numbers of connections",
        "With few connections both sides sleep for most requests, and the kernel decides by chance whether they share a CPU, where "
        "a wake-up costs least.", [figure(results)])
