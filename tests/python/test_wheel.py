"""pip's wheel: the package's files, its version and types, and an extension that a bare environment loads.

The wheel is built around this build's extension, so that nothing is compiled twice.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def test_the_wheel_holds_the_package_and_loads_in_a_fresh_environment(tmp_path):
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit-build-core is not installed (scripts/packages/python.txt)")
    from sluice import _core

    subprocess.run(
        [
            sys.executable, "-m", "pip", "wheel", REPOSITORY, "--no-deps", "--no-build-isolation", "--quiet",
            "--disable-pip-version-check", "-w", tmp_path, f"--config-settings=build-dir={tmp_path / 'build'}",
            f"--config-settings=cmake.define.SLUICE_PYTHON_CORE={_core.__file__}",
        ],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("sluice-*.whl")
    version = next(
        line.split("VERSION ")[1].split()[0]
        for line in (REPOSITORY / "CMakeLists.txt").read_text().splitlines()
        if line.startswith("project(sluice")
    )
    assert wheel.name.startswith(f"sluice-{version}-")
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {f"sluice/{path.name}" for path in (REPOSITORY / "python" / "sluice").iterdir() if path.is_file()}
    assert package | {f"sluice/{pathlib.Path(_core.__file__).name}"} <= names
    assert not any(name.startswith(("sim/", "planner/", "engine/")) for name in names)

    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", wheel], check=True
    )
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    said = subprocess.run(
        [python, "-c", "import sluice; print(sluice.__version__, sluice.model('bytes-2m').layers, sluice.__file__)"],
        cwd=tmp_path, env=clean, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert said[:2] == [version, "6"]
    assert said[2].startswith(str(environment))
