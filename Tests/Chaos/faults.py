"""The faults that run one by one."""

import time
from dataclasses import dataclass
from typing import Callable

from cluster import NODES, Cluster
from traffic import LIMITED, PAIR, REPLIES, REQUESTS, Request

# Seconds that a killed node or worker stays down.
AWAY = 8
FREEZE = 25
ALARM = 12
UNREAD = 15
CUT = 90
# Results for a queue without a majority, and for how long it has none.
BURST = 400
MINORITY = 45


def of_leader(begin, seconds, end):
    """A fault of the node with the leader of the request queue, from `begin` to `end`."""

    def strike(run):
        leader = run.cluster.leader(REQUESTS)
        begin(run.cluster, leader)
        mark = run.ledger.mark()
        time.sleep(seconds)
        end(run.cluster, leader)
        return mark

    return strike


def nothing(run):
    mark = run.ledger.mark()
    time.sleep(AWAY)
    return mark


def restart_each(run):
    mark = run.ledger.mark()
    for index in NODES:
        run.cluster.restart(index)
        run.cluster.wait_until_complete()
        time.sleep(2)
    return mark


def kill_all(run):
    run.cluster.kill_all()
    mark = run.ledger.mark()
    run.cluster.start_all()
    return mark


def half_limited(number):
    return Request(f"00{number:062x}", LIMITED if number % 2 else REPLIES)


def reply_queue(run):
    """Its queue has been full since the first second of the load."""
    mark = run.ledger.mark()
    time.sleep(UNREAD)
    run.collect([LIMITED])
    return mark


def burst(number):
    """Requests for a reply queue, from a moment on."""
    burst.left -= 1
    return Request(f"00{number:062x}", PAIR if burst.left >= 0 else REPLIES)


burst.left = 0


def lose_majority(run):
    victim = run.cluster.members(PAIR)[-1]
    run.cluster.kill(victim)
    mark = run.ledger.mark()
    burst.left = BURST
    time.sleep(MINORITY)
    run.cluster.start(victim)
    run.collect([PAIR])
    return mark


def kill_workers(run):
    mark = None
    for worker in run.bridge.workers:
        worker.kill()
        mark = mark or run.ledger.mark()
        time.sleep(AWAY / 2)
        worker.start()
        time.sleep(AWAY / 2)
    return mark


@dataclass
class Fault:
    name: str
    title: str
    strike: Callable
    message: Callable | None = None
    partition_handling: str | None = None
    # No connection is lost, so duplicates are not permitted.
    allows_duplicates: bool = True
    # Seconds without a result, at most.
    longest_gap: float | None = None


cut_leader = of_leader(Cluster.cut, CUT, Cluster.mend)
FAULTS = [
    Fault("none", "no fault", nothing, allows_duplicates=False),
    Fault("leader", "the leader of the request queue killed", of_leader(Cluster.kill, AWAY, Cluster.start)),
    Fault("restart-each", "all nodes restarted one by one", restart_each),
    Fault("freeze", f"the leader frozen for {FREEZE} s", of_leader(Cluster.freeze, FREEZE, Cluster.thaw)),
    Fault("kill-all", "all three nodes killed at once", kill_all),
    Fault(
        "alarm", f"memory alarm for {ALARM} s", of_leader(Cluster.raise_alarm, ALARM, Cluster.clear_alarm),
        allows_duplicates=False),
    Fault(
        "reply-queue", f"a reply queue of 200 unread for {UNREAD} s", reply_queue, half_limited,
        allows_duplicates=False),
    Fault(
        "majority", f"one of two members of a reply queue killed for {MINORITY} s", lose_majority, burst,
        longest_gap=12),
    Fault("workers", "each worker killed in turn", kill_workers),
    Fault(
        "partition-pause", f"the leader cut off for {CUT} s, pause_minority", cut_leader,
        partition_handling="pause_minority"),
    Fault(
        "partition-heal", f"the leader cut off for {CUT} s, autoheal", cut_leader, partition_handling="autoheal"),
]
