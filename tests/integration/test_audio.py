"""Uploads of recordings: every accepted format, and refused files, which leave nothing on the disk."""

import io
import secrets
import socket
import struct
import subprocess
import time
import wave

import pytest
from millrace import Gateway, eventually
from recordings import SAID, clip, errors, form, transcribe

WRONG_AT_MOST = 0.5
HOUR_S = 3600


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("audio") / "data").start()
    gateway.blobs = gateway.data / "blobs"
    yield gateway
    gateway.close()


def made(sound, *options, to="-", suffix="wav", folder=None):
    """Converts audio with ffmpeg."""
    target = folder / f"made.{suffix}" if folder else to
    command = ["ffmpeg", "-v", "error", "-y", "-i", "-", *options, str(target)]
    result = subprocess.run(command, input=sound, capture_output=True, timeout=120, check=True)
    return target.read_bytes() if folder else result.stdout


FORMATS = {
    "flac": [],
    "mp3": [],
    "mp4": ["-c:a", "aac"],
    "mpeg": ["-f", "mpeg"],
    "mpga": ["-f", "mp3"],
    "m4a": ["-c:a", "aac"],
    "ogg": ["-c:a", "libvorbis"],
    "wav": ["-c:a", "pcm_s24le"],
    "webm": ["-c:a", "libopus"],
}


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_is_accepted_whatever_the_file_name(shared, tmp_path, suffix):
    sound = made(clip(4), *FORMATS[suffix], suffix=suffix, folder=tmp_path)
    body, content_type = form(sound, "notes.txt", model="whisper-1")
    reply = shared.client.post("/v1/audio/transcriptions", body, headers={"Content-Type": content_type})
    assert reply.status == 200, reply.body
    assert errors(reply.json()["text"], SAID[4]) <= WRONG_AT_MOST, reply.body


def files(gateway):
    return sorted(path for path in gateway.blobs.rglob("*") if path.is_file())


def assert_nothing_new(gateway, before):
    eventually(lambda: set(files(gateway)) <= set(before), within_s=10, what="no new file left")


def assert_its_recording_alone(gateway, before):
    """The file of a job is kept for its retry, or until the next maintenance if it is bad; nothing else is kept."""
    eventually(lambda: len(set(files(gateway)) - set(before)) <= 1, within_s=10, what="no other file left")


def refusal(reply):
    return f"{reply.status} {reply.json()['error']['code']}"


def tone(rate=16_000, channels=1, frames=16_000, width=2):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(bytes(width * channels * frames))
    return out.getvalue()


REFUSED = {
    "empty": (b"", "422 audio_empty"),
    "text": (b"This is not a recording.\n" * 1000, "422 audio_unsupported"),
    "m3u": (b"#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n", "422 audio_unsupported"),
    "pls": (b"[playlist]\nFile1=/etc/passwd\nNumberOfEntries=1\n", "422 audio_unsupported"),
    "concat": (b"ffconcat version 1.0\nfile '/etc/passwd'\n", "422 audio_unsupported"),
    "hls": (b"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10.0,\n/etc/passwd\n#EXT-X-ENDLIST\n", "422 audio_unsupported"),
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "422 audio_unsupported"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_no_recording_is_refused_before_a_job_is_made(shared, name):
    content, expected = REFUSED[name]
    before = files(shared)
    reply = transcribe(shared, content)
    assert refusal(reply) == expected, reply.body
    assert_nothing_new(shared, before)


def silent_video(folder):
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "color=size=64x64:duration=2", str(folder / "silent.mp4")]
    subprocess.run(command, timeout=60, check=True)
    return (folder / "silent.mp4").read_bytes()


def hours_of_silence(folder):
    """25 hours in less than a megabyte."""
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono:n=65535", "-t", str(25 * HOUR_S)]
    command += ["-compression_level", "0", "-frame_size", "65535", str(folder / "long.flac")]
    subprocess.run(command, timeout=300, check=True)
    return (folder / "long.flac").read_bytes()


def test_a_video_without_sound_is_an_error_that_names_the_reason(shared, tmp_path):
    before = files(shared)
    reply = transcribe(shared, silent_video(tmp_path))
    assert refusal(reply) == "422 audio_damaged", reply.body
    assert "no audio track" in reply.json()["error"]["message"]
    assert_its_recording_alone(shared, before)


def test_a_day_of_silence_is_refused_at_once(shared, tmp_path):
    before, sound = files(shared), hours_of_silence(tmp_path)
    begin = time.monotonic()
    reply = transcribe(shared, sound)
    assert refusal(reply) == "422 audio_too_long", reply.body
    assert time.monotonic() - begin < 20 and len(sound) < 1 << 20
    assert_its_recording_alone(shared, before)


def wav_header(rate, channels, data):
    """A WAV file with an unusual header."""
    per_frame, per_second = channels * 2 & 0xFFFF, rate * channels * 2 & 0xFFFFFFFF
    shape = struct.pack("<HHIIHH", 1, channels, rate, per_second, per_frame, 16)
    head = struct.pack("<4sI4s4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16) + shape
    return head + struct.pack("<4sI", b"data", len(data)) + data


@pytest.mark.parametrize(
    "sound",
    [
        wav_header(1, 1, bytes(400)),
        wav_header(768_000, 1, bytes(1_536_000)),
        wav_header(16_000, 64, bytes(2 * 64 * 16_000)),
        wav_header(0, 1, bytes(400)),
        wav_header(4_294_967_295, 65_535, bytes(400)),
    ],
    ids=["1 Hz", "768 kHz", "64 channels", "0 Hz", "all ones"],
)
def test_odd_rates_and_channels_are_transcribed_or_refused(shared, sound):
    before = files(shared)
    reply = transcribe(shared, sound)
    assert reply.status == 200 or refusal(reply).startswith("422 audio_"), reply.body
    assert_its_recording_alone(shared, before)


@pytest.mark.parametrize("suffix", ["flac", "mp3", "m4a", "ogg", "webm"])
def test_a_truncated_recording_is_refused_but_a_truncated_stream_format_is_transcribed(shared, tmp_path, suffix):
    sound = made(clip(4), *FORMATS[suffix], suffix=suffix, folder=tmp_path)
    for share in (0.02, 0.6):
        before = files(shared)
        reply = transcribe(shared, sound[: max(16, int(len(sound) * share))])
        accepted = suffix == "ogg" and reply.status == 200  # the header of a stream format has no length
        assert accepted or refusal(reply).startswith("422 audio_"), reply.body
        assert_its_recording_alone(shared, before)


def request_head(gateway, content_type, length, path="/v1/audio/transcriptions"):
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {gateway.client.key}", f"Content-Type: {content_type}"]
    lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def connect(gateway):
    address = gateway.client.address
    return socket.create_connection((address.hostname, address.port), timeout=60)


def test_an_upload_above_25_megabytes_is_refused_while_it_is_received(shared):
    before = files(shared)
    _, content_type = form(b"")
    boundary = content_type.split("=")[1]
    opening = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'.encode() + tone()

    def chunks():
        for piece in [opening] + [bytes(1 << 16)] * 600:  # more than the limit of the body, 32 MiB
            yield f"{len(piece):x}\r\n".encode() + piece + b"\r\n"

    with connect(shared) as client:
        client.sendall(request_head(shared, content_type, None))
        try:
            for chunk in chunks():
                client.sendall(chunk)
        except OSError:
            pass
        assert client.recv(65536).startswith(b"HTTP/1.1 413 ")
    assert_nothing_new(shared, before)


def test_a_boundary_that_is_never_closed_is_named(shared):
    before = files(shared)
    body, content_type = form(clip(4), model="whisper-1")
    reply = shared.client.post("/v1/audio/transcriptions", body[:-50], headers={"Content-Type": content_type})
    assert reply.status == 400 and "boundary" in reply.json()["error"]["message"], reply.body
    assert_nothing_new(shared, before)


def test_a_boundary_within_the_recording_is_part_of_it(shared):
    boundary = secrets.token_hex(8)
    sound = clip(4) + f"\r\n--{boundary}and more\r\n--{boundary[:-1]}\r\n".encode()
    parts = b"".join(
        [
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'.encode() + sound,
            f'\r\n--{boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1'.encode(),
            f"\r\n--{boundary}--\r\n".encode(),
        ]
    )
    headers = {"Content-Type": f'multipart/form-data; boundary="{boundary}"'}
    reply = shared.client.post("/v1/audio/transcriptions", parts, headers=headers)
    assert reply.status == 200 and errors(reply.json()["text"], SAID[4]) <= WRONG_AT_MOST, reply.body


def test_two_files_no_file_and_a_huge_field_are_named(shared):
    before = files(shared)
    body, content_type = form(clip(4), model="whisper-1")
    boundary = content_type.split("=")[1].encode()
    end, file = b"--" + boundary + b"--\r\n", body.rindex(b"--" + boundary + b"\r\n")
    twice = body[: -len(end)] + body[file:]
    none = b'--%b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--%b--\r\n' % (boundary, boundary)
    for content, field, text in ((twice, "file", "more than one file"), (none, "file", "required")):
        reply = shared.client.post("/v1/audio/transcriptions", content, headers={"Content-Type": content_type})
        assert reply.status == 422, reply.body
        problem = reply.json()["detail"][0]
        assert problem["loc"] == ["body", field] and text in problem["msg"]
    reply = transcribe(shared, clip(4), prompt="x" * (1 << 20))
    assert reply.status == 422 and reply.json()["detail"][0]["ctx"] == {"max_length": 65536}, reply.body
    assert_nothing_new(shared, before)


def test_a_client_that_leaves_leaves_nothing(shared):
    before = files(shared)
    body, content_type = form(tone(frames=2_000_000), model="whisper-1")
    with connect(shared) as client:
        client.sendall(request_head(shared, content_type, len(body)) + body[: len(body) // 2])
        eventually(lambda: files(shared) != before, within_s=10, what="a file")
    assert_nothing_new(shared, before)


def test_a_kill_in_the_middle_of_an_upload_makes_no_job(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    gateway.blobs = gateway.data / "blobs"
    try:
        body, content_type = form(tone(frames=2_000_000), model="whisper-1")
        with connect(gateway) as client:
            client.sendall(request_head(gateway, content_type, len(body)) + body[: len(body) // 2])
            eventually(lambda: files(gateway), within_s=10, what="a file")
            gateway.kill()
        gateway.restart()
        assert gateway.client.get("/v1/jobs").json()["items"] == []
    finally:
        gateway.close()


def test_the_validation_error_of_a_translation_has_the_shape_of_the_spec(shared):
    reply = transcribe(shared, clip(4), task="translations", temperature="1.5")
    assert reply.status == 422
    assert reply.json()["detail"] == [
        {
            "loc": ["body", "temperature"],
            "msg": "Input should be less than or equal to 1",
            "type": "less_than_equal",
            "input": 1.5,
            "ctx": {"le": 1},
        }
    ]
