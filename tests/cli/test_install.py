"""An install prefix may be moved, and with its libraries it needs those of every Linux system alone."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", "build")).resolve()
SYSTEM = {"linux-vdso", "libc", "libm", "libstdc++", "libgcc_s", "libz", "ld-linux-x86-64"}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """A prefix with the program and its libraries, moved after it was installed."""
    folder = tmp_path_factory.mktemp("install")
    for component in ("program", "libraries"):
        words = ["cmake", "--install", BUILD, "--prefix", folder / "first", "--component", component]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


def test_the_moved_program_runs_with_the_libraries_of_its_prefix(prefix):
    if os.environ.get("SLUICE_SANITIZE"):
        pytest.skip("a program with sanitizers needs their libraries of the compiler")
    program = prefix / "bin" / "sluice"
    bare = {"PATH": "", "HOME": str(prefix)}
    said = subprocess.run([program, "models"], env=bare, capture_output=True, text=True)
    assert said.returncode == 0 and "qwen2.5-7b" in said.stdout
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    outside = {line.split()[0] for line in needed.splitlines() if str(prefix) not in line}
    assert {re.split(r"[.]so", pathlib.Path(name).name)[0] for name in outside} <= SYSTEM


def test_the_prefix_holds_completions_the_manual_and_licences(prefix):
    share = prefix / "share"
    for file in ("bash-completion/completions/sluice", "zsh/site-functions/_sluice", "man/man1/sluice.1", "doc/sluice/LICENSE"):
        assert (share / file).stat().st_size > 100
    licences = {file.stem for file in (share / "doc" / "sluice" / "libraries").iterdir()}
    assert any(name.startswith("libopenblas") for name in licences)
    assert not licences & {"libc6", "libstdc++6"}


def test_a_library_without_a_package_stops_the_licences(tmp_path):
    repository = pathlib.Path(__file__).resolve().parents[2]
    sys.path.insert(0, str(repository / "scripts"))
    try:
        import library_licences
    finally:
        sys.path.pop(0)
    with pytest.raises(SystemExit, match="belongs to no package"):
        library_licences.package(tmp_path / "libown.so.1")
