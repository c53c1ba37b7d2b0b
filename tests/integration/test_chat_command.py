"""`millrace chat` and `millrace models` against a running gateway: with pipes, and at a terminal."""

import base64
import contextlib
import json
import re
import signal
import subprocess
import threading

import openai_words
import pytest
from commands import MILLRACE, cli, environment, on_terminal
from millrace import Gateway, eventually
from sandboxed import reachable_folder, skip_without_namespaces
from upstream import sse_reply

PIXEL = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """With the product's own models; one of them chats."""
    gateway = Gateway(tmp_path_factory.mktemp("chat") / "data", env={"MILLRACE_MOCK": "true"}).start()
    yield gateway
    gateway.close()


@pytest.fixture
def behind(tmp_path, upstream):
    """A gateway with the models `mine` and `capped`, which `upstream` answers for."""
    key = tmp_path / "key"
    key.write_text("sk-0123456789\n")
    rows = "".join(
        f"- {{name: {name}, provider: {provider}, base_url: '{upstream.url}/v1', api_key: 'file:{key}'}}\n"
        for name, provider in (("mine", "openai"), ("capped", "mistral"))
    )
    (tmp_path / "c.yaml").write_text(f"models:\n{rows}")
    gateway = Gateway(tmp_path / "data", "--config", tmp_path / "c.yaml", "--chat.tries", "1").start()
    yield gateway
    gateway.close()


@contextlib.contextmanager
def commands_to_try(data, env=()):
    """What a start that is asked for them says."""
    gateway = Gateway(data, env={**dict(env), "MILLRACE_TRY": "1"}).start()
    try:
        yield eventually(lambda: "/admin.key\n\n" in (text := gateway.log.read_text()) and text, what="the last line")
    finally:
        gateway.close()


def chat(gateway, *words, **kwargs):
    return cli(gateway, "chat", *words, **kwargs)


def names(said):
    return re.findall(r"^  \S+ (\w+) .*", said, re.M)


@pytest.mark.parametrize("mock", ["true", "false"])
def test_a_start_that_is_asked_for_commands_to_try_has_one_that_chats_where_a_model_does(tmp_path, mock):
    with commands_to_try(tmp_path / "data", {"MILLRACE_MOCK": mock}) as said:
        line = re.search(r"^  \S+ chat --url (\S+) --data (\S+) -m mock/chat Hello$", said, re.M)
        assert (line is not None) == (mock == "true"), said
        assert [name for name in names(said) if name != "exec"] == (["ocr", "chat"] if mock == "true" else ["ocr"])


def test_a_start_that_is_asked_for_commands_to_try_has_one_that_runs_a_command_where_this_host_does():
    skip_without_namespaces("no command to try is offered")
    with reachable_folder() as folder, commands_to_try(folder / "data") as said:
        assert names(said) == ["ocr", "exec"]


def test_a_start_that_is_asked_for_commands_to_try_has_none_that_runs_a_command_where_none_runs(tmp_path):
    with commands_to_try(tmp_path / "data", {"PATH": "/nowhere"}) as said:
        assert names(said) == ["ocr"]


def test_a_message_is_words_or_standard_input_or_both(shared):
    assert chat(shared, "one", "two").stdout == "one two\n"
    assert chat(shared, input="from a pipe\n").stdout == "from a pipe\n"
    done = chat(shared, "say:", "-", input="piped")
    assert (done.returncode, done.stdout, done.stderr) == (0, "say: piped\n", "")


def test_without_a_message_nothing_is_asked(shared):
    done = chat(shared, input="\n")
    assert (done.returncode, done.stdout) == (2, "") and "no message" in done.stderr


def test_where_there_is_a_choice_the_models_are_named(behind, upstream):
    done = chat(behind, "hello")
    assert done.returncode == 2 and "mine, capped" in done.stderr and "vendor-ocr" not in done.stderr
    assert f" models ls --url {behind.url}` shows what each does" in done.stderr
    assert upstream.requests == []


def test_the_request_says_what_was_wished_and_no_more(behind, upstream):
    upstream.reply(openai_words.stream("Hello world"), openai_words.completion("Hello"))
    done = chat(behind, "-m", "mine", "--system", "be brief", "--max-tokens", "9", "--temperature", "0.5", "hi")
    assert (done.returncode, done.stdout) == (0, "Hello world\n"), done.stderr
    assert chat(behind, "-m", "mine", "--no-stream", "hi").stdout == "Hello\n"
    first, second = (seen.json for seen in upstream.requests)
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert first["max_completion_tokens"] == 9 and first["temperature"] == 0.5 and first["stream"] is True
    assert "temperature" not in second and not second.get("stream")


def test_an_image_goes_as_it_is(behind, upstream, tmp_path):
    upstream.reply(openai_words.stream("A dot"))
    (tmp_path / "dot").write_bytes(PIXEL)
    assert chat(behind, "-m", "mine", "--image", tmp_path / "dot", "what", "is", "it").stdout == "A dot\n"
    image, text = upstream.requests[0].json["messages"][0]["content"]
    assert image["image_url"]["url"] == "data:image/gif;base64," + base64.b64encode(PIXEL).decode()
    assert text["text"] == "what is it"
    wrong = chat(behind, "-m", "mine", "--image", __file__, "what")
    assert wrong.returncode == 2 and "is no PNG" in wrong.stderr and len(upstream.requests) == 1


def test_json_is_a_chunk_a_line_or_the_whole_answer(shared):
    chunks = [json.loads(line) for line in chat(shared, "--json", "one two").stdout.splitlines()]
    assert "".join(c["delta"].get("content") or "" for chunk in chunks for c in chunk["choices"]) == "one two"
    whole = json.loads(chat(shared, "--json", "--no-stream", "one two").stdout)
    assert whole["object"] == "chat.completion" and whole["choices"][0]["message"]["content"] == "one two"


@pytest.mark.parametrize("words", [[], ["--no-stream"]])
def test_verbose_says_who_answered_and_for_how_many_tokens(shared, words):
    done = chat(shared, "-v", *words, "one two three")
    assert done.stdout == "one two three\n"
    assert done.stderr.startswith("mock/chat · 3 + 3 tokens · attempt 1 · request "), done.stderr


def test_what_a_model_was_not_told_as_asked_is_said(behind, upstream):
    upstream.reply(openai_words.stream("warm"))
    done = chat(behind, "-m", "capped", "--temperature", "2", "hi")
    assert done.returncode == 0 and done.stderr == "millrace: not sent as requested: temperature;clamped\n"


def test_an_answer_that_was_cut_does_not_look_complete(behind, upstream):
    upstream.reply(openai_words.completion("half an", finish="length"), openai_words.completion("", finish="content_filter"))
    cut = chat(behind, "-m", "mine", "--no-stream", "hi")
    assert (cut.returncode, cut.stdout) == (0, "half an\n") and "--max-tokens" in cut.stderr
    filtered = chat(behind, "-m", "mine", "--no-stream", "hi")
    assert filtered.returncode == 1 and "content_filter" in filtered.stderr


def test_a_refusal_has_its_message_its_code_and_its_request(shared):
    done = chat(shared, "-m", "mock/cht", "hi")
    assert done.returncode == 11 and done.stdout == ""
    assert "mock/chat" in done.stderr and "(model_not_found, request " in done.stderr
    for asked in (done, cli(shared, "models", "show", "mock/cht")):
        assert f" models ls --url {shared.url}` lists" in asked.stderr and "serve --mock true` has mock/chat" in asked.stderr
    assert chat(shared, "hi", env={"MILLRACE_API_KEY": "mr_live_no"}).returncode == 10
    assert chat(shared, "hi", env={"MILLRACE_URL": "http://127.0.0.1:1"}).returncode == 15


@pytest.mark.parametrize("end", ["error", "cut"])
def test_a_stream_that_breaks_is_no_success(behind, upstream, end):
    whole = openai_words.stream("Hello world")
    broken = sse_reply([(None, "x")])._with(pieces=[*whole.pieces[:2], openai_words.failure()])
    upstream.reply(broken if end == "error" else whole.broken_at(2, cut=True))
    done = chat(behind, "-m", "mine", "hi")
    assert (done.returncode, done.stdout) == (14, "Hello\n")
    assert done.stderr.startswith("millrace: ") and "request " in done.stderr


def test_a_deferred_answer_is_waited_for_or_read_later(shared):
    assert chat(shared, "--deferred", "--wait", "later").stdout == "later\n"
    made = chat(shared, "--deferred", "much", "later")
    assert made.stdout.startswith("chat-")
    read = chat(shared, "--wait", "--result", made.stdout.strip())
    assert (read.returncode, read.stdout) == (0, "much later\n")
    unknown = chat(shared, "--result", "chat-0192f0a1-7c1e-7000-8000-000000000001")
    assert unknown.returncode == 11


def test_a_deferred_answer_that_is_not_waited_for_any_more_can_be_read_by_what_is_printed(behind, upstream):
    gate = threading.Event()
    upstream.reply(openai_words.completion("at last")._with(before_head=gate))
    with on_terminal(behind, "chat", "-m", "mine", "--deferred", "--wait", "hi") as terminal:
        terminal.until("waiting for chat-")
        terminal.type("\x03")
        shown, code = terminal.end()
        assert code == 130 and "it goes on: " in shown and " chat --url " in shown
    gate.set()
    assert chat(behind, "--wait", "--result", shown.split()[-1]).stdout == "at last\n"


def test_an_answer_that_is_not_there_yet_has_an_exit_code_of_its_own(behind, upstream):
    gate = threading.Event()
    upstream.reply(openai_words.completion("at last")._with(before_head=gate))
    request = chat(behind, "-m", "mine", "--deferred", "hi").stdout.strip()
    early = chat(behind, "--result", request)
    assert (early.returncode, early.stdout) == (16, "")
    assert re.fullmatch(r"millrace: not yet \((queued|running)\); --wait waits for it\n", early.stderr)
    gate.set()
    assert chat(behind, "--result", request, "--wait").stdout == "at last\n"
    assert chat(behind, "--result", request).returncode == 0
    alone = chat(behind, "-m", "mine", "--wait", "hi")
    assert alone.returncode == 2 and "--deferred" in alone.stderr


def test_a_job_that_waits_says_why(behind, upstream):
    upstream.reply_always(openai_words.refusal(429))
    request = chat(behind, "-m", "mine", "--deferred", "hi").stdout.strip()
    eventually(lambda: "waiting " in shown(behind, request), what="it waits")
    assert re.search(r"^waiting +.*429.*, (next at|due since) 20", shown(behind, request), re.M), shown(behind, request)
    listed = cli(behind, "jobs", "ls").stdout.splitlines()
    assert "MODEL" in listed[0] and listed[1].split()[4] == "mine"


def shown(gateway, job):
    return cli(gateway, "jobs", "show", job).stdout

def test_a_deferred_answer_is_waited_for_across_a_restart(behind, upstream):
    gate = threading.Event()
    upstream.reply_always(openai_words.completion("at last")._with(before_head=gate))
    with on_terminal(behind, "chat", "-m", "mine", "--deferred", "--wait", "hi") as terminal:
        terminal.until("waiting for chat-")
        behind.kill()
        behind.command[behind.command.index("--listen") + 1] = behind.url.removeprefix("http://")
        behind.start()
        gate.set()
        terminal.until("at last")
        assert terminal.end()[1] == 0


def test_ctrl_c_lets_the_provider_go(behind, upstream):
    upstream.reply(openai_words.stream("Hello world").gated(2, threading.Event()))
    words = [str(MILLRACE), "chat", "-m", "mine", "hi"]
    with subprocess.Popen(words, env=environment(behind), stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout.read(5) == "Hello"
        asking.send_signal(signal.SIGINT)
        assert asking.wait(30) == 130
    assert upstream.requests[0].gone.wait(30)


def test_reasoning_is_for_a_terminal(behind, upstream):
    events = [({"role": "assistant", "reasoning_content": "hmm"}, None), ({"content": "yes"}, None), ({}, "stop")]
    upstream.reply_always(sse_reply([*(openai_words.chunk(*each) for each in events), (None, "[DONE]")]))
    piped = chat(behind, "-m", "mine", "hi")
    assert (piped.stdout, piped.stderr) == ("yes\n", "")
    with on_terminal(behind, "chat", "-m", "mine", "hi") as terminal:
        terminal.until("\x1b[2mhmm\x1b[0m")
        terminal.until("yes")
        assert terminal.end()[1] == 0
    with on_terminal(behind, "chat", "-m", "mine", "hi", TERM="dumb") as terminal:
        shown, code = terminal.end()
    assert code == 0 and "hmm" in shown and "yes" in shown and "\x1b" not in shown


def test_at_a_terminal_an_echo_is_said_to_be_one(shared):
    with on_terminal(shared, "chat", "hi") as terminal:
        terminal.until("mock/chat is an echo: ")
        terminal.until("OPENAI_API_KEY=… ")
        assert terminal.end()[1] == 0
    assert chat(shared, "hi").stderr == "", "a program is told nothing"


def test_a_conversation_remembers_what_was_said(behind, upstream):
    upstream.reply(openai_words.stream("first answer"), openai_words.stream("second answer"))
    with on_terminal(behind, "chat", "-m", "mine", "--system", "be brief") as terminal:
        for question, answer in (("one", "first answer"), ("two", "second answer")):
            terminal.until("> ")
            terminal.type(question + "\n")
            terminal.until(answer)
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.end()[1] == 0
    told = [(message["role"], message["content"]) for message in upstream.requests[1].json["messages"]]
    assert told == [("system", "be brief"), ("user", "one"), ("assistant", "first answer"), ("user", "two")]


def test_ctrl_c_stops_an_answer_forgets_a_line_and_then_leaves(behind, upstream):
    upstream.reply(openai_words.stream("Hello world").gated(2, threading.Event()))
    with on_terminal(behind, "chat", "-m", "mine") as terminal:
        terminal.until("> ")
        terminal.type("hi\n")
        terminal.until("Hello")
        terminal.type("\x03")
        terminal.until("> ")
        assert upstream.requests[0].gone.wait(30)
        terminal.type("not this\x03")
        terminal.until("Ctrl-D ends, ")
        terminal.until("> ")
        terminal.type("\x03")
        assert terminal.end()[1] == 130
    assert len(upstream.requests) == 1


def test_a_conversation_says_what_it_understands_and_ends_by_a_word(behind, upstream):
    with on_terminal(behind, "chat", "-m", "mine") as terminal:
        terminal.until("> ")
        terminal.type("/help\n")
        terminal.until("/exit or Ctrl-D ends")
        terminal.until("> ")
        terminal.type("/exit\n")
        assert terminal.end()[1] == 0
    assert upstream.requests == []


@pytest.mark.parametrize(
    "model, env, code",
    [
        ("nobody", {}, 11),
        ("mine", {"MILLRACE_API_KEY": "mr_live_no"}, 10),
        ("mine", {"MILLRACE_URL": "http://127.0.0.1:1"}, 15),
    ],
)
def test_a_conversation_that_can_never_work_ends_with_its_first_question(behind, model, env, code):
    with on_terminal(behind, "chat", "-m", model, **env) as terminal:
        terminal.until("> ")
        terminal.type("hi\n")
        terminal.until("millrace: ")
        assert terminal.end()[1] == code


def test_a_question_that_fails_is_told_and_the_conversation_goes_on(behind, upstream):
    upstream.reply(openai_words.refusal(500), openai_words.stream("again"))
    with on_terminal(behind, "chat", "-m", "mine") as terminal:
        terminal.until("> ")
        terminal.type("one\n")
        terminal.until("millrace: ")
        terminal.until("> ")
        terminal.type("two\n")
        terminal.until("again")
    assert [message["content"] for message in upstream.requests[1].json["messages"]] == ["two"]


def test_models_are_listed_and_shown(shared):
    lines = cli(shared, "models", "ls").stdout.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:]}
    assert lines[0].split() == ["MODEL", "PROVIDER", "DOES"]
    assert rows["mock/chat"] == ["mock", "chat"] and rows["mock/embedding"] == ["mock", "embeddings"]
    assert rows["millrace/ocr"] == ["millrace", "ocr"]
    listed = [json.loads(line) for line in cli(shared, "models", "ls", "--json").stdout.splitlines()]
    assert {model["id"] for model in listed} == set(rows)
    shown = cli(shared, "models", "show", "mock/chat")
    assert shown.returncode == 0 and "does           chat\n" in shown.stdout
    assert json.loads(cli(shared, "models", "show", "mock/chat", "--json").stdout)["id"] == "mock/chat"
    assert cli(shared, "models", "show", "mock/nothing").returncode == 11
