"""What the results folder of `sluice ablate` says of itself, and holds of any name."""

import csv
import json
import re
import shlex

import pytest

from small_experiment import SMALL, small  # noqa: F401 (a fixture)


def test_a_manifest_names_every_profile_and_a_command_that_a_shell_reads(run_sluice, tmp_path):
    file = tmp_path / "it's `one`.yaml"
    file.write_text(SMALL[: SMALL.index("factors:")] + "  policy: megatrain\nfactors:\n  link: {path: machine.h2d, values: [1x, 0.5x, 0.25x]}\n"
                    "  clip: {path: optimizer.clip, values: [1, 'off']}\n")  # fmt: skip
    cells = run_sluice("ablate", file, "-o", tmp_path / "out", "--json").json()["cells"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    rows = list(csv.DictReader((tmp_path / "out" / "cells.csv").open()))
    assert manifest["machines"] == {"h200": rows[0]["profile_hash"]}  # The baseline's value, not the last level's.
    assert [profile["cells"] for profile in manifest["profiles"]] == [[0, 1], [2, 3], [4, 5]] and len(cells) == 6
    assert {profile["profile_hash"] for profile in manifest["profiles"]} == {row["profile_hash"] for row in rows}
    assert shlex.split(manifest["command"]) == ["sluice", "ablate", str(file), "-o", str(tmp_path / "out"), "--json"]


def test_a_factor_called_as_a_column_has_one_of_its_own(run_sluice, small, tmp_path):
    small.write_text(SMALL.replace("buffers:", "status:").replace("keep:\n", "größe:\n"))
    run_sluice("ablate", small, "-o", tmp_path / "out", "--effort", "0.02")
    with (tmp_path / "out" / "cells.csv").open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file))
        file.seek(0)
        rows = list(csv.DictReader(file))
    assert len(set(header)) == len(header) and header[:4] == ["cell", "factor.status", "größe", "status"]
    assert [(row["factor.status"], row["status"]) for row in rows] == [("1", "fits"), ("1", "fits"), ("2", "fits"), ("2", "fits")]


def test_tables_and_plots_hold_any_name(run_sluice, small, tmp_path):
    long = "a name of many words, " * 12
    small.write_text(SMALL.replace("planned: {}", "a | <b>: {limits.hbm: 1 MiB}").replace("all: {", f'"{long}": {{'))
    run_sluice("ablate", small, "-o", tmp_path / "out")
    table = [line for line in (tmp_path / "out" / "table.md").read_text().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in table} == {table[0].count("|")}
    assert "a \\| &lt;b> |" in table[2] and "hbm is short by" in table[2]
    assert table[3].split(" | ")[6] == "1"  # Relative to the first cell that fits.
    plot = (tmp_path / "out" / "plot.svg").read_text()
    drawn = re.findall(r">([^<>]*)</text>", plot)
    assert max(map(len, drawn)) <= 100 and any("\u2026" in text for text in drawn)
    assert f"<title>buffers=2, keep={long}</title>" in plot


def test_what_a_dry_run_says_of_the_disk_is_what_the_results_take(run_sluice, small, tmp_path):
    for name, text in (("few", SMALL), ("many", SMALL.replace("[1, 2]", str([*range(1, 21)])))):
        small.write_text(text)
        said = run_sluice("ablate", small, "--dry-run", "--effort", "0.02", "--json").json()["disk_bytes"]
        run_sluice("ablate", small, "--effort", "0.02", "-o", tmp_path / name)
        assert said == pytest.approx(sum(p.stat().st_size for p in (tmp_path / name).rglob("*") if p.is_file()), rel=0.15)
