"""Each alert is about metrics that exist, is tested, and has a section in docs/operations.md, which has no other."""

import re

import yaml

from findings import ROOT, end, misused_metrics

PAGE = "docs/operations.md"
SEVERITIES = {"critical", "warning", "info"}


def check():
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    tests = (ROOT / "deploy/prometheus/alerts.test.yaml").read_text()
    sections = re.findall(r"^### (Harebell\w+)$", (ROOT / PAGE).read_text(), re.M)
    for rule in alerts:
        name = rule["alert"]
        yield from misused_metrics(rule["expr"], name)
        if rule["labels"].get("severity") not in SEVERITIES:
            yield f"{name}: its severity is none of {', '.join(sorted(SEVERITIES))}"
        if rule["annotations"].get("runbook_url") != f"{PAGE}#{name.lower()}":
            yield f"{name}: its runbook_url is not {PAGE}#{name.lower()}"
        if f'alertname="{name}"' not in tests:
            yield f"{name}: no test has it fire"
        if name not in sections:
            yield f"{name}: {PAGE} has no section for it"
    for name in sections:
        if name not in {rule["alert"] for rule in alerts}:
            yield f"{PAGE}: there is no alert {name}"


end(list(check()))
