"""A legacy MCP session over HTTP, just enough to measure with: one connection, one request at a time."""
import http.client
import json

VERSION = "2025-11-25"


class Session:
    def __init__(self, port, path, timeout=30):
        self.path = path
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self.id = None
        self.next_id = 0
        self.capabilities = {}

    def post(self, message):
        """Returns status, headers and the JSON-RPC answer, or None where there is none."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.id:
            headers |= {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": VERSION}
        self.connection.request("POST", self.path, json.dumps(message, separators=(",", ":")), headers)
        response = self.connection.getresponse()
        body = response.read().decode()
        if response.headers.get_content_type() == "text/event-stream":
            answers = [line[5:] for line in body.splitlines() if line.startswith("data:") and line[5:].strip()]
            body = answers[-1] if answers else ""
        if response.status >= 400:
            raise RuntimeError(f"HTTP status {response.status}: {body[:500]}")
        return response.headers, json.loads(body) if body.strip() else None

    def request(self, method, params=None):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params or {}}
        headers, answer = self.post(message)
        if not answer or answer.get("id") != self.next_id or "result" not in answer:
            raise RuntimeError(f"{method} was answered {answer}")
        return headers, answer["result"]

    def open(self, capabilities=None):
        client = {"name": "bench", "version": "1"}
        params = {"protocolVersion": VERSION, "capabilities": capabilities or {}, "clientInfo": client}
        headers, result = self.request("initialize", params)
        self.id = headers.get("Mcp-Session-Id")
        self.capabilities = result["capabilities"]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def call(self, tool, arguments):
        _, result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{tool} failed: {result}")
        return result["content"][0]["text"]

    def close(self):
        self.connection.close()
