"""Carries the connections between the nodes of a cluster, and can cut one node off.

    relay.py FOLDER     FOLDER is that of `deploy/broker cluster`; ends with its standard input

Node V reaches P's epmd (Erlang's port mapper) at 127.0.(20+V).(10+P), which gives it a port of the relay in place of
P's own: a node does not start where anything listens on a port of that number. The lines `cut 2` and `mend 2` on
standard input are the orders. A cut is that of a packet filter that drops everything: nothing arrives, and no
connection is closed.

Source of epmd's answer: https://www.erlang.org/doc/apps/erts/erl_dist_protocol.html
"""

import asyncio
import sys
from pathlib import Path

NODES = (1, 2, 3)
# Seconds.
PORTS_LIMIT = 60


def port_answer(port):
    """The beginning of PORT2_RESP with the result 0."""
    return bytes([119, 0]) + port.to_bytes(2, "big")


class Relay:
    def __init__(self, folder):
        self._folder = folder
        self._cut = set()
        self._changed = asyncio.Condition()

    async def _ports(self, node):
        """epmd's port and the node's own, which `deploy/broker cluster` chooses."""
        for _ in range(PORTS_LIMIT * 20):
            try:
                _, epmd, distribution = (self._folder / str(node) / "ports").read_text().split()
                return int(epmd), int(distribution)
            except (FileNotFoundError, ValueError):
                await asyncio.sleep(0.05)
        raise TimeoutError(f"node {node} has no ports after {PORTS_LIMIT} s")

    async def run(self):
        for peer in NODES:
            epmd, distribution = await self._ports(peer)
            for viewer in NODES:
                if viewer != peer:
                    port = await self._listen(viewer, peer, 0, distribution)
                    answers = port_answer(distribution), port_answer(port)
                    await self._listen(viewer, peer, epmd, epmd, answers)
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := (await reader.readline()).decode():
            order, node = line.split()
            async with self._changed:
                if order == "cut":
                    self._cut.add(int(node))
                else:
                    self._cut.discard(int(node))
                self._changed.notify_all()

    async def _listen(self, viewer, peer, port, onward_port, answers=None):
        """Returns the port; the second of `answers` replaces the first one at the start of the response."""

        async def accept(reader, writer):
            await self._passage(viewer, peer)
            try:
                onward = await asyncio.open_connection(f"127.0.0.{10 + peer}", onward_port)
            except OSError:
                writer.close()
                return
            await asyncio.gather(
                self._pump(viewer, peer, reader, onward[1]),
                self._pump(viewer, peer, onward[0], writer, answers))

        server = await asyncio.start_server(accept, f"127.0.{20 + viewer}.{10 + peer}", port)
        return server.sockets[0].getsockname()[1]

    async def _passage(self, viewer, peer):
        """Waits until neither of the two nodes is cut off."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._cut.isdisjoint((viewer, peer)))

    async def _pump(self, viewer, peer, reader, writer, answers=None):
        try:
            while data := await reader.read(1 << 16):
                await self._passage(viewer, peer)
                # Other responses are about commands such as rabbitmqctl, whose port is open at every address.
                if answers and data.startswith(answers[0]):
                    data = answers[1] + data[4:]
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # One end has closed; the other one is closed below.
        await self._passage(viewer, peer)
        writer.close()


if __name__ == "__main__":
    asyncio.run(Relay(Path(sys.argv[1])).run())
