"""A cluster of three RabbitMQ nodes on loopback, started by deploy/broker, and its faults."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NODES = (1, 2, 3)
# Seconds: `deploy/broker` itself gives a node 90 s to start and 30 s to stop.
COMMAND_LIMIT = 240


class ProcessError(Exception):
    """A node or a process of Harebell did not do what was requested."""


class Cluster:
    """Three nodes. With `partition_handling`, a relay carries the connections between them and can cut one off."""

    def __init__(self, folder, release, partition_handling=None):
        self.folder = folder
        self.release = release
        self.relay = None
        self._unavailable = set()
        folder.mkdir(parents=True)
        if partition_handling:
            # The default of 60 s would leave no time for the partition itself within the 90 s of the cut.
            (folder / "advanced.config").write_text(
                f"[{{rabbit, [{{cluster_partition_handling, {partition_handling}}}]}},"
                " {kernel, [{net_ticktime, 20}]}].\n")
            self._start_relay()
        try:
            self.urls = self._broker("cluster", folder, "--nodes", str(len(NODES)), "--release", release).split()
            self.version = self.control(1, "-q", "version").strip()
        except BaseException:
            self.close()
            raise

    def _start_relay(self):
        for viewer in NODES:
            node = self.folder / str(viewer)
            node.mkdir()
            lines = [
                f'{{host, {{127,0,{0 if peer == viewer else 20 + viewer},{10 + peer}}}, ["node{peer}"]}}.'
                for peer in NODES
            ]
            (node / "inetrc").write_text("\n".join(lines) + "\n{lookup, [file, native]}.\n")
        self.relay = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("relay.py"), self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        )

    def _broker(self, command, folder, *arguments):
        environment = {key: value for key, value in os.environ.items() if key != "HAREBELL_BROKER_RELEASE"}
        # Its output goes to files, because a node that outlives it must not hold a pipe open.
        run = subprocess.run(
            [ROOT / "deploy/broker", command, folder, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_LIMIT, env=environment, check=False,
        )
        if run.returncode != 0:
            raise ProcessError(f"deploy/broker {command} {folder} {' '.join(arguments)}: {run.stderr.strip()}")
        return run.stdout

    def node(self, index):
        return self.folder / str(index)

    # MARK: Queries

    def control(self, index, *arguments):
        """Runs rabbitmqctl for one node, or for any node that is up where `index` is None."""
        if index is None:
            index = next(node for node in NODES if node not in self._unavailable)
        return self._broker("ctl", self.node(index), *arguments)

    def members(self, queue):
        """The nodes with a member of the queue, its leader first."""
        columns = ("name", "leader", "members")
        for row in json.loads(self.control(None, "-q", "list_queues", *columns, "--formatter", "json")):
            if row["name"] == queue:
                names = sorted(row["members"], key=lambda name: name != row["leader"])
                return [int(name.split("@")[0].removeprefix("harebell")) for name in names]
        raise ProcessError(f"there is no queue {queue}")

    def messages(self):
        """How many messages each queue has."""
        columns = ("name", "messages")
        rows = json.loads(self.control(None, "-q", "list_queues", *columns, "--formatter", "json"))
        return {row["name"]: row["messages"] for row in rows}

    def leader(self, queue):
        return self.members(queue)[0]

    def wait_until_complete(self, limit=240):
        """Waits until each node sees the other two. One rabbitmqctl asks all: on a busy machine each takes many
        seconds."""
        names = ", ".join(f"'harebell{index}@node{index}'" for index in NODES)
        # RabbitMQ 4.3 has no Mnesia.
        view = "rabbit_nodes, list_running, []" if self.release == "4.3" else "rabbit_mnesia, cluster_nodes, [running]"
        question = (
            f"{{Views, _}} = rpc:multicall([{names}], {view}, 5000), "
            f"[length(View) || View <- Views, is_list(View)] =:= {[len(NODES)] * len(NODES)}.")
        deadline = time.monotonic() + limit
        answer = None
        while answer != "true":
            if time.monotonic() > deadline:
                raise ProcessError(f"not all nodes see each other after {limit} s: {answer}")
            try:
                answer = self.control(None, "-q", "eval", question).strip()
            except (ProcessError, subprocess.TimeoutExpired) as error:
                answer = str(error)
            if answer != "true":
                time.sleep(0.5)

    # MARK: Faults

    def kill(self, index):
        self._unavailable.add(index)
        self._broker("kill", self.node(index))

    def start(self, index):
        try:
            self._broker("start", self.node(index))
        except ProcessError:
            # A node that waits for a peer in Mnesia may give up; operators restart it.
            self._broker("start", self.node(index))
        self._unavailable.discard(index)

    def restart(self, index):
        self._unavailable.add(index)
        self._broker("stop", self.node(index))
        self.start(index)

    def kill_all(self):
        self._unavailable.update(NODES)
        self._broker("kill", self.folder)

    def start_all(self, nodes=NODES):
        """At the same time: Mnesia makes a node wait for the one that stopped last."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(self.start, nodes))

    def freeze(self, index):
        self._unavailable.add(index)
        os.kill(int(self._broker("pid", self.node(index))), signal.SIGSTOP)

    def thaw(self, index):
        os.kill(int(self._broker("pid", self.node(index))), signal.SIGCONT)
        self._unavailable.discard(index)

    def raise_alarm(self, index):
        self.control(index, "-q", "set_vm_memory_high_watermark", "0.00001")

    def clear_alarm(self, index):
        self.control(index, "-q", "set_vm_memory_high_watermark", "0.3")

    def cut(self, index):
        """Blocks all traffic between this node and the others without closing a connection."""
        self._unavailable.add(index)
        self._tell_relay(f"cut {index}")

    def mend(self, index):
        self._tell_relay(f"mend {index}")
        self._unavailable.discard(index)

    def _tell_relay(self, line):
        self.relay.stdin.write(line + "\n")
        self.relay.stdin.flush()

    def close(self):
        if (self.folder / "nodes").exists():
            try:
                self._broker("stop", self.folder)
            except (ProcessError, subprocess.TimeoutExpired) as error:
                print(f"chaos: {error}", file=sys.stderr)
        if self.relay:
            self.relay.stdin.close()
            self.relay.wait(10)
