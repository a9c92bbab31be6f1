"""Predictions of ledgers, each with its measurement if there is one."""

import csv
import dataclasses
import hashlib
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
RESULTS = REPOSITORY / "experiments" / "results"
LIST = HERE / "predictions.tsv"
FOLDERS = HERE / "folders.tsv"
SHORT = 16  # hexadecimal digits of a line's hash in the list, 64 bits
PLAN = 8  # of a plan's
COLUMNS = ["date", "ledger", "job", "machine", "knowledge", "plan", "predicted", "low", "high", "measured", "steps", "error", "line"]
KNOWLEDGE = ["catalogue", "catalogue, host stated", "probe", "quick probe", "full probe", "taught"]


@dataclasses.dataclass
class Promise:
    """One prediction that was written to a ledger before its run."""

    ledger: str  # path of the ledger below experiments/results, without "ledger.jsonl"
    line: str  # first SHORT digits of its line's hash
    date: str
    job: str
    machine: str
    knowledge: str
    plan: str  # first PLAN digits of its plan's hash
    predicted: float
    low: float
    high: float
    steps: int = 0
    measured: float | None = None

    @property
    def error(self):
        return self.predicted / self.measured - 1

    @property
    def inside(self):
        return self.low <= self.measured <= self.high


def rounded(seconds):
    """A number as the list holds it, so that statistics are the same from a ledger and from the list."""
    return float(f"{seconds:.6g}")


def chained(text, where):
    """The lines of a ledger. Raises ValueError where one was changed, removed or added."""
    previous, lines = "0" * 64, []
    for number, line in enumerate(text.splitlines(), 1):
        fields = json.loads(line)
        # The hash is that of the line's own text, without the hash: other programs print some floats otherwise.
        digest = hashlib.sha256(line.replace(f'"hash":"{fields["hash"]}",', "", 1).encode())
        # Ledgers of several runs may have been put into one file: each begins its own chain.
        if fields["previous"] not in (previous, "0" * 64) or digest.hexdigest() != fields["hash"]:
            raise ValueError(f"{where}:{number}: the chain of hashes is broken")
        previous = fields["hash"]
        lines.append(fields)
    return lines


def named(texts, promises):
    """Names of predictions by their line's hash, from the other files of a ledger's folder: a study's results or
    output, an experiment's cells. `texts` are (name, content) of those files."""
    names = {}
    for name, text in texts:
        if name == "study.json":
            names.update({run["ledger_line"]: run["name"] for run in json.loads(text)["runs"] if "ledger_line" in run})
        elif re.fullmatch(r"cells/\d+\.json", name):
            cell = json.loads(text)
            names[cell["ledger_line"]] = cell["name"]
    if not names:
        for name, text in texts:
            said = re.findall(r"^predicted ([^\s:]+): ", text, re.M) if name.endswith("output") else []
            if len(said) == len(promises):
                names = {line["hash"]: each for line, each in zip(promises, said)}
    return names


def read(text, ledger, texts=()):
    """The promises of a ledger; a run measured several times counts with the last line, which holds all of it."""
    lines = chained(text, ledger)
    said = [line for line in lines if line["kind"] == "prediction"]
    names = named(texts, said)
    promises = {}
    for line in said:
        job = line.get("job") or names.get(line["hash"]) or pathlib.PurePath(ledger).name
        promises[line["hash"]] = Promise(
            ledger, line["hash"][:SHORT], line["time"][:10], names.get(line["hash"], job) + (", rehearsed" if line.get("rehearsal") else ""),
            line.get("machine", ""), line.get("knowledge", ""), line["plan_hash"][:PLAN],
            rounded(line["step_s"]), rounded(line["step_s_low"]), rounded(line["step_s_high"]),
        )  # fmt: skip
    for line in lines:
        # A run that ended before its first whole step measured nothing.
        if line["kind"] == "measurement" and line["step_s"] > 0:
            promises[line["prediction"]].steps = line["steps"]
            promises[line["prediction"]].measured = rounded(line["step_s"])
    return list(promises.values())


KINDS = {"catalogue": "catalogue", "stated": "catalogue, host stated", "quick": "quick probe", "full": "full probe"}


def beside(text, ledger, promises):
    """Predictions of the same plans from other knowledge, written before the runs of a ledger whose promises are `promises`:
    lines "job kind seconds low high" (experiments/unseen_jobs). Raises ValueError for a job that the ledger lacks."""
    found = []
    for line in text.splitlines()[1:]:
        job, kind, *numbers = line.split("\t")
        run = [one for one in promises if one.job == job or one.job.startswith(job + ",")]
        if len(run) != 1:
            raise ValueError(f"{ledger}: predictions.tsv names {job}, of which the ledger has {len(run)} predictions")
        digest = hashlib.sha256(f"{ledger}\t{line}".encode()).hexdigest()[:SHORT]
        predicted, low, high = (rounded(float(number)) for number in numbers)
        found.append(dataclasses.replace(run[0], line=digest, knowledge=KINDS[kind], predicted=predicted, low=low, high=high))
    return found


def name_of(path):
    """Name of a ledger by its path below experiments/results."""
    return re.sub(r"/?\.?ledger\.jsonl$", "", path)


def classify(promises):
    """Fills in machine and knowledge of older lines by folders.tsv. Raises ValueError for a ledger it lacks."""
    with open(FOLDERS) as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    for one in promises:
        rows = [row for row in table if one.ledger.startswith(row["ledger"])]
        row = max(rows, key=lambda row: len(row["ledger"]), default=None)
        if row is None and not (one.knowledge and one.machine):
            raise ValueError(f"{one.ledger}: its lines state no knowledge, and experiments/ledger/folders.tsv has no row for it")
        one.machine = row["machine"] if row else one.machine
        one.knowledge = one.knowledge or row["knowledge"]
        if one.knowledge not in KNOWLEDGE:
            raise ValueError(f"{one.ledger}: knowledge: {one.knowledge!r} is not one of {', '.join(KNOWLEDGE)}")
    return promises


def listed():
    """Promises of the list, those of ledgers that the tree no longer has among them."""
    with open(LIST) as file:
        for row in csv.DictReader(file, delimiter="\t"):
            numbers = {key: float(row[key]) for key in ("predicted", "low", "high")}
            measured = float(row["measured"]) if row["measured"] else None
            texts = {key: row[key] for key in ("ledger", "line", "date", "job", "machine", "knowledge", "plan")}
            yield Promise(**texts, **numbers, measured=measured, steps=int(row["steps"]))


def listing(promises):
    """Text of the list."""
    lines = ["\t".join(COLUMNS)]
    for one in promises:
        ran = one.measured is not None
        error = f"{100 * one.error:+.1f} %" + ("" if one.inside else " outside") if ran else "did not run"
        fields = dataclasses.asdict(one) | {"measured": one.measured if ran else "", "error": error}
        lines.append("\t".join(f"{fields[name]:g}" if isinstance(fields[name], float) else str(fields[name]) for name in COLUMNS))
    return "\n".join(lines) + "\n"


def committed(earlier):
    """Every promise: of the ledgers below results/current, and those of `earlier` that are of none of them."""
    found = {}
    for path in sorted((RESULTS / "current").rglob("*ledger.jsonl")):
        folder = path.parent
        texts = [
            (str(other.relative_to(folder)), other.read_text())
            for other in [folder / "study.json", *sorted(folder.glob("*output")), *sorted(folder.glob("cells/*.json"))]
            if other.is_file()
        ]
        ledger = name_of(str(path.relative_to(RESULTS)))
        promises = read(path.read_text(), ledger, texts)
        if (folder / "predictions.tsv").is_file():
            promises += beside((folder / "predictions.tsv").read_text(), ledger, promises)
        for one in promises:
            found[one.line] = one
    for one in earlier:
        found.setdefault(one.line, one)
    return sorted(classify(list(found.values())), key=lambda one: (one.date, one.ledger, one.line))
