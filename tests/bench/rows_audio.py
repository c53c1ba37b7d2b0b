"""Rows 19 to 21: transcription, start of speech, uploads. The peer of row 19 is Debian's pocketsphinx_continuous."""

import http.client
import io
import json
import os
import statistics
import subprocess
import time
import wave

import machine
from bench_run import picked, run_measured
from recordings import CLIPS, RATE, SAID, errors, form, transcribe, wav
from report import Result
from rows_accept import headers
from spoken import FIRST_BYTE, STORY, VOICES

CARDS = CLIPS.parent / "cards"
CARDS_SAID = ["ten of clubs", "four queen of clubs", "seven of clubs", "five five", "eight of spades four of clubs seven of hearts"]
PEER = "pocketsphinx_continuous"
PAUSE = bytes(2 * RATE)  # a second between the parts of one recording
REAL_TIMES = 6  # the clips are repeated this often, for a recording of three minutes
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
AUDIO_BYTES = 25 << 20


def _samples(path):
    with wave.open(str(path)) as clip:
        return clip.readframes(clip.getnframes())


def _real_clips():
    """Samples and text of each clip of real speech."""
    chapters, cards = sorted(CLIPS.glob("*.wav")), sorted(CARDS.glob("*.wav"))
    return [(_samples(path), reference) for path, reference in zip(chapters + cards, SAID + CARDS_SAID)]


def _spoken(gateway, voice):
    """The story spoken by one of the local voices, with 16,000 samples per second."""
    body = {"model": "millrace/flite", "input": STORY, "voice": voice, "response_format": "flac"}
    reply = gateway.client.post("/v1/audio/speech", body)
    assert reply.status == 200, (reply.status, reply.body[:400])
    command = ["ffmpeg", "-v", "error", "-i", "-", "-f", "s16le", "-ar", str(RATE), "-ac", "1", "-"]
    return subprocess.run(command, input=reply.body, capture_output=True, timeout=120, check=True).stdout


class RecordingSet:
    """Recordings of one kind, with their reference texts."""

    def __init__(self, folder, name, clips):
        self.files = []
        for number, (samples, reference) in enumerate(clips):
            path = folder / f"{name}-{number}.wav"
            path.write_bytes(wav(samples))
            self.files.append((path, reference))
        self.seconds = sum(len(samples) for samples, _ in clips) / (2 * RATE)

    def sample(self, texts, cpu_s, wall_s):
        counts = [len(reference.split()) for _, reference in self.files]
        wrong = sum(errors(text, reference) * count for text, (_, reference), count in zip(texts, self.files, counts))
        return {"wer": 100 * wrong / sum(counts), "cpu": cpu_s / self.seconds, "wall": wall_s / self.seconds}

    def by_gateway(self, gateway):
        cpu, began = machine.tree_cpu_s(gateway.popen.pid), time.monotonic()
        replies = [transcribe(gateway, path.read_bytes()) for path, _ in self.files]
        wall = time.monotonic() - began
        assert all(reply.status == 200 for reply in replies), [reply.body[:400] for reply in replies]
        return self.sample([reply.json()["text"] for reply in replies], machine.tree_cpu_s(gateway.popen.pid) - cpu, wall)

    def by_peer(self, folder):
        cpu_s, wall_s, texts = 0, 0, []
        for path, _ in self.files:
            with open(folder / "peer.txt", "wb") as out:
                used, took = run_measured(["chrt", "--idle", "0", PEER, "-infile", path, "-logfn", "/dev/null"], stdout=out)
            cpu_s, wall_s = cpu_s + used, wall_s + took
            texts.append((folder / "peer.txt").read_text())
        return self.sample(texts, cpu_s, wall_s)


def recognition(bench):
    folder = bench.fresh_folder("recordings")
    gateway = bench.gateway("--stt.wait", "1h")
    clips = _real_clips()
    chapters = [(samples + PAUSE, reference) for samples, reference in clips[: len(SAID)]]
    long = (b"".join(samples for samples, _ in chapters) * REAL_TIMES, " ".join([reference for _, reference in chapters] * REAL_TIMES))
    synthetic = PAUSE.join(_spoken(gateway, voice) for voice in VOICES)
    kinds = {
        "real speech, short files": RecordingSet(folder, "clip", clips),
        "real speech, one recording": RecordingSet(folder, "long", [long]),
        "speech of flite, one recording": RecordingSet(folder, "synthetic", [(synthetic, " ".join([STORY_WORDS] * len(VOICES)))]),
    }
    _warm(gateway, long[0])
    results = []
    for name, kind in kinds.items():
        samples = bench.side_by_side(rounds=1 if bench.quick else 3, gateway=lambda k=kind: k.by_gateway(gateway), peer=lambda k=kind: k.by_peer(folder))
        results += _recognition_results(f"{name} ({kind.seconds:.0f} s)", samples, name.endswith("one recording"))
    results[0].note = (
        "the gateway's children are warm and recognise pieces of one recording on two cores at once; "
        f"{PEER} starts for each file and uses one core"
    )
    return results


STORY_WORDS = " ".join("".join(c if c.isalnum() or c == "'" else " " for c in STORY.lower()).split())


def _warm(gateway, samples):
    """Lets every child load its model."""
    reply = transcribe(gateway, wav(samples))
    assert reply.status == 200, reply.body[:400]


def _recognition_results(what, samples, in_pieces):
    ours, peer = samples["gateway"], samples["peer"]
    side = [Result(19, f"words wrong, {what}", "%", picked(ours, "wer"), PEER, picked(peer, "wer"), no_worse=True)]
    side.append(Result(19, f"CPU per second of sound, {what}", "s", picked(ours, "cpu"), PEER, picked(peer, "cpu")))
    faster = [Result(19, f"seconds of sound per second, {what}", "/s", [1 / w for w in picked(ours, "wall")], PEER, [1 / w for w in picked(peer, "wall")], least=1.5)]
    return side + (faster if in_pieces else [])


def _first_byte_ms(connection, key, encoding):
    body = {"model": "millrace/flite", "input": FIRST_BYTE, "voice": "alloy", "response_format": encoding}
    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    began = time.monotonic()
    connection.request("POST", "/v1/audio/speech", json.dumps(body), sent)
    reply = connection.getresponse()
    first = reply.read(1)
    took = time.monotonic() - began
    assert reply.status == 200 and first, (reply.status, reply.read(400))
    reply.read()
    return took * 1e3


def first_byte(bench):
    gateway = bench.gateway()
    address = gateway.client.address
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    request_count = 10 if bench.quick else 30

    def median_of(encoding):
        return statistics.median(_first_byte_ms(connection, gateway.client.key, encoding) for _ in range(request_count))

    samples = bench.side_by_side(**{encoding: lambda e=encoding: median_of(e) for encoding in FORMATS})
    connection.close()
    return [Result(20, f"speech: POST → first byte of {encoding}, p50", "ms", samples[encoding], most=50) for encoding in FORMATS]


def _write_upload(path):
    """Writes a new recording as a multipart form; returns its Content-Type."""
    head = io.BytesIO()
    with wave.open(head, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(os.urandom(AUDIO_BYTES - 44))
    body, content_type = form(head.getvalue(), model="millrace/sphinx-en")
    path.write_bytes(body)
    return content_type


def upload(bench):
    body = bench.folder / "upload.form"
    floor = bench.server("bench_floor", "--file", bench.folder / "floor.bin", "--bytes", AUDIO_BYTES)
    peaks = []

    def raw():
        _write_upload(body)
        return bench.load(floor, body_file=body, requests=1)["max_us"] / 1e3

    def accept():
        content_type = _write_upload(body)
        gateway = bench.gateway(role="api")
        idle = machine.memory_mb(gateway.popen.pid)
        machine.forget_peak(gateway.popen.pid)
        sent = [each for each in headers(gateway.client.key) if not each.startswith("Content-Type")] + [f"Content-Type: {content_type}"]
        took = bench.load(gateway, path="/v1/audio/transcriptions", header=sent, body_file=body, requests=1)["max_us"] / 1e3
        peaks.append(machine.memory_mb(gateway.popen.pid, "VmHWM") - idle)
        bench.end(gateway)
        return took

    samples = bench.side_by_side(raw=raw, accept=accept)
    return [
        Result(21, "25 MB recording, durable accept", "ms", samples["accept"], "receive + write + fsync", samples["raw"], most=2.0),
        Result(21, "peak memory of the gateway above idle", "MB", peaks, most=8),
    ]
