"""Marks each test file quick, usual or slow, as tests/speeds.txt has it: `pytest -m quick tests/cli`."""

import pathlib

TESTS = pathlib.Path(__file__).resolve().parent


def speeds():
    """Speeds by file, as tests/speeds.txt names it below tests/."""
    lines = [line.split() for line in (TESTS / "speeds.txt").read_text().splitlines() if line and line[0] != "#"]
    return {words[1]: words[0] for words in lines if words[1].endswith(".py")}


def pytest_collection_modifyitems(items):
    known = speeds()
    for item in items:
        path = pathlib.Path(item.path).resolve()
        if TESTS in path.parents:
            item.add_marker(known.get(str(path.relative_to(TESTS)), "quick"))
