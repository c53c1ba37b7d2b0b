"""dashboard/markdown.js: the output of OCR and of models, rendered as CommonMark."""

import pytest

SHOWN = """return import('/dashboard/markdown.js').then(({ inline }) => {
  const box = document.createElement('div');
  const began = performance.now();
  box.append(...inline(arguments[0]));
  return [box.innerHTML.replaceAll(/ (rel|target)="[^"]*"/g, ''), performance.now() - began];
})"""


def shown(page, text):
    return page.run(SHOWN, text)[0]


@pytest.mark.parametrize("text", ["*excl. tax *subject to change", "5 *3 *2", "2 **3 **4", "a ~~b ~~c", "a__b__c", "snake_case_name"])
def test_markers_without_a_pair_stay_unchanged(page, text):
    assert shown(page, text) == text


@pytest.mark.parametrize(("text", "html"), [
    ("a *b* **c** _d_ __e__ ~~f~~ `g`", "a <em>b</em> <strong>c</strong> <em>d</em> <strong>e</strong> <s>f</s> <code>g</code>"),
    (r"\*a* \_b_ \`c` \[d](https://e)", "*a* _b_ `c` [d](<a href=\"https://e\">https://e</a>)"),
    ("see [the mill](https://mill.example/a)", 'see <a href="https://mill.example/a">the mill</a>'),
])
def test_markers_in_pairs_and_escaped_ones(page, text, html):
    assert shown(page, text) == html


@pytest.mark.parametrize(("text", "address"), [
    (r"https://en.wikipedia.org/wiki/Mercury\_(planet)\_data", "https://en.wikipedia.org/wiki/Mercury_(planet)_data"),
    ("<https://mill.example/a>", "https://mill.example/a"),
])
def test_an_address_is_a_link_to_its_target(page, text, address):
    assert shown(page, text) == f'<a href="{address}">{address}</a>'


def test_a_sentence_ends_after_its_address(page):
    assert shown(page, "(see https://mill.example/a).") == '(see <a href="https://mill.example/a">https://mill.example/a</a>).'


@pytest.mark.parametrize("text", [
    "[" * 4900 + "](x", r"\[" * 4900 + r"\](x", "![" * 4900 + "](x", "**a" * 3300, "_a " * 3300, "<https://" * 1100, "https://(" * 1100, "`" * 9999, r"\*" * 4990])
def test_no_line_keeps_the_browser_busy(page, text):
    assert page.run(SHOWN, text)[1] < 2000, "milliseconds"
