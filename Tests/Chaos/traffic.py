"""Producers with confirms, collectors of results, and the ledger of both."""

import asyncio
import contextlib
import json
import threading
import time
from array import array
from collections import Counter

import aio_pika
import pika
import pika.exceptions
from pika.adapters.utils.connection_workflow import AMQPConnectorException

REQUESTS = "push.requests"
REPLIES = "chaos.replies"
# A reply queue with a limit of 200 results.
LIMITED = "chaos.limited"
# A reply queue with two members.
PAIR = "chaos.pair"
RESULTS = "push.results"
DEAD = "push.dead"
TOPIC = "com.example.chaos"
QUORUM = {"x-queue-type": "quorum"}
# The errors of pika when a connection ends or cannot be opened, in any phase.
CONNECTION_ERRORS = (pika.exceptions.AMQPError, AMQPConnectorException, OSError)
# The same of aio-pika; an unconfirmed request of an ended connection is cancelled.
PUBLISHING_ERRORS = (
    aio_pika.exceptions.AMQPError, RuntimeError, OSError, asyncio.TimeoutError, asyncio.CancelledError)

SENT, CONFIRMED, REFUSED, UNKNOWN = range(4)


def parameters(url):
    """The timeout in seconds is short, so that a frozen node does not delay the run."""
    result = pika.URLParameters(url)
    result.heartbeat = 6
    result.socket_timeout = 3
    result.stack_timeout = 5
    result.blocked_connection_timeout = None
    return result


class Ledger:
    """The state of each request by its number. A message id is RUN-NUMBER."""

    def __init__(self, run):
        self.run = run
        self.states = bytearray()
        self._sent_at = array("d")
        self._results = bytearray()
        self._dead = bytearray()
        self._lock = threading.Lock()
        self.outcomes = Counter()
        # Results redelivered to a collector because its acknowledgement was lost: not caused by the worker.
        self.redelivered = 0
        self.strangers = []
        self._mark = None

    def add(self):
        """The number of a new request."""
        with self._lock:
            self.states.append(SENT)
            self._sent_at.append(time.monotonic())
            self._results.append(0)
            self._dead.append(0)
            return len(self.states) - 1

    def settle(self, numbers, state):
        with self._lock:
            for number in numbers:
                self.states[number] = state

    def message_id(self, number):
        return f"{self.run}-{number}"

    def _number(self, message_id):
        run, _, number = (message_id or "").rpartition("-")
        if run == self.run and number.isdigit() and int(number) < len(self.states):
            return int(number)
        self.strangers.append(message_id)
        return None

    def add_result(self, message_id, outcome, is_redelivered):
        now = time.monotonic()
        with self._lock:
            if (number := self._number(message_id)) is None:
                return
            if self._mark:
                self._mark.add(now, number)
            if is_redelivered and self._results[number]:
                self.redelivered += 1
                return
            self.outcomes[outcome] += 1
            self._results[number] = min(255, self._results[number] + 1)

    def add_dead_letter(self, message_id):
        with self._lock:
            if (number := self._number(message_id)) is not None:
                self._dead[number] = 1

    def mark(self):
        """The fault begins now."""
        with self._lock:
            self._mark = Mark(time.monotonic(), len(self.states))
            return self._mark

    # MARK: Totals

    def count(self, state):
        return self.states.count(state)

    @property
    def answered(self):
        """Requests with a result."""
        return len(self._results) - self._results.count(0)

    @property
    def dead(self):
        return self._dead.count(1)

    @property
    def duplicates(self):
        """Results beyond the first of each request."""
        return sum(self._results) - self.answered

    def missing(self):
        """The numbers of confirmed requests without a result and without a dead letter."""
        with self._lock:
            return [
                number for number, state in enumerate(self.states)
                if state == CONFIRMED and not self._results[number] and not self._dead[number]]

    def lost(self, queued):
        """The message ids of lost confirmed requests; `queued` are the message ids in queues."""
        return [name for name in map(self.message_id, self.missing()) if name not in queued]


class Mark:
    """When results resumed after a fault."""

    def __init__(self, begun, number):
        self.begun = begun
        self._number = number
        self._last = begun
        # Seconds: the longest time without a result, and that until the first result of a request published since.
        self.gap = 0.0
        self.first = None

    def add(self, now, number):
        self.gap = max(self.gap, now - self._last)
        self._last = now
        if self.first is None and number >= self._number:
            self.first = now - self.begun


class Producer(threading.Thread):
    """Publishes to one node with confirms, and reconnects without limit. Requests unconfirmed when a connection
    ended are not published again, so that each request is in the queue at most once."""

    TICK = 0.01
    # Requests without a confirm.
    WINDOW = 500
    # Seconds: short, so that a frozen node does not delay the run.
    CONNECTION_LIMIT = 5

    def __init__(self, url, rate, ledger, message):
        super().__init__(name=f"producer {url}")
        self._url = url
        self._rate = rate
        self._ledger = ledger
        self._message = message
        self._is_stopping = threading.Event()
        self._deadline = 0.0
        self.start()

    def stop(self, patience):
        """Publishes nothing more, and waits for the outstanding confirms for so many seconds."""
        self._deadline = time.monotonic() + patience
        self._is_stopping.set()

    def run(self):
        asyncio.run(self._produce())

    async def _produce(self):
        while not self._is_stopping.is_set():
            with contextlib.suppress(*PUBLISHING_ERRORS):
                connection = await aio_pika.connect(f"{self._url}?heartbeat=6", timeout=self.CONNECTION_LIMIT)
                try:
                    await self._publish_all(connection)
                finally:
                    await asyncio.wait_for(connection.close(), self.CONNECTION_LIMIT)
            await asyncio.sleep(0.3)

    async def _publish_all(self, connection):
        channel = await connection.channel(on_return_raises=True)
        unconfirmed = set()
        due = time.monotonic()
        while not connection.is_closed and not channel.is_closed:
            now = time.monotonic()
            if self._is_stopping.is_set():
                if not unconfirmed or now > self._deadline:
                    return
            else:
                # After a pause, missed messages are not made up for.
                due = max(due, now - 0.1)
                while due <= now and len(unconfirmed) < self.WINDOW:
                    task = asyncio.create_task(self._publish(channel))
                    unconfirmed.add(task)
                    task.add_done_callback(unconfirmed.discard)
                    due += 1 / self._rate
            await asyncio.sleep(self.TICK)

    async def _publish(self, channel):
        number = self._ledger.add()
        token, reply_to = self._message(number)
        body = {
            "device-token": token, "apns-topic": TOPIC, "apns-push-type": "alert",
            "payload": {"aps": {"alert": f"{number}"}},
        }
        message = aio_pika.Message(
            json.dumps(body).encode(), content_type="application/json", reply_to=reply_to,
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT, message_id=self._ledger.message_id(number))
        state = UNKNOWN
        try:
            await channel.default_exchange.publish(message, REQUESTS, mandatory=True)
            state = CONFIRMED
        except aio_pika.exceptions.DeliveryError:
            state = REFUSED
        except PUBLISHING_ERRORS:
            pass
        finally:
            self._ledger.settle([number], state)


class Collector(threading.Thread):
    """Takes results and dead letters through one node, and reconnects without limit."""

    # Deliveries without an acknowledgement.
    PREFETCH = 200

    def __init__(self, url, ledger, queues):
        super().__init__(name=f"collector {url}")
        self._url = url
        self._ledger = ledger
        self._queues = queues
        self._is_stopping = threading.Event()
        self._tag = 0
        self._taken = 0
        self.start()

    def stop(self):
        self._is_stopping.set()

    def run(self):
        while not self._is_stopping.is_set():
            try:
                self._collect()
            except CONNECTION_ERRORS:
                self._is_stopping.wait(0.3)

    def _collect(self):
        connection = pika.BlockingConnection(parameters(self._url))
        try:
            channel = connection.channel()
            channel.basic_qos(prefetch_count=self.PREFETCH)
            channel.add_on_cancel_callback(lambda _: connection.close())
            for queue in self._queues:
                channel.basic_consume(queue, self._take)
            self._tag = self._taken = 0
            while not self._is_stopping.is_set():
                connection.process_data_events(time_limit=0.1)
                self._acknowledge(channel)
        finally:
            if connection.is_open:
                connection.close()

    def _take(self, channel, method, properties, body):
        if method.routing_key == DEAD:
            self._ledger.add_dead_letter(properties.message_id)
        else:
            self._ledger.add_result(properties.correlation_id, json.loads(body)["outcome"], method.redelivered)
        self._tag = method.delivery_tag
        self._taken += 1
        if self._taken >= self.PREFETCH // 4:
            self._acknowledge(channel)

    def _acknowledge(self, channel):
        if self._taken:
            channel.basic_ack(self._tag, multiple=True)
            self._taken = 0


def with_channel(urls, action, limit=60):
    """Runs `action` with a channel of the first node that responds, and again if the connection ends meanwhile."""
    deadline = time.monotonic() + limit
    while True:
        for url in urls:
            try:
                connection = pika.BlockingConnection(parameters(url))
                try:
                    return action(connection.channel())
                finally:
                    if connection.is_open:
                        connection.close()
            except CONNECTION_ERRORS:
                if time.monotonic() > deadline:
                    raise
        time.sleep(0.5)


def messages(channel, queue):
    """The number of ready messages in a queue, queried from its leader."""
    return channel.queue_declare(queue, passive=True).method.message_count


def take_all(channel, queue):
    """The message ids in a queue, which is empty afterwards."""
    found = []
    while True:
        method, properties, _ = channel.basic_get(queue)
        if method is None:
            return found
        found.append(properties.message_id)
        channel.basic_ack(method.delivery_tag)
