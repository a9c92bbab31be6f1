"""Tables of promises and what came of them, in Markdown."""

import statistics

import ledgers


def percent(share, signed=False):
    return f"{100 * share:{'+' if signed else ''}.1f} %"


def summary(promises):
    """One line of statistics of promises: how many ran, their errors, and their intervals."""
    ran = [one for one in promises if one.measured is not None]
    if not ran:
        return [str(len(promises)), "0"] + [""] * 6
    errors = sorted(abs(one.error) for one in ran)
    # The smallest error that 95 % of the runs do not exceed.
    most = errors[min(len(errors) - 1, -(-95 * len(errors) // 100) - 1)]
    worst = max((one.error for one in ran), key=abs)
    width = statistics.mean((one.high - one.low) / one.predicted for one in ran)
    return [
        str(len(promises)), str(len(ran)), percent(statistics.mean(errors)),
        percent(statistics.mean(one.error for one in ran), signed=True), percent(most), percent(worst, signed=True),
        percent(sum(one.inside for one in ran) / len(ran)), percent(width),
    ]  # fmt: skip


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def table(head, rows):
    return row(head) + row(["---"] * len(head)) + "".join(map(row, rows))


def by_knowledge(promises):
    """The table of docs/evidence.md: a line for each machine and kind of knowledge."""
    head = ["machine", "knowledge", "predicted", "ran", "mean error", "bias", "95 % within", "worst", "inside 90 %", "width of 90 %"]
    rows = []
    for machine in sorted({one.machine for one in promises}):
        for knowledge in ledgers.KNOWLEDGE:
            some = [one for one in promises if (one.machine, one.knowledge) == (machine, knowledge)]
            if some:
                rows.append([machine, knowledge, *summary(some)])
    return table(head, rows)


def by_ledger(promises):
    head = ["ledger", "machine", "knowledge", "predicted", "ran", "mean error", "bias", "95 % within", "worst", "inside 90 %", "width of 90 %"]
    groups = {}
    for one in promises:
        groups.setdefault((one.ledger, one.machine, one.knowledge), []).append(one)
    place = lambda ledger: f"`{ledger}`" if ledger.startswith("current/") else f"history: `{ledger}`"  # noqa: E731
    return table(head, [[place(ledger), machine, knowledge, *summary(some)] for (ledger, machine, knowledge), some in groups.items()])
