"""Marks each test file quick, usual or slow, as tests/speeds.txt has it: `pytest -m quick tests/cli`.

Single cases that take longer than their file may are marked `@pytest.mark.slow`. They run where they are named (FILE::CASE) and where
SLUICE_SLOW_TESTS is set, as `scripts/test --all` does.
"""

import os
import pathlib

TESTS = pathlib.Path(__file__).resolve().parent


def speeds():
    """Speeds by file, as tests/speeds.txt names it below tests/."""
    lines = [line.split() for line in (TESTS / "speeds.txt").read_text().splitlines() if line and line[0] != "#"]
    return {words[1]: words[0] for words in lines if words[1].endswith(".py")}


def pytest_collection_modifyitems(config, items):
    known = speeds()
    slow = [item for item in items if item.get_closest_marker("slow")]
    for item in items:
        path = pathlib.Path(item.path).resolve()
        if TESTS in path.parents and item not in slow:
            item.add_marker(known.get(str(path.relative_to(TESTS)), "quick"))
    if slow and not os.environ.get("SLUICE_SLOW_TESTS") and not any("::" in word for word in config.args):
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
