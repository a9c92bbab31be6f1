"""The six sittings of one day, each replayed as if other eight of its runs had taught."""

import json
import pathlib
import subprocess
import tarfile
import tempfile

here = pathlib.Path(__file__).resolve().parent
SITTINGS = ("", "-sure", "-narrow", "-eight", "-pooled", "-again")


def lines_of(sitting):
    words = [line.split(maxsplit=2) for line in (here.parent / f"2026-11-26-prediction-study{sitting}" / "runs").read_text().splitlines()]
    return [w for w in words if w and not w[0].startswith("#")]


# Sittings call one run differently by what it was for; names are the third sitting's.
NAME_OF = {flags: name for name, _, flags in lines_of("-narrow")}


def replayed(program, sitting, taught, *flags):
    """What prediction_study printed, and its study.json's runs; `taught` in the order of teaching."""
    source = here.parent / f"2026-11-26-prediction-study{sitting}"
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        with tarfile.open(source / "rec.tar.xz") as archive:
            archive.extractall(folder)
        lines = lines_of(sitting)
        runs = [[name, "calibrate" if NAME_OF[words] in taught else "predict", words] for name, _, words in lines if name != "defaults"]
        runs.sort(key=lambda run: taught.index(NAME_OF[run[2]]) if run[1] == "calibrate" else len(taught))
        defaults = next(words for words in lines if words[0] == "defaults")
        (folder / "runs").write_text("\n".join(" ".join(words) for words in [defaults, *runs]) + "\n")
        (folder / "profile.json").write_bytes((source / "profile.json").read_bytes())
        command = [program, "runs", "--replay", "rec", "--json", "again.json", "--commit", "again", *flags]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout, json.loads((folder / "again.json").read_text())["runs"]
