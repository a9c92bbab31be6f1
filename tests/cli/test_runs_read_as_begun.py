"""Runs that began before tokens beside tokenizer.json, absent fields of tables and tools in shipped templates were read as
now: they go on as they began. The hashes that they recorded are made here by the words of before."""

import hashlib
import json
import sys

import pytest
from chat_data import SPECIAL, write_chat_model, write_jsonl
from conftest import REPOSITORY, available_verbs
from test_turn_ends import change, checkpoint_of, flags, sha256  # noqa: F401

pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytestmark = pytest.mark.skipif("train" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

FORMAT = ["messages", "text", "instruction", "input", "output", "history", "system", "messages", "role", "content",
          "user user", "assistant assistant", "system system"]  # fmt: skip
# The templates as they were shipped until tools came.
EARLIER = {
    "llama3.1": "7a01328023e77d2d81213e40363db9e07bd77d82cd105db42640031ff9a67469",
    "llama3.2": "7a01328023e77d2d81213e40363db9e07bd77d82cd105db42640031ff9a67469",
    "qwen2.5": "710b92c264ea4dfe7ada75ba15305b9d90c2e266bd178eb79d0cbb9d5f6ab1f1",
    "qwen3": "deb9d54d7896dcd63c8704b0c29e597ce10f54c5551cae34010e2b03333484b6",
    "qwen3_nothink": "376a99d71d8ec68da48d5737f51920762d61cb416d70d573f25a84ac94bcab5b",
}
TOKENS = {"bos_token": "<s>", "eos_token": "<|endoftext|>"}


def load_text(source, key):
    request = {"do": "load", "key": key, "sources": {"default": source}, "tokens": TOKENS, "date": None,
               "special": sorted({*TOKENS.values(), *SPECIAL})}  # fmt: skip
    return json.dumps(request, separators=(",", ":"), ensure_ascii=False)


def template_text(source, version):
    """What stood for a template, run by that version of jinja2, in the hash of data."""
    key = sha256(load_text(source, ""))[:16]
    return f"renderer 1, jinja2 {version}, template {sha256(load_text(source, key))}"


def hash_of_before(folder, data, source, facts, form=""):
    """The hash that a run of before took of conversations, each a sequence of its own."""
    template = template_text(source, facts["jinja2"])
    documents = "sluice/documents\nversion=1\nrecords={}\ntokenizer={}\nformat={}\ntemplate={}\n{}".format(
        sha256((folder / data).read_bytes()), sha256((folder / "model" / "tokenizer.json").read_bytes()), "\n".join(FORMAT), template,
        form,
    )  # fmt: skip
    return sha256(f"sluice/sequences\ndocuments={sha256(documents)}\npacking=off\n")


def forget(folder, *more):
    """Makes a run one of before, which recorded no reading, and a template no hash of its own."""
    run = folder / "run" / "run.yaml"
    lines = [line for line in run.read_text().splitlines(keepends=True) if not line.startswith("data_reading")]
    run.write_text("".join(lines))
    file = checkpoint_of(folder)
    facts = {key: value for key, value in json.loads(file.read_text()).items() if key not in more}
    kept = [line for line in facts["run_yaml"].splitlines(keepends=True) if not line.startswith("data_reading")]
    change(file, {**facts, "run_yaml": "".join(kept)})
    return facts


def losses(run):
    return [json.loads(line)["loss_bits"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def goes_on_as_begun(run_sluice, folder, words, taken, *forgotten):
    """Trains a step as before, with the hash that `taken` makes, and goes on to the bits of two steps as before."""
    words = [*words, "schedule=constant"]
    run_sluice("train", *words, "steps=2", "out=whole", "data_reading=1", cwd=folder)
    run_sluice("train", *words, "steps=1", "data_reading=1", cwd=folder)
    facts = forget(folder, *forgotten)
    assert facts["data_sha256"] == taken(facts)
    said = run_sluice("train", "run", "--resume", "steps=2", cwd=folder)
    assert said.err.count("are read as when the run began (data_reading: 1)") == 1
    assert "data_reading: 1\n" in (folder / "run" / "run.yaml").read_text()
    after = json.loads((folder / "run" / "checkpoints" / "step-2" / "checkpoint.json").read_text())
    assert after["data_sha256"] == facts["data_sha256"]
    assert losses(folder / "run") == losses(folder / "whole")


def write_model(folder, template, **more):
    made = write_chat_model(folder / "model", template=template)
    config = json.loads((folder / "model" / "tokenizer_config.json").read_text())
    (folder / "model" / "tokenizer_config.json").write_text(json.dumps({**config, **TOKENS, **more}))
    return made


PLAIN = "{% for m in messages %}{{ m.role + ':' + m.content + eos_token }}{% endfor %}"


def test_tokens_beside_the_tokenizer(run_sluice, refuses, tmp_path, flags):  # noqa: F811
    made = write_model(tmp_path, PLAIN)
    beside = tmp_path / "model" / "added_tokens.json"
    beside.write_text(json.dumps({"good": made.get_vocab_size()}))
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps({**config, "vocab_size": 321}))
    run_sluice("train", *flags, "steps=1", "out=now", cwd=tmp_path)
    assert "data_reading: 2\n" in (tmp_path / "now" / "run.yaml").read_text()
    goes_on_as_begun(run_sluice, tmp_path, flags, lambda facts: hash_of_before(tmp_path, "chat.jsonl", PLAIN, facts))
    assert losses(tmp_path / "now")[0] != losses(tmp_path / "whole")[0]
    # Other data are refused as before, and so are those of a run that says how it reads them.
    write_jsonl(tmp_path / "chat.jsonl", [{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}] * 40)
    refuses(["train", "run", "--resume", "steps=3"], "of another text", cwd=tmp_path)
    refuses(["train", "now", "--resume", "steps=3"], "of another text", cwd=tmp_path)


def test_a_text(run_sluice, tmp_path, flags):  # noqa: F811
    made = write_model(tmp_path, PLAIN)
    (tmp_path / "model" / "added_tokens.json").write_text(json.dumps({"good": made.get_vocab_size()}))
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps({**config, "vocab_size": 321}))
    (tmp_path / "text.txt").write_text("a good text is a good text\n" * 200)
    taken = sha256("sluice/tokens\nversion=1\ntext={}\ntokenizer={}\n".format(
        sha256((tmp_path / "text.txt").read_bytes()), sha256((tmp_path / "model" / "tokenizer.json").read_bytes())))  # fmt: skip
    words = ["text.txt" if word == "chat.jsonl" else word for word in flags]
    goes_on_as_begun(run_sluice, tmp_path, words, lambda _: taken)


def test_absent_fields_of_a_table(run_sluice, tmp_path, flags, monkeypatch):  # noqa: F811
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    import pyarrow

    monkeypatch.setenv("SLUICE_PYTHON", sys.executable)
    template = PLAIN.replace("m.content", "(m.content or '') + (m.tool_calls | tojson if m.tool_calls else '')")
    write_model(tmp_path, template)
    calls = [[{"name": "f", "arguments": {"a": "1"}}], [{"name": "g", "arguments": {"b": "2"}}]]
    rows = [
        [{"role": "user", "content": "red"}, {"role": "assistant", "content": "good", "tool_calls": calls[i % 2]}] for i in range(40)
    ]
    parquet.write_table(pyarrow.table({"messages": rows}), tmp_path / "chat.parquet")
    words = ["128" if word == "32" else "chat.parquet" if word == "chat.jsonl" else word for word in flags]
    goes_on_as_begun(run_sluice, tmp_path, words,
                     lambda facts: hash_of_before(tmp_path, "chat.parquet", template, facts, "form=parquet\n"))  # fmt: skip
    run_sluice("train", *words, "steps=1", "out=now", cwd=tmp_path)
    assert losses(tmp_path / "now")[0] != losses(tmp_path / "whole")[0]


@pytest.mark.parametrize("name", EARLIER)
def test_a_shipped_template(run_sluice, tmp_path, flags, name):  # noqa: F811
    write_model(tmp_path, PLAIN)
    file = "llama3.1" if name == "llama3.2" else name
    source = (REPOSITORY / "engine" / "chat" / "templates" / f"{file}@1.jinja").read_text()
    assert hashlib.sha256(source.encode()).hexdigest() == EARLIER[name]
    words = ["256" if word == "32" else word for word in flags]
    goes_on_as_begun(run_sluice, tmp_path, [*words, f"template={name}"],
                     lambda facts: hash_of_before(tmp_path, "chat.jsonl", source, facts), "template_sha256")  # fmt: skip


def test_a_reading_of_a_newer_program_is_refused(refuses, tmp_path, flags):  # noqa: F811
    refuses(["train", *flags, "data_reading=3"], "data_reading: 3 is of a newer Sluice", cwd=tmp_path)
