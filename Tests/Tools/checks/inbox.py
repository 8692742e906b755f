"""inbox.py INBOX APNS CURL-CONFIGURATION FOLDER: pushes to the simulator, looks at its inbox as people do, and leaves
a picture in the folder."""

import json
import subprocess
import sys

from browser import LOOKS, check_look, chromium, expect, page

HOSTILE = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"


ALERT = {"title": "Order shipped", "subtitle": "Number 4711", "body": "It arrives on Friday between 8 and 12."}
BROADCAST = ["apns-channel-id: dHN0LXNyY2gtY2hubA==", "apns-expiration: 0", "apns-priority: 5"]


def push(payload, target="3/device/00fc13adff785122", topic="com.example.app", kind="alert", more=()):
    headers = [f"apns-push-type: {kind}", *([f"apns-topic: {topic}"] if topic else []), *more]
    command = ["curl", "--config", configuration, "--data", json.dumps(payload), "--output", "/dev/null",
               f"{apns}/{target}"]
    subprocess.run(command + [part for header in headers for part in ("--header", header)], check=True)


def fill():
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


def look(browser, scheme, width):
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
            tab.screenshot(path=f"{folder}/inbox.png", full_page=True,
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


inbox, apns, configuration, folder = sys.argv[1:]
fill()
with chromium() as browser:
    for scheme, width in LOOKS:
        look(browser, scheme, width)
    live(browser)
