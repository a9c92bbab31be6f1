"""Completes a wheel that pip has built, before auditwheel puts shared libraries into it.

    wheel_contents.py cpu|cuda WHEEL BUILD FOLDER

BUILD is the folder with the program and the module that the wheel holds; the wheel is written anew into FOLDER. The licences of the
libraries are added, as this Debian system's packages state them. A wheel with CUDA depends on NVIDIA's libraries, which the program
opens when it first uses them, and its version says so.
"""

import pathlib
import subprocess
import sys
import tempfile

# Parts of every Linux system, which wheels do not bring.
SYSTEM = {"libc6", "libgcc-s1", "libstdc++6", "zlib1g"}
CUDA_VERSION = "+cu13"
CUDA_NEEDS = [
    "nvidia-cublas>=13,<14",
    "nvidia-cudnn-cu13>=9.10,<10",
    "nvidia-nccl-cu13>=2.28,<3",
    "nvidia-cuda-nvrtc>=13,<14",
    "nvidia-cuda-cupti>=13,<14",
]


def libraries(file):
    """Paths of the shared libraries that an executable or extension needs, theirs included."""
    lines = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split("=>")[1].split()[0] for line in lines if "=> /" in line}


def package(library):
    """The Debian package that a library's file belongs to."""
    # Links of the root and of alternatives lead to the file; packages may list it with or without /usr.
    paths = [pathlib.Path(library).resolve()]
    paths.append(pathlib.Path(str(paths[0]).removeprefix("/usr")))
    for path in paths:
        found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    sys.exit(f"wheel_contents: {paths[0]} belongs to no package, so its licence is unknown")


def add_licences(info, build):
    """Writes the licences of all libraries of the program and the module into the folder `info`."""
    files = [build / "bin" / "sluice", *(build / "python" / "sluice").glob("_*.so")]
    folder = info / "licenses" / "libraries"
    folder.mkdir(parents=True)
    for name in sorted({package(library) for file in files for library in libraries(file)} - SYSTEM):
        (folder / f"{name}.txt").write_bytes(pathlib.Path(f"/usr/share/doc/{name}/copyright").read_bytes())


def need_cuda(info):
    """States in the folder `info` what a wheel with CUDA needs, and its version."""
    metadata = info / "METADATA"
    lines = []
    head, _, description = metadata.read_text().partition("\n\n")
    for line in head.splitlines():
        lines.append(line + CUDA_VERSION if line.startswith("Version: ") else line)
    lines += [f"Requires-Dist: {need}" for need in CUDA_NEEDS]
    metadata.write_text("\n".join(lines) + "\n\n" + description)
    info.rename(info.with_name(info.name.replace(".dist-info", CUDA_VERSION + ".dist-info")))


def main():
    kind, wheel, build, to = sys.argv[1:]
    with tempfile.TemporaryDirectory() as unpacked:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", wheel, "-d", unpacked], check=True, stdout=sys.stderr)
        (root,) = pathlib.Path(unpacked).iterdir()
        (info,) = root.glob("*.dist-info")
        add_licences(info, pathlib.Path(build))
        if kind == "cuda":
            need_cuda(info)
        subprocess.run([sys.executable, "-m", "wheel", "pack", root, "-d", to], check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()
