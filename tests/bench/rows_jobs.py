"""Rows 3 and 4: from the accept to the worker's start, and how fast a stored backlog drains. In one process, with a
runner that does nothing: only the job core is measured."""

from bench_run import picked
from millrace import BUILD, Kafka
from report import Result

RATE = 200


def _run(bench, mode, *args):
    folder = bench.fresh_folder(mode)
    return bench.run_json([BUILD / "bench_jobs", "--mode", mode, "--data", folder / "data", *args])


def _start(bench, *args):
    return _run(bench, "start", "--rate", RATE, "--seconds", 3 if bench.quick else 10, *args)


def _floor(bench):
    """The disk alone: writes as large as a job's commit, each with fdatasync, at the same rate."""
    folder = bench.fresh_folder("floor")
    return bench.run_json([BUILD / "bench_jobs", "--mode", "floor", "--data", folder, "--rate", RATE, "--seconds", 3 if bench.quick else 10])


def _above_floor(samples):
    """p99 as a multiple of the disk's p99 in the same rounds: the start of a job waits for one sync."""
    ours, floor = ([us / 1e3 for us in picked(samples[side], "p99_us")] for side in ("start", "floor"))
    return Result(3, "its p99 compared with the disk's", "ms", ours, "64 KB written and synced", floor)


def _results(samples, what, most_p99=None):
    results = []
    for quantile in ("p50", "p99", "max"):
        values = [us / 1e3 for us in picked(samples, f"{quantile}_us")]
        bound = most_p99 if quantile == "p99" else None
        results.append(Result(3, f"accept → worker start at {RATE}/s, {what}, {quantile}", "ms", values, most=bound))
    return results


def accept_to_start(bench):
    embedded = bench.side_by_side(start=lambda: _start(bench), floor=lambda: _floor(bench))
    results = [*_results(embedded["start"], "embedded", most_p99=2.0), _above_floor(embedded)]
    if 3 not in bench.selected:
        return results
    broker = Kafka(bench.fresh_folder("kafka"))
    address = broker.start()
    try:
        _start(bench, "--kafka", address, "--warmup", 8)  # creates the topics: a group needs a while to see new ones
        samples = bench.side_by_side(start=lambda: _start(bench, "--kafka", address, "--warmup", 8))["start"]
    finally:
        broker.stop()
    return results + _results(samples, "through Kafka")


def drain(bench):
    jobs = 10_000 if bench.quick else 100_000
    samples = bench.side_by_side(drain=lambda: _run(bench, "drain", "--jobs", jobs))["drain"]
    return [Result(4, f"drain of {jobs} stored jobs (claim + durable finish)", "jobs/s", picked(samples, "per_second"))]
