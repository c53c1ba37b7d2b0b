"""Checks the OpenAPI document with the published validator, and against the responses of the gateway."""

import http.client
import json
import urllib.parse
from pathlib import Path

from millrace import Gateway
from sandboxed import reachable_folder
from venv_programs import run_with

PROGRAM = """
import json, sys
from openapi_spec_validator import OpenAPIV31SpecValidator
document = json.load(open(sys.argv[1]))
for error in OpenAPIV31SpecValidator(document).iter_errors():
    print(list(error.absolute_path), error.message)
"""
VALIDATOR = ["openapi-spec-validator==0.7.1"]
EXAMPLES = """
import json, sys
from jsonschema import Draft202012Validator
document = json.load(open(sys.argv[1]))
schemas = document["components"]["schemas"]
def check(place, schema, example):
    validator = Draft202012Validator({**schema, "components": document["components"]})
    for error in validator.iter_errors(example):
        print(place, list(error.absolute_path), error.message)
for name, schema in schemas.items():
    for example in schema.get("examples", []):
        check(name, schema, example)
for path, methods in document["paths"].items():
    for method, operation in methods.items():
        contents = [("body", operation.get("requestBody", {}).get("content", {}))]
        contents += [(status, reply.get("content", {})) for status, reply in operation["responses"].items()]
        for place, content in contents:
            for media, form in content.items():
                if "schema" not in form or "json" not in media and place != "body":
                    continue
                named = schemas[form["schema"]["$ref"].rsplit("/", 1)[1]]
                if "example" in form:
                    check((method, path, place), form["schema"], form["example"])
                elif "examples" not in named:
                    print(method, path, place, "has no example")
"""
CHECKER = ["hypothesis==6.135.0", "jsonschema==4.24.0"]
ASK_FOR_S = 60


def test_the_document_is_valid_openapi_3_1(gateway, tmp_path):
    file = tmp_path / "openapi.json"
    file.write_bytes(gateway.client.get("/openapi.json").body)
    assert json.loads(file.read_text())["openapi"].startswith("3.1")
    assert run_with(VALIDATOR, PROGRAM, str(file)) == ""


def head_of(gateway, method, path):
    """The response without its body, because the body of a stream may be endless."""
    address = urllib.parse.urlsplit(gateway.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    try:
        connection.request(method, path, headers={"Authorization": f"Bearer {gateway.client.key}"})
        return connection.getresponse()
    finally:
        connection.close()


def test_every_operation_of_the_document_has_a_documented_response(gateway):
    paths = gateway.client.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method in operations:
            reply = head_of(gateway, method.upper(), path.replace("{", "").replace("}", ""))
            assert str(reply.status) in operations[method]["responses"], f"{method} {path}: {reply.status}"
            assert reply.status not in (405, 500, 501), f"{method} {path}: {reply.status}"


def test_every_body_and_response_has_an_example_that_its_schema_allows(gateway, tmp_path):
    file = tmp_path / "openapi.json"
    file.write_bytes(gateway.client.get("/openapi.json").body)
    assert run_with(CHECKER, EXAMPLES, str(file)) == ""


def test_requests_generated_from_the_document_get_documented_responses():
    """The requests are the same each time; a slow machine sends fewer of them."""
    program = Path(__file__).with_name("requests_by_schema.py").read_text()
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data", "--mock", "true").start()
        try:
            assert run_with(CHECKER, program, gateway.url, gateway.client.key, str(ASK_FOR_S)) == ""
            assert gateway.popen.poll() is None
        finally:
            gateway.close()
