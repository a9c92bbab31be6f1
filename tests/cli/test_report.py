"""The HTML reports in a real browser: what is drawn, what a reader can do, and that nothing is asked of a network."""

import csv
import json
import os
import pathlib
import re
import subprocess

import pytest

from conftest import available_verbs, once, program
from report_browser import browser, open_page  # noqa: F401 (fixtures)
from small_run import CONFIG, small_flags

pytestmark = [
    pytest.mark.skipif("train" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"),
    once,
]
DRIVER = pathlib.Path(program()).parent / "report_driver"


def sluice(home, *words):
    done = subprocess.run([program(), *map(str, words)], cwd=home, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "SLUICE_HOME": str(home / "store")})  # fmt: skip
    assert done.returncode in (0, 5), done.stderr
    return done


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run folder of twelve steps."""
    home = tmp_path_factory.mktemp("trained")
    (home / "config.json").write_text(json.dumps(CONFIG))
    sluice(home, "train", *small_flags(home, "config.json"), "steps=12", "out=run", "--no-checkpoint", "--json")
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


EXPERIMENT = """\
name: buffers
question: Do more buffers help, and <b>where</b>?
baseline: {model: bytes-2m, machine: h200, seq_len: 64, batch_size: 4, residency: host}
factors:
  buffers: {path: plan.weight_buffers, values: [1, 2, 3]}
  memory: {path: limits.hbm, values: [1 GiB, 1 MiB]}
"""


@pytest.fixture(scope="module")
def experiments(tmp_path_factory):
    """Results folders of one experiment that was predicted, and of one that ran on the host backend."""
    home = tmp_path_factory.mktemp("experiments")
    (home / "predicted.yaml").write_text(EXPERIMENT)
    sluice(home, "ablate", "predicted.yaml", "--effort", "0.05", "-o", "out/predicted")
    small = pathlib.Path(__file__).parents[2] / "experiments" / "ablations" / "small.yaml"
    sluice(home, "ablate", small, "seq_len=32", "batch_size=2", "--on", "device", "--effort", "0.1", "-o", "out/run")
    return home / "out"


def test_an_experiment_that_was_predicted(open_page, experiments):
    page = open_page(experiments / "predicted" / "report.html")
    assert page.sections() == ["over-factor", "cells", "effects", "parts", "experiment", "provenance"]
    assert page.texts("h1") == ["Do more buffers help, and <b>where</b>?"]
    cells = page.data["cells"]
    tracks = page.texts("#cells td.bar")
    assert len(tracks) == len(cells) == 6
    lacking = [text for text, cell in zip(tracks, cells) if not cell["fits"]]
    assert len(lacking) == 3 and all("short" in text for text in lacking)
    assert len(page.texts("#cells .track .ring")) == 3 and page.texts("#cells .track .dot") == []
    assert [circle for circle in page.texts("#over-factor svg circle")] == [""] * 3
    assert page.texts("#effects tbody tr td:nth-child(2)") == ["2 over 1", "3 over 1"]
    first, second = (cell["tokens_per_s"] for cell in cells if cell["fits"] and cell["levels"][0] in "12")
    assert page.texts("#effects tbody tr:first-child td:nth-child(4)") == [f"{second / first:.3f}"]


def test_an_experiment_that_ran(open_page, experiments):
    page = open_page(experiments / "run" / "report.html")
    assert page.sections() == ["cells", "effects", "parts", "samples", "experiment", "provenance"]
    assert page.script("return [...document.querySelectorAll('table')].every((t) => t.scrollWidth <= t.parentElement.clientWidth)")
    rows = list(csv.DictReader((experiments / "run" / "samples.csv").open()))
    apart = sum(int(row["outlier"]) for row in rows)
    assert len(page.texts("#cells .track .one")) == len(rows) - apart
    assert len(page.texts("#cells .track .apart")) == apart
    assert len(page.texts("#samples circle")) == len(rows)
    measured = [cell["measured"]["median_s"] for cell in page.data["cells"]]
    page.script("[...document.querySelectorAll('#cells .sort')].find((b) => b.textContent === 'measured').click()")
    order = page.texts("#cells .panel:nth-of-type(1) tbody th")
    names = [cell["name"] for cell in page.data["cells"]]
    assert order == sorted(names, key=lambda name: -measured[names.index(name)])


def test_a_tuned_plan(open_page, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    words = ["autotune", *small_flags(tmp_path, "config.json"), "--minutes", "0.05", "--steps", "4", "--sweep", "weight_buffers", "--json"]
    result = json.loads(sluice(tmp_path, *words, "--report", tmp_path / "tuned.html").stdout)
    assert result["report_file"] == str(tmp_path / "tuned.html")
    page = open_page(tmp_path / "tuned.html")
    sections = page.sections()
    assert [name for name in sections if name != "sweeps"] == ["rounds", "timeline", "memory", "waterfall"] + sections[sections.index("waterfall") + 1 :]
    assert ("sweeps" in sections) == bool(result["sweep"][0]["points"])
    assert len(page.texts("#rounds tbody tr")) == len(result["rounds"])
    # Measured whether the prediction holds or not, and if only on a plan that is not kept then.
    whose = re.search(r"of (this|another) plan's last run", page.texts("#timeline .seen")[0]).group(1)
    assert whose == "this" or not result["holds"]
    assert "errors" in sections and [row["name"] for row in page.data["timeline"]["rows"]] == ["predicted", "measured"]
    assert page.painted() > 5


def test_a_run_too_short_to_trace_shows_its_prediction(open_page, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    sluice(tmp_path, "train", *small_flags(tmp_path, "config.json"), "steps=1", "out=run", "--no-checkpoint", "--json")
    page = open_page(tmp_path / "run" / "report.html")
    assert page.texts("#timeline h2") == ["One step, predicted"]
    assert [row["name"] for row in page.data["timeline"]["rows"]] == ["predicted"]
    assert "errors" not in page.sections() and {"memory", "waterfall", "elasticities"} <= set(page.sections())
    assert page.texts("#waterfall thead th")[2:] == [page.texts("#waterfall thead th")[2], "of the step"]
