"""The published OpenAI client for Python: its base URL and its key are all that is changed."""

import base64
import json

import pytest
from families import ALL, OPENAI
from millrace import Gateway
from recordings import clip_file
from sounds import probed
from upstream import Upstream, json_reply
from venv_programs import run_with

OPENAI_CLIENT = ["openai>=2,<3"]
BEGIN = """
import asyncio, base64, json, sys
import openai
from pydantic import BaseModel
url, key = sys.argv[1:3]
client = openai.OpenAI(base_url=url + "/v1", api_key=key)
def user(text): return [{"role": "user", "content": text}]
def emit(**values): print(json.dumps(values))
WEATHER = {"type": "function", "function": {"name": "weather", "description": "The weather of a place",
  "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}}}
"""


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mock") / "data", env={"MILLRACE_MOCK": "true"}).start()
    yield gateway
    gateway.close()


def run(gateway, program, key=None):
    """Runs the program; returns its output."""
    lines = run_with(OPENAI_CLIENT, BEGIN + program, gateway.url, key or gateway.client.key).splitlines()
    return json.loads(lines[-1])


WHOLE = """
reply = client.chat.completions.create(model="mock/chat", messages=user("one two three"), temperature=0.2, n=2)
emit(id=reply.id, object=reply.object, texts=[c.message.content for c in reply.choices], index=[c.index for c in reply.choices],
     role=reply.choices[0].message.role, finish=reply.choices[0].finish_reason, refusal=reply.choices[0].message.refusal,
     total=reply.usage.total_tokens - reply.usage.prompt_tokens - reply.usage.completion_tokens, request=reply._request_id)
"""


def test_a_complete_response(mock):
    out = run(mock, WHOLE)
    assert out["texts"] == ["one two three"] * 2 and out["index"] == [0, 1]
    assert (out["object"], out["role"], out["finish"]) == ("chat.completion", "assistant", "stop")
    assert out["refusal"] is None and out["total"] == 0 and out["request"] and out["id"]


# As docs/chat.md shows it.
DEFERRED = """
import httpx
from openai.types.chat import ChatCompletion
job = client.chat.completions.create(model="mock/chat", messages=user("one two three"), extra_body={"deferred": True}).id
path, wait = f"/chat/deferred-completion/{job}", {"headers": {"Prefer": "wait=60"}}
while (reply := client.get(path, cast_to=httpx.Response, options=wait)).status_code == 202:
    pass
completion = ChatCompletion.model_validate(reply.json())
emit(job=job, text=completion.choices[0].message.content)
"""


def test_a_deferred_completion_is_polled(mock):
    out = run(mock, DEFERRED)
    assert out["job"].startswith("chat-") and out["text"] == "one two three"


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
emit(ids=len({c.id for c in chunks}), pieces=texts(chunks), usage=[c.usage and c.usage.total_tokens for c in chunks],
     last=len(chunks[-1].choices), finish=chunks[-2].choices[0].finish_reason,
     events=sorted(set(events)), final=final.choices[0].message.content, later=asyncio.run(later()))
"""


def test_a_streamed_completion_with_its_usage(mock):
    out = run(mock, STREAM)
    assert out["ids"] == 1 and out["pieces"] == ["one ", "two ", "three"] == out["later"]
    assert out["usage"][-1] > 0 and not any(out["usage"][:-1]) and out["last"] == 0 and out["finish"] == "stop"
    assert out["final"] == "one two three" and {"chunk", "content.delta", "content.done"} <= set(out["events"])


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
emit(finish=first.finish_reason, content=first.message.content, type=call.type, name=call.function.name,
     arguments=json.loads(call.function.arguments), answer=second.message.content, last=second.finish_reason,
     streamed=[[c.function.name, json.loads(c.function.arguments)] for c in streamed.message.tool_calls],
     end=streamed.finish_reason, done="tool_calls.function.arguments.done" in events, none=none.message.tool_calls)
"""


def test_tools_are_called_and_their_results_used(mock):
    out = run(mock, TOOLS)
    assert (out["finish"], out["content"], out["type"], out["name"]) == ("tool_calls", None, "function", "weather")
    assert out["arguments"] == {"place": "say weather"} and out["none"] is None
    assert out["answer"] == "The tool said: sunny" and out["last"] == "stop"
    assert out["streamed"] == [["weather", {"place": "hello"}]] and out["end"] == "tool_calls" and out["done"]


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
emit(person=person.model_dump(), same=person == streamed, loose=json.loads(loose.choices[0].message.content),
     tool=type(tool.choices[0].message.tool_calls[0].function.parsed_arguments).__name__)
"""


def test_structured_output_is_parsed(mock):
    out = run(mock, PARSED)
    assert out["person"] == {"name": "Ada", "friends": ["Ada"], "address": {"street": "Ada", "number": 1}}
    assert out["same"] and out["tool"] == "Person" and isinstance(out["loose"], dict)


MODELS = """
models = client.models.list()
one = client.models.retrieve("mock/chat")
emit(ids=[m.id for m in models], object=models.object, one=[one.id, one.object, one.owned_by, one.created > 0],
     more=one.model_dump()["capabilities"]["chat"])
"""


def test_models_are_listed_and_retrieved(mock):
    out = run(mock, MODELS)
    assert "mock/chat" in out["ids"] and out["object"] == "list" and out["more"] is True
    assert out["one"] == ["mock/chat", "model", "mock", True]


SPEECH = """
params = dict(model="gpt-4o-mini-tts", voice="alloy", input="The mill turns by day and by night.")
whole = client.audio.speech.create(**params)
with client.audio.speech.with_streaming_response.create(**params, response_format="pcm", speed=1.5) as response:
    type, pcm = response.headers["content-type"], b"".join(response.iter_bytes())
async def later():
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key=key) as other:
        async with other.audio.speech.with_streaming_response.create(**params, response_format="pcm") as response:
            return sum([len(piece) async for piece in response.iter_bytes()])
others = {form: client.audio.speech.create(**params, response_format=form).content for form in ("opus", "aac", "flac", "wav")}
events = client.audio.speech.create(**params, stream_format="sse").text
try:
    client.audio.speech.create(**{**params, "voice": "nobody"})
except openai.UnprocessableEntityError as error:
    refusal = error.message
emit(whole=base64.b64encode(whole.content).decode(), head=whole.response.headers["content-type"], type=type, pcm=len(pcm),
     others={form: base64.b64encode(file).decode() for form, file in others.items()},
     later=asyncio.run(later()), done="speech.audio.done" in events, refusal=refusal)
"""


def test_speech_in_every_format_complete_and_streamed(mock):
    out = run(mock, SPEECH)
    codecs = {form: probed(base64.b64decode(file))["codec_name"] for form, file in out["others"].items()}
    assert codecs == {"opus": "opus", "aac": "aac", "flac": "flac", "wav": "pcm_s16le"}
    assert out["head"] == "audio/mpeg" and probed(base64.b64decode(out["whole"]))["codec_name"] == "mp3"
    assert out["type"] == "audio/pcm" and 0 < out["pcm"] < out["later"] and out["done"]
    assert "voice" in out["refusal"] and "kal16" in out["refusal"]


TRANSCRIPTIONS = """
def transcribe(**more):
    with open(path, "rb") as file:
        return client.audio.transcriptions.create(model="whisper-1", file=file, **more)
plain = transcribe()
verbose = transcribe(response_format="verbose_json", timestamp_granularities=["word", "segment"])
raw = client.audio.transcriptions.with_raw_response.create(model="whisper-1", file=open(path, "rb"), prompt="x", temperature=0.5)
events = list(transcribe(stream=True))
async def later():
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key=key) as other:
        return (await other.audio.transcriptions.create(model="whisper-1", file=open(path, "rb"))).text
with open(path, "rb") as file:
    translated = client.audio.translations.create(model="whisper-1", file=file, response_format="verbose_json")
try:
    transcribe(language="de")
except openai.UnprocessableEntityError as error:
    refusal = error.message
emit(plain=plain.text, seconds=plain.usage.seconds, verbose=verbose.text, words=len(verbose.words), word=verbose.words[0].word,
     segments=[[s.id, s.start, s.end] for s in verbose.segments], duration=verbose.duration, language=verbose.language,
     forms={form: transcribe(response_format=form) for form in ("text", "srt", "vtt")}, later=asyncio.run(later()),
     dropped=raw.headers["x-millrace-dropped-params"], refusal=refusal, translated=[translated.language, translated.text],
     deltas="".join(e.delta for e in events if e.type == "transcript.text.delta"), done=[events[-1].type, events[-1].text])
"""


def test_transcriptions_in_every_form_and_translations(mock):
    out = run(mock, f"path = {clip_file()!r}\n" + TRANSCRIPTIONS)
    text = out["plain"]
    assert text and out["verbose"] == out["later"] == out["deltas"] == text
    assert out["done"] == ["transcript.text.done", text] and out["translated"] == ["english", text]
    assert out["seconds"] == 4 and 3 < out["duration"] < 4 and out["language"] == "english"
    assert out["words"] == len(text.split()) and out["word"].lower() == text.split()[0].lower().strip(".,")
    assert [each[0] for each in out["segments"]] == list(range(len(out["segments"])))
    assert out["forms"]["text"] == text + "\n"
    assert out["forms"]["srt"].startswith("1\n00:00:0") and out["forms"]["vtt"].startswith("WEBVTT\n\n00:00:0")
    assert out["dropped"] == "prompt, temperature" and "only English" in out["refusal"]


SPEAKERS = """
with open(path, "rb") as file:
    reference = "data:audio/wav;base64," + base64.b64encode(file.read()).decode()
def transcribe(**more):
    with open(path, "rb") as file:
        return client.audio.transcriptions.create(model="team/speakers", file=file, response_format="diarized_json", **more)
known = dict(known_speaker_names=["agent"], known_speaker_references=[reference])
whole = transcribe(chunking_strategy={"type": "server_vad", "threshold": 0.5, "silence_duration_ms": 200}, **known)
events = [[e.type, getattr(e, "speaker", None), getattr(e, "segment_id", None)] for e in transcribe(stream=True, chunking_strategy="auto")]
try:
    transcribe(known_speaker_names=["agent"])
except openai.UnprocessableEntityError as error:
    refusal = error.message
emit(kind=type(whole).__name__, segments=[[s.type, s.id, s.start, s.end, s.text, s.speaker] for s in whole.segments],
     duration=whole.duration, task=whole.task, events=events, refusal=refusal)
"""


def test_speakers_whole_and_streamed(tmp_path):
    segment = {"type": "transcript.text.segment", "id": "seg_0", "start": 0.0, "end": 1.5, "text": "Hello.", "speaker": "agent"}
    reply = json_reply({"task": "transcribe", "duration": 3.29, "text": "Hello.", "segments": [segment]})
    with Upstream() as upstream:
        upstream.reply(reply, reply)
        config = tmp_path / "millrace.yaml"
        row = f"{{name: team/speakers, model: gpt-4o-transcribe-diarize, provider: openai, base_url: '{upstream.url}/v1', api_key: env:THE_KEY}}"
        config.write_text(f"models:\n- {row}\n")
        gateway = Gateway(tmp_path / "data", "--config", config, env={"THE_KEY": "k"}).start()
        try:
            out = run(gateway, f"path = {clip_file()!r}\n" + SPEAKERS)
        finally:
            gateway.close()
        sent = upstream.requests[0].body
    assert out["kind"] == "TranscriptionDiarized" and out["duration"] == 3.29 and out["task"] == "transcribe"
    assert out["segments"] == [list(segment.values())]
    delta, spoken, done = out["events"]
    assert (delta[0], delta[2]) == ("transcript.text.delta", "seg_0") and spoken[:2] == ["transcript.text.segment", "agent"]
    assert done[0] == "transcript.text.done" and "known_speaker_names" in out["refusal"]
    for name in ("chunking_strategy[type]", "chunking_strategy[silence_duration_ms]", "known_speaker_names[]", "known_speaker_references[]"):
        assert f'name="{name}"'.encode() in sent, name


ERRORS = """
def failure(call):
    try:
        return ["none", call()]
    except openai.APIStatusError as error:
        name = type(error).__name__
        return [name, error.status_code, error.code, error.param, error.type, bool(error.request_id), error.message]
complete = client.chat.completions.create
with_wrong_key = openai.OpenAI(base_url=url + "/v1", api_key="mr_wrong").chat.completions.create
emit(unknown=failure(lambda: complete(model="mock/cht", messages=user("x"))),
     streamed=failure(lambda: complete(model="mock/cht", messages=user("x"), stream=True)),
     retrieve=failure(lambda: client.models.retrieve("mock/cht")),
     field=failure(lambda: complete(model="mock/chat", messages=user("x"), temperature=3)),
     empty=failure(lambda: complete(model="mock/chat", messages=[])),
     strict=failure(lambda: complete(model="mock/chat", messages=user("x"), extra_query={"strict": "true"}, extra_body={"guardrails": []})),
     key=failure(lambda: with_wrong_key(model="mock/chat", messages=user("x"))))
"""


def test_refusals_are_exceptions_of_the_client_library(mock):
    out = run(mock, ERRORS)
    for each in ("unknown", "streamed", "retrieve"):
        assert out[each][:3] == ["NotFoundError", 404, "model_not_found"] and out[each][5]
        assert "mock/chat" in out[each][6]
    assert out["field"][:2] == ["UnprocessableEntityError", 422] and out["field"][3] == "temperature"
    assert out["empty"][:2] == ["UnprocessableEntityError", 422]
    assert out["strict"][:2] == ["BadRequestError", 400] and "guardrails" in out["strict"][6]
    assert out["key"][:3] == ["AuthenticationError", 401, "invalid_api_key"]


EMBEDDINGS = """
import array
params = {"model": "mock/embedding", "input": ["one", "two", "one"]}
usual = client.embeddings.create(**params)
floats = client.embeddings.create(**params, encoding_format="float")
single = lambda vector: array.array("f", vector).tobytes()
tokens = client.embeddings.create(model="mock/embedding", input=[[1, 2], [3]], dimensions=8)
one = client.embeddings.create(model="mock/embedding", input="one")
try:
    client.embeddings.create(model="mock/embedding", input=["one", ""])
except openai.UnprocessableEntityError as error:
    refused = error.param
first, second, third = (each.embedding for each in usual.data)
emit(exact=[single(a.embedding) == single(b.embedding) for a, b in zip(usual.data, floats.data)],
     index=[d.index for d in usual.data], same=first == third == one.data[0].embedding, other=first == second,
     length=sum(x * x for x in first), sizes=[len(d.embedding) for d in tokens.data], model=usual.model,
     usage=[usual.usage.prompt_tokens, usual.usage.total_tokens], refused=refused)
"""


def test_embeddings_in_the_clients_usual_encoding_are_the_floats_to_the_bit(mock):
    out = run(mock, EMBEDDINGS)
    assert out["exact"] == [True] * 3 and out["index"] == [0, 1, 2] and out["same"] and not out["other"]
    assert abs(out["length"] - 1) < 1e-5 and out["sizes"] == [8, 8] and out["model"] == "mock/embedding"
    assert out["usage"][0] == out["usage"][1] > 0 and out["refused"] == "input.1"


IMAGES = """
import httpx
linked = client.images.generate(model="mock/image", prompt="a mill", n=2)
packed = client.images.generate(model="mock/image", prompt="a mill", response_format="b64_json")
files = [httpx.get(image.url) for image in linked.data]
forged = httpx.get(linked.data[0].url[:-1] + ("0" if linked.data[0].url[-1] != "0" else "1"))
emit(created=linked.created > 0, status=[file.status_code for file in files], types=[file.headers["content-type"] for file in files],
     same=base64.b64decode(packed.data[0].b64_json)[:8] == files[0].content[:8], forged=forged.status_code)
"""


def test_images_are_behind_links_that_need_no_key_or_in_the_reply(mock):
    out = run(mock, IMAGES)
    assert out["created"] and out["status"] == [200, 200] and out["types"] == ["image/png"] * 2
    assert out["same"] and out["forged"] == 404


CONVERSATION = """
messages = [{"role": "system", "content": "Be brief."}, *user("How is the weather in Zürich?")]
first = client.chat.completions.create(model="m", messages=messages, tools=[WEATHER]).choices[0]
calls = first.message.tool_calls
messages += [first.message, {"role": "tool", "tool_call_id": calls[0].id, "content": "sunny"}]
with client.chat.completions.stream(model="m", messages=messages, tools=[WEATHER]) as stream:
    for event in stream: pass
    second = stream.get_final_completion()
emit(finish=first.finish_reason, name=calls[0].function.name, arguments=json.loads(calls[0].function.arguments),
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
        upstream.reply(family.complete("", calls=[("call_1", "weather", {"place": "Zürich"})]), family.stream("It is sunny."))
        gateway = before(tmp_path, family, upstream)
        try:
            out = run(gateway, CONVERSATION)
        finally:
            gateway.close()
        told = upstream.requests[1].body.decode()
    assert (out["finish"], out["name"], out["arguments"]) == ("tool_calls", "weather", {"place": "Zürich"})
    assert out["id"] and out["answer"] == "It is sunny." and out["last"] == "stop"
    assert all(word in told for word in ("Be brief.", "weather", "Zürich", "sunny"))


BROKEN = """
seen, failure = [], None
try:
    for chunk in client.chat.completions.create(model="m", messages=user("hello"), stream=True):
        seen.append(chunk.choices[0].delta.content)
except openai.APIError as error:
    failure = [type(error).__name__, error.code, error.message]
emit(seen="".join(each or "" for each in seen), failure=failure)
"""


def test_a_stream_that_fails_raises_the_clients_error(tmp_path):
    with Upstream() as upstream:
        reply = OPENAI.stream("one two three four").broken_at(3)
        reply.pieces.append(OPENAI.failure("out of breath"))
        upstream.reply(reply)
        gateway = before(tmp_path, OPENAI, upstream)
        try:
            out = run(gateway, BROKEN)
        finally:
            gateway.close()
    assert out["seen"].startswith("one") and out["failure"][1] == "upstream_error" and "out of breath" in out["failure"][2]


FILES = """
sent = client.files.create(file=("requests.jsonl", b'{"custom_id": "one"}\\n'), purpose="batch",
                           expires_after={"anchor": "created_at", "seconds": 7200})
for name in ("a", "b", "c"): client.files.create(file=(name, name.encode()), purpose="user_data")
listed = [file.filename for file in client.files.list(limit=2)]  # all pages
same = client.files.retrieve(sent.id)
emit(same=same == sent, life=sent.expires_at - sent.created_at, listed=listed, status=sent.status, bytes=sent.bytes,
     content=client.files.content(sent.id).text, only=[file.id for file in client.files.list(purpose="batch")] == [sent.id],
     deleted=client.files.delete(sent.id).deleted)
try:
    client.files.retrieve(sent.id)
except openai.NotFoundError as error:
    print(json.dumps({"gone": error.status_code}))
"""


def test_files(mock):
    lines = run_with(OPENAI_CLIENT, BEGIN + FILES, mock.url, mock.client.key).splitlines()
    out = json.loads(lines[0])
    assert out["same"] and out["life"] == 7200 and out["status"] == "processed" and out["bytes"] == len(out["content"])
    assert out["listed"] == ["c", "b", "a", "requests.jsonl"] and out["content"] == '{"custom_id": "one"}\n'
    assert out["only"] and out["deleted"] is True
    assert json.loads(lines[1]) == {"gone": 404}


# As docs/batch.md shows it.
BATCHES = """
import io, time
lines = [{"custom_id": f"line-{i}", "method": "POST", "url": "/v1/chat/completions",
          "body": {"model": "mock/chat" if i else "nope", "messages": user(f"word {i}")}} for i in range(20)]
content = "\\n".join(json.dumps(line) for line in lines).encode()
sent = client.files.create(file=("requests.jsonl", content), purpose="batch")
made = client.batches.create(input_file_id=sent.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"run": "a"})
batch = made
while batch.status not in ("completed", "failed", "expired", "cancelled"):
    time.sleep(0.2)
    batch = client.batches.retrieve(batch.id)
replies = {line["custom_id"]: line for line in map(json.loads, client.files.content(batch.output_file_id).text.splitlines())}
errors = [json.loads(line) for line in client.files.content(batch.error_file_id).text.splitlines()]
bad = client.batches.create(input_file_id=client.files.create(file=("bad.jsonl", b"{}"), purpose="batch").id,
                            endpoint="/v1/chat/completions", completion_window="24h")
while bad.status == "validating":
    time.sleep(0.2)
    bad = client.batches.retrieve(bad.id)
try:
    client.batches.cancel(batch.id)
except openai.ConflictError as conflict:
    refused = conflict.status_code
emit(first=made.status, status=batch.status, counts=[batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed],
     text=replies["line-3"]["response"]["body"]["choices"][0]["message"]["content"], tokens=batch.usage.total_tokens > 0,
     failed=[[line["custom_id"], line["response"]["status_code"]] for line in errors], metadata=batch.metadata,
     times=batch.created_at <= batch.in_progress_at <= batch.finalizing_at <= batch.completed_at < batch.expires_at,
     bad=[bad.status, bad.errors.data[0].code, bad.errors.data[0].line], refused=refused,
     listed=[each.id for each in client.batches.list(limit=1)] == [bad.id, batch.id])
"""


def test_batches(mock):
    out = run(mock, BATCHES)
    assert out["first"] == "validating" and out["status"] == "completed" and out["counts"] == [20, 19, 1] and out["listed"] is True
    assert out["text"] == "word 3" and out["tokens"] and out["failed"] == [["line-0", 404]] and out["metadata"] == {"run": "a"} and out["times"]
    assert out["bad"] == ["failed", "missing_required_parameter", 1] and out["refused"] == 409


UPLOADS = """
import hashlib, io
content = b"0123456789" * 1000
begun = client.uploads.create(purpose="batch", filename="requests.jsonl", bytes=len(content), mime_type="application/jsonl",
                              expires_after={"anchor": "created_at", "seconds": 7200})
parts = [client.uploads.parts.create(upload_id=begun.id, data=content[at:at + 4000]) for at in (0, 4000, 8000)]
done = client.uploads.complete(upload_id=begun.id, part_ids=[part.id for part in parts], md5=hashlib.md5(content).hexdigest())
chunked = client.uploads.upload_file_chunked(file=content, filename="chunked.bin", bytes=len(content), mime_type="text/plain",
                                             purpose="user_data", part_size=3000)
cancelled = client.uploads.cancel(client.uploads.create(purpose="batch", filename="a", bytes=1, mime_type="text/plain").id)
try:
    client.uploads.complete(upload_id=begun.id, part_ids=[parts[0].id])
    again = None
except openai.ConflictError as error:
    again = error.status_code
emit(states=[begun.status, done.status, chunked.status, cancelled.status], life=begun.expires_at - begun.created_at, again=again,
     objects=[begun.object, parts[0].object], of=parts[0].upload_id == begun.id, nothing=begun.file is None, name=done.file.filename,
     kept=done.file.expires_at - done.file.created_at, same=[client.files.content(each.file.id).content == content for each in (done, chunked)])
"""


def test_uploads_in_parts(mock):
    out = run(mock, UPLOADS)
    assert out["states"] == ["pending", "completed", "completed", "cancelled"] and out["life"] == 3600 and out["again"] == 409
    assert out["objects"] == ["upload", "upload.part"] and out["of"] and out["nothing"] and out["name"] == "requests.jsonl"
    assert out["kept"] == 7200 and out["same"] == [True, True]
