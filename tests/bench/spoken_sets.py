"""The recordings of row 19, with their texts: real speech, a bad line, speech of flite cut at any length, an hour."""

import array
import json
import math
import random
import re
import subprocess
import wave

from millrace import BUILD
from recordings import CLIPS, RATE, SAID, wav
from spoken import STORY, VOICES

SEED = 29
CARDS = CLIPS.parent / "cards"
CARDS_SAID = ["ten of clubs", "four queen of clubs", "seven of clubs", "five five", "eight of spades four of clubs seven of hearts"]
# The raw files whose text the package states, in a grammar or by the name of the file.
RAW_SAID = {"goforward.raw": "go forward ten meters", "tidigits/dhd.2934z.raw": "two nine three four zero"}
CUT_S = (5.0, 28.0)  # the lengths of the cuts of synthetic speech
CUT_PAD_S = 0.15  # of silence around a cut
LINE_NOISE, STRONG_NOISE = 262, 655  # amplitude of the white noise of a bad line: 0.8 and 2 % of the full scale
HOUR_S = 3600
HOUR_PAUSE_S = (0.3, 1.8)
HOUR_NOISE = (2, 120)  # amplitude, from one clip to the next


def _samples(path):
    with wave.open(str(path)) as clip:
        return clip.readframes(clip.getnframes())


def silence(seconds):
    return bytes(2 * int(RATE * seconds))


def real_clips():
    """Samples and text of each recording of real speech in Debian's pocketsphinx-testdata: chapters, cards, commands."""
    chapters, cards = sorted(CLIPS.glob("*.wav")), sorted(CARDS.glob("*.wav"))
    assert (len(chapters), len(cards)) == (len(SAID), len(CARDS_SAID)), f"{CLIPS.parent} has other recordings"
    raw = [((CLIPS.parent / name).read_bytes(), text) for name, text in RAW_SAID.items()]
    return [(_samples(path), text) for path, text in zip(chapters + cards, SAID + CARDS_SAID)] + raw


def chapters():
    return real_clips()[: len(SAID)]


def joined(clips, times, pause_s):
    """One recording of the clips, with pauses."""
    samples = silence(pause_s).join([samples for samples, _ in clips] * times)
    return samples, " ".join([text for _, text in clips] * times)


def with_noise(samples, amplitude, rng):
    """Adds white noise, the same in each run."""
    sounds = array.array("h", samples)
    noise = array.array("b", rng.randbytes(len(sounds)))
    noisy = [sound + (unit * amplitude >> 7) for sound, unit in zip(sounds, noise)]
    return array.array("h", [max(-32768, min(32767, sound)) for sound in noisy]).tobytes()


def _ffmpeg(sound, *options):
    command = ["ffmpeg", "-v", "error", *options, "-"]
    return subprocess.run(command, input=sound, capture_output=True, timeout=600, check=True).stdout


def through_bad_line(samples, amplitude, rng):
    """8 kHz, GSM full rate, then white noise."""
    pcm = ["-f", "s16le", "-ar", str(RATE), "-ac", "1"]
    coded = _ffmpeg(samples, *pcm, "-i", "-", "-ar", "8000", "-c:a", "libgsm", "-f", "gsm")
    return with_noise(_ffmpeg(coded, "-f", "gsm", "-i", "-", *pcm), amplitude, rng)


def as_mp3(samples):
    return _ffmpeg(samples, "-f", "s16le", "-ar", str(RATE), "-ac", "1", "-i", "-", "-b:a", "48k", "-f", "mp3")


class TimedStory:
    """The story spoken by one of flite's voices; the words and the synthesiser's own times of them."""

    def __init__(self, folder, voice):
        sentences = "\n".join(sentence.strip() for sentence in re.findall(r"[^.]+\.", STORY))
        path = folder / f"story-{voice}.raw"
        command = [BUILD / "bench_timed", voice, path]
        done = subprocess.run(command, input=sentences, capture_output=True, text=True, timeout=120, check=True)
        self.samples, self.words, self.times = path.read_bytes(), STORY.split(), json.loads(done.stdout)
        assert len(self.words) == len(self.times), (len(self.words), len(self.times))

    def cuts(self, rng):
        """Cuts the story at ends of words into lengths from 5 to 28 s, evenly distributed."""
        first, out = 0, []
        while first < len(self.words):
            last = self._end_of_cut(first, rng.uniform(*CUT_S))
            out.append((self._between(first, last), " ".join(self.words[first:last])))
            first = last
        return out

    def _end_of_cut(self, first, length_s):
        """The word after a cut of this length. The rest of the story is not left shorter than a cut may be."""
        begin_s, end_s = self.times[first][0], self.times[-1][1]
        if end_s - begin_s - length_s < CUT_S[0]:
            length_s = end_s - begin_s if end_s - begin_s <= CUT_S[1] else length_s - CUT_S[0]
        last = first + 1
        while last < len(self.words) and self.times[last][1] <= begin_s + length_s:
            last += 1
        return last

    def _between(self, first, last):
        """The sound of these words. A cut is in the middle between the two words beside it."""
        begin = self.times[first][0] if first == 0 else (self.times[first - 1][1] + self.times[first][0]) / 2
        end = self.times[last - 1][1] if last == len(self.times) else (self.times[last - 1][1] + self.times[last][0]) / 2
        sound = self.samples[2 * int(RATE * begin) : 2 * math.ceil(RATE * end)]
        return silence(CUT_PAD_S) + sound + silence(CUT_PAD_S)


class RecordingSet:
    """Recordings of one kind, as files, with their texts."""

    def __init__(self, folder, name, clips):
        self.files = []
        for number, (samples, text) in enumerate(clips):
            path = folder / f"{name}-{number}.wav"
            path.write_bytes(wav(samples))
            self.files.append((path, text))
        self.seconds = sum(len(samples) for samples, _ in clips) / (2 * RATE)


def stories(folder):
    return [TimedStory(folder, voice) for voice in VOICES]


def recording_sets(folder, spoken, passes):
    """The kinds. `passes`: how often each of `spoken` is cut, at other lengths each time."""
    real, rng = real_clips(), random.Random(SEED)

    def over_line(amplitude):
        return [(through_bad_line(samples, amplitude, rng), text) for samples, text in [*real, (spoken[0].samples, STORY)]]

    cuts = [cut for _ in range(passes) for story in spoken for cut in story.cuts(rng)]
    return {
        "real": RecordingSet(folder, "real", real),
        "long": RecordingSet(folder, "long", [joined(chapters(), 6, 1.0)]),
        "bad": RecordingSet(folder, "bad", over_line(LINE_NOISE)),
        "worse": RecordingSet(folder, "worse", over_line(STRONG_NOISE)),
        "synthetic": RecordingSet(folder, "synthetic", cuts),
    }


def hour():
    """An hour of the chapters with pauses of several lengths and noise of a changing level; samples and text."""
    clips, rng = chapters(), random.Random(SEED)
    parts, texts, length = [], [], 0
    while length < 2 * RATE * HOUR_S:
        samples, text = clips[len(texts) % len(clips)]
        part = with_noise(samples + silence(rng.uniform(*HOUR_PAUSE_S)), rng.randint(*HOUR_NOISE), rng)
        parts.append(part)
        texts.append(text)
        length += len(part)
    return b"".join(parts), " ".join(texts)
