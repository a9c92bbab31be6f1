"""The wheel: what it holds and needs, and that a bare environment runs its program and its module.

It is packed around this build's files, so that nothing is compiled twice.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", REPOSITORY / "build"))
VERSION = next(
    line.split("VERSION ")[1].split()[0]
    for line in (REPOSITORY / "CMakeLists.txt").read_text().splitlines()
    if line.startswith("project(sluice")
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit-build-core is not installed (scripts/packages/python.txt)")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            sys.executable, "-m", "pip", "wheel", REPOSITORY, "--no-deps", "--no-build-isolation", "--quiet",
            "--disable-pip-version-check", "-w", folder, f"--config-settings=build-dir={folder / 'build'}",
            f"--config-settings=cmake.define.SLUICE_BUILT={BUILD}",
        ],
        check=True,
    )  # fmt: skip
    (file,) = folder.glob("sluice_train-*.whl")
    return file


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The bin folder of a fresh environment that has the wheel, and the variables to run it with: no compiler is on PATH."""
    folder = tmp_path_factory.mktemp("bare") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", folder], check=True)
    programs = folder / "bin"
    install = [programs / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", wheel]
    subprocess.run(install, check=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "SLUICE_"))}
    return programs, {**clean, "PATH": str(programs), "SLUICE_HOME": str(folder / "store")}


def said(environment, *words, cwd):
    programs, variables = environment
    words = [programs / words[0], *map(str, words[1:])]
    done = subprocess.run(words, cwd=cwd, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_holds_the_package_and_the_program_and_states_what_they_need(wheel):
    from sluice import _core

    assert wheel.name.startswith(f"sluice_train-{VERSION}-")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"sluice_train-{VERSION}.dist-info/METADATA").decode()
        program = archive.getinfo("sluice_program/bin/sluice")
    package = {f"sluice/{path.name}" for path in (REPOSITORY / "python" / "sluice").iterdir() if path.is_file()}
    assert package | {f"sluice/{pathlib.Path(_core.__file__).name}", "sluice_program/__init__.py"} <= names
    assert program.external_attr >> 16 & 0o111, "the program must be executable"
    assert not any(name.startswith(("sim/", "planner/", "engine/", "cli/")) for name in names)
    needs = {line.split(": ")[1].split(">")[0] for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra" not in line}
    assert needs == {"numpy", "jinja2", "pandas"}


def test_its_module_loads_in_a_fresh_environment(environment, tmp_path):
    code = "import sluice; print(sluice.__version__, sluice.model('bytes-2m').layers, sluice.__file__)"
    version, layers, file = said(environment, "python", "-c", code, cwd=tmp_path).split()
    assert (version, layers) == (VERSION, "6")
    assert file.startswith(str(environment[0].parent))


def test_its_program_predicts_and_trains(environment, tmp_path):
    assert said(environment, "sluice", "--version", cwd=tmp_path) == said(environment, "python", "-m", "sluice", "--version", cwd=tmp_path)
    assert VERSION in said(environment, "sluice", "--version", cwd=tmp_path)
    words = ("predict", "--model", "qwen2.5-7b", "--machine", "h200", "--residency", "host", "--seq-len", 1024, "--batch-size", 8)
    assert "tokens/s" in said(environment, "sluice", *words, cwd=tmp_path)
    (tmp_path / "text.txt").write_text("the fox jumps over the dog. " * 200)
    words = ("train", "--model", "bytes-2m", "--data", "text.txt", "--seq-len", 32, "--batch-size", 2, "--backend", "host", "--steps", 2, "--out", "run")
    assert "weights" in said(environment, "sluice", *words, cwd=tmp_path)


def test_its_program_takes_the_environments_own_python(environment, tmp_path):
    code = "import os, sluice_program; print(sluice_program.environment()['SLUICE_OWN_PYTHON'], os.access(sluice_program.path(), os.X_OK))"
    assert said(environment, "python", "-c", code, cwd=tmp_path).split() == [str(environment[0] / "python"), "True"]


def test_a_folder_without_a_build_is_refused(tmp_path):
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit-build-core is not installed (scripts/packages/python.txt)")
    done = subprocess.run(
        ["cmake", "-S", REPOSITORY, "-B", tmp_path / "build", f"-DSLUICE_BUILT={tmp_path}"], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert f"{tmp_path} lacks bin/sluice" in " ".join(done.stderr.split())
