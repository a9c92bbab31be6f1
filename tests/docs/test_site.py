"""The documentation builds as a site without a warning, holds every page, is searched, and asks the network for nothing."""

import json
import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
STARTS = ["buyer", "owner", "researcher"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not (REPOSITORY / ".venv-site" / "bin" / "mkdocs").exists():
        pytest.skip("mkdocs is not installed (scripts/install tests, with PyPI)")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([REPOSITORY / "scripts" / "docs_site", "--to", folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_of_the_documentation_is_in_the_site_and_in_its_search(site):
    pages = [path.relative_to(REPOSITORY / "docs").with_suffix(".html").as_posix().replace("README.html", "index.html")
             for path in (REPOSITORY / "docs").rglob("*.md")]  # fmt: skip
    assert [page for page in pages if not (site / page).is_file()] == []
    found = {entry["location"].split("#")[0] or "index.html" for entry in json.loads((site / "search" / "search_index.json").read_text())["docs"]}
    assert set(pages) <= found


def test_the_first_page_leads_to_each_kind_of_reader(site):
    text = (site / "index.html").read_text()
    for start in STARTS:
        assert f'href="start/{start}.html"' in text


def test_no_page_loads_anything_from_elsewhere(site):
    loaded = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=\"?(https?:[^\s\">]+)|<link[^>]*rel=\"?(?:stylesheet|preconnect|preload)[^>]*href=\"?(https?:[^\s\">]+)")
    broken = [(path.relative_to(site), match) for path in site.rglob("*.html") for match in loaded.findall(path.read_text())]
    assert not broken


def test_a_dead_link_fails_the_build(tmp_path):
    """The same configuration and hook over a small tree with one page that leads nowhere."""
    mkdocs = REPOSITORY / ".venv-site" / "bin" / "mkdocs"
    if not mkdocs.exists():
        pytest.skip("mkdocs is not installed (scripts/install tests, with PyPI)")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "scripts" / "docs_site_pages.py").write_text((REPOSITORY / "scripts" / "docs_site_pages.py").read_text())
    (tmp_path / "mkdocs.yml").write_text("site_name: T\nhooks: [scripts/docs_site_pages.py]\nvalidation: {links: {anchors: warn}}\n")
    (tmp_path / "NOTES.txt").write_text("notes")

    def build(text):
        (tmp_path / "docs" / "index.md").write_text(text)
        return subprocess.run([mkdocs, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True)

    assert build("# A\n\n[notes](../NOTES.txt) [here](#a)\n").returncode == 0
    assert "(<code>NOTES.txt</code>)" in (tmp_path / "site" / "index.html").read_text()
    gone = build("# A\n\n[gone](../GONE.txt)\n")
    assert gone.returncode != 0 and "leads nowhere" in gone.stderr
    assert build("# A\n\n[gone](#b)\n").returncode != 0
