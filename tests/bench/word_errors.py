"""Word errors of transcripts. The same rules hold for all engines, so that spelling is not counted as an error."""

import re

from recordings import errors

ONES = "zero one two three four five six seven eight nine".split()
TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
# Of the texts that the bench uses: an abbreviation, and American and British spelling.
SPELLINGS = {"mr": "mister", "meters": "metres", "neighbor": "neighbour", "neighbors": "neighbours"}


def _with_digits(tokens):
    """Number words below a hundred as their digits: ten → 1 0, twenty five → 2 5."""
    out, tens_before = [], False
    for token in tokens:
        if tens_before and token in ONES[1:]:
            out[-1] = str(ONES.index(token))
        elif token in ONES:
            out.append(str(ONES.index(token)))
        elif token in TEENS:
            out += ["1", str(TEENS.index(token))]
        elif token in TENS:
            out += [str(TENS.index(token) + 2), "0"]
        else:
            out += token if token.isdigit() else [token]
        tens_before = token in TENS
    return out


def words(text):
    """The words that are compared: lower case, no punctuation, a hyphen parts words, and numbers digit by digit ("10" = "ten",
    "2-9-340" = "two nine three four zero")."""
    tokens = re.findall(r"[a-z]+(?:'[a-z]+)*|\d+", text.lower().replace("’", "'"))
    return _with_digits([SPELLINGS.get(token, token) for token in tokens])


def word_errors(recognized, reference):
    """Wrong, missing and additional words, and the words of the reference."""
    expected = words(reference)
    return round(errors(" ".join(words(recognized)), " ".join(expected)) * len(expected)), len(expected)
