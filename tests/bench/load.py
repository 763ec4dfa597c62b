"""Load by wrk: the same tools/call at a number of connections, with what came back checked."""
import json
import os
import subprocess

from session import VERSION, Session

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = "static"
CHECKED_CONNECTIONS = 8


class Load:
    """Calls one tool at one endpoint. Answers are checked one by one before measuring, and by their size while."""

    def __init__(self, name, port, path, tool, process=None):
        self.name = name
        self.port = port
        self.path = path
        self.process = process
        session = Session(port, path).open()
        self.session = session.id or "none"
        answer = session.call(tool, {"text": TEXT})
        session.close()
        if answer != TEXT:
            raise RuntimeError(f"{name} answered {answer!r}")
        params = {"name": tool, "arguments": {"text": TEXT}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        self.body = json.dumps(message, separators=(",", ":"))
        checked = self.wrk(CHECKED_CONNECTIONS, 1, expect=f'"text":"{TEXT}"')
        self.size = checked["bytes"] / checked["requests"]
        self.slack = 0.05 + CHECKED_CONNECTIONS / checked["requests"]  # wrk counts the bytes of unfinished answers

    def wrk(self, connections, seconds, expect=None):
        environment = os.environ | {"HF_SESSION": self.session, "HF_VERSION": VERSION, "HF_BODY": self.body}
        if expect:
            environment["HF_EXPECT"] = expect
        url = f"http://127.0.0.1:{self.port}{self.path}"
        argv = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", f"{HERE}/call.lua", url]
        output = subprocess.run(argv, env=environment, check=True, capture_output=True, text=True).stdout
        figures = json.loads(output.strip().splitlines()[-1])
        if figures["errors"] or not figures["requests"]:
            raise RuntimeError(f"{self.name}: {figures['errors']} of {figures['requests']} calls went wrong")
        return figures

    def run(self, connections, seconds):
        """Returns the median latency and its 99th percentile in µs, calls per second, and the CPU time per call in µs
        of the process in the middle."""
        before = self.process.cpu_seconds() if self.process else 0
        figures = self.wrk(connections, seconds)
        spent = self.process.cpu_seconds() - before if self.process else 0
        size = figures["bytes"] / figures["requests"]
        if abs(size - self.size) > (self.slack + connections / figures["requests"]) * self.size:
            raise RuntimeError(f"{self.name}: answers of {size:.0f} bytes, {self.size:.0f} expected")
        return {
            "p50": figures["p50"],
            "p99": figures["p99"],
            "rate": figures["requests"] * 1e6 / figures["us"],
            "cpu": spent * 1e6 / figures["requests"],
        }
