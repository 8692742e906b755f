"""monitoring.py FILE: each alert uses metrics that exist, is tested both ways, and has a section in
docs/operate/runbook.md. That page has no section for another alert, and says for every metric when to look at it. The
panels of the dashboard show every metric, and nothing else.

FILE becomes a test for promtool, by which each query of the dashboard has something to show: it has a series for each
selector, with the labels that docs/reference/metrics.md gives its metric.
"""

import json
import re
import sys
from pathlib import Path

import yaml

from findings import NAME, ROOT, end, metrics, misused_metrics

PAGE = "docs/operate/runbook.md"
VARIABLES = {"$job": "harebell", "$__rate_interval": "1m"}
METRICS = {re.sub("_(bucket|sum|count)$", "", name) for name in metrics()}


def check_alerts():
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    tests = (ROOT / "deploy/prometheus/alerts.test.yaml").read_text()
    quiet = " ".join(series["series"] for series in yaml.safe_load(tests)["tests"][0]["input_series"])
    page = (ROOT / PAGE).read_text()
    sections = re.findall(r"^### (Harebell\w+)$", page, re.M)
    for rule in alerts:
        name = rule["alert"]
        # Another exporter's metrics are that exporter's.
        if re.search(rf"\b{NAME}", rule["expr"]):
            yield from misused_metrics(rule["expr"], name)
        link = f"{{{{ $externalLabels.runbook_page }}}}#{name.lower()}"
        if rule["annotations"].get("runbook_url") != link:
            yield f"{name}: its runbook_url is not {link}"
        for metric in set(re.findall(rf"\b{NAME}", rule["expr"])):
            if f"{metric}{{" not in quiet:
                yield f"{name}: the test of a worker without faults has no {metric}"
        if f'alertname="{name}"' not in tests:
            yield f"{name}: no test has it fire"
    for name in sorted(set(sections) ^ {rule["alert"] for rule in alerts}):
        yield f"{PAGE}: it has no section for the alert {name}, or there is no such alert"
    for name in sorted(METRICS ^ set(re.findall(rf"`({NAME})`", page))):
        yield f"{PAGE}: it does not say when to look at {name}, or there is no such metric"


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


def check_dashboard(file):
    selected, tests = set(), []
    for title, query in queries():
        yield from misused_metrics(query, title)
        for name, selector in re.findall(rf"\b({NAME}|up)\{{([^}}]*)\}}", query):
            selected.update(series(name, selector))
        tests.append({"expr": f"absent({query})", "eval_time": "30m", "exp_samples": []})
    shown = " ".join(query for _, query in queries())
    for name in sorted(name for name in METRICS if name not in shown):
        yield f"no panel shows {name}"
    test = {
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in sorted(selected)],
        "promql_expr_test": tests,
    }
    file.write_text(yaml.safe_dump({"tests": [test]}))


end([*check_alerts(), *check_dashboard(Path(sys.argv[1]))])
