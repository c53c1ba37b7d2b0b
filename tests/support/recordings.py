"""Recordings of real speech (Debian's pocketsphinx-testdata, chapters read for LibriVox), of any length that a test needs."""

import io
import secrets
import subprocess
import wave
from pathlib import Path

CLIPS = Path("/usr/share/pocketsphinx/test/data/librivox")
RATE = 16_000
PAUSE_S = 0.8
# The text of the clips, in order.
SAID = [
    "and mister john dashwood had then leisure to consider how much there might be prudently in his power to do for them",
    "he was not an ill disposed young man",
    "unless to be rather cold hearted and rather selfish is to be ill disposed",
    "had he married a more amiable woman he might have been made still more respectable than he was",
    "he might even have been made amiable himself",
]


def _samples(path):
    with wave.open(str(path)) as clip:
        return clip.readframes(clip.getnframes())


def wav(samples):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples)
    return out.getvalue()


def clip(number=1):
    """One clip, as a WAV file."""
    return wav(_samples(sorted(CLIPS.glob("*.wav"))[number]))


def clip_file(number=4):
    """The path of one clip."""
    return str(sorted(CLIPS.glob("*.wav"))[number])


def speech(seconds):
    """A WAV file of this length: the clips repeated, with pauses."""
    clips = [_samples(path) + bytes(2 * int(RATE * PAUSE_S)) for path in sorted(CLIPS.glob("*.wav"))]
    all_of_them = b"".join(clips)
    times = 1 + 2 * RATE * seconds // len(all_of_them)
    return wav((all_of_them * times)[: 2 * RATE * seconds])


def silence(seconds):
    return wav(bytes(2 * RATE * seconds))


def as_mp3(sound):
    command = ["ffmpeg", "-v", "error", "-i", "-", "-b:a", "48k", "-f", "mp3", "-"]
    return subprocess.run(command, input=sound, capture_output=True, timeout=120, check=True).stdout


def form(file, name="speech.wav", field_of_file="file", **fields):
    """The multipart body of a request, and its Content-Type."""
    boundary = secrets.token_hex(12)
    parts = []
    for field, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{each}\r\n'.encode())
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{field_of_file}"; filename="{name}"\r\n\r\n'
    return b"".join([*parts, head.encode(), file, f"\r\n--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def transcribe(gateway, file, task="transcriptions", headers=None, **fields):
    """Sends a recording; returns the response."""
    body, content_type = form(file, **{"model": "millrace/sphinx-en", **fields})
    return gateway.client.post(f"/v1/audio/{task}", body, headers={"Content-Type": content_type, **(headers or {})})


def submit(gateway, file, **fields):
    """Submits a recording asynchronously; returns the id of its job."""
    reply = transcribe(gateway, file, headers={"Prefer": "respond-async"}, **fields)
    assert reply.status == 202, reply.body
    return reply.json()["id"]


def errors(recognized, reference):
    """Word error rate: wrong, missing and additional words as a share of the reference."""
    recognized = "".join(c if c.isalnum() or c == "'" else " " for c in recognized.lower()).split()
    reference = reference.lower().split()
    row = list(range(len(recognized) + 1))
    for i, word in enumerate(reference, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(recognized, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1] / len(reference)
