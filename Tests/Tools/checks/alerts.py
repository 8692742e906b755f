"""Each alert uses metrics that exist, is tested both ways, and has a section in docs/operate/runbook.md. That page has
no section for another alert, and says for every metric when to look at it.
"""

import re

import yaml

from findings import NAME, ROOT, end, metrics, misused_metrics

PAGE = "docs/operate/runbook.md"


def check():
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
        if name not in sections:
            yield f"{name}: {PAGE} has no section for it"
    known = {re.sub("_(bucket|sum|count)$", "", name) for name in metrics()}
    named = set(re.findall(rf"`({NAME})`", page))
    for name in sorted(known ^ named):
        yield f"{PAGE}: it does not say when to look at {name}, or there is no such metric"
    for name in set(sections) - {rule["alert"] for rule in alerts}:
        yield f"{PAGE}: there is no alert {name}"


end(list(check()))
