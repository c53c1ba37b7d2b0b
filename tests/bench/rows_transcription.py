"""Row 19: transcription by millrace/moonshine-en, beside the older engine millrace/sphinx-en and faster-whisper."""

import difflib
import statistics
import time

import machine
import spoken_sets
import whisper_peer
from bench_run import picked
from millrace import eventually
from recordings import clip, form, wav
from report import Result
from word_errors import word_errors, words

MODEL, OLD = "millrace/moonshine-en", "millrace/sphinx-en"
REQUEST_WITHIN_S = 3600
IDLE_S = 2
# Words wrong in %; CPU seconds per second of sound; MB of a process; s of a word's start; minutes of an hour.
WRONG_MOST = {"real": 3, "long": 3, "bad": 8, "synthetic": 5}
CPU_MOST, MEMORY_MOST, START_MOST, HOUR_MOST = 0.55, 700, 0.12, 16
NAMES = {
    "real": "real speech, short files",
    "long": "real speech, one recording",
    "bad": "bad line",
    "worse": "bad line, more noise",
    "synthetic": "flite, cuts of 5 to 28 s",
}


class GatewayEngine:
    """One gateway whose children have loaded one model."""

    def __init__(self, bench, model, idle="1h"):
        self.model = model
        self.gateway = bench.gateway("--stt.wait", "1h", "--stt.idle", idle)
        self.popen = self.gateway.popen
        self.before_mb = self._total_mb()
        self.peak_mb = 0  # of the largest process below the gateway, while it transcribes

    def transcript(self, file, **fields):
        body, content_type = form(file, model=self.model, **{"response_format": "json", **fields})
        with machine.PeakWatch(self.popen.pid) as watch:
            reply = self._reply(body, content_type)
        self.peak_mb = max(self.peak_mb, watch.peak_mb)
        return reply

    def _reply(self, body, content_type):
        reply = self.gateway.client.post("/v1/audio/transcriptions", body, headers={"Content-Type": content_type}, timeout=REQUEST_WITHIN_S)
        assert reply.status == 200, (reply.status, reply.body[:400])
        return reply.json()

    def text_of(self, path):
        return self.transcript(path.read_bytes())["text"]

    def _children(self):
        """Process → MB."""
        return {pid: machine.memory_mb(pid) for pid in machine.tree(self.popen.pid)[1:]}

    def _total_mb(self):
        return machine.memory_mb(self.popen.pid) + sum(self._children().values())

    def kept_mb(self):
        """What gateway and children hold above the start, when the child that has transcribed has ended after `stt.idle`."""
        children = self._children()
        largest = max(children, key=children.get)
        eventually(lambda: largest not in machine.tree(self.popen.pid), within_s=60, what="end of the idle child")
        return self._total_mb() - self.before_mb


def _measured(kind, engine):
    """One pass over the recordings of a kind."""
    cpu, began = machine.tree_cpu_s(engine.popen.pid), time.monotonic()
    texts = [engine.text_of(path) for path, _ in kind.files]
    wall = time.monotonic() - began
    counts = [word_errors(text, reference) for text, (_, reference) in zip(texts, kind.files)]
    wrong, total = (sum(column) for column in zip(*counts))
    used = machine.tree_cpu_s(engine.popen.pid) - cpu
    return {"wrong": 100 * wrong / total, "cpu": used / kind.seconds, "faster": kind.seconds / wall, "words": total}


def transcription(bench):
    folder = bench.fresh_folder("recordings")
    spoken = spoken_sets.stories(folder)
    kinds = spoken_sets.recording_sets(folder, spoken, passes=1 if bench.quick else 2)
    if bench.quick:
        del kinds["worse"]
    engines = {"gateway": GatewayEngine(bench, MODEL), "old": GatewayEngine(bench, OLD)}
    whisper = whisper_peer.whisper_peer(bench)
    engines.update({"whisper": whisper} if whisper else {})
    for engine in engines.values():  # every child loads its model
        engine.text_of(kinds["long"].files[0][0])
    results = []
    for name, kind in kinds.items():
        sides = {side: lambda e=engine, k=kind: _measured(k, e) for side, engine in engines.items()}
        samples = bench.side_by_side(rounds=1 if bench.quick or name != "long" else 3, **sides)
        results += _results_of(name, kind, samples)
    results += _start_times(engines, spoken[0])
    if not bench.quick:
        results += _hour(engines["gateway"])
    results += _memory(bench, engines)
    results[0].note = f"{OLD} is the engine before this one; {whisper_peer.NAME} has its model loaded and uses one core, the gateway both"
    return results


def _results_of(name, kind, samples):
    ours, old, whisper = samples["gateway"], samples["old"], samples.get("whisper")
    what = f"{NAMES[name]} ({ours[0]['words']} words, {kind.seconds:.0f} s)"

    def row(key, text, unit, **goal):
        return [
            Result(19, f"{text}, {what}", unit, picked(ours, key), OLD, picked(old, key), absolute=True, **goal),
            *([Result(19, "the same", unit, picked(ours, key), whisper_peer.NAME, picked(whisper, key))] if whisper else []),
        ]

    results = row("wrong", "words wrong", "%", most=WRONG_MOST.get(name))
    if name != "real":  # a short file has too little sound for its fixed costs
        results += row("cpu", "CPU per second of sound", "s", most=CPU_MOST)
    return results + (row("faster", "seconds of sound per second", "/s") if name == "long" else [])


def _offsets(transcript, story):
    """Seconds between the start of each word that is right, and the synthesiser's own time of it."""
    recognized = [(" ".join(words(word["word"])), word["start"]) for word in transcript["words"]]
    spoken = [(" ".join(words(word)), start) for word, (start, _) in zip(story.words, story.times)]
    matcher = difflib.SequenceMatcher(None, [word for word, _ in recognized], [word for word, _ in spoken], autojunk=False)
    return [
        abs(recognized[block.a + i][1] - spoken[block.b + i][1]) for block in matcher.get_matching_blocks() for i in range(block.size)
    ]


def _start_times(engines, story):
    sound = wav(story.samples)
    offsets = {
        side: _offsets(engines[side].transcript(sound, response_format="verbose_json", **{"timestamp_granularities[]": "word"}), story)
        for side in ("gateway", "old")
    }
    assert len(offsets["gateway"]) > len(story.words) / 2, "too few words have times"
    return [
        Result(19, f"start of a word against flite's own, {text}", "s", [ours], OLD, [old], absolute=True, **goal)
        for text, ours, old, goal in (
            ("mean", *(statistics.mean(offsets[side]) for side in offsets), {}),
            ("p95", *(statistics.quantiles(offsets[side], n=20)[-1] for side in offsets), {"most": START_MOST}),
        )
    ]


def _memory(bench, engines):
    peaks = [engines[side].peak_mb for side in ("gateway", "old")]
    brief = GatewayEngine(bench, MODEL, idle=f"{IDLE_S}s")
    brief.transcript(clip())
    return [
        Result(19, "peak memory of a transcribing process", "MB", peaks[:1], OLD, peaks[1:], absolute=True, most=MEMORY_MOST),
        Result(19, "memory above the start, after stt.idle", "MB", [brief.kept_mb()], most=16),
    ]


def _hour(engine):
    samples, text = spoken_sets.hour()
    recording = spoken_sets.as_mp3(samples)
    began = time.monotonic()
    wrong, total = word_errors(engine.transcript(recording)["text"], text)
    minutes = (time.monotonic() - began) / 60
    return [
        Result(19, "an hour of real speech with pauses and noise", "min", [minutes], most=HOUR_MOST),
        Result(19, f"words wrong in it ({total} words)", "%", [100 * wrong / total], most=WRONG_MOST["real"]),
    ]
