"""Chains of tool calls through the real gateway, before real servers over HTTP and stdio that break on purpose.

A cross-check of the simulation in real time: nothing is compressed, and the profiles are the shipped ones. Each group
has a gateway and three servers of its own, of which one is gone for a while, and a few agents with one chain each.
"""
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from process import Process, free_port  # noqa: E402
from session import Session  # noqa: E402

AGENTS = 4
SERVERS = 3
THINKS_SECONDS = 0.5
OUTAGE_SECONDS = 20
STEP_SECONDS = 0.7
LATE_MS = 2000
SETTLE_SECONDS = 3
CLIENT_SECONDS = 60
FAULTS = 0.15
HTTP_FAULTS = ["stall", "exec+stall", "429", "429:1", "503", "503:1", "reset", "exec+reset", f"late:{LATE_MS}", "garbage"]
CHILD_FAULTS = ["stall", "exec+stall", "garbage", "death", "exec+death"]
TOOLS = ["read", "pay", "charge"]


def rates(faults, share):
    return ",".join(f"{fault}={share / len(faults):.6f}" for fault in faults)


class Group:
    """A gateway, its servers, and what the servers wrote down."""

    def __init__(self, build, directory, profile, seed, faults=FAULTS):
        self.chaos = os.path.abspath(f"{build}/tests/lib/chaos")
        self.directory = directory
        self.faults = faults
        self.seed = seed
        os.makedirs(directory)
        self.ports = [free_port() for _ in range(SERVERS - 1)]
        self.processes = {}
        self.starts = {}
        for i in range(SERVERS - 1):
            self.start_server(i)
        self.port = free_port()
        config = f"{directory}/holdfast.json"
        with open(config, "w", encoding="utf-8") as file:
            json.dump(self.config(profile), file)
        argv = [os.path.abspath(f"{build}/holdfast"), "serve", "--config", config]
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_RUNTIME_DIR"] = directory
        self.gateway = Process("holdfast", argv, self.port, f"{directory}/gateway.log")

    def ledger(self, i):
        return f"{self.directory}/ledger{i}"

    def flags(self, i, faults):
        return ["--ledger", self.ledger(i), "--fault", rates(faults, self.faults)]

    def first_seed(self, i):
        """Each start of a server has a seed of its own, counted from here: else it would die again where it died."""
        return (self.seed * SERVERS + i) * 1000

    def start_server(self, i):
        self.starts[i] = self.starts.get(i, 0) + 1
        seed = ["--seed", str(self.first_seed(i) + self.starts[i])]
        argv = [self.chaos, "--http", str(self.ports[i]), *seed, *self.flags(i, HTTP_FAULTS)]
        self.processes[i] = Process(f"server {i}", argv, self.ports[i], f"{self.directory}/server{i}.log")

    def child(self):
        """Starts only while it may, and says who it is."""
        i = SERVERS - 1
        flags = " ".join(f"'{flag}'" for flag in self.flags(i, CHILD_FAULTS))
        script = f"""cd {self.directory}
test ! -e gone || exit 1
echo $$ >pid
starts=$(($(cat starts 2>/dev/null || echo 0) + 1))
echo $starts >starts
exec {self.chaos} --stdio --seed $(({self.first_seed(i)} + starts)) {flags}"""
        return {"command": "sh", "args": ["-c", script]}

    def config(self, profile):
        servers = {f"s{i}": {"url": f"http://127.0.0.1:{port}/mcp"} for i, port in enumerate(self.ports)}
        servers[f"s{SERVERS - 1}"] = self.child()
        tools = {
            "*__read": {"safety": "read_only"},
            "*__charged": {"safety": "read_only"},
            "*__pay": {"safety": "keyed", "idempotencyKey": {"argument": "client_token", "ttl": "24h"}},
        }
        for name in servers:
            tools[f"{name}__charge"] = {
                "reconcile": {
                    "tool": f"{name}__charged",
                    "arguments": {"key": "{{key}}"},
                    "executed": {"pointer": "/structuredContent/happened", "equals": True},
                    "notExecuted": {"pointer": "/structuredContent/happened", "equals": False},
                    "settle": f"{SETTLE_SECONDS}s",
                }
            }
        return {
            "profile": profile,
            "listen": f"127.0.0.1:{self.port}",
            "control": f"{self.directory}/control.sock",
            "log": {"level": "warn"},
            "mcpServers": servers,
            "tools": tools,
        }

    def outage(self, i, after):
        time.sleep(after)
        if i < SERVERS - 1:
            self.processes[i].stop()
            time.sleep(OUTAGE_SECONDS)
            self.start_server(i)
            return
        with open(f"{self.directory}/gone", "w", encoding="ascii"):
            pass
        try:
            with open(f"{self.directory}/pid", encoding="ascii") as pid:
                os.kill(int(pid.read()), signal.SIGKILL)
        except (OSError, ValueError):
            pass
        time.sleep(OUTAGE_SECONDS)
        os.unlink(f"{self.directory}/gone")

    def executions(self):
        """How often each step ran: (server, tool, key) → times."""
        ran = {}
        for i in range(SERVERS):
            try:
                with open(self.ledger(i), encoding="utf-8") as ledger:
                    lines = ledger.read().splitlines()
            except FileNotFoundError:
                continue
            for line in lines:
                tool, _, _, _, arguments = line.split(" ", 4)
                if tool in TOOLS:
                    step = (i, tool, json.loads(arguments)["key"])
                    ran[step] = ran.get(step, 0) + 1
        return ran

    def stop(self):
        self.gateway.stop()
        for process in self.processes.values():
            process.stop()


class Agent(threading.Thread):
    """One chain: steps at random servers, until one goes wrong."""

    def __init__(self, group, number, steps):
        super().__init__(daemon=True)
        self.group = group
        self.name = f"a{number}"
        self.random = random.Random(group.seed * AGENTS + number)
        self.plan = [(self.random.randrange(SERVERS), self.random.choice(TOOLS)) for _ in range(steps)]
        self.told = {}  # step → what was said of its execution
        self.good = False
        self.why = None
        self.session = Session(group.port, "/mcp", CLIENT_SECONDS).open()
        self.session.request("tools/list")

    def step(self, number):
        server, tool = self.plan[number]
        key = f"{self.name}-{number}"
        params = {"name": f"s{server}__{tool}", "arguments": {"key": key}}
        try:
            _, result = self.session.request("tools/call", params)
        except (OSError, RuntimeError) as error:
            self.why = f"{tool}: {error}"
            return False
        outcome = result.get("_meta", {}).get("dev.holdfast/outcome", {})
        right = not result.get("isError") and f"{tool} " in result["content"][0]["text"] if result["content"] else False
        told = "yes" if right else outcome.get("executed")
        self.told[(server, tool, key)] = told
        if right or (tool == "charge" and told == "yes"):
            return True
        self.why = f"{tool}: {outcome.get('reason')}, executed {told}, {outcome.get('attempts')} attempts"
        return False

    def run(self):
        for number in range(len(self.plan)):
            time.sleep(self.random.uniform(0, 2 * THINKS_SECONDS))
            if not self.step(number):
                return
        self.good = True


def run_group(group, steps, results):
    agents = [Agent(group, number, steps) for number in range(AGENTS)]
    chance = random.Random(group.seed)
    outage = threading.Thread(
        target=group.outage, args=(chance.randrange(SERVERS), chance.uniform(0, steps * STEP_SECONDS)), daemon=True
    )
    outage.start()
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.join()
    outage.join()
    time.sleep(LATE_MS / 1000 + 0.5)  # what runs late has run
    ran = group.executions()
    for agent in agents:
        lies = [
            step
            for step, told in agent.told.items()
            if (told == "no" and ran.get(step, 0) > 0) or (told == "yes" and ran.get(step, 0) == 0)
        ]
        results.append({"good": agent.good, "why": agent.why, "lies": len(lies)})
    doubles = sum(1 for (_, tool, _), times in ran.items() if tool != "read" and times > 1)
    results.append({"doubles": doubles})
    group.stop()


def run_profile(build, directory, profile, steps, groups, seed):
    """Returns a figure of all its groups, which run at the same time."""
    results, threads = [], []
    for i in range(groups):
        group = Group(build, f"{directory}/{profile}{i}", profile, seed + i)
        threads.append(threading.Thread(target=run_group, args=(group, steps, results)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    chains = [result for result in results if "good" in result]
    return {
        "chains": len(chains),
        "good": sum(chain["good"] for chain in chains),
        "double_effects": sum(result.get("doubles", 0) for result in results),
        "misreported": sum(chain["lies"] for chain in chains),
        "why": [chain["why"] for chain in chains if chain["why"]],
    }


def overhead_ms(build, directory, calls=2000):
    """What the gateway adds to a call that goes well, at one connection: the difference of the medians."""
    group = Group(build, f"{directory}/overhead", "standard", 1, faults=0)
    medians = []
    for port, tool in ((group.ports[0], "read"), (group.port, "s0__read")):
        session = Session(port, "/mcp").open()
        session.request("tools/list")
        times = []
        for i in range(calls):
            begin = time.perf_counter()
            session.call(tool, {"key": f"o{i}"})
            times.append(time.perf_counter() - begin)
        medians.append(statistics.median(times[calls // 10 :]))
    group.stop()
    return (medians[1] - medians[0]) * 1000


if __name__ == "__main__":
    print(json.dumps(run_profile(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), 1)))
