"""Headless Chromium by its debugging pipe: no other program, no port.

Messages are JSON, ended by a NUL, on its descriptors 3 and 4.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Chromium:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        ours_to_read, theirs_to_write = os.pipe()
        theirs_to_read, ours_to_write = os.pipe()
        # Out of the way of the numbers that it gets them under.
        to_read = fcntl.fcntl(theirs_to_read, fcntl.F_DUPFD, 20)
        to_write = fcntl.fcntl(theirs_to_write, fcntl.F_DUPFD, 20)

        def give():
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        self.process = subprocess.Popen(
            [
                "chromium",
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
                "--user-data-dir=" + self.folder,
                "about:blank",
            ],
            preexec_fn=give,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in (theirs_to_read, theirs_to_write, to_read, to_write):
            os.close(each)
        self.source, self.sink = ours_to_read, ours_to_write
        self.buffer = b""
        self.number = 0
        self.events = []

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.source], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            piece = os.read(self.source, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, parameters=None, session=None, timeout=30):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        os.write(self.sink, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method, timeout=30):
        deadline = time.monotonic() + timeout
        while True:
            for each in self.events:
                if each.get("method") == method:
                    self.events.remove(each)
                    return each["params"]
            self.events.append(self._receive(deadline))


class Tab:
    """One page, of a width and a height, light or dark, with JavaScript or without."""

    def __init__(self, browser, width, height, scheme="light", scripts=True):
        self.browser = browser
        self.complaints = []
        target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.target = target
        attached = browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800},
        )
        self.call(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        if not scripts:
            self.call("Emulation.setScriptExecutionDisabled", {"value": True})

    def call(self, method, parameters=None):
        return self.browser.call(method, parameters, self.session)

    def close(self):
        self.collect()
        self.browser.call("Target.closeTarget", {"targetId": self.target})

    def go(self, url):
        self.browser.events.clear()
        self.call("Page.navigate", {"url": url})
        self.browser.wait_for("Page.loadEventFired")
        self.collect()

    def evaluate(self, script):
        answer = self.call(
            "Runtime.evaluate",
            {"expression": script, "returnByValue": True, "awaitPromise": True},
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def until(self, script, timeout=20):
        deadline = time.monotonic() + timeout
        while not self.evaluate(script):
            if time.monotonic() > deadline:
                raise TimeoutError("never true: " + script)
            time.sleep(0.05)

    # The errors in the console: of scripts, of the policy, of things that could not be loaded.
    def collect(self):
        self.call("Runtime.evaluate", {"expression": "0"})
        for each in self.browser.events:
            method, said = each.get("method"), each.get("params", {})
            if method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
                self.complaints.append(said["entry"]["text"])
            if method == "Runtime.exceptionThrown":
                self.complaints.append(said["exceptionDetails"].get("text", "exception"))
            if method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
                self.complaints.append(str(said["args"]))
        self.browser.events.clear()

    def screenshot(self, path, whole=True):
        shot = self.call(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole}
        )
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
