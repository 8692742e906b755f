"""dashboard.py ADDRESS TOKEN-FILE FOLDER: tests the dashboard in a browser, and leaves pictures in the folder.

dashboard.py current: whether the pictures of docs/operate show the page as it is. Each names the sources that it was
taken of.
"""

import hashlib
import struct
import sys
import zlib

from browser import Browser, Tab
from findings import ROOT, end

KEYWORD = b"harebell-page\0"
PICTURES = {"docs/operate/dashboard.png": ("light", 1280), "docs/operate/dashboard-narrow.png": ("dark", 390)}

# What the browser says when the page asks for the state without a token, which it does once.
EXPECTED = ["Failed to load resource: the server responded with a status of 401 (Unauthorized)"]
TILES = ["Backlog", "Throughput", "Latency p99", "In flight", "Unsettled", "Unconfirmed", "Parked", "Dead letters"]


def source():
    """The digest of what the page is made of."""
    digest = hashlib.sha256()
    folders = [ROOT / "Sources/Admin/Page", ROOT / "Sources/Monitoring/Dashboard"]
    for path in sorted(path for folder in folders for path in folder.iterdir()):
        if path.suffix in (".css", ".html", ".js"):
            digest.update(path.read_bytes())
    return digest.hexdigest().encode()


def mark(path):
    """Writes the digest into a picture, as a chunk behind its header. Source: PNG specification, 11.3.3.2 tEXt."""
    with open(path, "rb") as file:
        data = file.read()
    text = b"tEXt" + KEYWORD + source()
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    with open(path, "wb") as file:
        file.write(data[:33] + chunk + data[33:])


def outdated():
    for name in PICTURES:
        if KEYWORD + source() not in (ROOT / name).read_bytes():
            yield f"{name} shows an older page: HAREBELL_BINARY=… Tests/Tools/checks/dashboard docs/operate"


def check(condition, text):
    if not condition:
        raise SystemExit(f"dashboard: {text}")


def sign_in(tab, token):
    tab.wait("document.querySelector('#login') && !document.querySelector('#login').hidden")
    tab.value(f"document.querySelector('#token').value = {token!r}; document.querySelector('#login button').click()")
    tab.wait("!document.querySelector('#content').hidden")


def look(browser, address, token, scheme, width):
    tab = Tab(browser, scheme, width)
    tab.open(address + "/")
    sign_in(tab, token)
    tiles = "[...document.querySelectorAll('.tile')]"
    tab.wait(f"{tiles}.length === {len(TILES)}")
    names = tab.value(f"{tiles}.map((tile) => tile.firstChild.textContent)")
    check(names == TILES, f"the tiles are {names}")
    tab.wait(f"parseFloat({tiles}[1].querySelector('b').textContent) > 0")
    tab.wait(f"parseFloat({tiles}[2].querySelector('b').textContent) > 0")
    tab.wait("document.querySelector('#status').textContent === 'ready'")
    tab.wait("document.querySelector('#outcomes').textContent.includes('accepted')")
    tab.wait("document.querySelector('#outcomes').textContent.includes('BadDeviceToken')")
    tab.wait("document.querySelectorAll('.connection.ready').length > 0")
    tab.wait("document.querySelector('#apps').textContent.includes('healthy')")
    tab.wait("document.querySelector('#queues').textContent.includes('push.requests')")
    for chart in ("throughput", "latency"):
        # A line has to become one: two points at least.
        tab.wait(f"[...document.querySelectorAll('#{chart} path')].some((path) => /L/.test(path.getAttribute('d')))")
    before = tab.value("document.querySelector('#outcomes').textContent")
    tab.wait(f"document.querySelector('#outcomes').textContent !== {before!r}")
    overflow = tab.value("document.documentElement.scrollWidth")
    check(overflow <= width, f"at {width} pixels the page is {overflow} wide")
    background = tab.value("getComputedStyle(document.body).backgroundColor")
    red = int(background.split("(")[1].split(",")[0])
    check((red > 200) == (scheme == "light"), f"{scheme}: the background is {background}")
    complaints = [text for text in tab.complaints() if text not in EXPECTED]
    check(not complaints, f"the console says {complaints}")
    outside = {url for url in tab.requests() if not url.startswith((address + "/", "data:"))}
    check(not outside, f"the page asked elsewhere: {outside}")
    return tab


def main():
    if sys.argv[1:] == ["current"]:
        end(list(outdated()))
    address, token_file, folder = sys.argv[1:]
    with open(token_file, encoding="utf-8") as file:
        token = file.read().strip()
    browser = Browser()
    try:
        for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)):
            tab = look(browser, address, token, scheme, width)
            for name in (name for name, shown in PICTURES.items() if shown == (scheme, width)):
                picture = f"{folder}/{name.rsplit('/', 1)[1]}"
                tab.picture(picture)
                mark(picture)
            print(f"dashboard: {scheme}, {width} pixels wide")
    finally:
        browser.close()


main()
