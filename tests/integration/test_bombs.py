"""Small inputs that expand, nest, repeat or never end, for every parser: each is refused in bounded time and memory."""

import base64
import gzip
import io
import json
import struct
import subprocess
import zlib
from contextlib import ExitStack, closing

import openai_replies
import pytest
import recordings
import route_table
from documents import assemble_pdf, data_uri
from mcp_server import McpServer, Tool, text_result, tool
from millrace import BUILD, Gateway
from peak_use import PeakUse
from upstream import Reply, Upstream, json_reply, sse_reply

MIB = 1 << 20
CPU_MAX_S = 40  # processor time, so that a busy machine changes nothing
GZIP = gzip.compress(bytes(256 * MIB), 1)
OWN_MAX = 192 * MIB  # the growth of the gateway itself; bodies have at most 72 MiB
TOTAL_MAX = 1536 * MIB  # with its engines
DEEP = 200_000


@pytest.fixture(scope="module")
def upstream():
    with Upstream() as instance:
        yield instance


@pytest.fixture(scope="module")
def started(tmp_path_factory, upstream):
    """Starts a gateway with the model `up` of the upstream."""

    def start(name, **more):
        folder = tmp_path_factory.mktemp(name)
        (folder / "millrace.yaml").write_text(
            f"mock: true\nmodels:\n- {{name: up, provider: openai, model: m, base_url: '{upstream.url}/v1', api_key: env:UP_KEY}}\n"
            "chat: {tries: 1, first_byte_timeout: 5s, total_timeout: 10s}\n"
        )
        arguments = ("--config", folder / "millrace.yaml", "--fetch.allow-hosts", upstream.url.removeprefix("http://"))
        gateway = stack.enter_context(closing(Gateway(folder / "data", *arguments, env={"UP_KEY": "sk-0123456789"}, **more)))
        return gateway.start()

    with ExitStack() as stack:
        yield start


@pytest.fixture(scope="module")
def gateway(started):
    return started("serve")


@pytest.fixture(scope="module")
def api(started):
    """Without engines."""
    return started("api", role="api")


def bounded(gateway, send, cpu_max_s=CPU_MAX_S):
    """Calls `send` and checks what it used; returns its result."""
    with PeakUse(gateway.popen.pid) as peak:
        result = send()
    assert peak.cpu_s < cpu_max_s and peak.own < OWN_MAX and peak.total < TOTAL_MAX, (peak.cpu_s, peak.own / MIB, peak.total / MIB)
    assert gateway.popen.poll() is None and gateway.client.get("/health").status == 200
    return result


def result_of(gateway, job):
    """The result of a job, however busy the machine is."""
    gateway.client.wait_terminal(job, 300)
    return gateway.client.get(f"/v1/jobs/{job}/result")


# --- documents


def object_stream_bomb():
    """A cross-reference stream that expands to 256 MiB."""
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(MIB)) for _ in range(256)) + packer.flush()
    stream = b"<< /Type /XRef /Size 100000000 /W [1 8 8] /Root 1 0 R /Filter /FlateDecode /Length %d >>\nstream\n" % len(data)
    return b"%PDF-1.5\n1 0 obj\n" + stream + data + b"\nendstream\nendobj\nstartxref\n9\n%%EOF\n"


def nested_arrays():
    return assemble_pdf({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
                         3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Annots " + b"[" * DEEP + b"]" * DEEP + b" >>"})


def page_that_is_its_own_parent():
    return assemble_pdf({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: b"<< /Type /Pages /Count 1 /Kids [2 0 R] >>"})


def png(width, height, *chunks):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", header), *(chunk(kind, data) for kind, data in chunks), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def png_text_bomb():
    """Comments that expand to 256 MiB each."""
    packer = zlib.compressobj(9)
    text = b"".join(packer.compress(bytes(MIB)) for _ in range(256)) + packer.flush()
    return png(8, 8, (b"zTXt", b"a\0\0" + text), (b"iCCP", b"b\0\0" + text), (b"IDAT", zlib.compress(bytes(9 * 8))))


def png_that_expands_beyond_its_size():
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(MIB)) for _ in range(256)) + packer.flush()
    return png(8, 8, (b"IDAT", data))


def jpeg_of_many_scans():
    """A progressive picture whose last scan is repeated 5,000 times: each one is decoded over all pixels."""
    from PIL import Image

    out = io.BytesIO()
    Image.effect_noise((2000, 2000), 30).save(out, "JPEG", progressive=True, quality=20)
    whole = out.getvalue()
    last = whole.rindex(b"\xff\xda")
    return whole[:last] + whole[last:-2][:200] * 5000 + whole[-2:]


DOCUMENTS = {
    "cross-reference stream": object_stream_bomb,
    "nested arrays": nested_arrays,
    "page that is its own parent": page_that_is_its_own_parent,
    "comments of a picture": png_text_bomb,
    "picture beyond its size": png_that_expands_beyond_its_size,
    "picture of many scans": jpeg_of_many_scans,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_uses_bounded_time_and_memory(gateway, name):
    uri = data_uri(DOCUMENTS[name]())
    reply = bounded(gateway, lambda: result_of(gateway, gateway.client.submit_ocr(uri).json()["id"]))
    # A page that cannot be read fails alone; other errors are of the document.
    assert reply.status in (200, 422), reply.body[:500]
    assert reply.status == 200 or reply.json()["error"]["code"] in ("document_bomb", "document_damaged", "document_page_count", "image_too_large")


def mp4_of_many_edits():
    with_edits = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", "-", "-c:a", "aac", "-f", "mp4", "-movflags", "frag_keyframe+empty_moov", "-"],
        input=recordings.silence(1), capture_output=True, check=True, timeout=60,
    ).stdout
    count = 200_000
    rows = struct.pack(">IIHH", 1, 0, 1, 0) * count
    elst = struct.pack(">I4sII", 16 + len(rows), b"elst", 0, count) + rows
    edts = struct.pack(">I4s", 8 + len(elst), b"edts") + elst
    return inserted(with_edits, [b"moov", b"trak"], edts)


def inserted(file, path, box):
    """The MP4 file with `box` before the end of the box at `path`; the sizes of all boxes around it grow."""
    out, at, end = bytearray(file), 0, len(file)
    for name in path:
        while True:
            size, kind = struct.unpack(">I4s", out[at : at + 8])
            if kind == name:
                break
            at += size
            assert at < end, name
        out[at : at + 4] = struct.pack(">I", size + len(box))
        end = at + size
        at += 8
    out[end:end] = box
    return bytes(out)


def endless_silence():
    """Ten hours in a small file."""
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono", "-t", "36000", "-c:a", "flac", "-compression_level", "0", "-f", "flac", "-"]
    return subprocess.run(command, capture_output=True, check=True, timeout=120).stdout


def wav_of_declared_size():
    sound = bytearray(recordings.silence(1))
    sound[4:8] = sound[40:44] = b"\xff\xff\xff\xff"
    return bytes(sound)


RECORDINGS = {"many edits": mp4_of_many_edits, "ten hours": endless_silence, "declared size": wav_of_declared_size}


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_uses_bounded_time_and_memory(gateway, name):
    sound = RECORDINGS[name]()
    reply = bounded(gateway, lambda: result_of(gateway, recordings.submit(gateway, sound)))
    assert reply.status in (200, 413, 422), reply.body[:500]


# --- bodies of requests


JSON_BOMBS = {
    "nested lists": b"[" * DEEP + b"]" * DEEP,
    "nested objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "open brackets": b"[" * (MIB - 1),
    "a number of a million digits": b'{"n":' + b"9" * (MIB - 100) + b"}",
    "an exponent": b'{"n":1e999999999}',
    "many names": b"{" + b",".join(b'"k%d":0' % n for n in range(60_000)) + b"}",
    "one name twice": b'{"model":"a","model":"b"}',
    "half a surrogate": b'{"model":"\\ud800"}',
    "empty lists": b"[" + b"[]," * 200_000 + b"[]]",
}


def test_json_of_any_operation_is_read_in_bounded_time_and_memory(api):
    table = [each for each in route_table.operations(api.client) if each.method != "GET" and each.body not in (None, {})]
    assert len(table) > 10
    for name, body in JSON_BOMBS.items():
        replies = bounded(api, lambda: [send_body(api, operation, body) for operation in table], cpu_max_s=5)
        for operation, reply in zip(table, replies):
            assert 400 <= reply.status < 500, (operation.name, name, reply.status, reply.body[:300])
            assert len(reply.body) < 64 << 10, (operation.name, name)


def send_body(api, operation, body):
    path = operation.path_with({parameter: "none" for parameter in operation.parameters})
    return api.client.request(operation.method, path, body, {"Content-Type": "application/json", "Idempotency-Key": "bomb"})


def multipart(*parts, boundary="b"):
    return b"".join(b"--b\r\n" + part for part in parts) + b"--b--\r\n", f"multipart/form-data; boundary={boundary}"


def field(name, value=b"x", more=b""):
    return b'Content-Disposition: form-data; name="' + name + b'"' + more + b"\r\n\r\n" + value + b"\r\n"


FORMS = {
    "many parts": multipart(*[field(b"f%d" % n) for n in range(50_000)]),
    "many equal parts": multipart(*[field(b"model")] * 50_000),
    "a long header": multipart(field(b"n" * 5 * MIB)),
    "many headers": multipart(b"X-A: b\r\n" * 200_000 + field(b"model")),
    "a long field": multipart(field(b"model", b"x" * 20 * MIB)),
    "a long file name": multipart(field(b"file", b"RIFF", b'; filename="' + b"a" * 5 * MIB + b'"')),
    "no end": (b"--b\r\n" + field(b"file", b"RIFF" + b"\r\n--" * MIB, b'; filename="a.wav"'), "multipart/form-data; boundary=b"),
    "a long boundary": multipart(field(b"model"), boundary="b" * 20_000),
    "many files": multipart(*[field(b"file", b"RIFF", b'; filename="a.wav"')] * 10_000),
    "a form in a form": multipart(b"Content-Type: multipart/mixed; boundary=c\r\n" + field(b"file", b"--c\r\n" * MIB)),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_read_in_bounded_time_and_memory(api, name):
    body, content_type = FORMS[name]
    reply = bounded(api, lambda: api.client.post("/v1/audio/transcriptions", body, headers={"Content-Type": content_type}))
    assert 400 <= reply.status < 500, reply.body[:300]


def test_a_compressed_body_is_not_expanded(api):
    reply = bounded(api, lambda: api.client.post("/v1/chat/completions", GZIP, headers={"Content-Encoding": "gzip"}))
    assert reply.status == 415


# --- what upstreams send

CHAT_REPLIES = {
    "gzip": Reply(200, [GZIP], {"Content-Type": "application/json", "Content-Encoding": "gzip"}),
    "gzip in gzip": Reply(200, [gzip.compress(GZIP)], {"Content-Type": "application/json", "Content-Encoding": "gzip, gzip"}),
    "nested lists": Reply(200, [b"[" * DEEP]),
    "endless": Reply(200, [b'{"a":"'], chunked=True, endless=b"x" * 65536),
    "endless head": Reply(200, headers={f"X-{n}": "y" * 1000 for n in range(2000)}),
    "a million choices": json_reply({"choices": [{}] * MIB}),
    "endless line of a stream": Reply(200, [b"data: "], {"Content-Type": "text/event-stream"}, chunked=True, endless=b"x" * 65536),
    "endless comments of a stream": Reply(200, [b"data: {}\n\n"], {"Content-Type": "text/event-stream"}, chunked=True, endless=b": x\n" * 16384),
    "nested lists in a stream": sse_reply([(None, "[" * DEEP)]),
    "endless error": Reply(500, [b'{"error":{"message":"'], chunked=True, endless=b"x" * 65536),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", CHAT_REPLIES)
def test_the_reply_of_a_provider_is_read_in_bounded_time_and_memory(api, upstream, name, stream):
    upstream.reply_always(CHAT_REPLIES[name])
    body = {"model": "up", "messages": [{"role": "user", "content": "x"}], "stream": stream}
    reply = bounded(api, lambda: api.client.post("/v1/chat/completions", body))
    assert reply.status >= 500 or (stream and b"error" in reply.body), (reply.status, reply.body[:300])
    assert len(reply.body) < MIB


def with_mcp(api, server):
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": "call s__bomb"}], "mcp_servers": [{"name": "s", "url": server.mcp_url}]}
    return api.client.post("/v1/chat/completions", body)


@pytest.fixture
def mcp_gateway(tmp_path):
    with ExitStack() as stack:
        yield lambda server: stack.enter_context(
            closing(Gateway(tmp_path / "data", "--mock", "true", "--fetch.allow-hosts", server.url.removeprefix("http://"), role="api").start())
        )


MCP_RESULTS = {
    "gzip": Reply(200, [GZIP], {"Content-Type": "application/json", "Content-Encoding": "gzip"}),
    "nested lists": Reply(200, [b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * DEEP]),
    "endless": Reply(200, [b'{"a":"'], chunked=True, endless=b"x" * 65536),
    "endless stream": Reply(200, [b"data: "], {"Content-Type": "text/event-stream"}, chunked=True, endless=b"x" * 65536),
    "endless events": Reply(200, [], {"Content-Type": "text/event-stream"}, chunked=True, endless=b'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n' * 1000),
}


@pytest.mark.parametrize("name", MCP_RESULTS)
def test_the_result_of_a_tool_is_read_in_bounded_time_and_memory(mcp_gateway, name):
    with McpServer({"bomb": tool(lambda given: MCP_RESULTS[name])}) as server:
        api = mcp_gateway(server)
        reply = bounded(api, lambda: with_mcp(api, server))
        assert reply.status in (200, 502), reply.body[:300]
        assert len(reply.body) < 4 * MIB


def test_many_tools_and_deep_schemas_are_read_in_bounded_time_and_memory(mcp_gateway):
    deep = {"type": "object"}
    for _ in range(500):
        deep = {"type": "object", "properties": {"a": deep}}
    tools = {f"tool{n}": tool(lambda given: text_result("x")) for n in range(20_000)}
    with McpServer({**tools, "bomb": Tool(lambda given: text_result("x"), deep)}) as server:
        api = mcp_gateway(server)
        reply = bounded(api, lambda: with_mcp(api, server))
        assert reply.status in (200, 502), reply.body[:300]


def test_a_fetched_document_is_bounded_whatever_its_coding_and_length(gateway, upstream):
    replies = [
        Reply(200, [GZIP], {"Content-Encoding": "gzip"}),
        Reply(200, [b"%PDF-1.4\n"], {}, chunked=True, endless=b"x" * 65536),
        Reply(302, [], {"Location": f"{upstream.url}/a"}),
        Reply(200, headers={f"X-{n}": "y" * 1000 for n in range(2000)}),
    ]
    for each in replies:
        upstream.reply_always(each)
        reply = bounded(gateway, lambda: gateway.client.post("/v1/ocr", {"document": {"document_url": f"{upstream.url}/a"}}))
        assert reply.status in (413, 422, 502), (each.headers, reply.status, reply.body[:300])


# --- configuration

YAML_BOMBS = {
    "aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(20)),
    "nested lists": "models: " + "[" * DEEP,
    "nested maps": "".join(" " * n + "a:\n" for n in range(3000)),
    "a long line": "listen: " + "x" * MIB,
    "many keys": "".join(f"k{n}: 1\n" for n in range(20_000)),
}


@pytest.mark.parametrize("name", YAML_BOMBS)
@pytest.mark.parametrize("command", ["check", "import"])
def test_a_configuration_is_read_in_bounded_time_and_memory(tmp_path, name, command):
    file = tmp_path / "bomb.yaml"
    file.write_text(YAML_BOMBS[name])
    arguments = ["check", "--config", file, "--data", tmp_path / "data"] if command == "check" else ["import", file, "-o", tmp_path / "out.yaml"]
    limited = ["prlimit", f"--as={2048 * MIB}", f"--cpu={CPU_MAX_S}", BUILD / "millrace", "config", *arguments]
    done = subprocess.run([str(word) for word in limited], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1, 2), (done.returncode, done.stderr[-500:])
    assert len(done.stdout) + len(done.stderr) < 64 * MIB
