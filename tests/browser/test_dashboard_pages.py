"""dashboard/page_join.js: the pages of a document as one text; tests/unit/cli/page_join_test.cpp has the rules."""

import pytest

JOINED = """return import('/dashboard/page_join.js').then(({ joinedPages }) => joinedPages(arguments[0].map((markdown, index) => ({ index, markdown }))))"""


@pytest.mark.parametrize("texts", [
    ["Annual report\n\na\n\nACME Corp", "Annual report\n\nb\n\nACME Corp", "Annual report\n\nc\n\nACME Corp"],
    ["One\n\nTwo, page 1\n\na\n\nPage 1 of 3", "One\n\nTwo, page 2\n\nb\n\nPage 2 of 3", "One\n\nTwo, page 3\n\nc\n\nPage 3 of 3"],
    ["- 1 -\n\na\n\n1 / 3", "- 2 -\n\nb\n\n2 / 3", "- 3 -\n\nc\n\n3 / 3"]])
def test_running_heads_and_feet_are_left_out(page, texts):
    assert page.run(JOINED, texts) == "a\n\nb\n\nc"


@pytest.mark.parametrize("texts", [
    ["Annual report\n\na", "Annual report\n\nb"], ["a\n\nTotal: 100 EUR", "b\n\nTotal: 250 EUR", "c\n\nTotal: 90 EUR"],
    ["a\n\nTotal: 9.50 EUR", "b\n\nTotal: 9.50 EUR", "c\n\nTotal: 9.50 EUR"], ["# Invoice\n\na", "# Invoice\n\nb", "# Invoice\n\nc"],
    ["a\n\n12", "b\n\n12", "c\n\n12"], ["Same", "Same", "Same"],
    ["Question 1\n\na", "Question 2\n\nb", "Question 3\n\nc"], ["a\n\nSignature: ____", "b\n\nSignature: ____", "c\n\nSignature: ____"],
    ["Head\n\na", "b", "Head\n\nc", "d", "e", "f", "Head\n\ng", "h", "i", "j", "k", "l"], ["a\n\n- yes", "b\n\n- yes", "c\n\n- yes"]])
def test_what_only_looks_alike_stays(page, texts):
    assert page.run(JOINED, texts) == "\n\n".join(texts)
