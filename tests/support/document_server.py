"""An HTTP server of documents and redirects."""

import http.server
import threading

from documents import tiny_pdf


class DocumentServer(http.server.ThreadingHTTPServer):
    """A document server on loopback, like a company's file server."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.hits = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def host(self):
        return f"127.0.0.1:{self.server_port}"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.hits.append(self.path)
            if self.path.startswith("/to/"):
                self.send_response(307)
                self.send_header("Location", self.path[4:])
                self.end_headers()
                return
            if self.path == "/a.pdf":
                body, status = tiny_pdf("fetched from afar"), 200
            elif self.path == "/words":
                body, status = b"not a document", 200
            elif self.path == "/big":
                body, status = b"%PDF-1.4\n" + b"x" * (51 << 20), 200
            else:
                body, status = b"nothing", 404
            self.send_response(status)
            self.end_headers()
            try:
                self.wfile.write(body)
            except ConnectionError:
                pass

        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))  # with bytes unread, closing resets the connection
            self.do_GET()

        def log_message(self, *args):
            pass
