"""scripts/bench can load all its rows. The tests do not run the rows."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_every_row_of_the_bench_can_be_loaded(tmp_path):
    command = ["/usr/bin/python3", ROOT / "tests" / "bench" / "bench.py", "--help"]
    done = subprocess.run(command, env={"MILLRACE_BUILD": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--row" in done.stdout
