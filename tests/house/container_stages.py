"""Containerfiles carried out without a container engine: each stage is a debootstrap root, each RUN a shell in it by chroot."""

import json
import os
import pathlib
import re
import shutil
import subprocess

#: Instructions that are carried out; any other fails, so that a Containerfile does not outgrow its test unseen.
KNOWN = {"FROM", "COPY", "WORKDIR", "ENV", "RUN", "ENTRYPOINT"}


def instructions(text):
    """Pairs of an instruction's word and the rest, as the file has them, with continued lines joined."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    pairs = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    unknown = {word for word, _ in pairs} - KNOWN
    assert not unknown, f"the test carries out {KNOWN}, and the file has {unknown}"
    return pairs


def stages(text):
    """Instructions of each stage behind its FROM, by the stage's name; the base is the first of them."""
    found, name = {}, None
    for word, rest in instructions(text):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found[name or "last"] = [("FROM", base)]
        else:
            found[name].append((word, rest))
    return found


class Image:
    """A root folder with what ENV, WORKDIR and ENTRYPOINT said."""

    def __init__(self, root, environment=None, folder="/", entrypoint=None):
        self.root, self.folder, self.entrypoint = pathlib.Path(root), folder, entrypoint
        self.environment = environment or {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}

    def copied(self, root):
        subprocess.run(["cp", "-a", "--reflink=auto", self.root, root], check=True)
        return Image(root, dict(self.environment), self.folder, self.entrypoint)

    def shell(self, line, **more):
        """Runs a line in the root, with mounts and processes of its own; the network is this computer's."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        inside = ["chroot", self.root, "/usr/bin/env", "-i", *variables, "/bin/sh", "-c", f"cd {self.folder} && {line}"]
        words = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={self.root / 'proc'}", *inside]
        return subprocess.run(list(map(str, words)), capture_output=True, text=True, **more)

    def start(self, *words):
        """What `podman run IMAGE WORDS...` does."""
        return self.shell(" ".join(f"'{word}'" for word in [*self.entrypoint, *words]))


class Builder:
    """Builds stages of one Containerfile below `place`, from `context`."""

    def __init__(self, text, context, place, passed=()):
        self.stages, self.context, self.place, self.built = stages(text), pathlib.Path(context), pathlib.Path(place), {}
        self.passed = {name: os.environ[name] for name in passed if name in os.environ}  # As --build-arg of a proxy would be.

    def base(self, name, root):
        if name in self.stages:
            return self.stage(name).copied(root)
        release = re.fullmatch(r"debian:(\w+?)(-slim)?", name)
        assert release, f"{name} is no Debian"
        subprocess.run(["debootstrap", "--variant=minbase", release[1], root], check=True, stdout=subprocess.DEVNULL)
        shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
        if "PIP_CERT" in self.passed:  # Not where Debian's ca-certificates would write over it.
            shutil.copy(os.environ["PIP_CERT"], root / "etc" / "own-certificates.crt")
            self.passed["PIP_CERT"] = "/etc/own-certificates.crt"
        return Image(root)

    def stage(self, name):
        if name not in self.built:
            image = None
            for word, rest in self.stages[name]:
                image = self.base(rest, self.place / name) if word == "FROM" else self.carried_out(image, word, rest)
            self.built[name] = image
        return self.built[name]

    def carried_out(self, image, word, rest):
        if word == "ENV":
            for name, value in (pair.split("=", 1) for pair in rest.split()):
                image.environment[name] = re.sub(r"\$(\w+)", lambda found: image.environment[found[1]], value)
        elif word == "WORKDIR":
            image.folder = rest
            (image.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "ENTRYPOINT":
            image.entrypoint = json.loads(rest)
        elif word == "COPY":
            source, to = rest.removeprefix("--from=").split()[-2:]
            named = re.match(r"--from=(\w+)", rest)
            top = self.stage(named[1]).root if named else self.context
            to = image.root / to.strip("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", f"{top / source.strip('/')}/.", to] if (top / source.strip("/")).is_dir() else ["cp", "-a", top / source, to], check=True)
        else:
            given = dict(image.environment)
            image.environment = {**self.passed, **given}
            done = image.shell(rest)
            image.environment = given
            assert done.returncode == 0, f"RUN {rest}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return image
