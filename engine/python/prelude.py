# Runs before every script of the program: imports its modules, applies limits, and carries lines of JSON over file 0.
# Arguments: the memory limit in bytes, then the modules.
import json
import os
import resource
import select
import sys
import threading
import time


def _import(name):
    try:
        return __import__(name)
    except ImportError:
        import site

        users = site.getusersitepackages()  # Isolation leaves the user's own packages out.
        if users in sys.path or not os.path.isdir(users):
            raise
        sys.path.append(users)
        return __import__(name)


def _version(name):
    version = getattr(sys.modules[name], "__version__", None)
    if isinstance(version, str):
        return version
    from importlib import metadata

    return metadata.version(name)


_written = []
_sent_at = time.monotonic()


def flush():
    """Sends what reply() wrote."""
    global _sent_at
    _sent_at = time.monotonic()
    data = memoryview(b"".join(_written))
    _written.clear()
    while data:
        data = data[os.write(0, data) :]


def reply(value):
    """Writes one line: a reply."""
    _written.append(json.dumps(value, separators=(",", ":")).encode() + b"\n")
    if len(_written) >= 64 or time.monotonic() - _sent_at > 1:
        flush()


def requests():
    """Yields each request, and sends the replies so far before it waits for more."""
    begun = []
    while True:
        flush()
        more = os.read(0, 1 << 20)
        if not more:
            return
        begun.append(more)
        if b"\n" not in more:
            continue
        *lines, rest = b"".join(begun).split(b"\n")
        begun = [rest]
        for line in lines:
            yield json.loads(line)


def limit(kind, most):
    """Lowers a limit of the process for good."""
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, most))


def _end_with_the_program():
    """Waits until the program closes file 0, however it ended, and ends this process."""
    ends = select.poll()
    ends.register(0, 0)
    ends.poll()
    os._exit(1)


def _start(memory, modules):
    os.closerange(3, 1 << 16)
    threading.Thread(target=_end_with_the_program, daemon=True).start()
    versions = {}
    for name in modules:
        try:
            _import(name)
        except ImportError as error:
            reply({"missing": name, "reason": str(error)})
            flush()
            sys.exit()
        versions[name] = _version(name)
    limit(resource.RLIMIT_AS, memory)
    limit(resource.RLIMIT_CORE, 0)
    reply({"versions": versions})


_start(int(sys.argv[1]), sys.argv[2:])
