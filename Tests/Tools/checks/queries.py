"""Asks a Prometheus that watches a worker.

queries.py URL wait EXPRESSION    until it has a result
queries.py URL check              every expression of the dashboard and of the alert rules; the dashboard has to show
                                  every metric, and nothing else
"""

import json
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

from findings import ROOT, end, metrics, misused_metrics

# Panels that are empty while a worker has no faults.
QUIET = {
    "Paused apps and topics", "Certificate expiry", "Next certificate expiry", "GOAWAYs by reason",
    "Closed connections by cause", "Limits reached", "Access token expiry", "Queues that take no publishes",
}
VARIABLES = {
    "$job": "harebell", "$instance": ".*", "$environment": ".*", "$topic": ".*", "$queue": ".*",
    "$__rate_interval": "1m",
}


def ask(path, **parameters):
    try:
        with urllib.request.urlopen(f"{sys.argv[1]}/api/v1/{path}?{urllib.parse.urlencode(parameters)}") as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        if error.code == 503:
            raise
        return json.load(error)["error"]


def wait(expression):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if ask("query", query=expression)["result"]:
                return
        except urllib.error.URLError:
            # It does not listen yet, or is not ready.
            pass
        time.sleep(0.2)
    yield f"not within a minute: {expression}"


def check():
    dashboard = json.loads((ROOT / "deploy/grafana/dashboards/harebell.json").read_text())
    shown = ""
    for panel in dashboard["panels"]:
        results = []
        for target in panel.get("targets", []):
            query = target["expr"]
            shown += query
            yield from misused_metrics(query, panel["title"])
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            answer = ask("query", query=query)
            if isinstance(answer, str):
                yield f"{panel['title']}: {answer}"
            else:
                results += answer["result"]
        if not results and panel["type"] != "row" and panel["title"] not in QUIET:
            yield f"{panel['title']}: it has nothing to show"
    for name in sorted({re.sub("_(bucket|sum|count)$", "", name) for name in metrics()}):
        if name not in shown:
            yield f"no panel shows {name}"
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        answer = ask("query", query=rule["expr"])
        if isinstance(answer, str):
            yield f"{rule['alert']}: {answer}"
    for alert in ask("alerts")["alerts"]:
        if alert["state"] == "firing" and alert["labels"]["severity"] == "critical":
            yield f"{alert['labels']['alertname']} fires, and nothing is wrong"


end(list(wait(sys.argv[3]) if sys.argv[2] == "wait" else check()))
