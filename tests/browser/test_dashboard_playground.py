"""The playground: a chat with a model, its stream, its tools."""

from dashboard import ENTER, go


def test_a_chat_is_streamed_as_a_conversation(page, site):
    go(page, site, "playground")
    page.type(".compose textarea", "The **race** runs" + ENTER)
    page.wait_for(".bubble.user", "The **race** runs")
    page.wait_for(".bubble.assistant strong", "race")
    page.wait_for("[role=status]", "first token after")
    page.wait_for(".code", "/v1/chat/completions")


def test_a_mock_model_is_marked_as_an_echo_when_it_is_chosen_and_after_its_response(page, site):
    go(page, site, "playground")
    page.wait_for("#model-note", "mock/chat is an echo")
    page.wait_for("#model-note code", "OPENAI_API_KEY=… millrace serve")
    page.type(".compose textarea", "Are you there?" + ENTER)
    page.wait_for("[role=status]", "an echo; to use a real model: ")
    assert "OPENAI_API_KEY" in page.run("return document.querySelector('.chat-panel [role=status]').textContent")


DROPPED = r"""
  const real = window.fetch;
  const body = 'data: {"choices": [{"delta": {"content": "yes"}}], "dropped_params": "guardrails"}\n\ndata: [DONE]\n\n';
  window.fetch = (url, options) => {
    if (!String(url).includes("/chat/completions")) return real(url, options);
    window.fetch = real;
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };"""


def test_parameters_that_only_the_end_of_a_stream_reports_as_dropped_are_shown(page, site):
    go(page, site, "playground")
    page.run(DROPPED)
    page.type(".compose textarea", "Guard it" + ENTER)
    page.wait_for("[role=status]", "dropped: guardrails")


def test_a_model_calls_a_tool_and_continues_with_the_result_from_its_caller(page, site):
    go(page, site, "playground")
    page.click("summary", "Tools")
    page.type("textarea.mono", '[{"type": "function", "function": {"name": "weather"}}]')
    page.wait_for(".code", '"weather"')
    page.type(".compose textarea", "Use weather now" + ENTER)
    page.wait_for(".bubble.assistant summary", "Calls weather")
    page.type(".tool-results textarea", "it rains")
    page.click(".tool-results button", "Send the result")
    page.eventually(lambda: page.run("return document.querySelectorAll('.bubble.assistant').length") == 2)
    page.wait_for("[role=status]", "first token after")


def test_tools_that_are_no_list_are_named_before_anything_is_sent(page, site):
    go(page, site, "playground")
    page.run("document.querySelectorAll('main details').forEach((d) => { d.open = true })")
    page.type("textarea.mono", "{", clear=True)
    page.wait_for("small.problem", "not a list of tools")


def test_markup_in_a_models_response_stays_text(page, site):
    go(page, site, "playground")
    page.type(".compose textarea", "<img src=x onerror=alert(1)> [link](javascript:alert(1))" + ENTER)
    page.wait_for(".bubble.assistant", "<img src=x")
    assert page.run("return document.querySelectorAll('.bubble img, .bubble a').length") == 0


def test_a_model_is_found_by_its_name_and_tried_with_a_first_question(page, site):
    go(page, site, "models")
    page.type("input[type=search]", "mock/ch")
    page.eventually(lambda: page.run("return document.querySelectorAll('tbody tr').length") == 1)
    page.wait_for("tbody .chip", "closed")
    page.click("tbody a", "mock/chat")
    page.wait_for("h1", "Playground")
    assert page.run("return document.querySelector('select').value") == "mock/chat"
    page.click("button", "New conversation")
    page.click(".empty button", "Why is the sky blue?")
    page.wait_for(".bubble.user", "Why is the sky blue?")
    page.wait_for(".bubble.assistant", "Why is the sky blue?")
