"""The manifests fit together, and keep to what docs/operate/deployment.md promises of them.

Their form is checked by kubernetes-validate. KEDA's query goes into the file that is named, as a rule for promtool.
"""

import pathlib
import re
import sys
import urllib.parse

import yaml

from findings import ROOT, end, misused_metrics

FOLDER = ROOT / "deploy/kubernetes"


def check():
    files = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    objects = {}
    for name in files:
        objects |= {document["kind"]: document for document in yaml.safe_load_all((FOLDER / name).read_text())}

    deployment = objects["Deployment"]["spec"]
    pod = deployment["template"]["spec"]
    container = pod["containers"][0]
    configuration = yaml.safe_load((FOLDER / "harebell.yaml").read_text())
    labels = deployment["template"]["metadata"]["labels"]
    for kind, selector in (
        ("Deployment", deployment["selector"]),
        ("PodDisruptionBudget", objects["PodDisruptionBudget"]["spec"]["selector"]),
        ("NetworkPolicy", objects["NetworkPolicy"]["spec"]["podSelector"]),
        ("PodMonitor", objects["PodMonitor"]["spec"]["selector"]),
    ):
        if not selector["matchLabels"].items() <= labels.items():
            yield f"{kind} selects other pods than the Deployment's"
    if labels[objects["PodMonitor"]["spec"]["jobLabel"]] != "harebell":
        yield "the alert rules look for the job harebell"

    if pod["terminationGracePeriodSeconds"] < configuration["drain_deadline_seconds"] + 15:
        yield "terminationGracePeriodSeconds ends a drain before its deadline"
    proxy = (FOLDER / "tls-proxy.conf").read_text()
    if not configuration["admin"]["listen"].startswith("127.0.0.1:"):
        yield "the admin server is reachable without TLS"
    if f"proxy_pass http://{configuration['admin']['listen']};" not in proxy:
        yield "the TLS proxy does not ask the admin server"
    ports = {port["name"]: port["containerPort"] for part in pod["containers"] for port in part.get("ports", [])}
    probe = container["livenessProbe"]["httpGet"]
    if probe.get("scheme") != "HTTPS" or f"listen {ports.get(probe['port'])} ssl;" not in proxy:
        yield "the probe does not ask the TLS proxy"
    for scrape in objects["PodMonitor"]["spec"]["podMetricsEndpoints"]:
        if scrape.get("scheme") != "https" or scrape["port"] not in ports:
            yield "Prometheus sends the token without TLS"

    scaled = objects["ScaledObject"]["spec"]
    metadata = scaled["triggers"][0]["metadata"]
    yield from misused_metrics(metadata["query"], "scaled-object.yaml")
    if f"or on () {metadata['threshold']} * count(" not in metadata["query"]:
        yield "KEDA's query does not keep the number of pods at its threshold"
    for queue in re.findall(r'queue="([^"]+)"', metadata["query"]):
        if queue not in {queue["name"] for queue in configuration["queues"]}:
            yield f"KEDA looks at the queue {queue}, which nobody consumes"
    rule = {"record": "harebell:scaling", "expr": metadata["query"]}
    pathlib.Path(sys.argv[1]).write_text(yaml.safe_dump({"groups": [{"name": "scaling", "rules": [rule]}]}))

    policy = objects["NetworkPolicy"]["spec"]
    ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    for endpoint in configuration["broker"]["endpoints"]:
        if urllib.parse.urlsplit(endpoint).port not in ports:
            yield f"NetworkPolicy: it does not let pods reach {endpoint}"


end(list(check()))
