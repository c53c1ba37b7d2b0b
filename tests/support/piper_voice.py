"""A small voice in sherpa-onnx's layout of Piper voices, whose sound says which phonemes it got.

Each token of the model's input is 50 ms of a tone, and the tone's amplitude is token / 200, times the speaker + 1.
"""

import array
import math
import struct

from onnx_file import FLOAT, INT64, model, node, tensor

RATE = 16_000
TOKEN_SAMPLES = RATE // 20
OUT_TOKEN_SAMPLES = 24_000 // 20
SYMBOLS = "_^$ ,.;:!?abcdefhijklmnopqrstuvwxyzæðŋɑɔəɚɛɜɡɪɹʃʊʌʒθˈː"
META = {"model_type": "vits", "comment": "piper", "language": "English", "voice": "en-us", "has_espeak": "1", "n_speakers": "1"}


def onnx(meta):
    tone = [math.sin(2 * math.pi * 440 * at / RATE) / 200 for at in range(TOKEN_SAMPLES)]
    nodes = [
        node("Cast", ["input"], "tokens", to=FLOAT),
        node("Reshape", ["tokens", "column"], "tall"),
        node("Mul", ["tall", "tone"], "tones"),
        node("Cast", ["sid"], "speaker", to=FLOAT),
        node("Add", ["speaker", "one"], "gain"),
        node("Mul", ["tones", "gain"], "loud"),
        node("Reshape", ["loud", "row"], "output"),
    ]
    constants = [
        tensor("tone", FLOAT, [1, TOKEN_SAMPLES], struct.pack(f"<{TOKEN_SAMPLES}f", *tone)),
        tensor("one", FLOAT, [1], struct.pack("<f", 1)),
        tensor("column", INT64, [2], struct.pack("<2q", -1, 1)),
        tensor("row", INT64, [4], struct.pack("<4q", 1, 1, 1, -1)),
    ]
    inputs = [("input", INT64, [1, "n"]), ("input_lengths", INT64, [1]), ("scales", FLOAT, [3]), ("sid", INT64, [1])]
    return model(nodes, constants, inputs, ("output", FLOAT, [1, 1, 1, "samples"]), meta)


def make_voice(folder, lexicon=None, **meta):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "voice.onnx").write_bytes(onnx({**META, "sample_rate": str(RATE), **meta}))
    (folder / "tokens.txt").write_text("".join(f"{symbol} {index}\n" for index, symbol in enumerate(SYMBOLS)))
    if lexicon is not None:
        (folder / "lexicon.txt").write_text(lexicon)
    return folder


def heard(pcm, speaker=0):
    """The phonemes of each sentence in the sound, without the padding between them."""
    samples = array.array("h", pcm)
    tokens = []
    for at in range(0, len(samples) - OUT_TOKEN_SAMPLES + 1, OUT_TOKEN_SAMPLES):
        middle = samples[at + 200 : at + OUT_TOKEN_SAMPLES - 200]
        tokens.append(round(max(middle) / 32_767 * 200 / (speaker + 1)))
    text = "".join(SYMBOLS[token] for token in tokens)
    return [sentence.split("$")[0].replace("_", "") for sentence in text.split("^")[1:]]
