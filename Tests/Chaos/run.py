"""One load through the bridge, and its totals at the end."""

import asyncio
import time
from dataclasses import dataclass, field

from bridge import Bridge
from cluster import ProcessError
from traffic import (
    CONFIRMED, DEAD, LIMITED, PAIR, REFUSED, REPLIES, REQUESTS, RESULTS, UNKNOWN, Collector, Ledger, Producer, Request,
    declare)

# Seconds.
RESULTS_LIMIT = 240
CONFIRMS_LIMIT = 60
QUEUES_LIMIT = 60

QUEUES = {
    REPLIES: {},
    LIMITED: {"x-max-length": 200, "x-overflow": "reject-publish"},
    PAIR: {"x-quorum-initial-group-size": 2},
}


def calm_message(number):
    return Request(f"00{number:062x}")


@dataclass
class Row:
    """The totals of one run."""

    fault: str
    confirmed: int = 0
    # Without a confirm, nacked or returned: the broker guarantees nothing for these.
    unconfirmed: int = 0
    answered: int = 0
    dead: int = 0
    queued: int = 0
    lost: int = 0
    duplicate_results: int = 0
    duplicate_notifications: int = 0
    metrics: dict = field(default_factory=dict)
    outcomes: dict = field(default_factory=dict)
    collected_again: int = 0
    first: float | None = None
    gap: float = 0.0
    broken: list = field(default_factory=list)

    @property
    def handled_twice(self):
        """Requests that the broker delivered to a second worker after one had sent them: APNs accepted each once more.
        A killed worker counts nothing, and neither does a killed simulator."""
        return max(0, self.duplicate_notifications, self.metrics.get("ended", 0) - self.answered)

    @property
    def published_twice(self):
        """Results beyond these: the connection ended before the broker confirmed the first one."""
        return max(0, self.duplicate_results - self.handled_twice)

    HEAD = (
        "| fault | confirmed | not confirmed | with a result | dead letters | queued | lost | duplicate results | "
        "handled twice | published twice | recognised | first result | longest gap | laws |\n"
        "|---|" + "--:|" * 12 + "---|")

    def __str__(self):
        first = "–" if self.first is None else f"{self.first:.1f} s"
        cells = [
            self.fault, self.confirmed, self.unconfirmed, self.answered, self.dead, self.queued, self.lost,
            self.duplicate_results, self.handled_twice, self.published_twice, self.metrics.get("recognised", 0), first,
            f"{self.gap:.1f} s",
            "BROKEN" if self.broken else "kept",
        ]
        return f"| {' | '.join(map(str, cells))} |"


class Run:
    """Producers and collectors on each node, two workers, and the simulator."""

    def __init__(self, name, folder, cluster, options, message):
        self.name = name
        self.cluster = cluster
        self.bridge = Bridge(folder, options.binary, cluster.urls)
        self.ledger = Ledger(folder.name)
        self._collectors = []
        self._producers = []
        try:
            self.bridge.apply_topology()
            asyncio.run(declare(cluster.urls[0], QUEUES))
            self.bridge.start()
            self.collect([REPLIES, RESULTS, DEAD])
            self._producers = [
                Producer(url, options.rate / len(cluster.urls), self.ledger, message) for url in cluster.urls]
        except BaseException:
            self.close()
            raise

    def collect(self, queues):
        self._collectors += [Collector(url, self.ledger, queues) for url in self.cluster.urls]

    def wait_for(self, condition, limit):
        """Whether the condition held in time."""
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True

    def finish(self, mark):
        """Ends the load and the workers, and computes the totals. Every broken invariant is a line in `broken`."""
        row = Row(self.name)
        if not self.wait_for(lambda: mark.first is not None, RESULTS_LIMIT):
            row.broken.append(f"no result of a request published after the fault within {RESULTS_LIMIT} s")
        for producer in self._producers:
            producer.stop(CONFIRMS_LIMIT)
        for producer in self._producers:
            producer.join(CONFIRMS_LIMIT + 30)
            if producer.is_alive():
                row.broken.append(f"{producer.name} does not end")
        self.wait_for(lambda: not self.ledger.missing(), RESULTS_LIMIT)
        row.first, row.gap = mark.first, mark.gap
        self._end_bridge(row)
        self._account(row)
        return row

    def _end_bridge(self, row):
        for worker in self.bridge.workers:
            if not worker.is_running:
                row.broken.append(f"a worker ended by itself: {worker.tail()}")
                continue
            try:
                worker.stop()
            except ProcessError as error:
                row.broken.append(str(error))
        # The broker counts every five seconds.
        time.sleep(6)
        self.wait_for(lambda: not any(self.cluster.messages().values()), QUEUES_LIMIT)
        for collector in self._collectors:
            collector.stop()
        for collector in self._collectors:
            collector.join(30)
        try:
            self.bridge.simulator.stop()
            row.duplicate_notifications = self.bridge.simulator.seen()["duplicates"]
        except (ProcessError, KeyError) as error:
            row.broken.append(f"the simulator: {error}")

    def _account(self, row):
        for queue, count in self.cluster.messages().items():
            if count:
                row.broken.append(f"{count} messages are left in {queue}")
                self.cluster.control(None, "-q", "purge_queue", queue)
            # The queues for retries are named after it.
            if queue.startswith(REQUESTS):
                row.queued += count
        ledger = self.ledger
        missing = ledger.missing()
        row.lost = max(0, len(missing) - row.queued)
        if row.lost:
            names = ", ".join(missing[:20]) + (" …" if len(missing) > 20 else "")
            row.broken.append(f"{row.lost} confirmed requests are lost, of these: {names}")
        if ledger.strangers:
            row.broken.append(f"{len(ledger.strangers)} messages of no request, the first {ledger.strangers[0]}")
        row.confirmed = ledger.count(CONFIRMED)
        row.unconfirmed = ledger.count(UNKNOWN) + ledger.count(REFUSED)
        row.answered, row.dead = ledger.answered, ledger.dead
        row.duplicate_results, row.collected_again = ledger.duplicates, ledger.redelivered
        row.metrics, row.outcomes = dict(self.bridge.metrics()), dict(ledger.outcomes)
        redeliveries = row.metrics.get("deliveries", 0) - row.answered
        if not any(worker.was_killed for worker in self.bridge.workers) and (
                row.duplicate_notifications > redeliveries + row.metrics.get("uncertain", 0)):
            row.broken.append(
                f"{row.duplicate_notifications} notifications were accepted twice, and only {redeliveries} requests "
                "were delivered twice")
        if row.confirmed == 0:
            row.broken.append("nothing was published")

    def close(self):
        """Ends all remaining processes."""
        for client in [*self._producers, *self._collectors]:
            client.stop()
        self.bridge.kill()
        for client in [*self._producers, *self._collectors]:
            client.join(30)
