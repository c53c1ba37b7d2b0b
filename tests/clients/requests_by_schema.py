"""A separate program, with hypothesis and jsonschema: generates valid and invalid requests from an OpenAPI document, and
checks the responses. Prints one line per fault. Arguments: URL, key, time limit in seconds."""

import http.client
import json
import re
import sys
import time
import urllib.parse

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

URL, KEY, SECONDS = sys.argv[1], sys.argv[2], float(sys.argv[3])
ADDRESS = urllib.parse.urlsplit(URL)
REQUESTS_EACH = 40
ANSWERED_LEAST = 30  # operations that must return 2xx at least once; fewer mean that the requests are bad
# These end what the others need, or respond only when something else happens.
LEFT_OUT = {"getMetrics"}


def send(method, path, headers, body=None):
    connection = http.client.HTTPConnection(ADDRESS.hostname, ADDRESS.port, timeout=30)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {KEY}", **headers})
        reply = connection.getresponse()
        media = reply.getheader("content-type", "").split(";")[0]
        return reply.status, media, b"" if media == "text/event-stream" else reply.read()  # a stream may have no end
    finally:
        connection.close()


DOCUMENT = json.loads(send("GET", "/openapi.json", {})[2])
FOUND, ANSWERED = set(), set()


def follow(node):
    while "$ref" in node:
        place = DOCUMENT
        for key in node["$ref"][2:].split("/"):
            place = place[key]
        node = place
    return node


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1 << 40) | st.floats(-10, 10) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3), max_leaves=4)


def edge(least, most, floor, ceiling):
    """Values within the bounds, at them, and just beyond them."""
    low, high = floor if least is None else least, ceiling if most is None else most
    return st.sampled_from([low, high, low - 1, high + 1]) | st.integers(int(low), max(int(low), int(high)))


def text_of(schema):
    if schema.get("format") == "date-time":
        return st.sampled_from(["2026-05-04T08:30:00Z", "2026-05-04", "yesterday", ""])
    if schema.get("format") == "binary":
        return st.sampled_from(["", "RIFF", "ID3 no audio"])
    most = min(schema.get("maxLength", 40), 300)
    return st.text(max_size=most) | st.text("abc/-_.:", min_size=min(schema.get("minLength", 0), most), max_size=most)


def value_of(schema, depth=0):
    schema = follow(schema)
    several = schema.get("oneOf") or schema.get("anyOf")
    if "enum" in schema:
        return st.sampled_from(schema["enum"]) | ANYTHING
    if several:
        return st.one_of([value_of(each, depth + 1) for each in several])
    kinds = schema.get("type", "object" if "properties" in schema else "any")
    return st.one_of([kind_of(kind, schema, depth) for kind in ([kinds] if isinstance(kinds, str) else kinds)])


def kind_of(kind, schema, depth):
    if kind == "integer":
        return edge(schema.get("minimum"), schema.get("maximum"), -3, 1 << 20)
    if kind == "number":
        return edge(schema.get("minimum"), schema.get("maximum"), -3, 1000) | st.floats(-3, 3)
    if kind == "string":
        return text_of(schema)
    if kind == "array" and depth < 4:
        return st.lists(value_of(schema.get("items", {}), depth + 1), max_size=3)
    if kind == "object" and depth < 4:
        return object_of(schema, depth)
    return {"boolean": st.booleans(), "null": st.none()}.get(kind, ANYTHING)


@st.composite
def object_of(draw, schema, depth=0):
    fields = schema.get("properties", {})
    names = [name for name in fields if name in schema.get("required", []) or draw(st.integers(0, 7)) == 0]
    out = {name: draw(value_of(fields[name], depth + 1)) for name in names}
    if draw(st.integers(0, 9)) == 0:
        out[draw(st.text(max_size=8))] = draw(ANYTHING)
    return out


@st.composite
def body_of(draw, schema):
    """An example with one field changed, or a value generated from the schema."""
    schema = follow(schema)
    examples = schema.get("examples")
    if not examples or draw(st.booleans()):
        return draw(object_of(schema))
    out = dict(draw(st.sampled_from(examples)))
    fields = schema.get("properties", {})
    for name in draw(st.lists(st.sampled_from(sorted(fields)), max_size=2)):
        out[name] = draw(value_of(fields[name]) | ANYTHING)
    return out


def known_ids():
    """Ids that exist, so that not every path is a 404."""
    machine = json.loads(send("POST", "/v1/machines", {"Content-Type": "application/json", "Idempotency-Key": "by-schema"}, b"{}")[2])
    execution = json.loads(send("POST", f"/v1/machines/{machine['machine_id']}/executions",
                                {"Content-Type": "application/json", "Idempotency-Key": "by-schema"}, b'{"command": ["true"]}')[2])
    return {"machine_id": machine["machine_id"], "execution_id": execution["execution_id"], "job_id": execution["execution_id"],
            "model": "mock/chat", "file": "app.js", "request_id": execution["execution_id"]}


IDS = known_ids()


def parameter_value(draw, parameter):
    schema = follow(parameter["schema"])
    if parameter["in"] == "path" and parameter["name"] in IDS and draw(st.integers(0, 2)):
        return IDS[parameter["name"]]
    value = draw(value_of(schema))
    return value if isinstance(value, str) else json.dumps(value)


@st.composite
def request_of(draw, path, method, operation):
    query, headers = [], {}
    for parameter in map(follow, operation.get("parameters", [])):
        place, name = parameter["in"], parameter["name"]
        if place != "path" and not parameter.get("required") and draw(st.integers(0, 2)):
            continue
        value = parameter_value(draw, parameter)
        if place == "path":
            path = path.replace("{%s}" % name, urllib.parse.quote(value, safe="") or "-")
        elif place == "query":
            query.append((name, value))
        elif name != "prefer" or "wait" not in value:
            # Skips what no client can send: http.client refuses it, too.
            headers[name] = re.sub(r"[^!-~]", "", value) or "x"
    target = path + ("?" + urllib.parse.urlencode(query, errors="surrogatepass") if query else "")
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return method.upper(), target, headers, None
    media = draw(st.sampled_from(sorted(content)))
    return method.upper(), target, *with_body(draw, headers, media, content[media].get("schema"))


def with_body(draw, headers, media, schema):
    if media == "application/json":
        headers["Content-Type"] = media
        return headers, json.dumps(draw(body_of(schema))).encode()
    if schema is None:  # the body is a file
        headers["Content-Type"] = media
        return headers, draw(st.sampled_from([b"", b"%PDF-1.4", b"no document"]) | st.binary(max_size=40))
    parts = "".join(part_of(name, value) for name, value in draw(body_of(schema)).items())
    headers["Content-Type"] = f"{media}; boundary=xyz"
    return headers, (parts + "--xyz--\r\n").encode(errors="replace")


def part_of(name, value):
    named = f'--xyz\r\nContent-Disposition: form-data; name="{re.sub(r"[^a-z_]", "", name)}"'
    file = '; filename="a.wav"' if name == "file" else ""
    return f"{named}{file}\r\n\r\n{value if isinstance(value, str) else json.dumps(value)}\r\n"


def fault_of(operation, reply):
    status, media, text = reply
    documented = operation["responses"].get(str(status))
    if status >= 500:
        return f"{status}: {text[:300]!r}"
    if documented is None:
        return f"{status} is not documented: {text[:200]!r}"
    content = follow(documented).get("content", {})
    if text and media not in content:
        return f"{status}: {media} is not documented"
    if "json" not in media or "schema" not in content.get(media, {}):
        return None
    validator = Draft202012Validator({**content[media]["schema"], "components": DOCUMENT["components"]})
    for error in validator.iter_errors(json.loads(text)):
        return f"{status}: {list(error.absolute_path)}: {error.message[:200]}"
    return None


def check(path, method, operation, ends):
    """Stops sending at the time limit; requests sent until then count."""

    @settings(max_examples=REQUESTS_EACH, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(request_of(path, method, operation))
    def send_one(request):
        if time.monotonic() > ends:
            return
        reply = send(*request)
        if reply[0] < 300:
            ANSWERED.add(operation["operationId"])
        fault = fault_of(operation, reply)
        if fault and operation["operationId"] not in FOUND:
            FOUND.add(operation["operationId"])
            shown = request[3][:600] if request[3] else b""
            print(f"{request[0]} {request[1]} {request[2]} {shown!r}: {fault}")

    send_one()


def check_all():
    ends = time.monotonic() + SECONDS
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] not in LEFT_OUT:
                check(path, method, operation, ends)
    if time.monotonic() < ends and len(ANSWERED) < ANSWERED_LEAST:
        print(f"only {len(ANSWERED)} operations returned a 2xx: {sorted(ANSWERED)}")


check_all()
