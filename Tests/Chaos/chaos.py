"""Faults of a cluster, the workers and APNs under load, and whether anything is lost.

Three nodes with quorum queues, producers with confirms, two workers with two threads each, and the simulated APNs, all
on loopback and in a temporary folder. Without --minutes the faults come one by one, with it at random, so that they
overlap. A line for each run says how many requests the broker confirmed and what became of them;
docs/internals/chaos.md explains the columns.

The exit status is 1 if a law is broken: each confirmed request has a result or a dead letter, the queues are empty
afterwards, nothing comes twice where no connection was lost, no notification is sent again that was not delivered
again, and the workers end in order. At random, no 30 seconds without an outage pass without a result of the first app,
either. CHAOS_LOGS names a folder that gets the logs of the nodes, the workers and the simulator.
"""

import argparse
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from cluster import Cluster
from faults import FAULTS
from random_faults import RandomFaults, varied_message
from run import Row, Run, calm_message
from traffic import PAIR

# Seconds of load before a fault, and after it.
BEFORE = 5
AFTER = 5
# Without a result of the app that APNs accepts, outages apart.
LONGEST_GAP = 30


def say(text):
    print(text, flush=True)


def arguments():
    parser = argparse.ArgumentParser(
        prog="Tests/Tools/chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--release", choices=("3", "4.0", "4.3"), default="3", help="of RabbitMQ, as for deploy/broker")
    parser.add_argument("--rate", type=float, default=400, help="requests a second (400)")
    parser.add_argument(
        "--fault", action="append", default=[], choices=[fault.name for fault in FAULTS], help="this one; repeatable")
    parser.add_argument("--minutes", type=float, help="faults at random for so long")
    parser.add_argument("--seed", type=int, help="of the random faults; a fresh one without it")
    return parser.parse_args()


def one_by_one(folder, options):
    """Runs the faults. Those with the same handling of partitions share a cluster."""
    chosen = [fault for fault in FAULTS if not options.fault or fault.name in options.fault]
    rows = []
    for handling in dict.fromkeys(fault.partition_handling for fault in chosen):
        with closing(start_cluster(folder / f"cluster-{handling}", options.release, handling)) as cluster:
            for fault in chosen:
                if fault.partition_handling == handling:
                    rows.append(strike(fault, folder, cluster, options))
    return rows


def start_cluster(folder, release, handling):
    begun = time.monotonic()
    cluster = Cluster(folder, release, handling)
    say(f"chaos: three nodes of RabbitMQ {cluster.version} started in {time.monotonic() - begun:.0f} s, "
        f"partition handling {handling or 'ignore'}")
    return cluster


def strike(fault, folder, cluster, options):
    say(f"chaos: {fault.title}")
    with closing(Run(fault.title, folder / fault.name, cluster, options, fault.message or calm_message)) as run:
        time.sleep(BEFORE)
        mark = fault.strike(run)
        cluster.wait_until_complete()
        time.sleep(AFTER)
        row = run.finish(mark)
    if not fault.allows_duplicates and (row.duplicate_results or row.duplicate_notifications):
        row.broken.append("results or notifications came twice although no connection was lost")
    if fault.longest_gap and row.gap > fault.longest_gap:
        row.broken.append(f"no result for {row.gap:.1f} s, of {fault.longest_gap:g} s at most")
    report(row)
    return row


def at_random(folder, options):
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    handling = random.Random(seed).choice(("pause_minority", "autoheal"))
    say(f"chaos: seed {seed}, {options.minutes:g} minutes")
    with (
        closing(start_cluster(folder / "cluster", options.release, handling)) as cluster,
        closing(Run(f"at random, seed {seed}", folder / "random", cluster, options, varied_message)) as run,
    ):
        run.collect([PAIR])
        time.sleep(BEFORE)
        mark = run.ledger.mark()
        with closing(RandomFaults(run, seed, options.minutes, say)) as faults:
            mark.explained = faults.explained
            faults.strike()
        cluster.wait_until_complete()
        row = run.finish(mark)
    row.broken += faults.errors
    say(f"chaos: longest gap without an outage {mark.unexplained:.1f} s")
    if mark.unexplained > LONGEST_GAP:
        row.broken.append(f"no result for {mark.unexplained:.1f} s without an outage, of {LONGEST_GAP} s at most")
    report(row)
    return [row]


def report(row):
    say(f"chaos: {row.metrics}, outcomes {row.outcomes}, results collected again {row.collected_again}")
    say(str(row))
    for law in row.broken:
        say(f"chaos: BROKEN: {law}")


def main():
    options = arguments()
    # aio-pika reports each connection that it loses.
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = Path(tempfile.mkdtemp(prefix="harebell-chaos."))
    try:
        rows = at_random(folder, options) if options.minutes else one_by_one(folder, options)
    finally:
        if logs := os.environ.get("CHAOS_LOGS"):
            for log in [*folder.rglob("*.log"), *folder.rglob("start.out")]:
                kept = Path(logs) / log.relative_to(folder)
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(log, kept)
        shutil.rmtree(folder)
    say("\n" + "\n".join([Row.HEAD, *map(str, rows)]))
    return 1 if any(row.broken for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
