"""Writes graphs of any number of tasks: eight lanes whose tasks share one link."""

import sys

LANES = 8


def write_graph(path, tasks):
    """Every task moves an amount of its own over the link; two of three also wait for a task of another lane."""
    with open(path, "w", encoding="utf-8") as file:
        lanes = ", ".join(f'"lane{lane}"' for lane in range(LANES))
        file.write(f'{{"lanes": [{lanes}],\n "links": {{"dram": 160e9}},\n "pools": {{}},\n "tasks": [')
        for i in range(tasks):
            after = f', "after": ["task{i - LANES + 1}"]' if i >= LANES and i % 3 else ""
            amount = 1e6 + 1000 * (i * 7919 % 2003)
            file.write(
                f'{"," if i else ""}\n  {{"id": "task{i}", "lane": "lane{i % LANES}"{after}, '
                f'"amount": {amount:.1f}, "cap": 40e9, "uses": {{"dram": 1}}}}'
            )
        file.write("]}\n")


if __name__ == "__main__":
    write_graph(sys.argv[1], int(sys.argv[2]))
