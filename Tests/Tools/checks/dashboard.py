"""dashboard.py ADDRESS TOKEN-FILE FOLDER: tests a worker's dashboard, and leaves pictures in the folder."""

import re
import sys
from pathlib import Path

from browser import LOOKS, check_look, chromium, expect, page

PICTURES = {("light", 1280): "dashboard.png", ("dark", 390): "dashboard-narrow.png"}
TILES = ["Waiting", "Throughput", "Latency p99", "In flight", "Unsettled", "Unconfirmed", "Parked", "Dead letters"]

address, token_file, folder = sys.argv[1:]
with chromium() as browser:
    for scheme, width in LOOKS:
        # The page asks for the state once without a token.
        with page(browser, address + "/", scheme, width, expected=["status of 401"]) as tab:
            tab.fill("#token", Path(token_file).read_text().strip())
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
                tab.screenshot(path=f"{folder}/{PICTURES[scheme, width]}", full_page=True)
