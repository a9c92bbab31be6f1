"""The picture in the README is what its script draws from the published spans, and is small."""

import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "experiments" / "lanes" / "draw_lanes.py"
SPANS = REPOSITORY / "experiments" / "results" / "current" / "predicted-over-measured-lanes" / "spans.csv"
PICTURE = REPOSITORY / "docs" / "images" / "predicted-over-measured.svg"


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True)


def test_the_picture_is_drawn_from_the_published_spans(tmp_path):
    drawn = tmp_path / "drawn.svg"
    done = run("svg", SPANS, "-o", drawn)
    assert done.returncode == 0, done.stderr
    assert drawn.read_bytes() == PICTURE.read_bytes()
    assert PICTURE.stat().st_size < 60_000


def trace(tmp_path, name, tasks):
    rows = ", ".join(
        f'{{"id": "{task}", "lane": "{lane}", "kind": "{kind}", "start_s": {start}, "end_s": {end}}}'
        for task, lane, kind, start, end in tasks
    )
    path = tmp_path / name
    path.write_text(f'{{"tasks": [{rows}]}}')
    return path


def step(end):
    """Two steps: the first ends at 1 s; one backward pass in two parts fills the second until `end`."""
    return [
        ("s1/grads", "compute", "grads", 1, 1),
        ("s2/bwd/a", "compute", "backward", 0.5, 1.5),
        ("s2/bwd/b", "compute", "backward", 1.5, end),
        ("s2/grads", "compute", "grads", end, end),
    ]


def test_spans_are_cut_to_the_last_step_and_neighbours_joined(tmp_path):
    predicted, measured, out = trace(tmp_path, "p", step(3)), trace(tmp_path, "m", step(2.5)), tmp_path / "spans.csv"
    assert run("spans", predicted, measured, "-o", out).returncode == 0
    assert out.read_text().splitlines()[1:] == [
        "predicted,step,step,0,2.000000",
        "predicted,compute,backward,0.000000,2.000000",
        "measured,step,step,0,1.500000",
        "measured,compute,backward,0.000000,1.500000",
    ]


def test_traces_of_two_graphs_are_refused(tmp_path):
    predicted, measured = trace(tmp_path, "p", step(3)), trace(tmp_path, "m", step(3)[:2])
    done = run("spans", predicted, measured, "-o", tmp_path / "spans.csv")
    assert done.returncode != 0 and "not of one step graph" in done.stderr
