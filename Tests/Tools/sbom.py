"""Prints an SPDX 2.3 document (JSON) of what a binary of Harebell contains and links.

    Tests/Tools/sbom.py VERSION "COMMIT DATE" BINARY

A component whose licence is not listed here ends it: look the licence up and add it.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# From LICENSE.txt of each repository, and from /usr/share/doc/PACKAGE/copyright for the libraries' own files.
LICENCES = {
    "Apache-2.0": "harebell swift-log libssl3",
    "Apache-2.0 WITH Swift-exception": "swift-argument-parser swift-collections swift-standard-library",
    "BSD-3-Clause": "libp11-kit0",
    "GPL-3.0-or-later WITH GCC-exception-3.1": "libgcc-s1 libstdc++6",
    "LGPL-2.1-or-later": "libc6 libgnutls30 libmicrohttpd12 libtasn1-6",
    "LGPL-3.0-or-later OR GPL-2.0-or-later": "libgmp10 libhogweed6 libidn2-0 libnettle8 libunistring2",
    "MIT": "libffi8 libnghttp2-14 librabbitmq4 libyaml-0-2",
    "Zlib": "zlib1g",
}


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def component(name, version, purl, supplier, location="NOASSERTION"):
    licences = [licence for licence, names in LICENCES.items() if name in names.split()]
    if not licences:
        sys.exit(f"sbom: {name} is new: add its licence to {Path(__file__).name}")
    return {
        "name": name,
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
        "versionInfo": version,
        "supplier": f"Organization: {supplier}",
        "downloadLocation": location,
        "filesAnalyzed": False,
        "licenseDeclared": licences[0],
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
        ],
    }


def swift_components():
    for pin in json.loads((ROOT / "Package.resolved").read_text())["pins"]:
        version, location = pin["state"]["version"], pin["location"].removesuffix(".git")
        purl = f"pkg:swift/{location.removeprefix('https://')}@{version}"
        yield component(pin["identity"], version, purl, "Apple Inc.", f"git+{location}@{version}")
    version = re.search(r"Swift version (\S+)", output("swift", "--version"))[1]
    purl = f"pkg:github/swiftlang/swift@swift-{version}-RELEASE"
    yield component("swift-standard-library", version, purl, "Swift project")


def debian_components(binary):
    packages = set()
    for library in re.findall(r"^\s+(\S+) => ", output("ldd", binary), re.M):
        # "package:architecture: /path"; the path may lack the "/usr" that the loader found the file under.
        for line in output("dpkg-query", "--search", f"*-linux-gnu/{library}").splitlines():
            packages.add(line.split(":")[0])
    for name in sorted(packages):
        version, architecture = output("dpkg-query", "--show", "--showformat=${Version} ${Architecture}", name).split()
        yield component(name, version, f"pkg:deb/debian/{name}@{version}?arch={architecture}", "Debian")


version, revision, binary = sys.argv[1:]
commit, date = revision.split()
contained, linked = list(swift_components()), list(debian_components(binary))
harebell = component(
    "harebell", version, f"pkg:generic/harebell@{version}?vcs_revision={commit}", "The Harebell contributors")
relations = [("SPDXRef-DOCUMENT", "DESCRIBES", harebell["SPDXID"])]
relations += [(harebell["SPDXID"], "STATIC_LINK", part["SPDXID"]) for part in contained]
relations += [(harebell["SPDXID"], "DYNAMIC_LINK", part["SPDXID"]) for part in linked]
document = {
    "spdxVersion": "SPDX-2.3",
    "dataLicense": "CC0-1.0",
    "SPDXID": "SPDXRef-DOCUMENT",
    "name": f"harebell-{version}",
    "documentNamespace": f"https://harebell.invalid/spdx/harebell-{version}-{commit}",
    "creationInfo": {"created": date, "creators": ["Tool: harebell-sbom"]},
    "packages": [harebell, *contained, *linked],
    "relationships": [
        {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": related}
        for element, kind, related in relations
    ],
}
print(json.dumps(document, indent=2))
