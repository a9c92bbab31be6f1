"""A headless browser for tests of HTML reports.

`open_page(path)` returns a Page; everything it did is checked when the test ends: no error on the console, and no request but for
the file itself.
"""

import functools
import json
import os
import shutil
import subprocess

import pytest

from conftest import program

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
except ImportError:  # Debian's python3-selenium, which scripts/install tests brings.
    webdriver = None


@functools.cache
def why_none():
    """Why no browser can be driven here; None if one can."""
    if webdriver is None:
        return "python3-selenium is not installed (scripts/install tests)"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed (scripts/install tests)"
    return None


def run_at(home, *words):
    """Runs the program in a folder, with a store of its own there; a prediction that was missed is no failure."""
    done = subprocess.run([program(), *map(str, words)], cwd=home, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "SLUICE_HOME": str(home / "store")})  # fmt: skip
    assert done.returncode in (0, 5), done.stderr
    return done


class Page:
    """One report in a window of 1280 x 900, its data, and what a reader can do with it."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get_log("performance"), driver.get_log("browser")
        driver.get(path.resolve().as_uri())
        assert self.script("return document.documentElement.dataset.drawn") == "yes"

    def script(self, text, *words):
        return self.driver.execute_script(text, *words)

    @property
    def data(self):
        return self.script("return data")

    def texts(self, selector):
        return self.script("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def sections(self):
        return self.script("return [...document.querySelectorAll('section[id]')].map((e) => e.id)")

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def press(self, selector, *keys):
        self.find(selector).send_keys(*keys)

    def painted(self):
        """Whether the timeline's canvas holds more than one colour once the browser has painted."""
        return self.driver.execute_async_script("""
            const done = arguments[0];
            requestAnimationFrame(() => requestAnimationFrame(() => {
              const canvas = document.getElementById("timeline-canvas");
              const seen = new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer));
              done(seen.size);
            }));""")

    def view(self):
        return [float(x) for x in self.find("#timeline-canvas").get_attribute("data-view").split()]

    def hover(self, track, index):
        """Moves the pointer onto a task of the timeline, scrolled into sight; returns the lines of the tip."""
        canvas = self.find("#timeline-canvas")
        self.script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        x, y, wide, high = self.script("""
            const canvas = document.getElementById("timeline-canvas"), model = timelineTracks(data.timeline);
            const task = model.lookUp(model.tracks[arguments[0]], arguments[1]), layout = timelineLayout(model, canvas.clientWidth);
            const view = canvas.dataset.view.split(" ").map(Number);
            return [layout.toX((task.start + task.end) / 2, view),
                    layout.trackTop(model.line.lanes.indexOf(task.lane), arguments[0]) + 8, canvas.clientWidth, canvas.clientHeight];""",
            track, index)  # fmt: skip
        ActionChains(self.driver).move_to_element_with_offset(canvas, round(x - wide / 2), round(y - high / 2)).perform()
        return self.texts("#tip:not([hidden]) div")

    def tasks(self):
        """[name, track, position] of the tasks that lie in the step that is shown."""
        return self.script("""
            const model = timelineTracks(data.timeline), all = [];
            model.tracks.forEach((track, number) => track.id.forEach((id, index) => {
              const task = model.lookUp(track, index);
              if (task.start >= 0 && task.end <= track.period_s) all.push([task.name, number, index, task.end - task.start]);
            }));
            return all;""")

    def check(self):
        """Asserts that there is no error on the console, and that no network was asked for anything."""
        errors = [line for line in self.driver.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
        assert not errors, errors
        asked = []
        for line in self.driver.get_log("performance"):
            message = json.loads(line["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert len([url for url in asked if url.startswith("file:")]) <= 1, asked


def start_browser(*reached):
    """A headless Chromium that resolves no name and reaches only the addresses in `reached`, such as "127.0.0.1"."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ["headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1280,900",
                 "host-resolver-rules=" + ", ".join(["MAP * ~NOTFOUND", *("EXCLUDE " + address for address in reached)]), "disable-background-networking", "disable-component-update"]:  # fmt: skip
        options.add_argument("--" + word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_script_timeout(300)
    return driver


def emulate(driver, width=1280, height=900, dark=False):
    """Width of the window, and what the system prefers."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})


@pytest.fixture(scope="module")
def browser():
    reason = why_none()
    if reason:
        pytest.skip(reason)
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture
def open_page(browser):
    opened = []

    def open_one(path, **view):
        emulate(browser, **view)
        page = Page(browser, path)
        opened.append(page)
        return page

    yield open_one
    if opened:
        opened[-1].check()
