"""The compose file's services, volumes and files are there, and none is published beyond this machine."""

import yaml

from findings import ROOT, end

FOLDER = ROOT / "deploy/docker"


def check():
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    services, volumes = compose["services"], set(compose["volumes"])
    used = set()
    for name, service in services.items():
        if "image" not in service:
            yield f"{name}: it has no image"
        elif ":" not in service["image"]:
            yield f"{name}: {service['image']} has no version"
        for needed in service.get("depends_on", {}):
            if needed not in services:
                yield f"{name}: there is no service {needed}"
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            if source.startswith("."):
                if not (FOLDER / source).exists():
                    yield f"{name}: there is no {source}"
            else:
                used.add(source)
        for port in service.get("ports", []):
            if not port.startswith("127.0.0.1:"):
                yield f"{name}: the port {port} is open to everybody"
    if [name for name, service in services.items() if "build" in service] != ["credentials"]:
        yield "the image is not built once, by the service that the others wait for"
    if any(
        service.get("restart", "no") != "no"
        for service in services.values() if service["image"].startswith("harebell:")
    ):
        yield "a worker whose configuration is wrong would be started again and again"
    if used != volumes:
        yield f"volumes that are used and those that are there differ: {sorted(used ^ volumes)}"
    worker = yaml.safe_load((FOLDER / "harebell.yaml").read_text())
    for needed in (worker["broker"]["endpoints"][0].split("@")[1].split(":")[0], "simulator"):
        if needed not in services:
            yield f"harebell.yaml names the host {needed}, which is no service"
    grace = int(services["worker"]["stop_grace_period"].removesuffix("s"))
    if grace < worker.get("drain_deadline_seconds", 30) + 15:
        yield "stop_grace_period ends a drain before its deadline"


end(list(check()))
