"""The HTML report of a run in a real browser: what is drawn, what a reader can do, and that nothing is asked of a network."""

import json
import pathlib
import re
import subprocess

import pytest

from conftest import available_verbs, once, program
from report_browser import browser, open_page, run_at  # noqa: F401 (fixtures)
from small_run import CONFIG, small_flags

pytestmark = [
    pytest.mark.skipif("train" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"),
    once,
]
DRIVER = pathlib.Path(program()).parent / "report_driver"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run folder of twelve steps."""
    home = tmp_path_factory.mktemp("trained")
    (home / "config.json").write_text(json.dumps(CONFIG))
    run_at(home, "train", *small_flags(home, "config.json"), "steps=12", "out=run", "--no-checkpoint", "--json")
    return home / "run"


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """Pages of made-up runs, by tasks a step."""
    folder = tmp_path_factory.mktemp("made-up")

    def page(tasks):
        path = folder / f"{tasks}.html"
        if not path.exists():
            path.write_bytes(subprocess.run([DRIVER, str(tasks)], capture_output=True, check=True).stdout)
        return path

    return page


def test_a_training_run_has_every_part(open_page, trained):
    page = open_page(trained / "report.html")
    assert page.sections() == ["timeline", "memory", "waterfall", "errors", "elasticities", "loss", "step-times", "provenance"]
    first, last = map(int, re.search(r"Measured: steps (\d+) to (\d+) of the run", page.texts("#timeline .seen")[0]).groups())
    assert 1 <= first == last - 2 <= 10
    kinds = {row["name"].replace("_", " ") for row in page.data["kinds"] if row["measured_s"] > 0}
    assert set(page.texts("#errors table:first-of-type tbody th")) >= kinds >= {"forward", "backward", "update"}
    waterfall = page.texts("#waterfall tbody th")
    assert waterfall[0].startswith("bound, by ") and waterfall[-1] == "= step"
    assert page.texts("#memory h3")[:2] == ["Device memory (hbm): the arena", "Host memory: the arena"]
    assert len(page.texts("#memory svg path")) >= 4
    assert "link rate, both ways" in page.texts("#elasticities tbody th")
    assert len(page.texts("#loss circle")) >= 12
    assert page.painted() > 10
    assert page.texts("#contents a") and len(page.texts("nav a")) == len(page.sections())


def test_what_the_page_says_is_what_the_run_measured(open_page, trained):
    page = open_page(trained / "report.html")
    manifest = json.loads((trained / "manifest.json").read_text())["result"]
    head = page.data["headline"]
    assert head["measured_s"] == manifest["step_s"] and head["predicted_s"] == manifest["predicted_s"]
    trace = json.loads((trained / "measured.trace").read_text())["tasks"]
    ends = {task["id"]: task["end_s"] for task in trace}
    period = ends["s3/grads"] - ends["s2/grads"]
    assert page.data["waterfall"][1]["step_s"] == pytest.approx(period, rel=1e-6)
    update = sum(task["end_s"] - task["start_s"] for task in trace if task["kind"] == "update" and task["id"].startswith("s2/"))
    row = next(row for row in page.data["kinds"] if row["name"] == "update")
    assert row["measured_s"] == pytest.approx(update, rel=1e-6)
    for tier in page.data["memory"]:
        for curve in tier["curves"]:
            fullest = max(map(sum, zip(*curve["bytes"])))
            assert 0 < fullest <= tier["arena_bytes"]


def test_hovering_a_task_says_what_is_known_of_it(open_page, trained):
    page = open_page(trained / "report.html")
    name, row, index, _ = max(page.tasks(), key=lambda task: task[3] if "/load" in task[0] or "w" in task[0] else 0)
    lines = page.hover(row, index)
    assert lines[0] == name
    said = "\n".join(lines)
    assert "predicted: " in said and "measured: " in said and "bound: " in said and "from " in said
    page.press("#timeline-canvas", "+")  # What the tip is about is elsewhere now.
    assert page.script("return byId('tip').hidden")
    page.script("document.body.scrollIntoView()")
    page.find("h1").click()
    assert page.texts("#tip:not([hidden])") == [] or page.script("return byId('tip').hidden")


def test_search_zoom_and_keys(open_page, trained):
    page = open_page(trained / "report.html")
    whole = page.view()
    page.press("#search", "update")
    found = int(page.texts("#hits")[0].split()[0].replace(",", ""))
    line = page.data["timeline"]
    updates = {i for i, kind in enumerate(line["kinds"]) if kind == "update"}
    assert found == sum(kind in updates for row in line["rows"] for kind in row["kind"]) > 0
    page.press("#search", "\ue007")  # Enter goes to the first.
    assert "update on " in page.texts("#task")[0] and page.texts("#hits")[0].startswith("1 of ")
    began = next(text for text in page.texts("#task span") if " from " in text).rsplit("from ", 1)[1]
    assert began[0] not in "-\u2212"  # The tip is about this step, not the one before.
    page.press("#search", "\ue00c")  # Escape clears.
    assert page.texts("#hits") == [""]
    page.press("#timeline-canvas", "+", "+")
    assert page.view()[1] - page.view()[0] < 0.5 * (whole[1] - whole[0])
    page.press("#timeline-canvas", "0")
    assert page.view() == whole
    page.press("#timeline-canvas", "\ue00c", ".")
    first = page.texts("#task strong")
    page.press("#timeline-canvas", ".")
    assert page.texts("#task strong") != first
    page.press("#timeline-canvas", "\ue015")  # Down: the same lane's measured row, or the next lane.
    assert page.texts("#task strong")


def test_themes_follow_the_system_until_the_reader_chooses(open_page, trained):
    def background():
        return page.script("return getComputedStyle(document.body).backgroundColor")

    page = open_page(trained / "report.html", dark=True)
    dark = background()
    page.find("#theme button[data-value=light]").click()
    light = background()
    assert light != dark
    page.find("#theme button[data-value=dark]").click()
    assert background() == dark
    page.find("#theme button[data-value=system]").click()
    assert background() == dark
    page = open_page(trained / "report.html", dark=False)
    assert background() == light


@pytest.mark.parametrize("width", [1280, 480])
def test_nothing_is_wider_than_the_window(open_page, trained, width):
    page = open_page(trained / "report.html", width=width)
    assert page.script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("tasks", [100, 5_000, 100_000])
def test_pages_of_any_size(open_page, made_up, tasks):
    page = open_page(made_up(tasks))
    rows = page.data["timeline"]["rows"]
    assert [row["name"] for row in rows] == ["predicted", "measured"]
    assert all(row["tasks"] >= tasks for row in rows)
    assert page.painted() > 5
    said = page.texts("#timeline-count")[0]
    assert f"predicted {rows[0]['tasks']:,} tasks" in said
    name, row, index, _ = max(page.tasks(), key=lambda task: task[3])
    if tasks == 100_000:
        assert "trace.json" in said and made_up(tasks).stat().st_size < 6_000_000
        assert sum(rows[0]["count"]) == rows[0]["tasks"]
        page.press("#timeline-canvas", "+", "+", "+")
    else:
        assert "trace.json" not in said and len(rows[0]["id"]) == rows[0]["tasks"]
    page.press("#timeline-canvas", "0")
    assert page.hover(row, index)


def test_a_report_prints_in_light(open_page, trained):
    page = open_page(trained / "report.html", dark=True)
    page.script("dispatchEvent(new Event('beforeprint'))")
    assert page.script("return document.documentElement.dataset.theme") == "light"
    page.script("dispatchEvent(new Event('afterprint'))")
    assert page.script("return document.documentElement.dataset.theme") is None
    assert len(page.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 20_000


def test_a_run_too_short_to_trace_shows_its_prediction(open_page, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    run_at(tmp_path, "train", *small_flags(tmp_path, "config.json"), "steps=1", "out=run", "--no-checkpoint", "--json")
    page = open_page(tmp_path / "run" / "report.html")
    assert page.texts("#timeline h2") == ["One step, predicted"]
    assert [row["name"] for row in page.data["timeline"]["rows"]] == ["predicted"]
    assert "errors" not in page.sections() and {"memory", "waterfall", "elasticities"} <= set(page.sections())
    assert page.texts("#waterfall thead th")[2:] == [page.texts("#waterfall thead th")[2], "of the step"]
