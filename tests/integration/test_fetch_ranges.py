"""Every range of special addresses, and every spelling of this host, by every way in which a client can name a URL."""

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


def refusal(reply):
    """The code of the error of a response; `url_parsing` if the request was invalid."""
    error = reply.json()["error"]
    return error["code"] if "detail" not in reply.json() or error["code"] == "fetch_refused" else reply.json()["detail"][0]["type"]


def by_document(gateway, _, url):
    return refusal(gateway.client.post("/v1/ocr", {"document": {"document_url": url}}))


def by_picture_of_a_page(gateway, _, url):
    return refusal(gateway.client.post("/v1/ocr", {"document": {"type": "image_url", "image_url": {"url": url}}}))


def by_redirect(gateway, server, url):
    return by_document(gateway, server, f"http://{server.host}/to/{url}")


def chat(gateway, content="hello", **more):
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": content}], **more}
    return gateway.client.post("/v1/chat/completions", body)


def deferred(gateway, *args, **more):
    reply = chat(gateway, *args, **more, deferred=True)
    if reply.status != 200:
        return reply
    job = reply.json()["request_id"]
    gateway.client.wait_terminal(job)
    return gateway.client.get(f"/v1/chat/deferred-completion/{job}")


def image(url):
    return [{"type": "image_url", "image_url": {"url": url}}]


def by_image(gateway, _, url):
    return refusal(chat(gateway, image(url)))


def by_image_of_a_deferred_chat(gateway, _, url):
    return refusal(deferred(gateway, image(url)))


def refused_tool_server(reply):
    if reply.status != 200:
        return refusal(reply)
    error = reply.json()["mcp_server_errors"]["inside"]
    return "redirect" if "redirect" in error["message"] else error["code"]


def by_tool_server(gateway, _, url):
    return refused_tool_server(chat(gateway, mcp_servers=[{"name": "inside", "url": url}]))


def by_redirect_of_a_tool_server(gateway, server, url):
    return by_tool_server(gateway, server, f"http://{server.host}/to/{url}")


def by_tool_server_of_a_deferred_chat(gateway, _, url):
    return refused_tool_server(deferred(gateway, mcp_servers=[{"name": "inside", "url": url}]))


WAYS = [
    by_document,
    by_picture_of_a_page,
    by_redirect,
    by_image,
    by_image_of_a_deferred_chat,
    by_tool_server,
    by_redirect_of_a_tool_server,
    by_tool_server_of_a_deferred_chat,
]
# Spellings of this host, of the cloud's metadata service, and of what is no web address. {port}: of a server that listens there.
FORMS = """
127.0.0.1 127.1 127.0.1 0 0.0.0.0 2130706433 0x7f000001 0x7f.1 0x7f.0.0.0x1 017700000001 0177.0.0.1 127.000.000.001 localhost LOCALHOST
localhost. foo.localhost [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [::ffff:0:127.0.0.1]
[64:ff9b::7f00:1] [2002:7f00:1::] [fe80::1%25lo] [::1%25lo] localho%C5%BFt localho\u017ft 127\u30020\u30020\u30021 \uff11\uff12\uff17.0.0.1 \u2460\u2461\u2466.0.0.1
%31%32%37.0.0.1 169.254.169.254 2852039166 0xa9fea9fe [::ffff:169.254.169.254] [fd00:ec2::254] metadata.google.internal
""".split()
SCHEMES = ["file:///etc/passwd", "ftp://127.0.0.1/a", "gopher://127.0.0.1:{port}/_GET", "dict://127.0.0.1:{port}/info", "//127.0.0.1/a"]
TRICKS = [
    "https://user@127.0.0.1/a",
    "https://example.com@127.0.0.1/a",
    "https://127.0.0.1:{port}#@example.com/",
    "https://127.0.0.1:{port}\\@example.com/",
    "https://example.com:22/a",
    "https://example.com:{port}/a",
    "http://example.com/a",
]
REFUSED = {"fetch_refused", "url_parsing", "redirect"}


@pytest.mark.parametrize("way", WAYS)
def test_no_spelling_of_this_host_and_no_other_scheme_is_reached(gateway, server, way):
    with DocumentServer() as inside:
        urls = [f"{scheme}://{host}{port}/a" for host in FORMS for scheme, port in (("https", ""), ("https", ":{port}"), ("http", ":{port}"))]
        urls = [url.replace("{port}", str(inside.server_port)) for url in urls + SCHEMES + TRICKS]
        codes = {url: way(gateway, server, url) for url in urls}
        inside.shutdown()
    assert {url: code for url, code in codes.items() if code not in REFUSED} == {}
    assert not inside.hits


@pytest.mark.parametrize("way", WAYS)
def test_neither_end_of_any_range_is_reached(gateway, server, way):
    urls = [f"https://[{edge}]/a" if ":" in edge else f"https://{edge}/a" for edge in EDGES]
    codes = {url: way(gateway, server, url) for url in urls}
    assert {url: code for url, code in codes.items() if code not in ("fetch_refused", "redirect")} == {}
