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
SWIFT = "Apache-2.0 WITH Swift-exception"
# From LICENSE.txt of each repository.
LICENCES = {
    "swift-argument-parser": SWIFT,
    "swift-collections": SWIFT,
    "swift-log": "Apache-2.0",
    # From /usr/share/doc/PACKAGE/copyright, for the libraries' own files.
    "libc6": "LGPL-2.1-or-later",
    "libffi8": "MIT",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgmp10": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libgnutls30": "LGPL-2.1-or-later",
    "libhogweed6": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libidn2-0": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libmicrohttpd12": "LGPL-2.1-or-later",
    "libnettle8": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libnghttp2-14": "MIT",
    "libp11-kit0": "BSD-3-Clause",
    "librabbitmq4": "MIT",
    "libssl3": "Apache-2.0",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libtasn1-6": "LGPL-2.1-or-later",
    "libunistring2": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libyaml-0-2": "MIT",
    "zlib1g": "Zlib",
}


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def component(name, version, licence, purl, supplier, location="NOASSERTION"):
    return {
        "name": name,
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
        "versionInfo": version,
        "supplier": supplier,
        "downloadLocation": location,
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
        ],
    }


def swift_components():
    pins = json.loads((ROOT / "Package.resolved").read_text())["pins"]
    for pin in sorted(pins, key=lambda pin: pin["identity"]):
        name, version = pin["identity"], pin["state"]["version"]
        location = pin["location"].removesuffix(".git")
        path = location.removeprefix("https://")
        yield component(
            name, version, LICENCES[name], f"pkg:swift/{path}@{version}", "Organization: Apple Inc.",
            f"git+{location}@{version}")
    version = re.search(r"Swift version (\S+)", output("swift", "--version"))[1]
    yield component(
        "swift-standard-library", version, SWIFT, f"pkg:github/swiftlang/swift@swift-{version}-RELEASE",
        "Organization: Swift project", f"git+https://github.com/swiftlang/swift@swift-{version}-RELEASE")


def debian_components(binary):
    libraries = re.findall(r"^\s+(\S+) => ", output("ldd", binary), re.M)
    packages = set()
    for library in libraries:
        # "package:architecture: /path"; the path may lack the "/usr" that the loader found the file under.
        for line in output("dpkg-query", "--search", f"*-linux-gnu/{library}").splitlines():
            packages.add(line.split(":")[0])
    for name in sorted(packages):
        version, architecture = output("dpkg-query", "--show", "--showformat=${Version} ${Architecture}", name).split()
        yield component(
            name, version, LICENCES[name], f"pkg:deb/debian/{name}@{version}?arch={architecture}",
            "Organization: Debian")


def document(version, revision, binary):
    commit, date = revision.split()
    harebell = component(
        "harebell", version, "Apache-2.0", f"pkg:generic/harebell@{version}?vcs_revision={commit}",
        "Organization: The Harebell contributors")
    contained, linked = list(swift_components()), list(debian_components(binary))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", harebell["SPDXID"])]
    relations += [(harebell["SPDXID"], "STATIC_LINK", part["SPDXID"]) for part in contained]
    relations += [(harebell["SPDXID"], "DYNAMIC_LINK", part["SPDXID"]) for part in linked]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"harebell-{version}",
        "documentNamespace": f"https://harebell.invalid/spdx/harebell-{version}-{commit}",
        "creationInfo": {
            "created": date,
            "creators": ["Tool: harebell-sbom", "Organization: The Harebell contributors"],
        },
        "packages": [harebell, *contained, *linked],
        "relationships": [
            {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": related}
            for element, kind, related in relations
        ],
    }


def main():
    try:
        print(json.dumps(document(*sys.argv[1:]), indent=2))
    except KeyError as error:
        sys.exit(f"sbom: {error.args[0]} is new: add its licence to {Path(__file__).name}")


main()
