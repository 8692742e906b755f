"""Pages in Debian's Chromium, headless: light, dark, and as wide as a phone."""

import contextlib

from playwright.sync_api import Page, expect, sync_playwright

LOOKS = (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390))
expect.set_options(timeout=40_000)


@contextlib.contextmanager
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


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
