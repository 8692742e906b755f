"""Producers with confirms, collectors of results, and the ledger of both."""

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass

import aio_pika

REQUESTS = "push.requests"
# Requests for a decoder that is a program.
ORDERS = "push.requests.orders"
REPLIES = "chaos.replies"
# A reply queue with a limit of 200 results.
LIMITED = "chaos.limited"
# A reply queue with two members.
PAIR = "chaos.pair"
RESULTS = "push.results"
DEAD = "push.dead"
# That of docs/produce/examples/process/decoder.py.
TOPIC = "com.example.app"
# An app with a key of its own, which APNs may refuse.
OTHER_TOPIC = "com.example.other"
# When a connection ends or cannot be opened, in any phase; an unconfirmed request of an ended one is cancelled.
CONNECTION_ERRORS = (aio_pika.exceptions.AMQPError, RuntimeError, OSError, asyncio.TimeoutError, asyncio.CancelledError)
# Seconds: short, so that a frozen node does not delay the run.
CONNECTION_LIMIT = 5

SENT, CONFIRMED, REFUSED, UNKNOWN = range(4)


@dataclass
class Request:
    token: str
    reply_to: str = REPLIES
    queue: str = REQUESTS
    topic: str = TOPIC

    @property
    def body(self):
        if self.queue == ORDERS:
            return {"user": {"device": self.token}, "title": "Chaos", "text": "is over"}
        payload = {"aps": {"alert": self.token}}
        return {
            "device-token": self.token, "apns-topic": self.topic, "apns-push-type": "alert", "payload": payload}


class Ledger:
    """The state of each request by its number. A message id is RUN-NUMBER."""

    def __init__(self, run):
        self.run = run
        self.states = bytearray()
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
            self._results.append(0)
            self._dead.append(0)
            return len(self.states) - 1

    def settle(self, number, state):
        with self._lock:
            self.states[number] = state

    def message_id(self, number):
        return f"{self.run}-{number}"

    def _number(self, message_id):
        run, _, number = (message_id or "").rpartition("-")
        if run == self.run and number.isdigit() and int(number) < len(self.states):
            return int(number)
        self.strangers.append(message_id)
        return None

    def add_result(self, message_id, topic, outcome, is_redelivered):
        now = time.monotonic()
        with self._lock:
            if (number := self._number(message_id)) is None:
                return
            if self._mark and topic != OTHER_TOPIC:
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
        """The message ids of confirmed requests without a result and without a dead letter."""
        with self._lock:
            return [
                self.message_id(number) for number, state in enumerate(self.states)
                if state == CONFIRMED and not self._results[number] and not self._dead[number]]


class Mark:
    """When results resumed after a fault."""

    def __init__(self, begun, number):
        self.begun = begun
        self._number = number
        self._last = begun
        # The moment until which faults explain that there is no result.
        self.explained = lambda: begun
        # Seconds: the longest time without a result, the part without an explanation, and the time until the first
        # result of a request published since.
        self.gap = 0.0
        self.unexplained = 0.0
        self.first = None

    def add(self, now, number):
        self.gap = max(self.gap, now - self._last)
        self.unexplained = max(self.unexplained, now - max(self._last, self.explained()))
        self._last = now
        if self.first is None and number >= self._number:
            self.first = now - self.begun


@contextlib.asynccontextmanager
async def connected(url):
    connection = await aio_pika.connect(f"{url}?heartbeat=6", timeout=CONNECTION_LIMIT)
    try:
        yield connection
    finally:
        await asyncio.wait_for(connection.close(), CONNECTION_LIMIT)


class Client(threading.Thread):
    """Is connected to one node, and reconnects without limit."""

    TICK = 0.01

    def __init__(self, kind, url, ledger):
        super().__init__(name=f"{kind} {url}")
        self._url = url
        self._ledger = ledger
        self._is_stopping = threading.Event()
        self._deadline = 0.0

    def stop(self, patience=0):
        """Ends it, after the outstanding confirms or so many seconds."""
        self._deadline = time.monotonic() + patience
        self._is_stopping.set()

    def run(self):
        asyncio.run(self._reconnect())

    async def _reconnect(self):
        while not self._is_stopping.is_set():
            with contextlib.suppress(*CONNECTION_ERRORS):
                async with connected(self._url) as connection:
                    await self._work(connection)
            await asyncio.sleep(0.3)


class Producer(Client):
    """Publishes with confirms. Requests unconfirmed when a connection ended are not published again, so that each
    request is in the queue at most once."""

    # Requests without a confirm.
    WINDOW = 500

    def __init__(self, url, rate, ledger, message):
        super().__init__("producer", url, ledger)
        self._rate = rate
        self._message = message
        self.start()

    async def _work(self, connection):
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
        request = self._message(number)
        message = aio_pika.Message(
            json.dumps(request.body).encode(), content_type="application/json", reply_to=request.reply_to,
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT, message_id=self._ledger.message_id(number))
        state = UNKNOWN
        try:
            await channel.default_exchange.publish(message, request.queue, mandatory=True)
            state = CONFIRMED
        except aio_pika.exceptions.DeliveryError:
            state = REFUSED
        except CONNECTION_ERRORS:
            pass
        finally:
            self._ledger.settle(number, state)


class Collector(Client):
    """Takes results and dead letters."""

    # Deliveries without an acknowledgement.
    PREFETCH = 200

    def __init__(self, url, ledger, queues):
        super().__init__("collector", url, ledger)
        self._queues = queues
        self.start()

    async def _work(self, connection):
        channel = await connection.channel()
        await channel.set_qos(self.PREFETCH)
        for name in self._queues:
            queue = await channel.get_queue(name, ensure=False)
            await queue.consume(self._take)
        consumers = (await channel.get_underlay_channel()).consumers
        # The broker may cancel a consumer.
        while len(consumers) == len(self._queues) and not channel.is_closed and not self._is_stopping.is_set():
            await asyncio.sleep(self.TICK)

    async def _take(self, message):
        if message.routing_key == DEAD:
            self._ledger.add_dead_letter(message.message_id)
        else:
            result = json.loads(message.body)
            self._ledger.add_result(
                message.correlation_id, result["apns-topic"], result["outcome"], message.redelivered)
        with contextlib.suppress(*CONNECTION_ERRORS):
            await message.ack()


async def declare(url, queues):
    """Quorum queues, by name with their other arguments."""
    async with connected(url) as connection:
        channel = await connection.channel()
        for name, arguments in queues.items():
            await channel.declare_queue(name, durable=True, arguments={"x-queue-type": "quorum", **arguments})
