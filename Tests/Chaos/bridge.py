"""The processes of Harebell: two workers with two threads each, and the simulated APNs."""

import json
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections import Counter

from cluster import ROOT, ProcessError
from traffic import DEAD, ORDERS, OTHER_TOPIC, REQUESTS, RESULTS, TOPIC

# Seconds.
START_LIMIT = 240
DRAIN_LIMIT = 60
# A delay in the script would override the built-in outcomes of other device tokens.
CALM = "token 00*: delay 5ms..50ms\n"
KEY = ("DEMO123456", "DEMOTEAM01")
OTHER_KEY = ("DEMO654321", "DEMOTEAM02")
REFUSE_OTHER = f"topic {OTHER_TOPIC}: status 403 InvalidProviderToken\n"
# It crashes every twenty seconds.
DECODER = ["timeout", "-s", "KILL", "20", "python3", str(ROOT / "docs/produce/examples/process/decoder.py")]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Process:
    """A command of harebell. Each start adds to its log."""

    def __init__(self, binary, log, arguments):
        self._binary = binary
        self._log = log
        self._arguments = arguments
        self._process = None

    @property
    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def start(self):
        """Starts it, repeatedly until it is ready: a worker without its broker ends, and its service manager restarts
        it."""
        deadline = time.monotonic() + START_LIMIT
        status = 69
        while status == 69 and time.monotonic() < deadline:
            begin = self._log.stat().st_size if self._log.exists() else 0
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    [self._binary, *self._arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            while self.is_running and time.monotonic() < deadline:
                if re.search(rb"^ready$", self._log.read_bytes()[begin:], re.MULTILINE):
                    return
                time.sleep(0.05)
            status = self._process.poll()
            time.sleep(1)
        self.kill()
        raise ProcessError(f"{self._log.name}: not ready, exit status {status}\n{self.tail()}")

    def tail(self):
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])

    def signal(self, number):
        if self.is_running:
            self._process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        if self._process:
            self._process.wait(10)

    def stop(self, statuses=(0,)):
        """SIGTERM. Fails if it does not end with one of these exit codes."""
        self.signal(signal.SIGTERM)
        try:
            status = self._process.wait(DRAIN_LIMIT)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise ProcessError(f"{self._log.name}: still there {DRAIN_LIMIT} s after SIGTERM\n{self.tail()}") from error
        if status not in statuses:
            raise ProcessError(f"{self._log.name}: ended with exit status {status}\n{self.tail()}")


class Worker(Process):
    METRICS = {
        "harebell_deliveries_total": "deliveries", "harebell_notifications_total": "ended",
        "harebell_duplicates_avoided_total": "recognised", "harebell_uncertain_total": "uncertain",
        "harebell_dead_letters_total": "dead letters", "harebell_diverted_results_total": "diverted",
        "harebell_refused_publishes_total": "refused",
    }

    def __init__(self, binary, log, configuration, port):
        super().__init__(binary, log, ["run", "--config", configuration])
        self._port = port
        # Then its metrics are too low.
        self.was_killed = False
        self._ended = Counter()
        self._latest = Counter()

    def metrics(self):
        """Totals over all of this worker's processes; a killed one counts as last observed."""
        if self.is_running:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
                    text = answer.read().decode()
            except OSError:
                return self._ended + self._latest  # It is frozen, or ending.
            self._latest = Counter()
            for line in text.splitlines():
                name = re.match(r"\w+", line)
                if name and name[0] in self.METRICS:
                    self._latest[self.METRICS[name[0]]] += int(float(line.rsplit(" ", 1)[1]))
        return self._ended + self._latest

    def kill(self):
        self._ended, self._latest = self.metrics(), Counter()
        self.was_killed = True
        super().kill()

    def stop(self, statuses=(0,)):
        self._ended, self._latest = self.metrics(), Counter()
        super().stop(statuses)


class Simulator(Process):
    def __init__(self, binary, log, credentials):
        self.port = free_port()
        self._script = log.with_suffix(".script")
        self._keys = f"set key {OTHER_KEY[0]} team={OTHER_KEY[1]} file={credentials}/other/AuthKey.pub\n"
        super().__init__(binary, log, [
            "simulate", "--port", str(self.port), "--json", "--script", self._script,
            "--public-key", credentials / "AuthKey.pub", "--key-id", KEY[0], "--team-id", KEY[1],
            "--certificate", credentials / "simulator.pem", "--private-key", credentials / "simulator.key"])

    def start(self, script=CALM):
        self._script.write_text(self._keys + script)
        super().start()

    def seen(self):
        """Its ledger, once it has ended in order."""
        return json.loads(self._log.read_text().splitlines()[-1])


class Bridge:
    """Two workers and the simulator in a private folder."""

    def __init__(self, folder, binary, urls):
        folder.mkdir()
        credentials = folder / "credentials"
        for owner in (credentials, credentials / "other"):
            subprocess.run(
                [ROOT / "deploy/docker/make-credentials", owner], stdin=subprocess.DEVNULL, check=True, timeout=30)
        self.simulator = Simulator(binary, folder / "simulator.log", credentials)
        self.workers = []
        for index in (1, 2):
            port = free_port()
            configuration = folder / f"worker-{index}.yaml"
            configuration.write_text(f"""\
broker: {{ endpoints: {json.dumps(urls)} }}
queues: [{{ name: {REQUESTS} }}, {{ name: {ORDERS}, decoder: crashing }}]
decoders: [{{ name: crashing, process: {{ command: {json.dumps(DECODER)} }} }}]
results: {{ exchange: "", routing_key: {RESULTS} }}
dead_letter: {{ exchange: "", routing_key: {DEAD} }}
retry: {{ delays_seconds: [2, 5], throttled_delays_seconds: [1, 2] }}
apns: {{ request_timeout_seconds: 10 }}
apps:
  - topic: {TOPIC}
    environment: production
    endpoint: https://localhost:{self.simulator.port}
    ca_file: {credentials}/simulator.pem
    token: {{ key_file: {credentials}/AuthKey.p8, key_id: {KEY[0]}, team_id: {KEY[1]} }}
  - topic: {OTHER_TOPIC}
    environment: production
    endpoint: https://localhost:{self.simulator.port}
    ca_file: {credentials}/simulator.pem
    token: {{ key_file: {credentials}/other/AuthKey.p8, key_id: {OTHER_KEY[0]}, team_id: {OTHER_KEY[1]} }}
workers: 2
admin: {{ listen: "127.0.0.1:{port}" }}
""")
            self.workers.append(Worker(binary, folder / f"worker-{index}.log", configuration, port))
        self._topology = [binary, "topology", "--config", configuration]

    def apply_topology(self):
        subprocess.run(
            [*self._topology, "--apply"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=60)

    def start(self):
        self.simulator.start()
        for worker in self.workers:
            worker.start()

    def metrics(self):
        return sum((worker.metrics() for worker in self.workers), Counter())

    def kill(self):
        for process in [*self.workers, self.simulator]:
            Process.kill(process)
