"""sluice probe: which backend it takes, and the fit of a kept grid of copies and updates. No GPU is needed."""

import json
import pathlib

import pytest

from conftest import available_verbs

pytestmark = pytest.mark.skipif("probe" not in available_verbs(), reason="this build does not measure")

LINK = 50e9
MEMORY = 150e9


def rate(value):
    return {"value": value, "deviation": 0.01 * value, "count": 3}


def grid():
    """A machine whose memory holds 28 bytes a parameter and one a byte copied; copies keep their rate, updates get what is left."""
    points = [
        {"threads": 0, "copies": "h2d", "h2d_bytes_per_s": rate(LINK)},
        {"threads": 0, "copies": "d2h", "d2h_bytes_per_s": rate(LINK)},
        {"threads": 0, "copies": "both", "h2d_bytes_per_s": rate(LINK), "d2h_bytes_per_s": rate(LINK)},
    ]
    for threads in [2, 4, 6, 8, 10]:
        alone = 0.5e9 * threads
        for copies, moved in [("none", 0), ("h2d", LINK), ("d2h", LINK), ("both", 2 * LINK)]:
            point = {"threads": threads, "copies": copies, "update_per_s": rate(min(alone, (MEMORY - moved) / 28))}
            for way in ["h2d", "d2h"]:
                if copies in (way, "both"):
                    point[f"{way}_bytes_per_s"] = rate(LINK)
            points.append(point)
    return {"schema": "sluice/contention/1", "points": points}


@pytest.fixture
def grid_file(tmp_path):
    path = tmp_path / "grid.json"
    path.write_text(json.dumps(grid()))
    return path


def test_a_kept_grid_is_fitted_again(run_sluice, validate, grid_file):
    validate(grid(), "contention")
    out = run_sluice("probe", "--fit-grid", grid_file).out
    assert "held out" in out and "beyond the target" not in out, out
    profile = run_sluice("probe", "--fit-grid", grid_file, "--json").json()
    validate(profile, "profile")
    facts = profile["facts"]
    assert facts["dram_bytes_per_s"]["value"] == pytest.approx(MEMORY, rel=0.03)
    assert facts["h2d_dram"]["value"] == pytest.approx(1, rel=0.1)
    assert facts["h2d_bytes_per_s"]["value"] == LINK


def test_the_grid_of_a_host_that_scatters_is_within_the_targets(run_sluice, validate):
    """As the probe of an H200 wrote it, every round of every point included."""
    path = pathlib.Path(__file__).parents[2] / "experiments/results/current/contention-grid/grid.json"
    kept = json.loads(path.read_text())
    validate(kept, "contention")
    assert all(len(rate["rounds"]) == rate["count"] for point in kept["points"] for rate in point.values() if isinstance(rate, dict))
    out = run_sluice("probe", "--fit-grid", path).out
    assert "held out" in out and "beyond the target" not in out, out


def test_a_fit_beyond_its_targets_names_the_point(run_sluice, tmp_path):
    document = grid()
    for point in document["points"]:
        if point["threads"] == 6 and point["copies"] == "h2d":
            point["h2d_bytes_per_s"] = rate(LINK / 3)
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document))
    out = run_sluice("probe", "--fit-grid", path).out
    lines = [line for line in out.splitlines() if "held out" in line and "h2d" in line.split("points")[0]]
    assert len(lines) == 1 and "(6 threads, copies h2d)" in lines[0] and "beyond the target" in lines[0], out


def test_wrong_words_are_refused(refuses, grid_file, tmp_path):
    refuses(["probe", "--backend", "gpu"], "--backend", "host")
    refuses(["probe", "--backend", "host", "--devices", "2"], "--devices", "leave it out")
    refuses(["probe", "--devices", "9"], "--devices")
    refuses(["probe", "--backend", "host", "--disk-size", "0B"], "--disk-size", "0 B")
    refuses(["probe", "--backend", "host", "--disk-size", "64"], "--disk-size", "unit")
    refuses(["probe", "--fit-grid", tmp_path / "absent.json"], "absent.json")
    refuses(["probe", "--backend", "host", "--quick", "--grid", tmp_path / "out.json"], "--grid")
    grid_file.write_text('{"schema": "sluice/contention/1", "points": []}')
    refuses(["probe", "--fit-grid", grid_file], "alone")
