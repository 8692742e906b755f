"""browser.py INBOX APNS ADMIN FOLDER PICTURES: looks at the simulator's inbox and at a worker's dashboard as people do,
in Debian's Chromium: light, dark, and as wide as a phone. FOLDER is that of the bridge; pictures go into PICTURES.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

inbox, apns, admin, folder, pictures = sys.argv[1:]
LOOKS = (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390))
expect.set_options(timeout=40_000)


@contextlib.contextmanager
def page(browser, address, scheme, width, expected=()):
    """A page whose console has no errors but the expected ones, and that asks nobody else."""
    page: Page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    page.set_default_timeout(40_000)
    errors, urls = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: urls.append(request.url))
    page.goto(address)
    yield page
    errors = [text for text in errors if not any(part in text for part in expected)]
    assert not errors, f"the console says {errors}"
    outside = {url for url in urls if not url.startswith((address, "data:"))}
    assert not outside, f"the page asked elsewhere: {outside}"
    page.close()


def check_look(page, scheme, width):
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, f"at {width} pixels the page is {wide} wide"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(background.split("(")[1].split(",")[0])
    assert (red > 200) == (scheme == "light"), f"{scheme}: the background is {background}"
    print(f"{page.title()}: {scheme}, {width} pixels wide")


HOSTILE = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
ALERT = {"title": "Order shipped", "subtitle": "Number 4711", "body": "It arrives on Friday between 8 and 12."}
BROADCAST = ["apns-channel-id: dHN0LXNyY2gtY2hubA==", "apns-expiration: 0", "apns-priority: 5"]


def push(payload, target="3/device/00fc13adff785122", topic="com.example.app", kind="alert", more=()):
    headers = [f"apns-push-type: {kind}", *([f"apns-topic: {topic}"] if topic else []), *more]
    command = ["curl", "--config", f"{folder}/curl.conf", "--data", json.dumps(payload), "--output", "/dev/null",
               f"{apns}/{target}"]
    subprocess.run(command + [part for header in headers for part in ("--header", header)], check=True)


def fill_inbox():
    push({"aps": {"alert": {"title": HOSTILE, "body": HOSTILE}, "sound": HOSTILE, "category": HOSTILE},
          HOSTILE: HOSTILE}, target="3/device/00baddad")
    push({"aps": {"content-available": 1}, "sync": 42}, kind="background", more=["apns-priority: 5"])
    push({"aps": {"alert": {"title-loc-key": "INVITE_TITLE", "loc-key": "INVITE", "loc-args": ["Ada", "chess"]},
                  "badge": 0, "mutable-content": 1}}, topic="com.example.games")
    push({"aps": {"alert": "Smoke in the kitchen", "interruption-level": "critical",
                  "sound": {"critical": 1, "name": "alarm.caf", "volume": 0.8}}}, topic="com.example.home")
    push({"aps": {"timestamp": 1795219200, "event": "update", "content-state": {"home": 2, "away": 1, "minute": "87"}}},
         target="4/broadcasts/apps/com.example.scores", topic=None, kind="liveactivity", more=BROADCAST)
    push({"aps": {"timestamp": 1795219200, "event": "start", "attributes-type": "Delivery",
                  "attributes": {"order": 4711},
                  "content-state": {"driver": "Mika", "stops": 3, "eta": "18:40"},
                  "alert": {"title": "On its way", "body": "Three stops before you."}}},
         topic="com.example.app.push-type.liveactivity", kind="liveactivity")
    push({"aps": {"alert": ALERT, "badge": 3, "sound": "default", "interruption-level": "time-sensitive",
                  "thread-id": "orders"}})
    push({"aps": {"alert": "x"}}, topic=None)


CARDS = "#list > li"
# What the cards say, the newest first.
CONTENTS = (
    ["Order shipped", "Number 4711", "It arrives on Friday between 8 and 12.", "time-sensitive", "sound: default",
     "thread: orders"],
    ["event: start", "driver", "Mika", "attributes: Delivery", "On its way"],
    ["broadcast dHN0LXNyY2gtY2hubA==", "event: update", "home", "minute", "Live Activity"],
    ["critical", "sound: alarm.caf, volume 0.8, critical"],
    ["INVITE_TITLE", "INVITE (Ada, chess)", "mutable-content"],
    ["Background notification", "content-available"],
    [HOSTILE],
)


def look_at_inbox(browser, scheme, width):
    with page(browser, inbox, scheme, width, expected=["status of 400"]) as tab:
        cards = tab.locator(CARDS)
        expect(tab.locator("#status")).to_have_text("live")
        expect(cards).to_have_count(len(CONTENTS))
        for index, texts in enumerate(CONTENTS):
            for text in texts:
                expect(cards.nth(index)).to_contain_text(text)
        cards.nth(6).locator("summary").click()
        payload = json.loads(cards.nth(6).locator("pre").text_content())["payload"]
        assert payload["aps"]["alert"]["title"] == HOSTILE, "the JSON lacks the payload"
        assert tab.locator("img, main script, #refused script").count() == 0, "text became markup"
        assert tab.evaluate("window.hacked === undefined"), "text became code"
        cards.nth(6).locator("summary").click()
        expect(tab.locator("#refused")).to_contain_text("400 MissingTopic apns-topic is missing")
        check_look(tab, scheme, width)
        if (scheme, width) == ("light", 390):
            # Without the card of the hostile text, for the documentation.
            height = cards.nth(6).evaluate("(card) => card.offsetTop")
            tab.screenshot(path=f"{pictures}/inbox.png", full_page=True,
                           clip={"x": 0, "y": 0, "width": width, "height": height})
        cards.nth(6).locator(".from button, .from a").last.click()
        expect(cards).to_have_count(1)
        expect(cards.first).to_contain_text("00baddad")
        tab.click("#reset")
        expect(cards).to_have_count(len(CONTENTS))
        tab.fill("#device-token", "xyz")
        tab.click("#filter [type=submit]")
        expect(tab.locator("#notice")).to_contain_text("not an even number of hexadecimal digits")


def live(browser):
    """The page shows a notification as it arrives, and clears the list."""
    with page(browser, inbox, "light", 1280) as tab:
        cards = tab.locator(CARDS)
        expect(cards).to_have_count(len(CONTENTS))
        push({"aps": {"alert": "Live"}})
        expect(cards.first).to_contain_text("Live")
        tab.click("#clear")
        expect(cards).to_have_count(0)
        expect(tab.locator("#empty")).to_be_visible()


PICTURES = {("light", 1280): "dashboard.png", ("dark", 390): "dashboard-narrow.png"}
TILES = ["Waiting", "Throughput", "Latency p99", "In flight", "Unsettled", "Unconfirmed", "Parked", "Dead letters"]


def look_at_dashboard(browser, scheme, width):
    # The page asks for the state once without a token.
    with page(browser, f"http://127.0.0.1:{admin}/", scheme, width, expected=["status of 401"]) as tab:
        tab.fill("#token", Path(folder, "credentials/admin-token").read_text().strip())
        tab.click("#login button")
        tiles = tab.locator(".tile")
        expect(tiles).to_have_count(len(TILES))
        names = tiles.evaluate_all("(tiles) => tiles.map((tile) => tile.firstChild.textContent)")
        assert names == TILES, f"the tiles are {names}"
        for index in (1, 2):
            expect(tiles.nth(index).locator("b")).to_have_text(re.compile("[1-9]"))
        expect(tab.locator("#status")).to_have_text("ready")
        for place, text in (("outcomes", "accepted"), ("outcomes", "BadDeviceToken"), ("apps", "healthy"),
                            ("queues", "push.requests")):
            expect(tab.locator(f"#{place}")).to_contain_text(text)
        expect(tab.locator(".connection.ready").first).to_be_visible()
        for chart in ("throughput", "latency"):
            # A line has to become one: two points at least.
            expect(tab.locator(f"#{chart} path[d*=L]").first).to_be_attached()
        expect(tab.locator("#outcomes")).not_to_have_text(tab.text_content("#outcomes"))
        check_look(tab, scheme, width)
        if (scheme, width) in PICTURES:
            line = tab.locator("#throughput path[class=c0]")
            expect(line).to_have_attribute("d", re.compile("(L[^L]*){20}"), timeout=60_000)
            tab.screenshot(path=f"{pictures}/{PICTURES[scheme, width]}", full_page=True)


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    fill_inbox()
    for look in LOOKS:
        look_at_inbox(browser, *look)
    live(browser)
    # Longer than the browser takes.
    load = subprocess.Popen(
        [os.environ["HAREBELL_BINARY"], "load", "--config", f"{folder}/harebell.yaml", "--queue", "push.requests",
         "--count", "30000", "--rate", "100", "--mix", "varied"], stdout=subprocess.DEVNULL)
    try:
        for look in LOOKS:
            look_at_dashboard(browser, *look)
    finally:
        load.terminate()
