"""Every notebook runs from its first cell to its last, and is committed with what it showed."""

import json
import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))


def texts_of(cell):
    """What a cell printed, without the addresses of objects."""
    texts = []
    for output in cell["outputs"]:
        text = output.get("text", output.get("data", {}).get("text/plain", ""))
        texts.append(re.sub(r" at 0x[0-9a-f]+", "", "".join(text)))
    return texts


def test_there_are_three():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows_as_much_as_was_committed(path, tmp_path, monkeypatch):
    pytest.importorskip("sluice", reason="the module is not built (SLUICE_PYTHON)")
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    committed = json.loads(path.read_text())
    shown = [[output["output_type"] for output in cell["outputs"]] for cell in committed["cells"] if cell["cell_type"] == "code"]
    assert any(shown), "commit it with its outputs"
    assert not any("error" in kinds for kinds in shown)
    book = nbformat.read(path, as_version=4)
    # The files that it reads lie above the folder it runs in, as in the repository.
    (tmp_path / "experiments").symlink_to(REPOSITORY / "experiments")
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    again = [[output["output_type"] for output in cell["outputs"] if output["output_type"] != "stream"] for cell in book.cells if cell.cell_type == "code"]
    assert again == [[kind for kind in kinds if kind != "stream"] for kinds in shown]
    # Predictions are the same on any computer: what the committed pages say is what the program says today.
    for before, now in zip(committed["cells"], book.cells, strict=True):
        if before["cell_type"] == "code":
            assert texts_of(before) == texts_of(now), f"run {path.name} again (notebooks/README.md) and commit it"
