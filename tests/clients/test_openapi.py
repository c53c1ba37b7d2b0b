"""The OpenAPI document against the published validator, and against what the gateway answers."""

import json

from venv_programs import run_with

PROGRAM = """
import json, sys
from openapi_spec_validator import OpenAPIV31SpecValidator
document = json.load(open(sys.argv[1]))
for error in OpenAPIV31SpecValidator(document).iter_errors():
    print(list(error.absolute_path), error.message)
"""
VALIDATOR = ["openapi-spec-validator==0.7.1"]


def test_the_document_is_valid_openapi_3_1(gateway, tmp_path):
    file = tmp_path / "openapi.json"
    file.write_bytes(gateway.client.get("/openapi.json").body)
    assert json.loads(file.read_text())["openapi"].startswith("3.1")
    assert run_with(VALIDATOR, PROGRAM, str(file)) == ""


def test_every_operation_of_the_document_is_answered(gateway):
    paths = gateway.client.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method in operations:
            reply = gateway.client.request(method.upper(), path.replace("{", "").replace("}", ""), body=None)
            assert str(reply.status) in operations[method]["responses"], f"{method} {path}: {reply.status}"
            assert reply.status not in (405, 500, 501), f"{method} {path}: {reply.status}"
