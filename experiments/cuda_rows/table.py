"""Prints the rows of result folders as one Markdown table, predicted beside measured.

    python3 experiments/cuda_rows/table.py FOLDER...
"""

import json
import pathlib
import sys

TERMS = {
    "bound_above_compute": "bound above compute",
    "kernels_below_ceiling": "kernels below ceiling",
    "recomputation": "recomputation",
    "gpu_optimizer": "GPU optimizer",
    "exposed_optimizer": "exposed optimizer",
    "exposed_weights": "exposed weights",
    "exposed_gradients": "exposed gradients",
    "exposed_activations": "exposed activations",
    "launches": "launches, gaps",
    "meeting": "meeting, tokens",
}


def rows_of(folders):
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            row = json.loads(path.read_text())
            if row.get("schema") == "sluice/row/1":
                yield row


def line(cells):
    return "| " + " | ".join(cells) + " |"


def speeds(rows):
    heads = ["row", "tokens/s", "predicted", "error", "bound", "step / bound", "HBM in use / predicted"]
    yield line(heads)
    yield line(["---"] * len(heads))
    for row in rows:
        said, got, bound = row["predicted"], row["measured"], row["bound"]
        in_use = got["hbm_in_use_bytes"]
        yield line(
            [
                row["name"],
                f"{got['tokens_per_s']:,.0f}",
                f"{said['tokens_per_s']:,.0f}",
                f"{100 * (said['step_s'] / got['step_s'] - 1):+.1f} %",
                f"{row['tokens'] / bound['bound_s']:,.0f} ({bound['bound_by']})",
                f"{got['bound_ratio']:.2f}",
                f"{in_use / said['hbm_bytes']:.4f}" if in_use else "-",
            ]
        )


def waterfalls(rows):
    heads = ["ms of a step, measured (predicted)"] + [row["name"] for row in rows]
    yield line(heads)
    yield line(["---"] * len(heads))

    def cells(name, of):
        texts = [of(row["measured"]["waterfall"]) for row in rows]
        promised = [of(row["predicted"]["waterfall"]) for row in rows]
        return line([name] + [f"{1e3 * a:.1f} ({1e3 * b:.1f})" for a, b in zip(texts, promised)])

    yield cells("bound", lambda fall: fall["bound_s"])
    for term, name in TERMS.items():
        yield cells("+ " + name, lambda fall, term=term: fall["terms_s"][term])
    yield cells("= step", lambda fall: fall["step_s"])


def main():
    rows = list(rows_of(sys.argv[1:]))
    if not rows:
        sys.exit("table: error: no row in " + (", ".join(sys.argv[1:]) or "no folder: give result folders"))
    print("\n".join(speeds(rows)) + "\n\n" + "\n".join(waterfalls(rows)))


if __name__ == "__main__":
    main()
