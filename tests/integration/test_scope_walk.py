"""Every operation with every scope, and without a key."""

import uuid
from contextlib import closing

import pytest
import route_table
from millrace import Client, Gateway, eventually

OPEN = {"/", "/dashboard/{file}", "/docs", "/health", "/livez", "/readyz", "/version", "/openapi.json", "/v1/images/files/{image_id}", "/v1/files/signed/{signed_id}"}
INCLUDED = {"admin": {"admin", "metrics", "tenant:admin"}}
OTHER_IDS = {"worker": "none", "tenant": "none", "kind": "none", "model": "none", "file": "none", "page": "0", "key_id": "none", "path": "none"}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with closing(Gateway(tmp_path_factory.mktemp("scopes") / "data", "--limits.failed-keys-per-minute", "0", role="api").start()) as ready:
        yield ready


@pytest.fixture(scope="module")
def table(gateway):
    return route_table.operations(gateway.client)


def ids(operation, kind="ocr"):
    """Valid ids of things that do not exist."""
    return {name: OTHER_IDS.get(name, f"{kind}-{uuid.uuid4()}") for name in operation.parameters}


def new_key(gateway, *scopes):
    made = gateway.client.post("/v1/admin/keys", {"name": "walk", "scopes": list(scopes)})
    assert made.status in (200, 201), made.body
    key = made.json()["key"]
    # Look-ups of new keys are bounded; every second the process reads all keys.
    eventually(lambda: Client(gateway.url, key).get("/v1/usage").status == 200, what="the key is known")
    return key


def all_scopes(table):
    return sorted({each.scope for each in table if each.scope})


def test_without_a_key_only_the_open_operations_respond(gateway, table):
    assert {each.path for each in table if each.scope is None} == OPEN
    for key in (None, "mr_live_00000000_" + "0" * 43, "default", ""):
        for operation in table:
            status = operation.status(gateway.client, ids(operation), key)
            assert (status == 401) == (operation.scope is not None), (operation.name, key, status)


def test_a_key_with_one_scope_reaches_only_the_operations_of_that_scope(gateway, table):
    for scope in all_scopes(table):
        key = new_key(gateway, scope)
        for operation in table:
            status = operation.status(gateway.client, ids(operation), key)
            may = operation.scope in INCLUDED.get(scope, {scope}) | {None, ""}
            expected = may and not operation.needs_kind_scope
            assert (status != 403) == expected and status != 401 and status < 500, (operation.name, scope, status)


def test_contents_of_a_job_need_the_scope_of_its_kind_too(gateway, table):
    for scope in all_scopes(table):
        key = new_key(gateway, *{scope, "jobs:read", "jobs:write"})
        for operation in [each for each in table if each.needs_kind_scope]:
            for kind, needed in route_table.KIND_SCOPES.items():
                status = operation.status(gateway.client, ids(operation, kind), key)
                assert (status != 403) == (scope == needed), (operation.name, kind, scope, status)
