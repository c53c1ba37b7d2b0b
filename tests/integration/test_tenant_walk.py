"""What belongs to another tenant, by every route and kind of id: the same response as for what never existed."""

import re
import subprocess
import urllib.parse
import uuid
from contextlib import closing

import pytest
import recordings
import route_table
from documents import data_uri, tiny_pdf
from millrace import Client, eventually
from sandboxed import execution_path, fresh_key, local, reachable_folder, run, start, started

# Parameters whose values are not things of a tenant. A new parameter must be added to what `owned` makes, or here.
OF_NO_TENANT = {"file": "app.js", "kind": "ocr", "model": "mock/chat", "page": "0", "path": "a.txt"}
QUERIES_WITH_IDS = {"ids": "job_id", "execution_id": "execution_id", "tenant": "tenant"}


@pytest.fixture(scope="module")
def gateway():
    with reachable_folder() as folder, closing(start(folder / "data", "--mock", "true")) as ready:
        yield ready


def ssh_key(folder):
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", folder / "key"], check=True)
    return (folder / "key.pub").read_text().strip()


@pytest.fixture(scope="module")
def public_key(tmp_path_factory):
    return ssh_key(tmp_path_factory.mktemp("walk"))


def new_client(gateway, tenant, scopes):
    made = gateway.client.post("/v1/admin/keys", {"name": "walk", "tenant": tenant, "scopes": sorted(scopes)})
    assert made.status in (200, 201), made.body
    return Client(gateway.url, made.json()["key"])


@pytest.fixture(scope="module")
def table(gateway):
    return route_table.operations(gateway.client)


@pytest.fixture(scope="module")
def other_tenant(gateway, table):
    """A key of another tenant with all scopes but `admin`."""
    return new_client(gateway, "other", {each.scope for each in table if each.scope} - {"admin", "metrics"})


@pytest.fixture(scope="module")
def owned(gateway, public_key):
    """Ids of the tenant `default`, by the names that parameters have."""
    client, machine = gateway.client, local(gateway.client)
    done, _ = run(client, ["sh", "-c", "echo owned > $MILLRACE_ARTIFACTS/a.txt"])
    assert client.request("PUT", f"/v1/machines/{machine}/files/{OF_NO_TENANT['path']}", "owned").status == 201
    (artifact,) = client.get(f"/v1/machines/{machine}/artifacts").json()["items"]
    running = started(client, ["sleep", "600"])
    session = client.post(f"/v1/machines/{machine}/ssh", {"public_key": public_key}, headers=fresh_key()).json()["session_id"]
    path = f"/v1/machines/{machine}/ssh/{session}"
    eventually(lambda: client.get(path).json()["status"] == "ready", what="the session is ready")
    document = client.submit_ocr(data_uri(tiny_pdf("owned"))).json()["id"]
    chat = client.post("/v1/chat/completions", {"model": "mock/chat", "deferred": True, "messages": [{"role": "user", "content": "owned"}]})
    assert client.post("/v1/admin/queues/stt/pause").status == 200
    spoken = recordings.submit(gateway, recordings.silence(1))
    jobs = [document, chat.json()["request_id"]]
    for job in jobs:
        client.wait_terminal(job)
    jobs += [spoken, done["execution_id"], running["execution_id"]]
    key = client.post("/v1/admin/keys", {"name": "owned", "scopes": ["ocr"]}).json()["id"]
    drawn = client.post("/v1/images/generations", {"model": "mock/image", "prompt": "owned", "response_format": "url"})
    image = urllib.parse.urlsplit(drawn.json()["data"][0]["url"])
    assert client.get(f"{image.path}?{image.query}").status == 200
    body, content_type = recordings.form(b"owned", name="owned.txt")
    stored = client.post("/v1/files", body, headers={"Content-Type": content_type}).json()["id"]
    requests = [{"custom_id": "a", "body": {"model": "none", "messages": "owned"}}]
    batch = client.post("/v1/batch/jobs", {"requests": requests, "endpoint": "/v1/chat/completions"}).json()["id"]
    begun = client.post("/v1/uploads", {"purpose": "batch", "filename": "owned.txt", "bytes": 5, "mime_type": "text/plain"}).json()
    webhook = client.post("/v1/webhooks", {"url": "https://app.example/owned", "events": ["batch.*"]}).json()["id"]
    delivery = client.post(f"/v1/webhooks/{webhook}/test").json()["id"]
    yield {
        "webhook_id": [webhook],
        "delivery_id": [delivery],
        "file_id": [stored],
        "upload_id": [begun["id"]],
        "batch_id": [batch],
        "signed_id": [stored.removeprefix("file-")],
        "job_id": jobs,
        "request_id": jobs,
        "machine_id": [machine],
        "execution_id": [running["execution_id"], done["execution_id"]],
        "artifact_id": [artifact["artifact_id"]],
        "session_id": [session],
        "key_id": [key],
        "image_id": [image.path.rsplit("/", 1)[1]],
        "tenant": ["default"],
        "worker": [each["name"] for each in client.get("/v1/admin/workers").json()["items"]],
    }
    client.request("DELETE", execution_path(running), headers=fresh_key())


@pytest.fixture(scope="module")
def own_machine(other_tenant):
    made = other_tenant.post("/v1/machines", {"name": "mine"}, headers=fresh_key())
    assert made.status in (200, 201, 202), made.body
    return made.json()["machine_id"]


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")


def never_existed(value):
    """A value of the same form."""
    if UUID.search(value):
        return UUID.sub(str(uuid.uuid4())[:14] + "7" + str(uuid.uuid4())[15:], value)
    return value[:-3] + ("zzz" if value[-3:] != "zzz" else "yyy")


def comparable(reply, values):
    """The response without what names the request, its time, and the ids that were sent."""
    headers = {name: value for name, value in reply.headers.items() if not re.match("date|content-length|x-ratelimit-", name)}
    text = f"{headers} {reply.body.decode()}"
    ids = {name: value for name, value in values.items() if name not in OF_NO_TENANT}
    for name, value in {"request": reply.headers["x-request-id"], **ids}.items():
        text = text.replace(value, f"<{name}>")
    return reply.status, text


def choices(operation, owned, own_machine):
    """For each id of `owned` in each place: values for all parameters, and the same with an id that never existed."""
    fixed = {name: OF_NO_TENANT[name] for name in operation.parameters if name in OF_NO_TENANT}
    names = [name for name in operation.parameters if name not in fixed]
    for name in names:
        assert name in owned, f"{operation.name}: whose is {name}?"
        for value in owned[name]:
            others = {each: owned[each][0] for each in names if each != name}
            fresh = {each: never_existed(value) for each, value in others.items()}
            yield {**fixed, **others, name: value}, {**fixed, **fresh, name: never_existed(value)}
            if "machine_id" in others:
                mine = {**fixed, **others, "machine_id": own_machine}
                yield {**mine, name: value}, {**mine, name: never_existed(value)}


def state_of(gateway, owned):
    """All that the owner and the administrator see, except times of use."""
    client, (machine,) = gateway.client, owned["machine_id"]
    paths = [f"/v1/jobs/{job}" for job in owned["job_id"]] + [f"/v1/jobs/{job}/events" for job in owned["job_id"]]
    paths += ["/v1/jobs?limit=200", "/v1/machines", f"/v1/machines/{machine}", f"/v1/machines/{machine}/executions"]
    paths += [f"/v1/machines/{machine}/artifacts", f"/v1/machines/{machine}/ssh"]
    paths += [f"/v1/machines/{machine}/artifacts/{each}/content" for each in owned["artifact_id"]]
    state = {path: client.get(path).body for path in paths}
    state["queues"] = [(queue["kind"], queue["paused"]) for queue in client.get("/v1/admin/queues").json()["items"]]
    state["limits"] = client.get("/v1/admin/tenants/default").json()["limits"]
    state["keys"] = [{name: value for name, value in key.items() if name != "last_used_at"} for key in client.get("/v1/admin/keys").json()["items"]]
    return state


def test_things_of_another_tenant_are_answered_like_things_that_never_existed(gateway, table, owned, other_tenant, own_machine, public_key):
    before, compared, differing = state_of(gateway, owned), 0, []
    for operation in table:
        for theirs, nobodys in choices(operation, owned, own_machine):
            for headers in ({}, {"Accept": "text/event-stream"}, {"Prefer": "wait=1"}):
                if headers and operation.method != "GET":
                    continue
                body = {"public_key": public_key} if operation.path.endswith("/ssh") else None
                found, missing = (
                    comparable(operation.call(other_tenant, operation.path_with(values), headers, body), values) for values in (theirs, nobodys)
                )
                compared += 1
                allowed = operation.scope != "admin"
                if found != missing or found[0] != (404 if allowed else 403):
                    differing.append((operation.name, theirs, found, missing))
    assert not differing, "\n".join(map(str, differing))
    assert compared > 100
    after = state_of(gateway, owned)
    assert {path: (before[path], after[path]) for path in before if before[path] != after[path]} == {}


def test_ids_of_another_tenant_in_a_query_select_nothing(table, owned, other_tenant, own_machine):
    compared = 0
    for operation in table:
        for name in operation.query:
            assert name in QUERIES_WITH_IDS or not re.search(r"(^|_)ids?$", name), f"{operation.name}: whose is {name}?"
            if name not in QUERIES_WITH_IDS or operation.scope == "admin":
                continue
            path = operation.path_with({"machine_id": own_machine})
            for value in owned[QUERIES_WITH_IDS[name]]:
                found, missing = (
                    comparable(other_tenant.get(f"{path}?{name}={each}"), {"id": each}) for each in (value, never_existed(value))
                )
                assert found == missing and found[0] == 200, (operation.name, found, missing)
                compared += 1
    assert compared >= len(owned["job_id"]) + len(owned["execution_id"])


def test_no_list_and_no_cursor_shows_a_thing_of_another_tenant(gateway, table, owned, other_tenant):
    ids = {value for name, values in owned.items() if name not in ("tenant", "worker") for value in values}
    for operation in table:
        if operation.method != "GET" or operation.parameters or operation.scope in (None, "admin", "metrics"):
            continue
        cursor = gateway.client.get(f"{operation.path}?limit=1").json().get("next_cursor") if "cursor" in operation.query else None
        for query in ("", f"?cursor={cursor}" if cursor else "?"):
            reply = other_tenant.get(operation.path + query)
            assert reply.status in (200, 400, 422), (operation.name, reply.body)
            assert not [each for each in ids if each in reply.body.decode()], operation.name


def test_the_owner_reaches_what_the_walk_asks_for(gateway, owned, table):
    """Without this, a walk over ids that do not exist would compare nothing."""
    reached = {operation.path for operation in table if operation.method == "GET"
               for values, _ in choices(operation, owned, owned["machine_id"][0]) if operation.call(gateway.client, operation.path_with(values)).status != 404}
    expected = {each.path for each in table if each.method == "GET" and set(each.parameters) & set(owned)}
    expected -= {"/v1/images/files/{image_id}", "/v1/files/signed/{signed_id}"}
    assert expected <= reached, expected - reached
