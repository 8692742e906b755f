"""dashboard.py ADDRESS TOKEN-FILE FOLDER: looks at the dashboard as people do, and leaves pictures in the folder."""

import sys

from browser import Browser, Tab

# What the browser says when the page asks for the state without a token, which it does once.
EXPECTED = ["Failed to load resource: the server responded with a status of 401 (Unauthorized)"]
TILES = ["Throughput", "Request, median", "In flight", "Unsettled", "Unconfirmed", "Dead letters"]


def check(condition, text):
    if not condition:
        raise SystemExit(f"dashboard: {text}")


def sign_in(tab, token):
    tab.wait("document.querySelector('#login') && !document.querySelector('#login').hidden")
    tab.value(f"document.querySelector('#token').value = {token!r}; document.querySelector('#login button').click()")
    tab.wait("!document.querySelector('#content').hidden")


def replay(tab):
    """Looks at the dead letters, chooses a group, and sends three of them back; without the confirmation nothing goes."""
    tab.wait("document.querySelector('#look') && !document.querySelector('#look').disabled")
    tab.value("document.querySelector('#look').click()")
    tab.wait("document.querySelector('#orders table button')")
    tab.value("document.querySelector('#orders table button').click()")
    tab.wait("document.querySelector('#replay')")
    check(tab.value("document.querySelector('#replay').disabled"), "a replay needs no confirmation")
    tab.value("document.querySelector('#limit').value = '3'; document.querySelector('#confirmed').click()")
    tab.value("document.querySelector('#replay').click()")
    tab.wait("document.querySelector('#replayed')")
    said = tab.value("document.querySelector('#replayed').textContent")
    check(said.startswith("3 replayed"), f"the replay says {said}")
    tab.value("document.querySelector('#look').click()")
    tab.wait("document.querySelector('#orders table button')")


def look(browser, address, token, scheme, width, picture):
    tab = Tab(browser, scheme, width)
    tab.open(address + "/")
    sign_in(tab, token)
    tiles = "[...document.querySelectorAll('.tile')]"
    tab.wait(f"{tiles}.length === {len(TILES)}")
    names = tab.value(f"{tiles}.map((tile) => tile.firstChild.textContent)")
    check(names == TILES, f"the tiles are {names}")
    tab.wait(f"parseFloat({tiles}[0].querySelector('b').textContent) > 0")
    tab.wait(f"parseFloat({tiles}[1].querySelector('b').textContent) > 0")
    tab.wait("document.querySelector('#status').textContent === 'ready'")
    tab.wait("document.querySelector('#outcomes').textContent.includes('accepted')")
    tab.wait("document.querySelector('#outcomes').textContent.includes('BadDeviceToken')")
    tab.wait("document.querySelectorAll('.connection.ready').length > 0")
    tab.wait("document.querySelector('#apps').textContent.includes('usable')")
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
    replay(tab)
    tab.picture(picture)
    complaints = [text for text in tab.complaints() if text not in EXPECTED]
    check(not complaints, f"the console says {complaints}")
    outside = {url for url in tab.requests() if not url.startswith((address + "/", "data:"))}
    check(not outside, f"the page asked elsewhere: {outside}")


def main():
    address, token_file, folder = sys.argv[1:]
    with open(token_file, encoding="utf-8") as file:
        token = file.read().strip()
    browser = Browser()
    try:
        for scheme, width in (("light", 1280), ("dark", 1280), ("light", 375), ("dark", 375)):
            look(browser, address, token, scheme, width, f"{folder}/dashboard-{scheme}-{width}.png")
            print(f"dashboard: {scheme}, {width} pixels wide")
    finally:
        browser.close()


main()
