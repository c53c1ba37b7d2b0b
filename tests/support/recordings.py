"""Recordings of real speech (Debian's pocketsphinx-testdata, chapters read for LibriVox), as long as a test wants them."""

import io
import secrets
import subprocess
import wave
from pathlib import Path

CLIPS = Path("/usr/share/pocketsphinx/test/data/librivox")
RATE = 16_000
PAUSE_S = 0.8
# What the clips say, in their order.
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
    """One of them, as a WAV file."""
    return wav(_samples(sorted(CLIPS.glob("*.wav"))[number]))


def clip_file(number=4):
    """Where one of them lies."""
    return str(sorted(CLIPS.glob("*.wav"))[number])


def speech(seconds):
    """A WAV file of so many seconds: the clips again and again, with pauses."""
    clips = [_samples(path) + bytes(2 * int(RATE * PAUSE_S)) for path in sorted(CLIPS.glob("*.wav"))]
    all_of_them = b"".join(clips)
    times = 1 + 2 * RATE * seconds // len(all_of_them)
    return wav((all_of_them * times)[: 2 * RATE * seconds])


def silence(seconds):
    return wav(bytes(2 * RATE * seconds))


def as_mp3(sound):
    command = ["ffmpeg", "-v", "error", "-i", "-", "-b:a", "48k", "-f", "mp3", "-"]
    return subprocess.run(command, input=sound, capture_output=True, timeout=120, check=True).stdout


def form(file, name="speech.wav", **fields):
    """The body of a request and its Content-Type."""
    boundary = secrets.token_hex(12)
    parts = []
    for field, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{each}\r\n'.encode())
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return b"".join([*parts, head.encode(), file, f"\r\n--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def ask(gateway, file, task="transcriptions", headers=None, **fields):
    """Sends a recording; the reply."""
    body, content_type = form(file, **{"model": "millrace/sphinx-en", **fields})
    return gateway.client.post(f"/v1/audio/{task}", body, headers={"Content-Type": content_type, **(headers or {})})


def submit(gateway, file, **fields):
    """The id of its job."""
    reply = ask(gateway, file, headers={"Prefer": "respond-async"}, **fields)
    assert reply.status == 202, reply.body
    return reply.json()["id"]


def errors(heard, said):
    """Words that are wrong, missing or too many, as a share of those that were said."""
    heard = "".join(c if c.isalnum() or c == "'" else " " for c in heard.lower()).split()
    said = said.lower().split()
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1] / len(said)
