"""Every range of special addresses by every way in which a client can name a URL."""

import ipaddress

import pytest
from document_server import DocumentServer
from millrace import Gateway

# docs/design/security.md §2, with ranges inside others that IANA's registry names.
RANGES = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 ::/3 2001::/23 2001::/32 2001:2::/48 2001:20::/28 2001:db8::/32 2002::/16
2620:4f:8000::/48 3fff::/20 4000::/2 5f00::/16 8000::/1 fc00::/7 fe80::/10 fec0::/10 ff00::/8
""".split()
EDGES = sorted({str(edge) for network in map(ipaddress.ip_network, RANGES) for edge in (network[0], network[-1])})


@pytest.fixture(scope="module")
def server():
    with DocumentServer() as documents:
        yield documents
        documents.shutdown()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, server):
    started = Gateway(tmp_path_factory.mktemp("ranges") / "data", "--fetch.allow-hosts", server.host, env={"MILLRACE_MOCK": "true"}).start()
    yield started
    started.close()


def by_document(gateway, _, url):
    return gateway.client.post("/v1/ocr", {"document": {"document_url": url}}).json()["error"]["code"]


def by_redirect(gateway, server, url):
    return by_document(gateway, server, f"http://{server.host}/to/{url}")


def chat(gateway, content="hello", **more):
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": content}], **more}
    return gateway.client.post("/v1/chat/completions", body).json()


def by_image(gateway, _, url):
    return chat(gateway, [{"type": "image_url", "image_url": {"url": url}}])["error"]["code"]


def by_tool_server(gateway, _, url):
    return chat(gateway, mcp_servers=[{"name": "inside", "url": url}])["mcp_server_errors"]["inside"]["code"]


@pytest.mark.parametrize("way", [by_document, by_redirect, by_image, by_tool_server])
def test_neither_end_of_any_range_is_reached(gateway, server, way):
    urls = [f"https://[{edge}]/a" if ":" in edge else f"https://{edge}/a" for edge in EDGES]
    codes = {url: way(gateway, server, url) for url in urls}
    assert {url: code for url, code in codes.items() if code != "fetch_refused"} == {}
