"""POST /v1/ocr: text layers that are no language are noticed and recognised from the picture."""

import pytest
from documents import data_uri, misread_pdf
from millrace import Gateway

GARBLED = [
    "~All rights are reserved by the owner of this work and",
    "~nothing of it may be copied without a written leave of",
    "~the mill, which was built in the year 1893 by the river.",
]
SOUND = ["The text of this paragraph has sound letters, and no word", "of it is recognised: Qrlx-4711 Zvw-0815 stay as they are."]
WHOLE = " ".join(line[1:] for line in GARBLED)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("unreadable") / "data").start()
    yield gateway
    gateway.close()


def page_of(gateway, document):
    reply = gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(document)}})
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0]


MEANINGS = {
    "moved down": lambda code: max(code - 29, 1),
    "moved up": lambda code: code + 1,
    "private use": lambda code: 0xE000 + code,
    "unknown": lambda _: 0xFFFD,
}


@pytest.mark.parametrize("meaning", MEANINGS.values(), ids=MEANINGS.keys())
def test_a_page_that_is_no_language_is_recognised(shared, meaning):
    page = page_of(shared, misread_pdf(GARBLED, meaning))
    assert " ".join(page["markdown"].split()) == WHOLE
    assert "warnings" not in page


@pytest.mark.parametrize("meaning", MEANINGS.values(), ids=MEANINGS.keys())
def test_sound_text_beside_it_is_kept(shared, meaning):
    text = " ".join(page_of(shared, misread_pdf([*SOUND, "", "", *GARBLED], meaning))["markdown"].split())
    assert text == " ".join([*SOUND, WHOLE])


def test_a_garbled_line_among_sound_ones_is_recognised_in_its_place(shared):
    lines = [SOUND[0], GARBLED[0], SOUND[1]]
    text = " ".join(page_of(shared, misread_pdf(lines, MEANINGS["moved down"]))["markdown"].split())
    assert text == " ".join([SOUND[0], GARBLED[0][1:], SOUND[1]])


def test_a_single_word_with_lost_letters_is_recognised(shared):
    def meaning(code):
        return 0xE001 if chr(code) in "fw" else code

    page = page_of(shared, misread_pdf([SOUND[0], "~The definition flowers below", SOUND[1]], meaning))
    assert " ".join(page["markdown"].split()) == " ".join([SOUND[0], "The definition flowers below", SOUND[1]])


def test_code_and_numbers_are_left_alone(shared):
    lines = ["BX-2304-KLM  QRT-118  ZZK-90021  WVX-7 LHR JFK CDG", "for (int i = 0; i < n; ++i) xs[i] = f(i, &q);", "ACGTTGCA GGCATTAC CATGGTAC TTAGCCAG"]
    page = page_of(shared, misread_pdf([line.replace("  ", " ") for line in lines], MEANINGS["unknown"]))
    plain = page["markdown"].replace("\\", "")
    assert all(word in plain for line in lines for word in line.split()), page["markdown"]


def test_a_picture_that_shows_few_of_the_words_keeps_the_text_and_says_so(shared):
    lines = [*SOUND, "", "", "~All rights are reserved", *GARBLED[1:], *GARBLED[1:]]
    page = page_of(shared, misread_pdf(lines, MEANINGS["moved down"], hidden=GARBLED))
    plain = page["markdown"].replace("\\", "")
    assert "".join(chr(ord(letter) - 29) for letter in "mill") in plain, page["markdown"]
    assert [warning["code"] for warning in page["warnings"]] == ["unsure"]


def test_a_picture_that_shows_nothing_keeps_the_text_and_says_so(shared):
    page = page_of(shared, misread_pdf([*SOUND, "", "", *GARBLED], MEANINGS["moved down"], visible=False))
    assert SOUND[0] in page["markdown"]
    assert [warning["code"] for warning in page["warnings"]] == ["unsure"]
