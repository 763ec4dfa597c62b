"""Processes under measurement: started, waited for, weighed by /proc, and ended again."""
import contextlib
import os
import signal
import socket
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")
START_SECONDS = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def one_cpu():
    """Keeps what is started inside on one CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Process:
    """A server in a process group of its own, so that all of it ends with it."""

    def __init__(self, name, argv, port=None, log=None):
        self.name = name
        self.log = log
        with open(log, "ab") if log else contextlib.nullcontext(subprocess.DEVNULL) as output:
            self.child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        if port:
            self.wait_for(port)

    def wait_for(self, port):
        """Returns when the port takes connections."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if self.child.poll() is not None:
                raise RuntimeError(f"{self.name} ended with status {self.child.returncode}{self.last_words()}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.001)
        raise RuntimeError(f"{self.name} does not listen on port {port}{self.last_words()}")

    def last_words(self):
        if not self.log:
            return ""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return ":\n" + log.read()[-2000:]

    @property
    def pid(self):
        return self.child.pid

    def cpu_seconds(self):
        """User and system time of all its threads so far."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def rss_mb(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
        raise RuntimeError(f"{self.name} has no VmRSS")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def stop(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
