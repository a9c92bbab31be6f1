"""CITATION.cff is YAML with the fields that citation tools need, and of this version."""

import pathlib
import re

import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    version = re.search(r"project\(sluice VERSION ([0-9.]+)", (REPOSITORY / "CMakeLists.txt").read_text())[1]
    assert citation["version"] == version
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)
    assert all("name" in author or "family-names" in author for author in citation["authors"])
