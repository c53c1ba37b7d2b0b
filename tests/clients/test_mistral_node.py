"""Mistral's published client for Node: its server URL and its key are all that is changed."""

import json
import os
import subprocess

from documents import data_uri, tiny_pdf
from npm_programs import node_package, node_tools

CLIENT = ("@mistralai/mistralai", "1.15.1")
WITHIN_S = 60
PROGRAM = """
import { Mistral } from '@mistralai/mistralai';
const [url, key, documentUrl] = process.argv.slice(1);
const client = new Mistral({ apiKey: key, serverURL: url });
const model = 'mistral-ocr-latest';
const read = await client.ocr.process({ model, document: { type: 'document_url', documentUrl }, pages: [0, 1] });
const refused = await client.ocr.process({ model, document: { type: 'document_url', documentUrl: 'data:application/pdf;base64,AAAA' } })
  .then(() => 0, (error) => error.statusCode);
console.log(JSON.stringify({ pages: read.pages.map((page) => [page.index, page.markdown]), processed: read.usageInfo.pagesProcessed, refused }));
"""


def test_the_published_client_for_node_reads_a_document(gateway):
    folder = node_package(*CLIENT).parents[2]
    document = data_uri(tiny_pdf("The first page", "The second page"))
    command = [node_tools()[0], "--input-type=module", "--eval", PROGRAM, gateway.url, gateway.client.key, document]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MILLRACE_", "MISTRAL_", "NODE_"))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False, env=environment, cwd=folder)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    out = json.loads(done.stdout)
    assert [index for index, _ in out["pages"]] == [0, 1] and out["processed"] == 2
    assert "first page" in out["pages"][0][1] and "second page" in out["pages"][1][1]
    assert out["refused"] == 422
