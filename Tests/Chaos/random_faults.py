"""Overlapping faults of the broker, the workers and APNs, drawn from a seed."""

import random
import signal
import threading
import time
from contextlib import ExitStack, contextmanager

from bridge import CALM
from cluster import NODES, ClusterError
from traffic import REPLIES

# The script of the simulated APNs until its next restart.
SCRIPTS = [
    CALM,
    CALM + "chance 2%: rst REFUSED_STREAM\nafter 500 requests: goaway Shutdown\n",
    CALM + "chance 1%: cut\n",
    CALM + "chance 4%: status 503 ServiceUnavailable\n",
    CALM + "chance 4%: status 500 InternalServerError\n",
    CALM + "attempt 1, chance 10%: status 429 TooManyRequests\n",
    CALM + "chance 1%: silence\n",
    CALM + "after 10s: hold 6s\n",
    "token 00*: delay 200ms..2s\n",
]
# Prefixes of device tokens with an outcome built into the simulator; each is used for one in so many requests. The last
# three have that outcome at each attempt, and one of them ends the other requests on the connection.
TOKENS = {"dead": 1000, "1a7e": 1001, "c105e": 1003, "dec1": 20000, "cede": 20001, "cab1e": 20003}
# The script of the end: also the device tokens with the same outcome at each attempt are accepted. A request that never
# succeeds can otherwise outlast the run, and disturbs the workers' last drain.
LAST_SCRIPT = CALM + "".join(f"token {token}*: delay 5ms..50ms\n" for token in ("dec1", "cede", "cab1e"))
# Seconds between the beginnings of two faults, and the last ones without a new fault.
INTERVAL = (2, 20)
CALM_END = 30


def varied_message(number):
    beginning = next((token for token, interval in TOKENS.items() if number % interval == 500), "00")
    return f"{beginning}{number:0{64 - len(beginning)}x}", REPLIES


class Interrupted(Exception):
    """The run ends early."""


class RandomFaults:
    """The faults, their times and durations depend only on the seed. A node, a worker or the simulator that has a fault
    already gets the next one afterwards."""

    def __init__(self, run, seed, minutes, log):
        self._run = run
        self._random = random.Random(seed)
        self._seconds = minutes * 60
        self._log = log
        self._nodes = {index: threading.Lock() for index in NODES}
        self._workers = {index: threading.Lock() for index in range(len(run.bridge.workers))}
        self._apns = threading.Lock()
        self._begun = time.monotonic()
        self._threads = []
        self._is_ending = threading.Event()
        self.errors = []

    def _draw(self):
        """The name of the next fault, and its action."""
        draw = self._random
        node, other = draw.sample(NODES, 2)
        worker = draw.randrange(len(self._workers))
        script = draw.choice(SCRIPTS)
        short, long = draw.uniform(1, 10), draw.uniform(10, 30)
        choices = [
            (4, f"kill node {node}, away for {short:.0f} s", lambda: self._kill_node(node, short)),
            (3, f"restart node {node}", lambda: self._restart_node(node)),
            (3, f"freeze node {node} for {long:.0f} s", lambda: self._freeze_node(node, long)),
            (2, f"kill nodes {node} and {other}", lambda: self._kill_two(node, other, short)),
            (1, "kill all nodes", self._kill_all),
            (2, f"memory alarm of node {node} for {short:.0f} s", lambda: self._alarm(node, short)),
            (1, f"cut node {node} off for {3 * long:.0f} s", lambda: self._cut(node, 3 * long)),
            (4, f"kill worker {worker + 1}, away for {short:.0f} s", lambda: self._kill_worker(worker, short)),
            (3, f"freeze worker {worker + 1} for {long:.0f} s", lambda: self._freeze_worker(worker, long)),
            (2, f"drain worker {worker + 1}", lambda: self._drain_worker(worker)),
            (4, f"kill APNs, away for {short:.0f} s, then {script!r}", lambda: self._kill_apns(short, script)),
            (3, f"replace APNs, then {script!r}", lambda: self._replace_apns(script)),
        ]
        _, name, action = draw.choices(choices, [weight for weight, _, _ in choices])[0]
        return name, action

    def strike(self):
        """Returns when the time is over and every fault has passed."""
        while True:
            pause = self._random.uniform(*INTERVAL)
            name, action = self._draw()
            if time.monotonic() + pause > self._begun + self._seconds - CALM_END:
                break
            self._pause(pause)
            thread = threading.Thread(target=self._perform, args=(name, action))
            self._threads.append(thread)
            thread.start()
        for thread in self._threads:
            thread.join()
        with self._apns:
            self._run.bridge.simulator.kill()
            self._run.bridge.simulator.start(LAST_SCRIPT)
        self._pause(max(0.0, self._begun + self._seconds - time.monotonic()))

    def end(self):
        """Starts no new faults, and waits for the running ones, so that no node starts after the end of the run."""
        self._is_ending.set()
        for thread in self._threads:
            thread.join()

    def _pause(self, seconds):
        if self._is_ending.wait(seconds):
            raise Interrupted

    def _perform(self, name, action):
        self._say(name)
        try:
            action()
            self._say(f"{name}: over")
        except Interrupted:
            pass
        except Exception as error:  # A fault that could not be caused is a finding; the others continue.
            self.errors.append(f"{name}: {error}")
            self._say(f"{name}: FAILED: {error}")

    def _say(self, text):
        self._log(f"{time.monotonic() - self._begun:7.1f} s  {text}")

    # MARK: The broker

    @contextmanager
    def _alone_on(self, *nodes):
        """Without another fault of these nodes."""
        with ExitStack() as stack:
            for node in sorted(nodes):
                stack.enter_context(self._nodes[node])
            self._pause(0)
            yield self._run.cluster

    def _kill_node(self, node, seconds):
        with self._alone_on(node) as cluster:
            cluster.kill(node)
            self._pause(seconds)
            cluster.start(node)

    def _kill_two(self, node, other, seconds):
        with self._alone_on(node, other) as cluster:
            cluster.kill(node)
            cluster.kill(other)
            self._pause(seconds)
            cluster.start_all([node, other])

    def _kill_all(self):
        with self._alone_on(*NODES) as cluster:
            cluster.kill_all()
            cluster.start_all()

    def _restart_node(self, node):
        with self._alone_on(node) as cluster:
            cluster.restart(node)

    def _freeze_node(self, node, seconds):
        with self._alone_on(node) as cluster:
            cluster.freeze(node)
            self._pause(seconds)
            cluster.thaw(node)

    def _alarm(self, node, seconds):
        with self._alone_on(node) as cluster:
            cluster.raise_alarm(node)
            self._pause(seconds)
            cluster.clear_alarm(node)

    def _cut(self, node, seconds):
        """Runs without other faults of the broker: Mnesia cannot start a node that is cut off."""
        with self._alone_on(*NODES) as cluster:
            cluster.cut(node)
            self._pause(seconds)
            cluster.mend(node)
            try:
                cluster.wait_until_complete(120)
            except ClusterError:
                # Mnesia does not finish a start during which the partition began.
                self._say(f"node {node} does not come back by itself and is restarted")
                cluster.restart(node)
                cluster.wait_until_complete()

    # MARK: The workers and APNs

    def _kill_worker(self, index, seconds):
        with self._workers[index]:
            worker = self._run.bridge.workers[index]
            worker.kill()
            self._pause(seconds)
            worker.start()

    def _freeze_worker(self, index, seconds):
        with self._workers[index]:
            worker = self._run.bridge.workers[index]
            worker.signal(signal.SIGSTOP)
            self._pause(seconds)
            worker.signal(signal.SIGCONT)

    def _drain_worker(self, index):
        with self._workers[index]:
            worker = self._run.bridge.workers[index]
            # 70: the broker or APNs was down until the drain deadline, and open requests were requeued.
            worker.stop((0, 70))
            worker.start()

    def _kill_apns(self, seconds, script):
        with self._apns:
            self._run.bridge.simulator.kill()
            self._pause(seconds)
            self._run.bridge.simulator.start(script)

    def _replace_apns(self, script):
        with self._apns:
            self._run.bridge.simulator.stop()
            self._run.bridge.simulator.start(script)
