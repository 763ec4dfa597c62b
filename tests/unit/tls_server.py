"""An HTTPS server for one test: answers each POST with a JSON-RPC result of the size that the path asks for, or
with a redirect to plain HTTP where it asks for `plain`.

usage: tls_server.py CERT KEY [CA]; with CA it wants a client certificate signed by it; prints its port, ends with its standard input."""
import http.server
import re
import ssl
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/plain":
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:%d/0" % self.server.server_address[1])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        call = re.search(rb'"id":(\d+)', body).group(1)
        filler = b"x" * int(self.path.strip("/"))
        answer = b'{"jsonrpc":"2.0","id":%s,"result":{"x":"%s"}}' % (call, filler)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # clients that don't like the certificate are part of the test


server = Server(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
if len(sys.argv) > 3:
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(sys.argv[3])
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
