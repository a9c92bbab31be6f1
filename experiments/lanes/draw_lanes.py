#!/usr/bin/env python3
"""One training step as lanes, predicted over measured, as an SVG that reads on light and on dark pages.

    draw_lanes.py spans PREDICTED MEASURED -o spans.csv    # cut one step out of two traces of one step graph
    draw_lanes.py svg spans.csv -o lanes.svg               # draw it

PREDICTED is what `sluice sim GRAPH.json --trace FILE` writes, MEASURED the `--trace-out` of `sluice train`; either
format serves for either. The step lies between the ends of the last two `.../grads` tasks, as `step_s` does.
"""

import argparse
import csv
import json
import pathlib
import sys

LANES = {"h2d": "copies to the GPU", "compute": "GPU compute", "d2h": "copies to the host", "cpu": "CPU"}
# Kinds of tasks by what a reader sees of them, with colours that keep their contrast on white and on black.
SHOWN = {
    "forward": ("forward pass", "#4e8fd0"),
    "backward": ("backward pass with recomputation", "#2f6f9f"),
    "load_weights": ("weights", "#3f9c6b"),
    "gradient": ("gradients", "#d08a3c"),
    "state": ("optimizer state", "#b7a53a"),
    "update": ("optimizer update", "#c7565c"),
}
KINDS = {
    "forward": "forward", "backward": "backward", "loss": "backward", "recompute": "backward",
    "load_weights": "load_weights", "store_weights": "load_weights", "store_gradient": "gradient",
    "load_gradient": "gradient", "load_state": "state", "store_state": "state", "update": "update",
}  # fmt: skip
TEXT = "#768390"
WIDTH, LEFT, ROW, GAP = 860, 180, 15, 14


def read_trace(path):
    """Start and end in seconds by task id, of a trace or of a Perfetto file of one process."""
    document = json.loads(pathlib.Path(path).read_text())
    if "tasks" in document:
        return {task["id"]: (task["start_s"], task["end_s"]) for task in document["tasks"]}
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    return {event["name"]: (event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6) for event in events}


def lanes_and_kinds(path):
    document = json.loads(pathlib.Path(path).read_text())
    return {task["id"]: (task["lane"], task["kind"]) for task in document["tasks"]}


def step_of(trace):
    ends = sorted(end for name, (_, end) in trace.items() if name.endswith("/grads"))
    return ends[-2], ends[-1]


def cut(trace, kinds):
    """Spans of the last step as rows of lane, kind, start and end in seconds; neighbours of one kind are joined."""
    first, last = step_of(trace)
    spans = []
    for name, (start, end) in trace.items():
        lane, kind = kinds[name]
        if lane in LANES and kind in KINDS and end > first and start < last:
            spans.append((lane, KINDS[kind], max(start, first) - first, min(end, last) - first))
    rows = []
    for lane, kind, start, end in sorted(spans, key=lambda span: (span[0], span[2])):
        before = rows[-1] if rows else None
        if before and before[:2] == [lane, kind] and start - before[3] < 1e-3:
            before[3] = max(before[3], end)
        else:
            rows.append([lane, kind, start, end])
    return rows


def write_spans(predicted, measured, out):
    kinds = lanes_and_kinds(measured)
    traces = {"predicted": read_trace(predicted), "measured": read_trace(measured)}
    if traces["predicted"].keys() != traces["measured"].keys():
        sys.exit("draw_lanes.py: the traces are not of one step graph")
    with open(out, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["trace", "lane", "kind", "start_s", "end_s"])
        for name, trace in traces.items():
            first, last = step_of(trace)
            table.writerow([name, "step", "step", "0", f"{last - first:.6f}"])
            for lane, kind, start, end in cut(trace, kinds):
                table.writerow([name, lane, kind, f"{start:.6f}", f"{end:.6f}"])


def svg(spans, out):
    with open(spans, newline="") as file:
        rows = [(row["trace"], row["lane"], row["kind"], float(row["start_s"]), float(row["end_s"])) for row in csv.DictReader(file)]
    step = {trace: end for trace, lane, _, _, end in rows if lane == "step"}
    longest = max(step.values())
    scale = (WIDTH - LEFT - 10) / longest
    parts = []

    def text(x, y, words, anchor="start"):
        parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{words}</text>')

    y = 34
    x = LEFT
    for kind, (words, colour) in SHOWN.items():
        if any(row[2] == kind for row in rows):
            parts.append(f'<rect x="{x:g}" y="6" width="9" height="9" fill="{colour}"/>')
            text(x + 13, 14.5, words)
            x += 26 + 5.9 * len(words)
    tops = y
    for lane, words in LANES.items():
        text(0, y + ROW, words)
        for trace in ("predicted", "measured"):
            text(LEFT - 6, y + ROW - 4, trace, "end")
            for colour, (start, width) in ((SHOWN[row[2]][1], (row[3], row[4] - row[3])) for row in rows if row[:2] == (trace, lane)):
                box = f"M{LEFT + scale * start:.1f} {y}h{max(scale * width, 0.4):.1f}v{ROW - 2}H{LEFT + scale * start:.1f}z"
                parts.append((colour, box))
            y += ROW
        y += GAP
    for trace, seconds in step.items():
        end = LEFT + scale * seconds
        dash = "" if trace == "measured" else ' stroke-dasharray="3 2"'
        parts.append(f'<path d="M{end:.1f} {tops - 3}V{y - GAP + 4}" stroke="{TEXT}"{dash}/>')
    for tick in range(int(longest / 0.5) + 1):
        text(LEFT + scale * tick / 2, y + 4, f"{tick / 2:g} s", "middle")
    text(LEFT, y + 22, f"step: {step['predicted']:.2f} s predicted (dashed line), {step['measured']:.2f} s measured (solid line)")
    shapes, paths = [], {}
    for part in parts:
        if isinstance(part, tuple):
            paths.setdefault(part[0], []).append(part[1])
        else:
            shapes.append(part)
    shapes += [f'<path d="{"".join(boxes)}" fill="{colour}"/>' for colour, boxes in paths.items()]
    body = "\n".join(shapes)
    pathlib.Path(out).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 28}" font-family="sans-serif" font-size="11" '
        f'fill="{TEXT}" role="img">\n<title>One training step: predicted over measured lanes</title>\n{body}\n</svg>\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    cutting = verbs.add_parser("spans")
    cutting.add_argument("predicted")
    cutting.add_argument("measured")
    cutting.add_argument("-o", required=True)
    drawing = verbs.add_parser("svg")
    drawing.add_argument("spans")
    drawing.add_argument("-o", required=True)
    words = parser.parse_args()
    if words.verb == "spans":
        write_spans(words.predicted, words.measured, words.o)
    else:
        svg(words.spans, words.o)


if __name__ == "__main__":
    main()
