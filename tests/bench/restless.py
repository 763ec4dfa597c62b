"""A legacy MCP server whose streams break: tests/bench/soak runs it in a thread.

Answers come as event streams with ids, and many end at a byte of chance; who asks with `Last-Event-ID` gets the rest. Its
own streams (GET) live for a moment and are cut, ended or reset. The tool `ask` puts a question on its stream and waits
for the answer, but not for long: nobody has to give one.
"""
import http.server
import json
import random
import socket
import struct
import threading
import time

SCHEMA = {"type": "object"}
TOOLS = [{"name": name, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}} for name in ("echo", "ask", "slow", "big")]
PATIENCE_SECONDS = 1
KEPT = 4096  # answers that can be asked for again


def reset(connection):
    """Closes it so that the peer gets a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, ident = message.get("method"), message.get("id")
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "restless", "version": "1"}}
            session = f"s{random.getrandbits(64):x}"
            self.answer(200, self.result(ident, result), Content_Type="application/json", Mcp_Session_Id=session)
        elif method is None:
            self.server.replied(message)
            self.answer(202)
        elif ident is None:
            self.answer(202)
        elif method == "tools/list":
            self.answer(200, self.result(ident, {"tools": TOOLS}), Content_Type="application/json")
        elif method == "tools/call":
            self.call(ident, message["params"])
        elif method == "ping":
            self.answer(200, self.result(ident, {}), Content_Type="application/json")
        else:
            error = {"jsonrpc": "2.0", "id": ident, "error": {"code": -32601, "message": "Method not found"}}
            self.answer(200, json.dumps(error).encode(), Content_Type="application/json")

    @staticmethod
    def result(ident, result):
        return json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}).encode()

    def call(self, ident, params):
        name, arguments = params["name"], params.get("arguments", {})
        text = "x" * arguments.get("bytes", 0) if name == "big" else arguments.get("text", "done")
        number = self.server.next_number()
        self.begin_stream()
        self.event(f"{number}-0", b"")
        if name == "ask":
            text = self.ask(number)
        if name == "slow" and "progressToken" in params.get("_meta", {}):
            progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1}
            note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
            self.event(f"{number}-1", json.dumps(note).encode())
        answer = self.result(ident, {"content": [{"type": "text", "text": text}]})
        self.server.keep(str(number), answer)
        self.say_some(self.frame(f"{number}-2", answer))

    def ask(self, number):
        question = {"message": "what?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
        request = {"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": question}
        answered = self.server.expect(number)
        self.event(f"{number}-1", json.dumps(request).encode())
        return "answered" if answered.wait(PATIENCE_SECONDS) else "unanswered"

    @staticmethod
    def frame(ident, data):
        return b"id: " + ident.encode() + b"\ndata: " + data + b"\n\n"

    def event(self, ident, data):
        self.wfile.write(self.frame(ident, data) if data else f"id: {ident}\nretry: 100\ndata:\n\n".encode())
        self.wfile.flush()

    def say_some(self, frame):
        """The whole frame, or what chance leaves of it."""
        chance = random.random()
        if chance < 0.6:
            self.wfile.write(frame)
            return
        self.wfile.write(frame[: random.randrange(len(frame))])
        self.wfile.flush()
        if chance < 0.8:
            reset(self.connection)

    def do_GET(self):
        last = self.headers.get("Last-Event-ID", "")
        answer = self.server.kept(last.split("-")[0])
        if answer and random.random() < 0.1:
            self.answer(503)
            return
        self.begin_stream()
        if answer:
            self.say_some(self.frame(f"{last.split('-')[0]}-2", answer))
            return
        until = time.monotonic() + random.uniform(0, 3)
        while time.monotonic() < until:
            self.wfile.write(b": still here\n\n")
            self.wfile.flush()
            time.sleep(0.2)
        if random.random() < 0.5:
            reset(self.connection)

    def do_DELETE(self):
        self.answer(200)


class Restless(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port):
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.number = 0
        self.waiting = {}
        self.answers = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Peers that vanish are no errors here."""

    def shutdown_request(self, request):
        try:
            super().shutdown_request(request)
        except OSError:
            pass

    def next_number(self):
        with self.lock:
            self.number += 1
            return self.number

    def keep(self, key, answer):
        with self.lock:
            self.answers[key] = answer
            if len(self.answers) > KEPT:
                del self.answers[next(iter(self.answers))]

    def kept(self, key):
        with self.lock:
            return self.answers.get(key)

    def expect(self, number):
        with self.lock:
            return self.waiting.setdefault(number, threading.Event())

    def replied(self, message):
        with self.lock:
            waiting = self.waiting.pop(message.get("id"), None)
        if waiting and "result" in message:
            waiting.set()
