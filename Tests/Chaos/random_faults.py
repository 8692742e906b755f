"""Overlapping faults of the broker, the workers and APNs, drawn from a seed."""

import random
import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Callable

from bridge import CALM, REFUSE_OTHER
from cluster import NODES, ProcessError
from traffic import ORDERS, OTHER_TOPIC, PAIR, Request

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
    request = Request(f"{beginning}{number:0{64 - len(beginning)}x}")
    if number % 3 == 0:
        request.topic = OTHER_TOPIC
    elif number % 10 == 1:
        request.queue = ORDERS
    if number % 50 == 7:
        request.reply_to = PAIR
    return request


class Interrupted(Exception):
    """The run ends early."""


@dataclass
class Fault:
    weight: int
    name: str
    # What it befalls: nodes, workers, APNs. None of them has another fault meanwhile.
    things: tuple
    begin: Callable
    seconds: float = 0
    end: Callable = lambda: None
    # Its share of an outage: two nodes or workers, of either kind, make one.
    outage: float = 0.5


class RandomFaults:
    """The faults, their times and durations depend only on the seed. A node, a worker or the simulator that has a fault
    already gets the next one afterwards."""

    def __init__(self, run, seed, minutes, log):
        self._cluster = run.cluster
        self._bridge = run.bridge
        self._random = random.Random(seed)
        self._seconds = minutes * 60
        self._log = log
        self._locks = {thing: threading.Lock() for thing in (*NODES, "worker 1", "worker 2", "APNs")}
        self._begun = time.monotonic()
        self._threads = []
        self._counting = threading.Lock()
        # The shares of the present faults, and the end of the last outage.
        self._outage, self._outage_end = 0, self._begun
        self._is_ending = threading.Event()
        self.errors = []

    def _draw(self):
        draw, cluster, apns = self._random, self._cluster, self._bridge.simulator
        node, other = draw.sample(NODES, 2)
        index = draw.randrange(len(self._bridge.workers))
        worker, name = self._bridge.workers[index], f"worker {index + 1}"
        script = draw.choice(SCRIPTS) + draw.choice(("", REFUSE_OTHER))
        short, long = draw.uniform(1, 10), draw.uniform(10, 30)
        faults = [
            Fault(4, f"kill node {node}", (node,), lambda: cluster.kill(node), short, lambda: cluster.start(node)),
            Fault(3, f"restart node {node}", (node,), lambda: cluster.restart(node)),
            Fault(3, f"freeze node {node}", (node,), lambda: cluster.freeze(node), long, lambda: cluster.thaw(node)),
            Fault(
                2, f"kill nodes {node} and {other}", tuple(sorted((node, other))),
                lambda: (cluster.kill(node), cluster.kill(other)), short, lambda: cluster.start_all([node, other]),
                outage=1),
            Fault(1, "kill all nodes", NODES, cluster.kill_all, 0, cluster.start_all, outage=1),
            Fault(
                2, f"memory alarm of node {node}", (node,),
                lambda: cluster.raise_alarm(node), short, lambda: cluster.clear_alarm(node), outage=1),
            # Without other faults of the broker: Mnesia cannot start a node that is cut off.
            Fault(
                1, f"cut node {node} off", NODES,
                lambda: cluster.cut(node), 3 * long, lambda: self._mend(node), outage=1),
            Fault(4, f"kill {name}", (name,), worker.kill, short, worker.start),
            Fault(
                3, f"freeze {name}", (name,),
                lambda: worker.signal(signal.SIGSTOP), long, lambda: worker.signal(signal.SIGCONT)),
            # 70: the broker or APNs was down until the drain deadline, and open requests were requeued.
            Fault(2, f"drain {name}", (name,), lambda: worker.stop((0, 70)), 0, worker.start),
            Fault(4, f"kill APNs, then {script!r}", ("APNs",), apns.kill, short, lambda: apns.start(script), outage=1),
            Fault(3, f"replace APNs, then {script!r}", ("APNs",), apns.stop, 0, lambda: apns.start(script), outage=1),
        ]
        return draw.choices(faults, [fault.weight for fault in faults])[0]

    def strike(self):
        """Returns when the time is over and every fault has passed."""
        while True:
            pause = self._random.uniform(*INTERVAL)
            fault = self._draw()
            if time.monotonic() + pause > self._begun + self._seconds - CALM_END:
                break
            self._pause(pause)
            thread = threading.Thread(target=self._perform, args=(fault,))
            self._threads.append(thread)
            thread.start()
        for thread in self._threads:
            thread.join()
        self._bridge.simulator.kill()
        self._bridge.simulator.start(LAST_SCRIPT)
        self._pause(max(0.0, self._begun + self._seconds - time.monotonic()))

    def close(self):
        """Starts no new faults, and waits for the running ones, so that no node starts after the end of the run."""
        self._is_ending.set()
        for thread in self._threads:
            thread.join()

    def _pause(self, seconds):
        if self._is_ending.wait(seconds):
            raise Interrupted

    def _perform(self, fault):
        self._say(f"{fault.name}, for {fault.seconds:.0f} s" if fault.seconds else fault.name)
        try:
            with ExitStack() as stack:
                for thing in fault.things:
                    stack.enter_context(self._locks[thing])
                self._pause(0)
                stack.enter_context(self._counted(fault))
                fault.begin()
                self._pause(fault.seconds)
                fault.end()
            self._say(f"{fault.name}: over")
        except Interrupted:
            pass
        except Exception as error:  # A fault that could not be caused is a finding; the others continue.
            self.errors.append(f"{fault.name}: {error}")
            self._say(f"{fault.name}: FAILED: {error}")

    @contextmanager
    def _counted(self, fault):
        with self._counting:
            self._outage += fault.outage
        try:
            yield
        finally:
            with self._counting:
                self._outage_end = self.explained()
                self._outage -= fault.outage

    def explained(self):
        """The moment until which an outage explains that there is no result."""
        return time.monotonic() if self._outage >= 1 else self._outage_end

    def _say(self, text):
        self._log(f"{time.monotonic() - self._begun:7.1f} s  {text}")

    def _mend(self, node):
        self._cluster.mend(node)
        try:
            self._cluster.wait_until_complete(120)
        except ProcessError:
            # Mnesia does not finish a start during which the partition began.
            self._say(f"node {node} does not come back by itself and is restarted")
            self._cluster.restart(node)
            self._cluster.wait_until_complete()
