"""The published OpenAI client for Python: its base URL and its key are all that is changed."""

import base64
import json

import pytest
from families import ALL, OPENAI
from millrace import Gateway
from recordings import clip_file
from sounds import probed
from upstream import Upstream
from venv_programs import run_with

OPENAI_CLIENT = ["openai>=2,<3"]
BEGIN = """
import asyncio, base64, json, sys
import openai
from pydantic import BaseModel
url, key = sys.argv[1:3]
client = openai.OpenAI(base_url=url + "/v1", api_key=key)
def user(text): return [{"role": "user", "content": text}]
def say(**values): print(json.dumps(values))
WEATHER = {"type": "function", "function": {"name": "weather", "description": "The weather of a place",
  "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}}}
"""


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mock") / "data", env={"MILLRACE_MOCK": "true"}).start()
    yield gateway
    gateway.close()


def run(gateway, program, key=None):
    """What the program says."""
    lines = run_with(OPENAI_CLIENT, BEGIN + program, gateway.url, key or gateway.client.key).splitlines()
    return json.loads(lines[-1])


WHOLE = """
reply = client.chat.completions.create(model="mock/chat", messages=user("one two three"), temperature=0.2, n=2)
say(id=reply.id, object=reply.object, texts=[c.message.content for c in reply.choices], index=[c.index for c in reply.choices],
    role=reply.choices[0].message.role, finish=reply.choices[0].finish_reason, refusal=reply.choices[0].message.refusal,
    total=reply.usage.total_tokens - reply.usage.prompt_tokens - reply.usage.completion_tokens, request=reply._request_id)
"""


def test_a_whole_completion(mock):
    said = run(mock, WHOLE)
    assert said["texts"] == ["one two three"] * 2 and said["index"] == [0, 1]
    assert (said["object"], said["role"], said["finish"]) == ("chat.completion", "assistant", "stop")
    assert said["refusal"] is None and said["total"] == 0 and said["request"] and said["id"]


STREAM = """
chunks = list(client.chat.completions.create(model="mock/chat", messages=user("one two three"), stream=True,
                                             stream_options={"include_usage": True}))
with client.chat.completions.stream(model="mock/chat", messages=user("one two three")) as stream:
    events = [event.type for event in stream]
    final = stream.get_final_completion()
async def later():
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key=key) as other:
        stream = await other.chat.completions.create(model="mock/chat", messages=user("one two three"), stream=True)
        return texts([chunk async for chunk in stream])
def texts(chunks): return [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
say(ids=len({c.id for c in chunks}), pieces=texts(chunks), usage=[c.usage and c.usage.total_tokens for c in chunks],
    last=len(chunks[-1].choices), finish=chunks[-2].choices[0].finish_reason,
    events=sorted(set(events)), final=final.choices[0].message.content, later=asyncio.run(later()))
"""


def test_a_streamed_completion_with_its_usage(mock):
    said = run(mock, STREAM)
    assert said["ids"] == 1 and said["pieces"] == ["one ", "two ", "three"] == said["later"]
    assert said["usage"][-1] > 0 and not any(said["usage"][:-1]) and said["last"] == 0 and said["finish"] == "stop"
    assert said["final"] == "one two three" and {"chunk", "content.delta", "content.done"} <= set(said["events"])


TOOLS = """
messages = user("say weather")
first = client.chat.completions.create(model="mock/chat", messages=messages, tools=[WEATHER]).choices[0]
call = first.message.tool_calls[0]
messages += [first.message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
second = client.chat.completions.create(model="mock/chat", messages=messages, tools=[WEATHER]).choices[0]
with client.chat.completions.stream(model="mock/chat", messages=user("hello"), tools=[WEATHER], tool_choice="required") as stream:
    events = {event.type for event in stream}
    streamed = stream.get_final_completion().choices[0]
none = client.chat.completions.create(model="mock/chat", messages=user("weather"), tools=[WEATHER], tool_choice="none").choices[0]
say(finish=first.finish_reason, content=first.message.content, type=call.type, name=call.function.name,
    arguments=json.loads(call.function.arguments), answer=second.message.content, last=second.finish_reason,
    streamed=[[c.function.name, json.loads(c.function.arguments)] for c in streamed.message.tool_calls],
    end=streamed.finish_reason, done="tool_calls.function.arguments.done" in events, none=none.message.tool_calls)
"""


def test_tools_are_called_and_their_results_taken(mock):
    said = run(mock, TOOLS)
    assert (said["finish"], said["content"], said["type"], said["name"]) == ("tool_calls", None, "function", "weather")
    assert said["arguments"] == {"place": "say weather"} and said["none"] is None
    assert said["answer"] == "The tool said: sunny" and said["last"] == "stop"
    assert said["streamed"] == [["weather", {"place": "hello"}]] and said["end"] == "tool_calls" and said["done"]


PARSED = """
class Address(BaseModel):
    street: str
    number: int
class Person(BaseModel):
    name: str
    friends: list[str]
    address: Address
reply = client.chat.completions.parse(model="mock/chat", messages=user("Ada"), response_format=Person)
person = reply.choices[0].message.parsed
with client.chat.completions.stream(model="mock/chat", messages=user("Ada"), response_format=Person) as stream:
    for event in stream: pass
    streamed = stream.get_final_completion().choices[0].message.parsed
tool = client.chat.completions.parse(model="mock/chat", messages=user("call Person"), tools=[openai.pydantic_function_tool(Person)])
loose = client.chat.completions.create(model="mock/chat", messages=user("Ada"), response_format={"type": "json_object"})
say(person=person.model_dump(), same=person == streamed, loose=json.loads(loose.choices[0].message.content),
    tool=type(tool.choices[0].message.tool_calls[0].function.parsed_arguments).__name__)
"""


def test_structured_output_is_parsed(mock):
    said = run(mock, PARSED)
    assert said["person"] == {"name": "Ada", "friends": ["Ada"], "address": {"street": "Ada", "number": 1}}
    assert said["same"] and said["tool"] == "Person" and isinstance(said["loose"], dict)


MODELS = """
models = client.models.list()
one = client.models.retrieve("mock/chat")
say(ids=[m.id for m in models], object=models.object, one=[one.id, one.object, one.owned_by, one.created > 0],
    more=one.model_dump()["capabilities"]["chat"])
"""


def test_models_are_listed_and_retrieved(mock):
    said = run(mock, MODELS)
    assert "mock/chat" in said["ids"] and said["object"] == "list" and said["more"] is True
    assert said["one"] == ["mock/chat", "model", "mock", True]


SPEECH = """
asked = dict(model="gpt-4o-mini-tts", voice="alloy", input="The mill turns by day and by night.")
whole = client.audio.speech.create(**asked)
with client.audio.speech.with_streaming_response.create(**asked, response_format="pcm", speed=1.5) as response:
    type, pcm = response.headers["content-type"], b"".join(response.iter_bytes())
async def later():
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key=key) as other:
        async with other.audio.speech.with_streaming_response.create(**asked, response_format="pcm") as response:
            return sum([len(piece) async for piece in response.iter_bytes()])
others = {form: client.audio.speech.create(**asked, response_format=form).content for form in ("opus", "aac", "flac", "wav")}
events = client.audio.speech.create(**asked, stream_format="sse").text
try:
    client.audio.speech.create(**{**asked, "voice": "nobody"})
except openai.UnprocessableEntityError as error:
    refusal = error.message
say(whole=base64.b64encode(whole.content).decode(), head=whole.response.headers["content-type"], type=type, pcm=len(pcm),
    others={form: base64.b64encode(file).decode() for form, file in others.items()},
    later=asyncio.run(later()), done="speech.audio.done" in events, refusal=refusal)
"""


def test_speech_in_every_format_whole_and_streamed(mock):
    said = run(mock, SPEECH)
    codecs = {form: probed(base64.b64decode(file))["codec_name"] for form, file in said["others"].items()}
    assert codecs == {"opus": "opus", "aac": "aac", "flac": "flac", "wav": "pcm_s16le"}
    assert said["head"] == "audio/mpeg" and probed(base64.b64decode(said["whole"]))["codec_name"] == "mp3"
    assert said["type"] == "audio/pcm" and 0 < said["pcm"] < said["later"] and said["done"]
    assert "voice" in said["refusal"] and "kal16" in said["refusal"]


TRANSCRIPTIONS = """
def ask(**more):
    with open(path, "rb") as file:
        return client.audio.transcriptions.create(model="whisper-1", file=file, **more)
plain = ask()
verbose = ask(response_format="verbose_json", timestamp_granularities=["word", "segment"])
raw = client.audio.transcriptions.with_raw_response.create(model="whisper-1", file=open(path, "rb"), prompt="x", temperature=0.5)
events = list(ask(stream=True))
async def later():
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key=key) as other:
        return (await other.audio.transcriptions.create(model="millrace/sphinx-en", file=open(path, "rb"))).text
with open(path, "rb") as file:
    translated = client.audio.translations.create(model="whisper-1", file=file, response_format="verbose_json")
try:
    ask(language="de")
except openai.UnprocessableEntityError as error:
    refusal = error.message
say(plain=plain.text, seconds=plain.usage.seconds, verbose=verbose.text, words=len(verbose.words), word=verbose.words[0].word,
    segments=[[s.id, s.start, s.end] for s in verbose.segments], duration=verbose.duration, language=verbose.language,
    forms={form: ask(response_format=form) for form in ("text", "srt", "vtt")}, later=asyncio.run(later()),
    dropped=raw.headers["x-millrace-dropped-params"], refusal=refusal, translated=[translated.language, translated.text],
    deltas="".join(e.delta for e in events if e.type == "transcript.text.delta"), done=[events[-1].type, events[-1].text])
"""


def test_transcriptions_in_every_form_and_translations(mock):
    said = run(mock, f"path = {clip_file()!r}\n" + TRANSCRIPTIONS)
    text = said["plain"]
    assert text and said["verbose"] == said["later"] == said["deltas"] == text
    assert said["done"] == ["transcript.text.done", text] and said["translated"] == ["english", text]
    assert said["seconds"] == 4 and 3 < said["duration"] < 4 and said["language"] == "english"
    assert said["words"] == len(text.split()) and said["word"].lower() == text.split()[0].lower().strip(".,")
    assert [each[0] for each in said["segments"]] == list(range(len(said["segments"])))
    assert said["forms"]["text"] == text + "\n"
    assert said["forms"]["srt"].startswith("1\n00:00:0") and said["forms"]["vtt"].startswith("WEBVTT\n\n00:00:0")
    assert said["dropped"] == "prompt, temperature" and "English only" in said["refusal"]


ERRORS = """
def failure(call):
    try:
        return ["none", call()]
    except openai.APIStatusError as error:
        name = type(error).__name__
        return [name, error.status_code, error.code, error.param, error.type, bool(error.request_id), error.message]
ask = client.chat.completions.create
with_wrong_key = openai.OpenAI(base_url=url + "/v1", api_key="mr_wrong").chat.completions.create
say(unknown=failure(lambda: ask(model="mock/cht", messages=user("x"))),
    streamed=failure(lambda: ask(model="mock/cht", messages=user("x"), stream=True)),
    retrieve=failure(lambda: client.models.retrieve("mock/cht")),
    field=failure(lambda: ask(model="mock/chat", messages=user("x"), temperature=3)),
    empty=failure(lambda: ask(model="mock/chat", messages=[])),
    strict=failure(lambda: ask(model="mock/chat", messages=user("x"), extra_query={"strict": "true"}, extra_body={"guardrails": []})),
    key=failure(lambda: with_wrong_key(model="mock/chat", messages=user("x"))))
"""


def test_refusals_are_the_clients_own_exceptions(mock):
    said = run(mock, ERRORS)
    for each in ("unknown", "streamed", "retrieve"):
        assert said[each][:3] == ["NotFoundError", 404, "model_not_found"] and said[each][5]
        assert "mock/chat" in said[each][6]
    assert said["field"][:2] == ["UnprocessableEntityError", 422] and said["field"][3] == "temperature"
    assert said["empty"][:2] == ["UnprocessableEntityError", 422]
    assert said["strict"][:2] == ["BadRequestError", 400] and "guardrails" in said["strict"][6]
    assert said["key"][:3] == ["AuthenticationError", 401, "invalid_api_key"]


EMBEDDINGS = """
import array
asked = {"model": "mock/embedding", "input": ["one", "two", "one"]}
usual = client.embeddings.create(**asked)
floats = client.embeddings.create(**asked, encoding_format="float")
single = lambda vector: array.array("f", vector).tobytes()
tokens = client.embeddings.create(model="mock/embedding", input=[[1, 2], [3]], dimensions=8)
one = client.embeddings.create(model="mock/embedding", input="one")
try:
    client.embeddings.create(model="mock/embedding", input=["one", ""])
except openai.UnprocessableEntityError as error:
    refused = error.param
first, second, third = (each.embedding for each in usual.data)
say(exact=[single(a.embedding) == single(b.embedding) for a, b in zip(usual.data, floats.data)],
    index=[d.index for d in usual.data], same=first == third == one.data[0].embedding, other=first == second,
    length=sum(x * x for x in first), sizes=[len(d.embedding) for d in tokens.data], model=usual.model,
    usage=[usual.usage.prompt_tokens, usual.usage.total_tokens], refused=refused)
"""


def test_embeddings_in_the_clients_usual_encoding_are_the_floats_to_the_bit(mock):
    said = run(mock, EMBEDDINGS)
    assert said["exact"] == [True] * 3 and said["index"] == [0, 1, 2] and said["same"] and not said["other"]
    assert abs(said["length"] - 1) < 1e-5 and said["sizes"] == [8, 8] and said["model"] == "mock/embedding"
    assert said["usage"][0] == said["usage"][1] > 0 and said["refused"] == "input.1"


IMAGES = """
import httpx
linked = client.images.generate(model="mock/image", prompt="a mill", n=2)
packed = client.images.generate(model="mock/image", prompt="a mill", response_format="b64_json")
files = [httpx.get(image.url) for image in linked.data]
forged = httpx.get(linked.data[0].url[:-1] + ("0" if linked.data[0].url[-1] != "0" else "1"))
say(created=linked.created > 0, status=[file.status_code for file in files], types=[file.headers["content-type"] for file in files],
    same=base64.b64decode(packed.data[0].b64_json)[:8] == files[0].content[:8], forged=forged.status_code)
"""


def test_images_are_behind_links_that_need_no_key_or_in_the_reply(mock):
    said = run(mock, IMAGES)
    assert said["created"] and said["status"] == [200, 200] and said["types"] == ["image/png"] * 2
    assert said["same"] and said["forged"] == 404


CONVERSATION = """
messages = [{"role": "system", "content": "Be brief."}, *user("How is the weather in Zürich?")]
first = client.chat.completions.create(model="m", messages=messages, tools=[WEATHER]).choices[0]
calls = first.message.tool_calls
messages += [first.message, {"role": "tool", "tool_call_id": calls[0].id, "content": "sunny"}]
with client.chat.completions.stream(model="m", messages=messages, tools=[WEATHER]) as stream:
    for event in stream: pass
    second = stream.get_final_completion()
say(finish=first.finish_reason, name=calls[0].function.name, arguments=json.loads(calls[0].function.arguments),
    id=bool(calls[0].id), answer=second.choices[0].message.content, last=second.choices[0].finish_reason)
"""


@pytest.fixture(params=ALL, ids=str)
def family(request):
    return request.param


def before(tmp_path, family, upstream):
    config = tmp_path / "millrace.yaml"
    config.write_text(f"models:\n{family.row('m', upstream)}")
    return Gateway(tmp_path / "data", "--config", config, "--chat.tries", "1").start()


def test_a_tool_conversation_with_each_kind_of_provider(tmp_path, family):
    with Upstream() as upstream:
        upstream.reply(family.whole("", calls=[("call_1", "weather", {"place": "Zürich"})]), family.stream("It is sunny."))
        gateway = before(tmp_path, family, upstream)
        try:
            said = run(gateway, CONVERSATION)
        finally:
            gateway.close()
        told = upstream.requests[1].body.decode()
    assert (said["finish"], said["name"], said["arguments"]) == ("tool_calls", "weather", {"place": "Zürich"})
    assert said["id"] and said["answer"] == "It is sunny." and said["last"] == "stop"
    assert all(word in told for word in ("Be brief.", "weather", "Zürich", "sunny"))


BROKEN = """
seen, failure = [], None
try:
    for chunk in client.chat.completions.create(model="m", messages=user("hello"), stream=True):
        seen.append(chunk.choices[0].delta.content)
except openai.APIError as error:
    failure = [type(error).__name__, error.code, error.message]
say(seen="".join(each or "" for each in seen), failure=failure)
"""


def test_a_stream_that_fails_raises_the_clients_error(tmp_path):
    with Upstream() as upstream:
        reply = OPENAI.stream("one two three four").broken_at(3)
        reply.pieces.append(OPENAI.failure("out of breath"))
        upstream.reply(reply)
        gateway = before(tmp_path, OPENAI, upstream)
        try:
            said = run(gateway, BROKEN)
        finally:
            gateway.close()
    assert said["seen"].startswith("one") and said["failure"][1] == "upstream_error" and "out of breath" in said["failure"][2]
