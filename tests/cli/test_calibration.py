"""Calibration of a machine through `machines`: shown, merged from a file, reset."""

import json


def sample(profile_hash, key, value, count=2):
    return {
        "schema": "sluice/calibration/1", "profile_hash": profile_hash, "cost_key": key, "value": value,
        "deviation": value / 50, "count": count, "source": "autotune", "time": "2026-01-31T12:00:00Z",
    }  # fmt: skip


def write(path, *samples):
    path.write_text("".join(json.dumps(line) + "\n" for line in samples))
    return path


def profile_hash(run_sluice, machine):
    return run_sluice("machines", "show", machine).out.split("profile ")[1].split()[0]


def test_without_calibration_it_says_so(run_sluice):
    assert "no calibration" in run_sluice("machines", "show", "h200").out
    assert "has no calibration" in run_sluice("machines", "reset", "h200").out


def test_costs_are_merged_shown_and_forgotten(tmp_path, run_sluice):
    key = profile_hash(run_sluice, "h200")
    file = write(
        tmp_path / "other.jsonl",
        sample(key, "update/device/1024", 0.002, 3),
        sample(key, "copy/h2d/4194304", 0.0001),
        sample("0" * 64, "copy/d2h/4194304", 1.0),
    )
    assert "added 2 costs to h200, which has 2 now" in run_sluice("machines", "merge", "h200", file).out
    shown = run_sluice("machines", "show", "h200").out
    assert "calibration, 2 costs" in shown
    line = next(line for line in shown.splitlines() if "update/device/1024" in line)
    assert "2.00 ms" in line and "3 x" in line and "autotune" in line
    write(tmp_path / "more.jsonl", sample(key, "update/device/1024", 0.004, 3))
    assert "has 2 now" in run_sluice("machines", "merge", "h200", tmp_path / "more.jsonl").out
    line = next(line for line in run_sluice("machines", "show", "h200").out.splitlines() if "update/device/1024" in line)
    assert "3.00 ms" in line and "6 x" in line
    assert "forgot 2 costs" in run_sluice("machines", "reset", "h200").out
    assert "no calibration" in run_sluice("machines", "show", "h200").out


def test_what_cannot_be_merged_is_refused(tmp_path, refuses):
    other = write(tmp_path / "other.jsonl", sample("0" * 64, "copy/h2d/4194304", 0.001))
    refuses(["machines", "merge", "h200", other], "other.jsonl", "h200")
    refuses(["machines", "merge", "h200", "nowhere.jsonl"], "nowhere.jsonl")
    refuses(["machines", "merge", "h200"], "FILE")
    refuses(["machines", "reset"], "NAME")
    refuses(["machines", "reset", "h2000"], "h200")
