"""Writes the licences of the shared libraries that programs need, as this Debian system's packages state them: what brings the
libraries to other computers brings these along.

    library_licences.py FOLDER FILE...

FILEs are programs or libraries. Exit 1 where a library belongs to no package.
"""

import pathlib
import subprocess
import sys

# Parts of every Linux system, which nothing brings along.
SYSTEM = {"libc6", "libgcc-s1", "libstdc++6", "zlib1g"}


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
    sys.exit(f"library_licences: {paths[0]} belongs to no package, so its licence is unknown")


def write_licences(files, folder):
    """Writes the licences of all libraries of `files` into `folder`, a file for each package."""
    packages = {package(library) for file in files for library in libraries(file)} - SYSTEM
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name in sorted(packages):
        text = pathlib.Path("/usr/share/doc", name, "copyright").read_bytes()
        pathlib.Path(folder, f"{name}.txt").write_bytes(text)


if __name__ == "__main__":
    write_licences(sys.argv[2:], sys.argv[1])
