"""The HTML reports of experiments and of tuning in a real browser."""

import csv
import json
import pathlib
import re

import pytest

from conftest import available_verbs, once
from report_browser import browser, open_page, run_at  # noqa: F401 (fixtures)
from small_run import CONFIG, small_flags

pytestmark = [
    pytest.mark.skipif("train" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"),
    once,
]


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
    run_at(home, "ablate", "predicted.yaml", "--effort", "0.05", "-o", "out/predicted")
    small = pathlib.Path(__file__).parents[2] / "experiments" / "ablations" / "small.yaml"
    run_at(home, "ablate", small, "seq_len=32", "batch_size=2", "--on", "device", "--effort", "0.1", "-o", "out/run")
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


def test_many_cells_with_long_names_stay_readable(open_page, tmp_path):
    text = EXPERIMENT[: EXPERIMENT.index("factors:")] + "factors:\n  a name of so many words that a narrow window cannot hold it on one line:\n"
    rates = {f"what a level may be called where somebody wants to say all there is to say of it, {i}": f"{{machine.h2d: {i} GB/s}}" for i in range(10, 52)}
    (tmp_path / "many.yaml").write_text(text + "    levels:\n" + "".join(f'      "{name}": {level}\n' for name, level in rates.items()))
    run_at(tmp_path, "ablate", "many.yaml", "policy=megatrain", "-o", "out")
    for width in (1280, 480):
        page = open_page(tmp_path / "out" / "report.html", width=width)
        assert page.script("return document.documentElement.scrollWidth") <= width
        tables = page.script("return [...document.querySelectorAll('.scroll.long')].map((box) => [box.clientHeight, box.scrollHeight])")
        assert len(tables) >= 3 and all(seen < 720 < whole for seen, whole in tables)
        # A name leaves room for what is drawn beside it.
        assert page.script("return document.querySelector('#cells th.name').offsetWidth") <= 400


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
    result = json.loads(run_at(tmp_path, *words, "--report", tmp_path / "tuned.html").stdout)
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
