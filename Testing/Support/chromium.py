"""A page in a headless Chromium, driven by its DevTools protocol (https://chromedevtools.github.io/devtools-protocol/) over a pipe."""
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time


def program():
    """The path of Chromium, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    def __init__(self, width=1400, height=1000):
        def high(fd):
            copy = fcntl.fcntl(fd, fcntl.F_DUPFD, 10)
            os.close(fd)
            return copy

        commands, answers = tuple(map(high, os.pipe())), tuple(map(high, os.pipe()))
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands[0]} 4>&{answers[1]}', "bash", program(), "--headless=new", "--no-sandbox",
             "--disable-gpu", "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
             f"--window-size={width},{height}", f"--user-data-dir={self.profile.name}"],
            pass_fds=(commands[0], answers[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands[0])
        os.close(answers[1])
        self.to, self.back, self.received = commands[1], answers[0], b""
        self.number, self.session, self.events = 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def _message(self):
        while b"\0" not in self.received:
            part = os.read(self.back, 1 << 20)
            assert part, "Chromium has ended"
            self.received += part
        text, self.received = self.received.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self.number:
                assert "error" not in message, (method, message)
                return message["result"]
            self.events.append(message)

    def open(self, path):
        """Opens a file and returns the seconds until it is loaded."""
        start, seen = time.monotonic(), len(self.events)
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events[seen:]):
            self.events.append(self._message())
        return time.monotonic() - start

    def value(self, expression):
        """The value of an expression of JavaScript; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer)
        return answer["result"].get("value")

    def press(self, key, text=None):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, text=text or (key if len(key) == 1 else ""),
                  windowsVirtualKeyCode={"Tab": 9, "ArrowRight": 39, "ArrowLeft": 37}.get(key, ord(key[0])))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def click(self, selector):
        element = f"document.querySelector({json.dumps(selector)})"
        self.value(element + ".scrollIntoView({block:'center'})")
        time.sleep(0.1)  # a click meets what the last frame shows, which comes late on a busy machine and after a change of size
        x, y = self.value(f"(()=>{{const b={element}.getBoundingClientRect();return[b.x+b.width/2,b.y+b.height/2]}})()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def media(self, **features):
        """Such as prefers_color_scheme="dark"."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def faults(self):
        """Errors so far, and requests that leave the machine."""
        found = []
        for event in self.events:
            method, p = event.get("method"), event.get("params", {})
            if method == "Network.requestWillBeSent" and not p["request"]["url"].startswith(("file:", "data:")):
                found.append("request " + p["request"]["url"])
            elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                found.append(p["entry"]["text"])
            elif method == "Runtime.exceptionThrown" or (method == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert")):
                found.append(json.dumps(p))
        return found

    def picture(self, path):
        import base64
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
