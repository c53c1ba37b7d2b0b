"""Dialogues of Flite's voices and of real speakers, and how many seconds of a transcript have the right speaker."""

import collections

from recordings import CLIPS, RATE, clip, wav
from sounds import decoded

PAUSE = bytes(2 * RATE * 6 // 10)
# Real speakers: the one of the clips, and one who names playing cards.
READER, PLAYER = "reader", "player"
CARDS = CLIPS.parent / "cards"


def sound_of(gateway, voice, text):
    """Samples of 16 kHz. Real speakers say the recording of that number."""
    if voice == READER:
        return decoded(clip(text))
    if voice == PLAYER:
        return decoded((CARDS / f"{text:03}.wav").read_bytes())
    reply = gateway.client.post("/v1/audio/speech", {"model": "millrace/flite", "voice": voice, "input": text, "response_format": "wav"})
    assert reply.status == 200, reply.body[:300]
    return decoded(reply.body)


def dialogue(gateway, lines):
    """A WAV file in which the voices say these lines, [(voice, text)], and who speaks when: [(start, end, voice)]."""
    samples, turns = b"", []
    for voice, text in lines:
        sound = sound_of(gateway, voice, text)
        turns.append((len(samples) / 2 / RATE, (len(samples) + len(sound)) / 2 / RATE, voice))
        samples += sound + PAUSE
    return wav(samples), turns


def right_share(segments, turns, names=None):
    """The share of the segments' time whose speaker is right. Each voice should have a label of its own, the one of most
    of its time, or the name in `names`."""
    time = collections.Counter()
    for segment in segments:
        for start, end, voice in turns:
            time[voice, segment["speaker"]] += max(0, min(end, segment["end"]) - max(start, segment["start"]))
    right, taken = 0, dict(names or {})
    for (voice, speaker), _ in time.most_common():
        if voice not in taken and speaker not in taken.values():
            taken[voice] = speaker
    for (voice, speaker), seconds in time.items():
        right += seconds if taken.get(voice) == speaker else 0
    return right / sum(time.values())
