"""The dashboard shows every metric and none that does not exist, its panels lie side by side, and promtool can read it.

Writes a file of rules with every expression, for `promtool check rules`.
"""

import itertools
import json
import re
import sys

import yaml

from findings import ROOT, end, metrics, misused_metrics

DASHBOARD = json.loads((ROOT / "deploy/grafana/dashboards/harebell.json").read_text())
PANELS = DASHBOARD["panels"]
ROWS = ["Status", "Traffic", "Errors", "Latency", "Backlog", "Connections", "Broker", "Process"]
# The variable that filters by a label.
FILTERS = {"app": "$topic", "topic": "$topic", "environment": "$environment", "queue": "$queue"}


def expressions():
    for panel in PANELS:
        for target in panel.get("targets", []):
            yield panel, target["expr"]


def overlap(first, second):
    a, b = first["gridPos"], second["gridPos"]
    return (
        a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]
    )


def check():
    provided = yaml.safe_load((ROOT / "deploy/grafana/provisioning/dashboards/harebell.yaml").read_text())
    mounts = (ROOT / "deploy/docker/compose.yaml").read_text()
    if f"../grafana/dashboards:{provided['providers'][0]['options']['path']}:ro" not in mounts:
        yield "compose.yaml does not mount the dashboards where the provider looks for them"
    ids = [panel["id"] for panel in PANELS]
    if len(ids) != len(set(ids)):
        yield "two panels have one id"
    for first, second in itertools.combinations(PANELS, 2):
        if overlap(first, second):
            yield f"the panels {first['title']} and {second['title']} overlap"
    for panel in PANELS:
        if panel["gridPos"]["x"] + panel["gridPos"]["w"] > 24:
            yield f"{panel['title']}: it is wider than the page"
        if panel["type"] != "row" and not panel.get("description"):
            yield f"{panel['title']}: it has no description"
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    for panel, expression in expressions():
        yield from misused_metrics(expression, panel["title"])
        for name in re.findall(r"\$(\w+)", expression):
            if name not in variables | {"__rate_interval"}:
                yield f"{panel['title']}: there is no variable ${name}"
    for panel, expression in expressions():
        for name, selector in re.findall(r"\b((?:harebell|process)_\w+)\{([^}]*)\}", expression):
            for label in metrics().get(name, set()) & set(FILTERS):
                if f'{label}=~"{FILTERS[label]}"' not in selector:
                    yield f"{panel['title']}: {name} is not filtered by {FILTERS[label]}"
    rows = [panel["title"] for panel in PANELS if panel["type"] == "row"]
    if rows != ROWS:
        yield f"the rows are {rows}, expected {ROWS}"
    text = " ".join(expression for _, expression in expressions())
    for name in sorted({re.sub("_(bucket|sum|count)$", "", name) for name in metrics()}):
        if name not in text:
            yield f"no panel shows {name}"


def rules():
    return {
        "groups": [
            {
                "name": "dashboard",
                "rules": [
                    {"record": f"panel:{panel['id']}:{index}", "expr": expression.replace("$__rate_interval", "5m")}
                    for index, (panel, expression) in enumerate(expressions())
                ],
            }
        ]
    }


with open(sys.argv[1], "w") as file:
    yaml.safe_dump(rules(), file)
end(list(check()))
