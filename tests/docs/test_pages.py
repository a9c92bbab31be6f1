"""The documentation holds together: links lead somewhere, every page is reachable, generated pages are current."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((REPOSITORY / "docs").rglob("*.md")) + [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(path):
    return re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)


def anchors(path):
    """What a code host makes of each heading."""
    headings = re.findall(r"^#+ +(.*)$", prose(path), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in plain}


def links(path):
    for target in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        yield target, (path.parent / file).resolve() if file else path, anchor


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_lead_somewhere(path):
    broken = [
        target
        for target, file, anchor in links(path)
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file))
    ]
    assert not broken


def test_every_page_is_reached_from_the_readme():
    reached, waiting = set(), [REPOSITORY / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in reached or not path.is_file() or path.suffix != ".md":
            continue
        reached.add(path)
        waiting += [file for _, file, _ in links(path)]
    missed = [str(path.relative_to(REPOSITORY)) for path in PAGES if path not in reached]
    assert not missed


def test_tables_of_predictions_are_what_the_ledgers_say():
    done = subprocess.run([sys.executable, REPOSITORY / "experiments/ledger/run", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_reference_of_the_command_line_is_current():
    program = os.environ.get("SLUICE_BIN", REPOSITORY / "build" / "bin" / "sluice")
    overview = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    if "\n  train " not in overview:
        pytest.skip("the program is built without the engine, and so without some verbs")
    done = subprocess.run(
        [sys.executable, REPOSITORY / "scripts" / "cli_reference", "--check", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_schema_is_named_in_the_reference_of_files():
    page = (REPOSITORY / "docs" / "reference" / "files.md").read_text()
    missed = [
        path.name for path in (REPOSITORY / "docs" / "schemas").glob("*.schema.json") if path.name not in page
    ]
    assert not missed
