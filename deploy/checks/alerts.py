"""Each alert is about metrics that exist, is tested, and has a section in docs/operate/runbook.md, which has no other, and says of every
metric when to look at it.
"""

import re

import yaml

from findings import NAME, ROOT, end, metrics, misused_metrics

PAGE = "docs/operate/runbook.md"
SEVERITIES = {"critical", "warning", "info"}


def check():
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    tests = (ROOT / "deploy/prometheus/alerts.test.yaml").read_text()
    page = (ROOT / PAGE).read_text()
    sections = re.findall(r"^### (Harebell\w+)$", page, re.M)
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
    known = {re.sub("_(bucket|sum|count)$", "", name) for name in metrics()}
    named = set(re.findall(rf"`({NAME})`", page))
    for name in sorted(known - named):
        yield f"{PAGE}: it does not say when to look at {name}"
    for name in sorted(named - known):
        yield f"{PAGE}: there is no metric {name}"
    for name in sections:
        if name not in {rule["alert"] for rule in alerts}:
            yield f"{PAGE}: there is no alert {name}"


end(list(check()))
