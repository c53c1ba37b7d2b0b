"""The operations of a gateway's OpenAPI document. Tests that walk over them cover a new route without a change."""

import contextlib
import http.client
import re
import urllib.parse
from dataclasses import dataclass

import recordings

# The end of each operation's description (docs/design/http-contract.md §0).
ACCESS = re.compile(r"(Open: needs no key\.|Any valid key\.|Scopes?:? `([a-z:]+)`.*)$")
# The first segments below /v1 of the routes that clients of other vendors call.
VENDOR_ROUTES = {"chat", "models", "ocr", "audio", "embeddings", "files", "uploads", "images", "batches", "batch"}
KIND_SCOPES = {"ocr": "ocr", "chat": "chat", "stt": "audio", "exec": "exec:read"}


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    scope: str  # "": any valid key; None: open
    needs_kind_scope: bool
    parameters: tuple  # of the path
    query: tuple
    body: object  # an example; None: the operation takes no body
    form: str  # the field of the file; "": the operation takes no form
    takes_key: bool  # the Idempotency-Key is stored

    @property
    def name(self):
        return f"{self.method} {self.path}"

    @property
    def is_ours(self):
        return self.scope is not None and self.path != "/metrics" and self.path.split("/")[2] not in VENDOR_ROUTES

    def path_with(self, values):
        path = self.path
        for name in self.parameters:
            path = path.replace("{%s}" % name, urllib.parse.quote(values[name], safe=""))
        return path

    def status(self, client, values, key=None, body="[]"):
        """Only the head of the response is read, since streams may have no end. By default the body is invalid, so an
        allowed request has no effect."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        headers |= {"Content-Type": "application/json"} if self.takes_body else {}
        connection = http.client.HTTPConnection(client.address.hostname, client.address.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(self.method, self.path_with(values), body if self.takes_body else None, headers)
            return connection.getresponse().status

    @property
    def takes_body(self):
        return self.body is not None or bool(self.form)

    def call(self, client, path=None, headers=None, body=None):
        headers = {**({"Idempotency-Key": "walk"} if self.takes_key else {}), **(headers or {})}
        sent = self.body if body is None else body
        if self.form:
            sent, headers["Content-Type"] = recordings.form(b"RIFF", field_of_file=self.form, model="millrace/sphinx-en")
        return client.request(self.method, path or self.path, sent, headers)


def operations(client):
    document = client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    return [_operation(method.upper(), path, each, schemas) for path, methods in document["paths"].items() for method, each in methods.items()]


def _operation(method, path, described, schemas):
    access = ACCESS.search(described["description"])
    assert access, f"{method} {path} does not say who may use it"
    scope = access[2] or ("" if access[1].startswith("Any") else None)
    parameters = [each for each in described.get("parameters", []) if "name" in each]
    content = described.get("requestBody", {}).get("content", {})
    (media, schema), *_ = [*content.items(), (None, None)]
    example = None
    if media == "application/json":
        named = schemas[schema["schema"]["$ref"].rsplit("/", 1)[1]]
        (example, *_) = named["examples"]
    elif method in ("POST", "PUT", "PATCH"):
        example = {}
    form = ""
    if media == "multipart/form-data":
        properties = schemas[schema["schema"]["$ref"].rsplit("/", 1)[1]]["properties"]
        (form,) = [name for name, each in properties.items() if each.get("format") == "binary"]
    return Operation(method, path, scope, "kind:" in access[1] or "job's kind" in access[1],
                     tuple(each["name"] for each in parameters if each["in"] == "path"),
                     tuple(each["name"] for each in parameters if each["in"] == "query"), example, form,
                     any("IdempotencyKey" in each.get("$ref", "") for each in described.get("parameters", [])))
