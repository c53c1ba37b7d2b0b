"""scripts/bench: runs the rows, each side by side with its peer, and prints the table. The rows are in rows_*.py."""

import argparse
import datetime
import shutil
import signal
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import machine
import report
import rows_accept
import rows_audio
import rows_batches
import rows_chat
import rows_deferred
import rows_exec
import rows_hosts
import rows_jobs
import rows_memory
import rows_neighbours
import rows_ocr
import rows_postgres
import rows_tables
import rows_transcription
import rows_upload
from bench_run import Bench
from millrace import BUILD

ROWS = {
    1: rows_accept.durable_accepts,
    2: rows_accept.accept_latency,
    3: rows_jobs.accept_to_start,
    4: rows_jobs.drain,
    7: rows_upload.large_document,
    8: rows_chat.direct_chat,
    9: rows_chat.streams,
    10: rows_ocr.scans,
    11: rows_ocr.text_layer,
    13: rows_memory.memory,
    14: rows_exec.command_start,
    15: rows_exec.short_commands,
    16: rows_exec.output,
    17: rows_exec.sessions,
    18: rows_deferred.deferred_chats,
    19: rows_transcription.transcription,
    20: rows_audio.first_byte,
    21: rows_audio.upload,
    22: rows_neighbours.neighbours,
    23: rows_tables.tables,
    24: rows_postgres.accepts,
    25: rows_postgres.drain,
    26: rows_postgres.drain_beside_snapshot,
    27: rows_hosts.slots,
    28: rows_hosts.hosts,
    29: rows_batches.validation,
    30: rows_batches.drain,
    31: rows_batches.memory,
}


def read_arguments():
    description = "Measures Millrace side by side with its peers; docs/benchmarks.md explains the rows."
    parser = argparse.ArgumentParser(prog="scripts/bench", description=description)
    parser.add_argument("--row", type=int, choices=ROWS, action="append", help="only this row (may be given again)")
    parser.add_argument("--quick", action="store_true", help="shorter and fewer rounds: a quick look, not a figure to quote")
    parser.add_argument("--json", metavar="FILE", help="writes all samples to FILE")
    return parser.parse_args()


def run_row(bench, number):
    """The row's results, None if it failed to run, and the foreign share of the CPU meanwhile."""
    report.report_progress(f"row {number} …")
    with machine.ForeignWatch() as watch:
        try:
            results = ROWS[number](bench)
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError) as problem:
            report.report_progress(f"row {number} failed to run: {type(problem).__name__}: {problem}")
            results = None
        finally:
            bench.end_all()
    report.report_progress(f"row {number}: foreign CPU {watch.share:.0%}")
    return results, watch.share


def main():
    arguments = read_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that all child processes are ended
    folder = BUILD / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bench = Bench(folder, quick=arguments.quick, selected=set(arguments.row or []))
    about = machine.describe(folder.resolve())
    results, shares, failed = [], {}, []
    for row in arguments.row or ROWS:
        of_row, shares[row] = run_row(bench, row)
        results += of_row or []
        failed += [row] if of_row is None else []
    shutil.rmtree(folder, ignore_errors=True)
    busiest = max(shares.values())
    print(f"machine: {about}")
    print(f"date: {datetime.date.today().isoformat()}{', quick' if arguments.quick else ''}; median [min..max] of rounds side by side")
    print(f"foreign CPU: median {statistics.median(shares.values()):.0%}, at most {busiest:.0%} of the machine during a row")
    print()
    print(report.table(results))
    if arguments.json:
        report.write_json(arguments.json, about, shares, results)
    if failed:
        print(f"failed to run: rows {', '.join(map(str, failed))}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
