"""The published OpenAI client for Node: its base URL and its key are all that is changed."""

import base64
import json
import os
import subprocess

import pytest
from families import OPENAI
from millrace import Gateway
from npm_programs import node_package, node_tools
from recordings import clip_file
from sounds import probed
from upstream import Upstream, json_reply

CLIENT = ("openai", "7.57.0")
WITHIN_S = 60
BEGIN = """
import OpenAI from 'openai';
const [url, key] = process.argv.slice(1);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
const user = (content) => [{ role: 'user', content }];
const emit = (values) => console.log(JSON.stringify(values));
const weather = { type: 'function', function: { name: 'weather', description: 'The weather of a place',
  parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] } } };
"""


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mock") / "data", env={"MILLRACE_MOCK": "true"}).start()
    yield gateway
    gateway.close()


def run(gateway, program):
    """Runs the program; returns its output."""
    folder = node_package(*CLIENT).parents[1]
    command = [node_tools()[0], "--input-type=module", "--eval", BEGIN + program, gateway.url, gateway.client.key]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MILLRACE_", "OPENAI_", "NODE_"))}
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=WITHIN_S, check=False, env=environment, cwd=folder
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return json.loads(result.stdout.splitlines()[-1])


WHOLE = """
const { data, response, request_id } = await client.chat.completions
  .create({ model: 'mock/chat', messages: user('one two three'), temperature: 0.2 }).withResponse();
const [choice] = data.choices;
emit({ text: choice.message.content, finish: choice.finish_reason, refusal: choice.message.refusal, object: data.object,
  usage: data.usage, request_id, model: response.headers.get('x-millrace-model') });
"""


def test_a_complete_response(mock):
    out = run(mock, WHOLE)
    assert (out["text"], out["finish"], out["object"]) == ("one two three", "stop", "chat.completion")
    assert out["refusal"] is None and out["request_id"] and out["model"] == "mock/chat"
    assert out["usage"]["total_tokens"] == out["usage"]["prompt_tokens"] + out["usage"]["completion_tokens"]


STREAM = """
const chunks = [];
const params = { model: 'mock/chat', messages: user('one two three') };
const live = await client.chat.completions.create({ ...params, stream: true, stream_options: { include_usage: true } });
for await (const chunk of live) chunks.push(chunk);
const stream = client.chat.completions.stream(params);
const pieces = [];
stream.on('content', (delta) => pieces.push(delta));
const final = await stream.finalChatCompletion();
emit({ ids: new Set(chunks.map((c) => c.id)).size, pieces, last: chunks.at(-1), finish: chunks.at(-2).choices[0].finish_reason,
  texts: chunks.flatMap((c) => c.choices.map((choice) => choice.delta.content ?? '')), final: final.choices[0].message.content });
"""


def test_a_streamed_completion_with_its_usage(mock):
    out = run(mock, STREAM)
    assert out["ids"] == 1 and "".join(out["texts"]) == "one two three" == out["final"]
    assert out["pieces"] == ["one ", "two ", "three"] and out["finish"] == "stop"
    assert out["last"]["choices"] == [] and out["last"]["usage"]["total_tokens"] > 0


TOOLS = """
const messages = user('say weather');
const [first] = (await client.chat.completions.create({ model: 'mock/chat', messages, tools: [weather] })).choices;
const [call] = first.message.tool_calls;
messages.push(first.message, { role: 'tool', tool_call_id: call.id, content: 'sunny' });
const [second] = (await client.chat.completions.create({ model: 'mock/chat', messages, tools: [weather] })).choices;
const places = [];
const run = (place) => { places.push(place); return 'rainy'; };
const runner = client.chat.completions.runTools({ model: 'mock/chat', stream: true, messages: user('say weather'),
  tools: [{ type: 'function', function: { ...weather.function, function: run, parse: JSON.parse } }] });
const answer = await runner.finalContent();
emit({ finish: first.finish_reason, content: first.message.content, name: call.function.name,
  arguments: JSON.parse(call.function.arguments), answer: second.message.content, places, ran: answer });
"""


def test_tools_are_called_and_their_results_used(mock):
    out = run(mock, TOOLS)
    assert (out["finish"], out["content"], out["name"]) == ("tool_calls", None, "weather")
    assert out["arguments"] == {"place": "say weather"} and out["answer"] == "The tool said: sunny"
    assert out["places"] == [{"place": "say weather"}] and out["ran"] == "The tool said: rainy"


STRUCTURED = """
const schema = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'], additionalProperties: false };
const response_format = { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } };
const reply = await client.chat.completions.parse({ model: 'mock/chat', messages: user('Ada'), response_format });
const any = { type: 'json_object' };
const loose = await client.chat.completions.create({ model: 'mock/chat', messages: user('Ada'), response_format: any });
emit({ person: JSON.parse(reply.choices[0].message.content), loose: JSON.parse(loose.choices[0].message.content) });
"""


def test_structured_output_has_its_shape(mock):
    out = run(mock, STRUCTURED)
    assert out["person"] == {"name": "Ada", "age": 1} and isinstance(out["loose"], dict)


MODELS = """
const ids = [];
for await (const model of client.models.list()) ids.push(model.id);
const one = await client.models.retrieve('mock/chat');
emit({ ids, one: [one.id, one.object, one.owned_by] });
"""


def test_models_are_listed_and_retrieved(mock):
    out = run(mock, MODELS)
    assert "mock/chat" in out["ids"] and out["one"] == ["mock/chat", "model", "mock"]


EMBEDDINGS = """
const params = { model: 'mock/embedding', input: ['one', 'two'] };
const usual = await client.embeddings.create(params);
const floats = await client.embeddings.create({ ...params, encoding_format: 'float' });
const single = (vector) => Buffer.from(Float32Array.from(vector).buffer).toString('hex');
emit({ exact: usual.data.map((each, i) => single(each.embedding) === single(floats.data[i].embedding)),
  size: usual.data[0].embedding.length, index: usual.data.map((each) => each.index), usage: usual.usage });
"""


def test_embeddings_in_the_clients_usual_encoding_are_the_floats_to_the_bit(mock):
    out = run(mock, EMBEDDINGS)
    assert out["exact"] == [True, True] and out["size"] == 256 and out["index"] == [0, 1]
    assert out["usage"]["total_tokens"] > 0


IMAGES = """
const linked = await client.images.generate({ model: 'mock/image', prompt: 'a mill' });
const packed = await client.images.generate({ model: 'mock/image', prompt: 'a mill', response_format: 'b64_json' });
const file = await fetch(linked.data[0].url);
const begin = Buffer.from(await file.arrayBuffer()).subarray(0, 8);
emit({ status: file.status, type: file.headers.get('content-type'),
  same: begin.equals(Buffer.from(packed.data[0].b64_json, 'base64').subarray(0, 8)) });
"""


def test_images_are_behind_links_that_need_no_key_or_in_the_reply(mock):
    assert run(mock, IMAGES) == {"status": 200, "type": "image/png", "same": True}


SPEECH = """
const params = { model: 'tts-1', voice: 'nova', input: 'The mill turns by day and by night.' };
const whole = await client.audio.speech.create({ ...params, response_format: 'flac' });
const pcm = await client.audio.speech.create({ ...params, response_format: 'pcm' });
let streamed = 0;
for await (const piece of pcm.body) streamed += piece.length;
const others = {};
for (const response_format of ['mp3', 'opus', 'aac', 'wav']) {
  const file = await (await client.audio.speech.create({ ...params, response_format })).arrayBuffer();
  others[response_format] = Buffer.from(file).toString('base64');
}
emit({ others, type: whole.headers.get('content-type'), file: Buffer.from(await whole.arrayBuffer()).toString('base64'), streamed });
"""


def test_speech_in_every_format_complete_and_streamed(mock):
    out = run(mock, SPEECH)
    codecs = {form: probed(base64.b64decode(file))["codec_name"] for form, file in out["others"].items()}
    assert codecs == {"mp3": "mp3", "opus": "opus", "aac": "aac", "wav": "pcm_s16le"}
    assert out["type"] == "audio/flac" and probed(base64.b64decode(out["file"]))["codec_name"] == "flac"
    assert out["streamed"] > 48_000


TRANSCRIPTIONS = """
const { createReadStream } = await import('node:fs');
const transcribe = (more) => client.audio.transcriptions.create({ model: 'whisper-1', file: createReadStream(path), ...more });
const plain = await transcribe({});
const verbose = await transcribe({ response_format: 'verbose_json', timestamp_granularities: ['word'] });
const forms = {};
for (const response_format of ['text', 'srt', 'vtt']) forms[response_format] = await transcribe({ response_format });
let deltas = '', done = null;
for await (const event of await transcribe({ stream: true })) {
  if (event.type === 'transcript.text.delta') deltas += event.delta; else done = [event.type, event.text];
}
const translated = await client.audio.translations.create({ model: 'whisper-1', file: createReadStream(path) });
emit({ plain: plain.text, words: verbose.words.length, segments: 'segments' in verbose, forms, deltas, done, translated: translated.text });
"""


def test_transcriptions_in_every_form_and_translations(mock):
    out = run(mock, f"const path = {json.dumps(clip_file())};\n" + TRANSCRIPTIONS)
    text = out["plain"]
    assert text and out["deltas"] == out["translated"] == text and out["done"] == ["transcript.text.done", text]
    assert out["words"] == len(text.split()) and out["segments"] is False
    forms = out["forms"]
    assert forms["text"].strip() == text and forms["srt"].startswith("1\n00:00:0") and forms["vtt"].startswith("WEBVTT\n")


SPEAKERS = """
const { createReadStream, readFileSync } = await import('node:fs');
const reference = 'data:audio/wav;base64,' + readFileSync(path).toString('base64');
const transcribe = (more) => client.audio.transcriptions.create({ model: 'team/speakers', file: createReadStream(path),
  response_format: 'diarized_json', known_speaker_names: ['agent'], known_speaker_references: [reference], ...more });
const whole = await transcribe({ chunking_strategy: { type: 'server_vad', threshold: 0.5, silence_duration_ms: 200 } });
const events = [];
for await (const event of await transcribe({ stream: true, chunking_strategy: 'auto' })) events.push([event.type, event.speaker ?? null]);
emit({ segments: whole.segments, events });
"""


def test_speakers_whole_and_streamed(tmp_path):
    segment = {"type": "transcript.text.segment", "id": "seg_0", "start": 0, "end": 1.5, "text": "Hello.", "speaker": "agent"}
    reply = json_reply({"task": "transcribe", "duration": 3.29, "text": "Hello.", "segments": [segment]})
    with Upstream() as upstream:
        upstream.reply(reply, reply)
        config = tmp_path / "millrace.yaml"
        row = f"{{name: team/speakers, model: gpt-4o-transcribe-diarize, provider: openai, base_url: '{upstream.url}/v1', api_key: env:THE_KEY}}"
        config.write_text(f"models:\n- {row}\n")
        gateway = Gateway(tmp_path / "data", "--config", config, env={"THE_KEY": "k"}).start()
        try:
            out = run(gateway, f"const path = {json.dumps(clip_file())};\n" + SPEAKERS)
        finally:
            gateway.close()
        sent = upstream.requests[0].body
    assert out["segments"] == [segment]
    assert out["events"] == [["transcript.text.delta", None], ["transcript.text.segment", "agent"], ["transcript.text.done", None]]
    for name in ("chunking_strategy[type]", "chunking_strategy[silence_duration_ms]", "known_speaker_names[]", "known_speaker_references[]"):
        assert f'name="{name}"'.encode() in sent, name


ERRORS = """
const failure = async (call) => {
  try { return ['none', await call()]; } catch (error) {
    return [error.constructor.name, error.status, error.code, error.param, Boolean(error.requestID), error.message];
  }
};
const body = { model: 'mock/chat', messages: user('x') };
const complete = (more, sender = client) => failure(() => sender.chat.completions.create({ ...body, ...more }));
const other = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'mr_wrong' });
emit({ unknown: await complete({ model: 'mock/cht' }), streamed: await complete({ model: 'mock/cht', stream: true }),
  retrieve: await failure(() => client.models.retrieve('mock/cht')), field: await complete({ temperature: 3 }),
  key: await complete({}, other) });
"""


def test_refusals_are_exceptions_of_the_client_library(mock):
    out = run(mock, ERRORS)
    for each in ("unknown", "streamed", "retrieve"):
        assert out[each][:3] == ["NotFoundError", 404, "model_not_found"] and out[each][4]
        assert "mock/chat" in out[each][5]
    assert out["field"][:2] == ["UnprocessableEntityError", 422] and out["field"][3] == "temperature"
    assert out["key"][:3] == ["AuthenticationError", 401, "invalid_api_key"]


BROKEN = """
const seen = [];
try {
  for await (const chunk of await client.chat.completions.create({ model: 'm', messages: user('hello'), stream: true }))
    seen.push(chunk.choices[0].delta.content ?? '');
  emit({ seen: seen.join(''), failure: null });
} catch (error) {
  emit({ seen: seen.join(''), failure: [error instanceof OpenAI.APIError, error.code, error.message] });
}
"""


def test_a_stream_that_fails_throws_the_clients_error(tmp_path):
    with Upstream() as upstream:
        reply = OPENAI.stream("one two three four").broken_at(3)
        reply.pieces.append(OPENAI.failure("out of breath"))
        upstream.reply(reply)
        config = tmp_path / "millrace.yaml"
        config.write_text(f"models:\n{OPENAI.row('m', upstream)}")
        gateway = Gateway(tmp_path / "data", "--config", config, "--chat.tries", "1").start()
        try:
            out = run(gateway, BROKEN)
        finally:
            gateway.close()
    assert out["seen"].startswith("one") and out["failure"][0] is True
    assert out["failure"][1] == "upstream_error" and "out of breath" in out["failure"][2]


UPLOADS = """
const content = 'line\\n'.repeat(1000);
const begun = await client.uploads.create({ purpose: 'batch', filename: 'a.jsonl', bytes: content.length, mime_type: 'application/jsonl' });
const parts = [];
for (const piece of [content.slice(0, 3000), content.slice(3000)])
  parts.push((await client.uploads.parts.create(begun.id, { data: new File([piece], 'part') })).id);
const done = await client.uploads.complete(begun.id, { part_ids: parts });
const other = await client.uploads.create({ purpose: 'batch', filename: 'b', bytes: 1, mime_type: 'text/plain' });
const cancelled = await client.uploads.cancel(other.id);
const stored = await (await client.files.content(done.file.id)).text();
emit({ states: [begun.status, done.status, cancelled.status], name: done.file.filename, same: stored === content });
"""


def test_uploads_in_parts(mock):
    assert run(mock, UPLOADS) == {"states": ["pending", "completed", "cancelled"], "name": "a.jsonl", "same": True}
