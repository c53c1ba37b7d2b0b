"""`millrace chat` and `millrace models` against a running gateway: with pipes, and at a terminal."""

import base64
import contextlib
import json
import re
import signal
import subprocess
import threading

import openai_replies
import pytest
from commands import MILLRACE, cli, environment, on_terminal
from millrace import Gateway, eventually
from sandboxed import reachable_folder, skip_without_namespaces
from upstream import sse_reply

PIXEL = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A gateway with the mock models; one of them chats."""
    gateway = Gateway(tmp_path_factory.mktemp("chat") / "data", env={"MILLRACE_MOCK": "true"}).start()
    yield gateway
    gateway.close()


@pytest.fixture
def behind(tmp_path, upstream):
    """A gateway with the models `mine` and `capped` of `upstream`."""
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
    """Yields the output of a start that prints commands to try."""
    gateway = Gateway(data, env={**dict(env), "MILLRACE_TRY": "1"}).start()
    try:
        yield eventually(lambda: "/admin.key\n\n" in (text := gateway.log.read_text()) and text, what="the last line")
    finally:
        gateway.close()


def chat(gateway, *arguments, **kwargs):
    return cli(gateway, "chat", *arguments, **kwargs)


def names(output):
    return re.findall(r"^  \S+ (\w+) .*", output, re.M)


@pytest.mark.parametrize("mock", ["true", "false"])
def test_the_start_message_has_a_chat_command_where_a_model_chats(tmp_path, mock):
    with commands_to_try(tmp_path / "data", {"MILLRACE_MOCK": mock}) as output:
        line = re.search(r"^  \S+ chat --url (\S+) --data (\S+) -m mock/chat Hello$", output, re.M)
        assert (line is not None) == (mock == "true"), output
        assert [name for name in names(output) if name != "exec"] == (["ocr", "chat"] if mock == "true" else ["ocr"])


def test_the_start_message_has_an_exec_command_where_executions_are_on():
    skip_without_namespaces("no command to try is offered")
    with reachable_folder() as folder, commands_to_try(folder / "data") as output:
        assert names(output) == ["ocr", "exec"]


def test_the_start_message_has_no_exec_command_where_executions_are_off(tmp_path):
    with commands_to_try(tmp_path / "data", {"PATH": "/nowhere"}) as output:
        assert names(output) == ["ocr"]


def test_a_message_comes_from_arguments_or_standard_input_or_both(shared):
    assert chat(shared, "one", "two").stdout == "one two\n"
    assert chat(shared, input="from a pipe\n").stdout == "from a pipe\n"
    done = chat(shared, "say:", "-", input="piped")
    assert (done.returncode, done.stdout, done.stderr) == (0, "say: piped\n", "")


def test_without_a_message_no_request_is_sent(shared):
    done = chat(shared, input="\n")
    assert (done.returncode, done.stdout) == (2, "") and "no message" in done.stderr


def test_without_a_default_model_the_error_names_the_models(behind, upstream):
    done = chat(behind, "hello")
    assert done.returncode == 2 and "mine, capped" in done.stderr and "vendor-ocr" not in done.stderr
    assert f" models ls --url {behind.url}` describes them" in done.stderr
    assert upstream.requests == []


def test_the_request_contains_only_what_was_specified(behind, upstream):
    upstream.reply(openai_replies.stream("Hello world"), openai_replies.completion("Hello"))
    done = chat(behind, "-m", "mine", "--system", "be brief", "--max-tokens", "9", "--temperature", "0.5", "hi")
    assert (done.returncode, done.stdout) == (0, "Hello world\n"), done.stderr
    assert chat(behind, "-m", "mine", "--no-stream", "hi").stdout == "Hello\n"
    first, second = (seen.json for seen in upstream.requests)
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert first["max_completion_tokens"] == 9 and first["temperature"] == 0.5 and first["stream"] is True
    assert "temperature" not in second and not second.get("stream")


def test_an_image_is_sent_unchanged(behind, upstream, tmp_path):
    upstream.reply(openai_replies.stream("A dot"))
    (tmp_path / "dot").write_bytes(PIXEL)
    assert chat(behind, "-m", "mine", "--image", tmp_path / "dot", "what", "is", "it").stdout == "A dot\n"
    image, text = upstream.requests[0].json["messages"][0]["content"]
    assert image["image_url"]["url"] == "data:image/gif;base64," + base64.b64encode(PIXEL).decode()
    assert text["text"] == "what is it"
    wrong = chat(behind, "-m", "mine", "--image", __file__, "what")
    assert wrong.returncode == 2 and "is not a PNG" in wrong.stderr and len(upstream.requests) == 1


def test_json_is_one_chunk_per_line_or_the_complete_response(shared):
    chunks = [json.loads(line) for line in chat(shared, "--json", "one two").stdout.splitlines()]
    assert "".join(c["delta"].get("content") or "" for chunk in chunks for c in chunk["choices"]) == "one two"
    whole = json.loads(chat(shared, "--json", "--no-stream", "one two").stdout)
    assert whole["object"] == "chat.completion" and whole["choices"][0]["message"]["content"] == "one two"


@pytest.mark.parametrize("arguments", [[], ["--no-stream"]])
def test_verbose_prints_the_model_and_the_number_of_tokens(shared, arguments):
    done = chat(shared, "-v", *arguments, "one two three")
    assert done.stdout == "one two three\n"
    assert done.stderr.startswith("mock/chat · 3 + 3 tokens · attempt 1 · request "), done.stderr


def test_parameters_that_were_not_sent_as_requested_are_reported(behind, upstream):
    upstream.reply(openai_replies.stream("warm"))
    done = chat(behind, "-m", "capped", "--temperature", "2", "hi")
    assert done.returncode == 0 and done.stderr == "millrace: not sent as requested: temperature;clamped\n"


def test_a_truncated_completion_is_not_reported_as_complete(behind, upstream):
    upstream.reply(openai_replies.completion("half an", finish="length"), openai_replies.completion("", finish="content_filter"))
    cut = chat(behind, "-m", "mine", "--no-stream", "hi")
    assert (cut.returncode, cut.stdout) == (0, "half an\n") and "--max-tokens" in cut.stderr
    filtered = chat(behind, "-m", "mine", "--no-stream", "hi")
    assert filtered.returncode == 1 and "content_filter" in filtered.stderr


def test_a_refusal_has_its_message_its_code_and_its_request(shared):
    done = chat(shared, "-m", "mock/cht", "hi")
    assert done.returncode == 11 and done.stdout == ""
    assert "mock/chat" in done.stderr and "(model_not_found, request " in done.stderr
    for failed_command in (done, cli(shared, "models", "show", "mock/cht")):
        assert f" models ls --url {shared.url}` lists" in failed_command.stderr
        assert "serve --mock true` offers mock/chat" in failed_command.stderr
    assert chat(shared, "hi", env={"MILLRACE_API_KEY": "mr_live_no"}).returncode == 10
    assert chat(shared, "hi", env={"MILLRACE_URL": "http://127.0.0.1:1"}).returncode == 15


@pytest.mark.parametrize("end", ["error", "cut"])
def test_a_stream_that_breaks_is_no_success(behind, upstream, end):
    whole = openai_replies.stream("Hello world")
    broken = sse_reply([(None, "x")])._with(pieces=[*whole.pieces[:2], openai_replies.failure()])
    upstream.reply(broken if end == "error" else whole.broken_at(2, cut=True))
    done = chat(behind, "-m", "mine", "hi")
    assert (done.returncode, done.stdout) == (14, "Hello\n")
    assert done.stderr.startswith("millrace: ") and "request " in done.stderr


def test_a_deferred_completion_is_waited_for_or_read_later(shared):
    assert chat(shared, "--deferred", "--wait", "later").stdout == "later\n"
    made = chat(shared, "--deferred", "much", "later")
    assert made.stdout.startswith("chat-")
    read = chat(shared, "--wait", "--result", made.stdout.strip())
    assert (read.returncode, read.stdout) == (0, "much later\n")
    unknown = chat(shared, "--result", "chat-0192f0a1-7c1e-7000-8000-000000000001")
    assert unknown.returncode == 11


def test_an_interrupted_wait_prints_the_command_that_reads_the_deferred_completion(behind, upstream):
    gate = threading.Event()
    upstream.reply(openai_replies.completion("at last")._with(before_head=gate))
    with on_terminal(behind, "chat", "-m", "mine", "--deferred", "--wait", "hi") as terminal:
        terminal.until("waiting for chat-")
        terminal.type("\x03")
        shown, code = terminal.end()
        assert code == 130 and "The chat continues in the gateway. To get its result: " in shown and " chat --url " in shown
    gate.set()
    assert chat(behind, "--wait", "--result", shown.split()[-1]).stdout == "at last\n"


def test_a_completion_that_is_not_ready_has_a_separate_exit_code(behind, upstream):
    gate = threading.Event()
    upstream.reply(openai_replies.completion("at last")._with(before_head=gate))
    request = chat(behind, "-m", "mine", "--deferred", "hi").stdout.strip()
    early = chat(behind, "--result", request)
    assert (early.returncode, early.stdout) == (16, "")
    assert re.fullmatch(r"millrace: not yet \((queued|running)\); --wait waits for it\n", early.stderr)
    gate.set()
    assert chat(behind, "--result", request, "--wait").stdout == "at last\n"
    assert chat(behind, "--result", request).returncode == 0
    alone = chat(behind, "-m", "mine", "--wait", "hi")
    assert alone.returncode == 2 and "--deferred" in alone.stderr


def test_a_waiting_job_shows_its_reason(behind, upstream):
    upstream.reply_always(openai_replies.refusal(429))
    request = chat(behind, "-m", "mine", "--deferred", "hi").stdout.strip()
    eventually(lambda: "waiting " in shown(behind, request), what="it waits")
    assert re.search(r"^waiting +.*429.*, (next at|due since) 20", shown(behind, request), re.M), shown(behind, request)
    listed = cli(behind, "jobs", "ls").stdout.splitlines()
    assert "MODEL" in listed[0] and listed[1].split()[4] == "mine"


def shown(gateway, job):
    return cli(gateway, "jobs", "show", job).stdout

def test_the_wait_for_a_deferred_completion_survives_a_restart(behind, upstream):
    gate = threading.Event()
    upstream.reply_always(openai_replies.completion("at last")._with(before_head=gate))
    with on_terminal(behind, "chat", "-m", "mine", "--deferred", "--wait", "hi") as terminal:
        terminal.until("waiting for chat-")
        behind.kill()
        behind.command[behind.command.index("--listen") + 1] = behind.url.removeprefix("http://")
        behind.start()
        gate.set()
        terminal.until("at last")
        assert terminal.end()[1] == 0


def test_ctrl_c_closes_the_connection_to_the_provider(behind, upstream):
    upstream.reply(openai_replies.stream("Hello world").gated(2, threading.Event()))
    arguments = [str(MILLRACE), "chat", "-m", "mine", "hi"]
    with subprocess.Popen(arguments, env=environment(behind), stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.read(5) == "Hello"
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
    assert upstream.requests[0].disconnected.wait(30)


def test_reasoning_is_shown_at_a_terminal_only(behind, upstream):
    events = [({"role": "assistant", "reasoning_content": "hmm"}, None), ({"content": "yes"}, None), ({}, "stop")]
    upstream.reply_always(sse_reply([*(openai_replies.chunk(*each) for each in events), (None, "[DONE]")]))
    piped = chat(behind, "-m", "mine", "hi")
    assert (piped.stdout, piped.stderr) == ("yes\n", "")
    with on_terminal(behind, "chat", "-m", "mine", "hi") as terminal:
        terminal.until("\x1b[2mhmm\x1b[0m")
        terminal.until("yes")
        assert terminal.end()[1] == 0
    with on_terminal(behind, "chat", "-m", "mine", "hi", TERM="dumb") as terminal:
        shown, code = terminal.end()
    assert code == 0 and "hmm" in shown and "yes" in shown and "\x1b" not in shown


def test_at_a_terminal_a_mock_model_is_marked_as_an_echo(shared):
    with on_terminal(shared, "chat", "hi") as terminal:
        terminal.until("mock/chat only repeats the message. ")
        terminal.until("OPENAI_API_KEY=… ")
        assert terminal.end()[1] == 0
    assert chat(shared, "hi").stderr == "", "there is no note without a terminal"


def test_a_conversation_sends_its_earlier_messages(behind, upstream):
    upstream.reply(openai_replies.stream("first answer"), openai_replies.stream("second answer"))
    with on_terminal(behind, "chat", "-m", "mine", "--system", "be brief") as terminal:
        for question, answer in (("one", "first answer"), ("two", "second answer")):
            terminal.until("> ")
            terminal.type(question + "\n")
            terminal.until(answer)
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.end()[1] == 0
    messages = [(message["role"], message["content"]) for message in upstream.requests[1].json["messages"]]
    assert messages == [("system", "be brief"), ("user", "one"), ("assistant", "first answer"), ("user", "two")]


def test_ctrl_c_stops_a_response_clears_a_line_and_then_exits(behind, upstream):
    upstream.reply(openai_replies.stream("Hello world").gated(2, threading.Event()))
    with on_terminal(behind, "chat", "-m", "mine") as terminal:
        terminal.until("> ")
        terminal.type("hi\n")
        terminal.until("Hello")
        terminal.type("\x03")
        terminal.until("> ")
        assert upstream.requests[0].disconnected.wait(30)
        terminal.type("not this\x03")
        terminal.until("Ctrl-D ends, ")
        terminal.until("> ")
        terminal.type("\x03")
        assert terminal.end()[1] == 130
    assert len(upstream.requests) == 1


def test_a_conversation_lists_its_commands_and_ends_with_exit(behind, upstream):
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


def test_a_failed_message_is_reported_and_the_conversation_continues(behind, upstream):
    upstream.reply(openai_replies.refusal(500), openai_replies.stream("again"))
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
    assert lines[0].split() == ["MODEL", "PROVIDER", "CAPABILITIES"]
    assert rows["mock/chat"] == ["mock", "chat"] and rows["mock/embedding"] == ["mock", "embeddings"]
    assert rows["millrace/ocr"] == ["millrace", "ocr"]
    listed = [json.loads(line) for line in cli(shared, "models", "ls", "--json").stdout.splitlines()]
    assert {model["id"] for model in listed} == set(rows)
    shown = cli(shared, "models", "show", "mock/chat")
    assert shown.returncode == 0 and "capabilities   chat\n" in shown.stdout
    assert json.loads(cli(shared, "models", "show", "mock/chat", "--json").stdout)["id"] == "mock/chat"
    assert cli(shared, "models", "show", "mock/nothing").returncode == 11
