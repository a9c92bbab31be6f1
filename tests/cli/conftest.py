"""Helpers for tests that run the program.

SLUICE_BIN names the program (default: build/bin/sluice). Tests get these fixtures:

- run_sluice(*words, exit_code=0, cwd=None, home=None, stdin=None, env=None, timeout=600) runs the
  program and returns its Run (code, out, err, and json(), the one object on stdout);
- validate(document, schema) checks a document (a path to a JSON file, or parsed JSON) against
  docs/schemas/<schema>.schema.json, and each line of a .jsonl path;
- flags: of a small run (small_run.py);
- refuses(words, *texts, exit_code=2, ...) asserts that the program refuses with exactly one line
  `sluice: error: ...` that holds every one of `texts`.

Every test has its own SLUICE_HOME (fixture sluice_home), so that no test sees another's profile.
"""

import json
import os
import pathlib
import subprocess
from dataclasses import dataclass

import jsonschema
import pytest
from small_run import CONFIG, small_flags, write_model

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = REPOSITORY / "docs" / "schemas"
SHARED = REPOSITORY.parent / "shared"

# For tests whose code others run under sanitizers too, in less time.
once = pytest.mark.skipif(bool(os.environ.get("SLUICE_SANITIZE")), reason="runs once, without sanitizers")


@dataclass
class Run:
    """One finished run of the program."""

    words: list
    code: int
    out: str
    err: str

    def json(self):
        """The one JSON object on stdout, and nothing else there."""
        return json.loads(self.out)


def program():
    path = pathlib.Path(os.environ.get("SLUICE_BIN", REPOSITORY / "build" / "bin" / "sluice"))
    if not path.is_file():
        pytest.fail(f"no program at {path}; build it, or set SLUICE_BIN")
    return str(path.resolve())


def available_verbs():
    """Names of the verbs this build has, from `sluice --help`."""
    out = subprocess.run([program(), "--help"], capture_output=True, text=True, check=True).stdout
    table = out.split("Verbs:", 1)[1].split("\n\n", 1)[0]
    return {line.split()[0] for line in table.splitlines() if line.strip()}


@pytest.fixture
def sluice_home(tmp_path, tmp_path_factory):
    """A store for one test. What equal searches found is kept in it for all tests of a file, which changes no answer."""
    home = tmp_path / "sluice-home"
    home.mkdir()
    kept = tmp_path_factory.getbasetemp() / "kept-searches"
    kept.mkdir(exist_ok=True)
    (home / "advice").symlink_to(kept)
    return home


@pytest.fixture
def run_sluice(tmp_path, sluice_home):
    def run(*words, exit_code=0, cwd=None, stdin=None, stdout=None, env=None, timeout=600):
        environment = {**os.environ, "SLUICE_HOME": str(sluice_home), **(env or {})}
        done = subprocess.run(
            [program(), *map(str, words)],
            cwd=cwd or tmp_path,
            input=stdin,
            stdout=stdout if stdout is not None else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=timeout,
            env=environment,
        )
        result = Run(list(map(str, words)), done.returncode, done.stdout or "", done.stderr)
        if exit_code is not None:
            assert result.code == exit_code, (
                f"sluice {' '.join(result.words)}: exit {result.code}, expected {exit_code}\n"
                f"stdout: {result.out[-2000:]}\nstderr: {result.err[-2000:]}"
            )
        return result

    return run


@pytest.fixture
def refuses(run_sluice):
    def check(words, *texts, exit_code=2, **options):
        run = run_sluice(*words, exit_code=exit_code, **options)
        lines = run.err.splitlines()
        assert len(lines) == 1, f"expected one line on stderr, got {lines}"
        assert lines[0].startswith("sluice: error: "), lines[0]
        for text in texts:
            assert text in lines[0], f"{text!r} is not in {lines[0]!r}"
        return run

    return check


def schema(name):
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


def validator(name):
    """A validator of docs/schemas/<name>.schema.json that resolves references between schemas."""
    document = schema(name)
    store = {}
    for path in SCHEMAS.glob("*.schema.json"):
        other = json.loads(path.read_text())
        store[other.get("$id", path.name)] = other
        store[path.name] = other
        store[path.as_uri()] = other
    resolver = jsonschema.RefResolver((SCHEMAS / f"{name}.schema.json").as_uri(), document, store)
    kind = jsonschema.validators.validator_for(document)
    return kind(document, resolver=resolver)


@pytest.fixture
def validate():
    def check(document, name):
        against = validator(name)
        if isinstance(document, (str, pathlib.Path)):
            path = pathlib.Path(document)
            if path.suffix == ".jsonl":
                for line in path.read_text().splitlines():
                    against.validate(json.loads(line))
                return
            document = json.loads(path.read_text())
        against.validate(document)

    return check


@pytest.fixture
def flags(tmp_path):
    """Flags of a small run of the model folder `model`, which is made here."""
    write_model(tmp_path / "model", CONFIG)
    return small_flags(tmp_path, "model")
