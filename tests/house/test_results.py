"""Published results stay small and true to the pages: every folder is cited, every citation exists, nothing is packed."""

import csv
import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "experiments" / "results"
MOST_BYTES_OF_THE_TREE = 16_000_000  # Source code and its tests, for the greater part.
MOST_BYTES_OF_RESULTS = 1_300_000
MOST_BYTES_OF_A_FILE = 256 * 1024
PACKED = {".7z", ".bz2", ".gz", ".npy", ".npz", ".pt", ".tar", ".tgz", ".xz", ".zip", ".zst"}
CITING = {".md", ".ipynb", ".py", ".cpp", ".hpp", ".cu", ".cuh", ".json", ".yaml"}
# Tests that hold names of folders which are not there.
MADE_UP = {"test_results.py", "test_fetch.py"}
# Figures stand in a folder only where its own page shows them.
FIGURES = {".svg", ".png"}
PATH = re.compile(r"\bresults/((?:current|history|20\d\d-\d\d-\d\d)[\w./+-]*)")
OLD_NAME = re.compile(r"\b20\d\d-\d\d-\d\d-[a-z][\w.+-]*\w")


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [REPOSITORY / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def within(path, folder):
    return folder in path.parents


def raw(path):
    """Unedited output of a published run: it may name what was there on its day."""
    return within(path, RESULTS) and path.name != "README.md"


def claims():
    """Folders of results/current, nested ones too, that have a page of their own."""
    return sorted(path.parent for path in (RESULTS / "current").rglob("README.md"))


def living_pages():
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md"), *(REPOSITORY / "notebooks").glob("*")]
    return pages + [path for path in (REPOSITORY / "experiments").rglob("README.md") if not within(path, RESULTS)]


def citations(path):
    return [found.rstrip("./") for found in PATH.findall(path.read_text())]


def old_names():
    with (RESULTS / "history" / "folders.tsv").open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


def test_the_tree_is_light():
    sizes = sorted(((path.stat().st_size, path) for path in tracked()), reverse=True)
    total = sum(size for size, _ in sizes)
    report = "\n".join(f"{size:9d} {path.relative_to(REPOSITORY)}" for size, path in sizes[:10])
    print(f"{total} B in {len(sizes)} files")
    assert total <= MOST_BYTES_OF_THE_TREE, f"{total} B are tracked; the largest:\n{report}"
    results = sum(size for size, path in sizes if within(path, RESULTS))
    assert results <= MOST_BYTES_OF_RESULTS, f"{results} B of published results are tracked"
    assert sizes[0][0] <= MOST_BYTES_OF_A_FILE, f"too large:\n{report}"


def test_nothing_tracked_is_packed():
    assert [str(path.relative_to(REPOSITORY)) for path in tracked() if path.suffix in PACKED] == []


def test_results_are_text():
    for path in tracked():
        if within(path, RESULTS):
            assert b"\0" not in path.read_bytes(), path


def test_results_hold_claims_and_history_alone():
    assert sorted(path.name for path in RESULTS.iterdir() if path.name != "fetched") == ["README.md", "current", "history"]
    top = {path for path in (RESULTS / "current").iterdir()}
    assert all((path / "README.md").is_file() for path in top)
    assert [path.name for path in top if re.search(r"\d{4}-\d\d-\d\d", path.name)] == [], "a claim's name has no date"


@pytest.mark.parametrize("claim", claims(), ids=lambda path: str(path.relative_to(RESULTS / "current")))
def test_a_claim_says_when_where_and_by_which_commit(claim):
    page = (claim / "README.md").read_text()
    assert re.search(r"^- Date: \d{4}-\d\d-\d\d", page, re.MULTILINE)
    assert re.search(r"^- Machine: \S", page, re.MULTILINE)
    assert re.search(r"^- Commit: .*[0-9a-f]{7}", page, re.MULTILINE)
    for name in ("command", "commit"):
        assert (claim / name).stat().st_size > 0, name
    assert [path for path in claim.rglob("machine*") if path.stat().st_size > 0], "which machine?"
    figures = [path for path in claim.rglob("*") if path.suffix in FIGURES]
    assert [path.name for path in figures if path.name not in page] == [], "a figure that no page shows"


def test_every_claim_is_cited_by_a_living_page():
    cited = {"/".join(found.split("/")[:2]) for page in living_pages() for found in citations(page)}
    missed = {f"current/{path.name}" for path in (RESULTS / "current").iterdir()} - cited
    assert not missed, "move them to history: " + ", ".join(sorted(missed))


def test_every_citation_exists():
    broken = [
        f"{path.relative_to(REPOSITORY)}: results/{found}"
        for path in tracked()
        if path.suffix in CITING and not raw(path) and path.name not in MADE_UP
        for found in citations(path)
        if not (RESULTS / found).exists()
    ]
    assert not broken, "\n".join(broken)


def test_links_of_the_results_lead_somewhere():
    broken = []
    for page in RESULTS.rglob("README.md"):
        for target in re.findall(r"\]\(([^)\s#]+)\)", page.read_text()):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(REPOSITORY)}: {target}")
    assert not broken, "\n".join(broken)


def test_what_lies_in_history_is_named_as_that():
    """By `history: NAME` or by the command that brings it back, so that no reader looks for it in the tree."""
    known, broken = old_names(), []
    for path in tracked():
        if path.suffix not in CITING or raw(path) or path.name in MADE_UP:
            continue
        text = path.read_text()
        for found in OLD_NAME.finditer(text):
            before = text[max(0, found.start() - 40) : found.start()]
            if found.group() not in known or not re.search(r"(history:|experiments/fetch)\s+(/// )?`?$", before):
                broken.append(f"{path.relative_to(REPOSITORY)}: {found.group()}")
    assert not broken, "\n".join(broken)
