"""grafana.py FILE: writes a test for promtool, by which each query of the dashboard has something to show. The panels
show every metric, and nothing else.

The test has a series for each selector of the queries, with the labels that docs/reference/metrics.md gives its metric.
"""

import json
import re
import sys
from pathlib import Path

import yaml

from findings import NAME, ROOT, end, metrics, misused_metrics

VARIABLES = {"$job": "harebell", "$__rate_interval": "1m"}


def queries():
    """(title of the panel, PromQL) of each query, for all that its variables offer."""
    dashboard = json.loads((ROOT / "deploy/grafana/dashboards/harebell.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], re.sub(r"\$\w+", lambda match: VARIABLES.get(match[0], ".*"), target["expr"])


def series(name, selector):
    """(series, values) that the selector selects, for an hour: counters that grow, gauges of 1."""
    values = "1+1x240" if re.search("_(total|bucket|sum|count)$", name) else "1x240"
    labels = {"job": "harebell", "instance": "a"} | {label: "a" for label in metrics().get(name, [])}
    for label, value in re.findall(r'(\w+)=~?"([^"]*)"', selector):
        if value != ".*":
            labels[label] = value.split("|")[0]
    for bound in ("0.5", "+Inf") if "le" in labels else (None,):
        shown = labels | {"le": bound} if bound else labels
        yield name + "{" + ", ".join(f'{label}="{value}"' for label, value in shown.items()) + "}", values


def check():
    selected, tests, shown = set(), [], ""
    for title, query in queries():
        yield from misused_metrics(query, title)
        shown += query
        for name, selector in re.findall(rf"\b({NAME}|up)\{{([^}}]*)\}}", query):
            selected.update(series(name, selector))
        tests.append({"expr": f"absent({query})", "eval_time": "30m", "exp_samples": []})
    for name in sorted({re.sub("_(bucket|sum|count)$", "", name) for name in metrics()}):
        if name not in shown:
            yield f"no panel shows {name}"
    test = {
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in sorted(selected)],
        "promql_expr_test": tests,
    }
    Path(sys.argv[1]).write_text(yaml.safe_dump({"tests": [test]}))


end(list(check()))
