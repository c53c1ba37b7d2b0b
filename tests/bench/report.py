"""Samples, their medians, and the table of results."""

import json
import statistics
import sys
from dataclasses import asdict, dataclass, field


@dataclass
class Result:
    """One line of the table. `goal` is a bound on `ratio` if there is a peer and `absolute` is not set, else on `ours`."""

    row: int
    what: str
    unit: str
    ours: list
    peer_name: str = ""
    peer: list = field(default_factory=list)
    least: float = None  # first-level goal: at least …
    most: float = None  # … or at most
    no_worse: bool = False  # … or no more than the peer
    absolute: bool = False  # the peer is shown beside it, the goal holds for our figure
    note: str = ""
    unfair: str = ""  # why there is no verdict, whatever the figures are

    def ratios(self):
        return [a / b for a, b in zip(self.ours, self.peer) if b]

    def judged(self):
        return statistics.median(self.ratios() if self._by_ratio() else self.ours)

    def _by_ratio(self):
        return bool(self.peer) and not self.absolute

    def goal(self):
        if self.no_worse:
            return "≤ peer"
        sign = " ×" if self._by_ratio() else f" {self.unit}"
        if self.least is not None:
            return f"≥ {self.least:g}{sign}"
        return f"≤ {self.most:g}{sign}" if self.most is not None else "report"

    def verdict(self):
        if self.unfair:
            return f"no verdict: {self.unfair}"
        if self.no_worse:
            good = statistics.median(self.ours) <= statistics.median(self.peer)
        elif self.least is None and self.most is None:
            return "–"
        else:
            good = self.judged() >= self.least if self.least is not None else self.judged() <= self.most
        return "met" if good else "NOT MET"


def number(value):
    if value >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def spread(values):
    if not values:
        return "–"
    middle = number(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} [{number(min(values))}..{number(max(values))}]"


def table(results):
    lines = ["| row | what | ours | peer | ratio | first-level goal | |", "|---|---|---|---|---|---|---|"]
    for r in results:
        peer = f"{r.peer_name}: {spread(r.peer)} {r.unit}" if r.peer else "–"
        ratio = f"{spread(r.ratios())} ×" if r.peer else "–"
        lines.append(f"| {r.row} | {r.what} | {spread(r.ours)} {r.unit} | {peer} | {ratio} | {r.goal()} | {r.verdict()} |")
    notes = [f"row {r.row}, {r.what}: {r.note}" for r in results if r.note]
    return "\n".join(lines + [""] + notes)


def write_json(path, machine, foreign, results):
    rows = [{**asdict(r), "ratios": r.ratios(), "goal": r.goal(), "verdict": r.verdict()} for r in results]
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"machine": machine, "foreign_cpu_share": foreign, "results": rows}, out, indent=1)


def report_progress(text):
    print(text, file=sys.stderr, flush=True)
