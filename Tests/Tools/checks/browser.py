"""A headless Chromium, spoken to through the pipe of its DevTools protocol: no port, no package."""

import base64
import fcntl
import json
import os
import select
import struct
import subprocess
import tempfile
import time
import zlib


class Browser:
    """Source: chromedevtools.github.io/devtools-protocol; messages end with a zero byte."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="harebell-browser.", ignore_cleanup_errors=True)
        to_read, self.to = (self._high(end) for end in os.pipe())
        self.from_, from_write = (self._high(end) for end in os.pipe())

        def place():
            os.dup2(to_read, 3)
            os.dup2(from_write, 4)

        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--disable-background-networking", "--disable-component-update",
                   "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
                   f"--user-data-dir={self.profile.name}", "about:blank"]
        with open(os.path.join(self.profile.name, "log"), "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=place, pass_fds=(3, 4))
        os.close(to_read)
        os.close(from_write)
        self.rest = b""
        self.number = 0
        self.events = []

    @staticmethod
    def _high(descriptor):
        """Away from 3 and 4, which the browser's ends become."""
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
        os.close(descriptor)
        return high

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 60
        while True:
            answer = self._next(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _next(self, end):
        while b"\0" not in self.rest:
            if not select.select([self.from_], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            part = os.read(self.from_, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()


class Tab:
    def __init__(self, browser, scheme, width, height=900):
        self.browser = browser
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression, seconds=40):
        """Until an expression is true."""
        end = time.monotonic() + seconds
        while not self.value(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise RuntimeError(f"never true: {expression}; the page says: "
                                   + self.value("document.body.innerText")[:2000])
            time.sleep(0.1)

    def mine(self, method):
        self.value("0")  # takes what has come meanwhile
        return [event["params"] for event in self.browser.events
                if event.get("sessionId") == self.session and event["method"] == method]

    def complaints(self):
        """What the browser's console would show as wrong."""
        said = [entry["entry"]["text"] for entry in self.mine("Log.entryAdded")]
        said += [str(call["args"]) for call in self.mine("Runtime.consoleAPICalled") if call["type"] == "error"]
        return said + [str(thrown["exceptionDetails"]) for thrown in self.mine("Runtime.exceptionThrown")]

    def requests(self):
        return [request["request"]["url"] for request in self.mine("Network.requestWillBeSent")]

    def picture(self, path, height=None):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


KEYWORD = b"Source\0"


def put_label(path, text):
    """Says in a picture (PNG) what it shows, in a text chunk behind the header."""
    with open(path, "rb") as file:
        data = file.read()
    chunk = b"tEXt" + KEYWORD + text.encode()
    chunk = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    with open(path, "wb") as file:
        file.write(data[:33] + chunk + data[33:])


def label_of(path):
    """What ``put_label`` wrote; None for a picture without, or none at all."""
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack(">I", data[33:37])
    content = data[41:41 + length]
    return content[len(KEYWORD):].decode() if content.startswith(KEYWORD) else None
