"""The bench counts errors of recognition, not of spelling, and judges the figure that the goal is for."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

import pytest
from report import Result
from word_errors import word_errors, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10 of clubs", "Ten of clubs."),
        ("2-9-340", "two nine three four zero"),
        ("Mr. Dashwood", "mister dashwood"),
        ("rather cold-hearted", "rather cold hearted"),
        ("twenty-five, thirty", "25 30"),
        ("Her neighbors’ hay", "her neighbors' hay"),
        ("the old neighbors", "The old neighbours"),
        ("ten metres", "10 meters"),
    ],
)
def test_spellings_of_the_same_words_are_equal(one, other):
    assert words(one) == words(other)
    assert word_errors(one, other)[0] == 0


@pytest.mark.parametrize(
    ("recognized", "reference", "wrong"),
    [
        ("ten of clothes", "ten of clubs", 1),
        ("of clubs", "ten of clubs", 2),  # both digits of 10
        ("four queen of of clubs", "four queen of clubs", 1),
        ("", "he was not", 3),
        ("he can't", "he can", 1),
        ("fifty", "fifteen", 2),
    ],
)
def test_other_words_are_errors(recognized, reference, wrong):
    assert word_errors(recognized, reference)[0] == wrong


def test_an_absolute_goal_holds_for_our_figure_and_not_for_the_ratio_to_the_peer():
    ours, peer = [4.0], [40.0]
    by_ratio = Result(19, "words wrong", "%", ours, "peer", peer, most=3)
    absolute = Result(19, "words wrong", "%", ours, "peer", peer, most=3, absolute=True)
    assert (by_ratio.goal(), by_ratio.verdict()) == ("≤ 3 ×", "met")
    assert (absolute.goal(), absolute.verdict()) == ("≤ 3 %", "NOT MET")
