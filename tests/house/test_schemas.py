"""The schemas of docs/schemas/ are themselves valid, named, versioned and strict."""

import json
import pathlib
import re

import jsonschema
import pytest

SCHEMAS = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs" / "schemas").glob("*.json"))


def test_there_are_schemas():
    assert SCHEMAS


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_schema_is_valid_and_versioned(path):
    document = json.loads(path.read_text())
    jsonschema.validators.validator_for(document).check_schema(document)
    assert path.name.endswith(".schema.json"), "name it <name>.schema.json"
    assert "$schema" in document and document.get("title")
    assert re.search(r"/v?\d+(\.\d+)*(\.schema\.json|\.json)?$", document.get("$id", "")), (
        "the $id must end in a version"
    )
