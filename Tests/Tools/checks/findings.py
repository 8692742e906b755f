"""What the checks of this folder have in common."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def end(findings):
    """Prints the findings and ends with 1 if there are any."""
    sys.exit("\n".join(findings) or 0)


# Those of the process have the names that Prometheus' client libraries give them.
NAME = r"(?:harebell|process)_\w+"


def metrics():
    """Every metric of docs/reference/metrics.md with its labels, histograms under each of their series' names."""
    table = {}
    page = (ROOT / "docs/reference/metrics.md").read_text()
    for name, kind, labels in re.findall(rf"^\| `({NAME})` \| (\w+) \| ([^|]*)\|", page, re.M):
        names = set(re.findall(r"`(\w+)`", labels))
        if kind == "histogram":
            table |= {f"{name}_{suffix}": names for suffix in ("sum", "count")} | {f"{name}_bucket": names | {"le"}}
        else:
            table[name] = names
    return table


# Prometheus gives them to every series.
TARGET_LABELS = {"job", "instance"}


def misused_metrics(expression, where):
    """Names that are no metric of Harebell's, and labels that its metrics do not have."""
    known = metrics()
    used = {name for name in re.findall(rf"\b{NAME}", expression)}
    for name in sorted(used - known.keys()):
        yield f"{where}: there is no metric {name} in docs/reference/metrics.md"
    for name, selector in re.findall(rf"\b({NAME})\s*\{{([^}}]*)\}}", expression):
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector):
            if name in known and label not in known[name] | TARGET_LABELS:
                yield f"{where}: {name} has no label {label}"
    labels = set().union(TARGET_LABELS, *(known.get(name, set()) for name in used))
    for clause in re.findall(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)", expression):
        for label in re.findall(r"\w+", clause):
            if label not in labels:
                yield f"{where}: none of its metrics has the label {label}"
