"""The includes between sources of one folder, by room (a folder inside it) and by unit (a header with its source)."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources(folder):
    return sorted(path for path in (REPOSITORY / folder).rglob("*") if path.suffix in SOURCES)


def arrows(folder):
    """(including file, included file) within a folder, as paths from the repository's top."""
    for path in sources(folder):
        for name in INCLUDE.findall(path.read_text()):
            if name.startswith(folder + "/") and (REPOSITORY / name).is_file():
                yield str(path.relative_to(REPOSITORY)), name


def room_of(folder, file):
    """The folder right below `folder` that holds the file; "" for a file that lies loose in it."""
    inside = pathlib.PurePath(file).relative_to(folder).parts
    return inside[0] if len(inside) > 1 else ""


def unit_of(file):
    return str(pathlib.PurePath(file).with_suffix(""))


def circles(edges):
    """Groups of two or more nodes that reach each other (Tarjan's strongly connected components)."""
    following = {}
    for tail, head in edges:
        following.setdefault(tail, set()).add(head)
        following.setdefault(head, set())
    index, lowest, stack, found = {}, {}, [], []

    def visit(root):
        work = [(root, iter(sorted(following[root])))]
        index[root] = lowest[root] = len(index)
        stack.append(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = lowest[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(following[other]))))
                    break
                if other in stack:
                    lowest[node] = min(lowest[node], index[other])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                    if len(group) > 1:
                        found.append(sorted(group))

    for node in sorted(following):
        if node not in index:
            visit(node)
    return found
