"""The wheel in a Debian of its own that has Python and nothing else: no compiler, no library of Sluice's, no network."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", REPOSITORY / "build"))
RELEASE = "bookworm"  # Its Python and glibc are those of the wheel that is built on it.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("debootstrap") is None or os.geteuid() != 0, reason="debootstrap and root make the Debian"),
    pytest.mark.skipif(f"VERSION_CODENAME={RELEASE}" not in pathlib.Path("/etc/os-release").read_text(), reason=f"not on Debian {RELEASE}"),
]

SCRIPT = """
set -e
export PATH=/usr/bin:/bin HOME=/place SLUICE_HOME=/place/store LC_ALL=C.UTF-8
for tool in cc gcc cmake; do if command -v $tool; then exit 9; fi; done
mkdir -p /place && cd /place
python3 -m venv bare
bare/bin/pip install --quiet --no-index --find-links /wheels sluice-train
PATH=/place/bare/bin:$PATH
sluice predict --model llama-3.1-8b --machine rtx-4090 --seq-len 1024 --batch-size 32 --ram "4x64 GiB DDR5-5600" | grep throughput
sluice doctor --deep | grep "training (host)"
python -c "import sluice; print('module', sluice.__version__, sluice.predict('qwen2.5-7b', 'h200', seq_len=1024, batch_size=8).fits)"
for i in $(seq 400); do echo "the fox jumps over $i dogs"; done > text.txt
sluice train --model bytes-2m --data text.txt --seq-len 64 --batch-size 2 --steps 4 --backend host --out run | grep "after 4 steps"
sluice generate run --prompt "the " --max-new-tokens 4 --backend host > generated.txt
python -c "import sluice; print('columns', sluice.predict('qwen2.5-1.5b', 'h200', seq_len=256, batch_size=1).trace().to_frame().columns[0])"
python -m sluice.track run --to tensorboard --once 2>&1 | grep -i tensorboard
sluice completion bash | grep -q complete
bare/bin/pip uninstall --quiet --yes sluice-train
find bare -name '*sluice*' > left.txt
if [ -s left.txt ]; then cat left.txt; exit 8; fi
echo nothing is left
"""


def run(*words, **more):
    return subprocess.run(list(map(str, words)), check=True, **more)


@pytest.fixture
def debian(tmp_path):
    """A bare root with the wheel and what it depends on in /wheels."""
    root = tmp_path / "debian"
    run("debootstrap", "--variant=minbase", "--include=python3-venv", RELEASE, root, stdout=subprocess.DEVNULL)
    run(REPOSITORY / "scripts" / "wheel", "cpu", "--python", "/usr/bin/python3", "--built", BUILD, "--to", root / "wheels")
    run(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "-d", root / "wheels", "numpy", "jinja2", "pandas")
    return root


def test_it_predicts_trains_and_leaves_nothing(debian):
    (wheel,) = (debian / "wheels").glob("sluice_train-*.whl")
    assert "manylinux_2_36_x86_64" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert any(name.startswith("sluice_train.libs/libopenblas") for name in names)
    assert any(name.endswith("licenses/libraries/libopenblas0-pthread.txt") for name in names)
    # Namespaces of its own: neither mounts nor processes are left, and the network is not there.
    script = debian / "script.sh"
    script.write_text(SCRIPT)
    words = ["unshare", "--mount", "--net", "--pid", "--fork", f"--mount-proc={debian / 'proc'}", "chroot", debian, "bash", "/script.sh"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "nothing is left" in done.stdout and "as known" in done.stdout and "module 0." in done.stdout and "columns " in done.stdout
