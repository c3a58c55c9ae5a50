#!/usr/bin/python3
"""Headless Chromium for tests of pages: opens a file at a width and in a colour scheme, and reports
errors.

It is controlled through its debugging pipe (descriptors 3 and 4, messages end with a zero byte), so
neither a port nor a library is needed.
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Ends a browser that hangs. No test depends on it.
HANG_SECONDS = 120


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


def move_pipe(ends):
    """In the child: moves its ends of the pipes to the descriptors that the browser expects."""
    # First copied to descriptors that do not collide.
    reading, writing = (os.dup(os.dup(os.dup(end))) for end in ends)
    os.dup2(reading, 3)
    os.dup2(writing, 4)


class Browser:
    def __init__(self, *flags):
        self.profile = tempfile.mkdtemp(prefix="uvhttp-browser-")
        child_reads, self.to_child = os.pipe()
        self.from_child, child_writes = os.pipe()
        # Without the sandbox, which neither root nor many containers can have. The pages are our
        # own.
        command = [
            find(), "--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", *flags,
            f"--user-data-dir={self.profile}"
        ]
        self.process = subprocess.Popen([*command, "about:blank"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        close_fds=False, start_new_session=True,
                                        preexec_fn=lambda: move_pipe((child_reads, child_writes)))
        os.close(child_reads)
        os.close(child_writes)
        self.number, self.received, self.events, self.session = 0, b"", [], None
        self.tab()

    def tab(self):
        """Opens a tab and makes it current. Setting `session` to its previous value returns to the
        previous tab."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self.session

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, RuntimeError):
            self.process.kill()
        os.close(self.to_child)
        os.close(self.from_child)
        try:
            self.process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        deadline = time.monotonic() + HANG_SECONDS
        while b"\0" not in self.received:
            if not select.select([self.from_child], [], [], max(0, deadline - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            chunk = os.read(self.from_child, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self.received += chunk
        message, _, self.received = self.received.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_child, data):]
        while True:
            response = self.receive()
            if response.get("id") == self.number:
                if "error" in response:
                    raise RuntimeError(f"{method}: {response['error']['message']}")
                return response["result"]
            self.events.append(response)

    def open(self, path, width, dark, height=900):
        """Opens a file or a URL. After that `troubles` returns the console messages and the
        additional resources that were loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.url = path if isinstance(path, str) else path.resolve().as_uri()
        # The page before may still send events, for example of a server that has stopped.
        for url in ("about:blank", self.url):
            self.events.clear()
            self.call("Page.navigate", url=url)
            while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
                self.events.append(self.receive())
        self.evaluate("document.fonts.ready.then(() => 1)")

    def troubles(self):
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if event.get("sessionId", self.session) != self.session:
                continue  # another tab, which may still report a server that has stopped
            if method == "Log.entryAdded":
                if parameters["entry"].get("url", "").endswith("/favicon.ico"):
                    continue  # browsers request it from every site
                found.append(f"{parameters['entry']['level']}: {parameters['entry']['text']}")
            elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                found.append(f"{method}: {json.dumps(parameters)[:300]}")
            elif method == "Network.requestWillBeSent" and parameters["request"]["url"] not in (
                    self.url, "data:,"):
                found.append(f"loads {parameters['request']['url'][:200]}")
        return found

    def evaluate(self, script):
        """The value of an expression, which may be a promise."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                         awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{done['exceptionDetails']}")
        return done["result"].get("value")

    def screenshots(self, stem, height=1500):
        """The whole page as several pictures: STEM-1.png, STEM-2.png, ..."""
        width, whole = self.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        for number, top in enumerate(range(0, whole, height), 1):
            clip = {
                "x": 0, "y": top, "width": width, "height": min(height, whole - top), "scale": 1
            }
            data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                             clip=clip)["data"]
            pathlib.Path(f"{stem}-{number}.png").write_bytes(base64.b64decode(data))


def main(page, directory):
    """For manual use: `browser.py PAGE DIRECTORY` writes screenshots of the page, desktop and
    phone, light and dark."""
    one = Browser()
    try:
        for name, width in (("desktop", 1280), ("phone", 375)):
            for scheme in ("light", "dark"):
                one.open(pathlib.Path(page), width, scheme == "dark")
                one.screenshots(f"{directory}/{name}-{scheme}")
    finally:
        one.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
