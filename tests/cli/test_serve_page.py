"""The page of `sluice serve` in a real browser: forms answer, canvases and plots are drawn, curves go on while a run does."""

import json
import time

import pytest
import report_browser
from conftest import available_verbs
from report_browser import emulate, why_none
from test_serve import Served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("serve" not in available_verbs(), reason="this build has no serve: cpp-httplib was missing"),
    pytest.mark.skipif(bool(why_none()), reason=str(why_none())),
]
PATIENCE = 240


@pytest.fixture(scope="module")
def browser():
    driver = report_browser.start_browser("127.0.0.1")
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    run = folder / "runs" / "live"
    run.mkdir(parents=True)
    (run / "run.yaml").write_text('model: "bytes-2m"\nsteps: 40\nmachine: "here"\n')
    add(run, 1, 12)
    (folder / "prices.yaml").write_text(
        "prices:\n  rtx-4090: {rent_usd_per_hour: 0.34, buy_usd: 1599, date: 2026-01-01}\n"
        "  h100-sxm: {rent_usd_per_hour: 2.95, date: 2026-01-01}\n  rtx-5090: {buy_usd: 1999, date: 2026-01-01}\n"
    )
    return folder


def add(run, first, last):
    with open(run / "metrics.jsonl", "a") as file:
        for step in range(first, last + 1):
            row = {"step": step, "loss": 2 + 4 / step, "step_s": 0.25, "predicted_s": 0.24, "useful_tokens_per_s": 512.0, "lr": 1e-4}
            file.write(json.dumps({**row, **({"val_loss": 2.1 + 4 / step} if step % 5 == 0 else {})}) + "\n")


class Page:
    def __init__(self, driver, address):
        self.driver = driver
        driver.get(address)
        self.wait("return document.documentElement.dataset.drawn === 'yes'")

    def script(self, text, *words):
        return self.driver.execute_script(text, *words)

    def wait(self, text, *words):
        deadline = time.monotonic() + PATIENCE
        while not (found := self.script(text, *words)):
            assert time.monotonic() < deadline, text + "\n" + str(self.script("return document.body.innerText"))
            time.sleep(0.1)
        return found

    def show(self, part):
        self.script("location.hash = arguments[0]", part)
        self.wait("return !document.getElementById(arguments[0]).hidden", part)

    def answer(self, form, **fields):
        for name, value in fields.items():
            self.script("document.querySelector(`#${arguments[0]} [name='${arguments[1]}']`).value = arguments[2]", form, name.replace("_", "-"), value)
        self.script("document.querySelector(`#${arguments[0]} button`).click()", form)
        return self.wait("const said = document.querySelector(`#${arguments[0]} + .said`);"
                         "return /answered/.test(said.textContent) || said.classList.contains('failed') ? said.textContent : ''", form)  # fmt: skip

    def texts(self, selector):
        return self.script("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def errors(self):
        """What the console has, but for the browser's own lines about refused requests (a test asks for one)."""
        lines = self.driver.get_log("browser")
        return [line for line in lines if line["level"] in ("SEVERE", "WARNING") and "status of 400" not in line["message"]]


@pytest.fixture(scope="module")
def served(place):
    server = Served(place, "--prices", "prices.yaml", "--buy-seconds", "8")
    yield server
    server.end()


@pytest.fixture
def page(browser, served):
    browser.get_log("browser"), browser.get_log("performance")
    emulate(browser)
    page = Page(browser, f"http://127.0.0.1:{served.port}/")
    yield page
    assert page.errors() == []
    asked = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    urls = [message["params"]["request"]["url"] for message in asked if message["method"] == "Network.requestWillBeSent"]
    assert urls and all(url.startswith((f"http://127.0.0.1:{served.port}/", "data:")) for url in urls), urls


def test_a_prediction_is_drawn_with_its_timeline_and_memory(page, served):
    assert "answered" in page.answer("predict-form", model="bytes-10m", seq_len="128", batch_size="8", ram="")
    job = {"model": "bytes-10m", "seq-len": "128", "batch-size": "8", "machine": "rtx-4090"}
    found = served.ask("/api/predict", **job)
    assert any(f"{found['step_s'] * 1000:.3g}" in text for text in page.texts("#predicted .value")), page.texts("#predicted .value")
    colours = """const canvas = document.getElementById("timeline-canvas");
        const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
        return new Set(pixels).size;"""
    assert page.script(colours) > 4
    view = page.script("return document.getElementById('timeline-canvas').dataset.view")
    page.script("[...document.querySelectorAll('.controls button')].find((b) => b.textContent === '+').click()")
    assert page.script("return document.getElementById('timeline-canvas').dataset.view") != view
    assert len(page.texts(".meter i")) >= 4


def test_what_does_not_fit_says_what_is_short(page):
    assert "answered" in page.answer("predict-form", model="qwen2.5-1.5b", seq_len="1024", batch_size="1", ram="1x8 GiB DDR5-5600", machine="rtx-4070-ti-super")
    assert any("does not fit: host is short by" in text for text in page.texts("#predict h3"))


def test_a_wrong_field_is_said_beside_the_form(page):
    assert "must be a number" in page.answer("predict-form", model="bytes-2m", seq_len="many")


def test_advice_has_a_verdict_and_two_plots(page):
    page.show("buy")
    assert "answered" in page.answer("buy-form", model="bytes-10m", seq_len="128", batch_size="8", tokens="50M", budget="3000")
    assert page.texts(".verdict p")
    assert page.script("return document.querySelectorAll('.cost-plot circle').length") >= 3


def test_curves_go_on_while_a_run_does(page, place):
    page.show("runs")
    page.wait("return document.querySelectorAll('#curves svg').length === 3")
    assert page.texts("#runs tbody th")[0] == "live"
    before = page.script("return document.querySelector('#curves svg path').getAttribute('d')")
    add(place / "runs" / "live", 13, 20)
    page.wait("return document.querySelector('#curves svg path').getAttribute('d') !== arguments[0]", before)
    assert "20 of 40" in page.texts("#runs tbody tr")[0]


def test_the_catalogue_is_searched(page):
    page.show("catalogue")
    everything = len(page.texts("#catalogue tbody tr"))
    page.driver.find_element("css selector", "#catalogue input").send_keys("sm_120")
    found = page.texts("#catalogue tbody th")
    assert 0 < len(found) < everything and "rtx-5090" in found
