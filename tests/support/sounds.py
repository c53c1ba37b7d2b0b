"""Properties of audio files, by ffprobe."""

import json
import subprocess


def probed(sound):
    """The properties of the only stream of a file, given as bytes: codec_name, sample_rate, channels, …"""
    command = ["ffprobe", "-v", "error", "-show_streams", "-of", "json", "-"]
    result = subprocess.run(command, input=sound, capture_output=True, timeout=30, check=False)
    assert result.returncode == 0 and not result.stderr, result.stderr
    (stream,) = json.loads(result.stdout)["streams"]
    return stream


def decoded(sound, form=None):
    """The samples as 16 kHz 16-bit mono. `form`: the ffmpeg options for a file without a header."""
    options = ["-f", form] if form else []
    command = ["ffmpeg", "-v", "error", *options, "-i", "-", "-f", "s16le", "-ar", "16000", "-ac", "1", "-"]
    result = subprocess.run(command, input=sound, capture_output=True, timeout=30, check=True)
    return result.stdout


def seconds(sound):
    return len(decoded(sound)) / 32_000
